"""Undo: the changes that reverse a ledger entry. Pure functions."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TypeVar

from souffleur.errors import UndoError
from souffleur.knowledge import decay
from souffleur.knowledge.forgetting.request import allow_again, ids_shown_again
from souffleur.knowledge.memory import Memory, MemoryState
from souffleur.knowledge.operation import Actor, Change, LedgerEntry, derive_id
from souffleur.knowledge.policy import Policy
from souffleur.knowledge.text.match import find_quote
from souffleur.knowledge.turn import Turn

T = TypeVar("T")


def can_undo(entry: LedgerEntry) -> bool:
    """Return whether an entry changed something and was not undone."""
    return bool(entry.changes) and entry.refused is None and entry.undone_by is None


def rests_elsewhere(entry: LedgerEntry, turn_id: str, others: Sequence[Turn]) -> bool:
    """Return whether an entry rests on another turn of its verdict than this turn.

    `others` are the other turns of the entry. If their words have expired, the evidence of the new
    memories decides. A BOOST has no quote and rests on the turn with the whisper.
    """
    if not entry.quote:
        return any(id in other.injected for other in others for id in entry.memory_ids)
    made = (change.after for change in entry.changes if change.before is None)
    sources = {item.turn_id for memory in made for item in memory.evidence}
    return not sources.isdisjoint({*entry.turn_ids} - {turn_id}) or any(
        find_quote(entry.quote, said.text) for other in others for said in other.said()
    )


def plan_undo(
    entry: LedgerEntry, current: Mapping[str, Memory], *, by: Actor, now: datetime, policy: Policy
) -> LedgerEntry:
    """Return the entry that undoes `entry`; `current` are its current memories, by id.

    A memory that the entry created is forgotten. A memory that it changed gets back its former
    content, state and value. Raises UndoError if a later change of words or state depends on the
    entry.
    """
    if entry.undone_by:
        raise UndoError(f"it was undone already, by ledger entry {entry.undone_by}")
    if entry.refused is not None or not entry.changes:
        raise UndoError("it changed nothing, so there is nothing to undo")
    undo_id, spared = undo_id_of(entry.id), ids_shown_again(entry)
    changes = tuple(
        Change(
            before=current[change.after.id],
            after=_restored(change, current[change.after.id], undo_id, now, policy),
        )
        for change in entry.changes
        if change.after.id not in spared
    )
    return LedgerEntry(
        id=undo_id,
        verdict_id=undo_id,
        position=0,
        of=1,
        user_id=entry.user_id,
        agent_id=entry.agent_id,
        turn_ids=entry.turn_ids,
        session_id=entry.session_id,
        host_turn_ids=entry.host_turn_ids,
        by=by,
        at=now,
        op="UNDO",
        details={"undoes": entry.op},
        reason=f"takes back {entry.op}",
        changes=changes,
        undoes=entry.id,
    )


def plan_sparing(
    entry: LedgerEntry,
    current: Mapping[str, Memory],
    ids: Sequence[str],
    untold: Sequence[str],
    *,
    by: Actor,
    now: datetime,
    policy: Policy,
) -> LedgerEntry:
    """Return the entry that shows records again that a forgetting has hidden in doubt.

    `ids` are those records. A portrait that stays withdrawn may repeat the lines in `untold` again.
    Skips records that were changed since.
    """
    id = derive_id("spare", entry.id)
    changes = []
    for change in entry.changes:
        now_there = current[change.after.id]
        if change.after.id in ids and not _moved_on(change.after, now_there):
            after = _restored(change, now_there, id, now, policy)
        elif (after := allow_again(now_there, untold)) == now_there:
            continue
        else:
            stamp = {"revision": now_there.revision + 1, "updated_at": now, "written_by": id}
            after = after.model_copy(update=stamp)
        changes.append(Change(before=now_there, after=after))
    return LedgerEntry(
        id=id,
        verdict_id=id,
        position=0,
        of=1,
        user_id=entry.user_id,
        agent_id=entry.agent_id,
        by=by,
        at=now,
        op="RESTORE",
        details={"spares": entry.id, "ids": list(ids)},
        reason="it tells something else than what was forgotten",
        changes=tuple(changes),
    )


def undo_id_of(entry_id: str) -> str:
    """Return the id of the entry that takes an entry back, which is also its verdict's id."""
    return derive_id("undo", entry_id)


def _restored(
    change: Change, current: Memory, undo_id: str, now: datetime, policy: Policy
) -> Memory:
    made = change.after
    if current.revision != made.revision and _moved_on(made, current):
        raise UndoError(
            f"memory {current.id} was changed again since; undo the later change first "
            f"(`souffleur history {current.id}` shows it)"
        )
    if change.before is None:
        former = current.model_copy(update={"state": MemoryState.FORGOTTEN})
    else:
        kept = {
            "recalls": current.recalls,
            "relations": _taken_back(change.before.relations, made.relations, current.relations),
            "judged": _taken_back(change.before.judged, made.judged, current.judged),
        }
        former = change.before.model_copy(update=kept)
    stamp = {"revision": current.revision + 1, "updated_at": now, "written_by": undo_id}
    return decay.scheduled(former.model_copy(update=stamp), policy)


def _taken_back(before: tuple[T, ...], made: tuple[T, ...], now: tuple[T, ...]) -> tuple[T, ...]:
    """Return the current items without the items that the entry added, and with those it removed.

    >>> _taken_back(("a", "b"), ("b", "c"), ("b", "c", "d"))
    ('b', 'd', 'a')
    """
    left = [one for one in now if one in before or one not in made]
    back = [one for one in before if one not in made and one not in now]
    return (*left, *back)


def _moved_on(made: Memory, current: Memory) -> bool:
    """Return whether the content, state or category of a memory has changed since."""
    return (made.content, made.state, made.category) != (
        current.content,
        current.state,
        current.category,
    )
