"""The measurement of load, on a small scale: no figure of it is a time."""

import json

import pytest

from bench.load import burst, queue
from tests.command import Run


async def test_all_is_judged_one_by_one_in_a_burst() -> None:
    """Each turn of each user is a call, and the delay of the model alone is what is allowed."""
    one = await burst(users=6, turns=2, delay=0.01, parallel=3)
    assert (one.turns, one.calls) == (12, 12)
    assert one.allowed == pytest.approx(0.04)
    assert 0 < one.share <= 1


async def test_a_queue_costs_less_than_one_by_one() -> None:
    """Sixty waiting turns of three users take sixty calls, or six of far fewer tokens."""
    alone, together = [await queue(60, 3, most) for most in (1, 10)]
    assert (alone.calls, together.calls) == (60, 6)
    assert together.tokens_per_turn <= 0.6 * alone.tokens_per_turn


def test_the_command(run: Run) -> None:
    """Both measurements as JSON."""
    options = ("--users", "3", "--turns", "1", "--delay", "0", "--parallel", "2", "--queued", "20")
    code, out, _ = run("load", *options, "--json")
    assert code == 0
    both = json.loads(out)
    assert [one["parallel"] for one in both["bursts"]] == [2]
    assert [one["most"] for one in both["queues"]] == [1, 5, 10, 20]
