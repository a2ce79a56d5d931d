"""Local commands while `souffleur serve` has the store: they work through it."""

import asyncio
import os
import socket
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

from souffleur.api import Souffleur
from souffleur.door import Door, bound
from souffleur.settings import Settings
from tests.command import Run, data, on_disk
from tests.faults.child import running
from tests.scripted import episode, portrait
from tests.souffleur.cli.test_cli import DIALOGUE, ME
from tests.souffleur.cli.test_companion import keeps_tea, model
from tests.stub import Stub, say

LOADED = (
    "souffleur.server.app",
    "souffleur.integrations.mcp.server",
    "uvicorn",
)


@contextmanager
def serving(folder: Path, *words: str) -> Iterator[str]:
    """A process that serves the store in a folder; what it says first."""
    env = {**os.environ, "SOUFFLEUR_PATH": str(folder), "SOUFFLEUR_EMBEDDER": "hash:64"}
    command = ("serve", "--port", "0", *words)
    with running("souffleur", *command, env=env, loads=LOADED) as child:
        yield child.stdout.readline()


@pytest.fixture
def served(tmp_path: Path, run: Run) -> Iterator[Path]:
    """A store that another process serves."""
    assert run("remember", "Me likes tea.")[0] == 0
    with serving(tmp_path / "store", "--no-schedule") as said:
        assert said.startswith("serving at ")
        yield tmp_path / "store"


@on_disk
def test_commands_find_the_owner(served: Path, run: Run, tmp_path: Path) -> None:
    """They read and change the same memories as it, without opening the store."""
    (tea,) = data(run, "list")
    assert stat.S_IMODE((served / "owner.sock").stat().st_mode) == 0o600
    assert data(run, "remember", "Me sails.")[0]["op"] == "ADD"
    assert [one["content"] for one in data(run, "search", "tea")][:1] == ["Me likes tea."]
    assert len(data(run, "list", "--everybody", "--all")) == 2
    short = tea["id"][:10]
    assert data(run, "show", short)["content"] == "Me likes tea."
    assert data(run, "edit", short, "Me likes oolong.")[0]["op"] == "EDIT"
    *_, edited = data(run, "history", short)
    assert data(run, "undo", edited["id"][:12])[0]["op"] == "UNDO"
    assert data(run, "confirm", short)[0]["op"] == "CONFIRM"
    assert data(run, "forget", "Me sails", "--yes")[0]["op"] == "FORGET"
    assert data(run, "list", "--proposals") == []
    assert [one["user_id"] for one in data(run, "user", "list")] == ["me"]
    assert data(run, "user", "people", "--user", "me", "--title", "Mia")[0]["title"] == "Mia"
    assert data(run, "report")["states"] == {"active": 1, "forgotten": 1}
    assert data(run, "run", "decay", "--dry-run")["name"] == "decay"
    assert run("user", "profile")[0] == run("ask", "tea")[0] == run("doctor")[0] == 0
    assert data(run, "store", "backup", str(tmp_path / "copy.zip"))["counts"]["memory"] == 2
    assert (tmp_path / "copy.zip").exists()
    assert (
        data(run, "store", "export", str(tmp_path / "copy.jsonl"))["counts"]["memory"] == 1
    )  # not the forgotten one
    assert data(run, "store", "import", str(tmp_path / "copy.jsonl"))["known"]["memory"] == 1
    (tmp_path / "chat.json").write_text('[{"role": "user", "content": "hi"}]')
    chat = (
        "store",
        "import",
        str(tmp_path / "chat.json"),
        "--user",
        "me",
        "--agent",
        "luna",
        "--yes",
    )
    assert data(run, *chat)["new"] == {"turn": 1}
    code, _, err = run("run", "review")
    assert (code, "no model is configured" in err) == (1, True)
    code, _, err = run("retry")
    assert (code, "for the process that serves" in err) == (2, True)
    code, _, err = run("schedule")
    assert (code, "runs no jobs" in err) == (4, True)
    assert data(run, "store", "erase", "--user", "me", "--yes")["counts"]["memory"] == 2


@on_disk
def test_commands_that_need_the_store_alone(
    served: Path, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They say that the server is to be stopped first, and do nothing."""
    dialogue = tmp_path / "tea.yaml"
    dialogue.write_text(DIALOGUE)
    monkeypatch.setenv("SOUFFLEUR_BASE_URL", "http://127.0.0.1:9/v1")
    assert data(run, "store", "backup", str(tmp_path / "copy.zip"))["counts"]["memory"] == 1
    for words in (
        ("chat",),
        (
            "store",
            "repair",
        ),
        (
            "store",
            "reembed",
        ),
        ("store", "migrate", str(tmp_path / "there")),
        ("store", "restore", str(tmp_path / "copy.zip")),
        ("eval", "replay", str(dialogue), "--keep"),
    ):
        code, out, err = run(*words)
        assert code == 4, words
        assert words == ("chat",) or not out
        assert "stop that one first, `souffleur serve`," in err
    assert not (tmp_path / "there").exists()
    elsewhere = str(tmp_path / "elsewhere")
    assert run("store", "restore", str(tmp_path / "copy.zip"), "--into", elsewhere)[0] == 0


def facts(run: Run) -> list[str]:
    """What is remembered of Ann, without the portrait."""
    return [one["content"] for one in data(run, "list", *ME) if one["category"] == "fact"]


@on_disk
def test_turns_and_episodes_of_the_owner(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stub: Callable[..., Stub]
) -> None:
    """Failed turns are listed and judged again; a turn is erased; a report's page is written."""
    dialogue = tmp_path / "tea.yaml"
    dialogue.write_text(DIALOGUE)
    whole = portrait("Ann likes tea.", "Ann talks of it.", "Ann is calm.")
    answers = model(monitor=keeps_tea, episode=episode("Ann talked about tea."), portrait=whole)
    monkeypatch.setenv("SOUFFLEUR_RETRY_PAUSE", "0")
    monkeypatch.setenv("SOUFFLEUR_USER_TITLE", "Ann")
    monkeypatch.setenv("SOUFFLEUR_BASE_URL", stub(say("no idea")).base_url)
    assert run("eval", "replay", str(dialogue), "--keep")[0] == 0
    monkeypatch.setenv("SOUFFLEUR_BASE_URL", stub(answers).base_url)
    with serving(tmp_path / "store") as said:
        assert said.startswith("serving at ")
        failed = data(run, "list", "--failed")
        assert [turn["tries"] for turn in failed] == [3, 3]
        assert data(run, "list", "--failed", "--user", "nobody") == []
        assert run("retry")[:2] == (0, "2 of 2 turns judged, 0 not\n")
        assert facts(run) == ["Ann likes tea."]
        assert data(run, "list", "--failed") == []
        assert data(run, "list", "--episodes", *ME).keys() == {"waiting", "episodes"}
        page = tmp_path / "page.html"
        assert run("report", "--html", str(page))[0] == 0
        assert "Ann likes tea." in page.read_text(encoding="utf-8")
        assert run("schedule")[1].startswith("scheduled by the process that has the store: ")
        assert run("store", "erase", "--turn", "f" * 8, "--yes")[0] == 3
        erased = data(run, "store", "erase", "--turn", failed[0]["id"][:12], "--yes")
        assert erased["counts"]["turn"] == 1
        assert facts(run) == []


@on_disk
async def test_mcp_through_the_owner(served: Path) -> None:
    """A process for a client's tools works on the store that another serves."""
    given = {"SOUFFLEUR_PATH": str(served), "SOUFFLEUR_EMBEDDER": "hash:64"}
    command = StdioServerParameters(
        command=sys.executable, args=["-m", "souffleur", "mcp"], env=given
    )
    async with Client(stdio_client(command)) as client:
        assert not (await client.call_tool("add_memory", {"text": "Me sails."})).is_error
        found = await client.call_tool("get_memories", {})
    assert found.structured_content
    assert found.structured_content["total"] == 2


def test_a_socket_of_a_dead_owner(run: Run, tmp_path: Path) -> None:
    """A command opens the store itself; the next owner replaces the socket."""
    store = tmp_path / "store"
    store.mkdir()
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(store / "owner.sock"))
    assert data(run, "list") == []
    replaced = bound(store / "owner.sock")
    assert replaced
    replaced.close()
    deep = tmp_path / ("x" * 100)
    deep.mkdir()
    assert bound(deep / "owner.sock") is None


async def test_a_store_on_a_server_needs_no_socket(tmp_path: Path) -> None:
    """Commands open it themselves."""
    chosen = Settings(path=tmp_path, embedder="hash:64")
    async with Souffleur.open(chosen) as memory:
        assert (tmp_path / "owner.sock").exists()
        (tmp_path / "owner.sock").unlink()
        elsewhere = chosen.model_copy(update={"qdrant_url": "http://127.0.0.1:9"})
        Door(memory, elsewhere).open()
        assert not (tmp_path / "owner.sock").exists()
    assert not (tmp_path / "owner.sock").exists()


@on_disk
async def test_a_host_can_be_looked_at(run: Run, tmp_path: Path) -> None:
    """While a bot has the store, commands read and change what it remembers."""
    chosen = Settings(path=tmp_path / "store", embedder="hash:64")
    async with Souffleur.open(chosen) as memory:
        await memory.remember("Me likes tea.", user_id="me")
        found = await asyncio.to_thread(data, run, "list")
        assert [one["content"] for one in found] == ["Me likes tea."]
        code, out, _ = await asyncio.to_thread(run, "report")
        assert (code, "me" in out) == (0, True)
        found = await asyncio.to_thread(data, run, "doctor")
        assert "Nobody judges what is said" in str(found)
        await asyncio.to_thread(data, run, "remember", "Me sails.")
        assert len(await memory.list(user_id="me")) == 2
    assert len(await asyncio.to_thread(data, run, "list")) == 2
