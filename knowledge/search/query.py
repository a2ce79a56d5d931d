"""The query of a search, the conditions that select records, and the records found."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from zoneinfo import ZoneInfo

from souffleur.knowledge.identity import COMMON, check_id, knows, sphere_conditions, user_conditions
from souffleur.knowledge.memory import NARRATIVE, Category, Memory, MemoryState
from souffleur.knowledge.store.engine.collection import AnyOf, Between, Condition, Filter, Is, OneOf
from souffleur.knowledge.store.labels import has, has_any
from souffleur.knowledge.turn import Turn

RELEVANCE_GATE = 0.3
"""Minimum relevance of a memory that is whispered."""
CLEARLY_MEANT = 0.45
"""Minimum relevance of a memory that a text clearly means, such as a memory to forget."""
CONTEXT_WEIGHT = 0.4
"""Weight of the previous messages; the current message has 1."""
CUE_WEIGHT = 0.8
"""Weight of nearness to a cue; nearness to the memory itself has 1."""
INSTANT = timedelta(microseconds=1)
"""The difference between an inclusive and an exclusive end of a period."""


_UTC = ZoneInfo("UTC")


class Scope(StrEnum):
    """The records that a search covers."""

    MEMORIES = "memories"
    """Memories, without episodes and portraits."""
    EPISODES = "episodes"
    """Episodes."""
    TURNS = "turns"
    """Raw turns."""


EVERYWHERE = tuple(Scope)


@dataclass(frozen=True)
class Query:
    """A search for the records of one user, as of a certain time."""

    user_id: str
    """The user whose records are searched."""
    text: str
    """The text to look for."""
    now: datetime
    """The time of the search, by which values fade and plans end."""
    context: str = ""
    """The previous messages, which have less weight."""
    agent_id: str | None = None
    """Return only memories that this persona learned; `None` means any persona."""
    sphere: str | None = COMMON
    """Return only records known in this sphere; `None` means all spheres, for user and host."""
    over: bool | None = False
    """Whether to return what is over (superseded, archived, expired or ended), in place of what is
    in force; `None` means both."""
    as_of: datetime | None = None
    """Return records that were true then, including superseded ones; `None` means true now."""
    limit: int = 8
    """Maximum records returned."""
    categories: tuple[str, ...] = ()
    """Return only these categories; if empty, `scope` decides."""
    scope: tuple[Scope, ...] = (Scope.MEMORIES,)
    """The kinds of records that are searched."""
    since: datetime | None = None
    """Return only records learned or said at or after this time."""
    until: datetime | None = None
    """Return only records learned or said before this time."""
    raw_since: datetime | None = None
    """The time before which raw turns have expired."""
    zone: ZoneInfo = _UTC
    """The time zone of dates named in the text."""
    within: float | None = None
    """Maximum seconds for the embedder; `None` means the usual time-out."""
    by_words: bool = False
    """Whether to search by words alone, without the embedder."""
    relevant: bool = False
    """Whether to return, of the `limit` best memories and episodes, only the relevant records."""

    def __post_init__(self) -> None:
        """Check the user's id. Raises IdentityError if it is invalid."""
        check_id(self.user_id)

    @property
    def texts(self) -> list[tuple[str, float]]:
        """The text and its context with their weights; skips a blank text."""
        both = ((self.text, 1.0), (self.context, CONTEXT_WEIGHT))
        return [(text, weight) for text, weight in both if text.strip()]


@dataclass(frozen=True)
class Found:
    """A memory, an episode or a raw turn, and why it was found."""

    item: Memory | Turn
    """The record."""
    score: float
    """The rank score: relevance, weighted by importance and recency."""
    relevance: float
    """The relevance from 0 (unrelated) to 1 (the same words and meaning)."""
    effective: float
    """The importance now, in the policy's unit."""
    parts: dict[str, float] = field(default_factory=dict)
    """The parts of the score: cosine, lexical, cue_cosine, cue_lexical, importance, recency, hop;
    for turns also context."""

    def __repr__(self) -> str:
        return f"<Found {self.score:.2f} {self.item!r}>"

    @property
    def memory(self) -> Memory:
        """The memory or episode. Raises TypeError for a raw turn (only with `Scope.TURNS`)."""
        if isinstance(self.item, Turn):
            raise TypeError("this is a raw turn: read `item`")
        return self.item

    @property
    def scope(self) -> Scope:
        """The kind of record that it is."""
        if isinstance(self.item, Turn):
            return Scope.TURNS
        episode = self.item.category is Category.EPISODE
        return Scope.EPISODES if episode else Scope.MEMORIES

    @property
    def text(self) -> str:
        """The content of the memory, or the words of the turn."""
        return self.item.words if isinstance(self.item, Turn) else self.item.content

    @property
    def at(self) -> datetime:
        """The time when it was learned or said."""
        return self.item.at if isinstance(self.item, Turn) else self.item.created_at

    @property
    def by_itself(self) -> float:
        """The relevance of its own text, without its cues and without shared names."""
        return 1 - _farness(self.parts)

    @property
    def relevant(self) -> bool:
        """Whether it is relevant enough to be whispered."""
        return self.relevance >= RELEVANCE_GATE


def ranking_key(found: Found) -> tuple[float, float, str]:
    """Return the sort key: best first; ties by time for turns, then by id."""
    said = found.item.at.timestamp() if isinstance(found.item, Turn) else 0.0
    return -round(found.score, 6), said, found.item.id


def relevance_of(parts: Mapping[str, float]) -> float:
    """Return the relevance, from 0 to 1, by meaning and words; cues have less weight.

    >>> round(relevance_of({"cosine": 0.5, "lexical": 0.5}), 3), relevance_of({"cue_cosine": 1.0})
    (0.75, 0.8)
    """
    cues = 1 - (1 - parts.get("cue_cosine", 0.0)) * (1 - parts.get("cue_lexical", 0.0))
    return 1 - _farness(parts) * (1 - CUE_WEIGHT * cues)


def _farness(parts: Mapping[str, float]) -> float:
    """Return the distance of the text itself from the query, by both meaning and words."""
    return (1 - parts.get("cosine", 0.0)) * (1 - parts.get("lexical", 0.0))


def expired_conditions(moment: datetime) -> tuple[Condition, Condition]:
    """Return the conditions that select records that have expired or ended by `moment`."""
    high = moment + INSTANT
    return Between("expires_at", high=high), Between("valid_until", high=high)


def memories_filter(query: Query, scope: Scope = Scope.MEMORIES) -> Filter:
    """Return the filter for memories: this user's, never forgotten or pending."""
    must: list[Condition] = [Is("user_id", query.user_id), *sphere_conditions(query.sphere)]
    must_not: list[Condition] = []
    if query.agent_id:
        must.append(has("agent_id", query.agent_id))
    if query.categories:
        must.append(has_any("category", query.categories))
    elif scope is Scope.EPISODES:
        must.append(has("category", Category.EPISODE))
    else:
        must_not.append(has_any("category", NARRATIVE))
    times = _in_force(query, scope)
    must, must_not = [*must, *times.must], [*must_not, *times.must_not]
    if query.since is None and query.until is None:
        return Filter(tuple(must), tuple(must_not))
    if scope is Scope.EPISODES:  # a talk that began in the period or lasted into it
        must.append(Between("created_at", low=query.since))
        must.append(Between("valid_from", high=query.until))
    else:
        must.append(Between("created_at", query.since, query.until))
    return Filter(tuple(must), tuple(must_not))


def _in_force(query: Query, scope: Scope) -> Filter:
    """Return the conditions on state and end: of what is in force, was then, or is over."""
    expired = expired_conditions(query.as_of or query.now)
    if query.as_of:
        states = OneOf("state", (MemoryState.ACTIVE, MemoryState.SUPERSEDED))
        return Filter((states,), (*expired, Between("valid_from", low=query.as_of + INSTANT)))
    if query.over is False:
        return Filter((Is("state", MemoryState.ACTIVE),), expired)
    former = [MemoryState.ARCHIVED]
    if scope is not Scope.EPISODES:  # the episode that replaced another tells the same talk
        former.append(MemoryState.SUPERSEDED)
    known = OneOf("state", (MemoryState.ACTIVE, *former))
    return Filter(
        (known, AnyOf((OneOf("state", tuple(former)), *expired))) if query.over else (known,)
    )


def may_read(memory: Memory, query: Query) -> bool:
    """Return whether `memories_filter` would select this memory, which was read by its id."""
    moment, ends = query.as_of or query.now, (memory.expires_at, memory.valid_until)
    active = memory.state is MemoryState.ACTIVE
    ended = any(end is not None and end <= moment for end in ends)
    if query.as_of:
        began = memory.valid_from is None or memory.valid_from <= moment
        right = (active or memory.state is MemoryState.SUPERSEDED) and began and not ended
    else:
        former = memory.state in {MemoryState.SUPERSEDED, MemoryState.ARCHIVED}
        right = (active or former) and query.over in {None, former or ended}
    return (
        right
        and memory.user_id == query.user_id
        and knows(query.sphere, memory.sphere)
        and query.agent_id in {None, memory.agent_id}
    )


def turns_filter(query: Query) -> Filter:
    """Return the filter for raw turns: this user's, in the query's time, not hidden or expired."""
    must: list[Condition] = [Is("type", "turn"), Is("user_id", query.user_id)]
    must += sphere_conditions(query.sphere)
    must += [has("agent_id", query.agent_id)] if query.agent_id else []
    since = max(filter(None, (query.since, query.raw_since)), default=None)
    must.append(Between("at", since, query.until or query.now + INSTANT))
    return Filter(tuple(must), (Is("gone", True),))


@dataclass(frozen=True)
class Wanted:
    """Which memories of a user are listed; an empty field or `None` allows every value."""

    user_id: str
    """The user."""
    states: tuple[str, ...] = (MemoryState.ACTIVE,)
    """Allowed states."""
    kinds: tuple[str, ...] = ()
    """Allowed kinds."""
    categories: tuple[str, ...] = ()
    """Allowed categories; if empty, any except episodes and portraits."""
    agent_id: str | None = None
    """The persona that learned the memory."""
    sphere: str | None = None
    """The sphere in which the memory is known."""
    since: datetime | None = None
    """The memory was learned at or after this time."""
    until: datetime | None = None
    """The memory was learned before this time."""
    now: datetime | None = None
    """The memory has not expired or ended by this time."""

    @property
    def filter(self) -> Filter:
        """The filter that selects these memories."""
        must: list[Condition] = [*user_conditions(self.user_id), *sphere_conditions(self.sphere)]
        must += [OneOf("state", self.states)] if self.states else []
        must += [has_any("kind", self.kinds)] if self.kinds else []
        must += [has_any("category", self.categories)] if self.categories else []
        must += [has("agent_id", self.agent_id)] if self.agent_id is not None else []
        if self.since is not None or self.until is not None:
            must.append(Between("created_at", self.since, self.until))
        must_not: list[Condition] = list(expired_conditions(self.now)) if self.now else []
        must_not += [] if self.categories else [has_any("category", NARRATIVE)]
        return Filter(tuple(must), tuple(must_not))
