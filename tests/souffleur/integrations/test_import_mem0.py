"""Import of mem0's memories."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from souffleur.api import Souffleur
from souffleur.errors import FileError
from souffleur.knowledge.memory import Source
from souffleur.settings import Settings
from tests.build import NOW
from tests.place import where

pytestmark = pytest.mark.asyncio(loop_scope="module")

TEA: dict[str, Any] = {
    "id": "892db2ae-06d9-49e5-8b3e-585ef9b85b8e",
    "memory": "Ann likes green tea.",
    "hash": "c4f1",
    "metadata": {"place": "home"},
    "categories": ["food"],
    "created_at": "2024-07-26T08:44:41.039788-07:00",
    "updated_at": None,
    "expiration_date": None,
    "user_id": "ann",
}
OTHERS: list[dict[str, Any]] = [
    {"id": "2", "memory": "Ben sails.", "user_id": "ben", "agent_id": "luna"},
    {"id": "3", "memory": "Somebody skis."},
    {"id": "4", "memory": " ", "user_id": "ann"},
    {"id": "5", "memory": "Ann is away.", "user_id": "ann", "expiration_date": "2025-01-01"},
    {"id": "6", "memory": "Ann likes  green tea!", "user_id": "ann"},
]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def memory(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Souffleur]:
    """A store in which Luna knows only her own memories."""
    chosen = Settings(**where(tmp_path_factory.mktemp("store")), embedder="hash:64")
    async with Souffleur.open(chosen, clock=lambda: NOW) as one:
        await one.introduce_persona(agent_id="luna", knows="own")
        yield one


def written(folder: Path, what: Any) -> Path:
    """Return a file that holds JSON."""
    file = folder / "mem0.json"
    file.write_text(json.dumps(what, indent=1), encoding="utf-8")
    return file


async def test_each_is_taken_once(memory: Souffleur, tmp_path: Path) -> None:
    """A memory keeps its time, words and user; skipped ones are counted; nothing comes twice."""
    file = written(tmp_path, {"results": [TEA, *OTHERS]})
    tried = await memory.import_file(file, dry_run=True)
    assert (tried.source, tried.new, await memory.users()) == ("mem0", {"memory": 3}, [])
    done = await memory.import_file(file)
    assert done.new == {"memory": 2}
    assert done.skipped == {
        "memory: blank, too long, or with a field that cannot be read": 1,
        "memory: duplicate": 1,
        "memory: expired": 1,
        "memory: it names no user: say whose it is": 1,
    }
    (tea,) = await memory.list(user_id="ann")
    assert (tea.content, tea.source, tea.topics) == (TEA["memory"], Source.IMPORT, ("food",))
    assert tea.data == {"metadata": {"place": "home"}}
    assert tea.valid_from is not None
    assert tea.valid_from.isoformat() == "2024-07-26T15:44:41.039788+00:00"
    assert await memory.list(user_id="ben", agent_id="nox") == []
    assert len(await memory.list(user_id="ben", agent_id="luna")) == 1
    twice = await memory.import_file(file)
    assert (twice.new, twice.known) == ({}, {"memory": 3})
    await memory.forget(tea.content, user_id="ann")
    assert (await memory.import_file(file)).new == {}


async def test_for_one_user(memory: Souffleur, tmp_path: Path) -> None:
    """Memories of other users are skipped, those without a user belong to the named user."""
    done = await memory.import_file(written(tmp_path, [TEA, *OTHERS]), user_id="zoe", source="mem0")
    assert done.new == {"memory": 1}
    assert done.skipped == {"memory: of another user": 5}
    assert [one.content for one in await memory.list(user_id="zoe")] == ["Somebody skis."]


async def test_a_user_who_wants_no_memory_gets_none(memory: Souffleur, tmp_path: Path) -> None:
    """The user's memories are counted as skipped; those of others are imported."""
    file = tmp_path / "mem0.json"
    told = [{"id": name, "memory": f"{name} sails.", "user_id": name} for name in ("cleo", "bo")]
    file.write_text(json.dumps(told))
    await memory.set_preferences(user_id="cleo", memory=False)
    for dry_run in (True, False):
        taken = await memory.import_file(file, dry_run=dry_run)
        assert taken.new == {"memory": 1}
        assert taken.skipped == {"memory: of a user who wants none": 1}
    assert await memory.list(user_id="cleo") == []


@pytest.mark.parametrize("dry_run", [True, False])
async def test_what_no_store_can_hold(memory: Souffleur, tmp_path: Path, dry_run: bool) -> None:
    """Half a character in an id, or data without end, is left out; in data it is replaced."""
    deep = "[" * 300 + "]" * 300
    file = tmp_path / "mem0.json"
    file.write_text(
        '[{"id": "a\\ud800", "memory": "Ann likes tea."}, {"id": "b", "memory": "Ann likes milk.", '
        '"metadata": {"a": "\\ud800"}}, {"id": "c", "memory": "Ann likes beer.", "metadata": '
        f'{{"a": {deep}}}}}, {{"id": "d", "memory": "Ann likes ale.", "categories": "drinks"}}]'
    )
    taken = await memory.import_file(file, user_id="ann", dry_run=dry_run)
    assert (taken.new, list(taken.skipped.values())) == ({"memory": 2}, [2])
    kept = await memory.list(user_id="ann")
    told = {one.content: (one.topics, one.data.get("metadata")) for one in kept}
    milk, ale = ((), {"a": "\ufffd"}), (("drinks",), None)
    assert told == ({} if dry_run else {"Ann likes milk.": milk, "Ann likes ale.": ale})


async def test_a_memory_that_cannot_be_read(memory: Souffleur, tmp_path: Path) -> None:
    """It is named, and the others are imported; an invalid day is left out."""
    odd = [{"memory": "a"}, 7, None, {"id": "8", "memory": ["b"]}]
    dated = {"id": "9", "memory": "Ann rows.", "created_at": "soon", "user_id": "ann"}
    taken = await memory.import_file(written(tmp_path, [*odd, dated]), user_id="ann", source="mem0")
    assert taken.new == {"memory": 1}
    assert [one.partition(": ")[0] for one in taken.unread] == [
        "memory 1",
        "memory 2",
        "memory 3",
        "memory 4 '8'",
    ]
    assert sum(taken.skipped.values()) == len(odd)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('{"results": [\n{"memory": "a"},\n', "line 3: this is no JSON"),
        ('{"memory": "a"}', "holds no list of memories"),
        ('[{"memory": "a"}]', "no memory with an id"),
    ],
)
async def test_a_broken_file(memory: Souffleur, tmp_path: Path, text: str, why: str) -> None:
    """A broken file is refused as a whole."""
    file = tmp_path / "mem0.json"
    file.write_text(text)
    with pytest.raises(FileError, match=why):
        await memory.import_file(file)
