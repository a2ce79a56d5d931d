"""Stores of the schema before this one: they are brought up when they are opened, or refused.

`data/schema_4.zip` and `.jsonl` are a backup and an export that were made before records had
labels: three memories of Ann, one replaced and one forgotten, six turns, one hidden and one
expired, a proposal that waits, and an item.
"""

import re
from contextlib import suppress
from pathlib import Path

import pytest

from souffleur.errors import StoreMismatchError
from souffleur.knowledge.knowledge_base import KnowledgeBase
from souffleur.knowledge.search.query import Query, Scope
from souffleur.knowledge.store.backup import read_lines, restore
from souffleur.knowledge.store.engine.collection import (
    CollectionSchema,
    Filter,
    IndexType,
    read_all,
)
from souffleur.knowledge.store.engine.edge import EdgeCollection
from souffleur.knowledge.store.labels import INDEXES, lookup_fields
from souffleur.knowledge.store.ledger import Journal
from souffleur.knowledge.store.opening import StoreLocation
from souffleur.knowledge.store.transfer import import_export
from souffleur.knowledge.store.upgrade import SCHEMA, bring_up
from souffleur.knowledge.turn import Turn
from tests.build import NOW, days, open_base
from tests.faults.teller import Deadly, Dying, Gone
from tests.place import in_folder
from tests.stores import empty_base

DATA = Path(__file__).parent / "data"
FORMER: dict[str, dict[IndexType, str]] = {
    "memories": {
        "keyword": "agent_id category kind fingerprint entities due_for",
        "integer": "revision",
    },
    "journal": {
        "keyword": "agent_id session_id verdict_id turn_ids memory_ids folders",
        "integer": "place",
        "bool": "expunged hidden waits",
    },
}
"""Indexes that a store of schema 4 had besides."""


async def write_former(folder: Path) -> None:
    """A folder with the collections, indexes and records of schema 4."""
    lines = list(read_lines(DATA / "schema_4.zip"))
    for name, indexes in INDEXES.items():
        own = {field: kind for field, kind in indexes.items() if field not in ("labels", "gone")}
        also = {field: kind for kind, fields in FORMER[name].items() for field in fields.split()}
        schema = CollectionSchema(name, 16, {**own, **also}, cues=True)
        collection = EdgeCollection.open(folder, schema)
        await collection.put([one for where, _, one in lines if where == name and one])
        await collection.close()


async def assert_whole(base: KnowledgeBase, *, backup: bool = True) -> None:
    """Everything is found as it was, and nothing that was hidden, expired or forgotten."""
    assert (await base.journal.meta() or {})["schema"] == SCHEMA
    kept = {one.content for one in await base.list("ann")}
    assert kept == {"Ann likes oolong tea.", "Ann has a dog called Rex."}
    (rex,) = await base.list("ann", kind="fact")
    assert [one.op for one in await base.history(rex.id, user_id="ann")] == ["ADD"]
    (waits,) = await base.journal.entries("ann", waits=True)
    assert (waits.op, waits.waits) == ("DELETE", True)
    said = await base.search(Query("ann", "tea number", NOW + days(1), scope=(Scope.TURNS,)))
    assert {one.item.user for one in said if isinstance(one.item, Turn)} <= {
        "I like tea number 2",
        "I like tea number 3",
        "I sing in Lyon",
        "Not embedded yet",
    }
    turns = await base.journal.turns()
    assert len(await base.sessions.segments_with([turns[0].id])) == 1
    assert await base.sessions.count_unembedded() == (1 if backup else 4)
    assert await base.items.count(("a",)) == 1
    for collection in (base.memories, base.journal.collection):
        for point in await read_all(collection, Filter()):
            assert lookup_fields(point.payload).items() <= point.payload.items()


@in_folder
async def test_a_store_of_the_former_schema_is_brought_up(tmp_path: Path) -> None:
    """Once it is opened, all is found by its labels, and the next opening changes nothing."""
    await write_former(tmp_path)
    for _ in range(2):
        base = await open_base(tmp_path, dimension=16)
        await assert_whole(base)
        await base.close()


async def test_a_backup_of_the_former_schema_is_restored(tmp_path: Path) -> None:
    """Its records are brought up when the store is opened."""
    await restore(DATA / "schema_4.zip", StoreLocation(tmp_path / "new"))
    base = await open_base(tmp_path / "new", dimension=16)
    await assert_whole(base)
    await base.close()


async def test_an_export_of_the_former_schema_is_imported(tmp_path: Path) -> None:
    """Its records get their labels; what was forgotten on request is not in it."""
    base = await empty_base(tmp_path)
    done = await import_export(base, DATA / "schema_4.jsonl")
    assert (done.new["memory"], done.new["turn"], done.skipped) == (3, 6, {})
    await assert_whole(base, backup=False)
    assert (await import_export(base, DATA / "schema_4.jsonl")).new == {}
    await base.close()


@in_folder
async def test_it_goes_on_where_it_was_killed(tmp_path: Path) -> None:
    """Killed before any of its writes, it ends as it would have."""
    await restore(DATA / "schema_4.zip", StoreLocation(tmp_path))
    opened = {
        name: EdgeCollection.open(tmp_path, CollectionSchema(name, 16, indexes, cues=True))
        for name, indexes in INDEXES.items()
    }
    for writes in (0, 3, 1, 5, 0):
        count, journal = Dying(writes), Journal(opened["journal"], last_seq=0)
        journal.collection = Deadly(journal.collection, count)
        with suppress(Gone):
            await bring_up(Deadly(opened["memories"], count), journal)
    for one in opened.values():
        await one.close()
    base = await open_base(tmp_path, dimension=16)
    await assert_whole(base)
    await base.close()


async def test_a_new_store_lacks_nothing(base: KnowledgeBase) -> None:
    """It is made by this version's schema."""
    assert (await base.journal.meta() or {})["schema"] == SCHEMA


@pytest.mark.parametrize(
    ("found", "why"),
    [
        (SCHEMA + 1, "newer version of Souffleur"),
        ("2.0", "newer version of Souffleur"),
        (0, "newer version of Souffleur"),
        (3, "before the first release"),
    ],
)
async def test_a_store_of_another_schema_is_refused(
    tmp_path: Path, found: object, why: str
) -> None:
    """It is not opened, the error says why, and nothing in it is changed."""
    base = await open_base(tmp_path, dimension=64)
    other = await base.journal.note_meta({"schema": found, "something": "new"})
    await base.close()
    with pytest.raises(StoreMismatchError, match=re.escape(why)):
        await open_base(tmp_path, dimension=64)
    assert other["something"] == "new"
