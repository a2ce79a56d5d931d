"""Backstage: all background work, in one event loop.

Turns are stored, judged and summarised; silent sessions end, old words expire, runs are scheduled.
"""

import asyncio
import logging
import os
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, TypeVar

from loguru import logger

from souffleur.agents.behalf import on_behalf_of
from souffleur.background.caretaker import Caretaker
from souffleur.background.home import Home
from souffleur.background.intake import Intake, Receipt
from souffleur.background.patience import Patience
from souffleur.background.worker import Worker
from souffleur.health import Health
from souffleur.knowledge.breaker import Outage
from souffleur.knowledge.operation import Actor, ActorKind
from souffleur.knowledge.talk.turn import Turn, TurnState
from souffleur.parts import Parts
from souffleur.settings import Settings

if TYPE_CHECKING:
    from souffleur.runs.schedule import Schedule

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
            sleep=parts.times.sleep,
            steady=parts.times.steady,
        )
        self._home = Home(self._move)
        for breaker in self._endpoints.breakers:
            breaker.on_outage = _warn
            breaker.on_return = lambda: self._home.call(self.worker.wake_stalled)
        rule = settings.window_rule
        self._intake = Intake(self._knowledge.journal, rule, self.wake)
        self._caretaker = Caretaker(
            self._knowledge,
            rule,
            times=parts.times,
            wake=self.wake,
            write_late=self._intake.write_late,
            renew=self._renew,
        )
        self.schedule: Schedule | None = None
        self._end_serving: Callable[[], None] = lambda: None

    async def start(self) -> None:
        """Finish what a crash interrupted, and resume what waits."""
        self._home.settle()
        finished = await self._knowledge.recover()
        if finished:
            logger.info("finished {} verdicts that a crash had interrupted", finished)
        if self._parts.has_model:
            await self.worker.resume()
        else:
            logger.info("no model is configured: turns are kept and wait to be judged")
        self._caretaker.start()
        await self._caretaker.settle()
        if self._settings.schedule:
            from souffleur.runs.jobs import jobs_of
            from souffleur.runs.schedule import Schedule

            jobs = jobs_of(self._parts)
            self.schedule = Schedule(self._knowledge.journal, jobs, clock=self._parts.clock)
            await self.schedule.start()
        if self._parts.metrics and self._settings.metrics_port is not None:
            port = self._settings.metrics_port
            self._end_serving = self._parts.metrics.serve(port, self._home.ask)
        if self._budget:
            await self._budget.open()
        await self._warn_of_neglect()

    def take(self, turn: Turn) -> Receipt:
        """Store a turn durably, and have it judged. Raises SouffleurError."""
        return self._intake.take(turn)

    def wake(self, user_id: str) -> None:
        """Have waiting work of a user done."""
        if self._parts.has_model:
            self._home.call(self.worker.wake, user_id)

    async def judge_now(self, user_id: str) -> None:
        """Judge the waiting turns of a user, whatever the cadence. Raises what prevents it."""
        if self._parts.has_model:
            await self.do(lambda: self.worker.judge_now(user_id))

    async def do(self, work: Callable[[], Awaitable[T]]) -> T:
        """Run work in the event loop that judges, so that no two loops change things at once."""
        return await self._home.do(work)

    async def do_alone(self, user_id: str, work: Callable[[], Awaitable[T]]) -> T:
        """Run work while nothing of a user is judged or told."""

        async def alone() -> T:
            await self.worker.halt(user_id)
            try:
                return await work()
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
        """Judge for `settings.shutdown_timeout` seconds, then close everything.

        The rest is closed even if closing one part fails.
        """
        if os.getpid() == self._pid:
            await self.do(self._close)

    @property
    def error(self) -> str:
        """Why turns cannot be judged, found or stored, and since when; empty if they can."""
        return self.error_for()

    def error_for(self, user_id: str = "") -> str:
        """Likewise, for one user, whose budget of the day may be used up."""
        judging = self._endpoints.error if self._parts.has_model else ""
        spent = self._budget.trouble_of(user_id) if self._budget else ""
        return "; ".join(filter(None, (judging, spent, self._knowledge.trouble)))

    async def health(self) -> Health:
        """Return whether turns are judged and stored. Asks no endpoint. Raises StoreError."""
        judging, embedding = self._endpoints.judging, self._endpoints.embedding
        journal = self._knowledge.journal
        waiting = await journal.turns(state=TurnState.PENDING, limit=1)
        latest = await journal.latest_judged()
        endpoint = "failing" if judging.outage else "ok"
        late = "turns are held in memory until the store is back" if self._intake.is_late else ""
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
        )

    async def _flush(self, seconds: float | None) -> bool:
        self._intake.write_late()
        await self._caretaker.tidy()
        self._endpoints.let_try()
        self.worker.hurry()
        if self._parts.has_model:
            await self.worker.resume()
        done = await self.worker.drain(seconds)
        await self._caretaker.embed()
        await self._knowledge.flush()
        return done and not self._intake.is_late and not self.worker.is_stalled

    async def _close(self) -> None:
        async with AsyncExitStack() as closing:  # last in, first out, whatever raises
            closing.push_async_callback(self._parts.close)
            closing.push_async_callback(self.worker.stop)
            closing.push_async_callback(self.worker.finish, self._settings.shutdown_timeout)
            closing.callback(self._intake.write_last)
            closing.push_async_callback(self._caretaker.stop)
            closing.push_async_callback(asyncio.to_thread, self._end_serving)
            if self.schedule:
                closing.push_async_callback(self.schedule.stop)

    async def _warn_of_neglect(self) -> None:
        """Log to the host's own logger, once, what is due while nothing will ever do it."""
        from souffleur.runs.neglect import find_neglect

        neglect = await find_neglect(
            self._knowledge,
            self._settings,
            self._parts.clock(),
            has_model=self._parts.has_model,
        )
        if neglect:
            logging.getLogger("souffleur").warning("%s", neglect.text)

    def _move(self) -> None:
        self.worker.adopt()
        self._caretaker.start()

    async def _renew(self) -> None:
        """Resume what waited for another day's budget, once that has begun."""
        if self._budget and self._budget.take_renewal():
            await self.worker.resume()

    async def _judge(self, waiting: Sequence[Turn]) -> None:
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
        turns = [await self._with_own(turn.clipped()) for turn in waiting]
        for turn in turns:
            if turn.version:
                by = Actor(who=ActorKind.HOST)
                await knowledge.undo_turn(turn, by=by, now=self._parts.clock())
                await knowledge.sessions.requeue(await knowledge.sessions.segments_with([turn.id]))
        earlier = await knowledge.journal.messages_before(turns[0], limit=self._settings.window)
        state = await self._parts.needed_agents.monitor.run(turns, earlier)
        answer = state["answer"]
        if answer and answer.big:
            upkeep = await knowledge.sessions.portrait_status(turns[0].user_id, turns[0].sphere)
            await knowledge.sessions.save_portrait_status(upkeep.model_copy(update={"big": True}))
        for turn in turns:
            await knowledge.note_recalled(turn.injected)

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
