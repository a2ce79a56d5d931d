"""Proposals of a model that wait for the user's consent, and what users change themselves. Pure."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from pydantic import TypeAdapter, ValidationError

from souffleur.errors import InputError
from souffleur.knowledge.identity import COMMON
from souffleur.knowledge.memory import Memory, Speaker
from souffleur.knowledge.operation import (
    Actor,
    ActorKind,
    Edit,
    Forget,
    LedgerEntry,
    Op,
    Refusal,
    Said,
    Verdict,
    derive_id,
    entry_id,
)
from souffleur.knowledge.store.reading import describe_faults
from souffleur.knowledge.turn import Turn

LAPSES_AFTER = timedelta(days=30)
"""How long a proposal waits for the user's answer."""
_OPS: TypeAdapter[Op] = TypeAdapter(Op)


def agreed(entry: LedgerEntry, turns: Sequence[Turn], *, by: Actor, now: datetime) -> Verdict:
    """Return the verdict that carries out a proposal, with the words that it was based on.

    `turns` are the turns of the entry, as far as they are kept: what it adds lies where they do.
    The same entry always gives the same verdict, so that it is carried out once.
    """
    details = {key: value for key, value in entry.details.items() if key != "seen"}
    fields = {"op": entry.op, **details, "reason": entry.reason}
    if entry.quote or entry.op in {"UPDATE", "DELETE"}:
        fields["quote"] = entry.quote
    said = [one for turn in turns for one in turn.said()]
    if entry.quote and entry.turn_ids:  # the words themselves may have expired
        quoted = Said(
            turn_id=entry.turn_ids[0],
            speaker=Speaker.USER,
            text=entry.quote,
            at=entry.at,
            session_id=entry.session_id,
            host_turn_id=next(iter(entry.host_turn_ids), ""),
        )
        said.append(quoted)
    return Verdict(
        id=derive_id("agreed", entry.id),
        user_id=entry.user_id,
        agent_id=entry.agent_id,
        sphere=turns[0].sphere if turns else COMMON,
        by=by,
        at=now,
        reason=f"agreed to what {entry.by.who} proposed",
        ops=(_OPS.validate_python(fields),),
        said=tuple(said),
    )


def agreed_id(entry: LedgerEntry) -> str:
    """Return the id of the ledger entry that carries out a proposal."""
    return entry_id(derive_id("agreed", entry.id), 0)


def named_ids(entry: LedgerEntry) -> list[str]:
    """Return the ids of the memories that a proposal would make, replace, merge or end."""
    if not entry.waits:
        return list(entry.memory_ids)
    details = entry.details
    one = [details.get(name) for name in ("target", "stays", "ends")]
    return [str(id) for id in (*one, *details.get("targets", ())) if id]


def seen(memory: Memory) -> str:
    """Return what tells whether a memory still says and is what it was; none of its words."""
    return derive_id("seen", memory.id, memory.state, memory.content)


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


def lapsed(entry: LedgerEntry) -> LedgerEntry:
    """Return the entry after the user has not answered in time."""
    why = f"the user did not answer within {LAPSES_AFTER.days} days"
    return entry.model_copy(update={"waits": False, "refused": Refusal.LAPSED, "detail": why})


def replaced(entry: LedgerEntry) -> LedgerEntry:
    """Return the entry after its turn was observed with other words, which are judged anew."""
    why = "its turn was replaced, and is judged again"
    return entry.model_copy(update={"waits": False, "refused": Refusal.LAPSED, "detail": why})


def dropped(memory: Memory, now: datetime) -> Verdict:
    """Return the verdict that forgets a proposed memory of which the user said nothing."""
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
