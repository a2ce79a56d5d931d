"""Judging: which turns of a user are judged in a single call, and how they get their verdict."""

import itertools
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from loguru import logger

from souffleur.agents.model.chat import on_behalf_of
from souffleur.errors import EmbedderError, EndpointError, OutageError, StoreError, add_usage
from souffleur.knowledge.erasure import undo_turn
from souffleur.knowledge.operation import Actor, ActorKind
from souffleur.knowledge.store.ledger import Journal
from souffleur.knowledge.store.sessions import Sessions
from souffleur.knowledge.turn import Turn, TurnState
from souffleur.telemetry.log_lines import describe, error_record, trace_bug

if TYPE_CHECKING:
    from souffleur.knowledge.knowledge_base import KnowledgeBase
    from souffleur.parts import Parts

MAX_TURN_PAUSE = 60.0
"""Maximum seconds between two attempts at a turn."""


@dataclass(frozen=True)
class Retries:
    """How often a turn is tried, and how long to wait between two attempts."""

    tries: int = 3
    pause: float = 2.0
    """Seconds before the second attempt; doubles with each further attempt."""

    def wait(self, tries: int, longest: float = MAX_TURN_PAUSE) -> float:
        """Return the seconds to wait after the n-th failed attempt.

        >>> Retries().wait(1), Retries().wait(2), Retries().wait(99)
        (2.0, 4.0, 60.0)
        """
        return min(self.pause * 2.0 ** min(tries - 1, 30), longest)


TURNS_LOOKED_AT = 1000
"""Maximum waiting turns in each read while looking for a user's due turns."""
USUAL_TURNS_PER_CALL = 5
"""Maximum turns in a call while few turns wait."""


class DueTurns:
    """Finds the turns of a user that the next call judges.

    Turns of a session are due when `every` turns wait; if `every` is 0, when the session has ended.
    The maximum turns of a call are `most`, or `every` if that is more.
    """

    def __init__(self, journal: Journal, *, every: int, most: int) -> None:
        self._journal = journal
        self._sessions = Sessions(journal)
        self._every = every
        self._most = max(most, every)

    async def next_for(self, user_id: str, *, forced: bool, rounds: int) -> tuple[list[Turn], bool]:
        """Return the due turns for the next call, and whether more turns may wait.

        If `forced`, every waiting turn is due. `rounds` is the number of calls for other users that
        come before the next call for this user.
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
        """Return the waiting turns of sessions that have ended or have enough waiting turns."""
        due: set[str] = set()
        for session in {(turn.session_id, turn.sphere) for turn in waiting}:
            ids = {turn.id for turn in waiting if (turn.session_id, turn.sphere) == session}
            window = {turn.id for turn in await self._sessions.window(user_id, *session)}
            enough = self._every and len(ids & window) >= self._every
            due |= ids if enough else ids - window
        return [turn for turn in waiting if turn.id in due or turn.tries]

    def _together(self, turns: Sequence[Turn], rounds: int) -> list[Turn]:
        """Return the first of these turns: those that the next call judges."""
        if not turns:
            return []
        own, usual = alike(turns), max(USUAL_TURNS_PER_CALL, self._every)
        return own[: turns_per_call(len(own), rounds, self._most, usual)]


def turns_per_call(own: int, rounds: int, most: int, usual: int = USUAL_TURNS_PER_CALL) -> int:
    """Return the maximum number of turns in the next call for a user; it grows with the backlog.

    `own` is the number of waiting turns of the session. `rounds` is the number of calls for other
    users that come first. `most` is the maximum from the settings.

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
    """Return the first turn, and the turns directly after it that can be judged with it."""
    first = turns[0]
    if first.tries or first.version:
        return [first]
    there = _group(first)
    return list(itertools.takewhile(lambda turn: _group(turn) == there, turns))


def _group(turn: Turn) -> tuple[object, ...]:
    return turn.user_id, turn.session_id, turn.agent_id, turn.tries, turn.version


JudgeTurns = Callable[[Sequence[Turn]], Awaitable[None]]


class Endpoints(Protocol):
    """The part of `service.health.Endpoints` that judging needs."""

    @property
    def retry_in(self) -> float:
        """Seconds until all endpoints may be asked; 0 if they may be asked now."""
        ...

    async def is_fault_of_request(self, error: Exception) -> bool:
        """Return whether another request would have succeeded."""
        ...


class Attempts:
    """Judges turns; counts failed attempts, and sets a turn aside after too many."""

    def __init__(
        self, judge: JudgeTurns, journal: Journal, endpoints: Endpoints, retries: Retries
    ) -> None:
        self._judge = judge
        self._journal = journal
        self._endpoints = endpoints
        self._retries = retries

    async def judge(self, turns: Sequence[Turn]) -> float | None:
        """Try once; return the seconds until the next attempt, or `None` for no further attempt.

        Raises EndpointError, EmbedderError or StoreError if these turns are not the cause.
        """
        try:
            await self._judge(turns)
        except Exception as error:  # noqa: BLE001  the worker's edge: whatever it was, talk goes on
            return await self._failed(turns, error)
        return None

    async def _failed(self, turns: Sequence[Turn], error: Exception) -> float | None:
        text = error_record(error)
        await self._note_cost(turns[0], error)
        if not await self._endpoints.is_fault_of_request(error):
            if not isinstance(error, OutageError | StoreError):
                await self._journal.mark(turns, error=text)
            raise error
        tries = max(turn.tries for turn in turns) + 1
        hopeless = isinstance(error, EndpointError) and not error.retryable
        # A group that failed is tried turn by turn, so that a bad turn does not fail the others.
        last = len(turns) == 1 and (tries >= self._retries.tries or hopeless)
        state = TurnState.FAILED if last else TurnState.PENDING
        await self._journal.mark(turns, tries=tries, error=text, state=state)
        first = turns[0]
        bound = logger.bind(user=first.user_id, session=first.session_id, turn=first.turn_id)
        then = "set aside (see `souffleur list --failed`)" if last else "will be tried again"
        bound.bind(tries=tries).warning("turn not judged, {}: {}", then, describe(error))
        trace_bug(bound, error)
        return None if last else self._retries.wait(tries)

    async def _note_cost(self, turn: Turn, error: Exception) -> None:
        """Add the usage of a failed attempt to the usage noted with its first turn."""
        spent = add_usage(turn.spent, error)
        if spent != turn.spent:
            await self._journal.mark([turn], spent=spent)


class Judge:
    """Lets the agents of a Souffleur judge turns and summarise talk."""

    def __init__(self, parts: "Parts", *, window: int) -> None:
        """`window` is the maximum number of earlier messages shown to the model."""
        self._parts = parts
        self._knowledge = parts.knowledge
        self._window = window

    async def summarise(self, user_id: str) -> float | None:
        """Write the due episodes and portraits; return the seconds until a retry, or `None`."""
        bound = logger.contextualize(user=user_id)
        with on_behalf_of(user_id), bound, self._parts.watch("tell", user=user_id):
            await embed_turns(self._knowledge, user_id)
            return await self._parts.needed_agents.summaries.run(user_id)

    async def judge(self, waiting: Sequence[Turn]) -> None:
        """Judge turns of the same session together, in order. Raises the error that prevents it."""
        # Turns hidden by a forgetting before they were judged wait until they are shown again.
        # A turn that was taken back is hidden too, but has no words, and its changes are undone.
        forgotten = [turn for turn in waiting if turn.hidden and turn.messages]
        if forgotten:
            await self._knowledge.journal.mark(
                forgotten, state=TurnState.JUDGED, error="", unread=True
            )
        shown = [turn for turn in waiting if turn not in forgotten]
        if not shown:
            return
        first, ids = shown[0], tuple(turn.id for turn in shown)
        if self._parts.budget:  # before the store is searched for a call that would be refused
            await self._parts.budget.check(first.user_id)
        named = {"user": first.user_id, "session": first.session_id}
        bound = logger.contextualize(**named, turn=first.turn_id)
        watched = self._parts.watch(
            "judge", turns=len(ids), turn_ids=ids, **named, turn_id=first.turn_id
        )
        with on_behalf_of(first.user_id), bound, watched:
            await self._ask(shown)

    async def _ask(self, waiting: Sequence[Turn]) -> None:
        knowledge = self._knowledge
        if any(turn.version for turn in waiting):
            await self._take_back(waiting[0].user_id)
        unsaid = [turn for turn in waiting if not turn.messages]
        await knowledge.journal.mark(unsaid, state=TurnState.JUDGED, error="")
        turns = [await self._with_own(turn.clipped()) for turn in waiting if turn.messages]
        if not turns:
            return
        earlier = await knowledge.current.journal.messages_before(turns[0], limit=self._window)
        judged = await self._parts.needed_agents.monitor.run(turns, earlier)
        if judged.answer.big:
            status = await knowledge.sessions.portrait_status(turns[0].user_id, turns[0].sphere)
            await knowledge.sessions.save_portrait_status(status.model_copy(update={"big": True}))
        for turn in turns:
            await knowledge.note_recalled(turn.injected)

    async def _take_back(self, user_id: str) -> None:
        """Undo the changes made by turns that wait to be judged again, the newest turn first.

        Otherwise changes of a later turn would stay, or would be seen when an earlier turn is
        judged.
        """
        by = Actor(who=ActorKind.HOST)
        again = [turn for turn in await self._knowledge.journal.waiting(user_id) if turn.version]
        for turn in reversed(again):
            await undo_turn(self._knowledge, turn, by=by, now=self._parts.clock())
        sessions = self._knowledge.sessions
        await sessions.requeue(await sessions.segments_with([turn.id for turn in again]))

    async def _with_own(self, turn: Turn) -> Turn:
        """Return the turn without whispered ids that its persona cannot know: hosts may err."""
        own = await self._knowledge.find_usable(turn.user_id, turn.injected, sphere=turn.sphere)
        return turn.model_copy(update={"injected": own})


async def embed_turns(knowledge: "KnowledgeBase", user_id: str | None = None) -> None:
    """Embed the raw turns of a user, or of all users, so that a search finds them by meaning.

    If the embedder fails, the turns wait.
    """
    try:
        await knowledge.embed_turns(user_id)
    except EmbedderError as error:
        bound = logger.bind(user=user_id)
        bound.warning("raw turns are not found by their sense yet: {}", error)
