"""A year of portraits, as a real model wrote them: held against bars."""

import asyncio
import io

import pytest
from rich.console import Console

from bench.hand_written import read_yaml
from bench.portraits import TOLD_CHARACTERS, YEAR, Life, Year, play_year, report

RECORDED = YEAR.parent / "portraits.jsonl"


@pytest.fixture(scope="module")
def year() -> Year:
    """Played once for all tests."""
    return asyncio.run(play_year(read_yaml(YEAR, Life), None, RECORDED))


def test_a_year_has_thirty_portraits(year: Year) -> None:
    """All could be written, and at most one in fifteen was asked for again."""
    assert year.figures["portraits"] == 30
    assert year.figures["failed"] == 0
    assert year.figures["asked again"] * 15 <= 30


def test_they_are_as_long_as_the_rules_tell(year: Year) -> None:
    """None has more characters than it may."""
    assert max(len(one.text) for one in year.written) <= TOLD_CHARACTERS


def test_nothing_known_nowhere_else_is_lost(year: Year) -> None:
    """What only the portrait knew is in each later one; most was told at all."""
    assert len(year.lost) == 0
    kept = [one for one in year.life.keep if any(one.within(two.text) for two in year.written)]
    assert len(kept) >= len(year.life.keep) * 2 / 3


def test_the_last_one_is_right(year: Year) -> None:
    """It mentions what matters, nothing that is over, and a reader says of her what is true."""
    assert year.unmet == []
    assert year.wrong == ()


def test_all_of_the_recording_is_used(year: Year) -> None:
    """No answer is left over."""
    lines = RECORDED.read_text(encoding="utf-8").splitlines()
    statements = len(year.life.end.statements)
    assert len(lines) - 1 == year.figures["requests"] + statements


def test_the_report_tells_all(year: Year) -> None:
    """Each portrait with its length, the last one in full, and the counts."""
    out = io.StringIO()
    report(year, Console(file=out, width=160))
    assert all(str(one.day) in out.getvalue() for one in year.written)
    assert '"portraits": 30' in out.getvalue()
