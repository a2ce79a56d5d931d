"""Working memory: the window of a session's latest turns, and when they become a segment.

A segment is a series of turns that has left the window and waits to become an episode. Segments
have no gaps between them: every turn is either in the window or in exactly one segment. Pure
functions.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from functools import lru_cache
from typing import Annotated

from pydantic import AwareDatetime, BeforeValidator, Field, TypeAdapter

from souffleur.knowledge.memory import Frozen, Number
from souffleur.knowledge.operation import IDS_KNOWN, Said, derive_id

TALK_PAUSE = timedelta(minutes=30)
"""Pause after which a new talk begins, unless the settings say otherwise."""
LIKELY = timedelta(minutes=30)
"""Time for which a memory that the judge expects to be needed is offered."""
CONTEXT_MESSAGES = 3
"""Messages before a message whose words a search for it has as well."""
MIN_EPISODE_MESSAGES = 3
"""Minimum messages of a segment that becomes an episode."""


class WindowRule(Frozen):
    """The limits at which turns leave the window."""

    size: int = 30
    """Maximum messages in the window."""
    keep: int = 10
    """Minimum messages that stay when the window overflows."""
    idle: timedelta | None = TALK_PAUSE
    """Pause that ends a session; `None` means that only the host ends one."""


USUAL = WindowRule()


class WindowEntry(Frozen):
    """A turn in the window."""

    id: str
    """The id of the turn's point."""
    at: AwareDatetime
    messages: Number


_WINDOW = TypeAdapter(tuple[WindowEntry, ...])


def pack(window: tuple[WindowEntry, ...]) -> str:
    """Return a window as JSON text; `Session` accepts both forms.

    >>> pack(())
    '[]'
    """
    return _WINDOW.dump_json(window).decode()


def _unpacked(window: object) -> object:
    return _WINDOW.validate_json(window) if isinstance(window, str) else window


class SegmentState(StrEnum):
    """The state of a segment."""

    WAITING = "waiting"
    """The segment waits to be summarised, as a placeholder for its episode."""
    WRITTEN = "written"
    SMALL_TALK = "small_talk"
    """The segment is too short, or was judged not worth an episode."""


class Segment(Frozen):
    """A series of turns that left the window."""

    id: str
    user_id: str
    agent_id: str
    sphere: str = ""
    session_id: str
    number: Number
    """The position among the segments of its session, from 0."""
    turn_ids: tuple[str, ...]
    """The ids of its turns' points, oldest first."""
    messages: Number
    since: AwareDatetime
    at: AwareDatetime
    """When its latest turn was said."""
    state: SegmentState = SegmentState.WAITING
    version: Number = 0
    """Number of times that it was queued again, after a reply was replaced or words forgotten."""
    episode_id: str | None = None
    """The id of the memory written from it."""
    tries: Number = 0
    retry_at: AwareDatetime | None = None
    error: str = ""
    """The error of the latest failed try."""
    spent: dict[str, float] = Field(default_factory=dict)
    """The cost of failed tries: calls, tokens, dollars."""
    expunged: bool = False
    """Whether the words of its turns have expired."""


class Session(Frozen):
    """One session of a user: its window, and the number of segments that have left it."""

    id: str
    user_id: str
    session_id: str
    agent_id: str = "default"
    """The persona of the latest turn."""
    sphere: str = ""
    """The sphere of the session; each sphere has its own session, even if the ids are the same."""
    window: Annotated[tuple[WindowEntry, ...], BeforeValidator(_unpacked)] = ()
    """The turns in the window, oldest first."""
    since: AwareDatetime
    at: AwareDatetime
    """When the latest turn was said."""
    segments: Number = 0
    turns: Number = 0
    """Turns said so far, whether or not they have left the window."""
    next_ids: tuple[str, ...] = ()
    """The ids of memories that the judge of the latest turns expects to be needed next."""
    next_at: AwareDatetime | None = None
    """The time when those turns were said."""
    left: tuple[Segment, ...] = ()
    """Segments of the latest write that are written next; used if processes share a store."""
    revision: Number = 0
    """Number of writes; counted when several processes share the store."""

    def likely(self, now: datetime) -> tuple[str, ...]:
        """Return the ids of memories likely to be needed, up to half an hour after the turns."""
        return self.next_ids if self.next_at and now - self.next_at < LIKELY else ()

    @property
    def messages(self) -> int:
        """The number of messages in the window."""
        return sum(held.messages for held in self.window)


@lru_cache(maxsize=IDS_KNOWN)
def session_point_id(user_id: str, session_id: str, sphere: str = "") -> str:
    """Return the id of a session's point in a sphere."""
    return derive_id("session", user_id, session_id, *filter(None, [sphere]))


def segment_id(session_point: str, number: int) -> str:
    """Return the id of a segment's point."""
    return derive_id("segment", session_point, number)


def append_turn(
    session: Session, turn: WindowEntry, rule: WindowRule
) -> tuple[Session, list[Segment]]:
    """Return the session after a turn, and the segments that leave its window.

    After a long pause the whole window leaves; if the window overflows, its oldest part leaves.

    >>> from datetime import UTC
    >>> at = datetime(2026, 1, 3, tzinfo=UTC)
    >>> session = Session(id="s", user_id="ann", session_id="s1", since=at, at=at)
    >>> for index in range(16):
    ...     entry = WindowEntry(id=str(index), at=at, messages=2)
    ...     session, left = append_turn(session, entry, WindowRule())
    >>> session.messages, [segment.messages for segment in left]
    (10, [22])
    """
    segments: list[Segment] = []
    if any(held.id == turn.id for held in session.window):
        replaced = tuple(turn if held.id == turn.id else held for held in session.window)
        session = session.model_copy(update={"window": replaced})
    else:
        if rule.idle is not None and turn.at - session.at >= rule.idle:
            session, segments = close_window(session)
        window = (*session.window, turn)
        session = session.model_copy(update={"window": window, "at": max(session.at, turn.at)})
    if session.messages > rule.size:
        session, older = _cut(session, _overflow(session.window, rule.keep))
        segments += older
    return session, segments


def close_window(session: Session) -> tuple[Session, list[Segment]]:
    """Return the session with an empty window, and the segment of its turns, if it had turns."""
    return _cut(session, len(session.window))


def talk_began(said: Sequence[Said]) -> datetime:
    """Return when the current talk began: the latest series of messages without a long pause.

    `said` must not be empty; its latest message comes last.

    >>> from datetime import UTC
    >>> from souffleur.knowledge.memory import Speaker
    >>> times = [datetime(2026, 1, 3, 20, minute, tzinfo=UTC) for minute in (0, 31, 40, 59)]
    >>> said = [Said(turn_id="t", speaker=Speaker.USER, text="so", at=at) for at in times]
    >>> talk_began(said).minute, talk_began(said[:1]).minute
    (31, 0)
    """
    since = said[-1].at
    for one in reversed(said):
        if since - one.at >= TALK_PAUSE:
            break
        since = one.at
    return since


def is_idle(session: Session, now: datetime, rule: WindowRule) -> bool:
    """Return whether a session has ended by a long pause and still has turns in its window."""
    return rule.idle is not None and bool(session.window) and now - session.at >= rule.idle


def _overflow(window: tuple[WindowEntry, ...], keep: int) -> int:
    """Return how many turns must leave; the remaining turns have at least `keep` messages."""
    staying = 0
    for index in range(len(window) - 1, 0, -1):
        staying += window[index].messages
        if staying >= keep:
            return index
    return max(0, len(window) - 1)


def _cut(session: Session, count: int) -> tuple[Session, list[Segment]]:
    if count == 0:
        return session, []
    left, rest = session.window[:count], session.window[count:]
    messages = sum(held.messages for held in left)
    segment = Segment(
        id=segment_id(session.id, session.segments),
        user_id=session.user_id,
        agent_id=session.agent_id,
        sphere=session.sphere,
        session_id=session.session_id,
        number=session.segments,
        turn_ids=tuple(held.id for held in left),
        messages=messages,
        since=left[0].at,
        at=left[-1].at,
        state=SegmentState.WAITING if messages >= MIN_EPISODE_MESSAGES else SegmentState.SMALL_TALK,
    )
    counted = {"window": rest, "segments": session.segments + 1}
    return session.model_copy(update=counted), [segment]
