"""How many threads the engine starts."""

import asyncio
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from souffleur.knowledge.store.engine.collection import CollectionSchema
from souffleur.knowledge.store.engine.edge import EdgeCollection
from tests.shared import until

NAMED_WITHIN = 0.1
"""Seconds in which a thread that was started has its name."""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux names the threads of a process")
async def test_one_thread_reads_a_collection(tmp_path: Path) -> None:
    """A collection that is opened has one thread that searches, whatever the processors."""
    before = _searching()
    collection = EdgeCollection.open(tmp_path, CollectionSchema("memories", 4, {}))
    await until(lambda: bool(_searching() - before))
    await asyncio.sleep(NAMED_WITHIN)
    assert len(_searching() - before) == 1
    await collection.close()


def _searching() -> set[str]:
    found = set()
    for thread in Path("/proc/self/task").iterdir():
        with suppress(OSError):  # it has ended
            if (thread / "comm").read_text().startswith("edge-search"):
                found.add(thread.name)
    return found
