"""The bootstrap: one set of draws for scripts, questions and systems."""

import math

import numpy as np
import pytest
from hypothesis import given, strategies as st

from bench.percentage import percentage
from souffleur.evals.bootstrap import DRAWS, draws, interval

SHARES = st.lists(st.floats(0, 1), min_size=1, max_size=30)


def test_the_interval_of_a_share_is_that_of_the_bootstrap() -> None:
    """Of 25 in 100 it is nearly the normal one: 25 ± 8.5."""
    one = percentage([1.0] * 25 + [0.0] * 75)
    assert one.mean == 25.0
    assert one.low == pytest.approx(16.5, abs=1.5)
    assert one.high == pytest.approx(33.5, abs=1.5)
    assert str(percentage([False])) == "0.0 (0.0-0.0)"


def test_it_narrows_with_more_questions() -> None:
    """A hundred times as many leave about a tenth of it."""
    few, many = percentage([0.0, 1.0] * 10), percentage([0.0, 1.0] * 1000)
    assert few.low < few.mean == many.mean == 50.0 < few.high
    assert many.high - many.low < (few.high - few.low) / 5


@given(SHARES)
def test_an_interval_is_the_same_each_time_and_within_what_was_measured(
    shares: list[float],
) -> None:
    """The draws are seeded; no draw has less than the least, or more than the most."""
    one = percentage(shares)
    assert one == percentage(shares)
    assert 100 * min(shares) - 1e-9 <= one.low <= one.high <= 100 * max(shares) + 1e-9


@given(SHARES)
def test_a_metric_of_scripts_and_a_share_of_questions_have_the_same_interval(
    shares: list[float],
) -> None:
    """Whether it is told in per cent or as it is kept in a file."""
    one = percentage(shares)
    low, high = interval(draws(len(shares)) @ np.asarray(shares) / len(shares))
    assert (one.low, one.high) == pytest.approx((100 * (low or 0), 100 * (high or 0)), abs=1e-3)


def test_each_draw_has_as_many_as_there_are() -> None:
    """What cannot be measured in a draw is left out; in none, there is no interval."""
    drawn = draws(7)
    assert drawn.shape == (DRAWS, 7)
    assert set(drawn.sum(axis=1)) == {7.0}
    assert interval(np.array([1.0, math.nan, 1.0])) == (1.0, 1.0)
    assert interval(np.array([math.nan])) == (None, None)
