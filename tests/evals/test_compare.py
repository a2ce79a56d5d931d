"""Comparison: noise is no regression, and what is beyond it is one."""

from pathlib import Path

import pytest

from souffleur.errors import InputError
from souffleur.evals.compare import compare
from souffleur.evals.result import (
    ErrorType,
    Mark,
    OpRecord,
    OpStatus,
    ResultFile,
    Run,
    ScriptResult,
    Step,
    StepMarks,
    read_result,
    to_text,
)


def script(
    name: str, *, faults: tuple[Step, ...] = (), failure: str = "", **counts: float
) -> ScriptResult:
    named = {key.replace("__", "."): value for key, value in counts.items()}
    return ScriptResult(name=name, counts=named, steps=faults, failure=failure)


def run(*scripts: ScriptResult) -> Run:
    return Run(model="m", mode="recorded", scripts=scripts)


def wrong(nature: ErrorType, place: str = "s1.1", words: str = "Lin lives on Mars.") -> Step:
    done = OpRecord(op="ADD", who="monitor", content=words)
    mark = Mark(standing=OpStatus.WRONG, nature=nature)
    return Step(place=place, at="2026-03-05", ops=(done,), judged=StepMarks(marks=(mark,)))


def suite(*, right: int, wrong: int = 0, **counts: float) -> Run:
    """Twenty scripts that are all alike."""
    named = {key.replace("__", "."): value for key, value in counts.items()}
    alike = {"ADD.right": right, "ADD.wrong": wrong, **named}
    return run(*(ScriptResult(name=str(index), counts=alike) for index in range(20)))


def test_a_run_is_no_worse_than_itself() -> None:
    """No difference, no regression."""
    one = suite(right=3, wrong=1)
    assert compare(one, one).regressions == []


def test_worse_everywhere_is_a_regression_and_better_is_none() -> None:
    """The interval of the difference excludes 0."""
    good, bad = suite(right=4), suite(right=3, wrong=1)
    (first, *_) = compare(good, bad).regressions
    assert first.startswith("all precision: 1.000 → 0.750")
    back = compare(bad, good)
    assert back.regressions == []
    assert any(one.better for one in back.differences)


def test_one_script_of_many_is_noise() -> None:
    """Some draws do not hold it."""
    good = suite(right=4)
    bad = run(script("0", ADD__right=3, ADD__wrong=1), *good.scripts[1:])
    assert compare(good, bad).regressions == []


def test_scripts_are_paired() -> None:
    """Great differences between scripts do not hide a small one between the runs."""
    a = run(*(script(str(n), details__all=10, details__kept=n % 10 + 1) for n in range(30)))
    b = run(*(script(str(n), details__all=10, details__kept=n % 10) for n in range(30)))
    (regression,) = compare(a, b).regressions
    assert regression.startswith("detail retention")


@pytest.mark.parametrize("nature", [ErrorType.WRONG_DELETE, ErrorType.INVENTED])
def test_one_wrong_delete_or_invented_fact_is_a_regression(nature: ErrorType) -> None:
    """Whatever the interval; but not where there was one before."""
    good = run(script("a"), script("b"))
    bad = run(script("a"), script("b", faults=(wrong(nature),)))
    (regression,) = compare(good, bad).regressions
    assert regression == f"b s1.1: {nature.label}: Lin lives on Mars."
    assert compare(bad, bad).regressions == []
    reworded = run(script("a"), script("b", faults=(wrong(nature, words="Lin is on Mars."),)))
    assert compare(bad, reworded).regressions == []
    elsewhere = run(script("a"), script("b", faults=(wrong(nature, "s1.2"),)))
    assert len(compare(bad, elsewhere).regressions) == 1


def test_noise_once_is_no_regression() -> None:
    """Only what is never to be new counts at once."""
    good = run(script("a"), script("b"))
    bad = run(script("a"), script("b", faults=(wrong(ErrorType.NOISE),)))
    assert compare(good, bad).regressions == []


def test_a_script_that_fails_only_now_is_a_regression() -> None:
    """It is named; one that failed before is no regression, and neither is measured."""
    good, bad = run(script("a", ADD__right=1)), run(script("a", failure="it is stale"))
    assert compare(good, bad).regressions == ["a: fails: it is stale"]
    assert compare(bad, bad).regressions == []
    assert compare(good, bad).differences == ()


def test_what_costs_a_little_more_is_no_regression() -> None:
    """A few words in a prompt are asked everywhere; a tenth more is another matter."""
    base = suite(right=1, turns=1, tokens__in=1000)
    assert compare(base, suite(right=1, turns=1, tokens__in=1050)).regressions == []
    (regression,) = compare(base, suite(right=1, turns=1, tokens__in=1200)).regressions
    assert regression.startswith("tokens in per turn")


def test_scripts_of_one_run_only_are_named() -> None:
    """They are not compared."""
    compared = compare(run(script("a"), script("b")), run(script("b"), script("c")))
    assert (compared.only_a, compared.only_b) == (("a",), ("c",))
    assert compared.regressions == []


def test_a_result_is_read_as_it_was_written(tmp_path: Path) -> None:
    """The same text each time; what is none is named."""
    saved = ResultFile(runs=(run(script("a", faults=(wrong(ErrorType.NOISE),), ADD__right=1)),))
    file = tmp_path / "a.json"
    file.write_text(to_text(saved), encoding="utf-8")
    assert read_result(file) == saved
    assert to_text(read_result(file)) == to_text(saved)
    file.write_text("{}", encoding="utf-8")
    with pytest.raises(InputError, match="no result of `souffleur eval run --out`"):
        read_result(file)
    with pytest.raises(InputError, match="cannot be read"):
        read_result(tmp_path / "none.json")
