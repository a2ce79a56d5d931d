"""The line: users who wait to be served, in order, each once; a backlog is read piece by piece."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from typing import Any
from weakref import WeakValueDictionary

from loguru import logger

from souffleur.errors import (
    BudgetError,
    EmbedderError,
    EndpointError,
    OutageError,
    SouffleurError,
    StoreError,
)
from souffleur.knowledge.store.engine.collection import POINTS_PER_PAGE
from souffleur.knowledge.store.ledger import Journal
from souffleur.knowledge.store.sessions import Sessions
from souffleur.service.judging import (
    MAX_STALL_PAUSE,
    MIN_RETRY_PAUSE,
    USUAL_TURNS_PER_CALL,
    Attempts,
    DueTurns,
    Endpoints,
    JudgeTurns,
    Patience,
    Stall,
    may_pass,
)
from souffleur.service.limit import Hands
from souffleur.telemetry.log_lines import describe, trace_bug

MAX_QUEUED_USERS = 10_000
"""Users of a backlog that are queued in memory; the others are read from the journal later."""


class Line:
    """Names of users; `wake(user_id)` is called for those that are read from the journal."""

    def __init__(
        self, journal: Journal, wake: Callable[[str], None], *, most: int = MAX_QUEUED_USERS
    ) -> None:
        """At most `most` users of a backlog are held at a time."""
        self._journal = journal
        self._wake = wake
        self._most = most
        self._users: dict[str, None] = {}
        self._unread: int | None = None
        """The turn from which on waiting users are not in the line yet; `None` if all are."""
        self.reading: asyncio.Task[None] | None = None
        """Reads on, in the background; `None` if nothing is read."""

    def __len__(self) -> int:
        return len(self._users)

    def __iter__(self) -> Iterator[str]:
        return iter(self._users)

    def add(self, user_id: str) -> None:
        """Put a user at the end, unless it stands in the line already."""
        self._users.setdefault(user_id)

    def take(self) -> str:
        """Take out the first user."""
        user_id = next(iter(self._users))
        del self._users[user_id]
        return user_id

    def discard(self, user_id: str) -> None:
        """Take out this user, if it is there."""
        self._users.pop(user_id, None)

    def clear(self) -> None:
        """Forget who waits; all of it is in the journal."""
        self._users.clear()
        self._unread = None

    async def read(self) -> None:
        """Add all users with turns that wait, the longest waiting first, as far as there is room.

        Raises StoreError.
        """
        self._unread = 0
        await self._read_on()

    def refill(self, fewest: int) -> None:
        """Read on in the background if fewer users than this are in line."""
        if self._unread is not None and len(self) < fewest and self.reading is None:
            self.reading = asyncio.get_running_loop().create_task(self._refill())

    async def _refill(self) -> None:
        try:
            await self._read_on()
        except StoreError as error:
            logger.warning("who else waits is not known, it is read again later: {}", error)
        finally:
            self.reading = None

    async def _read_on(self) -> None:
        while self._unread is not None and (room := self._most - len(self)) > 0:
            limit = min(room, POINTS_PER_PAGE)
            users, self._unread = await self._journal.users_waiting(after=self._unread, limit=limit)
            for user_id in users:
                self._wake(user_id)


Sleep = Callable[[float], Awaitable[None]]


class Stalls:
    """Has `serve(user_id)` tried for one user at a time, the longest waiting first."""

    def __init__(
        self,
        serve: Callable[[str], Awaitable[object]],
        endpoints: Endpoints,
        patience: Patience,
        *,
        sleep: Sleep,
        steady: Callable[[], float],
    ) -> None:
        self._serve = serve
        self._endpoints = endpoints
        self._patience = patience
        self._sleep = sleep
        self._steady = steady
        self.users: dict[str, Stall] = {}
        """Who waits, the longest waiting first."""
        self.task: asyncio.Task[None] | None = None
        """Tries users while there are any."""

    def note(self, user_id: str, error: SouffleurError) -> None:
        """Note that a user waits, and schedule another attempt."""
        former = self.users.pop(user_id, Stall(0, 0.0))
        times = former.times + (not isinstance(error, OutageError))
        asked = error.retry_after if isinstance(error, EndpointError) else None
        usual = self._patience.wait(max(times, 1), MAX_STALL_PAUSE)
        pause = max(usual, asked or 0.0, MIN_RETRY_PAUSE)
        # At the end: another user tries next, in case this one's request is the cause.
        self.users[user_id] = Stall(times, self._steady() + min(pause, MAX_STALL_PAUSE))
        logger.bind(user=user_id).warning("turns wait: {}", error)
        if self.task is None or self.task.done():
            self.task = asyncio.get_running_loop().create_task(self._try_next())

    def settle(self, user_id: str) -> None:
        """Note that a user waits no longer."""
        self.users.pop(user_id, None)

    async def _try_next(self) -> None:
        while self.users:
            ready = min(stall.ready_at for stall in self.users.values())
            wait = max(ready - self._steady(), self._endpoints.retry_in)
            if wait <= 0:
                now = self._steady()
                await self._serve(
                    next(id for id, stall in self.users.items() if stall.ready_at <= now)
                )
            else:
                await self._sleep(wait)


Claim = Callable[[str], AbstractAsyncContextManager[bool]]
"""Holds a user while work for the user is done; yields whether this process may work."""
Tell = Callable[[str], Awaitable[float | None]]
"""Writes a user's episodes and portrait; returns the seconds until it should be called again."""


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
        claim: Claim | None = None,
        sleep: Sleep = asyncio.sleep,
        steady: Callable[[], float] = time.monotonic,
    ) -> None:
        """`steady` counts seconds and never jumps; `sleep` waits for a number of them.

        `most` is the maximum number of turns that one call judges, `queued` that of users of a
        backlog in memory. Without a `claim`, every user is this process's own.
        """
        self._claim = claim or _own
        self._tell = tell
        self._finish = finish
        self._sessions = Sessions(journal)
        self._due = DueTurns(journal, every=every, most=most)
        self._attempts = Attempts(judge, journal, endpoints, patience)
        self._patience = patience
        self._parallel = parallel
        self._endpoints = endpoints
        self._hands = hands or Hands()
        self._sleep = sleep
        self._make_line = partial(Line, journal, self.wake, most=queued)
        self._stalls = Stalls(self._served, endpoints, patience, sleep=sleep, steady=steady)
        self._forced: set[str] = set()
        self._woken: set[str] = set()
        """Users for whom somebody called since it was read what of theirs waits."""
        self._judged: set[str] = set()
        """Users of whom all that was read to wait has been judged."""
        self._unfinished: set[str] = set()
        """Users during whose work the store went out of reach."""
        self._is_poor = False
        """Whether turns wait for the budget of another day; `resume` tries them again."""
        self.adopt()

    def adopt(self) -> None:
        """Work in the running event loop from now on; a former one is gone."""
        self._slots = asyncio.Semaphore(self._parallel)
        self._hands.adopt()
        self._line = self._make_line()
        """Who waits to be served; a user comes last again after each call."""
        self._again: set[str] = set()
        """Users for whom there is more to do than their task knows."""
        self._tasks: dict[str, asyncio.Task[SouffleurError | None]] = {}
        self._resting = 0
        """Number of tasks that wait to attempt something again."""
        self._awaited: dict[str, asyncio.Future[SouffleurError | None]] = {}
        self._later: dict[str, asyncio.TimerHandle] = {}
        self._halts = WeakValueDictionary[str, asyncio.Lock]()
        """Locks of users with whom something is done alone."""
        self._stalls.task = None
        self._hurry = asyncio.Event()
        self._closing = False

    @property
    def is_stalled(self) -> bool:
        """Whether any user's turns wait for an endpoint or the store, or for another day."""
        return bool(self._stalls.users) or self._is_poor

    async def resume(self) -> None:
        """Resume what waits, from a former process or from an outage, the oldest turns first."""
        self._is_poor = False
        await self._line.read()
        for user_id in await self._sessions.users_waiting():
            self.wake(user_id)
        self.wake_stalled()  # their turns may have been judged before the store went

    def hurry(self) -> None:
        """Cut short every pause after a failure: a caller waits, or an endpoint was repaired."""
        self._hurry.set()
        self._hurry = asyncio.Event()

    async def judge_now(self, user_id: str) -> None:
        """Judge all waiting turns of this user, whatever the cadence, and wait for it.

        Raises what prevented it: EndpointError, EmbedderError or StoreError.
        """
        self._forced.add(user_id)
        if error := await self._served(user_id):
            raise error

    def wake(self, user_id: str) -> None:
        """Have this user served, in line with the others. Must be called in the event loop."""
        self._woken.add(user_id)
        if (halt := self._halts.get(user_id)) and halt.locked():
            return
        if user_id in self._tasks:
            self._again.add(user_id)
        else:
            self._line.add(user_id)
            self._begin()

    def wake_found(self, new: Iterable[str], again: Iterable[str]) -> None:
        """Serve users for whom work was found in the store, unless they are stalled here.

        Those for whom it is not `new` are served if nothing is under way or planned here.
        """
        busy = self._tasks.keys() | self._later.keys()
        for user_id in (*new, *(id for id in again if id not in busy)):
            if user_id not in self._stalls.users:
                self.wake(user_id)

    def wake_stalled(self) -> None:
        """Resume the work of all users that waited for an endpoint: it answers again."""
        for user_id in list(self._stalls.users):
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

    @asynccontextmanager
    async def halted(self, user_id: str) -> AsyncIterator[None]:
        """Break off the work of a user, and begin none within: one at a time, others wait.

        `wake` resumes what waits afterwards.
        """
        halt = self._halts.setdefault(user_id, asyncio.Lock())
        async with halt:
            self._again.discard(user_id)
            self._line.discard(user_id)
            if later := self._later.pop(user_id, None):
                later.cancel()
            if task := self._tasks.get(user_id):
                task.cancel()
                await asyncio.wait([task])
            self._tell_awaiting(user_id, None)
            yield

    async def stop(self) -> None:
        """Stop at once; waiting turns stay in the journal."""
        self._close_line()
        for handle in self._later.values():
            handle.cancel()
        tasks = [*self._running(), *([self._stalls.task] if self._stalls.task else [])]
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
            user_id = self._line.take()
            task = loop.create_task(self._serve(user_id))
            self._tasks[user_id] = task
            task.add_done_callback(partial(self._ended, user_id))
        if not self._closing:
            self._line.refill(self._parallel)

    def _running(self) -> list[asyncio.Task[Any]]:
        return [*self._tasks.values(), *([self._line.reading] if self._line.reading else [])]

    async def _served(self, user_id: str) -> SouffleurError | None:
        """Serve a user until nothing is left to do; return the error that prevented it."""
        self.wake(user_id)
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
            async with self._claim(user_id) as mine:
                if mine:
                    await self._do_next(user_id, forced)
            self._stalls.settle(user_id)
        except BudgetError as error:  # the turns wait in the journal, and nobody in memory
            self._stalls.settle(user_id)
            self._is_poor = True
            return error
        except (EndpointError, EmbedderError, StoreError) as error:
            self._stalls.note(user_id, error)
            return error
        except Exception as error:  # noqa: BLE001  the worker's edge: whatever it was, talk goes on
            self._stalls.settle(user_id)
            bound = logger.bind(user=user_id)
            bound.error("work was broken off: {}", describe(error))
            trace_bug(bound, error)
        return None

    async def _do_next(self, user_id: str, forced: bool) -> None:
        """Attempt the turns that are due next; if none is, have what is left told."""
        if not self._is_all_judged(user_id) and await self._judge_next(user_id, forced):
            self._again.add(user_id)
            self._forced |= {user_id} if forced else set()
            return
        async with self._slots, self._hands.work():
            wait = await self._tell(user_id)
        self._wake_later(user_id, wait)

    def _is_all_judged(self, user_id: str) -> bool:
        """Return whether all that waited has just been judged, and nobody called since."""
        judged = user_id in self._judged
        self._judged.discard(user_id)
        return judged and user_id not in self._woken and not self._closing

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
                    rounds = len(self._line) // self._parallel
                    self._woken.discard(user_id)
                    due = await self._due.next_for(user_id, forced=forced, rounds=rounds)
                    turns, are_more = due
                    if not turns:
                        return False
                    pause = await self._attempts.judge(turns)
            except (EndpointError, EmbedderError, StoreError) as error:
                outages += 1
                if isinstance(error, StoreError):
                    self._unfinished.add(user_id)
                if outages >= self._patience.tries or not may_pass(error):
                    raise
                await self._rest(max(self._patience.wait(outages), self._endpoints.retry_in))
            else:
                self._judged |= {user_id} if pause is None and not are_more else set()
                await self._rest(pause or 0.0)
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

    def _ended(self, user_id: str, task: asyncio.Task[SouffleurError | None]) -> None:
        if self._tasks.get(user_id) is task:
            del self._tasks[user_id]
        again = user_id in self._again and user_id not in self._stalls.users
        self._again.discard(user_id)
        if again and not task.cancelled() and not self._closing:
            self._line.add(user_id)
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


@asynccontextmanager
async def _own(user_id: str) -> AsyncIterator[bool]:
    yield True
