"""Sequences that command a terminal, in what is said or remembered: none is stored, none shown."""

import asyncio
import io
import re
from pathlib import Path
from typing import Any, cast

import pytest
from rich.console import Console
from rich.table import Table

from souffleur.api import Souffleur
from souffleur.cli.console import Cleaning, Shown
from souffleur.knowledge.store.engine.collection import Filter
from souffleur.settings import Settings
from tests.build import NOW
from tests.command import Run, on_disk
from tests.place import where
from tests.scripted import Scripted, add, answer, by_name, episode
from tests.stores import open_empty

HOSTILE = (
    "Ann \x1b]0;PWNED\x07likes \x1b[2J\x1b]52;c;cHduZWQ=\x1b\\"
    "\x1b]8;;http://x.example\x1b\\tea\x1b]8;;\x1b\\ \x9b31m\x9d0;a\x9c\x08\x00\x7f"
)
"""A title, a cleared screen, the clipboard, a link, the 8-bit forms, and single characters."""
PLAIN = "Ann likes tea 31m0;a"
COMMANDS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]|\r(?!\n)")


async def test_no_command_is_stored(tmp_path: Path) -> None:
    """Neither in a memory, its evidence, names and data, nor in turns, episodes and the ledger."""
    added = add(HOSTILE, HOSTILE, entities=["T\x1b[1mom"], cues=["tea \x1b[2J time"])
    chat = Scripted(by_name(monitor=answer(added, reason=HOSTILE), episode=episode(HOSTILE)))
    settings = Settings(**where(tmp_path), embedder="hash:16")
    async with open_empty(settings, chat=chat, clock=lambda: NOW) as memory:
        await memory.introduce(user_id="ann", title="An\x1b[8mn")
        memory.observe(user_id="ann", user=HOSTILE, assistant=HOSTILE)
        await memory.flush()
        memory.end_session(user_id="ann")
        await memory.flush()
        await memory.record_skill("tea \x1b[2J", ["boil \x1b[2J"], user_id="ann")
        knowledge = memory.knowledge
        points = [*(await _all(knowledge.memories)), *(await _all(knowledge.journal.collection))]
        texts = [text for point in points for text in _texts(point.payload)]
        contents = [one.content for one in await memory.list(user_id="ann")]
    assert PLAIN in contents
    assert sum(PLAIN in text for text in texts) > 5
    assert not [text for text in texts if COMMANDS.search(text)]


async def _all(collection: Any) -> list[Any]:
    points, _ = await collection.scroll(Filter(), limit=100)
    return [*points]


def _texts(value: object) -> list[str]:
    if isinstance(value, dict):
        return [text for one in (*value, *value.values()) for text in _texts(one)]
    if isinstance(value, list | tuple):
        return [text for one in value for text in _texts(one)]
    return [value] if isinstance(value, str) else []


@pytest.fixture
def held(tmp_path: Path) -> str:
    """The id of a memory in a store of a version that kept commands."""

    async def fill() -> str:
        settings = Settings(path=tmp_path / "store", embedder="hash:64")
        async with Souffleur.open(settings) as memory:
            (entry,) = await memory.remember("Ann likes tea.", user_id="ann")
            memory.observe(user_id="ann", session_id=HOSTILE, user="x", assistant="y")
            (turn,) = await memory.knowledge.journal.turns()
            journal = memory.knowledge.journal.collection
            await journal.merge_payload([turn.id], {"user": HOSTILE, "error": HOSTILE})
            await journal.merge_payload([entry.id], {"reason": HOSTILE})
            (id,) = entry.memory_ids
            await memory.knowledge.memories.merge_payload([id], {"content": HOSTILE})
            return id

    return asyncio.run(fill())


@on_disk
def test_no_command_is_shown(run: Run, held: str) -> None:
    """Whatever a store holds, and whatever is named to a command that complains of it."""
    for words in (
        *("list", "show ID", "history ID --json", "ask tea"),
        *("show no\x1b[2Jthing", "list --user an\x1b[2Jn"),
    ):
        _, out, err = run(*(held if word == "ID" else word for word in words.split(" ")))
        assert out + err
        assert not COMMANDS.search(out + err), words


@pytest.mark.parametrize("bidi", ["\u202e", "\u2066", "\U000e0041"])
def test_a_terminal_has_only_commands_of_ours(bidi: str) -> None:
    """Rich's own stay, also in tables; those of a text are gone, as are words that hide."""
    out = io.StringIO()
    console = Console(file=cast(Any, Shown(out)), force_terminal=True, width=60, highlight=False)
    console.push_render_hook(Cleaning())
    table = Table("memory")
    table.add_row(HOSTILE + bidi)
    console.print(table, f"[bold]{HOSTILE}[/]{bidi}", HOSTILE)
    assert "\x1b[1m" in out.getvalue()
    assert not COMMANDS.search(re.sub(r"\x1b\[[0-9;]*m", "", out.getvalue()))
    assert bidi not in out.getvalue()
    printed = io.StringIO()
    print(f"{HOSTILE}\t{bidi}", "\x1b", "[2J", sep="", file=cast(Any, Shown(printed)))
    assert printed.getvalue() == f"{PLAIN}\t[2J\n"
