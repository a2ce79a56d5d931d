"""The recorded situations: what comes to mind when it matters, held against bars."""

import json
from typing import Any

import pytest
from typer.testing import CliRunner

from souffleur.evals import in_mind
from souffleur.evals.suite.situation import FOLDER

RECORDED = FOLDER.parent / "recordings" / "situations.jsonl"


def measure(*options: str) -> dict[str, Any]:
    """The figures of the command, by language."""
    words = [str(FOLDER), "--recorded", str(RECORDED), "--json", *options]
    done = CliRunner().invoke(in_mind.app, words, catch_exceptions=False)
    figures: dict[str, Any] = json.loads(done.stdout)
    return figures


@pytest.mark.soak
def test_what_matters_comes_to_mind() -> None:
    """Of what must come hardly anything is missing, and nothing comes that must not."""
    figures = measure()
    assert figures["all"]["came"] >= 0.97
    assert figures["without a shared word"]["came"] >= 0.97
    assert figures["all"]["violations"] == 0
    assert figures["all"]["precision"] >= 0.24


def test_some_of_what_matters_comes_to_mind() -> None:
    """In the ten that fit into every run of the tests no less than when they were recorded."""
    figures = measure("--only", "b_[a-e]*")
    assert figures["all"]["came"] >= 0.92
    assert figures["all"]["violations"] == 0
