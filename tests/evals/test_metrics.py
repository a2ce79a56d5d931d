"""Metrics: each by hand, and their intervals."""

import math

import pytest

from souffleur.evals.bootstrap import ones
from souffleur.evals.metrics import measure, sums
from souffleur.evals.result import ErrorType, ScriptResult


def played(name: str = "one", failure: str = "", **counts: float) -> ScriptResult:
    named = {key.replace("__", "."): value for key, value in counts.items()}
    return ScriptResult(name=name, counts=named, failure=failure)


def value(metric: str, *scripts: ScriptResult) -> float | None:
    measured = measure(scripts)
    return measured[metric].value if metric in measured else None


def test_precision_recall_and_f1_of_an_op() -> None:
    """3 of 4 done were right, 3 of 6 expected were met."""
    one = played(ADD__right=3, ADD__wrong=1, ADD__met=3, ADD__missed=3)
    assert value("ADD precision", one) == 0.75
    assert value("ADD recall", one) == 0.5
    assert value("ADD F1", one) == pytest.approx(2 * 0.75 * 0.5 / 1.25)


def test_all_is_over_all_ops_but_skip() -> None:
    """A turn where nothing is to be done is easy, and there are conversations."""
    done = {"ADD.right": 1, "ADD.met": 1, "BOOST.wrong": 1, "DELETE.missed": 1}
    one = ScriptResult(name="one", counts={**done, "SKIP.right": 90, "SKIP.met": 90})
    assert value("all precision", one) == 0.5
    assert value("all recall", one) == 0.5
    assert value("SKIP precision", one) == 1


def test_an_op_that_was_never_done_has_no_precision_but_an_f1() -> None:
    """0 of what was to be done; and of what never came up there is nothing to say."""
    one = played(UPDATE__missed=2)
    assert value("UPDATE precision", one) is None
    assert value("UPDATE F1", one) == 0
    assert value("MERGE F1", one) is None


def test_rates_are_ratios_of_sums() -> None:
    """A script weighs what it holds."""
    little = played("little", details__all=1, details__kept=0)
    much = played("much", details__all=9, details__kept=9)
    assert value("detail retention", little, much) == 0.9


@pytest.mark.parametrize(
    ("metric", "counts", "expected"),
    [
        ("kind accuracy", {"kind.all": 4, "kind.right": 3}, 0.75),
        ("update correct", {"update.correct": 2, "update.omitted": 2}, 0.5),
        ("update hallucinated", {"update.hallucinated": 1, "update.correct": 3}, 0.25),
        ("update omitted", {"update.omitted": 1, "update.correct": 4}, 0.2),
        ("boost correct", {"BOOST.right": 2, "BOOST.wrong": 1, "BOOST.missed": 1}, 0.5),
        ("end state", {"end.all": 5, "end.right": 4}, 0.8),
        ("recall hit rate", {"brings.all": 4, "brings.hit": 3}, 0.75),
        ("recall lacks kept", {"lacks.all": 2, "lacks.kept": 2}, 1.0),
        ("recall MRR", {"rank.all": 2, "rank.sum": 1.5}, 0.75),
        ("wrong deletes", {f"nature.{ErrorType.WRONG_DELETE}": 2}, 2.0),
        ("invented", {f"nature.{ErrorType.INVENTED}": 1}, 1.0),
        ("noise", {f"nature.{ErrorType.NOISE}": 3}, 3.0),
        ("unforeseen", {f"nature.{ErrorType.UNFORESEEN}": 3}, 3.0),
        ("misfiled", {f"nature.{ErrorType.MISFILED}": 1}, 1.0),
        ("duplicates", {f"nature.{ErrorType.DUPLICATE}": 1, "held_twice": 2}, 3.0),
        ("breaches", {"breaches": 2}, 2.0),
        ("calls per turn", {"calls": 6, "turns": 4}, 1.5),
        ("tokens in per turn", {"tokens.in": 4000, "turns": 2}, 2000.0),
        ("tokens out per turn", {"tokens.out": 100, "turns": 2}, 50.0),
        ("dollars per turn", {"cost": 0.5, "turns": 100}, 0.005),
        ("monitor seconds", {"seconds.monitor": 3.0, "timed.monitor": 2}, 1.5),
    ],
)
def test_each_metric_by_hand(metric: str, counts: dict[str, float], expected: float) -> None:
    """What was counted over what there was to count."""
    one = ScriptResult(name="one", counts=counts)
    assert value(metric, one) == pytest.approx(expected)


def test_nothing_to_measure_is_no_number() -> None:
    """No rate without a whole; no seconds where answers came from a file."""
    measured = measure([played(turns=3)])
    assert "kind accuracy" not in measured
    assert not any(name.endswith("seconds") for name in measured)
    assert measured["wrong deletes"].value == 0
    assert measure([]) == {}


def test_a_failed_script_counts_nowhere() -> None:
    """Half of a script says nothing of the model."""
    good, bad = played("a", ADD__right=1), played("b", failure="no answer", ADD__wrong=9)
    assert value("ADD precision", good, bad) == 1


def test_the_interval_is_that_of_the_bootstrap() -> None:
    """Of 50 scripts, half all right, half all wrong: about 0.5 ± 1.96 · sqrt(0.25 / 50)."""
    scripts = [
        played(str(index), ADD__right=index % 2, ADD__wrong=1 - index % 2) for index in range(50)
    ]
    one = measure(scripts)["ADD precision"]
    assert one.value == 0.5
    assert one.low is not None
    assert one.high is not None
    half = 1.96 * math.sqrt(0.25 / 50)
    assert one.low == pytest.approx(0.5 - half, abs=0.03)
    assert one.high == pytest.approx(0.5 + half, abs=0.03)


def test_scripts_that_agree_leave_no_doubt() -> None:
    """The interval of a constant is the constant; of a count it is not, for scripts differ."""
    same = [played(str(index), ADD__right=1, breaches=1) for index in range(9)]
    one = measure(same)["ADD precision"]
    assert (one.low, one.high) == (1, 1)
    apart = measure([*same, played("quiet")])["breaches"]
    assert apart.low is not None
    assert apart.high is not None
    assert apart.low < apart.value == 9 < apart.high  # type: ignore[operator]


def test_the_same_counts_give_the_same_intervals() -> None:
    """The draws are seeded, so equal counts have equal intervals."""
    scripts = [played(str(index), ADD__right=index, ADD__wrong=3) for index in range(7)]
    assert measure(scripts) == measure(scripts)


def test_what_was_never_counted_is_nothing() -> None:
    """What was never counted is 0 in every draw."""
    added = sums([{"a": 2.0}, {"a": 1.0, "b": 5.0}], ones(2))
    assert (added["a"][0], added["b"][0], added["c"][0]) == (3, 5, 0)
