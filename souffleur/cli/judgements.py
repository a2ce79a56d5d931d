"""The turns of a talk, and what the judge has made of them."""

from collections.abc import Sequence
from dataclasses import dataclass

from rich.markup import escape

from souffleur.api import Souffleur
from souffleur.cli.format_ledger import format_entry
from souffleur.knowledge.operation import LedgerEntry
from souffleur.knowledge.turn import Turn, TurnState, turn_point_id


@dataclass(frozen=True)
class Judgement:
    """A turn that was judged or set aside, and the ledger entries it brought."""

    turn: Turn
    entries: tuple[LedgerEntry, ...]

    def lines(self) -> list[str]:
        """Return it as lines of markup, one for each op."""
        if self.turn.state is TurnState.FAILED:
            return [f"[red]not judged[/]  {escape(self.turn.error)}"]
        return [format_entry(entry) for entry in self.entries]


class Judgements:
    """Follows the turns that were observed in this talk."""

    def __init__(self, memory: Souffleur, user_id: str, session_id: str) -> None:
        self._memory = memory
        self._user_id, self._session_id = user_id, session_id
        self._waiting: list[str] = []
        self._seen: set[str] = set()

    def expect(self, turn_id: str) -> None:
        """Follow a turn that was just observed."""
        self._waiting.append(turn_point_id(self._user_id, "default", self._session_id, turn_id))

    async def find_new(self) -> list[Judgement]:
        """Return what was judged since the last call. Raises StoreError."""
        if not self._waiting:
            return []
        turns = await self._memory.knowledge.journal.get_turns(self._waiting)
        judged = [turn for turn in turns if turn.state is not TurnState.PENDING]
        return [await self._judgement(turn) for turn in sorted(judged, key=lambda one: one.seq)]

    async def _judgement(self, turn: Turn) -> Judgement:
        journal = self._memory.knowledge.journal
        entries = _unseen(await journal.entries(self._user_id, turn_id=turn.id), self._seen)
        self._waiting.remove(turn.id)
        self._seen |= {entry.id for entry in entries}
        return Judgement(turn, entries)


def _unseen(entries: Sequence[LedgerEntry], seen: set[str]) -> tuple[LedgerEntry, ...]:
    return tuple(entry for entry in entries if entry.id not in seen)
