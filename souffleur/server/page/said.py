"""Turns on the page, and the memories that were whispered before a reply, each with its reason."""

from dataclasses import dataclass
from datetime import date, datetime

from souffleur.api import Souffleur
from souffleur.errors import NotFoundError
from souffleur.knowledge.identity import sphere_conditions, user_conditions
from souffleur.knowledge.store.codecs import to_turn
from souffleur.knowledge.store.engine.collection import Between, Condition, Filter, Is, Order
from souffleur.knowledge.store.labels import has
from souffleur.knowledge.store.reading import read_each
from souffleur.knowledge.turn import Turn
from souffleur.reasons import Why, reasons_for
from souffleur.server.page.cards import Card, card_of

AROUND = 3
"""Maximum number of turns that are shown before a turn, and after it."""


@dataclass(frozen=True)
class Said:
    """A turn for the page."""

    id: str
    """The store's own id of the turn."""
    at: datetime
    """The time of the turn."""
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
    zone = (await memory.cast()).zone(user_id)
    now, policy = memory.clock(), memory.knowledge.policy
    found = await reasons_for(memory.knowledge, turn, zone)
    lines = [Line(card_of(one.memory, now, policy), one.why, one.day) for one in found]
    return Whispered(_said(memory, turn), lines)


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
        user=turn.user,
        assistant=turn.assistant,
        whispered=len(turn.injected),
    )
