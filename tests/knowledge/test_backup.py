"""Backup: a whole store in one file, and back; a file that is not whole changes nothing."""

import asyncio
import json
import shutil
import zipfile
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import pytest
from hypothesis import Phase, given, settings, strategies as st
from qdrant_client import QdrantClient

from souffleur.errors import FileError, NotFoundError, StoreBusyError, StoreMismatchError
from souffleur.knowledge.knowledge_base import KnowledgeBase
from souffleur.knowledge.memory import MemoryState
from souffleur.knowledge.operation import Forget
from souffleur.knowledge.portrait_rule import PortraitStatus
from souffleur.knowledge.store.backup import (
    MANIFEST,
    POINTS,
    BackupManifest,
    read_lines,
    restore,
    save,
    save_store,
    verify,
)
from souffleur.knowledge.store.engine.collection import (
    Collection,
    CollectionSchema,
    Filter,
    Point,
    Sparse,
    read_pages,
)
from souffleur.knowledge.store.engine.server import ServerCollection
from souffleur.knowledge.store.labels import INDEXES
from souffleur.knowledge.store.ledger import Journal
from souffleur.knowledge.store.lines import decode_line, encode_line
from souffleur.knowledge.store.opening import (
    StoreLocation,
    open_collections,
    stored_dimension,
)
from souffleur.knowledge.store.runs import run_log, watermarks
from tests.build import NOW, by_hand, keep, open_base, turn
from tests.place import in_folder, located

UGLY = ("猫 🐱 \u2028 x", 'a "quote" \\ {}', "é\u0301\u200b", "\x7f tab\tand\nline")
Points = dict[tuple[str, str], Point]


async def points(*collections: Collection) -> Points:
    """Everything in a store, vectors included."""
    return {
        (collection.schema.name, point.id): point
        for collection in collections
        async for page in read_pages(collection, Filter(), vectors=True)
        for point in page
    }


async def points_in(folder: Path) -> Points:
    """Everything in a store that nobody has open."""
    location = located(folder)
    dimension = await stored_dimension(location)
    assert dimension
    async with AsyncExitStack() as closing:
        return await points(*await open_collections(location, dimension, closing))


class Kept(NamedTuple):
    """A closed store, and its backup."""

    store: StoreLocation
    file: Path
    made: BackupManifest
    points: Points


def files(folder: Path) -> list[str]:
    """What is in a folder, by name."""
    return sorted(one.name for one in folder.iterdir())


async def filled(folder: Path) -> KnowledgeBase:
    """A store with a record of every kind."""
    base = await open_base(folder, dimension=16)
    for number, text in enumerate(UGLY):
        await keep(base, f"Ann says {text}", cues=(text, "holiday plans"), data={"n": [1.5, None]})
        base.journal.record(turn(text, f"so {text}", turn_id=f"{number}{text}"))
    await by_hand(base, Forget(target=(await base.list("ann"))[0].id, reason="asked"))
    base.sessions.end("ann", "s1")
    base.journal.record(turn("pending", turn_id="9"))
    base.people.introduce("ann", now=NOW, title="猫 🐱")
    base.people.introduce_persona("mo", now=NOW, knows="own")
    await base.sessions.save_portrait_status(PortraitStatus(user_id="ann", until=NOW))
    await run_log.keep(base.journal, run_log.RunRecord(name="decay", began=NOW, ended=NOW))
    await watermarks.save(base.journal, watermarks.Watermark(name="decay", due_at=NOW), by="me")
    await watermarks.Leader(base.journal).lead(NOW)
    await base.embed_turns()
    return base


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Kept:
    """A closed store, and a backup of it."""
    folder = tmp_path_factory.mktemp("backup")
    store, file = located(folder / "store"), folder / "backup.zip"

    async def make() -> Kept:
        base = await filled(folder / "store")
        made = await save(base.memories, base.journal, file, now=NOW)
        saved = await points(base.memories, base.journal.collection)
        await base.close()
        return Kept(store, file, made, saved)

    return asyncio.run(make())


async def test_restored_equals_saved(kept: Kept, tmp_path: Path) -> None:
    """Every record with its vectors is there again, and the store opens as before."""
    assert await restore(kept.file, located(tmp_path / "new")) == kept.made
    base = await open_base(tmp_path / "new", dimension=16)
    assert await points(base.memories, base.journal.collection) == kept.points
    assert len(await base.list("ann", states=tuple(MemoryState))) == len(UGLY)
    assert (await base.journal.turns(user_id="ann"))[-1].user == "pending"
    await base.close()


def test_the_manifest_tells_what_is_in_it(kept: Kept) -> None:
    """Kinds with their numbers, what it was made with; only its owner may read the file."""
    _, file, made, _ = kept
    assert made.made_with["embedder"] == "hash:16"
    counted = {**made.counts}
    for kind in ("arrivals", "user lease"):  # of a store on a server
        counted.pop(kind, None)
    assert counted == {
        "memory": 4,
        "entry": 5,
        "turn": 5,
        "session": 1,
        "segment": 1,
        "person": 1,
        "persona": 1,
        "upkeep": 1,
        "run": 1,
        "watermark": 1,
        "lease": 1,
        "meta": 1,
    }
    assert verify(file) == made
    assert file.stat().st_mode & 0o777 == 0o600
    assert [one.name for one in file.parent.iterdir() if ".part" in one.name] == []


async def test_what_changes_during_the_copy_is_in_it(tmp_path: Path) -> None:
    """Written after its page was read, a turn is in the file; what was deleted is not."""
    base = await open_base(tmp_path / "store", dimension=16)
    first = await keep(base, "Ann likes tea.")
    base.journal.record(turn("before", turn_id="1"))
    told: list[int] = []

    def change(done: int, total: int) -> None:
        told.append(done)
        if len(told) == 2:  # both collections were read
            base.journal.record(turn("meanwhile", turn_id="2"))
            with suppress(StopIteration):  # the engine in this process never waits
                base.memories.delete([first.id]).send(None)

    file = tmp_path / "b.zip"
    made = await save(base.memories, base.journal, file, now=NOW, step=change)
    assert (made.counts["turn"], made.counts.get("memory", 0)) == (2, 0)
    await base.close()
    await restore(file, located(tmp_path / "new"))
    there = await points_in(tmp_path / "new")
    assert {"before", "meanwhile"} <= {one.payload.get("user") for one in there.values()}
    assert ("memories", first.id) not in there


async def test_a_server_is_saved_the_same_way(kept: Kept, tmp_path: Path) -> None:
    """A backup does not depend on the engine: a server's holds the same records."""
    client = QdrantClient(":memory:")
    theirs = []
    for name in INDEXES:
        schema = CollectionSchema(name, kept.made.dimension, cues=True)
        theirs.append(await ServerCollection.open("", schema, client=client))
        await theirs[-1].put([one for (of, _), one in kept.points.items() if of == name])
    copy = tmp_path / "server.zip"
    again = await save(theirs[0], Journal(theirs[1], last_seq=0), copy, now=NOW)
    assert again.counts == kept.made.counts
    lines = {(of, id): point for of, id, point in read_lines(copy)}
    assert lines.keys() == kept.points.keys()
    assert {key: one.payload for key, one in lines.items() if one} == {
        key: one.payload for key, one in kept.points.items()
    }
    client.close()


async def test_only_an_empty_place_is_restored_to(kept: Kept, tmp_path: Path) -> None:
    """One that was only opened is empty, whatever its embedder; what holds a memory stays."""
    await (await open_base(tmp_path / "store", dimension=32)).close()
    target = located(tmp_path / "store")
    await restore(kept.file, target)
    with pytest.raises(StoreMismatchError, match="name an empty place"):
        await restore(kept.file, target)
    assert await points_in(tmp_path / "store") == kept.points


@in_folder
async def test_an_open_store_is_restored_over_by_nobody(kept: Kept, tmp_path: Path) -> None:
    """A store that is open can neither be restored over nor saved but by its owner."""
    base = await open_base(tmp_path / "store", dimension=16)
    place = located(tmp_path / "store")
    with pytest.raises(StoreBusyError):
        await restore(kept.file, place)
    with pytest.raises(StoreBusyError):
        await save_store(place, tmp_path / "b.zip", now=NOW)
    await base.close()


def broken(file: Path, how: str) -> None:
    """Damage a backup."""
    data = file.read_bytes()
    if how == "half":
        file.write_bytes(data[: len(data) // 2])
    elif how == "empty":
        file.write_bytes(b"")
    elif how == "a byte":
        file.write_bytes(data[:400] + bytes([data[400] ^ 1]) + data[401:])
    elif how == "text":
        file.write_text("no backup")
    else:
        with zipfile.ZipFile(file) as archive:
            parts = {name: archive.read(name) for name in archive.namelist()}
        manifest = json.loads(parts[MANIFEST])
        lines = parts[POINTS].splitlines(keepends=True)
        if how == "a line less":
            parts[POINTS] = b"".join(lines[:-1])
        elif how == "no manifest":
            del parts[MANIFEST]
        elif how == "a later format":
            parts[MANIFEST] = json.dumps({**manifest, "format": 2}).encode()
        elif how == "another schema":
            made = {**manifest["made_with"], "schema": 99}
            parts[MANIFEST] = json.dumps({**manifest, "made_with": made}).encode()
        with zipfile.ZipFile(file, "w") as archive:
            for name, part in parts.items():
                archive.writestr(name, part)


@pytest.mark.parametrize(
    ("how", "error", "message"),
    [
        ("half", FileError, "no whole backup"),
        ("empty", FileError, "no whole backup"),
        ("a byte", FileError, "no whole backup"),
        ("text", FileError, "no whole backup"),
        ("a line less", FileError, "no whole backup"),
        ("no manifest", FileError, "no whole backup"),
        ("a later format", FileError, "format 2 and this version reads 1"),
        ("another schema", StoreMismatchError, "schema 99, and this version reads up to"),
    ],
)
async def test_a_broken_file_changes_nothing(
    kept: Kept,
    tmp_path: Path,
    how: str,
    error: type[Exception],
    message: str,
) -> None:
    """It is told before anything is written."""
    file = Path(shutil.copy(kept.file, tmp_path / "b.zip"))
    broken(file, how)
    with pytest.raises(error, match=message):
        await restore(file, located(tmp_path / "new"))
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("dimension", ["x", None, True, 0, 17, 10**9])
async def test_a_dimension_that_no_vector_has(
    kept: Kept, tmp_path: Path, dimension: object
) -> None:
    """A manifest that lies about it is told before anything is made so large."""
    file = tmp_path / "b.zip"
    told = kept.made.model_dump(mode="json")
    told["made_with"]["dimension"] = dimension
    with zipfile.ZipFile(kept.file) as whole, zipfile.ZipFile(file, "w") as archive:
        archive.writestr(POINTS, whole.read(POINTS))
        archive.writestr(MANIFEST, json.dumps(told))
    with pytest.raises(FileError, match="no whole backup"):
        await restore(file, located(tmp_path / "new"))
    assert not (tmp_path / "new").exists()


async def test_a_backup_takes_no_other_files_place(kept: Kept, tmp_path: Path) -> None:
    """A former backup is replaced, any other file is left; nothing half-made stays behind."""
    other, former = tmp_path / "notes.txt", tmp_path / "b.zip"
    other.write_text("mine")
    shutil.copy(kept.file, former)
    for file, message in ((other, "is no backup"), (tmp_path / "no" / "b.zip", "no folder")):
        with pytest.raises(FileError, match=message):
            await save_store(kept.store, file, now=NOW)
    await save_store(kept.store, former, now=NOW)
    assert verify(former).counts == kept.made.counts
    assert files(tmp_path) == ["b.zip", "notes.txt"]
    assert other.read_text() == "mine"


async def test_what_is_not_there_is_told(tmp_path: Path) -> None:
    """Neither a store nor a backup is made by looking for one."""
    place = located(tmp_path / "none")
    with pytest.raises(NotFoundError, match="there is no store at"):
        await save_store(place, tmp_path / "b.zip", now=NOW)
    with pytest.raises(NotFoundError, match="there is no backup at"):
        await restore(tmp_path / "b.zip", place)
    with pytest.raises(FileError, match="cannot be read: Is a directory"):
        await restore(tmp_path, place)
    assert files(tmp_path) == []


texts = st.text(st.characters(exclude_categories=["Cs"]))


def values(numbers: st.SearchStrategy[float]) -> st.SearchStrategy[object]:
    """What JSON can hold."""
    return st.recursive(
        st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | numbers | texts,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
        max_leaves=8,
    )


short = st.floats(-1e6, 1e6).map(lambda number: round(number, 6))
"""Numbers that the engine returns as they were given; of 17 digits it may change the last."""
singles = st.floats(width=32, allow_nan=False, allow_infinity=False)
vectors = st.lists(singles, min_size=4, max_size=4).map(tuple)
words = st.dictionaries(st.integers(0, 2**32 - 1), singles, max_size=4).map(
    lambda found: Sparse(tuple(found), tuple(found.values()))
)
any_points = st.builds(
    Point,
    st.uuids().map(str),
    st.dictionaries(texts, values(st.floats(allow_nan=False)), max_size=4),
    st.none() | vectors,
    st.none() | words,
    st.lists(vectors, max_size=2).map(tuple),
    st.none() | words,
)


@given(any_points)
def test_a_line_holds_a_point_as_it_is(point: Point) -> None:
    """Whatever words, numbers and vectors it has, a point is read back equal, from one line."""
    line = encode_line("memories", point.id, point)
    assert b"\n" not in line
    assert decode_line(line) == ("memories", point.id, point)


ids = texts.filter(lambda text: bool(text.strip()))


@settings(max_examples=3, phases=[Phase.explicit, Phase.generate])
@given(
    st.lists(st.tuples(ids, texts, st.dictionaries(texts, values(short), max_size=2)), min_size=1)
)
def test_backup_and_restore_are_the_identity(
    tmp_path_factory: pytest.TempPathFactory, told: list[tuple[str, str, dict[str, object]]]
) -> None:
    """Memories and turns of any words and data come back as the engine held them."""

    async def both(run: Path) -> tuple[Points, Points]:
        base = await open_base(run / "store", dimension=16)
        for number, (id, text, data) in enumerate(told):
            await keep(base, f"{number} {text}"[:2000], cues=(id,), data=data)
            base.journal.record(turn(text, id, turn_id=f"{number}", user_id=f"{id}x"[:500]))
        await base.embed_turns()
        await save(base.memories, base.journal, run / "b.zip", now=NOW)
        saved = await points(base.memories, base.journal.collection)
        await base.close()
        await restore(run / "b.zip", located(run / "new"))
        return saved, await points_in(run / "new")

    with TemporaryDirectory(dir=tmp_path_factory.getbasetemp()) as folder:
        saved, restored = asyncio.run(both(Path(folder)))
    assert restored == saved
