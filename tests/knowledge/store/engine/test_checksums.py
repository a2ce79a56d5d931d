"""The checksums of a closed collection: damage is told before the engine touches a file."""

import shutil
from pathlib import Path

import pytest

from souffleur.errors import StoreError
from souffleur.knowledge.operation import derive_id
from souffleur.knowledge.store.engine.checksums import (
    check_sums,
    data_blocks,
    drop_sums,
    note_sums,
    sums_file,
)
from souffleur.knowledge.store.engine.collection import CollectionSchema, Filter, Point
from souffleur.knowledge.store.engine.edge import EdgeCollection
from souffleur.knowledge.store.opening import StoreLocation, stored_dimension
from tests.build import keep, open_base
from tests.place import in_folder

LAYOUT = CollectionSchema("memories", 4)
HOLE = 10 << 20
"""Bytes: so large that a file system leaves it out."""


def folder_with(tmp_path: Path, content: bytes, *, hole: int = 0) -> Path:
    """A folder of one file, which begins with so many zeros that are not written."""
    (tmp_path / "memories" / "inner").mkdir(parents=True)
    with (tmp_path / "memories" / "inner" / "file").open("wb") as data:
        data.seek(hole)
        data.write(content)
    return tmp_path / "memories"


def test_what_did_not_change_is_well(tmp_path: Path) -> None:
    """Twice the same files are the same, also if a copy has written the zeros out."""
    folder = folder_with(tmp_path, b"tea", hole=HOLE)
    note_sums(folder)
    check_sums(folder)
    file = folder / "inner" / "file"
    file.write_bytes(file.read_bytes())
    check_sums(folder)


@pytest.mark.parametrize(
    "after",
    [b"tee", b"te", b"tea\0", b"\0tea", b"", b"\0\0\0"],
    ids=["altered", "cut", "longer", "shifted", "empty", "zeros"],
)
@pytest.mark.parametrize("hole", [0, HOLE], ids=["dense", "sparse"])
def test_whatever_changed_is_named(tmp_path: Path, after: bytes, hole: int) -> None:
    """The error names the file, the folder and the way out; without the sums nothing is said."""
    folder = folder_with(tmp_path, b"tea", hole=hole)
    note_sums(folder)
    shutil.rmtree(folder)
    folder_with(tmp_path, after, hole=hole)
    with pytest.raises(StoreError, match=r"1 of the files of 'memories'.*inner/file.*delete"):
        check_sums(folder)
    drop_sums(folder)
    check_sums(folder)
    drop_sums(folder)


def test_a_block_is_known_by_its_place(tmp_path: Path) -> None:
    """The same words further back in a file are not the same file."""
    folder = folder_with(tmp_path, b"tea" + bytes(HOLE))
    note_sums(folder)
    with (folder / "inner" / "file").open("r+b") as data:
        data.write(bytes(3))
        data.seek(HOLE // 2)
        data.write(b"tea")
    assert [start for start, _ in data_blocks(folder / "inner" / "file")] == [HOLE // 2]
    with pytest.raises(StoreError, match="inner/file"):
        check_sums(folder)


@pytest.mark.parametrize("sums", [b"", b"{", b"[1]", b'{"a": 1}', b"\xff\xfe"], ids=repr)
def test_sums_that_cannot_be_read_are_named(tmp_path: Path, sums: bytes) -> None:
    """Damage to the sums is damage as well."""
    folder = folder_with(tmp_path, b"tea")
    sums_file(folder).write_bytes(sums)
    with pytest.raises(StoreError, match=r"memories\.sums"):
        check_sums(folder)


@in_folder
async def test_a_store_that_lost_its_memories_is_not_made_anew(tmp_path: Path) -> None:
    """A folder taken out of a closed store is an error, and no empty collection takes its place."""
    base = await open_base(tmp_path)
    await base.close()
    shutil.rmtree(tmp_path / "memories")
    for _ in range(2):
        with pytest.raises(StoreError, match="damaged while it was closed"):
            await open_base(tmp_path)
    assert not (tmp_path / "memories").exists()


@in_folder
async def test_memories_without_a_journal_are_no_new_store(tmp_path: Path) -> None:
    """A store that was killed, and lost its journal, is an error; an empty one can be made anew."""
    for kept in (0, 1):
        base = await open_base(tmp_path)
        if kept:
            await keep(base)
        await base.close()
        for collection in ("memories", "journal"):
            drop_sums(tmp_path / collection)
        shutil.rmtree(tmp_path / "journal")
    with pytest.raises(StoreError, match="lost its journal"):
        await open_base(tmp_path)


@in_folder
@pytest.mark.parametrize("config", ["", "{", "{}", '{"vectors": 3}'], ids=repr)
async def test_a_damaged_description_is_an_error_of_ours(tmp_path: Path, config: str) -> None:
    """Whoever asks which vectors a store has, before it is opened, gets a StoreError."""
    base = await open_base(tmp_path)
    await base.close()
    (tmp_path / "memories" / "edge_config.json").write_text(config)
    with pytest.raises(StoreError, match="could not open the collection 'memories'"):
        await stored_dimension(StoreLocation(folder=tmp_path))


async def test_an_open_collection_has_no_sums(tmp_path: Path) -> None:
    """They are there once it is closed, and gone as soon as its files may change."""
    folder = tmp_path / "memories"
    for index in range(2):
        collection = EdgeCollection.open(tmp_path, LAYOUT)
        assert not sums_file(folder).exists()
        await collection.put([Point(derive_id(index), {})])
        await collection.close()
        assert sums_file(folder).exists()
    collection = EdgeCollection.open(tmp_path, LAYOUT)
    assert await collection.count(Filter()) == 2
    await collection.close()
