"""The queue: which user is served next and when, and when failed work is tried again."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
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
    USUAL_TURNS_PER_CALL,
    Attempts,
    DueTurns,
    Endpoints,
    JudgeTurns,
    Retries,
)
from souffleur.service.limit import Limit
from souffleur.telemetry.log_lines import describe, trace_bug

MAX_QUEUED_USERS = 10_000
"""Maximum waiting users in memory; the other waiting users are read from the journal later."""
MIN_RETRY_PAUSE = 1.0
"""Minimum seconds before another attempt, if a user waits for an endpoint, an episode or a
portrait; it holds whatever the settings and the clock are."""
MAX_STALL_PAUSE = 300.0
"""Maximum seconds between two attempts for a user who waits for an endpoint or the store."""

Claim = Callable[[str], AbstractAsyncContextManager[bool]]
"""Holds the lease of a user during work for the user; yields whether this process may work."""
Summarise = Callable[[str], Awaitable[float | None]]
"""Writes a user's episodes and portraits; returns the seconds until the next call, or `None`."""
Sleep = Callable[[float], Awaitable[None]]


@dataclass(frozen=True)
class Stall:
    """A user whose turns wait for an endpoint or the store."""

    times: int
    """Number of failures in a row."""
    ready_at: float
    """The steady second from which on the work may be tried again."""


@asynccontextmanager
async def _claim_all(user_id: str) -> AsyncIterator[bool]:
    """Claim every user, as this process works alone."""
    yield True


class Queue:
    """Serves the users with waiting work in rotation: a single call, then the next user.

    Turns are judged first; when no turn is due, the user's talk is summarised. Stalled users (their
    endpoint or store fails) are tried one at a time, the longest waiting first.
    """

    def __init__(
        self,
        judge: JudgeTurns,
        summarise: Summarise,
        journal: Journal,
        *,
        finish: Callable[[str], Awaitable[object]],
        retries: Retries,
        endpoints: Endpoints,
        limit: Limit | None = None,
        every: int = 1,
        most: int = USUAL_TURNS_PER_CALL,
        queued: int = MAX_QUEUED_USERS,
        claim: Claim = _claim_all,
        sleep: Sleep = asyncio.sleep,
        steady: Callable[[], float] = time.monotonic,
    ) -> None:
        """After a store outage, `finish` carries out a user's verdicts that are only in the ledger.

        For `every` and `most` see `DueTurns`; `queued` is the maximum number of waiting users in
        memory. `steady` counts seconds and never jumps; `sleep` waits for seconds.
        """
        self._summarise = summarise
        self._journal = journal
        self._finish = finish
        self._retries = retries
        self._endpoints = endpoints
        self._limit = limit or Limit()
        self._queued = queued
        self._claim = claim
        self._sleep = sleep
        self._steady = steady
        self._sessions = Sessions(journal)
        self._due = DueTurns(journal, every=every, most=most)
        self._attempts = Attempts(judge, journal, endpoints, retries)
        self._stalled: dict[str, Stall] = {}
        """Users whose endpoint or store fails, the longest waiting first."""
        self._forced: set[str] = set()
        """Users whose turns are all judged now, even if they are not due."""
        self._woken: set[str] = set()
        """Users who were woken since their waiting turns were last read."""
        self._judged: set[str] = set()
        """Users whose waiting turns, as last read, are all judged."""
        self._unfinished: set[str] = set()
        """Users whose work was interrupted because the store was out of reach."""
        self._is_poor = False
        """Whether turns wait for the budget of another day; `resume` tries them again."""
        self.begin_anew()

    def begin_anew(self) -> None:
        """Work in the running event loop from now on; an earlier loop and its tasks have ended."""
        self._waiting: dict[str, None] = {}
        """Waiting users, in order; after each call, a user is the last again."""
        self._unread: int | None = None
        """The first turn whose user is not in the queue yet; `None` if all users are in it."""
        self._reading: asyncio.Task[None] | None = None
        """Reads more waiting users into the queue."""
        self._tasks: dict[str, asyncio.Task[SouffleurError | None]] = {}
        self._again: set[str] = set()
        """Users who were woken while a task serves them."""
        self._resting = 0
        """Number of tasks that pause before another attempt."""
        self._awaited: dict[str, asyncio.Future[SouffleurError | None]] = {}
        self._later: dict[str, asyncio.TimerHandle] = {}
        self._halts = WeakValueDictionary[str, asyncio.Lock]()
        self._trying: asyncio.Task[None] | None = None
        """Tries stalled users until no user is stalled."""
        self._hurry = asyncio.Event()
        self._closing = False

    @property
    def is_stalled(self) -> bool:
        """Whether turns wait for an endpoint, for the store, or for the budget of another day."""
        return bool(self._stalled) or self._is_poor

    def wake(self, user_id: str) -> None:
        """Put a user into the queue, unless the user is halted. Call it in the event loop."""
        self._woken.add(user_id)
        if (halt := self._halts.get(user_id)) and halt.locked():
            return
        if user_id in self._tasks:
            self._again.add(user_id)
        else:
            self._waiting.setdefault(user_id)
            self._begin()

    def wake_found(self, new: Iterable[str], again: Iterable[str]) -> None:
        """Serve users for whom work was found in the store, unless they are stalled here.

        A user of `again`, whose work is not new, is served only if nothing runs or is planned here.
        """
        busy = self._tasks.keys() | self._later.keys()
        for user_id in (*new, *(id for id in again if id not in busy)):
            if user_id not in self._stalled:
                self.wake(user_id)

    def wake_stalled(self) -> None:
        """Resume the work of all stalled users: the endpoint or the store answers again."""
        for user_id in list(self._stalled):
            self.wake(user_id)

    async def resume(self) -> None:
        """Wake all users with waiting work, the oldest turns first. Raises StoreError."""
        self._is_poor = False
        self._unread = 0
        await self._read_on()
        for user_id in await self._sessions.users_waiting():
            self.wake(user_id)
        for forgetting in await self._journal.entries(in_doubt=True):
            self.wake(forgetting.user_id)
        self.wake_stalled()  # their turns may have been judged before the store failed

    def hurry(self) -> None:
        """End every pause after a failure: a caller waits, or an endpoint was repaired."""
        self._hurry.set()
        self._hurry = asyncio.Event()

    async def judge_now(self, user_id: str) -> None:
        """Judge all waiting turns of this user, even if they are not due, and wait for the end.

        Raises the EndpointError, EmbedderError or StoreError that prevents it.
        """
        self._forced.add(user_id)
        if error := await self._served(user_id):
            raise error

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
        """Work on for half of these seconds; then begin no call, and wait for the running calls.

        Returns whether all work is done; the rest waits in the journal.
        """
        done = await self.drain(seconds / 2)
        if not done:
            self._begin_no_more()
            self.hurry()
            await self.drain(seconds / 2)
        return done

    @asynccontextmanager
    async def halted(self, user_id: str) -> AsyncIterator[None]:
        """Cancel the work of a user, and begin no work for the user within this context.

        If several callers halt a user, they wait for each other. Afterwards, `wake` resumes the
        waiting work.
        """
        halt = self._halts.setdefault(user_id, asyncio.Lock())
        async with halt:
            self._again.discard(user_id)
            self._waiting.pop(user_id, None)
            if later := self._later.pop(user_id, None):
                later.cancel()
            if task := self._tasks.get(user_id):
                task.cancel()
                await asyncio.wait([task])
            self._answer_awaiting(user_id, None)
            yield

    async def stop(self) -> None:
        """Stop at once; waiting turns stay in the journal."""
        self._begin_no_more()
        for handle in self._later.values():
            handle.cancel()
        tasks = [*self._running(), *([self._trying] if self._trying else [])]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _begin_no_more(self) -> None:
        """Begin no further work."""
        self._closing = True
        for user_id in self._waiting:
            self._answer_awaiting(user_id, None)
        self._waiting.clear()
        self._unread = None

    def _begin(self) -> None:
        """Begin to serve the first users of the queue, as far as there is room."""
        loop = asyncio.get_running_loop()
        # While a task pauses, another may work; their number is limited, as each is a task.
        room = self._limit.served + min(self._resting, self._limit.served)
        while self._waiting and len(self._tasks) < room and not self._closing:
            user_id = next(iter(self._waiting))
            del self._waiting[user_id]
            task = loop.create_task(self._serve(user_id))
            self._tasks[user_id] = task
            task.add_done_callback(partial(self._ended, user_id))
        few = len(self._waiting) < self._limit.served
        if self._unread is not None and few and self._reading is None and not self._closing:
            self._reading = loop.create_task(self._refill())

    async def _refill(self) -> None:
        try:
            await self._read_on()
        except StoreError as error:
            logger.warning("who else waits is not known, it is read again later: {}", error)
        finally:
            self._reading = None

    async def _read_on(self) -> None:
        """Wake waiting users of the journal, as far as there is room in memory."""
        while self._unread is not None and (room := self._queued - len(self._waiting)) > 0:
            limit = min(room, POINTS_PER_PAGE)
            users, self._unread = await self._journal.users_waiting(after=self._unread, limit=limit)
            for user_id in users:
                self.wake(user_id)

    def _running(self) -> list[asyncio.Task[Any]]:
        return [*self._tasks.values(), *([self._reading] if self._reading else [])]

    async def _served(self, user_id: str) -> SouffleurError | None:
        """Serve a user until no work is left; return the error that prevented it, if any."""
        self.wake(user_id)
        loop = asyncio.get_running_loop()
        served = self._awaited.setdefault(user_id, loop.create_future())
        await asyncio.wait([served])
        return served.result()

    def _answer_awaiting(self, user_id: str, error: SouffleurError | None) -> None:
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
            self._stalled.pop(user_id, None)
        except BudgetError as error:  # the turns wait in the journal; no user waits in memory
            self._stalled.pop(user_id, None)
            self._is_poor = True
            return error
        except (EndpointError, EmbedderError, StoreError) as error:
            self._stall(user_id, error)
            return error
        except Exception as error:  # noqa: BLE001  the worker's edge: after any error, it goes on
            self._stalled.pop(user_id, None)
            bound = logger.bind(user=user_id)
            bound.error("work was broken off: {}", describe(error))
            trace_bug(bound, error)
        return None

    async def _do_next(self, user_id: str, forced: bool) -> None:
        """Judge the next due turns; if no turn is due, summarise."""
        if not self._is_all_judged(user_id) and await self._judge_next(user_id, forced):
            self._again.add(user_id)
            self._forced |= {user_id} if forced else set()
            return
        async with self._limit.work():
            wait = await self._summarise(user_id)
        if former := self._later.pop(user_id, None):
            former.cancel()
        if wait is not None:
            loop = asyncio.get_running_loop()
            pause = max(wait, MIN_RETRY_PAUSE)
            self._later[user_id] = loop.call_later(pause, self._wake_due, user_id)

    def _is_all_judged(self, user_id: str) -> bool:
        """Return whether all waiting turns were just judged, and the user was not woken since."""
        judged = user_id in self._judged
        self._judged.discard(user_id)
        return judged and user_id not in self._woken and not self._closing

    async def _judge_next(self, user_id: str, forced: bool) -> bool:
        """Try to judge the first due turns; return whether a turn is due. Raises a long outage."""
        outages = 0
        while True:
            try:
                async with self._limit.work():
                    if self._closing:
                        return True
                    if user_id in self._unfinished:
                        await self._finish(user_id)
                        self._unfinished.discard(user_id)
                    rounds = len(self._waiting) // self._limit.served
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
                if outages >= self._retries.tries or not may_pass(error):
                    raise
                await self._rest(max(self._retries.wait(outages), self._endpoints.retry_in))
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
        again = user_id in self._again and user_id not in self._stalled
        self._again.discard(user_id)
        if again and not task.cancelled() and not self._closing:
            self._waiting.setdefault(user_id)
        else:
            self._answer_awaiting(user_id, None if task.cancelled() else task.result())
        self._begin()

    def _wake_due(self, user_id: str) -> None:
        self._later.pop(user_id, None)
        self.wake(user_id)

    def _stall(self, user_id: str, error: SouffleurError) -> None:
        """Note that a user waits for an endpoint or the store, and schedule another attempt."""
        former = self._stalled.pop(user_id, Stall(0, 0.0))
        times = former.times + (not isinstance(error, OutageError))
        asked = error.retry_after if isinstance(error, EndpointError) else None
        usual = self._retries.wait(max(times, 1), MAX_STALL_PAUSE)
        pause = min(max(usual, asked or 0.0, MIN_RETRY_PAUSE), MAX_STALL_PAUSE)
        # At the end, so that another user is tried next: this user's request may be the cause.
        self._stalled[user_id] = Stall(times, self._steady() + pause)
        logger.bind(user=user_id).warning("turns wait: {}", error)
        if self._trying is None or self._trying.done():
            self._trying = asyncio.get_running_loop().create_task(self._try_stalled())

    async def _try_stalled(self) -> None:
        while self._stalled:
            ready = min(stall.ready_at for stall in self._stalled.values())
            now = self._steady()
            wait = max(ready - now, self._endpoints.retry_in)
            if wait > 0:
                await self._sleep(wait)
            else:
                found = (id for id, stall in self._stalled.items() if stall.ready_at <= now)
                await self._served(next(found))


def may_pass(error: EndpointError | EmbedderError | StoreError) -> bool:
    """Return whether to try again soon: the error may pass, and a failure takes little time."""
    return isinstance(error, StoreError) or (
        not error.slow and not (isinstance(error, EndpointError) and not error.retryable)
    )
