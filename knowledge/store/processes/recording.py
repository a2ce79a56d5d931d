"""Recording of turns on a store to which several processes write at once."""

from collections.abc import Sequence
from uuid import uuid4

from souffleur.errors import StoreError
from souffleur.knowledge.session import USUAL, Segment, Session, WindowRule, segment_id
from souffleur.knowledge.store.codecs import (
    segment_point,
    session_point,
    to_segment,
    to_session,
    turn_point,
)
from souffleur.knowledge.store.engine.collection import Collection, Point
from souffleur.knowledge.store.processes.arrivals import (
    Arrival,
    Arrivals,
    arrivals_point,
)
from souffleur.knowledge.store.reading import read, read_each
from souffleur.knowledge.store.turns import (
    NewSession,
    Scene,
    SessionChange,
    entered,
    ids_around,
    recorded,
    scene_of,
)
from souffleur.knowledge.turn import Turn

MAX_ATTEMPTS = 100
"""Maximum attempts at a write that conflicts with other processes; then it raises StoreError."""

SEGMENTS_LOOKED_AT = 50
"""Maximum number of segments to search for a turn that is no longer in its window."""


class Recorder:
    """The writer of turns and sessions. A write fails if its source records have changed."""

    def __init__(self, collection: Collection, new_session: NewSession, *, first_seq: int) -> None:
        """Start numbers after `first_seq` for users without a list of arrivals."""
        self._collection = collection
        self._new_session = new_session
        self._first_seq = first_seq

    def record(self, turn: Turn, rule: WindowRule) -> Turn | None:
        """Write a turn like `Journal.record`; list a stored turn that the list of arrivals lacks.

        The turn, its window and the list of arrivals are written in a single request.
        """
        tried = inside = False
        for _ in range(MAX_ATTEMPTS):
            scene, arrivals = self._read(turn)
            old = scene.old
            if old and scene.is_known and arrivals.has(old):
                return old if tried else None
            if scene.unwanted and not tried:
                return None
            if old and scene.is_known and arrivals.find(old.id) is None:
                inside = inside or self._was_inside(scene)
            kept, segments, won = self._write(scene, arrivals, rule, inside=inside)
            tried = True
            if scene.session_id in won:
                inside = True
                self._write_segments(segments)
            if arrivals.id not in won:
                continue
            if kept is old:
                self._renumber(kept)
            if not inside:
                self.change_session(scene.session_id, _with(kept, rule))
            return kept
        raise StoreError(f"a turn of {turn.user_id!r} could not be written: others were faster")

    def arrivals(self, user_id: str) -> Arrivals:
        """Return the list of arrivals of a user, or a new list."""
        new = Arrivals(user_id=user_id, seq=self._first_seq, settled=self._first_seq)
        found = self._collection.get_now([new.id])
        return read(found[0], Arrivals) if found else new

    def raise_number(self, user_id: str, seq: int) -> None:
        """Treat turns up to a number as arrived, and number later turns after it."""
        for _ in range(MAX_ATTEMPTS):
            arrivals = self.arrivals(user_id)
            new = arrivals.raised(seq)
            if new is None:
                return
            revisions = {new.id: arrivals.revision} if arrivals.revision else {}
            if self._collection.swap_now([arrivals_point(new, str(uuid4()))], revisions):
                return
        raise StoreError(f"turns of {user_id!r} could not be numbered: others were faster")

    def in_order(self, user_id: str, turns: Sequence[Turn]) -> list[Turn]:
        """Return turns sorted by their numbers in the list; add missing turns to the list."""
        arrivals = self.arrivals(user_id)
        if left := [turn for turn in turns if not arrivals.has(turn)]:
            for turn in left:
                self.record(turn, USUAL)
            arrivals = self.arrivals(user_id)
        return sorted(turns, key=arrivals.number)

    def change_session(self, id: str, change: SessionChange) -> Session | None:
        """Write the session that `change` returns and return it; `None` without a change."""
        for _ in range(MAX_ATTEMPTS):
            found = self._collection.get_now([id])
            changed = change(to_session(found[0])) if found else None
            if changed is None:
                return None
            new, segments = changed
            if self._save(to_session(found[0]), new, segments):
                return new
        raise StoreError("a session could not be written: others were faster")

    def _read(self, turn: Turn) -> tuple[Scene, Arrivals]:
        new = Arrivals(user_id=turn.user_id, seq=self._first_seq, settled=self._first_seq)
        ids = [*ids_around(turn), new.id]
        found = {point.id: point for point in self._collection.get_now(ids)}
        return scene_of(turn, found), read(found[new.id], Arrivals) if new.id in found else new

    def _was_inside(self, scene: Scene) -> bool:
        """Return whether an earlier attempt has put an unlisted turn into its window.

        The turn may have left the window since, with one of the latest segments.
        """
        session = scene.session
        if session is None or scene.is_in_window:
            return session is not None
        numbers = range(max(0, session.segments - SEGMENTS_LOOKED_AT), session.segments)
        found = self._collection.get_now([segment_id(session.id, number) for number in numbers])
        left = [*session.left, *read_each(found, to_segment)]
        return any(scene.turn.id in one.turn_ids for one in left)

    def _write(
        self, scene: Scene, arrivals: Arrivals, rule: WindowRule, *, inside: bool
    ) -> tuple[Turn, Sequence[Segment], set[str]]:
        """Try a write; return the turn, the segments that leave, and the ids of written records."""
        kept, seq, session, segments = self._numbered(scene, arrivals, rule, inside=inside)
        arrival = Arrival(id=kept.id, seq=seq, digest=kept.digest)
        by, old = str(uuid4()), scene.session.revision if scene.session else 0
        points = [arrivals_point(arrivals.after(arrival), by), _stamped(session, old, segments, by)]
        points += [] if kept is scene.old else [turn_point(kept)]
        revisions: dict[str, int | None] = {kept.id: None} if scene.old else {}
        revisions |= {arrivals.id: arrivals.revision} if arrivals.revision else {}
        revisions |= {session.id: old} if scene.session else {}
        self._write_segments(scene.session.left if scene.session else ())
        return kept, segments, self._collection.swap_now(points, revisions)

    def _numbered(
        self, scene: Scene, arrivals: Arrivals, rule: WindowRule, *, inside: bool
    ) -> tuple[Turn, int, Session, list[Segment]]:
        """Return the turn to store, its number, its session, and the segments that leave it."""
        listed, following = arrivals.find(scene.turn.id), arrivals.seq + 1
        if scene.old and scene.is_known and listed is None:  # written but never listed
            session = scene.session or self._new_session(scene.old)
            changed = None if inside else _with(scene.old, rule)(session)
            return (scene.old, following, *(changed or (session, [])))
        kept, session, segments = recorded(scene, following, rule, self._new_session)
        known = 0 < kept.seq <= arrivals.settled
        seq = listed.seq if listed else kept.seq if known else following
        return kept.model_copy(update={"seq": seq}), seq, session, segments

    def _renumber(self, turn: Turn) -> None:
        """Write the listed number of a turn, if it was stored with the number of another turn."""
        arrival = self.arrivals(turn.user_id).find(turn.id)
        if arrival and arrival.seq != turn.seq:
            self._collection.merge_now([turn.id], {"seq": arrival.seq})

    def _save(self, old: Session, new: Session, segments: list[Segment]) -> bool:
        self._write_segments(old.left)
        point = _stamped(new, old.revision, segments, str(uuid4()))
        if not self._collection.swap_now([point], {point.id: old.revision}):
            return False
        self._write_segments(segments)
        return True

    def _write_segments(self, left: Sequence[Segment]) -> None:
        """Write missing segments that have left a window; the session's record has them too."""
        if left:
            self._collection.swap_now([segment_point(one) for one in left], {})


def _stamped(session: Session, old: int, segments: Sequence[Segment], by: str) -> Point:
    """Return the point of the next revision of a session, with the segments that leave it."""
    stamp = {"revision": old + 1, "left": tuple(segments)}
    point = session_point(session.model_copy(update=stamp))
    return Point(point.id, {**point.payload, "written_by": by})


def _with(turn: Turn, rule: WindowRule) -> SessionChange:
    """Return the change that adds a turn to a session after a write by another process."""

    def add(session: Session) -> tuple[Session, list[Segment]] | None:
        if turn.version and all(one.id != turn.id for one in session.window):
            return None
        counted = session.model_copy(update={"turns": session.turns + (not turn.version)})
        return entered(counted, turn, rule)

    return add
