"""`souffleur eval`: record, run, compare and report, over a model on the loopback."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from souffleur.cli.measure import _in_repository
from souffleur.errors import SettingsError
from souffleur.evals.script import read_script
from tests.command import Run
from tests.stub import Body, Stub, fail, say

SCRIPT = """
about: tea
user: {title: Lin, language: en}
sessions:
  - id: s1
    turns:
      - at: "2026-03-05T20:00:00+00:00"
        user: I like tea.
        assistant: Noted.
        expect: [{op: ADD, pattern: tea}]
end: {holds: [{pattern: tea}]}
"""


def judge(body: Body) -> str:
    """Keeps the tea, unless it is another model."""
    words = str(body["messages"])
    if "I like tea." not in words or "background memory" not in words:
        nothing = {"reason": "small talk", "small_talk": True, "line": "", "topics": []}
        return json.dumps(
            {**nothing, "intent": "", "tone": "", "key_facts": [], "unresolved": None}
        )
    keeps = {"op": "ADD", "reason": "new", "quote": "I like tea.", "content": "Lin likes tea."}
    skips = {"op": "SKIP", "reason": "small talk"}
    op = skips if body["model"] == "lazy" else {**keeps, "kind": "preference", "importance": "low"}
    return json.dumps({"reason": "r", "ops": [op]})


@pytest.fixture
def folders(tmp_path: Path) -> list[str]:
    """The options that say where scripts and recordings are."""
    scripts = tmp_path / "scripts"
    scripts.mkdir()
    (scripts / "tea_en.yaml").write_text(SCRIPT, encoding="utf-8")
    return ["--dialogues", str(scripts), "--recordings", str(tmp_path / "recordings")]


@pytest.fixture
def endpoint(monkeypatch: pytest.MonkeyPatch, stub: Callable[..., Stub]) -> Stub:
    """A configured endpoint that judges."""
    serving = stub(say(judge))
    monkeypatch.setenv("SOUFFLEUR_BASE_URL", serving.base_url)
    return serving


def test_a_new_script_can_be_read(run: Run, tmp_path: Path) -> None:
    """It says how to play it, it is a whole script, and what is there is never overwritten."""
    path = tmp_path / "mine" / "first.yaml"
    code, out, _ = run("eval", "new", str(path))
    assert (code, str(path) in out) == (0, True)
    assert f"--dialogues {path.parent}" in path.read_text("utf-8")
    assert read_script(path).sessions
    code, _, err = run("eval", "new", str(path))
    assert (code, "is there already" in err) == (2, True)


def test_what_was_recorded_is_run_without_a_model(
    run: Run, folders: list[str], endpoint: Stub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same result twice, as JSON, as a file and as a page."""
    code, out, err = run("eval", "record", *folders)
    assert code == 0, err
    assert "ADD recall" in out
    asked = len(endpoint.requests)
    monkeypatch.delenv("SOUFFLEUR_BASE_URL")
    first, page = tmp_path / "first.json", tmp_path / "page.html"
    code, out, err = run("eval", "run", *folders, "--json", "--out", str(first))
    assert code == 0, err
    assert json.loads(out) == json.loads(first.read_text(encoding="utf-8"))
    assert json.loads(out)["runs"][0]["metrics"]["ADD recall"]["value"] == 1
    assert run("eval", "run", *folders, "--json")[1] == out
    assert len(endpoint.requests) == asked
    code, _, err = run("eval", "report", str(first), "--html", str(page))
    assert code == 0, err
    assert "Lin likes tea." in page.read_text(encoding="utf-8")


def test_a_second_recording_says_that_nothing_was_asked(
    run: Run, folders: list[str], endpoint: Stub
) -> None:
    """Both times it tells how many answers were there already, and how many were asked."""
    _, _, err = run("eval", "record", *folders)
    asked = len(endpoint.requests)
    assert f"0 from the recordings in {folders[-1]}, {asked} asked of the model" in err
    _, _, err = run("eval", "record", *folders)
    assert f"{asked} from the recordings in {folders[-1]}, 0 asked of the model" in err
    assert len(endpoint.requests) == asked


def test_a_missing_recording_is_an_error_that_says_what_to_do(run: Run, folders: list[str]) -> None:
    """It names the script and the command."""
    code, out, _ = run("eval", "run", *folders)
    assert code == 1
    assert "souffleur eval record --only tea_en" in " ".join(out.split())


def test_a_wrong_field_is_told_alone(run: Run, folders: list[str]) -> None:
    """No table of metrics stands before the error, as there is nothing to measure."""
    (Path(folders[1]) / "tea_en.yaml").write_text(SCRIPT + "colour: red\n", encoding="utf-8")
    code, out, _ = run("eval", "run", *folders)
    assert (code, out.split()[0], "colour" in out) == (1, "failed", True)


def test_several_judges_stand_side_by_side_and_the_worse_one_is_told(
    run: Run, folders: list[str], endpoint: Stub, tmp_path: Path
) -> None:
    """A live run for each model, with its latency; `compare` fails where B is worse."""
    lively, lazy = tmp_path / "a.json", tmp_path / "b.json"
    code, out, err = run(
        *("eval", "run", "--live", "--judge", "lively", "--judge", "lazy"),
        *(*folders, "--only", "tea*", "--out", str(lively)),
    )
    assert code == 0, err
    assert "lively" in out
    assert "lazy" in out
    assert "monitor seconds" in out
    assert "missed ADD tea" in out
    both = json.loads(lively.read_text(encoding="utf-8"))
    assert [one["model"] for one in both["runs"]] == ["lively", "lazy"]
    assert {body["model"] for body in endpoint.requests} == {"lively", "lazy"}
    lazy.write_text(json.dumps({**both, "runs": both["runs"][1:]}), encoding="utf-8")
    code, out, _ = run("eval", "compare", str(lively), str(lively))
    assert (code, out.strip()) == (0, "nothing got worse beyond noise")
    code, out, _ = run("eval", "compare", str(lively), str(lazy))
    assert code == 1
    assert "ADD recall" in out
    code, out, _ = run("eval", "compare", str(lively), str(lazy), "--json")
    assert code == 1
    assert any("ADD recall" in one for one in json.loads(out)["regressions"])


def test_a_model_that_fails_is_an_exit_code(
    run: Run, folders: list[str], monkeypatch: pytest.MonkeyPatch, stub: Callable[..., Stub]
) -> None:
    """The result is told all the same."""
    monkeypatch.setenv("SOUFFLEUR_BASE_URL", stub(fail(401, "wrong key")).base_url)
    code, out, _ = run("eval", "record", *folders)
    assert code == 1
    assert "tea_en: s1.1: EndpointError" in " ".join(out.split())


def test_wrong_options_are_named(
    run: Run, folders: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A judge without --live; no endpoint to record; no such script; no such result."""
    code, _, err = run("eval", "run", "--judge", "x", *folders)
    assert (code, "give --live as well" in err) == (2, True)
    code, _, err = run("eval", "record", *folders)
    assert (code, "SOUFFLEUR_BASE_URL" in err) == (2, True)
    inside = Path(pytest.__file__).parent / "recordings"
    monkeypatch.setenv("SOUFFLEUR_BASE_URL", "http://127.0.0.1:9/v1")
    code, _, err = run("eval", "record", *folders, "--recordings", str(inside))
    assert (code, "name another by --recordings" in err) == (2, True)
    code, _, err = run("eval", "run", *folders, "--only", "coffee*")
    assert (code, "no script in" in err) == (2, True)
    code, _, err = run("eval", "compare", "nowhere.json", "nowhere.json")
    assert (code, "cannot be read" in err) == (2, True)


def test_what_the_package_does_not_hold_is_an_error_that_says_what_to_do() -> None:
    """The dialogues are in the repository; an installed package asks for folders of one's own."""
    assert (_in_repository("dialogues") / "forget_en.yaml").exists()
    with pytest.raises(SettingsError, match="--dialogues and --recordings"):
        _in_repository("no such folder")
