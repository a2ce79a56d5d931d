"""Numbers: how far the turns and ledger entries of users go, where a store is copied."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from souffleur.knowledge.store.engine.collection import POINTS_PER_PAGE, Payload, Point
from souffleur.knowledge.store.ledger import Journal
from souffleur.knowledge.store.processes.arrivals import Arrivals
from souffleur.knowledge.store.processes.leases import UserLease


@dataclass
class Highest:
    """The highest numbers of a user's records."""

    turn: int = 0
    entry: int = 0

    def note(self, record: Payload) -> None:
        """Note the number of a record, if it is a turn or an entry of the ledger."""
        if record.get("type") == "turn":
            self.turn = max(self.turn, _number(record))
        elif record.get("type") == "entry":
            self.entry = max(self.entry, _number(record))


class Numbers:
    """The highest numbers of all users of a store that is copied."""

    def __init__(self) -> None:
        self._users: defaultdict[str, Highest] = defaultdict(Highest)

    def note(self, points: Iterable[Point]) -> None:
        """Note points that are copied."""
        for point in points:
            if point.payload.get("type") in {"turn", "entry"}:
                self._users[str(point.payload.get("user_id"))].note(point.payload)

    async def carry_on(self, journal: Journal) -> None:
        """Have what comes of users be numbered after what they have. Raises StoreError.

        What a server's processes agreed on is copied too; where the store was in a folder since,
        that is behind.
        """
        if not journal.collection.shared:
            return
        names = list(self._users)
        for start in range(0, len(names), POINTS_PER_PAGE):
            some = names[start : start + POINTS_PER_PAGE]
            ids = [record.id for name in some for record in _agreed(name)]
            found = {one.id: _number(one.payload) for one in await journal.collection.get(ids)}
            for name in some:
                highest, (arrivals, lease) = self._users[name], _agreed(name)
                turn = found.get(arrivals.id, highest.turn)
                entry = found.get(lease.id, highest.entry)
                if turn < highest.turn or entry < highest.entry:
                    await journal.raise_numbers(name, turn=highest.turn, entry=highest.entry)


def _agreed(user_id: str) -> tuple[Arrivals, UserLease]:
    return Arrivals(user_id=user_id), UserLease(user_id=user_id)


def _number(record: Payload) -> int:
    number = record.get("seq")
    return number if isinstance(number, int) else 0
