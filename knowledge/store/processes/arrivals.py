"""Arrivals: the numbers that a user's turns have by the order in which they reached the store.

On a store of several processes, one record per user has the last number and the latest turns. Only
the revision that was read is overwritten, so of two turns that arrive at once each has a number of
its own. A turn counts from the moment it is listed.
"""

from typing import ClassVar

from souffleur.knowledge.memory import Frozen
from souffleur.knowledge.operation import derive_id
from souffleur.knowledge.store.engine.collection import Point
from souffleur.knowledge.turn import Turn

MAX_LISTED = 64
"""Number of turns that are listed; older ones have been listed for certain."""


class Arrival(Frozen):
    """A turn in the list."""

    id: str
    seq: int
    digest: str
    """The hash of its words: of two replies that replace one at once, one is listed."""


class Arrivals(Frozen):
    """The latest turns of a user, in order."""

    type: ClassVar = "arrivals"

    user_id: str
    seq: int = 0
    """The number of the latest turn."""
    settled: int = 0
    """Turns up to this number are listed no more."""
    listed: tuple[Arrival, ...] = ()
    """The latest turns, by their numbers."""
    revision: int = 0

    @property
    def id(self) -> str:
        """The id of its point."""
        return derive_id(self.type, self.user_id)

    def find(self, turn_id: str) -> Arrival | None:
        """Return the arrival of a turn, if it is listed."""
        return next((one for one in self.listed if one.id == turn_id), None)

    def has(self, turn: Turn) -> bool:
        """Return whether a turn, in these words, has arrived."""
        if 0 < turn.seq <= self.settled:
            return True
        found = self.find(turn.id)
        return found is not None and found.digest == turn.digest

    def number(self, turn: Turn) -> int:
        """Return the number of a turn, which is that of the list."""
        found = self.find(turn.id)
        return found.seq if found else turn.seq

    def after(self, arrival: Arrival) -> "Arrivals":
        """Return the list with a turn that arrives, or whose words are replaced.

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
        """Return the list with all turns up to a number settled; `None` if they are.

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
