"""The sizes of a host: every number follows from those in its own line."""

import json
import re

import pytest

from souffleur.evals.speed.sizing import Assumed, Line, Measured, number, size_host
from tests.command import Run, data


@pytest.mark.parametrize("together", [1, 5, 10])
@pytest.mark.parametrize("users", [1_000, 10_000_000])
def test_the_arithmetic_gives_the_value(users: int, together: int) -> None:
    """Each line, calculated as it is written, is its value."""
    for one in size_host(Assumed(users=users, together=together)):
        assert worked_out(one) == pytest.approx(one.value, rel=0.01), one


def test_more_turns_to_a_call_cost_less() -> None:
    """Calls and tokens in; tokens out and what is stored stay."""
    alone, ten = [
        {one.name: one.value for one in size_host(Assumed(together=together))}
        for together in (1, 10)
    ]
    less = {name for name in alone if ten[name] < alone[name]}
    assert {"calls a day", "tokens in a day", "dollars a month"} <= less
    assert not less & {"disk", "memory of the engine", "turns a day", "tokens out a day"}


def test_the_command(run: Run) -> None:
    """It prints a table, or JSON; a size that was not measured is a usage error."""
    found = data(run, "eval", "sizing", "--users", "2000")
    assert found[0]["value"] == 2_000_000
    code, out, _ = run("eval", "sizing")
    assert code == 0
    assert "| memories | 1,000,000 |" in out
    assert run("eval", "sizing", "--together", "3")[0] == 2


def test_measured_figures_are_those_of_the_pages() -> None:
    """What others say of tokens and disk is what is calculated with."""
    assert json.dumps(Measured().prompts) == "[[1, 2454.0], [5, 525.0], [10, 281.0]]"
    assert number(Line("", Measured().tokens_in, "", "")) == "2,291"


def worked_out(line: Line) -> float:
    """Calculate a line as it is written."""
    plain = line.arithmetic.replace("$", "").replace(",", "").replace(" x ", " * ")
    value = float(eval(re.sub("[a-zA-Z]+", "", plain)))
    thousandths = line.unit == "GB" or line.arithmetic.endswith("ms")
    if thousandths:
        return value / 1_000
    return value / 1e6 if line.unit == "M" else value
