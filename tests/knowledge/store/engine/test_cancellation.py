"""Tasks that are cancelled while they write to a server."""

import asyncio
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, cast

import pytest
from qdrant_client import QdrantClient

from souffleur.knowledge.operation import derive_id
from souffleur.knowledge.store.engine.collection import CollectionSchema, Filter, Point
from souffleur.knowledge.store.engine.server import ServerCollection
from tests.shared import until

ID = derive_id("a point")


class Slow:
    """A client whose calls begin, and are carried out when told."""

    def __init__(self, client: QdrantClient) -> None:
        self._client = client
        self.begun, self.go = threading.Event(), threading.Event()
        self.go.set()

    def __getattr__(self, name: str) -> Any:
        call = getattr(self._client, name)
        return self._later(call) if callable(call) else call

    def _later(self, call: Any) -> Any:
        def later(*args: Any, **more: Any) -> Any:
            self.begun.set()
            assert self.go.wait(20)
            return call(*args, **more)

        return later


@pytest.fixture
async def slow() -> AsyncIterator[tuple[Slow, ServerCollection]]:
    """A client, and a collection that it has."""
    client = Slow(QdrantClient(":memory:"))
    schema = CollectionSchema("memories", 2, {})
    known = cast("QdrantClient", client)
    yield client, await ServerCollection.open(":memory:", schema, client=known)
    client.go.set()
    client._client.close()


@pytest.mark.parametrize("how", ["put", "swap", "merge"])
async def test_nothing_is_written_after_a_task_was_cancelled(
    slow: tuple[Slow, ServerCollection], how: str
) -> None:
    """It ends once what it has sent is carried out: what is done next comes after it."""
    client, collection = slow
    point = Point(ID, {"revision": 1, "written_by": "me", "type": "turn"}, (1.0, 0.0))
    writes: dict[str, Callable[[], Awaitable[object]]] = {
        "put": lambda: collection.put([point]),
        "swap": lambda: collection.swap([point], {}),
        "merge": lambda: collection.merge_payload([ID], {"type": "gone"}),
    }
    if how == "merge":
        await collection.put([point])
    client.begun.clear()
    client.go.clear()
    writing = asyncio.ensure_future(writes[how]())
    await until(client.begun.is_set)
    for _ in range(2):
        writing.cancel()
        await asyncio.sleep(0.02)
    assert not writing.done()
    client.go.set()
    await asyncio.wait([writing])
    assert writing.cancelled()
    (kept,) = collection.get_now([ID])
    assert kept.payload["type"] == ("gone" if how == "merge" else "turn")


async def test_who_only_reads_need_not_wait(slow: tuple[Slow, ServerCollection]) -> None:
    """A task that is cancelled while it reads ends at once."""
    client, collection = slow
    client.begun.clear()
    client.go.clear()
    reading = asyncio.ensure_future(collection.count(Filter()))
    await until(client.begun.is_set)
    reading.cancel()
    await asyncio.wait([reading], timeout=1)
    assert reading.cancelled()
