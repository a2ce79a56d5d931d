"""How turns, sessions, segments and upkeep lie in the journal's collection."""

from souffleur.knowledge.collection import Payload, Point
from souffleur.knowledge.portrait import Upkeep
from souffleur.knowledge.session import Segment, Session
from souffleur.knowledge.turn import Turn


def turn_point(turn: Turn) -> Point:
    """How a turn lies in the collection, before it is embedded."""
    return Point(turn.id, {**turn.model_dump(mode="json"), "type": "turn"})


def to_turn(payload: Payload) -> Turn:
    """The turn of a payload, word for word: to be judged, summarised or kept."""
    return Turn.model_validate({k: v for k, v in payload.items() if k != "type"})


def to_masked_turn(payload: Payload) -> Turn:
    """Return the turn of a payload without its secrets: to be found, or shown to anybody."""
    return to_turn(payload).masked()


def session_point(session: Session) -> Point:
    """How a session lies in the collection; its state tells whether the window holds anything."""
    state = "open" if session.window else "closed"
    payload = {**session.model_dump(mode="json"), "type": "session", "state": state}
    return Point(session.id, payload)


def to_session(payload: Payload) -> Session:
    """The session of a payload."""
    return Session.model_validate({k: v for k, v in payload.items() if k not in {"type", "state"}})


def segment_point(segment: Segment) -> Point:
    """How a segment lies in the collection."""
    return Point(segment.id, {**segment.model_dump(mode="json"), "type": "segment"})


def to_segment(payload: Payload) -> Segment:
    """The segment of a payload."""
    return Segment.model_validate({k: v for k, v in payload.items() if k != "type"})


def upkeep_point(upkeep: Upkeep) -> Point:
    """How the notes on a portrait lie in the collection."""
    return Point(upkeep.id, {**upkeep.model_dump(mode="json"), "type": "upkeep"})


def to_upkeep(payload: Payload) -> Upkeep:
    """The notes of a payload."""
    return Upkeep.model_validate({k: v for k, v in payload.items() if k != "type"})
