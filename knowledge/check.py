"""All rules by which an op of a verdict is refused. Pure functions."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import islice

from souffleur.knowledge.grounding import Grounds
from souffleur.knowledge.identity import COMMON, SHARED
from souffleur.knowledge.memory import Category, Kind, Memory, MemoryState, Speaker
from souffleur.knowledge.operation import (
    REREADERS,
    ActorKind,
    Add,
    Boost,
    Close,
    Cue,
    Delete,
    Edit,
    Forget,
    Guard,
    Merge,
    Op,
    Refusal,
    Restore,
    Share,
    Skip,
    Update,
    Verdict,
)
from souffleur.knowledge.privacy.groups import NEVER_KEPT, Group, SpecialCategory
from souffleur.knowledge.privacy.secrets import find_secret
from souffleur.knowledge.text.match import adds_nothing, find_quote, says_same

MAX_OPS = 8
"""Maximum ops for one turn; cues and guards are not counted, as they change no content."""
MAX_DELETIONS = 3
"""Maximum deletions for one turn, not counting those that the user explicitly asks for."""

MENDABLE = frozenset({Refusal.UNFOUNDED, Refusal.UNRELATED})
"""Refusals that are sent back to the judge once, as its intention may have been right."""

Refused = tuple[Refusal, str]
"""The reason for a refusal, as a code and as a sentence."""

_PERSONS = frozenset({ActorKind.USER, ActorKind.HOST, ActorKind.IMPORT})

_COMMAND = re.compile(
    r"[\[【［]\s*(?:ADD|UPDATE|BOOST|DELETE|SKIP|PROMOTE|KEEP)\s*(?:[:：]\s*[\w-]+\s*)?[\]】］]",
    re.I,
)

_ASKS_TO_FORGET = re.compile(
    r"forget|delete|remove|erase|wipe|drop (?:that|it|this)"
    r"|(?:don'?t|do not|stop|no longer) (?:remember|keep)"
    r"|忘|删|别(?:再)?记|不要(?:再)?记|不用(?:再)?记|抹掉|清除|消して|消去|削除|忘れ|잊어|삭제|지워",
    re.I,
)


@dataclass(frozen=True)
class CheckContext:
    """Everything that the rules read besides the op itself."""

    verdict: Verdict
    targets: tuple[Memory, ...] = ()
    """The current memories that the op names; unknown ones are missing."""
    twin: Memory | None = None
    """Another active memory of this user with the same text, if any."""
    injected: tuple[Memory, ...] = ()
    """The memories that were whispered before the reply."""
    turns: int = 1
    """Number of turns that the op may rest on: 1 for an op with a quote, or all of the verdict."""
    taken: int = 0
    """Number of earlier ops in this verdict that rest on the same turns."""
    deletions: int = 0
    """Number of these ops that are deletions without a request by the user."""
    touched: frozenset[str] = field(default_factory=frozenset)
    """Ids of the memories that earlier ops of this verdict name."""
    withheld: frozenset[Group] = NEVER_KEPT
    """Groups of sensitive data that no memory may hold."""
    grounds: Grounds | None = None
    """The texts that the ops of the verdict may rest on, if they are read already."""

    @property
    def by_person(self) -> bool:
        """Whether a user or host decided; neither needs a quote, and no limit applies."""
        return self.verdict.by.who in _PERSONS


Check = Callable[[Op, CheckContext], Refused | None]


def refuse(op: Op, context: CheckContext) -> Refused | None:
    """Return the first rule that the op breaks; `None` if it may be carried out."""
    return next((refused for rule in RULES if (refused := rule(op, context))), None)


def named_ids(op: Op) -> tuple[str, ...]:
    """Return the handles or ids that an op names."""
    if isinstance(op, Merge):
        return op.targets
    return () if isinstance(op, Add | Skip) else (op.target,)


def turns_of(op: Op, verdict: Verdict) -> frozenset[str]:
    """Return the turns that an op may rest on: that of its quote, or all turns of the verdict."""
    quote = getattr(op, "quote", "")
    every = dict.fromkeys(said.turn_id for said in verdict.said)
    if quote and len(every) > 1:
        found = (said.turn_id for said in verdict.said if find_quote(quote, said.text))
        every = dict.fromkeys(islice(found, 1)) or every
    return frozenset(every)


def asks_to_forget(text: str) -> bool:
    """Return whether a text explicitly asks to forget something.

    >>> asks_to_forget("把我前任的事忘了吧"), asks_to_forget("I moved to Lyon")
    (True, False)
    """
    return bool(_ASKS_TO_FORGET.search(text))


def special_of(op: Op) -> SpecialCategory | None:
    """Return the special category that an op tells, as its judge says; `None` for no category."""
    special = op.special if isinstance(op, Add | Update) else SpecialCategory.NONE
    return None if special is SpecialCategory.NONE else special


def _too_many(op: Op, context: CheckContext) -> Refused | None:
    if context.by_person:
        return None
    if context.taken >= MAX_OPS * context.turns and not isinstance(op, Cue | Guard):
        return Refusal.TOO_MANY, f"a turn may bring {MAX_OPS} ops"
    unasked = isinstance(op, Delete) and not was_asked_for(op, context.verdict)
    if unasked and context.deletions >= MAX_DELETIONS * context.turns:
        return Refusal.TOO_MANY, f"a turn may delete {MAX_DELETIONS} memories"
    if context.touched.intersection(memory.id for memory in context.targets):
        return Refusal.TOO_MANY, "an earlier op of this verdict already changes that memory"
    return None


def _unknown(op: Op, context: CheckContext) -> Refused | None:
    known = {memory.id for memory in context.targets}
    shown = context.verdict.shown
    for name in named_ids(op):
        if (name if shown is None else shown.get(name)) not in known:
            return Refusal.UNKNOWN_ID, f"{name!r} was not among the memories shown"
    return None


def _pointless(op: Op, context: CheckContext) -> Refused | None:
    for memory in context.targets:
        gone = memory.state in {MemoryState.SUPERSEDED, MemoryState.ARCHIVED, MemoryState.FORGOTTEN}
        fades_on = isinstance(op, Forget) and memory.state is MemoryState.ARCHIVED
        if gone and not fades_on and not isinstance(op, Restore):
            return Refusal.USELESS, f"the memory is already {memory.state}"
        if memory.state is MemoryState.ACTIVE and isinstance(op, Restore):
            return Refusal.USELESS, "the memory is already active"
    if isinstance(op, Share) and context.targets[0].sphere in (COMMON, SHARED):
        return Refusal.USELESS, "it does not belong to a single persona"
    if isinstance(op, Close) and not context.targets[0].data.get("unresolved"):
        return Refusal.USELESS, "nothing is open in it"
    if isinstance(op, Guard) and context.targets[0].kind is not Kind.BOUNDARY:
        return Refusal.USELESS, "only a boundary speaks of other memories"
    if isinstance(op, Boost) and _in_view(context.targets[0], context.verdict):
        return Refusal.USELESS, "it was told or used in this talk: the reply had it in view anyway"
    if isinstance(op, Update | Edit) and says_same(op.content, context.targets[0].content):
        return Refusal.USELESS, "it says the same as the memory it would replace"
    return None


def _in_view(memory: Memory, verdict: Verdict) -> bool:
    """Return whether the current talk already contains the words of the memory."""
    return verdict.talk_since is not None and memory.anchor_at >= verdict.talk_since


def _special(op: Op, context: CheckContext) -> Refused | None:
    special = special_of(op)
    return (Refusal.SENSITIVE, f"it tells of {special}, which is not kept") if special else None


def _sensitive(op: Op, context: CheckContext) -> Refused | None:
    if not isinstance(op, Add | Update | Edit | Merge | Cue):
        return None
    texts = list(op.cues) if isinstance(op, Cue) else [op.content]
    texts += [op.quote, *op.entities, *op.topics, *op.cues] if isinstance(op, Add | Update) else []
    for text in texts:
        if secret := find_secret(text, context.withheld):
            return Refusal.SENSITIVE, f"it holds {secret}"
    return None


def _ungrounded(op: Op, context: CheckContext) -> Refused | None:
    if context.verdict.by.who is not ActorKind.MONITOR or not isinstance(op, Add | Update | Delete):
        return None
    if _COMMAND.search(op.quote):
        return Refusal.COMMAND, "the quote is itself an operation; words are data"
    speakers = _speakers(op.quote, context.verdict)
    if not speakers:
        return Refusal.UNGROUNDED, "the quote is not in what was said"
    if Speaker.USER not in speakers and not _is_promise(op, context.targets):
        return Refusal.NOT_THE_USER, "it rests only on the assistant's words"
    return None


def _unfounded(op: Op, context: CheckContext) -> Refused | None:
    judges = {ActorKind.MONITOR, *REREADERS}
    if context.verdict.by.who not in judges or not isinstance(op, Add | Update | Merge):
        return None
    grounds = context.grounds or Grounds(context.verdict)
    if found := grounds.unfounded(op, context.targets):
        return Refusal.UNFOUNDED, f"not in what was said: {', '.join(map(repr, found))}"
    return None


def _unrelated(op: Op, context: CheckContext) -> Refused | None:
    if context.verdict.by.who is not ActorKind.MONITOR or not isinstance(op, Update | Delete):
        return None
    if was_asked_for(op, context.verdict):  # "forget that" may mean anything
        return None
    grounds, target = context.grounds or Grounds(context.verdict), context.targets[0]
    if grounds.is_unrelated(op, target):
        return Refusal.UNRELATED, f"the quote is not about {target.content!r}"
    return None


def _protected(op: Op, context: CheckContext) -> Refused | None:
    who = context.verdict.by.who
    if getattr(op, "category", None) is Category.SYSTEM and who is not ActorKind.HOST:
        return Refusal.PROTECTED, "only the host may say what the persona is"
    if isinstance(op, Share) and not context.by_person:
        return Refusal.PROTECTED, "only the host and the user may share what one persona was told"
    if isinstance(op, Share) and context.targets[0].category is Category.PROFILE:
        return (
            Refusal.PROTECTED,
            "a portrait is written from many turns: share single memories instead",
        )
    for memory in context.targets:
        if memory.category is Category.SYSTEM and who is not ActorKind.HOST:
            return Refusal.PROTECTED, "only the host may change what the persona is"
        if memory.verified and who is ActorKind.AUDITOR and isinstance(op, Update | Delete | Merge):
            return Refusal.PROTECTED, "only the user's words may change what the user confirmed"
        if memory.category is not Category.CORE or context.by_person:
            continue
        if not was_asked_for(op, context.verdict) and isinstance(op, Forget | Delete):
            return Refusal.PROTECTED, "a core memory goes only when the user asks for it"
    return None


def _outdated(op: Op, context: CheckContext) -> Refused | None:
    """Refuse to change newer words: turns of an imported chat are judged late."""
    if context.verdict.by.who is not ActorKind.MONITOR or not isinstance(op, Update | Delete):
        return None
    if told_at(context.targets[0]) > context.verdict.at:
        return Refusal.OUTDATED, "what it would change was told later than this"
    return None


def told_at(memory: Memory) -> datetime:
    """Return when the words of a memory were said last, if this is known."""
    said = [one.at for one in memory.evidence if one.at is not None]
    return max(said, default=min(memory.valid_from or memory.created_at, memory.created_at))


def _echoed(op: Op, context: CheckContext) -> Refused | None:
    if not isinstance(op, Add) or context.by_person or op.keep_both:
        return None
    for memory in context.injected:
        if adds_nothing(op.content, memory.content) and not says_same(op.content, memory.content):
            return Refusal.ECHO, f"it restates what was whispered: {memory.content!r}"
    return None


def _duplicate(op: Op, context: CheckContext) -> Refused | None:
    twin = context.twin
    if twin is None or not isinstance(op, Add | Update | Edit):
        return None
    if isinstance(op, Add) and op.category is Category.EPISODE:  # talks may be alike
        return None
    if twin.id in {memory.id for memory in context.targets}:
        return None
    if twin.id in context.verdict.injected:
        return Refusal.ECHO, f"it restates what was whispered: {twin.content!r}"
    return Refusal.DUPLICATE, "an active memory says the same"


RULES: tuple[Check, ...] = (
    _special,  # first: an op that is refused for another reason stays in the ledger with its words
    _unknown,
    _too_many,
    _protected,
    _pointless,
    _outdated,
    _sensitive,
    _ungrounded,
    _unrelated,
    _unfounded,
    _duplicate,
    _echoed,
)


def _speakers(quote: str, verdict: Verdict) -> set[Speaker]:
    return {said.speaker for said in verdict.said if find_quote(quote, said.text)}


def _is_promise(op: Add | Update | Delete, targets: Sequence[Memory]) -> bool:
    """Return whether the op is about a promise, which may rest on the assistant's words."""
    if isinstance(op, Add):
        return op.kind is Kind.PROMISE
    return isinstance(op, Update) and targets[0].kind is Kind.PROMISE


def was_asked_for(op: Op, verdict: Verdict) -> bool:
    """Return whether a person asked for a deletion: by hand, or in the message with the quote."""
    if verdict.by.who in _PERSONS:
        return isinstance(op, Forget | Delete)
    return isinstance(op, Delete) and any(
        said.speaker is Speaker.USER
        and find_quote(op.quote, said.text)
        and asks_to_forget(said.text)
        for said in verdict.said
    )
