"""A turn that another process gets ahead of while it is recorded."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest
from qdrant_client import QdrantClient

from souffleur.knowledge.store.engine.collection import Collection, Point
from souffleur.knowledge.store.ledger import Journal
from tests.build import turn
from tests.shared import open_shared


class Died(BaseException):
    """The process is gone in the middle of its work."""


class Overtaken:
    """A collection where others write just before and just after the first swap."""

    def __init__(
        self, collection: Collection, before: Callable[[], object], after: Callable[[], object]
    ) -> None:
        self._collection = collection
        self._others = [before, after]

    def __getattr__(self, name: str) -> Any:
        return getattr(self._collection, name)

    def swap_now(self, points: Sequence[Point], revisions: Mapping[str, int | None]) -> set[str]:
        """Swap between what the others write."""
        others, self._others = self._others, []
        if others:
            others[0]()
        won = self._collection.swap_now(points, revisions)
        if others:
            others[1]()
        return won


@pytest.mark.parametrize("dies", [False, True], ids=["goes on", "dies"])
async def test_a_turn_that_has_left_before_it_is_listed_is_held_once(dies: bool) -> None:
    """It is in one segment, and not in the window again, whether its writer goes on or dies."""
    client = QdrantClient(":memory:")
    own, other = await open_shared(client), await open_shared(client)
    other.journal.record(turn("first", "ok"))
    elsewhere = turn("elsewhere", "ok", turn_id="2").model_copy(update={"session_id": "s2"})

    def end() -> None:
        other.sessions.end("ann", "s1")
        if dies:
            raise Died

    overtaken: Any = Overtaken(own.journal.collection, lambda: other.journal.record(elsewhere), end)
    journal, said = await Journal.open(overtaken), turn("third", "ok", turn_id="3")
    if dies:
        with pytest.raises(Died):
            journal.record(said)
        other.journal.record(said)
    else:
        journal.record(said)
    session = await other.sessions.find("ann", "s1")
    assert session is not None
    (left,) = await other.sessions.segments("ann")
    assert (session.window, session.turns) == ((), 2)
    assert left.turn_ids == (turn("first").id, said.id)
    assert len(await other.journal.waiting("ann")) == 3
    client.close()


async def test_a_window_on_a_server_is_stored_entry_by_entry() -> None:
    """A process of a former version, which may work at the same server, can read it."""
    client = QdrantClient(":memory:")
    own = await open_shared(client)
    own.journal.record(turn("tea?", "green"))
    session = await own.sessions.find("ann", "s1")
    assert session is not None
    (stored,) = await own.journal.collection.get([session.id])
    assert [held["messages"] for held in stored.payload["window"]] == [2]
    client.close()
