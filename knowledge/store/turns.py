"""The steps to record a turn: its session, the session's window, and segments that leave it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from souffleur.knowledge.identity import COMMON, own_sphere
from souffleur.knowledge.people import persona_id, preferences_id, to_persona, to_preferences
from souffleur.knowledge.session import (
    Segment,
    Session,
    WindowRule,
    append_turn,
    segment_id,
    session_point_id,
)
from souffleur.knowledge.store.codecs import to_session, to_turn
from souffleur.knowledge.store.engine.collection import Collection, Point
from souffleur.knowledge.store.reading import read_each
from souffleur.knowledge.turn import Turn, digest_of

NewSession = Callable[[Turn], Session]
"""A function that returns a new session for a turn."""
SessionChange = Callable[[Session], tuple[Session, list[Segment]] | None]
"""A function that returns the changed session and the segments that leave it, or `None`."""


@dataclass(frozen=True)
class Scene:
    """A turn to record, with the stored turn and session."""

    turn: Turn
    """The turn to record, with its digest and sphere."""
    old: Turn | None
    """The stored turn; `None` if it is not stored."""
    session: Session | None
    unwanted: bool = False
    """Whether the user forbids storing turns, or the turn is empty and was never stored."""

    @property
    def session_id(self) -> str:
        """The id of the session's point."""
        return session_point_id(self.turn.user_id, self.turn.session_id, self.turn.sphere)

    @property
    def is_known(self) -> bool:
        """Whether the turn is stored with the same words."""
        return self.old is not None and self.old.digest == self.turn.digest

    @property
    def is_in_window(self) -> bool:
        """Whether the turn is in the window of its session."""
        held = self.session.window if self.session else ()
        return any(one.id == self.turn.id for one in held)


def new_session(collection: Collection, turn: Turn) -> Session:
    """Return a new session for a turn. Its segments are numbered after stored segments."""
    id = session_point_id(turn.user_id, turn.session_id, turn.sphere)
    left = 0
    while collection.get_now([segment_id(id, left)]):
        left += 1
    return Session(
        id=id,
        user_id=turn.user_id,
        sphere=turn.sphere,
        session_id=turn.session_id,
        since=turn.at,
        at=turn.at,
        segments=left,
    )


def ids_around(turn: Turn) -> list[str]:
    """Return the ids of the points to read before recording a turn."""
    spheres = (COMMON, own_sphere(turn.agent_id))
    sessions = [session_point_id(turn.user_id, turn.session_id, sphere) for sphere in spheres]
    return [turn.id, persona_id(turn.agent_id), preferences_id(turn.user_id), *sessions]


def scene_of(turn: Turn, found: Mapping[str, Point]) -> Scene:
    """Return the scene of a turn, from the points found for `ids_around`."""
    card = persona_id(turn.agent_id)
    old = to_turn(found[turn.id]) if turn.id in found else None
    current = to_persona(found[card]).sphere if card in found else COMMON
    sphere = old.sphere if old else current
    turn = turn.model_copy(update={"digest": digest_of(turn), "sphere": sphere})
    id = session_point_id(turn.user_id, turn.session_id, sphere)
    chosen = found.get(preferences_id(turn.user_id))
    unwanted = any(one.keeps_out for one in read_each([chosen] if chosen else [], to_preferences))
    unwanted = unwanted or (old is None and not turn.messages)
    return Scene(turn, old, to_session(found[id]) if id in found else None, unwanted)


def recorded(
    scene: Scene, seq: int, rule: WindowRule, new_session: NewSession
) -> tuple[Turn, Session, list[Segment]]:
    """Return the numbered turn, its session, and the segments that leave the window."""
    turn, old = scene.turn, scene.old
    session = scene.session or new_session(turn)
    if old is None:
        session = session.model_copy(update={"turns": session.turns + 1})
        turn = turn.model_copy(update={"seq": seq, "place": session.turns})
    else:
        numbers = {"version": old.version + 1, "seq": old.seq, "place": old.place}
        turn = turn.model_copy(update=numbers)
    if old is None or scene.is_in_window:
        return turn, *entered(session, turn, rule)
    return turn, session, []


def entered(session: Session, turn: Turn, rule: WindowRule) -> tuple[Session, list[Segment]]:
    """Return the session with a turn in its window, and the segments that leave the window."""
    session = session.model_copy(update={"agent_id": turn.agent_id})
    return append_turn(session, turn.window_entry, rule)
