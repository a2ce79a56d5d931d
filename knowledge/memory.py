"""A memory: one sentence about a user, and its category, value, times, evidence and links."""

from datetime import UTC, datetime
from enum import StrEnum
from typing import Annotated, Any

from pydantic import AfterValidator, AwareDatetime, BaseModel, BeforeValidator, ConfigDict, Field

from souffleur.knowledge.text.plain import clean, is_blank

SCHEMA_VERSION = 1
"""Version of the payload below; stored with the data."""


class Category(StrEnum):
    """The decay class of a memory: the row of the policy's table that applies to it."""

    SYSTEM = "system"
    """The host's definition of a persona. Never fades."""
    CORE = "core"
    """A fact that must not be forgotten. Never fades."""
    FACT = "fact"
    """Any other fact."""
    EPISODE = "episode"
    """A summary of one talk."""
    PROFILE = "profile"
    """The portrait of a user: who this person is, in a few paragraphs."""
    SKILL = "skill"
    """Know-how and lessons, which fade slowest."""


class Kind(StrEnum):
    """The subject of a memory."""

    PREFERENCE = "preference"
    """A like or dislike, or how to be answered."""
    FACT = "fact"
    """A property of a person or a thing."""
    LESSON = "lesson"
    """A failure and its fix."""
    GOAL = "goal"
    """An aim."""
    CONTEXT = "context"
    """A circumstance that holds for a time."""
    PATTERN = "pattern"
    """A habit."""
    SKILL = "skill"
    """An ability."""
    EXPERIENCE = "experience"
    """An attempt and its outcome."""
    WORKFLOW = "workflow"
    """A way of doing something."""
    DECISION = "decision"
    """A decision."""
    TODO = "todo"
    """A task."""
    PROMISE = "promise"
    """A promise of the user or the companion."""
    RELATIONSHIP = "relationship"
    """A person or pet, and their relation to the user."""
    BOUNDARY = "boundary"
    """A topic or act that the user does not want."""
    MOMENT = "moment"
    """A moment that matters to user and companion."""


NARRATIVE = (Category.EPISODE, Category.PROFILE)
"""Categories written by a model from many turns; the monitor does not see or change them."""
NOT_LEARNED = frozenset({*NARRATIVE, Category.SYSTEM})
"""Categories of what is no single memory of the talk: the narrative ones, and definitions."""

PROCEDURAL = frozenset({Kind.SKILL, Kind.WORKFLOW, Kind.EXPERIENCE, Kind.LESSON})
"""Kinds of know-how; they belong to the category `skill` and decay slowest."""


class MemoryState(StrEnum):
    """The state of a memory; only `active` memories are read by default."""

    ACTIVE = "active"
    """In force."""
    PENDING = "pending"
    """Waits for the user's confirmation."""
    SUPERSEDED = "superseded"
    """Replaced by a later memory."""
    ARCHIVED = "archived"
    """Kept, but no longer read by default."""
    FORGOTTEN = "forgotten"
    """Forgotten; can be restored for a year."""


class Source(StrEnum):
    """The origin of a memory."""

    USER = "user"
    """Entered or changed by the user, by hand."""
    BACKGROUND_AI = "background_ai"
    """Found by a model in the messages."""
    SYSTEM = "system"
    """Entered by the host."""
    IMPORT = "import"
    """Brought from another system."""


class Speaker(StrEnum):
    """The author of a message."""

    USER = "user"
    """The user."""
    ASSISTANT = "assistant"
    """The companion."""


class Due(StrEnum):
    """The next thing that must happen to a memory."""

    PROMOTION = "promotion"
    """A reviewer decides whether it becomes core."""
    REVIEW = "review"
    """A reviewer decides whether it stays."""
    ARCHIVE = "archive"
    """It is archived."""
    FORGET = "forget"
    """It is forgotten."""
    EXPIRE = "expire"
    """It ends, as its time is over."""


MAX_CONTENT_LENGTH = 2000
"""Maximum characters of a content."""

GUARDS = "guards"
"""Type of the relation from a boundary to a memory that it speaks of."""


def _cleaned(value: Any) -> Any:
    """Return a value with all its texts cleaned of lone surrogates and control characters."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, dict):
        return {_cleaned(key): _cleaned(held) for key, held in value.items()}
    return type(value)(map(_cleaned, value)) if isinstance(value, list | tuple) else value


def _content(text: str) -> str:
    text = text.strip()
    if is_blank(text):
        raise ValueError("must not be blank")
    if len(text) > MAX_CONTENT_LENGTH:
        raise ValueError(f"must have at most {MAX_CONTENT_LENGTH:,} characters (has {len(text):,})")
    return text


def _plain_utc(at: datetime) -> datetime:
    """Return the same time; if its zone is UTC, with Python's own UTC object.

    >>> said = Evidence(turn_id="t", speaker="user", quote="", at="2026-01-03T10:00:00Z")
    >>> said.at.tzinfo is UTC
    True
    """
    return at if at.tzinfo is UTC or at.utcoffset() else at.replace(tzinfo=UTC)


Instant = Annotated[AwareDatetime, AfterValidator(_plain_utc)]
"""A time with its zone; UTC is always `datetime.UTC`, as pydantic makes a new object each time."""

Text = Annotated[str, BeforeValidator(_cleaned)]
"""Text from outside; lone surrogates become U+FFFD, and control characters are removed."""

Data = Annotated[dict[str, Any], BeforeValidator(_cleaned)]
"""Structured data from outside; its texts are cleaned as well."""

MAX_NUMBER = 2**53 - 1
"""Maximum of a counter: larger numbers become fractions in JSON; the engine's limit is 2**63."""
MAX_VALUE = 1000.0
"""Maximum importance or value; larger numbers in a file are cut to this."""
MAX_DAYS = 36_525.0
"""Maximum number of days, a hundred years; larger numbers are cut to this."""

Number = Annotated[int, Field(ge=-MAX_NUMBER, le=MAX_NUMBER)]
"""A counter or a position."""
Value = Annotated[float, AfterValidator(lambda value: min(value, MAX_VALUE))]
Days = Annotated[float, AfterValidator(lambda days: min(days, MAX_DAYS))]

Content = Annotated[Text, AfterValidator(_content)]
"""The text of a memory: stripped, not blank, at most `MAX_CONTENT_LENGTH` characters."""


class Frozen(BaseModel):
    """Immutable data; functions return changed copies."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_enum_values=False)


class Evidence(Frozen):
    """A quotation that a memory is based on."""

    turn_id: str
    """The store's own id of the turn: `Turn.id`."""
    speaker: Speaker
    """The author of the message."""
    quote: Text
    """The exact words of the message."""
    at: Instant | None = None
    """When the message was said."""
    session_id: str = ""
    """The session of the turn; empty in memories of earlier versions."""
    host_turn_id: str = ""
    """The host's own id of the turn, unique in its session; empty like `session_id`."""


class Relation(Frozen):
    """A link to another memory."""

    to: str
    """The id of the other memory."""
    type: str
    """supports, contradicts, refines or guards."""
    strength: float = Field(default=0.5, ge=0, le=1)
    """From 0 to 1."""


class Memory(Frozen):
    """One memory, one Qdrant point. Its vector is the embedding of `content`."""

    # `model_copy` does not validate; a `Change` validates the copy.
    model_config = ConfigDict(revalidate_instances="always")

    id: str
    """The uuid5 of (verdict, position of the op), so that applying a verdict twice writes once."""
    user_id: str
    """The user of the memory. Every read filters by it: no read crosses users."""
    agent_id: str = "default"
    """The persona that learned it."""
    sphere: str = ""
    """Which personas may know it: "" for all with `knows="all"`, else see `identity`."""
    content: Content
    """One self-contained sentence, third person, absolute dates, in the user's language."""
    category: Category = Category.FACT
    """The row of the policy's table by which it fades."""
    kind: Kind = Kind.FACT
    """The subject of the memory."""
    importance: Value = Field(default=1.0, ge=0)
    """The base value at `anchor_at`. Never overwritten by decay."""
    anchor_at: Instant
    """When it was last reinforced."""
    grace_days: Days = Field(default=7.0, ge=0)
    """Days after `anchor_at` before it begins to decay."""
    due_at: Instant | None = None
    """When something must next happen to it; `None` means never. Computed, see `decay.due`."""
    due_for: Due | None = None
    """The thing that must happen at `due_at`."""
    asked_at: Instant | None = None
    """When a promotion review last decided KEEP."""
    asked_value: Value | None = None
    """The value at that time: promotion is reviewed again well above it, or 30 days later."""
    confidence: float = Field(default=0.8, ge=0, le=1)
    """How sure the author was, from 0 to 1."""
    verified: bool = False
    """Whether the user confirmed it."""
    source: Source = Source.BACKGROUND_AI
    """Its origin."""
    valid_from: Instant | None = None
    """When it became true in the world."""
    valid_until: Instant | None = None
    """When it ceased to be true in the world."""
    expires_at: Instant | None = None
    """When a todo, plan or context is over."""
    supersedes: tuple[str, ...] = ()
    """The ids of the memories that it replaced."""
    superseded_by: str | None = None
    """The id of the memory that replaced it; `None` if it was not replaced."""
    relations: tuple[Relation, ...] = ()
    """Links to other memories."""
    judged: tuple[str, ...] = ()
    """For a boundary: `boundary_pairs.pair_mark` of each memory that it was judged against."""
    state: MemoryState = MemoryState.ACTIVE
    """Only `active` memories are read by default."""
    evidence: tuple[Evidence, ...] = ()
    """The quotations that it is based on."""
    entities: tuple[Text, ...] = ()
    """The names that it mentions."""
    topics: tuple[Text, ...] = ()
    """The topics, each in a few words."""
    cues: tuple[Text, ...] = ()
    """Situations in which it should come to mind, in other words than its content. They are
    searched and never shown: document expansion, https://arxiv.org/abs/1904.08375."""
    data: Data = Field(default_factory=dict)
    """Structured data for the host's own use."""
    uses: Number = Field(default=0, ge=0)
    """Number of replies that it shaped, according to a judge. Only use reinforces a memory."""
    recalls: Number = Field(default=0, ge=0)
    """Number of recalls that retrieved it."""
    last_used_at: Instant | None = None
    """When a judge last found that it shaped a reply."""
    created_at: Instant
    """When it was first learned."""
    updated_at: Instant
    """When it was last changed."""
    revision: Number = Field(default=1, ge=1)
    """A counter that guards concurrent writes: each change adds one."""
    written_by: str = ""
    """The id of the ledger entry that wrote this revision."""
    schema_version: int = SCHEMA_VERSION
    """The version of these fields."""

    def __repr__(self) -> str:
        """Return a line for notebooks and logs; `model_dump` has all fields."""
        state = "" if self.state is MemoryState.ACTIVE else f", {self.state}"
        return f"<Memory {self.id[:8]} {self.category}{state}: {self.content!r}>"

    @property
    def embedded(self) -> tuple[str, ...]:
        """The texts that are embedded for search: its own text first, then its cues."""
        return (self.searchable, *self.cues)

    @property
    def guarded(self) -> frozenset[str]:
        """For a boundary: the ids of the memories that it is linked with."""
        return frozenset(link.to for link in self.relations if link.type == GUARDS)

    @property
    def searchable(self) -> str:
        """The text that is searched; for an episode this includes key facts and topics."""
        facts = self.data.get("key_facts", ()) if self.category is Category.EPISODE else ()
        return "\n".join((self.content, *facts, *(self.topics if facts else ())))

    def since(self, moment: datetime) -> float:
        """Return the days from the anchor to `moment`, never negative."""
        return max(0.0, (moment - self.anchor_at).total_seconds() / 86400)


Memories = list[Memory]
