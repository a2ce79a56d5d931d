"""The recorded situations: what comes to mind when it matters, held against bars."""

from typing import Any

import pytest

from bench.situations import FOLDER
from tests.command import Run, data

RECORDED = FOLDER.parent / "situations.jsonl"


def measure(run: Run, *options: str) -> Any:
    """The figures of the command, by language."""
    return data(run, "situations", str(FOLDER), "--recorded", str(RECORDED), *options)


@pytest.mark.soak
def test_what_matters_comes_to_mind(run: Run) -> None:
    """Of what must come hardly anything is missing; little comes that must not.

    These lives are small, so the block holds all that is known, but what a boundary speaks of.
    """
    figures = measure(run)
    assert figures["all"]["came"] >= 0.97
    assert figures["without a shared word"]["came"] >= 0.97
    assert figures["all"]["violations"] <= 3


def test_some_of_what_matters_comes_to_mind(run: Run) -> None:
    """In the ten that fit into every run of the tests no less than when they were recorded."""
    figures = measure(run, "--only", "b_[a-e]*")
    assert figures["all"]["came"] >= 0.84
    assert figures["all"]["violations"] == 0
