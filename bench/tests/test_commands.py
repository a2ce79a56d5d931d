"""The command line of the measurements."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from bench.__main__ import COMMANDS
from tests.command import Run

ROOT = Path(__file__).parents[2]
MODE = "exclude each other"


@pytest.fixture
def talk(tmp_path: Path) -> Path:
    """A set with one conversation and one question."""
    doc = {"id": "1", "session": 1, "time": None, "speaker": "user", "text": "I drink tea."}
    query = {"qid": "q", "query": "tea?", "category": "x", "answer": "tea", "evidence": ["1"]}
    path = tmp_path / "set.jsonl"
    path.write_text(json.dumps({"conv_id": "c", "docs": [doc], "queries": [query]}))
    return path


def alone(*words: str) -> subprocess.CompletedProcess[str]:
    """What came of `python -m bench`."""
    command = [sys.executable, "-m", "bench", *words]
    return subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False
    )


def test_the_help_lists_them(run: Run) -> None:
    """Each has a line; an unknown one is a usage error."""
    code, out, _ = run("--help")
    assert code == 0
    assert {*COMMANDS} <= {line.split()[0] for line in out.splitlines() if line}
    assert run("nothing")[0] == 2


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("retrieval", {"--embedder", "--limit", "--half", "--json"}),
        ("halumem", {"--user", "--sessions", "--record", "--recorded", "--max-calls", "--json"}),
        ("answering", {"--conversations", "--questions", "--seed", "--judge-every"}),
        ("answering", {"--max-calls", "--record", "--recorded"}),
        ("reviews", {"--record", "--recorded"}),
        ("speed", {"--help"}),
    ],
)
def test_each_keeps_its_options(run: Run, name: str, options: set[str]) -> None:
    """Measurements from outside are scripts that name them."""
    code, out, err = run(name, "--help")
    assert code == 0, err
    assert options <= set(out.split())


def test_retrieval_prints_json(run: Run, talk: Path) -> None:
    """Each metric has its mean, for all questions and by category."""
    words = ("beam", str(talk), "--embedder", "hash:64", "--half", "0", "--json")
    code, out, err = run("retrieval", *words)
    assert code == 0, err
    assert json.loads(out)["all"]["R@5"]["mean"] == 100.0


def test_without_a_model_it_says_what_to_set(run: Run, talk: Path) -> None:
    """It ends as with a wrong setting."""
    code, _, err = run("answering", "beam", str(talk))
    assert (code, "SOUFFLEUR_BASE_URL" in err) == (2, True)


@pytest.mark.parametrize("name", ["halumem", "answering", "reviews"])
def test_a_model_is_asked_or_not(run: Run, talk: Path, name: str) -> None:
    """Two modes at once are a usage error."""
    words = ["beam", str(talk)] if name == "answering" else [str(talk)]
    code, _, err = run(name, *words, "--record", "a", "--recorded", "b")
    assert code == 2
    assert MODE in " ".join(err.split())


def test_alone_what_is_wrong_is_one_line(tmp_path: Path) -> None:
    """No traceback; a wrong option is a usage error."""
    done = alone("halumem", str(tmp_path / "none.jsonl"))
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert "cannot be read" in done.stderr
    assert alone("--nonsense").returncode == 2
