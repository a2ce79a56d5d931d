"""Due turns: which waiting turns of a user are judged next, and how many of them in one call."""

from collections.abc import Sequence

from souffleur.background.grouping import USUAL_TURNS_PER_CALL, alike, turns_per_call
from souffleur.knowledge.journal import Journal
from souffleur.knowledge.sessions import Sessions
from souffleur.knowledge.talk.turn import Turn

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
