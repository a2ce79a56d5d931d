"""Patience: how often what failed is attempted again, and after how long."""

import itertools
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from loguru import logger

from souffleur.errors import (
    AnswerError,
    EmbedderError,
    EndpointError,
    OutageError,
    StoreError,
)
from souffleur.knowledge.store.ledger import Journal
from souffleur.knowledge.store.sessions import Sessions
from souffleur.knowledge.turn import Turn, TurnState
from souffleur.telemetry.log_lines import describe, tell, trace_bug

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


@dataclass(frozen=True)
class Stall:
    """A user whose turns wait for an endpoint or the store."""

    times: int
    """Number of failures in a row."""
    ready_at: float
    """The steady second from which it may be tried again."""


def may_pass(error: EndpointError | EmbedderError | StoreError) -> bool:
    """Return whether to try again soon: it may pass by itself, and failing takes little time."""
    return isinstance(error, StoreError) or (
        not error.slow and not (isinstance(error, EndpointError) and not error.retryable)
    )


TURNS_LOOKED_AT = 1000
"""Waiting turns of a user that are read at once to find those that are due."""


class DueTurns:
    """Turns of a session are due when there are `every` of them; with 0, when it has ended.

    At most `most` go to one call, or `every` if that is more.
    """

    def __init__(self, journal: Journal, *, every: int, most: int) -> None:
        self._journal = journal
        self._sessions = Sessions(journal)
        self._every = every
        self._most = max(most, every)

    async def next_for(self, user_id: str, *, forced: bool, rounds: int) -> tuple[list[Turn], bool]:
        """Return the first turns that are due, as many as one call takes; none if none is.

        Also whether others may wait that are not among them. If `forced`, all are due that wait.
        `rounds` is how many calls others are ahead of this user's next one.
        """
        if self._every == 1:
            waiting = await self._journal.waiting(user_id, limit=self._most + 1)
            turns = self._together(waiting[: self._most], rounds)
            return turns, len(turns) < len(waiting) or self._journal.collection.shared
        return await self._next_due(user_id, forced, rounds), True

    async def _next_due(self, user_id: str, forced: bool, rounds: int) -> list[Turn]:
        if forced:
            waiting = await self._journal.waiting(user_id, limit=self._most)
            return self._together(waiting, rounds)
        after = 0
        while waiting := await self._journal.waiting(user_id, limit=TURNS_LOOKED_AT, after=after):
            if due := await self._due_of(user_id, waiting):
                return self._together(due, rounds)
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

    def _together(self, turns: Sequence[Turn], rounds: int) -> list[Turn]:
        """Return the first of these turns, as many as one call takes."""
        if not turns:
            return []
        own, usual = alike(turns), max(USUAL_TURNS_PER_CALL, self._every)
        return own[: turns_per_call(len(own), rounds, self._most, usual)]


USUAL_TURNS_PER_CALL = 5
"""Maximum turns in one call while little waits."""


def turns_per_call(own: int, rounds: int, most: int, usual: int = USUAL_TURNS_PER_CALL) -> int:
    """Return the maximum number of turns in the next call for a user: more, the more waits.

    `own` is the number of turns of the session that wait, `rounds` how many calls others are
    ahead of the user's next one, `most` the maximum that the settings allow.

    >>> [turns_per_call(own, 0, 20) for own in (1, 9, 10, 20, 999)]
    [5, 5, 10, 20, 20]
    >>> [turns_per_call(8, rounds, 20) for rounds in (0, 1, 2, 99)]
    [5, 10, 15, 20]
    >>> turns_per_call(999, 99, 1)
    1
    """
    behind = max(own // usual, 1 + rounds)
    return min(usual * behind, most)


def alike(turns: Sequence[Turn]) -> list[Turn]:
    """Return the first turn and those directly after it that can be judged with it."""
    first = turns[0]
    if first.tries or first.version:
        return [first]
    there = _whereabouts(first)
    return list(itertools.takewhile(lambda turn: _whereabouts(turn) == there, turns))


def _whereabouts(turn: Turn) -> tuple[object, ...]:
    return turn.user_id, turn.session_id, turn.agent_id, turn.tries, turn.version


JudgeTurns = Callable[[Sequence[Turn]], Awaitable[None]]


class Endpoints(Protocol):
    """What there is to know of the endpoints."""

    @property
    def retry_in(self) -> float:
        """Seconds until all of them may be asked; 0 if they may be asked now."""
        ...

    async def is_fault_of_request(self, error: Exception) -> bool:
        """Return whether another request would have succeeded."""
        ...


class Attempts:
    """Judges turns; counts failed attempts, and sets a turn aside after too many."""

    def __init__(
        self, judge: JudgeTurns, journal: Journal, endpoints: Endpoints, patience: Patience
    ) -> None:
        self._judge = judge
        self._journal = journal
        self._endpoints = endpoints
        self._patience = patience

    async def judge(self, turns: Sequence[Turn]) -> float | None:
        """Judge once; return the seconds until it is tried again, `None` if it need not be.

        Raises EndpointError, EmbedderError or StoreError if these turns are not the cause.
        """
        try:
            await self._judge(turns)
        except Exception as error:  # noqa: BLE001  the worker's edge: whatever it was, talk goes on
            return await self._failed(turns, error)
        return None

    async def _failed(self, turns: Sequence[Turn], error: Exception) -> float | None:
        text = tell(error)
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
        return None if last else self._patience.wait(tries)

    async def _note_cost(self, turn: Turn, error: Exception) -> None:
        """Add the usage of a failed attempt to the usage noted with its first turn."""
        usage = error.usage if isinstance(error, EndpointError | AnswerError) else {}
        if usage:
            spent = {key: turn.spent.get(key, 0) + value for key, value in usage.items()}
            await self._journal.mark([turn], spent=spent)
