"""`souffleur config`: the settings in force, from where, and nothing that must not be shown."""

from pathlib import Path

import pytest

from souffleur.settings import find_settings
from tests.command import Run, data

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
    code, out, err = run("config")
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
