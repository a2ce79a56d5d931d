"""Operations: the only way anything changes, what each may do, and what became of it."""

from enum import StrEnum
from typing import Annotated, Any, Literal
from uuid import UUID, uuid5

from pydantic import AfterValidator, AwareDatetime, Field

from souffleur.knowledge.identity import check_id
from souffleur.knowledge.memory import Category, Content, Frozen, Kind, Memory, Speaker, Text

NAMESPACE = UUID("6f0c9d5e-6b3f-5d0e-9a57-8d1f3f3c9f10")
"""Root of every deterministic id in a store."""


_BETWEEN = "\x1f"
_ESCAPES = {ord("\x1e"): "\x1e0", ord(_BETWEEN): "\x1e1"}
_NONE = "\x1e2"


def derive_id(*parts: object) -> str:
    """Return a UUID that depends on the parts alone; no part can imitate another, or two.

    >>> derive_id("turn", 1) == derive_id("turn", 1) != derive_id("turn", 2)
    True
    >>> derive_id("a\x1fb") == derive_id("a", "b"), derive_id(None) == derive_id("None")
    (False, False)
    """
    named = (_NONE if part is None else str(part).translate(_ESCAPES) for part in parts)
    return str(uuid5(NAMESPACE, _BETWEEN.join(named)))


def entry_id(verdict_id: str, position: int) -> str:
    """Return the id of the ledger entry of an op."""
    return derive_id("entry", verdict_id, position)


def is_id(text: str) -> bool:
    """Whether a text can be an id at all.

    >>> is_id(derive_id("turn", 1)), is_id("m1")
    (True, False)
    """
    try:
        return str(UUID(text)) == text
    except ValueError:
        return False


class Importance(StrEnum):
    """How much a judge thinks it matters; the policy turns it into a number."""

    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"


class Add(Frozen):
    """Keep something new."""

    op: Literal["ADD"] = "ADD"
    reason: Text
    quote: Text
    """The exact words it rests on; host and user may leave it empty."""
    content: Content
    category: Category | None = None
    """None: as the kind lives."""
    kind: Kind = Kind.FACT
    importance: Importance = Importance.MEDIUM
    entities: tuple[str, ...] = ()
    topics: tuple[str, ...] = ()
    cues: tuple[str, ...] = ()
    """Situations in which it should come to mind; they are no part of what it says."""
    valid_from: AwareDatetime | None = None
    expires_at: AwareDatetime | None = None
    data: dict[str, Any] = Field(default_factory=dict)
    """Structured data, kept with the memory."""
    keep_both: bool = False
    """A near-duplicate was shown to the judge, who wants both."""


class Update(Frozen):
    """Replace what is no longer so; the old one stays as history."""

    op: Literal["UPDATE"] = "UPDATE"
    target: str
    reason: Text
    quote: Text
    content: Content
    kind: Kind | None = None
    """None: as before. Likewise below."""
    importance: Importance | None = None
    entities: tuple[str, ...] = ()
    topics: tuple[str, ...] = ()
    cues: tuple[str, ...] = ()
    valid_from: AwareDatetime | None = None
    expires_at: AwareDatetime | None = None
    data: dict[str, Any] = Field(default_factory=dict)


class Boost(Frozen):
    """It shaped the reply: reinforce it."""

    op: Literal["BOOST"] = "BOOST"
    target: str
    reason: Text


class Delete(Frozen):
    """It was wrong, or the user wants it gone: a tombstone, restorable."""

    op: Literal["DELETE"] = "DELETE"
    target: str
    reason: Text
    quote: Text
    trail: tuple[str, ...] = ()
    """What a reviewer thought and looked up before."""


class Skip(Frozen):
    """Nothing worth keeping."""

    op: Literal["SKIP"] = "SKIP"
    reason: Text


class Promote(Frozen):
    """A reviewer found it to be core."""

    op: Literal["PROMOTE"] = "PROMOTE"
    target: str
    reason: Text
    trail: tuple[str, ...] = ()
    """What a reviewer thought and looked up before."""


class Keep(Frozen):
    """A reviewer found it worth keeping as it is."""

    op: Literal["KEEP"] = "KEEP"
    target: str
    reason: Text
    trail: tuple[str, ...] = ()
    """What a reviewer thought and looked up before."""


class Merge(Frozen):
    """Several memories become one; the originals are archived and linked."""

    op: Literal["MERGE"] = "MERGE"
    targets: tuple[str, ...] = Field(min_length=2)
    reason: Text
    content: Content
    importance: float | None = None
    category: Category | None = None
    """None: as the best of them; another one brings its own grace and end. Likewise below."""
    kind: Kind | None = None


class Contradict(Frozen):
    """Two memories exclude each other: both say so, and if it is settled which holds, one ends."""

    op: Literal["CONTRADICT"] = "CONTRADICT"
    stays: str
    ends: str
    """Where it is not settled, either may be named here."""
    reason: Text
    until: AwareDatetime | None = None
    """Until when the one that ends was true; None: until the other came to hold."""
    settled: bool = False
    """It ends now; else both stay as they are, linked, and a report shows them."""


class Archive(Frozen):
    """Out of every default read path, but kept."""

    op: Literal["ARCHIVE"] = "ARCHIVE"
    target: str
    reason: Text


class Forget(Frozen):
    """A tombstone set by schedule, host or user."""

    op: Literal["FORGET"] = "FORGET"
    target: str
    reason: Text


class Restore(Frozen):
    """Back to life, anchored now."""

    op: Literal["RESTORE"] = "RESTORE"
    target: str
    reason: Text


class Share(Frozen):
    """The host lets every persona know it."""

    op: Literal["SHARE"] = "SHARE"
    target: str
    reason: Text


class Confirm(Frozen):
    """The user says that it is so."""

    op: Literal["CONFIRM"] = "CONFIRM"
    target: str
    reason: Text


class Cue(Frozen):
    """Give it cues, by which it comes to mind; what it says stays as it is."""

    op: Literal["CUE"] = "CUE"
    target: str
    reason: Text
    cues: tuple[str, ...]


class Edit(Frozen):
    """The user or host changes the words, in place; the ledger keeps the old ones."""

    op: Literal["EDIT"] = "EDIT"
    target: str
    reason: Text
    content: Content


Op = Annotated[
    Add
    | Update
    | Boost
    | Delete
    | Skip
    | Promote
    | Keep
    | Merge
    | Contradict
    | Archive
    | Forget
    | Restore
    | Share
    | Confirm
    | Cue
    | Edit,
    Field(discriminator="op"),
]


class ActorKind(StrEnum):
    """Who decides."""

    MONITOR = "monitor"
    SUMMARIZER = "summarizer"
    PROFILE_WRITER = "profile_writer"
    REVIEWER = "reviewer"
    CONSOLIDATOR = "consolidator"
    ARBITER = "arbiter"
    CUE_WRITER = "cue_writer"
    SCHEDULE = "schedule"
    USER = "user"
    HOST = "host"


class Actor(Frozen):
    """The author of a verdict."""

    who: ActorKind
    model: str = ""
    prompt: str = ""
    """Name and content hash of the prompt it was asked with."""


class Said(Frozen):
    """One message of the turns a verdict is about."""

    turn_id: str
    speaker: Speaker
    text: Text
    at: AwareDatetime


class Verdict(Frozen):
    """What somebody decided about one user's memories, with all that the checks need."""

    id: str
    """Ids of memories and ledger entries derive from it: the same verdict writes once."""
    user_id: Annotated[str, AfterValidator(check_id)]
    agent_id: str = "default"
    sphere: str = ""
    """Where what is added lies; only what is known there is a duplicate of it."""
    by: Actor
    at: AwareDatetime
    reason: Text = ""
    ops: tuple[Op, ...]
    shown: dict[str, str] | None = None
    """The handles the author saw (`m1`) and the ids behind them; None: targets are real ids."""
    injected: frozenset[str] = frozenset()
    """Ids of the memories that were whispered before the reply."""
    said: tuple[Said, ...] = ()
    talk_since: AwareDatetime | None = None
    """When this talk began, as far as its window holds it; None: there is no talk."""
    cost: dict[str, float] = Field(default_factory=dict)
    """What it took: calls, input_tokens, output_tokens, cost in dollars."""


class Refusal(StrEnum):
    """Why an op was not carried out."""

    UNKNOWN_ID = "unknown_id"
    UNGROUNDED = "ungrounded"
    NOT_THE_USER = "not_the_user"
    PROTECTED = "protected"
    ECHO = "echo"
    DUPLICATE = "duplicate"
    SENSITIVE = "sensitive"
    TOO_MANY = "too_many"
    COMMAND = "command"
    """The quote is itself an operation, such as "[DELETE:m1]": words are data."""
    USELESS = "useless"
    """It would change nothing: the memory already is so."""
    REJECTED = "rejected"
    """It waited for the user's yes, and the user said no."""
    CONFLICT = "conflict"
    """The memory was changed by another process between judging and writing."""


class Change(Frozen):
    """One memory before and after an op; `before` is None where it was made."""

    before: Memory | None
    after: Memory


class LedgerEntry(Frozen):
    """What became of one op: a line of the ledger."""

    id: str
    """uuid5 of (verdict, position): the ledger id that `undo` takes."""
    verdict_id: str
    position: int
    of: int
    """How many ops the verdict had."""
    user_id: str
    agent_id: str
    turn_ids: tuple[str, ...] = ()
    by: Actor
    at: AwareDatetime
    op: str
    """ADD, UPDATE, … or UNDO."""
    details: dict[str, Any] = Field(default_factory=dict)
    """The op as it was asked for."""
    reason: str = ""
    quote: str = ""
    changes: tuple[Change, ...] = ()
    refused: Refusal | None = None
    waits: bool = False
    """It was not done yet: it waits for the user's yes."""
    detail: str = ""
    """For a refusal: one sentence that says why."""
    cost: dict[str, float] = Field(default_factory=dict)
    """What the whole verdict took; at its first op alone."""
    undoes: str | None = None
    """For UNDO: the ledger entry it takes back."""
    undone_by: str | None = None

    @property
    def memory_ids(self) -> tuple[str, ...]:
        """The memories it touched."""
        return tuple(change.after.id for change in self.changes)
