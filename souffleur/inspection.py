"""Inspection: the turns, segments and other records that commands show of a store."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from souffleur.knowledge.session import Segment
from souffleur.knowledge.turn import Turn, TurnState
from souffleur.reasons import Reason, reasons_for

if TYPE_CHECKING:
    from souffleur.api import Souffleur
    from souffleur.knowledge.operation import LedgerEntry


@dataclass(frozen=True)
class WhisperedTurn:
    """A turn, and what was whispered before its reply."""

    turn: Turn
    reasons: list[Reason]
    """The memories in the order of the whisper, with the reasons."""


class StoreInspection:
    """Reads the records of a store that is open in this process."""

    def __init__(self, memory: "Souffleur") -> None:
        """`memory` need not be started."""
        self._memory = memory
        self._journal = memory.knowledge.journal

    async def error(self) -> str:
        """Return why turns cannot be judged, found or stored; empty if they can."""
        return self._memory.error

    async def turns(
        self, *, user_id: str | None, state: TurnState | None = None, named: str | None = None
    ) -> list[Turn]:
        """Return turns in order of arrival, sensitive data masked; a filter `None` matches all."""
        found = await self._journal.turns(user_id=user_id, state=state)
        withheld = self._memory.knowledge.withheld
        return [turn.masked(withheld) for turn in named_turns(found, named)]

    async def entries(self, *, user_id: str, turn_id: str) -> "list[LedgerEntry]":
        """Return the ledger entries of a turn, by its own id, oldest first."""
        return await self._journal.entries(user_id, turn_id=turn_id)

    async def reasons(self, *, user_id: str, last: int) -> list[WhisperedTurn]:
        """Return the latest turns, newest first, with what was whispered before each reply."""
        turns = await self._journal.turns(user_id=user_id)
        shown = [turn for turn in turns if turn.messages and not turn.hidden][-last:]
        knowledge, zone = self._memory.knowledge, (await self._memory.cast()).zone(user_id)
        return [
            WhisperedTurn(turn.masked(knowledge.withheld), await reasons_for(knowledge, turn, zone))
            for turn in reversed(shown)
        ]

    async def segments(self, *, user_id: str) -> list[Segment]:
        """Return the segments of a user's talk that wait to be summarised."""
        return await self._memory.knowledge.sessions.waiting_segments(user_id)

    async def page(self, *, user_id: str | None) -> str:
        """Return the page of a report, as HTML."""
        from souffleur.report.page import read_memories, to_html

        memory = self._memory
        shown = await read_memories(memory.knowledge, memory.clock(), user_id=user_id)
        zone = (await memory.cast()).zone(user_id)
        quality = await memory.report(user_id=user_id)
        return to_html(quality, shown, title="Souffleur", zone=zone)

    async def jobs(self) -> list[str]:
        """Return the names of the scheduled jobs; an empty list without a schedule."""
        from souffleur.service.jobs import jobs_of

        memory = self._memory
        return [job.name for job in jobs_of(memory.parts)] if memory.settings.schedule else []


def named_turns(turns: Sequence[Turn], named: str | None) -> Sequence[Turn]:
    """Return the turn with the id `named`, or else all turns whose own id begins with it."""
    if named is None:
        return turns
    same = [turn for turn in turns if turn.turn_id == named]
    if len(same) == 1:
        return same
    return [turn for turn in turns if turn.id.startswith(named.strip().lower())]
