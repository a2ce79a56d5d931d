"""The worker: judges observed turns in the background, in order for each user, users side by side.

When no turn of a user is waiting, what was talked about is told: episodes, then the portrait.

The queue is the journal: a turn waits there until it is judged, so nothing grows in memory and a
restart goes on where it stopped.
"""

import asyncio
import itertools
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from loguru import logger

from souffleur.errors import EndpointError, SouffleurError, StoreError
from souffleur.knowledge.journal import Journal
from souffleur.knowledge.sessions import Sessions
from souffleur.knowledge.turn import Turn, TurnState

JudgeTurns = Callable[[Sequence[Turn]], Awaitable[None]]
Tell = Callable[[str], Awaitable[float | None]]
"""Keeps up a user's episodes and portrait; seconds until it wants to be called again."""

MOST_AT_ONCE = 5
"""Waiting turns of a session that are judged in one call."""
SHORTEST_WAIT = 1.0
"""Seconds before an episode or portrait that failed is tried again, whatever the clock says."""
LONGEST_PAUSE = 60.0
"""Seconds between two tries, whatever an endpoint asks for."""


@dataclass(frozen=True)
class Patience:
    """How often a turn is tried, and how long to wait between."""

    tries: int = 3
    pause: float = 2.0
    """Seconds before the second try; doubles from there."""

    def wait(self, tries: int, error: Exception) -> float:
        """Seconds to wait after a try that failed.

        >>> Patience().wait(1, ValueError()), Patience().wait(2, ValueError())
        (2.0, 4.0)
        """
        asked = error.retry_after if isinstance(error, EndpointError) else None
        return min(max(self.pause * 2.0 ** (tries - 1), asked or 0.0), LONGEST_PAUSE)


class Worker:
    """One task per user with something waiting, at most `parallel` at once.

    With `every` above 1, the turns of a session are judged when there are so many; with 0, when
    the session has ended. `tell` is called when no turn is waiting.
    """

    def __init__(
        self,
        judge: JudgeTurns,
        tell: Tell,
        journal: Journal,
        *,
        patience: Patience,
        parallel: int,
        every: int = 1,
    ) -> None:
        self._judge = judge
        self._tell = tell
        self._journal = journal
        self._sessions = Sessions(journal)
        self._patience = patience
        self._every = every
        self._slots = asyncio.Semaphore(parallel)
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._again: set[str] = set()
        self._forced: set[str] = set()
        self._later: dict[str, asyncio.TimerHandle] = {}

    async def resume(self) -> None:
        """Take up what a former process left waiting."""
        users = {turn.user_id for turn in await self._journal.turns(state=TurnState.PENDING)}
        users |= {segment.user_id for segment in await self._sessions.waiting()}
        for user_id in users:
            self.wake(user_id)

    async def judge_now(self, user_id: str) -> None:
        """Judge all that waits of this user, whatever the cadence, and wait for it."""
        self._forced.add(user_id)
        self.wake(user_id)
        await asyncio.wait([self._tasks[user_id]])

    def wake(self, user_id: str) -> None:
        """There is a new turn of this user."""
        self._again.add(user_id)
        running = self._tasks.get(user_id)
        if running is None or running.done():
            task = asyncio.get_running_loop().create_task(self._serve(user_id))
            self._tasks[user_id] = task

    async def drain(self, seconds: float | None = None) -> bool:
        """Wait until nothing is waiting; False where the time was too short."""
        deadline = None if seconds is None else asyncio.get_running_loop().time() + seconds
        while tasks := [task for task in self._tasks.values() if not task.done()]:
            left = None if deadline is None else deadline - asyncio.get_running_loop().time()
            if left is not None and left <= 0:
                return False
            await asyncio.wait(tasks, timeout=left)
        return True

    async def stop(self) -> None:
        """Let go at once; what is waiting stays in the journal."""
        for handle in self._later.values():
            handle.cancel()
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _serve(self, user_id: str) -> None:
        try:
            while user_id in self._again:
                self._again.discard(user_id)
                while turns := await self._due(user_id):
                    async with self._slots:
                        pause = await self._try(_together(turns, max(MOST_AT_ONCE, self._every)))
                    await asyncio.sleep(pause)
                self._forced.discard(user_id)
                async with self._slots:
                    wait = await self._tell(user_id)
                self._wake_later(user_id, wait)
        except StoreError as error:  # what waits is safe there, and taken up by the next wake
            logger.bind(user=user_id).error("turns wait until the store is back: {}", error)

    async def _try(self, turns: Sequence[Turn]) -> float:
        """Judge once; returns the seconds to wait before going on."""
        try:
            await self._judge(turns)
        except Exception as error:  # noqa: BLE001  the worker's edge: whatever it was, talk goes on
            return await self._failed(turns, error)
        return 0.0

    async def _failed(self, turns: Sequence[Turn], error: Exception) -> float:
        tries = max(turn.tries for turn in turns) + 1
        hopeless = isinstance(error, EndpointError) and not error.retryable
        # A group that failed is tried turn by turn, so that one bad turn does not take the others.
        last = len(turns) == 1 and (tries >= self._patience.tries or hopeless)
        state = TurnState.FAILED if last else TurnState.PENDING
        text = f"{type(error).__name__}: {error}"
        await self._journal.mark(turns, tries=tries, error=text, state=state)
        bound = logger.bind(user=turns[0].user_id, turn=turns[0].turn_id, tries=tries)
        bound.opt(exception=error if _is_bug(error) else None).warning(
            "turn not judged, {}: {}", "set aside" if last else "will be tried again", text
        )
        return 0.0 if last else self._patience.wait(tries, error)

    async def _due(self, user_id: str) -> list[Turn]:
        """The waiting turns that are to be judged now, in order."""
        waiting = await self._journal.turns(state=TurnState.PENDING, user_id=user_id)
        if self._every == 1 or user_id in self._forced:
            return waiting
        due: set[str] = set()
        for session_id in {turn.session_id for turn in waiting}:
            ids = {turn.id for turn in waiting if turn.session_id == session_id}
            window = {turn.id for turn in await self._sessions.window(user_id, session_id)}
            enough = self._every and len(ids & window) >= self._every
            due |= ids if enough else ids - window
        return [turn for turn in waiting if turn.id in due or turn.tries]

    def _wake_later(self, user_id: str, wait: float | None) -> None:
        former = self._later.pop(user_id, None)
        if former:
            former.cancel()
        if wait is not None:
            loop = asyncio.get_running_loop()
            pause = max(wait, SHORTEST_WAIT)
            self._later[user_id] = loop.call_later(pause, self.wake, user_id)


def _together(turns: Sequence[Turn], most: int) -> list[Turn]:
    """The first turn and those right behind it that can be judged with it."""
    first = turns[0]
    if first.tries or first.version:
        return [first]
    alike = itertools.takewhile(
        lambda turn: (
            (turn.session_id, turn.agent_id, turn.tries, turn.version)
            == (first.session_id, first.agent_id, 0, 0)
        ),
        turns,
    )
    return list(itertools.islice(alike, most))


def _is_bug(error: Exception) -> bool:
    """Whether its traceback says more than its text."""
    return not isinstance(error, SouffleurError)
