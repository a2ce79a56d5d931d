"""Turns on the page, and the memories that were whispered before a reply, each with its reason."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, tzinfo
from enum import StrEnum

from souffleur.api import Souffleur
from souffleur.errors import NotFoundError
from souffleur.knowledge import decay
from souffleur.knowledge.identity import sphere_conditions, user_conditions
from souffleur.knowledge.memory import Category, Kind, Memory
from souffleur.knowledge.search.query import Found, Query
from souffleur.knowledge.store.codecs import to_memories, to_turn
from souffleur.knowledge.store.engine.collection import Between, Condition, Filter, Is, Order
from souffleur.knowledge.store.labels import has
from souffleur.knowledge.store.reading import read_each
from souffleur.knowledge.turn import Turn
from souffleur.server.page.cards import Card, card_of

CONTEXT_MESSAGES = 4
"""Number of messages before a turn that were read for its whisper."""
AROUND = 3
"""Maximum number of turns that are shown before a turn, and after it."""
NEAREST = 100
"""Maximum number of search results for a message that explain its whispered memories."""


@dataclass(frozen=True)
class Said:
    """A turn for the page."""

    id: str
    """The store's own id of the turn."""
    at: datetime
    """The time of the turn."""
    agent_id: str
    """The id of the persona that replied."""
    session_id: str
    """The id of the session."""
    user: str
    """The user's words; secrets are masked."""
    assistant: str
    """The companion's words; secrets are masked."""
    whispered: int
    """The number of memories that were whispered before the reply."""


@dataclass(frozen=True)
class Around:
    """A turn, and the turns before and after it."""

    before: list[Said]
    """The turns before, oldest first."""
    turn: Said
    """The turn."""
    after: list[Said]
    """The turns after it, oldest first."""


class Why(StrEnum):
    """Why a memory was whispered."""

    ALWAYS = "always"
    """The memory is core: always in mind."""
    SELF = "self"
    """The memory defines the persona."""
    SAID = "said"
    """The memory is similar to the talk, in its words or its sense."""
    LINKED = "linked"
    """The memory shares a name or link with a memory that is similar to the talk."""
    BOUNDARY = "boundary"
    """The memory is a boundary: a topic that the companion must not raise."""
    PLAN = "plan"
    """The memory is a plan or promise for the days around the talk."""
    LASTING = "lasting"
    """The memory is important, or was expected to be useful in any talk."""


@dataclass(frozen=True)
class Line:
    """A memory that was whispered, and the reason."""

    card: Card
    """The present memory, as a card."""
    why: Why
    """Why the memory was whispered."""
    day: date | None
    """The day of a plan, in the user's time zone; `None` for another reason."""


@dataclass(frozen=True)
class Whispered:
    """The memories that were whispered before a reply."""

    turn: Said
    """The turn."""
    lines: list[Line]
    """The memories, in the order of the whisper."""


async def latest_said(memory: Souffleur, user_id: str, *, limit: int) -> list[Said]:
    """Return a user's latest turns, newest first, without turns whose words were deleted."""
    must: tuple[Condition, ...] = (Is("type", "turn"), *user_conditions(user_id))
    shown = Filter(must, (Is("gone", True),))
    order = Order("at", descending=True)
    page, _ = await memory.knowledge.journal.collection.scroll(shown, limit=limit, order=order)
    return [_said(memory, turn) for turn in read_each(page, to_turn)]


async def around(memory: Souffleur, user_id: str, turn_id: str) -> Around:
    """Return a turn and the turns around it. Raises NotFoundError."""
    turn = await _turn(memory, user_id, turn_id)
    before = await _beside(memory, turn, Between("seq", high=turn.seq), newest_first=True)
    after = await _beside(memory, turn, Between("seq", low=turn.seq + 1), newest_first=False)
    return Around(before[::-1], _said(memory, turn), after)


async def whispered(memory: Souffleur, user_id: str, turn_id: str) -> Whispered:
    """Return the memories that were whispered before a reply, with reasons. Raises NotFoundError.

    The reasons were not stored. They come from a new search: the words of the turn, but the present
    memories.
    """
    turn = await _turn(memory, user_id, turn_id)
    found = to_memories(await memory.knowledge.memories.get(turn.injected))
    memories = [one for one in found if one.user_id == user_id]
    hits, zone = await _near(memory, turn), (await memory.cast()).zone(user_id)
    lines = [_line(memory, turn, one, hits.get(one.id), zone) for one in memories]
    return Whispered(_said(memory, turn), lines)


async def _near(memory: Souffleur, turn: Turn) -> Mapping[str, Found]:
    """Return the search results for the user's words of a turn, by memory id."""
    said = turn.clipped()
    if not said.user.strip():
        return {}
    before = await memory.knowledge.journal.messages_before(turn, limit=CONTEXT_MESSAGES)
    context = "\n".join(one.text for one in before)
    query = Query(
        turn.user_id, said.user, turn.at, context=context, sphere=turn.sphere, limit=NEAREST
    )
    return {hit.item.id: hit for hit in await memory.knowledge.current.search(query)}


def _line(memory: Souffleur, turn: Turn, one: Memory, hit: Found | None, zone: tzinfo) -> Line:
    card = card_of(one, memory.clock(), memory.knowledge.policy)
    reason, day = why(one, hit, turn.at), None
    if reason is Why.PLAN and one.expires_at:
        day = decay.plan_day(one.expires_at).astimezone(zone).date()
    return Line(card, reason, day)


def why(memory: Memory, hit: Found | None, at: datetime) -> Why:
    """Return why a memory was whispered at a time; `hit` is its search result for the message."""
    if memory.category in (Category.CORE, Category.SYSTEM):
        return Why.ALWAYS if memory.category is Category.CORE else Why.SELF
    if hit and hit.relevant:
        by_link = hit.parts.get("hop", 0.0) >= hit.relevance and hit.by_itself < hit.relevance
        return Why.LINKED if by_link else Why.SAID
    if memory.kind is Kind.BOUNDARY:
        return Why.BOUNDARY
    low, high = decay.near_expiries(at)
    if memory.expires_at is not None and low <= memory.expires_at < high:
        return Why.PLAN
    return Why.LASTING


async def _turn(memory: Souffleur, user_id: str, turn_id: str) -> Turn:
    """Return a turn of a user. Raises NotFoundError, also if its words were deleted."""
    (turn,) = await memory.knowledge.journal.get_turns([turn_id]) or (None,)
    if turn is None or turn.user_id != user_id or turn.hidden or turn.expunged:
        raise NotFoundError(f"there is no turn with the id {turn_id!r}, or its words have expired")
    return turn


async def _beside(
    memory: Souffleur, turn: Turn, where: Between, *, newest_first: bool
) -> list[Said]:
    must = (
        Is("type", "turn"),
        *user_conditions(turn.user_id),
        has("session_id", turn.session_id),
        *sphere_conditions(turn.sphere),
        where,
    )
    shown = Filter(must, (Is("gone", True),))
    page, _ = await memory.knowledge.journal.collection.scroll(
        shown, limit=AROUND, order=Order("seq", descending=newest_first)
    )
    return [_said(memory, one) for one in read_each(page, to_turn)]


def _said(memory: Souffleur, whole: Turn) -> Said:
    turn = whole.clipped().masked(memory.knowledge.withheld)
    return Said(
        id=turn.id,
        at=turn.at,
        agent_id=turn.agent_id,
        session_id=turn.session_id,
        user=turn.user,
        assistant=turn.assistant,
        whispered=len(turn.injected),
    )
