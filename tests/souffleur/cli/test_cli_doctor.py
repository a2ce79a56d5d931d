"""`souffleur report`, `doctor` and `config`."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from souffleur.knowledge.turn import TurnState
from souffleur.settings import find_settings
from tests.build import open_base, turn
from tests.command import Run, data, on_disk

ME = ("--user", "ann")


def test_a_store_is_reported(run: Run, tmp_path: Path) -> None:
    """The report is for a person, a program, or a page, and of one user or of all."""
    run("remember", "Ann likes <b>tea</b>.", *ME)
    run("remember", "Bob likes milk.", "--user", "bob")
    whole = data(run, "report")
    assert (whole["users"], whole["health"]["state"]) == (2, "ok")
    assert data(run, "report", *ME)["states"] == {"active": 1}
    assert "active" in run("report")[1]
    page = tmp_path / "page.html"
    assert f"written to {page}" in run("report", "--html", str(page))[1].replace("\n", "")
    text = page.read_text(encoding="utf-8")
    assert "<svg" in text
    assert "<b>tea</b>" not in text
    assert run("report", "--html", "-")[1].strip().startswith("<!doctype html>")
    assert not Path("-").exists()
    assert run("list", "--user", "")[0] == 2  # an empty variable of a script names nobody


@on_disk
def test_the_doctor_has_an_exit_code(run: Run, tmp_path: Path) -> None:
    """0 where all is well, 1 where turns could not be judged, with what to do; costs are told."""
    assert run("doctor")[0] == 0

    async def break_it() -> None:
        base = await open_base(tmp_path / "store", dimension=64)
        base.journal.record(turn("hello", "hi"))
        failed: dict[str, Any] = {"state": TurnState.FAILED, "error": "no model"}
        failed["spent"] = {"calls": 2, "input_tokens": 1800, "output_tokens": 40, "cost": 0.0123}
        await base.journal.mark(await base.journal.turns(), **failed)
        await base.close()

    asyncio.run(break_it())
    code, out, _ = run("doctor", "--json")
    assert (code, json.loads(out)["state"]) == (1, "broken")
    code, out, _ = run("doctor")
    assert code == 1
    assert "souffleur retry" in out
    told = " ".join(run("report")[1].split())
    assert "cost by day and user: 1" in told
    assert "2026-01-03 2 1,800 40 0.0123 ann" in told


KEPT_SECRET = "sk-very-secret-4711"


@pytest.fixture
def variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {
        "SOUFFLEUR_BASE_URL": f"http://me:{KEPT_SECRET}@localhost:1/v1",
        "SOUFFLEUR_API_KEY": KEPT_SECRET,
        "SOUFFLEUR_TEMPERATURE": "none",
        "SOUFFLEUR_EXTRA_BODY": f'{{"think": false, "api_key": "{KEPT_SECRET}"}}',
        "SOUFFLEUR_WINDOWS": "12",
        "souffleur_window": "12",
    }.items():
        monkeypatch.setenv(name, value)


@pytest.mark.usefixtures("variables")
def test_each_setting_says_where_it_comes_from(run: Run, tmp_path: Path) -> None:
    """A line names the variable, its value and its source; no store is made for it."""
    code, out, err = run("config", "--all")
    lines = {words[0]: words[1:] for line in out.splitlines() if (words := line.split())}
    assert (code, err) == (0, "")
    assert lines["SOUFFLEUR_BASE_URL"] == ["http://localhost:1/v1", "environment"]
    assert lines["SOUFFLEUR_TEMPERATURE"] == ["none", "environment"]
    assert lines["SOUFFLEUR_WINDOW"] == ["12", "environment"]
    assert lines["SOUFFLEUR_SCHEDULE"] == ["false", "default"]
    assert lines["SOUFFLEUR_API_KEY"] == ["**********", "environment"]
    assert '{"think": false, "api_key": "[secret]"}' in out
    assert "no setting is SOUFFLEUR_WINDOWS: did you mean SOUFFLEUR_WINDOW?" in out
    assert KEPT_SECRET not in out
    assert not (tmp_path / "store").exists()
    brief = run("config")[1]
    assert "SOUFFLEUR_WINDOW" in brief
    assert "SOUFFLEUR_SCHEDULE" not in brief


@pytest.mark.usefixtures("variables")
def test_programs_read_the_same(run: Run) -> None:
    """With --json: the settings in order, whether there is a model, and unknown variables."""
    shown = data(run, "config")
    by_name = {one["name"]: (one["value"], one["source"]) for one in shown["settings"]}
    assert (by_name["temperature"], by_name["timeout"]) == (
        (None, "environment"),
        (60.0, "default"),
    )
    assert by_name["openai_api_key"] == (None, "default")
    assert (shown["has_model"], len(shown["unknown"])) == (True, 1)
    assert KEPT_SECRET not in str(shown)


def test_without_a_model_it_says_how_to_set_one(run: Run) -> None:
    """The sentence is the one that commands which need a model end with."""
    assert "no model is configured: set SOUFFLEUR_BASE_URL" in run("config")[1]


def test_a_wrong_value_is_named(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """The exit code is that of every wrong setting."""
    monkeypatch.setenv("SOUFFLEUR_WINDOW", "many")
    code, _, err = run("config")
    assert (code, "SOUFFLEUR_WINDOW" in err) == (2, True)


def test_an_argument_wins(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is given by name comes from there, whatever the environment says."""
    monkeypatch.setenv("SOUFFLEUR_WINDOW", "12")
    found = {one.name: one for one in find_settings(window=40, path="/x").settings}
    assert (found["window"].value, found["window"].source) == (40, "argument")
    assert (found["path"].value, found["path"].source) == ("/x", "argument")
