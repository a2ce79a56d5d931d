"""The service: all background work of a Souffleur, in one event loop.

Turns are stored, judged and summarised; silent sessions end, old words expire, runs are scheduled.
"""

import asyncio
import logging
import os
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from datetime import timedelta, tzinfo
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from loguru import logger

from souffleur.errors import StoreError, joined
from souffleur.knowledge.erasure import finish_removals
from souffleur.knowledge.network.breaker import Outage
from souffleur.knowledge.store.runs.watermarks import Leader
from souffleur.knowledge.turn import TurnState
from souffleur.loops import JudgingLoop
from souffleur.service.health import Health
from souffleur.service.intake import Intake
from souffleur.service.judging import Judge, Retries, embed_turns
from souffleur.service.leases import Leases
from souffleur.service.limit import Limit
from souffleur.service.outbox import Outbox, Spool
from souffleur.service.queue import Queue
from souffleur.service.upkeep import POLL_SECONDS, Polling, Upkeep
from souffleur.settings import NO_MODEL, Settings

if TYPE_CHECKING:
    from souffleur.parts import Parts
    from souffleur.service.jobs import Schedule

T = TypeVar("T")


class Service:
    """Does the background work. `intake` and `wake` may be used from any thread."""

    def __init__(
        self, parts: "Parts", settings: Settings, find_zone: Callable[[str, object], tzinfo]
    ) -> None:
        """`find_zone` returns the zone of a user for a time without a zone."""
        self._parts = parts
        self._knowledge = parts.knowledge
        self._settings = settings
        self._pid = os.getpid()
        self._ends_at: float | None = None
        self._shared = self._knowledge.journal.collection.shared
        self._judges = parts.has_model and settings.judge
        self._nobody = NO_MODEL if settings.judge and not parts.has_model else ""
        self._leases = Leases(self._knowledge, seconds=settings.lease_seconds, times=parts.times)
        self.queue = self._make_queue()
        self._loop = JudgingLoop(self._move)
        for breaker in parts.endpoints.breakers:
            breaker.on_outage = _warn
            breaker.on_return = lambda: self._loop.call(self.queue.wake_stalled)
        self.intake = Intake(
            self._knowledge.journal,
            settings,
            clock=parts.clock,
            find_zone=find_zone,
            trouble=self.error_for,
            wake=self.wake,
            outbox=self._make_outbox(),
        )
        self._upkeep = Upkeep(
            self._knowledge,
            settings.window_rule,
            times=parts.times,
            wake=self.wake,
            retry=self._retry,
            leader=Leader(self._knowledge.journal, name="upkeep") if self._shared else None,
        )
        self._polling = Polling(
            self._knowledge,
            self.queue if self._judges else None,
            period=timedelta(seconds=settings.lease_seconds),
            times=parts.times,
            first=self.intake.write_late,
        )
        self.schedule: Schedule | None = None
        self._end_serving: Callable[[], None] = lambda: None

    def _make_queue(self) -> Queue:
        parts, settings = self._parts, self._settings
        judge = Judge(parts, window=settings.window)
        return Queue(
            judge.judge,
            judge.summarise,
            self._knowledge.journal,
            finish=self._knowledge.recover,
            retries=Retries(settings.tries, settings.retry_pause),
            endpoints=parts.endpoints,
            limit=parts.limit or Limit(settings.parallel_users),
            every=settings.judge_every,
            most=settings.turns_per_call,
            claim=self._leases.claim,
            sleep=parts.times.sleep,
            steady=parts.times.steady,
        )

    def _make_outbox(self) -> Outbox | None:
        if not self._shared:
            return None
        journal, settings = self._knowledge.journal, self._settings
        spool = Spool(settings.folder / "outbox", power_safe=settings.durability == "power")
        return Outbox(spool, lambda turn: journal.record(turn, settings.window_rule))

    async def start(self) -> None:
        """Finish work that a crash interrupted, and resume waiting work."""
        self._loop.use_running()
        await self._recover()
        if self._judges and not self._shared:
            await self.queue.resume()
        elif not self._judges:
            logger.info("no turn is judged here: they are kept and wait")
        self._start_tasks()
        if self._settings.schedule:
            from souffleur.service.jobs import Schedule, jobs_of

            jobs = jobs_of(self._parts)
            self.schedule = Schedule(self._knowledge.journal, jobs, clock=self._parts.clock)
            await self.schedule.start()
        port = self._settings.metrics
        if self._parts.metrics and port is not True:
            self._end_serving = self._parts.metrics.serve(port, self._loop.ask)
        if self._parts.budget:
            await self._parts.budget.open()
        await self._warn_of_neglect()

    def end_session(self, user_id: str, session_id: str, agent_id: str) -> bool:
        """End a session after its turns; return whether turns were left in its window.

        On a server this is done in the background, and it returns `True`. Raises SouffleurError.
        """

        def end() -> bool:
            ended = self._knowledge.sessions.end(user_id, session_id, agent_id)
            if ended:
                self.wake(user_id)
            return ended

        if self.intake.outbox is None:
            return end()
        self.intake.outbox.then(user_id, end)
        return True

    def wake(self, user_id: str) -> None:
        """Put a user with waiting work into the queue."""
        if self._judges:
            self._loop.call(self.queue.wake, user_id)

    async def judge_now(self, user_id: str) -> None:
        """Judge the waiting turns of a user, even if they are not due. Raises the user's error.

        If another process judges this user, waits for it.
        """
        if not self._judges:
            return
        if self._shared and not await self.intake.arrived(user_id=user_id):
            raise StoreError(self.intake.write_late() or "the turns are not on the server yet")
        await self.do(lambda: self.queue.judge_now(user_id))
        while await self._leases.is_elsewhere(user_id):
            await self._parts.times.sleep(POLL_SECONDS)
            await self.do(lambda: self.queue.judge_now(user_id))

    async def do(self, work: Callable[[], Awaitable[T]]) -> T:
        """Run work in the event loop that judges, so that two loops never change data at once."""
        return await self._loop.do(work)

    async def do_alone(self, user_id: str, work: Callable[[], Awaitable[T]]) -> T:
        """Run work while no turn of a user is judged or summarised."""

        async def alone() -> T:
            await self.intake.arrived(user_id=user_id)
            try:
                async with self.queue.halted(user_id):
                    return await self._leases.wait_for(user_id, work)
            finally:
                self.wake(user_id)

        return await self.do(alone)

    async def flush(self, seconds: float | None) -> bool:
        """Wait until all due turns are judged, summarised and on disk; return whether they are."""
        return await self.do(lambda: self._flush(seconds))

    async def close(self) -> None:
        """Judge while there are `seconds_left`, then close all parts, even if a part fails."""
        if not self._is_forked:
            await self.do(self._close)

    def seconds_left(self) -> float:
        """Return the seconds left to close; `settings.shutdown_timeout` runs from the first call.

        All parts of a process share these seconds.
        """
        now = self._parts.times.steady()
        if self._ends_at is None:
            self._ends_at = now + self._settings.shutdown_timeout
        return max(0.0, self._ends_at - now)

    def check_not_forked(self) -> None:
        """Raise StoreError in a forked process: threads of the parent may hold its locks."""
        if self._is_forked:
            self._knowledge.memories.check_usable()

    @property
    def _is_forked(self) -> bool:
        return os.getpid() != self._pid

    async def break_off(self) -> None:
        """Stop the tasks after a failed start; waiting work is left to the next start."""
        async with AsyncExitStack() as stopping:
            if outbox := self.intake.outbox:
                stopping.push_async_callback(asyncio.to_thread, outbox.close)
            stopping.push_async_callback(self.queue.stop)
            stopping.push_async_callback(self._stop_tasks)

    @property
    def error(self) -> str:
        """Why turns cannot be judged, found or stored, and since when; empty if they can."""
        return joined(self._nobody, self.error_for())

    def error_for(self, user_id: str = "") -> str:
        """Return the same for a user, or that the user's budget of the day is used up."""
        judging = self._parts.endpoints.error if self._judges else ""
        spent = self._parts.budget.trouble_of(user_id) if self._parts.budget else ""
        return joined(judging, spent, self._knowledge.trouble, self._delivery)

    async def health(self) -> Health:
        """Return whether turns are judged and stored. Asks no endpoint. Raises StoreError."""
        judging, embedding = self._parts.endpoints.judging, self._parts.endpoints.embedding
        journal = self._knowledge.journal
        waiting = await journal.turns(state=TurnState.PENDING, limit=1)
        latest = await journal.latest_judged()
        endpoint = "failing" if judging.outage else "ok"
        held = "turns are held in memory until the store is back"
        late = held if self.intake.is_late and not self._shared else self._delivery
        return Health(
            at=self._parts.clock(),
            endpoint=endpoint if self._parts.has_model else "none",
            judging_error=judging.trouble,
            embedder_error=embedding.trouble if embedding else "",
            store_error=self._knowledge.trouble or late,
            waiting=await journal.count_turns(TurnState.PENDING),
            waiting_since=waiting[0].waits_since if waiting else None,
            set_aside=await journal.count_turns(TurnState.FAILED),
            judged_at=latest.at if latest else None,
            budget_error=self._parts.budget.summary if self._parts.budget else "",
            reply_error=self._parts.replies.error,
        )

    async def _flush(self, seconds: float | None) -> bool:
        await self.intake.arrived(seconds)
        await self._upkeep.tidy()
        self._parts.endpoints.let_try()
        self.queue.hurry()
        done = await self._work_off(seconds)
        await embed_turns(self._knowledge)
        await self._knowledge.flush()
        everything = self._shared and self._settings.judge_every == 1
        if everything and await self._knowledge.journal.count_turns(TurnState.PENDING):
            return False  # another process has to judge
        return done and not self.intake.is_late and not self.queue.is_stalled

    async def _work_off(self, seconds: float | None) -> bool:
        """Do all due work, and wait for other processes; return `False` if time ran out."""
        if not self._judges:
            return await self.queue.drain(seconds)
        loop = asyncio.get_running_loop()
        end = None if seconds is None else loop.time() + seconds
        elsewhere = await self._is_work_elsewhere()
        while True:
            await self.queue.resume()
            done = await self.queue.drain(None if end is None else max(0.0, end - loop.time()))
            before, elsewhere = elsewhere, await self._is_work_elsewhere()
            if not done or not (before or elsewhere):
                return done
            if end is not None and loop.time() >= end:
                return False
            await self._parts.times.sleep(POLL_SECONDS / 10)

    async def _is_work_elsewhere(self) -> bool:
        """Return whether another process works for a user with waiting work."""
        if not self._shared:
            return False
        for user_id in await self._polling.find_work():
            if await self._leases.is_elsewhere(user_id):
                return True
        return False

    async def _close(self) -> None:
        async with AsyncExitStack() as closing:  # last in, first out, even if a part raises
            closing.push_async_callback(self._parts.close)
            closing.push_async_callback(self.queue.stop)
            closing.push_async_callback(lambda: self.queue.finish(self.seconds_left()))
            closing.push_async_callback(lambda: self.intake.write_last(self.seconds_left()))
            closing.push_async_callback(self._upkeep.give_up_lead)
            closing.push_async_callback(self._stop_tasks)

    async def _stop_tasks(self) -> None:
        async with AsyncExitStack() as stopping:
            stopping.push_async_callback(self._upkeep.stop)
            stopping.push_async_callback(asyncio.to_thread, self._end_serving)
            stopping.push_async_callback(self._polling.stop)
            if self.schedule:
                stopping.push_async_callback(self.schedule.stop)

    async def _warn_of_neglect(self) -> None:
        """Warn once in the host's own logger if due runs are never done."""
        from souffleur.service.rule_runs import find_neglect

        neglect = await find_neglect(
            self._knowledge, self._settings, self._parts.clock(), has_model=self._parts.has_model
        )
        if neglect:
            logging.getLogger("souffleur").warning("%s", neglect.text)

    async def _recover(self) -> None:
        """Finish work that a crash interrupted; on a server, skip verdicts of other processes."""
        outbox = self.intake.outbox
        if outbox:
            for order in await self._knowledge.removals.waiting():
                await self.do_alone(order.user_id, partial(self._finish_removals, order.user_id))
            left = await asyncio.to_thread(outbox.take_up, lambda kept: self.wake(kept.user_id))
            if left:
                logger.info("{} turns of processes that are gone go to the server", left)
        elif finished := await self._knowledge.recover() + await finish_removals(self._knowledge):
            logger.info("finished {} verdicts that a crash had interrupted", finished)

    async def _finish_removals(self, user_id: str) -> None:
        if count := await finish_removals(self._knowledge, user_id):
            logger.info("finished {} removals that a crash had interrupted", count)

    @property
    def _delivery(self) -> str:
        """Why turns are not on the server yet; empty if they are there or no delivery failed."""
        outbox = self.intake.outbox
        if outbox is None or not outbox.error:
            return ""
        return f"{outbox.waiting} turns wait on this machine for the server: {outbox.error}"

    def _start_tasks(self) -> None:
        self._upkeep.start()
        if self._shared:
            self._polling.start()

    def _move(self) -> None:
        self.queue.begin_anew()
        self._start_tasks()

    async def _retry(self) -> None:
        """Write late turns; on a new day, resume the turns that waited for its budget."""
        self.intake.write_late()
        if self._parts.budget and self._parts.budget.take_renewal():
            await self.queue.resume()


def _warn(what: str, outage: Outage) -> None:
    """Warn in the host's own logger, once per outage: Souffleur's logger is silent by default."""
    logging.getLogger("souffleur").warning("%s has failed %s", what, outage)
