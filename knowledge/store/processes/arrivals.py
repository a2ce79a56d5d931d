"""Arrivals: the numbers of a user's turns, in the order of their arrival at the store.

On a store of several processes, a record per user has the last number and the latest turns. A write
succeeds only if the stored revision is the revision that was read, so two turns that arrive at once
get different numbers. A turn counts from the moment it is listed.
"""

from typing import ClassVar

from souffleur.knowledge.memory import Frozen
from souffleur.knowledge.operation import derive_id
from souffleur.knowledge.store.engine.collection import Point
from souffleur.knowledge.turn import Turn

MAX_LISTED = 64
"""Maximum number of listed turns. Turns older than the list are known to have been listed."""


class Arrival(Frozen):
    """A turn in the list."""

    id: str
    seq: int
    digest: str
    """The hash of the turn's words. If two writers replace a reply at once, it shows which won."""


class Arrivals(Frozen):
    """The list of the latest turns of a user, in order."""

    type: ClassVar = "arrivals"

    user_id: str
    seq: int = 0
    """The number of the latest turn."""
    settled: int = 0
    """The highest number of a turn that has left the list."""
    listed: tuple[Arrival, ...] = ()
    """The latest turns, sorted by number."""
    revision: int = 0

    @property
    def id(self) -> str:
        """The id of the record's point."""
        return derive_id(self.type, self.user_id)

    def find(self, turn_id: str) -> Arrival | None:
        """Return the arrival of a turn; `None` if it is not listed."""
        return next((one for one in self.listed if one.id == turn_id), None)

    def has(self, turn: Turn) -> bool:
        """Return whether a turn has arrived with the same words."""
        if 0 < turn.seq <= self.settled:
            return True
        found = self.find(turn.id)
        return found is not None and found.digest == turn.digest

    def number(self, turn: Turn) -> int:
        """Return the number of a turn: the number in the list, or else the turn's own number."""
        found = self.find(turn.id)
        return found.seq if found else turn.seq

    def after(self, arrival: Arrival) -> "Arrivals":
        """Return the list with a new turn, or with the new words of a listed turn.

        >>> arrivals = Arrivals(user_id="ann")
        >>> for seq in range(1, 66):
        ...     arrivals = arrivals.after(Arrival(id=str(seq), seq=seq, digest="a"))
        >>> arrivals.seq, arrivals.settled, arrivals.revision, len(arrivals.listed)
        (65, 1, 65, 64)
        >>> arrivals.after(Arrival(id="65", seq=65, digest="b")).listed[-1].digest
        'b'
        """
        others = [one for one in self.listed if one.id != arrival.id]
        listed = sorted([*others, arrival], key=lambda one: one.seq)
        gone, kept = listed[:-MAX_LISTED], listed[-MAX_LISTED:]
        new = {
            "seq": max(self.seq, arrival.seq),
            "settled": max([self.settled, *(one.seq for one in gone)]),
            "listed": tuple(kept),
            "revision": self.revision + 1,
        }
        return self.model_copy(update=new)

    def raised(self, seq: int) -> "Arrivals | None":
        """Return the list with `settled` raised to a number; `None` if it is already that high.

        >>> Arrivals(user_id="ann", seq=9).raised(7).settled, Arrivals(user_id="ann").raised(0)
        (7, None)
        """
        if seq <= self.settled:
            return None
        new = {"seq": max(self.seq, seq), "settled": seq, "revision": self.revision + 1}
        listed = tuple(one for one in self.listed if one.seq > seq)
        return self.model_copy(update={**new, "listed": listed})


def arrivals_point(arrivals: Arrivals, by: str) -> Point:
    """Return the point of a user's arrivals, written by the write `by`."""
    derived = {"type": arrivals.type, "written_by": by}
    return Point(arrivals.id, {**arrivals.model_dump(mode="json"), **derived})
