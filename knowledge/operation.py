"""Operations, the only way to change memories; verdicts, which hold them; and ledger entries."""

from collections.abc import Collection
from enum import StrEnum
from typing import Annotated, Literal
from uuid import UUID, uuid5

from pydantic import AfterValidator, AwareDatetime, Field

from souffleur.knowledge.identity import check_id
from souffleur.knowledge.memory import (
    Category,
    Content,
    Data,
    Frozen,
    Kind,
    Memory,
    Number,
    Speaker,
    Text,
)
from souffleur.knowledge.privacy.groups import SpecialCategory

NAMESPACE = UUID("6f0c9d5e-6b3f-5d0e-9a57-8d1f3f3c9f10")
"""The namespace of every deterministic id in a store."""


_BETWEEN = "\x1f"
_ESCAPES = {ord("\x1e"): "\x1e0", ord(_BETWEEN): "\x1e1"}
_NONE = "\x1e2"

IDS_KNOWN = 4096
"""Size of the caches of derived ids that every recall needs."""


def derive_id(*parts: object) -> str:
    r"""Return a UUID that depends only on the parts; different parts always give different UUIDs.

    >>> derive_id("turn", 1) == derive_id("turn", 1) != derive_id("turn", 2)
    True
    >>> derive_id("a\x1fb") == derive_id("a", "b"), derive_id(None) == derive_id("None")
    (False, False)
    """
    named = (_NONE if part is None else str(part).translate(_ESCAPES) for part in parts)
    return str(uuid5(NAMESPACE, _BETWEEN.join(named)))


def entry_id(verdict_id: str, position: int) -> str:
    """Return the id of the ledger entry for the op at a position of a verdict."""
    return derive_id("entry", verdict_id, position)


def is_id(text: str) -> bool:
    """Return whether a text has the form of an id.

    >>> is_id(derive_id("turn", 1)), is_id("m1")
    (True, False)
    """
    try:
        return str(UUID(text)) == text
    except (ValueError, AttributeError, TypeError):  # the last two for values that are no string
        return False


class Importance(StrEnum):
    """A judge's estimate of importance; the policy turns it into a number."""

    LOW = "low"
    """Nice to know."""
    MEDIUM = "medium"
    """Worth knowing."""
    HIGH = "high"
    """It would hurt to forget."""


class Add(Frozen):
    """Adds a memory."""

    op: Literal["ADD"] = "ADD"
    reason: Text
    quote: Text
    """The exact words that it is based on; host and user may leave it empty."""
    content: Content
    category: Category | None = None
    """`None` means the usual category of the kind."""
    kind: Kind = Kind.FACT
    importance: Importance = Importance.MEDIUM
    entities: tuple[Text, ...] = ()
    topics: tuple[Text, ...] = ()
    cues: tuple[Text, ...] = ()
    """Situations in which it should come to mind; they are not part of the content."""
    valid_from: AwareDatetime | None = None
    expires_at: AwareDatetime | None = None
    data: Data = Field(default_factory=dict)
    """Structured data, stored with the memory."""
    keep_both: bool = False
    """Whether the judge has seen a near-duplicate and wants to keep both."""
    special: SpecialCategory = SpecialCategory.NONE
    """The special category that it tells, if the judge was asked; then the op is refused."""


class Update(Frozen):
    """Replaces a memory that is no longer true; the old one is kept as history."""

    op: Literal["UPDATE"] = "UPDATE"
    target: str
    reason: Text
    quote: Text
    content: Content
    kind: Kind | None = None
    """`None` means unchanged; this also applies to the fields below."""
    importance: Importance | None = None
    entities: tuple[Text, ...] = ()
    topics: tuple[Text, ...] = ()
    cues: tuple[Text, ...] = ()
    valid_from: AwareDatetime | None = None
    expires_at: AwareDatetime | None = None
    data: Data = Field(default_factory=dict)
    special: SpecialCategory = SpecialCategory.NONE
    """As in `Add`."""


class Boost(Frozen):
    """Reinforces a memory that shaped the reply."""

    op: Literal["BOOST"] = "BOOST"
    target: str
    reason: Text


class Delete(Frozen):
    """Deletes a memory that was wrong or that the user wants gone; it can be restored."""

    op: Literal["DELETE"] = "DELETE"
    target: str
    reason: Text
    quote: Text
    trail: tuple[str, ...] = ()
    """The thoughts and look-ups of the reviewer."""


class Skip(Frozen):
    """Records that there was nothing to keep."""

    op: Literal["SKIP"] = "SKIP"
    reason: Text


class Promote(Frozen):
    """Makes a memory core, as decided by a reviewer."""

    op: Literal["PROMOTE"] = "PROMOTE"
    target: str
    reason: Text
    trail: tuple[str, ...] = ()
    """The thoughts and look-ups of the reviewer."""


class Keep(Frozen):
    """Keeps a memory as it is, as decided by a reviewer."""

    op: Literal["KEEP"] = "KEEP"
    target: str
    reason: Text
    trail: tuple[str, ...] = ()
    """The thoughts and look-ups of the reviewer."""


class Merge(Frozen):
    """Replaces several memories with one; the originals are archived and linked."""

    op: Literal["MERGE"] = "MERGE"
    targets: tuple[str, ...] = Field(min_length=2)
    reason: Text
    content: Content
    importance: float | None = None
    category: Category | None = None
    """`None` means the category of the most valuable memory; this also applies to `kind`.

    A different category brings its own grace and expiry.
    """
    kind: Kind | None = None


class Archive(Frozen):
    """Archives a memory: it is kept, but no longer read by default."""

    op: Literal["ARCHIVE"] = "ARCHIVE"
    target: str
    reason: Text


class Forget(Frozen):
    """Forgets a memory by schedule, host or user; it can be restored."""

    op: Literal["FORGET"] = "FORGET"
    target: str
    reason: Text


class Restore(Frozen):
    """Makes a memory active again, anchored now."""

    op: Literal["RESTORE"] = "RESTORE"
    target: str
    reason: Text


class Share(Frozen):
    """Lets every persona know a memory; for the host."""

    op: Literal["SHARE"] = "SHARE"
    target: str
    reason: Text


class Confirm(Frozen):
    """Marks a memory as confirmed by the user."""

    op: Literal["CONFIRM"] = "CONFIRM"
    target: str
    reason: Text


class Cue(Frozen):
    """Gives a memory cues, by which it is found; its content stays."""

    op: Literal["CUE"] = "CUE"
    target: str
    reason: Text
    cues: tuple[Text, ...]


class Guard(Frozen):
    """Links a boundary with memories that it forbids to bring up; their content stays."""

    op: Literal["GUARD"] = "GUARD"
    target: str
    """The id of the boundary."""
    reason: Text
    memories: tuple[str, ...] = ()
    """The ids of memories to link."""
    released: tuple[str, ...] = ()
    """The ids of memories to unlink."""
    judged: tuple[str, ...] = ()
    """Marks of the memories that it was judged against now, see `boundary_pairs.pair_mark`."""


class Close(Frozen):
    """Marks the open matter of an episode as over; the rest of the episode stays."""

    op: Literal["CLOSE"] = "CLOSE"
    target: str
    reason: Text


class Edit(Frozen):
    """Changes the words of a memory in place; for user and host. The ledger keeps the old words."""

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
    | Archive
    | Forget
    | Restore
    | Share
    | Confirm
    | Cue
    | Guard
    | Close
    | Edit,
    Field(discriminator="op"),
]


class ActorKind(StrEnum):
    """The kind of author of a verdict."""

    MONITOR = "monitor"
    """The model that judges turns."""
    SUMMARIZER = "summarizer"
    """The model that writes episodes."""
    PROFILE_WRITER = "profile_writer"
    """The model that writes portraits."""
    REVIEWER = "reviewer"
    """The model that reviews due memories."""
    CONSOLIDATOR = "consolidator"
    """The model that merges memories."""
    AUDITOR = "auditor"
    """The model that reads all memories of a person together."""
    ARBITER = "arbiter"
    """The model that settled contradictions in earlier versions; entries of it may be stored."""
    CUE_WRITER = "cue_writer"
    """The model that writes cues."""
    BOUNDARY_LINKER = "boundary_linker"
    """The model that finds the memories that a boundary is about."""
    SCHEDULE = "schedule"
    """A rule, in a run."""
    USER = "user"
    """The user, by hand."""
    HOST = "host"
    """The host's program."""
    IMPORT = "import"
    """Another system, whose file was imported."""


REREADERS = frozenset({ActorKind.REVIEWER, ActorKind.AUDITOR})
"""Models that change memories by what is known already, not by what was just said."""


class Actor(Frozen):
    """The author of a verdict."""

    who: ActorKind
    """Its kind."""
    model: str = ""
    """The name of the model; empty if no model was asked."""
    prompt: str = ""
    """The name and content hash of the prompt that was used."""


class Said(Frozen):
    """A message of the turns that a verdict is about."""

    turn_id: str
    """The store's own id of the turn: `Turn.id`."""
    speaker: Speaker
    """The author of the message."""
    text: Text
    """The words of the message."""
    at: AwareDatetime
    """When the message was said."""
    session_id: str = ""
    """The session of the turn."""
    host_turn_id: str = ""
    """The host's own id of the turn."""


class Verdict(Frozen):
    """A decision about one user's memories, with all data that the checks need."""

    id: str
    """The source of the ids of memories and ledger entries: the same verdict writes once."""
    user_id: Annotated[str, AfterValidator(check_id)]
    """The user it is about."""
    agent_id: str = "default"
    """The persona that the user talked with."""
    sphere: str = ""
    """The sphere of added memories; only memories that are known there count as duplicates."""
    by: Actor
    """Its author."""
    at: AwareDatetime
    """When it was decided."""
    learned_at: AwareDatetime | None = None
    """When its messages became known here, if later than `at`, as those of an imported chat."""
    reason: Text = ""
    """The reason for the whole verdict."""
    ops: tuple[Op, ...]
    """The ops, in order."""
    shown: dict[str, str] | None = None
    """The handles that the author saw (`m1`) and their ids; `None` if targets are real ids."""
    injected: frozenset[str] = frozenset()
    """The ids of the memories that were whispered before the reply."""
    said: tuple[Said, ...] = ()
    """The messages that it is about."""
    earlier: tuple[Said, ...] = ()
    """The messages before them that the author saw, for reference."""
    known: tuple[str, ...] = ()
    """The contents of the memories that the author saw."""
    called: tuple[str, ...] = ()
    """The names of the user and the persona."""
    hidden: tuple[str, ...] = ()
    """Words of the messages that are secret: they are masked wherever the verdict is written."""
    talk_since: AwareDatetime | None = None
    """When the current talk began, as far as its window reaches; `None` if there is no talk."""
    cost: dict[str, float] = Field(default_factory=dict)
    """The cost of the verdict: calls, input_tokens, output_tokens, and cost in dollars."""

    @property
    def fades_from(self) -> AwareDatetime:
        """The time from which new memories fade: nothing fades before it is known here."""
        return max(self.at, self.learned_at or self.at)


class Refusal(StrEnum):
    """The reason why an op was not carried out."""

    UNKNOWN_ID = "unknown_id"
    """It names a memory that was not shown."""
    UNGROUNDED = "ungrounded"
    """The quote is not in the messages."""
    UNFOUNDED = "unfounded"
    """It says a name, number or date that nobody said, or the opposite of its quote."""
    UNRELATED = "unrelated"
    """Its quote is about another subject than the memory that it would change."""
    NOT_THE_USER = "not_the_user"
    """It rests only on the assistant's words."""
    PROTECTED = "protected"
    """Only the user or the host may do this."""
    ECHO = "echo"
    """It repeats a whispered memory."""
    DUPLICATE = "duplicate"
    """An active memory says the same."""
    SENSITIVE = "sensitive"
    """It holds a key, a password or another secret, or tells a special category."""
    TOO_MANY = "too_many"
    """The verdict has too many ops, or changes a memory twice."""
    COMMAND = "command"
    """The quote is itself an operation, such as "[DELETE:m1]": words are data."""
    USELESS = "useless"
    """The op would change nothing."""
    OUTDATED = "outdated"
    """The memory that it would change was told later than the judged turn."""
    REJECTED = "rejected"
    """The op waited for the user's consent and the user declined."""
    LAPSED = "lapsed"
    """The op waited for consent, and the user did not answer, or its turn was replaced."""
    CONFLICT = "conflict"
    """The memory was changed by another process between judging and writing."""


class Change(Frozen):
    """One memory before and after an op; `before` is `None` if the op created it."""

    before: Memory | None
    """The memory before; `None` if it was created."""
    after: Memory
    """The memory after."""


PURGED = {"purged": True}
"""The details that replace those of an op whose words were erased."""
WORDLESS = {"details": PURGED, "reason": "", "quote": "", "detail": ""}
"""The fields of an entry whose words were erased."""


class LedgerEntry(Frozen):
    """The result of one op: a line of the ledger."""

    id: str
    """The uuid5 of (verdict, position); `undo` takes it."""
    verdict_id: str
    """The verdict that the op belongs to."""
    position: Number
    """The place of the op in the verdict, from 0."""
    of: Number
    """The number of ops in the verdict."""
    user_id: str
    """The user it is about."""
    agent_id: str
    """The persona that the user talked with."""
    turn_ids: tuple[str, ...] = ()
    """The store's own ids of the turns: `Turn.id`."""
    session_id: str = ""
    """The session of these turns; empty without turns, and in entries of earlier versions."""
    host_turn_ids: tuple[str, ...] = ()
    """The host's own ids of these turns, in the same order; empty like `session_id`."""
    by: Actor
    """The author of the verdict."""
    at: AwareDatetime
    """When it was decided."""
    op: str
    """ADD, UPDATE, … or UNDO."""
    details: Data = Field(default_factory=dict)
    """The fields of the requested op."""
    reason: Text = ""
    """The reason, in the words of its author."""
    quote: Text = ""
    """The exact words that it is based on."""
    changes: tuple[Change, ...] = ()
    """The changed memories; empty if it was refused."""
    refused: Refusal | None = None
    """The reason why it was not carried out; `None` if it was carried out."""
    waits: bool = False
    """Whether the op has not been carried out and waits for the user's consent."""
    detail: str = ""
    """One sentence that says why the op was refused."""
    cost: dict[str, float] = Field(default_factory=dict)
    """The cost of the whole verdict; only noted at its first op."""
    undoes: str | None = None
    """The id of the ledger entry that an UNDO takes back."""
    undone_by: str | None = None
    """The id of the entry that undid it; `None` if it was not undone."""

    def __repr__(self) -> str:
        """Return a line for notebooks and logs, in which a refusal is not overlooked."""
        if self.refused:
            return f"<LedgerEntry {self.op} REFUSED, {self.refused}: {self.detail}>"
        texts = "; ".join(repr(change.after.content) for change in self.changes)
        return f"<LedgerEntry {self.id[:8]} {self.op}: {texts or self.reason}>"

    def emptied(self, memory_ids: Collection[str]) -> "LedgerEntry":
        """Return the entry without the words of these memories and without its reasons."""
        left = tuple(change for change in self.changes if change.after.id not in memory_ids)
        return self.model_copy(update={**WORDLESS, "changes": left})

    @property
    def memory_ids(self) -> tuple[str, ...]:
        """The ids of the memories that the op changed."""
        return tuple(change.after.id for change in self.changes)


LedgerEntries = list[LedgerEntry]


class Recorded(Frozen):
    """A ledger entry, and its place in the ledger of its store."""

    seq: Number
    """The place: each later entry has a higher number; entries of other users lie between."""
    entry: LedgerEntry
    """The entry."""
