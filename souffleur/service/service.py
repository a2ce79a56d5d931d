"""Backstage: all background work, in one event loop.

Turns are stored, judged and summarised; silent sessions end, old words expire, runs are scheduled.
"""

import asyncio
import logging
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from loguru import logger

from souffleur.agents.model.chat import on_behalf_of
from souffleur.errors import StoreError, joined
from souffleur.health import Health
from souffleur.knowledge.network.breaker import Outage
from souffleur.knowledge.operation import Actor, ActorKind
from souffleur.knowledge.session import WindowRule
from souffleur.knowledge.store.runs.watermarks import Leader
from souffleur.knowledge.turn import Turn, TurnState
from souffleur.parts import Parts
from souffleur.service.intake import Intake, Receipt
from souffleur.service.judging import Patience
from souffleur.service.leases import Leases
from souffleur.service.loops import Grace, Home
from souffleur.service.outbox import Outbox, Spool
from souffleur.service.polling import LOOK_SECONDS, Lookout
from souffleur.service.queue import Worker
from souffleur.service.upkeep import Caretaker
from souffleur.settings import Settings

if TYPE_CHECKING:
    from souffleur.service.schedule import Schedule

T = TypeVar("T")


class Backstage:
    """Does the work that nobody waits for. `take` and `wake` may be called from any thread."""

    def __init__(self, parts: Parts, settings: Settings) -> None:
        self._parts = parts
        self._knowledge = parts.knowledge
        self._settings = settings
        self._endpoints = parts.endpoints
        self._budget = parts.budget
        self._pid = os.getpid()
        self._judges = parts.has_model and settings.judge
        self._leases = Leases(
            self._knowledge,
            seconds=settings.lease_seconds,
            parallel=settings.parallel_users,
            times=parts.times,
        )
        self.worker = Worker(
            self._judge,
            self._tell,
            self._knowledge.journal,
            finish=lambda user_id: self._knowledge.recover(user_id),
            patience=Patience(settings.tries, settings.retry_pause),
            parallel=settings.parallel_users,
            every=settings.judge_every,
            most=settings.turns_per_call,
            endpoints=self._endpoints,
            hands=parts.hands,
            claim=self._claim,
            sleep=parts.times.sleep,
            steady=parts.times.steady,
        )
        self._home = Home(self._move)
        for breaker in self._endpoints.breakers:
            breaker.on_outage = _warn
            breaker.on_return = lambda: self._home.call(self.worker.wake_stalled)
        rule = settings.window_rule
        self._intake = Intake(self._knowledge.journal, rule, self.wake, self._make_outbox(rule))
        self._shared = self._knowledge.journal.collection.shared
        self._upkeep = Leader(self._knowledge.journal, name="upkeep") if self._shared else None
        self._caretaker = Caretaker(
            self._knowledge,
            rule,
            times=parts.times,
            wake=self.wake,
            write_late=self._intake.write_late,
            renew=self._renew,
            leads=self._upkeep.lead if self._upkeep else None,
        )
        self._lookout = Lookout(
            self._knowledge,
            period=timedelta(seconds=settings.lease_seconds),
            times=parts.times,
            wake=self.worker.wake_found if self._judges else lambda new, again: None,
            first=self._intake.write_late,
            back=self.worker.wake_stalled,
        )
        self.schedule: Schedule | None = None
        self.grace = Grace(settings.shutdown_timeout, parts.times.steady)
        self._end_serving: Callable[[], None] = lambda: None

    async def start(self) -> None:
        """Finish what a crash interrupted, and resume what waits."""
        self._home.settle()
        await self._recover()
        if self._judges and not self._shared:
            await self.worker.resume()
        elif not self._judges:
            logger.info("no turn is judged here: they are kept and wait")
        self._start_tasks()
        await self._caretaker.settle()
        if self._settings.schedule:
            from souffleur.service.jobs import jobs_of
            from souffleur.service.schedule import Schedule

            jobs = jobs_of(self._parts)
            self.schedule = Schedule(self._knowledge.journal, jobs, clock=self._parts.clock)
            await self.schedule.start()
        port = self._settings.metrics
        if self._parts.metrics and port is not True:
            self._end_serving = self._parts.metrics.serve(port, self._home.ask)
        if self._budget:
            await self._budget.open()
        await self._warn_of_neglect()

    def take(self, turn: Turn) -> Receipt:
        """Store a turn durably, and have it judged. Raises SouffleurError."""
        return self._intake.take(turn)

    def end_session(self, user_id: str, session_id: str, agent_id: str) -> bool:
        """Close a session, after what was said in it; return whether any turns were left.

        On a server this is done in the background, and the answer is yes. Raises SouffleurError.
        """

        def end() -> bool:
            ended = self._knowledge.sessions.end(user_id, session_id, agent_id)
            if ended:
                self.wake(user_id)
            return ended

        if self._intake.outbox is None:
            return end()
        self._intake.outbox.then(user_id, end)
        return True

    def wake(self, user_id: str) -> None:
        """Have waiting work of a user done."""
        if self._judges:
            self._home.call(self.worker.wake, user_id)

    async def judge_now(self, user_id: str) -> None:
        """Judge the waiting turns of a user, whatever the cadence. Raises what prevents it.

        If another process judges this user, wait for it.
        """
        if not self._judges:
            return
        if self._shared and not await self._intake.arrived(user_id=user_id):
            raise StoreError(self._intake.write_late() or "the turns are not on the server yet")
        await self.do(lambda: self.worker.judge_now(user_id))
        while await self._leases.is_elsewhere(user_id):
            await self._parts.times.sleep(LOOK_SECONDS)
            await self.do(lambda: self.worker.judge_now(user_id))

    async def do(self, work: Callable[[], Awaitable[T]]) -> T:
        """Run work in the event loop that judges, so that no two loops change things at once."""
        return await self._home.do(work)

    async def do_alone(self, user_id: str, work: Callable[[], Awaitable[T]]) -> T:
        """Run work while nothing of a user is judged or told."""

        async def alone() -> T:
            await self._intake.arrived(user_id=user_id)
            try:
                async with self.worker.halted(user_id):
                    return await self._leases.wait_for(user_id, work)
            finally:
                self.wake(user_id)

        return await self.do(alone)

    def let_try(self) -> None:
        """Let the next request to an endpoint in trouble through: it may have been repaired."""
        self._endpoints.let_try()

    async def flush(self, seconds: float | None) -> bool:
        """Wait until everything due is judged, summarised and on disk; return whether it is."""
        return await self.do(lambda: self._flush(seconds))

    async def close(self) -> None:
        """Judge while `grace` is left, of `settings.shutdown_timeout`, then close everything.

        The rest is closed even if closing one part fails.
        """
        if not self.is_forked:
            await self.do(self._close)

    @property
    def is_forked(self) -> bool:
        """Whether the process was forked since, so that its threads are not there."""
        return os.getpid() != self._pid

    async def break_off(self) -> None:
        """Stop what a start has begun that failed; what waits is left to the next one."""
        async with AsyncExitStack() as stopping:
            if outbox := self._intake.outbox:
                stopping.push_async_callback(asyncio.to_thread, outbox.close)
            stopping.push_async_callback(self.worker.stop)
            stopping.push_async_callback(self._stop_tasks)

    @property
    def error(self) -> str:
        """Why turns cannot be judged, found or stored, and since when; empty if they can."""
        return self.error_for()

    def error_for(self, user_id: str = "") -> str:
        """Likewise, for one user, whose budget of the day may be used up."""
        judging = self._endpoints.error if self._judges else ""
        spent = self._budget.trouble_of(user_id) if self._budget else ""
        return joined(judging, spent, self._knowledge.trouble, self._delivery)

    async def health(self) -> Health:
        """Return whether turns are judged and stored. Asks no endpoint. Raises StoreError."""
        judging, embedding = self._endpoints.judging, self._endpoints.embedding
        journal = self._knowledge.journal
        waiting = await journal.turns(state=TurnState.PENDING, limit=1)
        latest = await journal.latest_judged()
        endpoint = "failing" if judging.outage else "ok"
        held = "turns are held in memory until the store is back"
        late = held if self._intake.is_late and not self._shared else self._delivery
        return Health(
            at=self._parts.clock(),
            endpoint=endpoint if self._parts.has_model else "none",
            judging_error=judging.trouble,
            embedder_error=embedding.trouble if embedding else "",
            store_error=self._knowledge.trouble or late,
            waiting=await journal.count_turns(TurnState.PENDING),
            waiting_since=waiting[0].at if waiting else None,
            set_aside=await journal.count_turns(TurnState.FAILED),
            judged_at=latest.at if latest else None,
            budget_error=self._budget.summary if self._budget else "",
            reply_error=self._parts.replies.error,
        )

    async def _flush(self, seconds: float | None) -> bool:
        await self._intake.arrived(seconds)
        await self._caretaker.tidy()
        self._endpoints.let_try()
        self.worker.hurry()
        done = await self._work_off(seconds)
        await self._caretaker.embed()
        await self._knowledge.flush()
        everything = self._shared and self._settings.judge_every == 1
        if everything and await self._knowledge.journal.count_turns(TurnState.PENDING):
            return False  # another process is to judge
        return done and not self._intake.is_late and not self.worker.is_stalled

    async def _work_off(self, seconds: float | None) -> bool:
        """Do what is due, and wait for what other processes do; return `False` if time ran out."""
        if not self._judges:
            return await self.worker.drain(seconds)
        loop = asyncio.get_running_loop()
        end = None if seconds is None else loop.time() + seconds
        elsewhere = await self._is_work_elsewhere()
        while True:
            await self.worker.resume()
            done = await self.worker.drain(None if end is None else max(0.0, end - loop.time()))
            before, elsewhere = elsewhere, await self._is_work_elsewhere()
            if not done or not (before or elsewhere):
                return done
            if end is not None and loop.time() >= end:
                return False
            await self._parts.times.sleep(LOOK_SECONDS / 10)

    async def _is_work_elsewhere(self) -> bool:
        """Return whether another process works for a user for whom there is something to do."""
        if not self._shared:
            return False
        for user_id in await self._lookout.find_work():
            if await self._leases.is_elsewhere(user_id):
                return True
        return False

    async def _close(self) -> None:
        async with AsyncExitStack() as closing:  # last in, first out, whatever raises
            closing.push_async_callback(self._parts.close)
            closing.push_async_callback(self.worker.stop)
            closing.push_async_callback(self._finish)
            closing.push_async_callback(self._write_last)
            closing.push_async_callback(self._end_upkeep)
            closing.push_async_callback(self._stop_tasks)

    async def _stop_tasks(self) -> None:
        async with AsyncExitStack() as stopping:
            stopping.push_async_callback(self._caretaker.stop)
            stopping.push_async_callback(asyncio.to_thread, self._end_serving)
            stopping.push_async_callback(self._lookout.stop)
            if self.schedule:
                stopping.push_async_callback(self.schedule.stop)

    async def _finish(self) -> None:
        await self.worker.finish(self.grace.left())

    async def _write_last(self) -> None:
        await self._intake.write_last(self.grace.left())

    async def _warn_of_neglect(self) -> None:
        """Log to the host's own logger, once, what is due while nothing will ever do it."""
        from souffleur.service.rule_runs import find_neglect

        neglect = await find_neglect(
            self._knowledge,
            self._settings,
            self._parts.clock(),
            has_model=self._parts.has_model,
        )
        if neglect:
            logging.getLogger("souffleur").warning("%s", neglect.text)

    async def _recover(self) -> None:
        """Finish what a crash interrupted. Verdicts on a server are left to who judges the user."""
        outbox = self._intake.outbox
        if outbox:
            for order in await self._knowledge.removals.waiting():
                await self.do_alone(order.user_id, partial(self._finish_removals, order.user_id))
            left = await asyncio.to_thread(outbox.take_up, lambda kept: self.wake(kept.user_id))
            if left:
                logger.info("{} turns of processes that are gone go to the server", left)
        elif finished := await self._knowledge.recover():
            logger.info("finished {} verdicts that a crash had interrupted", finished)

    async def _finish_removals(self, user_id: str) -> None:
        if count := await self._knowledge.finish_removals(user_id):
            logger.info("finished {} removals that a crash had interrupted", count)

    def _make_outbox(self, rule: WindowRule) -> Outbox | None:
        journal, settings = self._knowledge.journal, self._settings
        if not journal.collection.shared:
            return None
        spool = Spool(settings.folder / "outbox", power_safe=settings.durability == "power")
        return Outbox(spool, lambda turn: journal.record(turn, rule))

    @property
    def _delivery(self) -> str:
        """Why turns are not on the server yet; empty if they are, or about to be."""
        outbox = self._intake.outbox
        if outbox is None or not outbox.error:
            return ""
        return f"{outbox.waiting} turns wait on this machine for the server: {outbox.error}"

    def _start_tasks(self) -> None:
        self._caretaker.start()
        if self._shared:
            self._lookout.start()

    async def _end_upkeep(self) -> None:
        if self._upkeep:
            with suppress(StoreError):  # the lease runs out by itself
                await self._upkeep.release()

    def _move(self) -> None:
        self.worker.adopt()
        self._leases.adopt()
        self._start_tasks()

    async def _renew(self) -> None:
        """Resume what waited for another day's budget, once that has begun."""
        if self._budget and self._budget.take_renewal():
            await self.worker.resume()

    @asynccontextmanager
    async def _claim(self, user_id: str) -> AsyncIterator[bool]:
        """Hold a user; yields whether this process may work: no other does, memory is on."""
        if not (await self._knowledge.at_hand.choices.find(user_id)).memory:
            yield False
            return
        async with self._leases.hold(user_id) as mine:
            yield mine

    async def _judge(self, waiting: Sequence[Turn]) -> None:
        # Forgotten before they were judged: nothing is learnt from them until they are shown again.
        # What was taken back is hidden too, but has no words left, and what it brought is undone.
        forgotten = [turn for turn in waiting if turn.hidden and turn.messages]
        if forgotten:
            await self._knowledge.journal.mark(
                forgotten, state=TurnState.JUDGED, error="", unread=True
            )
        if told := [turn for turn in waiting if turn not in forgotten]:
            await self._judge_shown(told)

    async def _judge_shown(self, waiting: Sequence[Turn]) -> None:
        first, ids = waiting[0], tuple(turn.id for turn in waiting)
        if self._budget:  # before anything is looked up for a question that is not asked
            await self._budget.check(first.user_id)
        named = {"user": first.user_id, "session": first.session_id, "turn_id": first.turn_id}
        bound = logger.contextualize(
            user=first.user_id, session=first.session_id, turn=first.turn_id
        )
        watched = self._parts.telemetry("judge", turns=len(ids), turn_ids=ids, **named)
        with on_behalf_of(first.user_id), bound, watched:
            await self._judge_together(waiting)

    async def _judge_together(self, waiting: Sequence[Turn]) -> None:
        knowledge = self._knowledge
        if any(turn.version for turn in waiting):
            await self._take_back(waiting[0].user_id)
        unsaid = [turn for turn in waiting if not turn.messages]
        await knowledge.journal.mark(unsaid, state=TurnState.JUDGED, error="")
        turns = [await self._with_own(turn.clipped()) for turn in waiting if turn.messages]
        if not turns:
            return
        limit = self._settings.window
        earlier = await knowledge.known.journal.messages_before(turns[0], limit=limit)
        state = await self._parts.needed_agents.monitor.run(turns, earlier)
        answer = state["answer"]
        if answer and answer.big:
            upkeep = await knowledge.sessions.portrait_status(turns[0].user_id, turns[0].sphere)
            await knowledge.sessions.save_portrait_status(upkeep.model_copy(update={"big": True}))
        for turn in turns:
            await knowledge.note_recalled(turn.injected)

    async def _take_back(self, user_id: str) -> None:
        """Undo what turns brought that wait to be judged again, the newest first.

        What a later one made of it would otherwise stay, or be known when an earlier one is judged.
        """
        by = Actor(who=ActorKind.HOST)
        again = [turn for turn in await self._knowledge.journal.waiting(user_id) if turn.version]
        for turn in reversed(again):
            await self._knowledge.undo_turn(turn, by=by, now=self._parts.clock())
        ids = [turn.id for turn in again]
        sessions = self._knowledge.sessions
        await sessions.requeue(await sessions.segments_with(ids))

    async def _with_own(self, turn: Turn) -> Turn:
        """Return the turn without whispered ids that its persona cannot know: hosts may err."""
        own = await self._knowledge.find_usable(turn.user_id, turn.injected, sphere=turn.sphere)
        return turn.model_copy(update={"injected": own})

    async def _tell(self, user_id: str) -> float | None:
        bound = logger.contextualize(user=user_id)
        with on_behalf_of(user_id), bound, self._parts.telemetry("tell", user=user_id):
            await self._caretaker.embed(user_id)
            return await self._parts.needed_agents.narrator.run(user_id)


def _warn(what: str, outage: Outage) -> None:
    """Log to the host's own logger, once per outage: ours is silent unless it is enabled."""
    logging.getLogger("souffleur").warning("%s has failed %s", what, outage)
