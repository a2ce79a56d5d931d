"""The commands that keep, move and mirror a store."""

import asyncio
import io
import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from souffleur.api import Souffleur
from souffleur.knowledge.operation import Update
from souffleur.settings import Settings
from tests.build import NOW, an_add, keep, open_base, turn, verdict
from tests.command import Run, data, on_disk
from tests.place import where
from tests.souffleur.cli.test_cli import process
from tests.souffleur.cli.test_companion import keeps_tea, model
from tests.stub import Stub

ME = ("--user", "ann")


@on_disk
def test_a_store_is_saved_and_restored(run: Run, tmp_path: Path) -> None:
    """What `backup` wrote, `restore` brings to an empty folder; a full one is refused.

    It says that tokens are not among it.
    """
    run("remember", "Ann likes green tea.", *ME)
    file, new = tmp_path / "b.zip", tmp_path / "new"
    made = data(run, "store", "backup", str(file))
    assert (made["counts"]["memory"], made["bytes"]) == (1, file.stat().st_size)
    code, out, _ = run("store", "restore", str(file), "--into", str(new))
    assert code == 0
    assert "1 ledger entry, 1 memory" in out
    assert "tokens are not in a backup: make new ones with `souffleur token`" in out
    code, _, err = run("store", "restore", str(file))
    assert code == 1
    assert "holds memories already: name an empty place" in err


def test_an_export_and_an_import(run: Run, tmp_path: Path) -> None:
    """What `export` wrote, for `-` to standard output, can be imported as often as one likes.

    A dry run says what would be.
    """
    run("remember", "Ann likes green tea.", *ME)
    run("remember", "Ben sails.", "--user", "ben")
    file = tmp_path / "ann.jsonl"
    assert data(run, "store", "export", str(file), *ME)["counts"] == {"entry": 1, "memory": 1}
    code, out, _ = run("store", "export", str(tmp_path / "all.jsonl"))
    assert (code, "2 ledger entries, 2 memories" in out) == (0, True)
    code, out, err = run("store", "export", "-", *ME)
    assert (code, err, Path("-").exists()) == (0, "", False)
    assert out.splitlines()[1:] == file.read_text("utf-8").splitlines()[1:]
    run("store", "erase", *ME, "--yes")
    code, out, _ = run("store", "import", str(file), "--dry-run")
    assert (code, out) == (0, "would import: 1 ledger entry, 1 memory\n")
    assert data(run, "store", "import", str(file), "--from", "souffleur")["new"]["memory"] == 1
    code, out, _ = run("store", "import", str(file))
    assert out == "imported: nothing\nthere already: 1 ledger entry, 1 memory\n"
    code, _, err = run("store", "import", str(file), "--from", "pigeon")
    assert (code, "nothing is imported from 'pigeon'" in err) == (2, True)


def test_chats_are_taken_and_judged(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stub: Callable[..., Stub]
) -> None:
    """What it takes is said first, and asked about; `retry` judges them as far as a budget goes."""
    told = [[("user", "I like tea"), ("assistant", "Noted.")], [("user", "I sail")]]
    file = tmp_path / "talk.jsonl"
    lines = [
        {"role": role, "content": text, "session_id": str(place), "at": f"2024-01-0{place + 1}"}
        for place, talk in enumerate(told)
        for role, text in talk
    ]
    file.write_text("\n".join(['{"role": "us', *map(json.dumps, lines)]))
    code, out, _ = run("store", "import", str(file), "--from", "messages", *ME, "--dry-run")
    assert "left out: line 1: this is no JSON\n" in out
    file.write_text("\n".join(map(json.dumps, lines)))
    code, out, _ = run("store", "import", str(file), *ME, "--dry-run")
    assert (code, out.splitlines()[0]) == (0, "would import: 2 turns")
    assert "2 calls of the model; 6,4" in out
    assert "set SOUFFLEUR_PRICE_IN" in out
    monkeypatch.setenv("SOUFFLEUR_PRICE_IN", "0.1")
    assert "out; under $0.01" in run("store", "import", str(file), *ME, "--dry-run")[1]
    monkeypatch.setenv("SOUFFLEUR_PRICE_IN", "1")
    monkeypatch.setenv("SOUFFLEUR_CALLS_PER_DAY", "1")
    monkeypatch.setattr(sys, "stdin", io.StringIO("n\n"))
    code, out, err = run("store", "import", str(file), *ME)
    assert (code, "Take these?" in err, "$0.01; 2 days within the budgets" in out) == (
        1,
        True,
        True,
    )
    assert run("store", "import", str(file), *ME, "--yes")[0] == 0
    monkeypatch.setenv("SOUFFLEUR_BASE_URL", stub(model(monitor=keeps_tea)).base_url)
    code, out, _ = run("retry")
    assert (code, "1 of 2 turns judged, 1 not (the budget of the day" in out) == (1, True)
    assert [one["content"] for one in data(run, "list", *ME)] == ["Ann likes tea."]


async def test_a_store_in_use_is_saved_by_its_owner(run: Run, tmp_path: Path) -> None:
    """The command names the owner and the method; the method saves while it is open.

    To read it beside a program that let no command in, it says what to install there.
    """
    base = await open_base(tmp_path / "store", dimension=64)
    done = await asyncio.to_thread(process, "store", "backup", str(tmp_path / "b.zip"))
    listed = await asyncio.to_thread(process, "list")
    await base.close()
    assert listed.returncode == 4
    assert "lets commands in while it runs if it has the extra `serve`" in listed.stderr
    assert "pip install '.[serve]'" in listed.stderr
    assert done.returncode == 4
    assert "in use by process" in done.stderr
    assert done.stderr.endswith("UTC: stop it first, or call memory.backup in it\n")
    place = Settings(**where(tmp_path / "store"), embedder="hash:64")
    async with Souffleur.open(place, clock=lambda: NOW) as memory:
        made = await memory.backup(tmp_path / "b.zip")
        memory.observe(user_id="ann", user="later")
    assert made.made_at == NOW
    assert await Souffleur.restore(tmp_path / "b.zip", place, path=tmp_path / "new") == made


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (("store", "backup", "b.zip"), 3, "there is no store at"),
        (("store", "restore", "nowhere.zip"), 3, "there is no backup at nowhere.zip"),
        (("store", "restore", __file__), 1, "is no whole backup, so nothing was done"),
    ],
)
def test_what_cannot_be_saved_or_restored(
    run: Run, words: tuple[str, ...], code: int, message: str
) -> None:
    """One sentence says why, and nothing is made."""
    got, _, err = run(*words)
    assert (got, message in err) == (code, True), err


def test_users_are_listed_with_numbers(run: Run) -> None:
    """Who is known, by how many memories."""
    run("remember", "Ann likes green tea.", *ME)
    run("remember", "Bob likes rum.", "--user", "bob")
    run("remember", "Bob likes tea.", "--user", "bob")
    assert {one["user_id"]: one["memories"] for one in data(run, "user", "list")} == {
        "ann": 1,
        "bob": 2,
    }
    assert "bob" in run("user", "list")[1]


async def said(folder: Path) -> None:
    """A turn in the store."""
    async with Souffleur.open(Settings(**where(folder), embedder="hash:64")) as memory:
        memory.observe(user_id="ann", user="I live in Ulm", turn_id="msg-1", at=NOW)


@on_disk
def test_erasing_asks_and_gives_a_receipt(run: Run, tmp_path: Path) -> None:
    """Without a yes nothing goes; the receipt has numbers and no words; no command finds it.

    The tokens of the user go, too.
    """
    asyncio.run(said(tmp_path / "store"))
    run("token", *ME)
    run("token", "--user", "ben")
    run("remember", "Ann likes green tea.", *ME)
    asked = process("store", "erase", "--user", "ann", typed="n\n")
    assert (asked.returncode, "Erase everything of 'ann', for good?" in asked.stderr) == (1, True)
    assert data(run, "store", "erase", "--turn", "msg-1", "--yes")["counts"] == {"turn": 1}
    assert data(run, "search", "Ulm", "--scope", "turns", *ME) == []
    code, out, _ = run("store", "erase", "--user", "ann", "--yes")
    assert code == 0
    assert out == "erased of ann: 1 ledger entry, 1 memory, 1 session, 1 turn, 1 token\n"
    assert [one["who"] for one in data(run, "token")] == ["ben"]
    assert data(run, "user", "list") == []
    assert data(run, "list", "--all", "--everybody") == []
    code, _, err = run("store", "erase", "--user", "ann", "--yes")
    assert (code, "nothing is known of 'ann'" in err) == (3, True)
    assert run("store", "erase", "--yes")[0] == 2


async def remembered(folder: Path) -> None:
    """Two memories, one of them about a cat."""
    base = await open_base(folder, dimension=64)
    await keep(base, "Ann has a cat called Mochi.", entities=["Mochi"])
    await keep(base, "Ann likes tea.")
    await base.close()


@on_disk
def test_a_topic_is_forgotten_after_a_look(run: Run, tmp_path: Path) -> None:
    """It is shown first; forgotten, it is gone for good, and so is a memory that is erased."""
    asyncio.run(remembered(tmp_path / "store"))
    code, out, _ = run("store", "erase", "--topic", "Mochi", "--preview", *ME)
    assert code == 0
    assert "it names the topic" in out
    assert data(run, "store", "erase", "--topic", "Mochi", "--yes", *ME)["counts"] == {
        "entry": 1,
        "memory": 1,
    }
    (tea,) = data(run, "list", *ME)
    assert data(run, "store", "erase", "--memory", tea["id"][:8], "--yes")["counts"]["memory"] == 1
    assert data(run, "list", "--all", *ME) == []
    code, _, err = run("store", "erase", "--topic", "Mochi", "--yes", *ME)
    assert (code, "nothing of 'ann' tells of 'Mochi'" in err) == (3, True)
    assert run("store", "compact")[:2] == (0, "nothing deleted is left in the files\n")


async def proposed(folder: Path) -> None:
    """A memory, and two changes that a model proposes."""
    base = await open_base(folder, require_confirmation=True, dimension=64)
    tea = await keep(base, "Ann likes tea.")
    base.journal.record(turn("I like rum, no tea"))
    words = {"reason": "said", "quote": "I like rum, no tea"}
    ops = (
        Update(target=tea.id, content="Ann likes rum.", **words),
        an_add("Ann hates tea.", **words),
    )
    await base.apply(verdict(*ops, user="I like rum, no tea"))
    await base.close()


@on_disk
def test_proposals_are_confirmed_and_rejected(run: Run, tmp_path: Path) -> None:
    """What waits is listed with its id; one is carried out, the other is not; words are edited."""
    asyncio.run(proposed(tmp_path / "store"))
    update, added = sorted(data(run, "list", "--proposals"), key=lambda entry: entry["op"] == "ADD")
    (done,) = data(run, "confirm", update["id"][:8])
    assert done["op"] == "UPDATE"
    assert data(run, "reject", added["id"])[0]["op"] == "FORGET"
    (left,) = data(run, "list", *ME)
    assert left["content"] == "Ann likes rum."
    (edited,) = data(run, "edit", left["id"][:8], "Ann likes dark rum.")
    assert (edited["op"], edited["by"]["who"]) == ("EDIT", "user")
    data(run, "confirm", left["id"])
    assert data(run, "list", *ME)[0]["content"] == "Ann likes dark rum."
    data(run, "undo", edited["id"])
    assert data(run, "list", *ME)[0]["content"] == "Ann likes rum."
    assert data(run, "list", "--proposals") == []
    code, _, err = run("edit", left["id"], " ")
    assert (code, "must not be blank" in err) == (2, True)


@on_disk
def test_a_store_is_embedded_anew(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """With another embedder it is refused, until `reembed` has computed all vectors anew."""
    run("remember", "Ann likes green tea.", *ME)
    monkeypatch.setenv("SOUFFLEUR_EMBEDDER", "hash:32")
    code, _, error = run("list", *ME)
    assert code == 1
    assert "souffleur store reembed" in " ".join(error.split())
    assert run("store", "reembed")[1] == "embedded anew: 1 memory\n"
    assert run("store", "reembed")[1] == "nothing to do: the store is of this embedder\n"
    assert data(run, "store", "reembed") == {"memories": 0, "turns": 0}
    assert "green tea" in run("search", "Which tea does Ann like?", *ME)[1]


def test_the_command(run: Run, tmp_path: Path) -> None:
    """Edits made while nothing ran are found; what is not taken over is said on standard error."""
    run("remember", "Kim likes tea.", "--user", "kim")
    folder = tmp_path / "notes"
    code, out, err = run("mirror", str(folder), "--user", "kim")
    assert (code, out, err) == (0, "wrote MEMORY.md and LEARNINGS.md\n", "")
    file = folder / "MEMORY.md"
    text = file.read_text("utf-8")
    new = "Kim likes cocoa.\n\n### hobby\nKim sails."
    file.write_text(text.replace("Kim likes tea.", new), "utf-8")
    code, out, err = run("mirror", str(folder), "--user", "kim")
    assert (code, out) == (0, "1 edited; wrote MEMORY.md\n")
    assert err.startswith("not taken over: MEMORY.md: 'hobby' is no kind of memory")
    assert "Kim likes cocoa." in run("list", "--user", "kim")[1]
