"""The worker: judges observed turns in the background, in order per user, users concurrently.

When no turn of a user is waiting, the talk is summarised: episodes, then the portrait.

The queue is the journal: a turn waits there until it is judged, so a restart resumes where it
stopped. An outage of an endpoint does not count against a turn: turns wait, one of them asks now
and then, and all resume when it answers. Only an answer that stays unusable sets a turn aside.
"""

import asyncio
import itertools
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from loguru import logger

from souffleur.errors import (
    AnswerError,
    EmbedderError,
    EndpointError,
    OutageError,
    SouffleurError,
    StoreError,
)
from souffleur.knowledge.journal import Journal
from souffleur.knowledge.language.plain_text import mend
from souffleur.knowledge.sessions import Sessions
from souffleur.knowledge.talk.turn import Turn, TurnState
from souffleur.telemetry.log_lines import describe, trace_bug

JudgeTurns = Callable[[Sequence[Turn]], Awaitable[None]]
Tell = Callable[[str], Awaitable[float | None]]
"""Writes a user's episodes and portrait; returns the seconds until it should be called again."""
Sleep = Callable[[float], Awaitable[None]]

MAX_TURNS_PER_CALL = 5
"""Maximum waiting turns of a session that are judged in one call."""
MIN_RETRY_PAUSE = 1.0
"""Minimum seconds before retrying what waits for an endpoint, or a failed episode or portrait,
whatever the settings and the clock are."""
MAX_TURN_PAUSE = 60.0
"""Maximum seconds between two attempts at a turn."""
MAX_STALL_PAUSE = 300.0
"""Maximum seconds between two attempts for a user who waits for an endpoint or the store."""


@dataclass(frozen=True)
class Patience:
    """How often a turn is attempted, and how long to wait in between."""

    tries: int = 3
    pause: float = 2.0
    """Seconds before the second attempt; doubles with each further one."""

    def wait(self, tries: int, longest: float = MAX_TURN_PAUSE) -> float:
        """Return the seconds to wait after the n-th failed attempt.

        >>> Patience().wait(1), Patience().wait(2), Patience().wait(99)
        (2.0, 4.0, 60.0)
        """
        return min(self.pause * 2.0 ** min(tries - 1, 30), longest)


class Endpoints(Protocol):
    """What the worker needs to know of the endpoints."""

    @property
    def retry_in(self) -> float:
        """Seconds until all of them may be asked; 0 if they may be asked now."""
        ...

    async def is_fault_of_request(self, error: Exception) -> bool:
        """Return whether another request would have succeeded."""
        ...


@dataclass(frozen=True)
class Stall:
    """A user whose turns wait for an endpoint or the store."""

    times: int
    """Number of failures in a row."""
    ready_at: float
    """The steady second from which it may be tried again."""


class Worker:
    """Runs one task per user with waiting work, at most `parallel` at once.

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
        endpoints: Endpoints,
        sleep: Sleep = asyncio.sleep,
        steady: Callable[[], float] = time.monotonic,
    ) -> None:
        """`steady` counts seconds and never jumps; `sleep` waits for a number of them."""
        self._judge = judge
        self._tell = tell
        self._finish = finish
        self._journal = journal
        self._sessions = Sessions(journal)
        self._patience = patience
        self._parallel = parallel
        self._every = every
        self._endpoints = endpoints
        self._sleep = sleep
        self._steady = steady
        self._again: set[str] = set()
        self._forced: set[str] = set()
        self._unfinished: set[str] = set()
        """Users during whose work the store went out of reach."""
        self._stalled: dict[str, Stall] = {}
        """Users whose work waits for an endpoint or the store, the longest waiting first."""
        self.adopt()

    def adopt(self) -> None:
        """Work in the running event loop from now on; a former one is gone."""
        self._slots = asyncio.Semaphore(self._parallel)
        self._tasks: dict[str, asyncio.Task[SouffleurError | None]] = {}
        self._later: dict[str, asyncio.TimerHandle] = {}
        self._probe: asyncio.Task[None] | None = None
        self._hurry = asyncio.Event()

    @property
    def is_stalled(self) -> bool:
        """Whether any user's turns wait for an endpoint or the store to come back."""
        return bool(self._stalled)

    async def resume(self) -> None:
        """Resume what waits, from a former process or from an outage."""
        users = await self._journal.users_with_pending_turns()
        users |= {segment.user_id for segment in await self._sessions.waiting_segments()}
        for user_id in sorted(users):
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
        task = self._tasks[user_id]
        await asyncio.wait([task])
        error = None if task.cancelled() else task.result()
        if error is not None:
            raise error

    def wake(self, user_id: str) -> None:
        """Start work for this user, unless it runs already. Must be called in the event loop."""
        self._again.add(user_id)
        if user_id not in self._tasks:
            task = asyncio.get_running_loop().create_task(self._serve(user_id))
            self._tasks[user_id] = task
            task.add_done_callback(lambda done: self._ended(user_id, done))

    def wake_stalled(self) -> None:
        """Resume the work of all users that waited for an endpoint: it answers again."""
        for user_id in list(self._stalled):
            self.wake(user_id)

    async def drain(self, seconds: float | None = None) -> bool:
        """Wait until no work is running; return `False` if the time was too short."""
        loop = asyncio.get_running_loop()
        deadline = None if seconds is None else loop.time() + seconds
        while tasks := list(self._tasks.values()):
            left = None if deadline is None else deadline - loop.time()
            if left is not None and left <= 0:
                return False
            await asyncio.wait(tasks, timeout=left)
        return True

    async def halt(self, user_id: str) -> None:
        """Break off the work of a user; `wake` resumes what waits."""
        self._again.discard(user_id)
        if later := self._later.pop(user_id, None):
            later.cancel()
        if task := self._tasks.get(user_id):
            task.cancel()
            await asyncio.wait([task])

    async def stop(self) -> None:
        """Stop at once; waiting turns stay in the journal."""
        for handle in self._later.values():
            handle.cancel()
        tasks: list[asyncio.Task[object]] = [*self._tasks.values()]
        tasks += [self._probe] if self._probe else []
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _serve(self, user_id: str) -> SouffleurError | None:
        """Do all work of a user; return the error that prevented it, if any."""
        try:
            while user_id in self._again:
                self._again.discard(user_id)
                forced = user_id in self._forced
                self._forced.discard(user_id)
                await self._judge_due(user_id, forced)
                async with self._slots:
                    wait = await self._tell(user_id)
                self._stalled.pop(user_id, None)
                self._wake_later(user_id, wait)
        except (EndpointError, EmbedderError, StoreError) as error:
            self._stall(user_id, error)
            return error
        except Exception as error:  # noqa: BLE001  the worker's edge: whatever it was, talk goes on
            self._stalled.pop(user_id, None)
            bound = logger.bind(user=user_id)
            bound.error("work was broken off: {}", describe(error))
            trace_bug(bound, error)
        return None

    async def _judge_due(self, user_id: str, forced: bool) -> None:
        """Judge what is due, in order. Raises an outage that lasts."""
        outages = 0
        while True:
            try:
                if user_id in self._unfinished:
                    await self._finish(user_id)
                    self._unfinished.discard(user_id)
                if not (turns := await self._due(user_id, forced)):
                    return
                async with self._slots:
                    pause = await self._try(_together(turns, max(MAX_TURNS_PER_CALL, self._every)))
                outages = 0
            except (EndpointError, EmbedderError, StoreError) as error:
                outages += 1
                if isinstance(error, StoreError):
                    self._unfinished.add(user_id)
                if outages >= self._patience.tries or not _may_pass(error):
                    raise
                pause = max(self._patience.wait(outages), self._endpoints.retry_in)
            await self._rest(pause)

    async def _rest(self, seconds: float) -> None:
        """Wait for these seconds, or until `hurry` is called."""
        if not seconds:
            return
        ends = [asyncio.ensure_future(end) for end in (self._sleep(seconds), self._hurry.wait())]
        try:
            await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        finally:
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
        """Return the first waiting turns that must be judged now, in order."""
        pending = TurnState.PENDING
        if self._every == 1 or forced:
            limit = max(MAX_TURNS_PER_CALL, self._every)
            return await self._journal.turns(state=pending, user_id=user_id, limit=limit)
        waiting = await self._journal.turns(state=pending, user_id=user_id)
        due: set[str] = set()
        for session in {(turn.session_id, turn.sphere) for turn in waiting}:
            ids = {turn.id for turn in waiting if (turn.session_id, turn.sphere) == session}
            window = {turn.id for turn in await self._sessions.window(user_id, *session)}
            enough = self._every and len(ids & window) >= self._every
            due |= ids if enough else ids - window
        return [turn for turn in waiting if turn.id in due or turn.tries]

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
                await asyncio.wait([self._tasks[user_id]])
            else:
                await self._sleep(wait)

    def _ended(self, user_id: str, task: asyncio.Task[SouffleurError | None]) -> None:
        if self._tasks.get(user_id) is task:
            del self._tasks[user_id]
        if user_id in self._again and not task.cancelled() and user_id not in self._stalled:
            self.wake(user_id)

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


def _together(turns: Sequence[Turn], limit: int) -> list[Turn]:
    """Return the first turn and those directly after it that can be judged with it."""
    first = turns[0]
    if first.tries or first.version:
        return [first]
    alike = itertools.takewhile(lambda turn: _whereabouts(turn) == _whereabouts(first), turns)
    return list(itertools.islice(alike, limit))


def _whereabouts(turn: Turn) -> tuple[object, ...]:
    return turn.user_id, turn.session_id, turn.agent_id, turn.tries, turn.version


def _may_pass(error: EndpointError | EmbedderError | StoreError) -> bool:
    """Return whether to try again soon: it may pass by itself, and failing takes little time."""
    return isinstance(error, StoreError) or (
        not error.slow and not (isinstance(error, EndpointError) and not error.retryable)
    )
