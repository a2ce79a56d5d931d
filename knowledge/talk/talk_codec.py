"""How turns, sessions, segments and upkeep lie in the journal's collection."""

from souffleur.knowledge.engine.collection import Point
from souffleur.knowledge.portrait import PortraitStatus
from souffleur.knowledge.reading import read
from souffleur.knowledge.talk.session import Segment, Session
from souffleur.knowledge.talk.turn import Turn


def turn_point(turn: Turn) -> Point:
    """How a turn lies in the collection, before it is embedded."""
    return Point(turn.id, {**turn.model_dump(mode="json"), "type": "turn"})


def to_turn(point: Point) -> Turn:
    """Return the turn of a point, word for word: to be judged, summarised or kept.

    Raises UnreadableError.
    """
    return read(point, Turn, derived={"type"})


def to_masked_turn(point: Point) -> Turn:
    """Return the turn of a point without its secrets: to be found, or shown to anybody.

    Raises UnreadableError.
    """
    return to_turn(point).clipped().masked()


def session_point(session: Session) -> Point:
    """How a session lies in the collection; its state tells whether the window holds anything."""
    state = "open" if session.window else "closed"
    payload = {**session.model_dump(mode="json"), "type": "session", "state": state}
    return Point(session.id, payload)


def to_session(point: Point) -> Session:
    """Return the session of a point. Raises UnreadableError."""
    return read(point, Session, derived={"type", "state"})


def segment_point(segment: Segment) -> Point:
    """How a segment lies in the collection."""
    return Point(segment.id, {**segment.model_dump(mode="json"), "type": "segment"})


def to_segment(point: Point) -> Segment:
    """Return the segment of a point. Raises UnreadableError."""
    return read(point, Segment, derived={"type"})


def portrait_status_point(status: PortraitStatus) -> Point:
    """How the notes on a portrait lie in the collection."""
    return Point(status.id, {**status.model_dump(mode="json"), "type": "upkeep"})


def to_portrait_status(point: Point) -> PortraitStatus:
    """Return the upkeep of a point. Raises UnreadableError."""
    return read(point, PortraitStatus, derived={"type"})
