"""Proposals: changes by a model that wait for the user's consent. Users' own edits, too.

proposed -> agree:   carried out
-> decline: refused
-> lapse:   refused, after `LAPSES_AFTER` without an answer
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from pydantic import TypeAdapter, ValidationError

from souffleur.errors import InputError, NotFoundError, UndoError
from souffleur.knowledge.identity import COMMON, check_id
from souffleur.knowledge.memory import Memory, MemoryState, Speaker
from souffleur.knowledge.operation import (
    Actor,
    ActorKind,
    Edit,
    Forget,
    LedgerEntries,
    LedgerEntry,
    Op,
    Refusal,
    Said,
    Verdict,
    derive_id,
    entry_id,
    is_id,
)
from souffleur.knowledge.store.codecs import state_mark, to_memories
from souffleur.knowledge.store.ledger import Journal
from souffleur.knowledge.store.reading import describe_faults
from souffleur.knowledge.turn import Turn

if TYPE_CHECKING:
    from souffleur.knowledge.knowledge_base import KnowledgeBase

LAPSES_AFTER = timedelta(days=30)
"""How long a proposal waits for the user's answer."""
_OPS: TypeAdapter[Op] = TypeAdapter(Op)


async def proposals(knowledge: "KnowledgeBase", user_id: str) -> LedgerEntries:
    """Return the changes and new memories that wait for the user's consent, oldest first."""
    waiting = await knowledge.journal.entries(check_id(user_id), waits=True)
    pending = await knowledge.list(user_id, states=(MemoryState.PENDING,))
    added = await knowledge.journal.get_entries(sorted({one.written_by for one in pending}))
    return sorted([*waiting, *added], key=lambda entry: (entry.at, entry.id))


async def find_target(knowledge: "KnowledgeBase", id: str, user_id: str) -> Memory | None:
    """Return the memory with an id, or the memory that the entry with this id added or reworded.

    Returns `None` for the id of a proposal that waits. Raises NotFoundError for any other id.
    """
    check_id(user_id)
    if not is_id(id):
        raise NotFoundError(f"there is nothing with the id {id!r}")
    mine = [one for one in await knowledge.journal.get_entries([id]) if one.user_id == user_id]
    if any(entry.waits for entry in mine):
        return None
    made = [name for one in mine if one.op in ("ADD", "EDIT") for name in one.memory_ids]
    try:
        return await knowledge.get(next(iter(made), id), user_id=user_id)
    except NotFoundError:
        raise NotFoundError(f"there is no proposal that waits, nor a memory: {id!r}") from None


async def agree(
    knowledge: "KnowledgeBase", entry_id: str, *, user_id: str, by: Actor, now: datetime
) -> LedgerEntry:
    """Carry out a waiting proposal and return the entry of the change. Idempotent.

    Raises NotFoundError if this user has no waiting proposal with that id, UndoError if one of its
    memories was changed since.
    """
    journal = knowledge.journal
    entry = await _waiting(journal, entry_id, user_id)
    verdict = agreed(entry, await journal.get_turns(entry.turn_ids), by=by, now=now)
    if not await journal.get_entries([agreed_id(entry)]):
        await _check_unchanged(knowledge, entry)
    (outcome,) = await knowledge.apply(verdict)
    await journal.rewrite(_settled(entry))
    return outcome


async def decline(knowledge: "KnowledgeBase", entry_id: str, *, user_id: str) -> LedgerEntry:
    """Reject a waiting proposal and return its entry.

    Raises NotFoundError as `agree`, UndoError if it was agreed to before a crash: its change can be
    undone.
    """
    entry = await _waiting(knowledge.journal, entry_id, user_id)
    ended = await withdraw(knowledge.journal, entry, declined(entry))
    if ended.refused is None:
        raise UndoError(f"it was agreed to already: undo {agreed_id(entry)!r} instead")
    return ended


async def lapse(
    knowledge: "KnowledgeBase", now: datetime, *, user_id: str | None = None
) -> LedgerEntries:
    """End the proposals that were not answered in time; return their entries.

    Skips users whose memory is off.
    """
    before, resting = now - LAPSES_AFTER, await knowledge.choices.resting()
    done = []
    for entry in await knowledge.journal.entries(user_id, waits=True):
        if entry.at <= before and entry.user_id not in resting:
            why = f"the user did not answer within {LAPSES_AFTER.days} days"
            done.append(await withdraw(knowledge.journal, entry, withdrawn(entry, why)))
    for memory in await knowledge.list(user_id, states=(MemoryState.PENDING,)):
        if memory.created_at <= before and memory.user_id not in resting:
            done += await knowledge.apply(dropped(memory, now))
    return done


async def withdraw(journal: Journal, proposal: LedgerEntry, refused: LedgerEntry) -> LedgerEntry:
    """Write the `refused` form of a proposal, unless it was carried out before a crash."""
    carried_out = await journal.get_entries([agreed_id(proposal)])
    ended = _settled(proposal) if carried_out else refused
    await journal.rewrite(ended)
    return ended


async def _waiting(journal: Journal, entry_id: str, user_id: str) -> LedgerEntry:
    check_id(user_id)
    entry = await journal.entry(entry_id)
    if entry.user_id != user_id or not entry.waits:
        raise NotFoundError(f"there is no waiting proposal with the id {entry_id!r}")
    return entry


async def _check_unchanged(knowledge: "KnowledgeBase", proposal: LedgerEntry) -> None:
    """Raise UndoError if a memory that a proposal names was changed since."""
    named = proposal.details.get("seen", {})
    points = await knowledge.memories.get(sorted(named))
    there = {one.id: state_mark(one) for one in to_memories(points)}
    if any(there.get(id) != former for id, former in named.items()):
        raise UndoError(
            "a memory was changed since this was proposed: reject it, or change the memory by "
            "`edit` or `forget`"
        )


def _settled(proposal: LedgerEntry) -> LedgerEntry:
    """Return the entry of a proposal that was carried out."""
    return proposal.model_copy(update={"waits": False})


async def edit(
    knowledge: "KnowledgeBase",
    memory_id: str,
    content: str,
    *,
    user_id: str,
    by: Actor,
    now: datetime,
) -> LedgerEntry:
    """Change the words of a memory; can be undone. It then counts as confirmed by the user.

    Raises NotFoundError if this user has no such memory, InputError for invalid words.
    """
    memory = await knowledge.get(memory_id, user_id=user_id)
    return (await knowledge.apply(edited(memory, content, by=by, now=now)))[0]


def agreed(entry: LedgerEntry, turns: Sequence[Turn], *, by: Actor, now: datetime) -> Verdict:
    """Return the verdict that carries out a proposal, with the words that it was based on.

    `turns` are the turns of the entry that still exist; added memories get their sphere. The same
    entry always gives the same verdict, so that it is carried out once. Raises UndoError for a kind
    of change that only earlier versions made.
    """
    details = {key: value for key, value in entry.details.items() if key != "seen"}
    fields = {"op": entry.op, **details, "reason": entry.reason}
    if entry.quote or entry.op in {"UPDATE", "DELETE"}:
        fields["quote"] = entry.quote
    said = [one for turn in turns for one in turn.said()]
    if entry.quote and entry.turn_ids:  # the words may have expired
        quoted = Said(
            turn_id=entry.turn_ids[0],
            speaker=Speaker.USER,
            text=entry.quote,
            at=entry.at,
            session_id=entry.session_id,
            host_turn_id=next(iter(entry.host_turn_ids), ""),
        )
        said.append(quoted)
    try:
        op = _OPS.validate_python(fields)
    except ValidationError:
        raise UndoError(f"{entry.op} can no longer be carried out: reject it") from None
    return Verdict(
        id=derive_id("agreed", entry.id),
        user_id=entry.user_id,
        agent_id=entry.agent_id,
        sphere=turns[0].sphere if turns else COMMON,
        by=by,
        at=now,
        reason=f"agreed to what {entry.by.who} proposed",
        ops=(op,),
        said=tuple(said),
    )


def agreed_id(entry: LedgerEntry) -> str:
    """Return the id of the ledger entry that carries out a proposal."""
    return entry_id(derive_id("agreed", entry.id), 0)


def named_ids(entry: LedgerEntry) -> list[str]:
    """Return the ids of the memories that a proposal would make, replace, merge or delete."""
    if not entry.waits:
        return list(entry.memory_ids)
    details = entry.details
    return [str(id) for id in (details.get("target"), *details.get("targets", ())) if id]


def edited(memory: Memory, content: str, *, by: Actor, now: datetime) -> Verdict:
    """Return the verdict that changes the words of a memory. Raises InputError."""
    try:
        op = Edit(target=memory.id, reason=f"edited by the {by.who}", content=content)
    except ValidationError as error:
        raise InputError(f"this cannot be remembered: {describe_faults(error)}") from None
    return Verdict(
        id=derive_id("edit", memory.id, memory.revision, op.content, now.isoformat()),
        user_id=memory.user_id,
        agent_id=memory.agent_id,
        sphere=memory.sphere,
        by=by,
        at=now,
        ops=(op,),
    )


def withdrawn(entry: LedgerEntry, why: str) -> LedgerEntry:
    """Return the entry of a proposal that lapsed, with the reason as a sentence."""
    return entry.model_copy(update={"waits": False, "refused": Refusal.LAPSED, "detail": why})


def dropped(memory: Memory, now: datetime) -> Verdict:
    """Return the verdict that forgets a proposed memory that the user never answered to."""
    why = f"not confirmed within {LAPSES_AFTER.days} days"
    return Verdict(
        id=derive_id("lapsed", memory.id, memory.revision),
        user_id=memory.user_id,
        agent_id=memory.agent_id,
        sphere=memory.sphere,
        by=Actor(who=ActorKind.SCHEDULE),
        at=now,
        ops=(Forget(target=memory.id, reason=why),),
    )


def declined(entry: LedgerEntry) -> LedgerEntry:
    """Return the entry after the user has declined it."""
    no = {"waits": False, "refused": Refusal.REJECTED, "detail": "the user said no"}
    return entry.model_copy(update=no)
