"""Shadow judging: the latest turns of a store, judged again by a model, beside what was done then.

It reads a backup. Each turn is judged in a store of its own, which holds the memories as they were
before that turn, so neither the store nor a later turn is changed by it.
"""

from collections.abc import Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from souffleur.api import Souffleur
from souffleur.errors import AnswerError
from souffleur.evals.fixture import scratch, to_op_records
from souffleur.evals.result import OpRecord
from souffleur.knowledge.memory import Memory
from souffleur.knowledge.operation import LedgerEntry
from souffleur.knowledge.store.backup import restore
from souffleur.knowledge.store.records import put_memories
from souffleur.knowledge.turn import Turn, TurnState
from souffleur.parts import make_place
from souffleur.settings import Settings, change_settings

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from souffleur.agents.model.chat import Chat


@dataclass(frozen=True)
class ShadowTurn:
    """A turn, what was done after it, and what the other model would have done."""

    turn: Turn
    did: tuple[OpRecord, ...]
    would: tuple[OpRecord, ...]
    error: str = ""
    """Why the other model's answer could not be used; empty if it could."""

    @property
    def is_same(self) -> bool:
        """Whether both carried out ops of the same kinds on the same memories."""
        return not self.error and _gist(self.did) == _gist(self.would)


def _gist(ops: Sequence[OpRecord]) -> list[tuple[str, tuple[str, ...]]]:
    return sorted((one.op, one.olds) for one in ops if not one.refused)


async def shadow(
    backup: Path,
    settings: Settings,
    *,
    user_id: str,
    last: int,
    chat: "Chat | None" = None,
    step: Callable[[int, int], None] = lambda done, total: None,
) -> list[ShadowTurn]:
    """Judge the last turns of a user again, by the model of the settings; oldest first.

    Raises FileError if the backup cannot be read, EndpointError if the model does not answer.
    """
    found: list[ShadowTurn] = []
    async with _opened(settings, chat, backup) as copy:
        ledger = await copy.knowledge.journal.entries(user_id)
        judged = await copy.knowledge.journal.turns(state=TurnState.JUDGED, user_id=user_id)
        turns = [turn for turn in judged if turn.messages and not turn.hidden][-last:]
        for turn in turns:
            found.append(await _shadowed(copy, turn, ledger, settings, chat))
            step(len(found), len(turns))
    return found


async def _shadowed(
    copy: Souffleur,
    turn: Turn,
    ledger: Sequence[LedgerEntry],
    settings: Settings,
    chat: "Chat | None",
) -> ShadowTurn:
    own = [one for one in ledger if turn.id in one.turn_ids]
    before = ledger[: ledger.index(own[0])] if own else [one for one in ledger if one.at < turn.at]
    persona = (await copy.cast()).persona(turn.user_id, turn.agent_id)
    earlier = await copy.knowledge.journal.messages_before(turn, limit=settings.window)
    named = {"user_title": persona.user, "assistant_name": persona.assistant}
    there = change_settings(settings, **named, timezone=persona.zone.key)
    error, would = "", list[LedgerEntry]()
    async with _opened(there, chat) as stage:
        await put_memories(stage.knowledge, memories_after(before))
        monitor = stage.parts.needed_agents.monitor
        try:
            would = (await monitor.run([turn.clipped()], earlier, dry_run=True)).outcomes
        except AnswerError as unusable:
            error = str(unusable)
    did = to_op_records(own)
    return ShadowTurn(turn, did, to_op_records(would), error)


def memories_after(entries: Sequence[LedgerEntry]) -> list[Memory]:
    """Return the memories as these ledger entries, in their order, left them."""
    left = {change.after.id: change.after for entry in entries for change in entry.changes}
    return list(left.values())


@asynccontextmanager
async def _opened(
    settings: Settings, chat: "Chat | None", backup: Path | None = None
) -> "AsyncIterator[Souffleur]":
    """Open a temporary store that judges nothing by itself; with a backup, its content."""
    with scratch() as folder:
        place = {"path": folder / "store", "qdrant_url": None, "judge": False, "mirror": None}
        there = change_settings(settings, **place)
        if backup:
            await restore(backup, make_place(there))
        async with Souffleur.open(there, chat=chat) as memory:
            yield memory
