"""Shadow judging: the latest turns of a store, judged again by a model, beside what was done then.

It reads a backup. Each turn is judged in a store of its own, which holds the memories as they were
before that turn, so neither the store nor a later turn is changed by it. Turns that were judged in
one call are judged again in one call, and compared as one: an op belongs to the call.
"""

from collections import defaultdict
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
from souffleur.knowledge.operation import ActorKind, LedgerEntry
from souffleur.knowledge.store.backup import restore
from souffleur.knowledge.store.records import put_memories
from souffleur.knowledge.turn import Turn, TurnState
from souffleur.parts import make_place
from souffleur.settings import Settings, change_settings

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from souffleur.agents.model.chat import Chat


@dataclass(frozen=True)
class ShadowCall:
    """The turns of a call, what was done after them, and what the other model would have done."""

    turns: tuple[Turn, ...]
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
) -> list[ShadowCall]:
    """Judge the last turns of a user again, by the model of the settings; oldest first.

    A call is left out if one of its turns is hidden, without words, or was judged again since.
    Raises FileError if the backup cannot be read, EndpointError if the model does not answer.
    """
    found: list[ShadowCall] = []
    async with _opened(settings, chat, backup) as copy:
        ledger = await copy.knowledge.journal.entries(user_id)
        judged = await copy.knowledge.journal.turns(state=TurnState.JUDGED, user_id=user_id)
        calls = _calls([turn for turn in judged if turn.messages and not turn.hidden], ledger, last)
        for turns, own in calls:
            found.append(await _shadowed(copy, turns, own, ledger, settings, chat))
            step(len(found), len(calls))
    return found


def _calls(
    turns: Sequence[Turn], ledger: Sequence[LedgerEntry], last: int
) -> list[tuple[tuple[Turn, ...], list[LedgerEntry]]]:
    """Return the calls that judged the last of these turns: all turns of each, and its entries."""
    verdicts = defaultdict[str, list[LedgerEntry]](list)
    for entry in ledger:
        if entry.by.who is ActorKind.MONITOR:
            verdicts[entry.verdict_id].append(entry)
    latest = {id: verdict for verdict, own in verdicts.items() for id in own[0].turn_ids}
    there, calls = {turn.id: turn for turn in turns}, []
    for verdict in dict.fromkeys(latest[turn.id] for turn in turns[-last:] if turn.id in latest):
        own = verdicts[verdict]
        ids = own[0].turn_ids
        if all(id in there and latest[id] == verdict for id in ids):
            calls.append((tuple(there[id] for id in ids), own))
    return calls


async def _shadowed(
    copy: Souffleur,
    turns: tuple[Turn, ...],
    own: Sequence[LedgerEntry],
    ledger: Sequence[LedgerEntry],
    settings: Settings,
    chat: "Chat | None",
) -> ShadowCall:
    turn = turns[0]
    before = ledger[: ledger.index(own[0])]
    persona = (await copy.cast()).persona(turn.user_id, turn.agent_id)
    earlier = await copy.knowledge.journal.messages_before(turn, limit=settings.window)
    named = {"user_title": persona.user, "assistant_name": persona.assistant}
    there = change_settings(settings, **named, timezone=persona.zone.key)
    error, would = "", list[LedgerEntry]()
    async with _opened(there, chat) as stage:
        await put_memories(stage.knowledge, memories_after(before))
        monitor = stage.parts.needed_agents.monitor
        clipped = [one.clipped() for one in turns]
        try:
            would = (await monitor.run(clipped, earlier, dry_run=True)).outcomes
        except AnswerError as unusable:
            error = str(unusable)
    return ShadowCall(turns, to_op_records(own), to_op_records(would), error)


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
