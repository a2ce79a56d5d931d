"""The worker: judges observed turns in the background, in order per user, users concurrently.

When no turn of a user is waiting, the talk is summarised: episodes, then the portrait.
Users are served by turns, a call each: who has much waiting keeps nobody up.

The queue is the journal: a turn waits there until it is judged, so a restart resumes where it
stopped. An outage of an endpoint does not count against a turn: turns wait, one of them asks now
and then, and all resume when it answers. Only an answer that stays unusable sets a turn aside.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any, Protocol

from loguru import logger

from souffleur.background.grouping import USUAL_TURNS_PER_CALL, alike, turns_per_call
from souffleur.background.hands import Hands
from souffleur.background.patience import (
    MAX_STALL_PAUSE,
    MIN_RETRY_PAUSE,
    Patience,
    Stall,
    may_pass,
)
from souffleur.errors import (
    AnswerError,
    BudgetError,
    EmbedderError,
    EndpointError,
    OutageError,
    SouffleurError,
    StoreError,
)
from souffleur.knowledge.engine.collection import POINTS_PER_PAGE
from souffleur.knowledge.journal import Journal
from souffleur.knowledge.language.plain_text import mend
from souffleur.knowledge.sessions import Sessions
from souffleur.knowledge.talk.turn import Turn, TurnState
from souffleur.telemetry.log_lines import describe, trace_bug

JudgeTurns = Callable[[Sequence[Turn]], Awaitable[None]]
Tell = Callable[[str], Awaitable[float | None]]
"""Writes a user's episodes and portrait; returns the seconds until it should be called again."""
Sleep = Callable[[float], Awaitable[None]]

MAX_QUEUED_USERS = 10_000
"""Users of a backlog that are queued in memory; the others are read from the journal later."""
TURNS_LOOKED_AT = 1000
"""Waiting turns of a user that are read at once to find those that are due."""


class Endpoints(Protocol):
    """What the worker needs to know of the endpoints."""

    @property
    def retry_in(self) -> float:
        """Seconds until all of them may be asked; 0 if they may be asked now."""
        ...

    async def is_fault_of_request(self, error: Exception) -> bool:
        """Return whether another request would have succeeded."""
        ...


class Worker:
    """Serves users with waiting work by turns, one call each, at most `parallel` at once.

    Turns of a session are judged when there are `every` of them; with 0, when the session has
    ended. `tell` is called when no turn is waiting. `finish` is called after the store was out of
    reach, and carries out verdicts that are in the ledger only.
    """

    def __init__(
        self,
        judge: JudgeTurns,
        tell: Tell,
        journal: Journal,
        *,
        finish: Callable[[str], Awaitable[object]],
        patience: Patience,
        parallel: int,
        every: int = 1,
        most: int = USUAL_TURNS_PER_CALL,
        queued: int = MAX_QUEUED_USERS,
        endpoints: Endpoints,
        hands: Hands | None = None,
        sleep: Sleep = asyncio.sleep,
        steady: Callable[[], float] = time.monotonic,
    ) -> None:
        """`steady` counts seconds and never jumps; `sleep` waits for a number of them.

        `most` is the maximum number of turns that one call judges, `queued` that of users of a
        backlog in memory.
        """
        self._judge = judge
        self._tell = tell
        self._finish = finish
        self._journal = journal
        self._sessions = Sessions(journal)
        self._patience = patience
        self._parallel = parallel
        self._every = every
        self._most = max(most, every)
        self._queued = queued
        self._endpoints = endpoints
        self._hands = hands or Hands()
        self._sleep = sleep
        self._steady = steady
        self._forced: set[str] = set()
        self._unfinished: set[str] = set()
        """Users during whose work the store went out of reach."""
        self._is_poor = False
        """Whether turns wait for the budget of another day; `resume` tries them again."""
        self._stalled: dict[str, Stall] = {}
        """Users whose work waits for an endpoint or the store, the longest waiting first."""
        self.adopt()

    def adopt(self) -> None:
        """Work in the running event loop from now on; a former one is gone."""
        self._slots = asyncio.Semaphore(self._parallel)
        self._hands.adopt()
        self._line: dict[str, None] = {}
        """Users who wait to be served, in order; a user comes last again after each call."""
        self._again: set[str] = set()
        """Users for whom there is more to do than their task knows."""
        self._tasks: dict[str, asyncio.Task[SouffleurError | None]] = {}
        self._resting = 0
        """Number of tasks that wait to attempt something again."""
        self._awaited: dict[str, asyncio.Future[SouffleurError | None]] = {}
        self._unread: int | None = None
        """The turn from which on waiting users are not queued yet; `None` if all are."""
        self._reading: asyncio.Task[None] | None = None
        self._later: dict[str, asyncio.TimerHandle] = {}
        self._probe: asyncio.Task[None] | None = None
        self._hurry = asyncio.Event()
        self._closing = False

    @property
    def is_stalled(self) -> bool:
        """Whether any user's turns wait for an endpoint or the store, or for another day."""
        return bool(self._stalled) or self._is_poor

    async def resume(self) -> None:
        """Resume what waits, from a former process or from an outage, the oldest turns first."""
        self._unread, self._is_poor = 0, False
        await self._read_on()
        for user_id in await self._sessions.users_waiting():
            self.wake(user_id)

    def hurry(self) -> None:
        """Cut short every pause after a failure: a caller waits, or an endpoint was repaired."""
        self._hurry.set()
        self._hurry = asyncio.Event()

    async def judge_now(self, user_id: str) -> None:
        """Judge all waiting turns of this user, whatever the cadence, and wait for it.

        Raises what prevented it: EndpointError, EmbedderError or StoreError.
        """
        self._forced.add(user_id)
        self.wake(user_id)
        if error := await self._served(user_id):
            raise error

    def wake(self, user_id: str) -> None:
        """Have this user served, in line with the others. Must be called in the event loop."""
        if user_id in self._tasks:
            self._again.add(user_id)
        else:
            self._line.setdefault(user_id)
            self._begin()

    def wake_stalled(self) -> None:
        """Resume the work of all users that waited for an endpoint: it answers again."""
        for user_id in list(self._stalled):
            self.wake(user_id)

    async def drain(self, seconds: float | None = None) -> bool:
        """Wait until no work is running; return `False` if the time was too short."""
        loop = asyncio.get_running_loop()
        deadline = None if seconds is None else loop.time() + seconds
        while tasks := self._running():
            left = None if deadline is None else deadline - loop.time()
            if left is not None and left <= 0:
                return False
            await asyncio.wait(tasks, timeout=left)
        return True

    async def finish(self, seconds: float) -> bool:
        """Work on for half of these seconds, then only let calls end that have begun.

        Returns whether all is done; what is not waits in the journal.
        """
        done = await self.drain(seconds / 2)
        if not done:
            self._close_line()
            self.hurry()
            await self.drain(seconds / 2)
        return done

    async def halt(self, user_id: str) -> None:
        """Break off the work of a user; `wake` resumes what waits."""
        self._again.discard(user_id)
        self._line.pop(user_id, None)
        if later := self._later.pop(user_id, None):
            later.cancel()
        if task := self._tasks.get(user_id):
            task.cancel()
            await asyncio.wait([task])
        self._tell_awaiting(user_id, None)

    async def stop(self) -> None:
        """Stop at once; waiting turns stay in the journal."""
        self._close_line()
        for handle in self._later.values():
            handle.cancel()
        tasks = [*self._running(), *([self._probe] if self._probe else [])]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _close_line(self) -> None:
        """Begin nothing more."""
        self._closing = True
        for user_id in self._line:
            self._tell_awaiting(user_id, None)
        self._line.clear()

    def _begin(self) -> None:
        """Begin to serve those who are first in line, as far as there is room."""
        loop = asyncio.get_running_loop()
        # One who rests lets another work; not without end, as each is a task.
        room = self._parallel + min(self._resting, self._parallel)
        while self._line and len(self._tasks) < room and not self._closing:
            user_id = next(iter(self._line))
            del self._line[user_id]
            task = loop.create_task(self._serve(user_id))
            self._tasks[user_id] = task
            task.add_done_callback(partial(self._ended, user_id))
        idle = self._reading is None or self._reading.done()
        if idle and self._unread is not None and len(self._line) < self._parallel:
            self._reading = None if self._closing else loop.create_task(self._go_on_reading())

    async def _read_on(self) -> None:
        """Queue users of the turns that have waited longest, as far as there is room."""
        while self._unread is not None and (room := self._queued - len(self._line)) > 0:
            limit = min(room, POINTS_PER_PAGE)
            users, self._unread = await self._journal.users_waiting(after=self._unread, limit=limit)
            for user_id in users:
                self.wake(user_id)

    async def _go_on_reading(self) -> None:
        try:
            await self._read_on()
        except StoreError as error:
            logger.warning("who else waits is not known, it is read again later: {}", error)

    def _running(self) -> list[asyncio.Task[Any]]:
        reading = [self._reading] if self._reading and not self._reading.done() else []
        return [*self._tasks.values(), *reading]

    async def _served(self, user_id: str) -> SouffleurError | None:
        """Wait until nothing is left to do for a user; return the error that prevented it."""
        loop = asyncio.get_running_loop()
        served = self._awaited.setdefault(user_id, loop.create_future())
        await asyncio.wait([served])
        return served.result()

    def _tell_awaiting(self, user_id: str, error: SouffleurError | None) -> None:
        if (served := self._awaited.pop(user_id, None)) and not served.done():
            served.set_result(error)

    async def _serve(self, user_id: str) -> SouffleurError | None:
        """Do the next piece of a user's work; return the error that prevented it, if any."""
        forced = user_id in self._forced
        self._forced.discard(user_id)
        try:
            if await self._judge_next(user_id, forced):
                self._again.add(user_id)
                self._forced |= {user_id} if forced else set()
            else:
                async with self._slots, self._hands.work():
                    wait = await self._tell(user_id)
                self._wake_later(user_id, wait)
            self._stalled.pop(user_id, None)
        except BudgetError as error:  # the turns wait in the journal, and nobody in memory
            self._stalled.pop(user_id, None)
            self._is_poor = True
            return error
        except (EndpointError, EmbedderError, StoreError) as error:
            self._stall(user_id, error)
            return error
        except Exception as error:  # noqa: BLE001  the worker's edge: whatever it was, talk goes on
            self._stalled.pop(user_id, None)
            bound = logger.bind(user=user_id)
            bound.error("work was broken off: {}", describe(error))
            trace_bug(bound, error)
        return None

    async def _judge_next(self, user_id: str, forced: bool) -> bool:
        """Attempt the first turns that are due; return `False` if none is.

        Raises an outage that lasts.
        """
        outages = 0
        while True:
            try:
                async with self._slots, self._hands.work():
                    if self._closing:
                        return True
                    if user_id in self._unfinished:
                        await self._finish(user_id)
                        self._unfinished.discard(user_id)
                    if not (turns := await self._due(user_id, forced)):
                        return False
                    pause = await self._try(turns)
            except (EndpointError, EmbedderError, StoreError) as error:
                outages += 1
                if isinstance(error, StoreError):
                    self._unfinished.add(user_id)
                if outages >= self._patience.tries or not may_pass(error):
                    raise
                await self._rest(max(self._patience.wait(outages), self._endpoints.retry_in))
            else:
                await self._rest(pause)
                return True

    async def _rest(self, seconds: float) -> None:
        """Wait for these seconds, or until `hurry` is called."""
        if not seconds or self._closing:
            return
        ends = [asyncio.ensure_future(end) for end in (self._sleep(seconds), self._hurry.wait())]
        self._resting += 1
        self._begin()
        try:
            await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._resting -= 1
            for end in ends:
                end.cancel()

    async def _try(self, turns: Sequence[Turn]) -> float:
        """Judge once; return the seconds to wait before going on.

        Raises EndpointError, EmbedderError or StoreError if these turns are not the cause.
        """
        try:
            await self._judge(turns)
        except Exception as error:  # noqa: BLE001  the worker's edge: whatever it was, talk goes on
            return await self._failed(turns, error)
        return 0.0

    async def _failed(self, turns: Sequence[Turn], error: Exception) -> float:
        text = mend(f"{type(error).__name__}: {error}")
        await self._note_cost(turns[0], error)
        if not await self._endpoints.is_fault_of_request(error):
            if not isinstance(error, OutageError | StoreError):
                await self._journal.mark(turns, error=text)
            raise error
        tries = max(turn.tries for turn in turns) + 1
        hopeless = isinstance(error, EndpointError) and not error.retryable
        # A group that failed is tried turn by turn, so that one bad turn does not take the others.
        last = len(turns) == 1 and (tries >= self._patience.tries or hopeless)
        state = TurnState.FAILED if last else TurnState.PENDING
        await self._journal.mark(turns, tries=tries, error=text, state=state)
        first = turns[0]
        bound = logger.bind(user=first.user_id, session=first.session_id, turn=first.turn_id)
        then = "set aside" if last else "will be tried again"
        bound.bind(tries=tries).warning("turn not judged, {}: {}", then, describe(error))
        trace_bug(bound, error)
        return 0.0 if last else self._patience.wait(tries)

    async def _note_cost(self, turn: Turn, error: Exception) -> None:
        """Add the usage of a failed attempt to the usage noted with its first turn."""
        usage = error.usage if isinstance(error, EndpointError | AnswerError) else {}
        if usage:
            spent = {key: turn.spent.get(key, 0) + value for key, value in usage.items()}
            await self._journal.mark([turn], spent=spent)

    async def _due(self, user_id: str, forced: bool) -> list[Turn]:
        """Return the first waiting turns that must be judged now, as many as one call takes."""
        pending = TurnState.PENDING
        if self._every == 1 or forced:
            waiting = await self._journal.turns(state=pending, user_id=user_id, limit=self._most)
            return self._together(waiting)
        after = 0
        while waiting := await self._journal.turns(
            state=pending, user_id=user_id, limit=TURNS_LOOKED_AT, after=after
        ):
            if due := await self._due_of(user_id, waiting):
                return self._together(due)
            after = waiting[-1].seq
        return []

    async def _due_of(self, user_id: str, waiting: Sequence[Turn]) -> list[Turn]:
        """Return those waiting turns whose session has enough of them, or has ended."""
        due: set[str] = set()
        for session in {(turn.session_id, turn.sphere) for turn in waiting}:
            ids = {turn.id for turn in waiting if (turn.session_id, turn.sphere) == session}
            window = {turn.id for turn in await self._sessions.window(user_id, *session)}
            enough = self._every and len(ids & window) >= self._every
            due |= ids if enough else ids - window
        return [turn for turn in waiting if turn.id in due or turn.tries]

    def _together(self, turns: Sequence[Turn]) -> list[Turn]:
        """Return the first of these turns, as many as one call takes."""
        if not turns:
            return []
        own, rounds = alike(turns), len(self._line) // self._parallel
        usual = max(USUAL_TURNS_PER_CALL, self._every)
        return own[: turns_per_call(len(own), rounds, self._most, usual)]

    def _stall(self, user_id: str, error: SouffleurError) -> None:
        """Note that a user waits, and schedule another attempt."""
        former = self._stalled.pop(user_id, Stall(0, 0.0))
        times = former.times + (not isinstance(error, OutageError))
        asked = error.retry_after if isinstance(error, EndpointError) else None
        usual = self._patience.wait(max(times, 1), MAX_STALL_PAUSE)
        pause = max(usual, asked or 0.0, MIN_RETRY_PAUSE)
        # At the end: another user tries next, in case this one's request is the cause.
        self._stalled[user_id] = Stall(times, self._steady() + min(pause, MAX_STALL_PAUSE))
        logger.bind(user=user_id).warning("turns wait: {}", error)
        self._try_later()

    def _try_later(self) -> None:
        if self._stalled and (self._probe is None or self._probe.done()):
            self._probe = asyncio.get_running_loop().create_task(self._try_next())

    async def _try_next(self) -> None:
        """Wake the users whose time has come one by one, the longest waiting first."""
        while self._stalled:
            ready = min(stall.ready_at for stall in self._stalled.values())
            wait = max(ready - self._steady(), self._endpoints.retry_in)
            if wait <= 0:
                now = self._steady()
                user_id = next(id for id, stall in self._stalled.items() if stall.ready_at <= now)
                self.wake(user_id)
                await self._served(user_id)
            else:
                await self._sleep(wait)

    def _ended(self, user_id: str, task: asyncio.Task[SouffleurError | None]) -> None:
        if self._tasks.get(user_id) is task:
            del self._tasks[user_id]
        again = user_id in self._again and user_id not in self._stalled
        self._again.discard(user_id)
        if again and not task.cancelled() and not self._closing:
            self._line.setdefault(user_id)
        else:
            self._tell_awaiting(user_id, None if task.cancelled() else task.result())
        self._begin()

    def _wake_later(self, user_id: str, wait: float | None) -> None:
        former = self._later.pop(user_id, None)
        if former:
            former.cancel()
        if wait is not None:
            loop = asyncio.get_running_loop()
            pause = max(wait, MIN_RETRY_PAUSE)
            self._later[user_id] = loop.call_later(pause, self._wake_due, user_id)

    def _wake_due(self, user_id: str) -> None:
        self._later.pop(user_id, None)
        self.wake(user_id)
