"""Plans: which changes an op makes to the current memories. Pure functions."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from souffleur.knowledge import decay
from souffleur.knowledge.identity import SHARED
from souffleur.knowledge.memory import (
    GUARDS,
    NARRATIVE,
    PROCEDURAL,
    Category,
    Evidence,
    Kind,
    Memory,
    MemoryState,
    Relation,
    Source,
    Speaker,
)
from souffleur.knowledge.operation import (
    REREADERS,
    ActorKind,
    Add,
    Archive,
    Boost,
    Change,
    Close,
    Confirm,
    Cue,
    Delete,
    Edit,
    Forget,
    Guard,
    Importance,
    Keep,
    Merge,
    Op,
    Promote,
    Restore,
    Share,
    Skip,
    Update,
    Verdict,
    derive_id,
    entry_id,
)
from souffleur.knowledge.policy import Policy
from souffleur.knowledge.text.match import find_quote

_BY_DECAY: dict[type[Op], Callable[[Memory, datetime, Policy], Memory]] = {
    Boost: decay.boosted,
    Keep: decay.kept,
    Promote: decay.promoted,
}
_STATES: dict[type[Op], MemoryState] = {
    Delete: MemoryState.FORGOTTEN,
    Forget: MemoryState.FORGOTTEN,
    Archive: MemoryState.ARCHIVED,
}
_SOURCES = {
    ActorKind.USER: Source.USER,
    ActorKind.HOST: Source.SYSTEM,
    ActorKind.IMPORT: Source.IMPORT,
}
NO_MODELS = frozenset({*_SOURCES, ActorKind.SCHEDULE})


@dataclass(frozen=True)
class PlanContext:
    """Everything that a plan needs besides the op."""

    verdict: Verdict
    position: int
    policy: Policy
    require_confirmation: bool = False
    """Whether memories added by a model wait as `pending` for the user's consent."""

    @property
    def new_id(self) -> str:
        """The id of a memory made by this op."""
        return derive_id("memory", self.verdict.id, self.position)

    @property
    def entry_id(self) -> str:
        """The id of this op's ledger entry."""
        return entry_id(self.verdict.id, self.position)


def plan(op: Op, targets: Sequence[Memory], context: PlanContext) -> tuple[Change, ...]:
    """Return the changes that an op makes; `targets` are its current memories.

    Every memory in the result has the next revision, its writer and its due time.
    """
    pairs = _changes(op, targets, context)
    return tuple(Change(before=old, after=_stamped(old, new, context)) for old, new in pairs)


def needs_confirmation(op: Op, targets: Sequence[Memory], verdict: Verdict) -> bool:
    """Return whether an op is proposed by a model and changes the content of memories.

    These ops wait for the user's consent if consent is required. Ops that only change how much a
    memory matters do not wait, nor do ops on episodes and portraits, which are rewritten from the
    talk.
    """
    if verdict.by.who in NO_MODELS or any(one.category in NARRATIVE for one in targets):
        return False
    return isinstance(op, Update | Delete | Merge)


def withdrawn(
    memory: Memory, without: Sequence[str], names: Sequence[str], context: PlanContext
) -> Change:
    """Return the withdrawal of a memory that repeats a memory to be forgotten.

    An episode or portrait is rewritten later, without the words that repeat a text of `without` or
    hold one of the names.
    """
    update: dict[str, object] = {"state": MemoryState.FORGOTTEN}
    if memory.category in NARRATIVE:
        more = {"without": without, "without_names": names}
        left_out = {key: [*memory.data.get(key, ()), *texts] for key, texts in more.items()}
        update["data"] = {**memory.data, **{k: [*dict.fromkeys(t)] for k, t in left_out.items()}}
    gone = memory.model_copy(update=update)
    return Change(before=memory, after=_stamped(memory, gone, context))


def category_of(kind: Kind) -> Category:
    """Return the usual category of a kind."""
    return Category.SKILL if kind in PROCEDURAL else Category.FACT


def _changes(
    op: Op, targets: Sequence[Memory], context: PlanContext
) -> list[tuple[Memory | None, Memory]]:
    match op:
        case Skip():
            return []
        case Add():
            return [(None, _added(op, context))]
        case Update():
            return _updated(op, targets[0], context)
        case Merge():
            return _merged(op, targets, context)
        case _:
            return [(targets[0], _single(op, targets[0], context))]


def _single(op: Op, old: Memory, context: PlanContext) -> Memory:
    now = context.verdict.at
    if changed := _BY_DECAY.get(type(op)):
        return changed(old, now, context.policy)
    if state := _STATES.get(type(op)):
        return old.model_copy(update={"state": state})
    match op:
        case Restore():
            return _restored(old, now, context.policy)
        case Share():
            return old.model_copy(update={"sphere": SHARED})
        case Confirm():
            update = {"state": MemoryState.ACTIVE, "verified": True, "confidence": 1.0}
            until = _end_if_not_over(old, now, context.policy)
            return old.model_copy(update={**update, "anchor_at": now, "expires_at": until})
        case Cue():
            return old.model_copy(update={"cues": op.cues})
        case Guard():
            return _guarding(op, old)
        case Close():
            return old.model_copy(update={"data": {**old.data, "unresolved": None}})
        case Edit():
            update = {"content": op.content, "verified": True, "source": Source.USER, "cues": ()}
            until = _end_if_not_over(old, now, context.policy)
            return old.model_copy(update={**update, "anchor_at": now, "expires_at": until})
        case _:
            raise TypeError(f"no plan for {op.op}")


def _restored(old: Memory, now: datetime, policy: Policy) -> Memory:
    """Return a memory that is active again."""
    update = {"state": MemoryState.ACTIVE, "anchor_at": now, "superseded_by": None}
    until = _end_if_not_over(old, now, policy)
    return old.model_copy(update={**update, "valid_until": None, "expires_at": until})


def _end_if_not_over(old: Memory, now: datetime, policy: Policy) -> datetime | None:
    """Return the expiry of a memory that a person wants active; a past expiry is renewed."""
    over = old.expires_at is not None and old.expires_at <= now
    return decay.gone_at(old.category, now, policy) if over else old.expires_at


def _added(op: Add, context: PlanContext) -> Memory:
    verdict, policy = context.verdict, context.policy
    by_person = verdict.by.who in _SOURCES
    category = op.category or category_of(op.kind)
    pending = context.require_confirmation and not by_person and category not in NARRATIVE
    return Memory(
        id=context.new_id,
        user_id=verdict.user_id,
        agent_id=verdict.agent_id,
        sphere=verdict.sphere,
        content=op.content,
        category=category,
        kind=op.kind,
        importance=decay.initial_importance(op.kind, op.importance, policy),
        anchor_at=verdict.fades_from,
        grace_days=policy.rule(category).grace_days,
        confidence=1.0 if by_person else 0.8,
        verified=verdict.by.who is ActorKind.USER,
        source=_SOURCES.get(verdict.by.who, Source.BACKGROUND_AI),
        valid_from=op.valid_from or verdict.at,
        expires_at=op.expires_at or decay.gone_at(category, verdict.fades_from, policy),
        state=MemoryState.PENDING if pending else MemoryState.ACTIVE,
        evidence=evidence_for(op.quote, verdict),
        entities=op.entities,
        topics=op.topics,
        cues=op.cues,
        data=op.data,
        created_at=verdict.at,
        updated_at=verdict.at,
    )


def _updated(op: Update, old: Memory, context: PlanContext) -> list[tuple[Memory | None, Memory]]:
    verdict, policy = context.verdict, context.policy
    since = op.valid_from or verdict.at
    kind = op.kind or old.kind
    start = decay.initial_importance(kind, op.importance or Importance.MEDIUM, policy)
    new = old.model_copy(
        update={
            "id": context.new_id,
            "content": op.content,
            "kind": kind,
            **_home(old, kind, policy),
            "importance": max(start, decay.effective(old, verdict.at, policy)),
            "anchor_at": verdict.fades_from,
            "source": _SOURCES.get(verdict.by.who, Source.BACKGROUND_AI),
            "verified": verdict.by.who is ActorKind.USER,
            "valid_from": since,
            "valid_until": None,
            "expires_at": _new_end(op, old, context),
            "supersedes": (old.id,),
            "relations": _lasting(old.relations),
            "judged": (),
            "asked_at": None,  # new words need a new review
            "asked_value": None,
            "evidence": old.evidence
            if verdict.by.who in REREADERS
            else evidence_for(op.quote, verdict),
            "entities": op.entities or old.entities,
            "topics": op.topics or old.topics,
            "cues": op.cues,
            "data": op.data or old.data,
            "recalls": 0,
            "created_at": verdict.at,
            "revision": 0,
        }
    )
    if old.sphere == SHARED:  # facts told to one persona do not change the knowledge of the others
        apart = {"sphere": verdict.sphere, "agent_id": verdict.agent_id, "supersedes": ()}
        return [(None, new.model_copy(update=apart))]
    gone = old.model_copy(
        update={"state": MemoryState.SUPERSEDED, "superseded_by": new.id, "valid_until": since}
    )
    return [(None, new), (old, gone)]


def _new_end(op: Update, old: Memory, context: PlanContext) -> datetime | None:
    """Return when new words expire; new words from a model for a core memory never expire."""
    if old.category is Category.CORE and context.verdict.by.who not in NO_MODELS:
        return None
    return op.expires_at or decay.gone_at(old.category, context.verdict.fades_from, context.policy)


def _home(old: Memory, kind: Kind, policy: Policy) -> dict[str, object]:
    """Return the category fields to update if the kind changes, such as from todo to lesson."""
    if kind == old.kind or old.category not in {Category.FACT, Category.SKILL}:
        return {}
    category = category_of(kind)
    return {"category": category, "grace_days": policy.rule(category).grace_days}


def _merged(
    op: Merge, targets: Sequence[Memory], context: PlanContext
) -> list[tuple[Memory | None, Memory]]:
    verdict, policy = context.verdict, context.policy
    best = max(targets, key=lambda memory: decay.effective(memory, verdict.at, policy))
    is_told = best.category in NARRATIVE  # other merges wait as a whole op
    one = best.model_copy(
        update={
            "id": context.new_id,
            "content": op.content,
            **_settled(best, op.category or best.category, context),
            "kind": op.kind or best.kind,
            "state": MemoryState.PENDING
            if context.require_confirmation and is_told
            else MemoryState.ACTIVE,
            "valid_from": min((m.valid_from for m in targets if m.valid_from), default=None),
            "last_used_at": max((m.last_used_at for m in targets if m.last_used_at), default=None),
            "verified": all(memory.verified for memory in targets),
            "source": _SOURCES.get(verdict.by.who, Source.BACKGROUND_AI),
            "importance": op.importance or decay.effective(best, verdict.at, policy),
            "anchor_at": verdict.at,
            "supersedes": tuple(memory.id for memory in targets),
            "relations": _merged_links(best, targets),
            "judged": (),
            "evidence": tuple(item for memory in targets for item in memory.evidence),
            "entities": tuple(dict.fromkeys(e for memory in targets for e in memory.entities)),
            "topics": tuple(dict.fromkeys(t for memory in targets for t in memory.topics)),
            "cues": tuple(dict.fromkeys(c for memory in targets for c in memory.cues)),
            "uses": sum(memory.uses for memory in targets),
            "recalls": 0,
            "created_at": verdict.at,
            "revision": 0,
        }
    )
    link = Relation(to=one.id, type="refines", strength=1.0)
    archived = [
        memory.model_copy(
            update={"state": MemoryState.ARCHIVED, "relations": (*memory.relations, link)}
        )
        for memory in targets
    ]
    return [(None, one), *zip(targets, archived, strict=True)]


def _lasting(relations: tuple[Relation, ...]) -> tuple[Relation, ...]:
    """Return the links that a reworded memory keeps; earlier versions linked contradictions."""
    return tuple(link for link in relations if link.type != "contradicts")


def _merged_links(best: Memory, targets: Sequence[Memory]) -> tuple[Relation, ...]:
    """Return the links of the best memory, and the guards of all merged memories."""
    guards = (link for memory in targets for link in memory.relations if link.type == GUARDS)
    return tuple(dict.fromkeys((*_lasting(best.relations), *guards)))


def _guarding(op: Guard, old: Memory) -> Memory:
    """Return a boundary with renewed links to the memories that it was judged against."""
    renewed = {*op.memories, *op.released}
    kept = (link for link in old.relations if link.type != GUARDS or link.to not in renewed)
    links = (Relation(to=id, type=GUARDS, strength=1.0) for id in op.memories)
    judged = tuple(dict.fromkeys((*old.judged, *op.judged)))
    return old.model_copy(update={"relations": (*kept, *links), "judged": judged})


def _settled(best: Memory, category: Category, context: PlanContext) -> dict[str, object]:
    """Return the fields to update if a merged memory has another category than the best memory."""
    if category == best.category:
        return {}
    return {
        "category": category,
        "grace_days": context.policy.rule(category).grace_days,
        "expires_at": decay.gone_at(category, context.verdict.at, context.policy),
        "data": {},  # a fact has no segment
    }


def _stamped(old: Memory | None, new: Memory, context: PlanContext) -> Memory:
    revision = old.revision + 1 if old else 1
    return decay.scheduled(
        new.model_copy(
            update={
                "revision": revision,
                "updated_at": context.verdict.at,
                "written_by": context.entry_id,
            }
        ),
        context.policy,
    )


def evidence_for(quote: str, verdict: Verdict) -> tuple[Evidence, ...]:
    """Return the message that contains the quote; the user's messages are searched first."""
    ordered = sorted(verdict.said, key=lambda said: said.speaker is not Speaker.USER)
    for said in ordered:
        if quote and find_quote(quote, said.text):
            evidence = Evidence(
                turn_id=said.turn_id,
                speaker=said.speaker,
                quote=quote,
                at=said.at,
                session_id=said.session_id,
                host_turn_id=said.host_turn_id,
            )
            return (evidence,)
    return ()
