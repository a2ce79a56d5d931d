"""The command line: what it prints, for a person and for a program, and its exit codes."""

import asyncio
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.build import open_base
from tests.command import Run, data, on_disk
from tests.scripted import add, answer
from tests.stub import Stub, say

ME = ("--user", "ann")


def process(*words: str, typed: str = "") -> subprocess.CompletedProcess[str]:
    """The command as a process of its own, with something typed into it."""
    command = [sys.executable, "-P", "-m", "souffleur", *words]
    return subprocess.run(command, input=typed, capture_output=True, text=True, check=False)


def test_help_lists_the_commands(run: Run) -> None:
    """Each command of the README is there."""
    _, out, _ = run("--help")
    for command in ("demo", "chat", "remember", "list", "show", "search", "history"):
        assert command in out


def test_a_memory_from_birth_to_undo(run: Run) -> None:
    """remember, list, show, search, forget, history and undo work on one another's output."""
    (kept,) = data(run, "remember", "Ann likes green tea.", *ME)
    id = kept["changes"][0]["after"]["id"]
    (listed,) = data(run, "list", *ME)
    assert (listed["id"], listed["effective"]) == (id, 1.5)
    assert data(run, "show", id[:6])["content"] == "Ann likes green tea."
    assert data(run, "search", "green tea", *ME, "--explain")[0]["parts"]["lexical"] > 0
    (gone,) = data(run, "forget", "green tea", *ME, "--yes")
    assert data(run, "list", *ME) == []
    assert data(run, "list", *ME, "--all")[0]["state"] == "forgotten"
    assert [entry["op"] for entry in data(run, "history", id)] == ["ADD", "FORGET"]
    data(run, "undo", gone["id"][:8])
    assert data(run, "list", *ME)[0]["id"] == id


def test_tables_are_for_people(run: Run) -> None:
    """The same commands print tables with the content, the reason and the id."""
    run("remember", "Ann likes green tea.", *ME)
    _, listed, _ = run("list", "--everybody")
    assert "Ann likes green tea." in listed
    assert "ann" in listed
    id = data(run, "list", *ME)[0]["id"]
    assert id[:8] in listed
    assert "told to remember" in run("history", id[:8])[1]
    card = run("show", id[:8])[1]
    assert card.startswith("Ann likes green tea.\n")
    assert "is     fact, fact, active" in card
    assert "Ann likes green tea." in run("search", "tea", *ME)[1]
    assert "no turn has failed" in run("list", "--failed")[1]


def test_a_kind_is_listed_alone(run: Run) -> None:
    """`list --kind` leaves the others out."""
    run("remember", "Ann likes green tea.", "--kind", "preference", *ME)
    run("remember", "Ann lives in Ulm.", *ME)
    listed = data(run, "list", "--kind", "preference", *ME)
    assert [one["content"] for one in listed] == ["Ann likes green tea."]


def test_another_user_who_has_it_is_named(run: Run) -> None:
    """Nothing of `me` is nothing; standard error says who has something, and how to ask."""
    run("remember", "Ann likes green tea.", *ME)
    for words in (
        ("list",),
        ("search", "tea"),
        ("ask", "tea"),
        ("list", "--episodes"),
        ("user", "profile"),
    ):
        code, _, err = run(*words)
        assert (code, err) == (0, "ann has 1 memory: --user ann\n"), words
    assert run("forget", "tea", "--yes")[2].startswith("ann has 1 memory: --user ann\n")
    assert run("search", "tea", *ME)[2] == ""


def test_what_has_no_score_is_not_shown(run: Run) -> None:
    """Found by nothing but being there, a memory is no answer."""
    run("remember", "Ann likes green tea.", *ME)
    assert data(run, "search", "unicorns", *ME) == []


@on_disk
def test_forgetting_asks_first(run: Run) -> None:
    """Without --yes nothing is forgotten unless somebody says yes."""
    run("remember", "Ann likes green tea.", *ME)
    done = process("forget", "green tea", *ME, typed="n\n")
    assert done.returncode == 1
    assert "Forget 1 memory?" in done.stderr
    assert len(data(run, "list", *ME)) == 1


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (("show", "abc"), 3, "there is no memory whose id starts with 'abc'"),
        (("show", ""), 2, "the id is empty"),
        (("list", "--kind", "poem"), 2, "there is no kind 'poem'"),
        (("undo", "abc"), 3, "there is no ledger entry whose id starts with 'abc'"),
        (("forget", "unicorns", "--yes"), 3, "no memory of 'me' is clearly meant"),
        (("remember", "x", "--kind", "poem"), 2, "there is no kind 'poem'"),
        (("eval", "replay", "nowhere.yaml"), 2, "no model is configured"),
        (("chat",), 2, "no model is configured"),
        (("retry",), 2, "no model is configured"),
        (("eval", "replay", "a.yaml", "--record", "b", "--recorded", "c"), 2, "exclude each other"),
        (("dance",), 2, "No such command"),
    ],
)
def test_errors_are_one_plain_sentence(
    run: Run, words: tuple[str, ...], code: int, message: str
) -> None:
    """Each kind of error has its exit code, and no traceback."""
    got, _, err = run(*words)
    assert got == code
    assert message in err
    assert "Traceback" not in err


def test_a_refused_sentence_exits_with_one(run: Run) -> None:
    """A secret is not kept, and the exit code says so."""
    code, out, _ = run("remember", "The door code is 4471#", *ME)
    assert code == 1
    assert "sensitive" in out


async def test_a_store_in_use_has_its_own_code(run: Run, tmp_path: Path) -> None:
    """Another process gets one sentence that names the path and the way out."""
    base = await open_base(tmp_path / "store", dimension=64)
    done = await asyncio.to_thread(process, "list")
    await base.close()
    assert done.returncode == 4
    assert str(tmp_path / "store") in done.stderr
    assert "SOUFFLEUR_QDRANT_URL" in done.stderr
    assert done.stderr.count("\n") <= 2


DIALOGUE = """
title: tea
user: {id: ann, title: Ann}
assistant: {id: mo, name: Mo}
sessions:
  - id: s1
    turns:
      - {at: "2026-01-03T18:00:00+00:00", user: I like tea, assistant: Noted, note: a taste}
      - {at: "2026-01-03T18:05:00+00:00", user: "tea?", assistant: "Green!"}
"""
GOOD = json.dumps(answer(add("Ann likes tea.", "I like tea")))
SKIP = '{"reason": "small talk", "ops": [], "small_talk": true}'


def test_a_replay_is_recorded_and_played_back(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stub: Callable[..., Stub]
) -> None:
    """Recorded live, a dialogue plays offline; changed, it is called stale in plain words."""
    file, recording = tmp_path / "tea.yaml", tmp_path / "tea.jsonl"
    file.write_text(DIALOGUE)
    monkeypatch.setenv("SOUFFLEUR_BASE_URL", stub(say(GOOD), say(SKIP)).base_url)
    code, live, err = run("eval", "replay", str(file), "--record", str(recording))
    assert (code, err) == (0, "")
    monkeypatch.delenv("SOUFFLEUR_BASE_URL")
    code, played, _ = run("eval", "replay", str(file), "--recorded", str(recording))
    assert (code, played) == (0, live)
    for text in (
        "a taste",
        "whispered",
        "Ann likes tea.",
        "on “I like tea”",
        "because new",
        "1 ADD",
    ):
        assert text in played
    file.write_text(DIALOGUE.replace("I like tea", "I love tea"))
    code, _, err = run("eval", "replay", str(file), "--recorded", str(recording))
    assert code == 1
    assert "stale" in err
    assert "--record" in err
    monkeypatch.setenv("SOUFFLEUR_BASE_URL", stub(say(SKIP)).base_url)
    assert run("eval", "replay", str(file), "--record", str(recording))[0] == 0
    assert (
        len(recording.read_text().splitlines()) == 4
    )  # the header, an answer a turn, one on the session


def test_a_refusal_is_shown_with_its_reason(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stub: Callable[..., Stub]
) -> None:
    """A person sees what was refused, by which name, and why, beside what was done."""
    file = tmp_path / "tea.yaml"
    file.write_text(DIALOGUE)
    both = answer(add("Ann is rich.", "I am rich"), add("Ann likes tea.", "I like tea"))
    monkeypatch.setenv("SOUFFLEUR_BASE_URL", stub(say(json.dumps(both)), say(SKIP)).base_url)
    _, out, _ = run("eval", "replay", str(file))
    assert "refused: ungrounded  the quote is not in what was said" in out
    assert "1 refused as ungrounded" in out


def test_failed_turns_are_listed_and_judged_again(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stub: Callable[..., Stub]
) -> None:
    """`list --failed` shows why, and `retry` judges them when the model answers as it should."""
    file = tmp_path / "tea.yaml"
    file.write_text(DIALOGUE)
    monkeypatch.setenv("SOUFFLEUR_RETRY_PAUSE", "0")
    monkeypatch.setenv("SOUFFLEUR_USER_TITLE", "Ann")
    monkeypatch.setenv("SOUFFLEUR_BASE_URL", stub(say("no idea")).base_url)
    assert run("eval", "replay", str(file), "--keep")[0] == 0
    failed = data(run, "list", "--failed")
    assert [turn["tries"] for turn in failed] == [3, 3]
    assert "no JSON object" in " ".join(data(run, "list", "--failed")[0]["error"].split())
    monkeypatch.setenv("SOUFFLEUR_BASE_URL", stub(say(GOOD), say(SKIP)).base_url)
    code, out, _ = run("retry")
    assert (code, out.strip()) == (0, "2 of 2 turns judged, 0 not")
    assert data(run, "list", *ME)[0]["content"] == "Ann likes tea."


def test_json_of_a_replay_is_a_line_a_turn(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stub: Callable[..., Stub]
) -> None:
    """A program reads one object a turn."""
    file = tmp_path / "tea.yaml"
    file.write_text(DIALOGUE)
    monkeypatch.setenv("SOUFFLEUR_BASE_URL", stub(say(GOOD), say(SKIP)).base_url)
    _, out, _ = run("eval", "replay", str(file), "--json")
    first, second = (json.loads(line) for line in out.splitlines())
    assert first["ops"][0]["op"] == "ADD"
    assert second["whispered"] == ["Ann likes tea."]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("sessions: [", "is not YAML"),
        ("sessions: []", "sessions"),
        (DIALOGUE.replace("18:05", "17:05"), "time runs backward"),
        (DIALOGUE.replace("18:05:00+00:00", "noon"), "sessions.0.turns.1.at"),
    ],
)
def test_a_bad_dialogue_says_where(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, message: str
) -> None:
    """The error names the file and the place in it."""
    monkeypatch.setenv("SOUFFLEUR_BASE_URL", "http://127.0.0.1:9/v1")
    file = tmp_path / "bad.yaml"
    file.write_text(text)
    code, _, err = run("eval", "replay", str(file))
    assert code == 2
    assert str(file) in err
    assert message in err


@on_disk
def test_a_store_is_copied_for_another_embedder(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The mismatch says what to do, and `migrate` gives a store that opens."""
    data(run, "remember", "Ann likes green tea.", *ME)
    monkeypatch.setenv("SOUFFLEUR_EMBEDDER", "hash:256")
    code, _, err = run("list")
    assert code == 1
    assert "souffleur store reembed" in err
    code, out, err = run("store", "migrate", str(tmp_path / "new"))
    assert (code, err) == (0, "")
    assert out.strip().endswith(f"set SOUFFLEUR_PATH={tmp_path / 'new'} to use them")
    monkeypatch.setenv("SOUFFLEUR_PATH", str(tmp_path / "new"))
    assert data(run, "search", "tea", *ME)[0]["content"] == "Ann likes green tea."


def test_a_memory_is_forgotten_by_the_beginning_of_its_id(run: Run) -> None:
    """The id that `list` shows is enough, as for the other commands."""
    run("remember", "Ann likes green tea.", *ME)
    id = data(run, "list", *ME)[0]["id"]
    assert run("forget", id[:8], "--yes", *ME)[0] == 0
    assert data(run, "list", *ME) == []
