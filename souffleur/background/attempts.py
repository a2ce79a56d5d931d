"""Attempts: turns are judged once, and what comes of it is noted with them."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

from loguru import logger

from souffleur.background.patience import Patience
from souffleur.errors import AnswerError, EndpointError, OutageError, RecordingError, StoreError
from souffleur.knowledge.journal import Journal
from souffleur.knowledge.language.plain_text import mend
from souffleur.knowledge.talk.turn import Turn, TurnState
from souffleur.telemetry.log_lines import describe, trace_bug

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
        text = describe(error)
        if isinstance(error, RecordingError):  # whoever replays a recording may see what it holds
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
        return None if last else self._patience.wait(tries)

    async def _note_cost(self, turn: Turn, error: Exception) -> None:
        """Add the usage of a failed attempt to the usage noted with its first turn."""
        usage = error.usage if isinstance(error, EndpointError | AnswerError) else {}
        if usage:
            spent = {key: turn.spent.get(key, 0) + value for key, value in usage.items()}
            await self._journal.mark([turn], spent=spent)
