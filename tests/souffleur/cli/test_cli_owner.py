"""Local commands while `souffleur serve` has the store: they work through it."""

import socket
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from souffleur.runtime import Souffleur
from souffleur.serving.server import owned, owner_socket
from souffleur.settings import Settings
from tests.command import Run, data
from tests.souffleur.cli.test_cli_serve import serving


@pytest.fixture
def served(tmp_path: Path, run: Run) -> Iterator[Path]:
    """A store that another process serves."""
    assert run("remember", "Me likes tea.")[0] == 0
    with serving(tmp_path / "store", "--no-schedule") as (_, said):
        assert said.startswith("serving at ")
        yield tmp_path / "store"


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
    assert [one["user_id"] for one in data(run, "users")] == ["me"]
    assert data(run, "people", "--user", "me", "--title", "Mia")[0]["title"] == "Mia"
    assert data(run, "report")["states"] == {"active": 1, "forgotten": 1}
    assert data(run, "run", "decay", "--dry-run")["name"] == "decay"
    assert run("profile")[0] == run("ask", "tea")[0] == run("doctor")[0] == 0
    assert data(run, "backup", str(tmp_path / "copy.zip"))["counts"]["memory"] == 2
    assert (tmp_path / "copy.zip").exists()
    code, _, err = run("run", "review")
    assert (code, "no model is configured" in err) == (1, True)
    code, _, err = run("episodes")
    assert (code, "is in use by process" in err) == (4, True)
    assert data(run, "erase", "--user", "me", "--yes")["counts"]["memory"] == 2


def test_a_socket_of_a_dead_owner(run: Run, tmp_path: Path) -> None:
    """A command opens the store itself; the next owner replaces the socket."""
    store = tmp_path / "store"
    store.mkdir()
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(store / "owner.sock"))
    assert data(run, "list") == []
    with owner_socket(store / "owner.sock") as at:
        assert at is not None
    assert not (store / "owner.sock").exists()
    deep = tmp_path / ("x" * 100)
    deep.mkdir()
    with owner_socket(deep / "owner.sock") as at:
        assert at is None


async def test_a_store_on_a_server_needs_no_socket(tmp_path: Path) -> None:
    """Commands open it themselves."""
    chosen = Settings(path=tmp_path, embedder="hash:64")
    async with Souffleur.open(chosen) as memory:
        memory.settings = chosen.model_copy(update={"qdrant_url": "http://127.0.0.1:9"})
        async with owned(memory):
            assert not (tmp_path / "owner.sock").exists()
        memory.settings = chosen
        async with owned(memory):
            assert (tmp_path / "owner.sock").exists()
