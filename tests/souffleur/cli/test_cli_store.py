"""The commands that keep a store: backup and restore."""

import asyncio
from pathlib import Path

import pytest

from souffleur.runtime import Souffleur
from souffleur.settings import Settings
from tests.build import NOW, open_base
from tests.command import Run, data
from tests.souffleur.cli.test_cli import process

ME = ("--user", "ann")


def test_a_store_is_saved_and_restored(run: Run, tmp_path: Path) -> None:
    """What `backup` wrote, `restore` brings to an empty folder; a full one is refused."""
    run("remember", "Ann likes green tea.", *ME)
    file, new = tmp_path / "b.zip", tmp_path / "new"
    made = data(run, "backup", str(file))
    assert (made["counts"]["memory"], made["bytes"]) == (1, file.stat().st_size)
    code, out, _ = run("restore", str(file), "--into", str(new))
    assert code == 0
    assert "1 ledger entry, 1 memory" in out
    code, _, err = run("restore", str(file))
    assert code == 1
    assert "holds memories already: name an empty place" in err


async def test_a_store_in_use_is_saved_by_its_owner(run: Run, tmp_path: Path) -> None:
    """The command names the owner and the method; the method saves while it is open."""
    base = await open_base(tmp_path / "store", dimension=64)
    done = await asyncio.to_thread(process, "backup", str(tmp_path / "b.zip"))
    await base.close()
    assert done.returncode == 4
    assert "in use by process" in done.stderr
    assert done.stderr.endswith("UTC: stop it first, or call memory.backup in it\n")
    place = Settings(path=tmp_path / "store", embedder="hash:64")
    async with Souffleur.open(place, clock=lambda: NOW) as memory:
        made = await memory.backup(tmp_path / "b.zip")
        memory.observe(user_id="ann", user="later")
    assert made.made_at == NOW
    assert await Souffleur.restore(tmp_path / "b.zip", place, path=tmp_path / "new") == made


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (("backup", "b.zip"), 3, "there is no store at"),
        (("restore", "nowhere.zip"), 3, "there is no backup at nowhere.zip"),
        (("restore", __file__), 1, "is no whole backup, so nothing was done"),
    ],
)
def test_what_cannot_be_saved_or_restored(
    run: Run, words: tuple[str, ...], code: int, message: str
) -> None:
    """One sentence says why, and nothing is made."""
    got, _, err = run(*words)
    assert (got, message in err) == (code, True), err
