"""Export and import of a store's own format."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from tempfile import mkdtemp
from typing import Any
from uuid import UUID

import pytest
import pytest_asyncio
from hypothesis import HealthCheck, given, settings, strategies as st

from souffleur.api import Souffleur
from souffleur.errors import FileError, NotFoundError, StoreMismatchError
from souffleur.knowledge.operation import Actor, ActorKind, derive_id
from souffleur.knowledge.policy import EVERBOT
from souffleur.knowledge.store.engine.collection import Filter, read_all
from souffleur.knowledge.store.records import put_memories
from souffleur.knowledge.store.repair import find_broken
from souffleur.knowledge.store.topics import make_order
from souffleur.settings import Settings
from tests.build import NOW, memory as a_memory
from tests.place import where
from tests.stores import open_empty

pytestmark = pytest.mark.asyncio(loop_scope="module")

UGLY = '### \u202e猫 | \\n {"souffleur":\u2028 \x1f 🦉'


def chosen(folder: Path, **fields: Any) -> Settings:
    """Settings of a store in a folder."""
    return Settings(**where(folder), embedder="hash:64", **fields)


def opened(folder: Path, **fields: Any) -> Any:
    """Open a store that judges nothing."""
    return open_empty(chosen(folder, **fields), clock=lambda: NOW)


async def filled(memory: Souffleur) -> None:
    """Have two users, with memories, history, turns, items and introductions."""
    await memory.introduce(user_id="ann", title="Annie")
    await memory.set_preferences(user_id="ann", show_references=True)
    await memory.introduce_persona(agent_id="luna", knows="own")
    await memory.define(agent_id="luna", what=["Luna is an owl."])
    (first,) = await memory.remember(f"Ann likes tea. {UGLY}", user_id="ann")
    await memory.remember("Ann fears dogs.", user_id="ann", agent_id="luna")
    await memory.edit(first.changes[0].after.id, f"Ann likes oolong. {UGLY}", user_id="ann")
    (gone,) = await memory.forget("Ann fears dogs.", user_id="ann")
    await memory.undo(gone.id, user_id="ann")
    memory.observe(user_id="ann", session_id="s1", turn_id="t1", user=UGLY, assistant="Noted.")
    await memory.remember("Ben sails.", user_id="ben")
    memory.observe(user_id="ben", session_id="s1", turn_id="t1", user="Ahoy.")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def memory(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Souffleur]:
    """A store of two users."""
    async with opened(tmp_path_factory.mktemp("store")) as one:
        await filled(one)
        yield one


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def file(memory: Souffleur, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An export of it."""
    path = tmp_path_factory.mktemp("files") / "all.jsonl"
    await memory.export(path)
    return path


def read(file: Path) -> bytes:
    """Return what a file holds."""
    return file.read_bytes()


def names(folder: Path) -> list[str]:
    """Return the names of the files in a folder."""
    return [one.name for one in folder.iterdir()]


def lines_of(file: Path) -> list[bytes]:
    """Return the records of an export."""
    return sorted(read(file).splitlines()[1:-1])


async def everything(memory: Souffleur) -> list[str]:
    """Return all that is in a store."""
    both = (memory.knowledge.memories, memory.knowledge.journal.collection)
    found = [point for one in both for point in await read_all(one, Filter())]
    return sorted(json.dumps([point.id, point.payload]) for point in found)


async def test_what_is_exported_is_imported(memory: Souffleur, file: Path, tmp_path: Path) -> None:
    """An empty store has all of it afterwards, twice is once, and its export is the same."""
    again = tmp_path / "again.jsonl"
    async with opened(tmp_path / "new") as new:
        tried = await new.import_file(file, dry_run=True)
        assert tried.new == {
            "entry": 7,
            "memory": 4,
            "person": 1,
            "persona": 1,
            "preferences": 1,
            "session": 2,
            "turn": 2,
        }
        assert (tried.calls, await new.users()) == (2, [])
        done = await new.import_file(file)
        assert done == tried.model_copy(update={"dry_run": False})
        before = await everything(new)
        twice = await new.import_file(file)
        assert (twice.new, twice.known, twice.skipped) == ({}, done.new, {})
        assert await everything(new) == before
        assert (await new.export(again)).counts == done.new
        assert lines_of(again) == lines_of(file)
        tea = next(one for one in await new.list(user_id="ann") if "oolong" in one.content)
        assert [one.op for one in await new.history(tea.id, user_id="ann")] == ["ADD", "EDIT"]
        assert [one.memory.content for one in await new.search("sails", user_id="ben")] == [
            "Ben sails."
        ]


async def test_one_user_alone(memory: Souffleur, tmp_path: Path) -> None:
    """Nothing of another is in the file, and the other's own is refused for that user."""
    file = tmp_path / "ann.jsonl"
    made = await memory.export(file, user_id="ann")
    alone = {"person": 1, "preferences": 1, "session": 1, "turn": 1}
    assert made.counts == {"entry": 5, "memory": 2, **alone}
    assert b"sails" not in read(file)
    with pytest.raises(FileError, match="has records of others than 'ben'"):
        await memory.import_file(file, user_id="ben")
    with pytest.raises(NotFoundError, match="nothing is known of 'zoe'"):
        await memory.export(file, user_id="zoe")


async def test_what_was_erased_and_what_a_user_wants_is_moved(tmp_path: Path) -> None:
    """The receipts of removals and the preferences of users come with the rest."""
    file, again = tmp_path / "all.jsonl", tmp_path / "again.jsonl"
    kept = chosen(tmp_path / "old")  # its files are rewritten
    async with Souffleur.open(kept, clock=lambda: NOW) as old:
        for words in ("Ann likes tea.", "Ann sails."):
            (told,) = await old.remember(words, user_id="ann")
        await old.erase_memory(told.memory_ids[0], user_id="ann")
        await old.set_preferences(user_id="ann", auto_extract=False)
        await old.set_preferences(user_id="zoe", memory=False)
        made = await old.export(file)
    async with opened(tmp_path / "new") as new:
        assert (await new.import_file(file)).new == made.counts
        assert not (await new.preferences(user_id="zoe")).memory
        assert (await new.preferences(user_id="ann")).auto_extract is False
        ops = [one.entry.op for one in await new.ledger(user_id="ann")]
        assert ops == ["ADD", "ADD", "PURGE"]
        await new.export(again)
    assert lines_of(again) == lines_of(file)


async def test_what_is_being_removed_is_not_moved(tmp_path: Path) -> None:
    """The order of a removal, which knows what it is about, is in no export, and is no damage."""
    file = tmp_path / "all.jsonl"
    async with opened(tmp_path / "store") as memory:
        await filled(memory)
        removals, by = memory.knowledge.removals, Actor(who=ActorKind.USER)
        traces = (await memory.preview_topic("dogs", user_id="ann")).traces
        subject = await removals.subject("ann", "dogs", traces)
        order = make_order("ann", traces, subject, by=by, now=NOW, retell=False)
        await removals.begin(order)
        await memory.export(file)
        assert b'"removal"' not in read(file)
        assert await find_broken(memory.knowledge) == []


async def test_what_is_there_stays(file: Path, tmp_path: Path) -> None:
    """A record that has changed since is skipped; what comes later is numbered after the file's."""
    async with opened(tmp_path / "new") as new:
        await new.import_file(file)
        (tea, *_) = await new.list(user_id="ann")
        await new.edit(tea.id, "Ann likes cocoa.", user_id="ann")
        done = await new.import_file(file)
        assert done.skipped == {"memory: another version is there": 1}
        assert (await new.get(tea.id, user_id="ann")).content == "Ann likes cocoa."
        entries = await new.ledger(user_id="ann")
        assert [one.entry.op for one in entries][-1] == "EDIT"
        assert len({one.seq for one in entries}) == len(entries)


async def test_an_interrupted_import_goes_on(file: Path, tmp_path: Path) -> None:
    """Of a file whose first half was taken, the second half is taken."""
    half = tmp_path / "half.jsonl"
    head, *records, end = read(file).splitlines(keepends=True)
    told = json.dumps(json.loads(end) | {"lines": len(records) // 2}, separators=(",", ":"))
    half.write_bytes(b"".join([head, *records[: len(records) // 2], told.encode()]))
    async with opened(tmp_path / "new") as new:
        first = await new.import_file(half)
        second = await new.import_file(file)
        assert second.known == first.new
        assert sum(second.new.values()) == len(records) - len(records) // 2


async def test_another_policy(file: Path, tmp_path: Path) -> None:
    """Memories follow the policy of the store that they come to."""
    async with opened(tmp_path / "new", policy=EVERBOT.name) as new:
        await new.import_file(file)
        (ben,) = await new.list(user_id="ben")
        assert ben.importance <= EVERBOT.core_value


BROKEN: dict[str, tuple[Any, str]] = {
    "cut": (lambda lines: lines[:-1], "the file ends here and is not whole"),
    "line": (lambda lines: [*lines[:2], b"{", *lines[2:]], "line 3: this is no record"),
    "other": (lambda lines: [*lines[:2], *lines[3:]], "records were written and"),
    "after": (lambda lines: [*lines, lines[1]], "something follows the end"),
    "user": (
        lambda lines: [one.replace(b'"ben"', b'"zoe"') for one in lines],
        "its id is that of another record",
    ),
    "kind": (
        lambda lines: [one.replace(b'"type":"turn"', b'"type":"lease"') for one in lines],
        "such a record is in no export",
    ),
    "field": (lambda lines: [one.replace(b'"at":"2026', b'"at":"x') for one in lines], "cannot be"),
    "format": (
        lambda lines: [lines[0].replace(b'"format":1', b'"format":9'), *lines[1:]],
        "of format 9",
    ),
    "policy": (
        lambda lines: [lines[0].replace(b"companion", b"dragon"), *lines[1:]],
        "the policy 'dragon'",
    ),
    "utf-16": (lambda lines: [b"\xff\xfe[\x00"], "is UTF-16: save it as UTF-8"),
    "empty": (lambda lines: [b""], "broken.jsonl is empty"),
    "else": (lambda lines: [b"hello"], "nothing that can be imported"),
}


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for stores that take one file each."""
    return tmp_path_factory.mktemp("places")


@pytest.mark.parametrize("what", BROKEN)
async def test_a_broken_file(memory: Souffleur, file: Path, tmp_path: Path, what: str) -> None:
    """It is refused with the place, before anything is written."""
    breaking, why = BROKEN[what]
    broken = tmp_path / "broken.jsonl"
    broken.write_bytes(b"\n".join(breaking(read(file).splitlines())) + b"\n")
    before = await everything(memory)
    with pytest.raises(FileError, match=why):
        await memory.import_file(broken)
    assert await everything(memory) == before


ODD = [
    ("session", "revision", 10**30),
    ("turn", "seq", 10**30),
    ("entry", "position", -(10**30)),
    ("person", "version", 1e308),
    ("memory", "uses", 2**62),
    ("memory", "importance", 1e308),
    ("memory", "importance", float("inf")),
    ("memory", "grace_days", 1e308),
]


@pytest.mark.parametrize(("kind", "field", "number"), ODD)
async def test_an_odd_number(
    file: Path, tmp_path: Path, kind: str, field: str, number: float
) -> None:
    """A counter that the store cannot hold is refused; a huge value breaks nothing."""
    lines = [json.loads(line) for line in read(file).splitlines()]
    chosen = [one for one in lines if one.get("payload", {}).get("type", "memory") == kind]
    payload = next(one["payload"] for one in chosen if "payload" in one)
    payload[field] = number
    odd = tmp_path / "odd.jsonl"
    odd.write_text("\n".join(map(json.dumps, lines)), "utf-8")
    async with opened(tmp_path / "new") as memory:
        if field in ("importance", "grace_days"):
            await memory.import_file(odd)
        else:
            with pytest.raises(FileError, match="cannot be read"):
                await memory.import_file(odd)
        await memory.report()
        assert memory.observe(user_id="ann", user="hi", session_id="s1").error == ""
        assert (await memory.recall(user_id="ann", text="tea")).error == ""
        assert all(one.importance <= 1000 for one in await memory.list(user_id="ann", state=None))


async def test_what_editors_add_is_no_harm(memory: Souffleur, file: Path, tmp_path: Path) -> None:
    """A byte order mark, other line ends and blank lines are read over."""
    saved = tmp_path / "saved.jsonl"
    saved.write_bytes(b"\xef\xbb\xbf" + b"\r\n\r\n".join(read(file).splitlines()))
    found = await memory.import_file(saved, dry_run=True)
    assert (found.source, sum(found.new.values())) == ("souffleur", 0)
    assert sum(found.known.values()) == len(read(file).splitlines()) - 2


async def test_a_newer_version(memory: Souffleur, file: Path, tmp_path: Path) -> None:
    """An export whose records are of a newer version is refused."""
    newer = tmp_path / "newer.jsonl"
    newer.write_bytes(read(file).replace(b'"schema_version":', b'"schema_version":9', 1))
    with pytest.raises(StoreMismatchError, match="newer version"):
        await memory.import_file(newer)


async def test_where_no_export_goes(memory: Souffleur, tmp_path: Path) -> None:
    """What is no export is not replaced, and a folder is not made."""
    other = tmp_path / "novel.txt"
    other.write_text("Call me")
    with pytest.raises(FileError, match="exists and is no export"):
        await memory.export(other)
    with pytest.raises(FileError, match="there is no folder"):
        await memory.export(tmp_path / "none" / "a.jsonl")
    with pytest.raises(NotFoundError, match="there is no such file"):
        await memory.import_file(tmp_path / "none.jsonl")
    with pytest.raises(NotFoundError, match="no plain file: give one"):
        await memory.import_file(tmp_path)
    assert names(tmp_path) == ["novel.txt"]


WORDS = st.text(st.characters(codec="utf-8"), min_size=1, max_size=40)


@settings(max_examples=15, suppress_health_check=list(HealthCheck))
@given(user=st.uuids(), ugly=st.lists(WORDS, min_size=1, max_size=3))
async def test_any_words(
    memory: Souffleur, places: Path, tmp_path: Path, user: UUID, ugly: list[str]
) -> None:
    """Whatever is said and kept comes out as it went in, by way of another store."""
    who, text = f"{ugly[0]}{user}", "x" + "".join(ugly)
    kept = [a_memory(f"{one}.", id=derive_id(user, one), user_id=who, cues=(one,)) for one in ugly]
    await put_memories(memory.knowledge, kept)
    memory.observe(user_id=who, session_id=text, turn_id=text, user=text, at=NOW)
    there, back = tmp_path / "there.jsonl", tmp_path / "back.jsonl"
    await memory.export(there, user_id=who)
    async with opened(Path(mkdtemp(dir=places))) as new:
        await new.import_file(there, user_id=who)
        await new.export(back, user_id=who)
    assert lines_of(back) == lines_of(there)
