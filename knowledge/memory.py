"""A memory: one sentence about a user, and everything known about that sentence."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any

from pydantic import AfterValidator, AwareDatetime, BaseModel, BeforeValidator, ConfigDict, Field

from souffleur.knowledge.language.plain_text import is_blank, mend

SCHEMA_VERSION = 1
"""Version of the payload below; stored with the data."""


class Category(StrEnum):
    """The decay class of a memory: the row of the policy's table that applies to it."""

    SYSTEM = "system"
    CORE = "core"
    FACT = "fact"
    EPISODE = "episode"
    PROFILE = "profile"
    SKILL = "skill"


class Kind(StrEnum):
    """What a memory is about."""

    PREFERENCE = "preference"
    FACT = "fact"
    LESSON = "lesson"
    GOAL = "goal"
    CONTEXT = "context"
    PATTERN = "pattern"
    SKILL = "skill"
    EXPERIENCE = "experience"
    WORKFLOW = "workflow"
    DECISION = "decision"
    TODO = "todo"
    PROMISE = "promise"
    RELATIONSHIP = "relationship"
    BOUNDARY = "boundary"
    MOMENT = "moment"


NARRATIVE = (Category.EPISODE, Category.PROFILE)
"""Categories written by a model from many turns; the monitor neither sees nor changes them."""

PROCEDURAL = frozenset({Kind.SKILL, Kind.WORKFLOW, Kind.EXPERIENCE, Kind.LESSON})
"""Kinds that are know-how; they belong to the category `skill` and decay slowest."""


class MemoryState(StrEnum):
    """The state of a memory; only `active` ones are read by default."""

    ACTIVE = "active"
    PENDING = "pending"
    SUPERSEDED = "superseded"
    ARCHIVED = "archived"
    FORGOTTEN = "forgotten"


class Source(StrEnum):
    """The origin of a memory."""

    USER = "user"
    BACKGROUND_AI = "background_ai"
    SYSTEM = "system"
    IMPORT = "import"


class Speaker(StrEnum):
    """The author of a message."""

    USER = "user"
    ASSISTANT = "assistant"


class Due(StrEnum):
    """The next thing that must happen to a memory."""

    PROMOTION = "promotion"
    REVIEW = "review"
    ARCHIVE = "archive"
    FORGET = "forget"
    EXPIRE = "expire"


MAX_CONTENT_LENGTH = 2000
"""Maximum characters of a content."""

GUARDS = "guards"
"""Type of the relation from a boundary to a memory that it speaks of."""


def _mended(value: Any) -> Any:
    return mend(value) if isinstance(value, str) else value


def _content(text: str) -> str:
    text = text.strip()
    if is_blank(text):
        raise ValueError("must not be blank")
    if len(text) > MAX_CONTENT_LENGTH:
        raise ValueError(f"must have at most {MAX_CONTENT_LENGTH:,} characters (has {len(text):,})")
    return text


Text = Annotated[str, BeforeValidator(_mended)]
"""Text from outside; lone surrogates, which have no UTF-8, become U+FFFD."""

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
    """Who said it."""
    quote: str
    """The exact words of the message."""
    at: AwareDatetime | None = None
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


class Memory(Frozen):
    """One memory, one Qdrant point. Its vector is the embedding of `content`."""

    # `model_copy` does not validate; the copy is validated as part of a `Change`.
    model_config = ConfigDict(revalidate_instances="always")

    id: str
    """The uuid5 of (verdict, position of the op): applying a verdict twice writes once."""
    user_id: str
    """The user it is about. Every read filters by it: no read crosses users."""
    agent_id: str = "default"
    """The persona that learned it."""
    sphere: str = ""
    """Which personas may know it: "" for all with `knows="all"`, else see `identity`."""
    content: Content
    """One self-contained sentence, third person, absolute dates, in the user's language."""
    category: Category = Category.FACT
    kind: Kind = Kind.FACT
    importance: float = Field(default=1.0, ge=0)
    """The base value at `anchor_at`. Never overwritten by decay."""
    anchor_at: AwareDatetime
    """When it was last reinforced."""
    grace_days: float = Field(default=7.0, ge=0)
    """Days after `anchor_at` before it begins to decay."""
    due_at: AwareDatetime | None = None
    """When something must next happen to it; `None` means never. Derived, see `decay.due`."""
    due_for: Due | None = None
    """What must happen at `due_at`."""
    asked_at: AwareDatetime | None = None
    """When a promotion review last decided KEEP."""
    asked_value: float | None = None
    """The value at that time: promotion is reviewed again well above it, or 30 days later."""
    confidence: float = Field(default=0.8, ge=0, le=1)
    verified: bool = False
    """Whether the user has confirmed it."""
    source: Source = Source.BACKGROUND_AI
    valid_from: AwareDatetime | None = None
    """When it became true in the world."""
    valid_until: AwareDatetime | None = None
    """When it ceased to be true in the world."""
    expires_at: AwareDatetime | None = None
    """When a todo, plan or context is over."""
    supersedes: tuple[str, ...] = ()
    superseded_by: str | None = None
    relations: tuple[Relation, ...] = ()
    judged: tuple[str, ...] = ()
    """Of a boundary: what it was judged against, see `upkeep.boundaries`."""
    state: MemoryState = MemoryState.ACTIVE
    evidence: tuple[Evidence, ...] = ()
    entities: tuple[str, ...] = ()
    """The names that it mentions."""
    topics: tuple[str, ...] = ()
    cues: tuple[str, ...] = ()
    """Situations in which it should come to mind, in other words than its own. It is found by them,
    and they are never shown: document expansion, https://arxiv.org/abs/1904.08375."""
    data: dict[str, Any] = Field(default_factory=dict)
    """Structured data for the host's own use."""
    uses: int = Field(default=0, ge=0)
    """How often a judge found that it shaped a reply. Only use reinforces a memory."""
    recalls: int = Field(default=0, ge=0)
    """How often it was merely retrieved."""
    last_used_at: AwareDatetime | None = None
    created_at: AwareDatetime
    updated_at: AwareDatetime
    revision: int = Field(default=1, ge=1)
    """A counter that guards concurrent writes: each change adds one."""
    written_by: str = ""
    """The id of the ledger entry that wrote this revision."""
    schema_version: int = SCHEMA_VERSION

    @property
    def embedded(self) -> tuple[str, ...]:
        """The texts whose vectors it is found by: the first is its own, the others are cues."""
        return (self.searchable, *self.cues)

    @property
    def guarded(self) -> frozenset[str]:
        """The ids of the memories that it, a boundary, speaks of."""
        return frozenset(link.to for link in self.relations if link.type == GUARDS)

    @property
    def searchable(self) -> str:
        """The text by which it is found; for an episode this includes key facts and topics."""
        facts = self.data.get("key_facts", ()) if self.category is Category.EPISODE else ()
        return "\n".join((self.content, *facts, *(self.topics if facts else ())))

    def since(self, moment: datetime) -> float:
        """Return the days from the anchor to `moment`, never negative."""
        return max(0.0, (moment - self.anchor_at).total_seconds() / 86400)


Memories = list[Memory]
