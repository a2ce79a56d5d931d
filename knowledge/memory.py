"""A memory: one sentence about somebody, and all that is known about that sentence."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any

from pydantic import AfterValidator, AwareDatetime, BaseModel, BeforeValidator, ConfigDict, Field

from souffleur.knowledge.language.plain_text import is_blank, mend

SCHEMA_VERSION = 1
"""Version of the payload below; recorded with the data."""


class Category(StrEnum):
    """How a memory lives: the row of the policy's table that rules it."""

    SYSTEM = "system"
    CORE = "core"
    FACT = "fact"
    EPISODE = "episode"
    PROFILE = "profile"
    SKILL = "skill"


class Kind(StrEnum):
    """What a memory is."""

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
"""Told by a model from many turns; no judge of single turns sees or changes them."""

PROCEDURAL = frozenset({Kind.SKILL, Kind.WORKFLOW, Kind.EXPERIENCE, Kind.LESSON})
"""Kinds that are know-how; they live in the category `skill` and fade slowest."""


class MemoryState(StrEnum):
    """Where a memory stands; only `active` is in a default read path."""

    ACTIVE = "active"
    PENDING = "pending"
    SUPERSEDED = "superseded"
    ARCHIVED = "archived"
    FORGOTTEN = "forgotten"


class Source(StrEnum):
    """Who brought a memory in."""

    USER = "user"
    BACKGROUND_AI = "background_ai"
    SYSTEM = "system"
    IMPORT = "import"


class Speaker(StrEnum):
    """Whose words they are."""

    USER = "user"
    ASSISTANT = "assistant"


class Due(StrEnum):
    """What must next happen to a memory."""

    PROMOTION = "promotion"
    REVIEW = "review"
    ARCHIVE = "archive"
    FORGET = "forget"
    EXPIRE = "expire"


MAX_CONTENT_LENGTH = 2000
"""Characters of a content."""


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
"""Words of others: a lone surrogate, which has no UTF-8, becomes U+FFFD."""

Content = Annotated[Text, AfterValidator(_content)]
"""What a memory says: stripped, something to be seen, at most `MAX_CONTENT_LENGTH` characters."""


class Frozen(BaseModel):
    """Data that never changes in place; functions return new data."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_enum_values=False)


class Evidence(Frozen):
    """The words a memory rests on."""

    turn_id: str
    speaker: Speaker
    quote: str
    """The exact words."""
    at: AwareDatetime | None = None
    """When they were said."""


class Relation(Frozen):
    """A link to another memory."""

    to: str
    """Id of the other memory."""
    type: str
    """supports, contradicts or refines."""
    strength: float = Field(default=0.5, ge=0, le=1)


class Memory(Frozen):
    """One memory, one Qdrant point. Its vector is the embedding of `content`."""

    # A copy with other fields is not checked by itself; as a part of a change, it is.
    model_config = ConfigDict(revalidate_instances="always")

    id: str
    """uuid5 of (verdict, position of the op): applying a verdict twice writes once."""
    user_id: str
    """Who it is about. Always filtered: no read crosses users."""
    agent_id: str = "default"
    """The persona that learnt it."""
    sphere: str = ""
    """Who may know it: "" for all personas that know all, else see `identity`."""
    content: Content
    """One self-contained sentence, third person, absolute dates, in the user's language."""
    category: Category = Category.FACT
    kind: Kind = Kind.FACT
    importance: float = Field(default=1.0, ge=0)
    """Base value at `anchor_at`. Never overwritten by decay."""
    anchor_at: AwareDatetime
    """When it was last reinforced."""
    grace_days: float = Field(default=7.0, ge=0)
    """How long it then rests before fading, in days."""
    due_at: AwareDatetime | None = None
    """When something must next happen to it; None: never. Derived, see `life.due`."""
    due_for: Due | None = None
    """What must happen then."""
    asked_at: AwareDatetime | None = None
    """When a promotion review last said KEEP."""
    asked_value: float | None = None
    """Its value at that time: not asked again until well above it, or 30 days later."""
    confidence: float = Field(default=0.8, ge=0, le=1)
    verified: bool = False
    """Confirmed by the user."""
    source: Source = Source.BACKGROUND_AI
    valid_from: AwareDatetime | None = None
    """Since when it is true in the world."""
    valid_until: AwareDatetime | None = None
    """Until when it was true in the world."""
    expires_at: AwareDatetime | None = None
    """When a todo, plan or context is over."""
    supersedes: tuple[str, ...] = ()
    superseded_by: str | None = None
    relations: tuple[Relation, ...] = ()
    state: MemoryState = MemoryState.ACTIVE
    evidence: tuple[Evidence, ...] = ()
    entities: tuple[str, ...] = ()
    """Names it mentions."""
    topics: tuple[str, ...] = ()
    cues: tuple[str, ...] = ()
    """Situations in which it should come to mind, in other words than its own. It is found by them,
    and they are never shown: document expansion, https://arxiv.org/abs/1904.08375."""
    data: dict[str, Any] = Field(default_factory=dict)
    """Structured data of the host's own."""
    uses: int = Field(default=0, ge=0)
    """Times a judge found that it shaped a reply. Only use reinforces."""
    recalls: int = Field(default=0, ge=0)
    """Times it was merely retrieved."""
    last_used_at: AwareDatetime | None = None
    created_at: AwareDatetime
    updated_at: AwareDatetime
    revision: int = Field(default=1, ge=1)
    """Guards concurrent writes: each change adds one."""
    written_by: str = ""
    """Id of the ledger entry that wrote this revision."""
    schema_version: int = SCHEMA_VERSION

    @property
    def embedded(self) -> tuple[str, ...]:
        """The texts whose vectors it is found by: the first is its own, the others are cues."""
        return (self.searchable, *self.cues)

    @property
    def searchable(self) -> str:
        """The text it is found by: of an episode, its topics and key facts as well."""
        facts = self.data.get("key_facts", ()) if self.category is Category.EPISODE else ()
        return "\n".join((self.content, *facts, *(self.topics if facts else ())))

    def since(self, moment: datetime) -> float:
        """Days from the anchor to `moment`, never negative."""
        return max(0.0, (moment - self.anchor_at).total_seconds() / 86400)
