"""Twenty-four memories that were due, as a real model reviewed them."""

import asyncio
import io
from collections import Counter
from pathlib import Path

import pytest
from rich.console import Console

from bench.hand_written import read_yaml
from bench.reviews import Case, Cases, Reviewed, report, run
from souffleur.agents.model.recording import Player
from souffleur.agents.structured_chat import StructuredChat

DATA = Path(__file__).parents[1] / "data"
RECORDING = DATA / "reviews.jsonl"
MISSED = ["zh-promotion-medical-reason-elsewhere", "en-decay-plan-with-sequel-elsewhere"]
"""Cases whose deciding words no search was made for."""


@pytest.fixture(scope="module")
def cases() -> list[Case]:
    return list(read_yaml(DATA / "reviews.yaml", Cases).cases)


@pytest.fixture(scope="module")
def player() -> Player:
    return Player(RECORDING)


@pytest.fixture(scope="module")
def reviewed(cases: list[Case], player: Player) -> list[Reviewed]:
    """Reviewed once for all tests."""
    return asyncio.run(run(cases, StructuredChat(player, form=player.form)))


def test_there_are_traps_in_both_languages(cases: list[Case]) -> None:
    """Twelve promotions and twelve decays, half Chinese; some need a search to decide."""
    assert Counter(case.question for case in cases) == {"promotion": 12, "decay": 12}
    assert Counter(case.language for case in cases) == {"zh": 12, "en": 12}
    assert sum(case.needs_search for case in cases) >= 3


def test_the_model_agrees_with_what_was_expected(reviewed: list[Reviewed]) -> None:
    """Every decision but two is one that was expected: both times it should have searched."""
    assert [one.case.name for one in reviewed if not one.agrees] == MISSED


def test_all_of_the_recording_is_used(reviewed: list[Reviewed], player: Player) -> None:
    """No answer is missing, none is left over."""
    lines = RECORDING.read_text(encoding="utf-8").splitlines()
    assert len(set(player.used)) == len(lines) - 1


def test_the_report_tells_all(reviewed: list[Reviewed]) -> None:
    """Each case with what was expected, decided and why."""
    out = io.StringIO()
    report(reviewed, Console(file=out, width=160))
    assert "22 of 24 as expected" in out.getvalue()
