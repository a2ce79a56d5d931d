"""How turns, sessions and verdicts are written: by one process alone, or by several at once.

A collection in a folder has one process, see `alone`. A collection on a server may have several,
see `several`. The journal calls either in the same way.
"""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Protocol, TypeVar

from souffleur.knowledge.operation import LedgerEntry
from souffleur.knowledge.session import Segment, Session, WindowRule
from souffleur.knowledge.store.engine.collection import Collection
from souffleur.knowledge.turn import Turn

T = TypeVar("T")

Change = Callable[[Session], tuple[Session, list[Segment]] | None]
"""Returns the changed session and the segments that leave it; `None` if nothing changes."""
Lock = Callable[[], AbstractContextManager[object]]
"""Returns the lock of the journal. Raises StoreError if the store cannot be used."""


class Writing(Protocol):
    """What depends on how many processes write to a journal. Every method may raise StoreError."""

    collection: Collection

    def record(self, turn: Turn, rule: WindowRule) -> Turn | None:
        """Write a turn, its window and the segments that leave it; see `Journal.record`."""
        ...

    def change_session(self, id: str, change: Change) -> Session | None:
        """Write what `change` makes of a session; see `Journal.change_session`."""
        ...

    async def in_order(self, user_id: str, turns: Sequence[Turn]) -> list[Turn]:
        """Return turns that wait to be judged in the order in which they arrived."""
        ...

    async def raise_numbers(self, user_id: str, *, turn: int, entry: int) -> None:
        """Have what comes of a user be numbered after `turn` and `entry`."""
        ...

    async def call(self, work: Callable[[], T]) -> T:
        """Call what asks the store without an event loop, in a thread if it takes long."""
        ...

    async def write(self, entries: Sequence[LedgerEntry]) -> None:
        """Write the entries of a verdict that is about to be applied; see `Journal.write`."""
        ...

    async def note_applied(self, entries: Sequence[LedgerEntry]) -> None:
        """Note that the entries of a verdict are marked as applied."""
        ...

    async def unsettled(self, user_id: str | None) -> list[list[LedgerEntry]]:
        """Return the verdicts that are written and not fully applied; see `Journal.unsettled`."""
        ...

    def read_anew(self) -> None:
        """Drop what is remembered of verdicts that are applied."""
        ...
