"""Numbers of turns and entries after a store was on a server, in a folder, and on one again."""

from pathlib import Path

import pytest
from qdrant_client import QdrantClient

from souffleur.knowledge.knowledge_base import KnowledgeBase
from souffleur.knowledge.operation import ActorKind, Add
from souffleur.knowledge.policy import COMPANION
from souffleur.knowledge.search.embedder import make_embedder
from souffleur.knowledge.store.backup import restore, save_store
from souffleur.knowledge.store.engine.collection import Filter, read_all
from souffleur.knowledge.store.ledger import Journal
from souffleur.knowledge.store.opening import StoreLocation, open_knowledge
from souffleur.knowledge.store.records import Numbers
from souffleur.knowledge.store.transfer import copy_store
from tests.build import NOW, turn, verdict
from tests.place import SERVER, in_folder, prefix
from tests.shared import DIMENSION, open_shared
from tests.stores import empty_base


async def use(base: KnowledgeBase, *words: str) -> None:
    """Say each word in a turn, and keep it in a memory."""
    for word in words:
        base.journal.record(turn(word, turn_id=word))
        add = Add(reason="r", quote="", content=f"Ann says {word}.")
        await base.apply(verdict(add, who=ActorKind.HOST, name=word))


async def assert_in_order(base: KnowledgeBase, *words: str) -> None:
    """Turns and entries come in this order, each with a number of its own."""
    turns = await base.journal.turns(user_id="ann")
    assert [one.user for one in turns] == list(words)
    assert len({one.seq for one in turns}) == len(words)
    entries = await base.journal.entries("ann")
    assert [one.changes[0].after.content for one in entries] == [f"Ann says {w}." for w in words]


@in_folder
async def test_what_was_added_in_a_folder_comes_before_what_is_new(tmp_path: Path) -> None:
    """On the server again, numbers go on after those of the folder."""
    client = QdrantClient(":memory:")
    there = await open_shared(client)
    await use(there, "one")
    points = await read_all(there.journal.collection, Filter())
    empty = await empty_base(tmp_path, dimension=DIMENSION)
    await empty.journal.collection.put(points)
    journal = await Journal.open(empty.journal.collection)
    here = KnowledgeBase(empty.memories, journal, empty.embedder, empty.policy)
    await use(here, "two", "three")
    numbers = Numbers()
    added = await read_all(here.journal.collection, Filter())
    await there.journal.collection.put(added)
    numbers.note(added)
    await numbers.carry_on(there.journal)
    await use(there, "four")
    await assert_in_order(there, "one", "two", "three", "four")
    await empty.close()
    client.close()


@pytest.mark.skipif(SERVER is None, reason="SOUFFLEUR_TEST_QDRANT_URL names no server")
@pytest.mark.parametrize("how", ["migrate", "restore"])
async def test_there_and_back(tmp_path: Path, how: str) -> None:
    """A store that is copied from a server to a folder and to a server has one order."""
    first, last = (StoreLocation(url=SERVER, prefix=prefix(tmp_path) + name) for name in "ab")
    folder, embedder = StoreLocation(folder=tmp_path / "here"), make_embedder(f"hash:{DIMENSION}")
    said: list[str] = []
    for source, target, words in (
        (None, first, ("one",)),
        (first, folder, ("two", "three")),
        (folder, last, ("four",)),
    ):
        if source and how == "migrate":
            await copy_store(source, target, embedder, COMPANION)
        elif source:
            await save_store(source, tmp_path / "backup", now=NOW)
            await restore(tmp_path / "backup", target)
        base = await open_knowledge(target, embedder, COMPANION)
        await use(base, *words)
        said += words
        await assert_in_order(base, *said)
        await base.close()
