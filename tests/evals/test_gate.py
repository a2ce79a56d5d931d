"""The gate: the recorded suite is as good as it must be, and no worse than it was.

Any change of a prompt or a rule comes by here. After one that is meant, record the suite anew, look
at what moved, and keep the result: `souffleur eval run --brief --out evals/baseline.json`. What is
judged several turns to a call has its own recording, and so has what is played with special
categories refused: docs/measure.md says how they are made.
"""

from collections.abc import Sequence
from pathlib import Path

import pytest

from souffleur.evals.compare import compare
from souffleur.evals.result import ErrorType, OpStatus, Run, read_result
from souffleur.evals.runner import run_recorded
from souffleur.evals.script import find_scripts, occurs, read_script
from tests.stores import STORES

EVALS = Path(__file__).parent.parent.parent / "evals"

AT_LEAST = {
    **{f"{op} precision": 0.95 for op in ("all", "ADD", "UPDATE", "BOOST", "DELETE", "SKIP")},
    **{f"{op} recall": 0.9 for op in ("all", "ADD", "UPDATE", "BOOST", "DELETE", "SKIP")},
    "update correct": 0.95,
    "detail retention": 0.95,
}


def recorded(files: Sequence[Path], recordings: Path, together: int = 1) -> Run:
    """A run in this process, over empty stores that are used again."""
    return run_recorded(files, recordings, processes=1, together=together, opener=STORES.open)


@pytest.fixture(scope="module")
def suite() -> Run:
    """The shipped scripts, by the shipped answers of a real model."""
    return recorded(find_scripts(EVALS / "dialogues"), EVALS / "recordings" / "suite")


def test_the_suite_is_whole(suite: Run) -> None:
    """Every script plays to its end by its recording; half are Chinese."""
    assert suite.troubles == []
    assert len(suite.scripts) >= 24
    scripts = [read_script(file) for file in find_scripts(EVALS / "dialogues")]
    chinese = [script for script in scripts if script.user.language == "zh"]
    assert 2 * len(chinese) >= len(scripts) - 1


@pytest.mark.parametrize("name", AT_LEAST)
def test_the_bar_is_met(suite: Run, name: str) -> None:
    """No number is below what a memory is worth having for."""
    value = suite.metrics[name].value
    assert value is not None
    assert value >= AT_LEAST[name]


def test_nothing_is_invented_and_nothing_deleted_wrongly(suite: Run) -> None:
    """Not one invented fact, and not one deletion that nobody asked for."""
    wrong = [
        (one.name, step.place, done.words)
        for one in suite.scripts
        for step in one.steps
        for done, mark in zip(step.ops, step.judged.marks, strict=True)
        if mark.standing is OpStatus.WRONG
        and mark.nature in {ErrorType.INVENTED, ErrorType.WRONG_DELETE}
    ]
    assert wrong == []


def test_it_is_no_worse_than_it_was(suite: Run) -> None:
    """Against the kept result, no metric fell beyond noise, and no fault is new."""
    compared = compare(read_result(EVALS / "baseline.json").runs[0], suite)
    assert (compared.regressions, compared.only_a, compared.only_b) == ([], (), ())


def test_turns_judged_together_are_judged_as_well() -> None:
    """Eleven turns in three calls, by a recording of its own: nothing is missed or wrong."""
    files = [EVALS / "dialogues" / "echo_en.yaml"]
    run = recorded(files, EVALS / "recordings" / "together", together=10)
    assert run.troubles == []
    (script,) = run.scripts
    assert all(one.judged.is_clean and not one.judged.breaches for one in script.steps)
    calls = [call for step in script.steps for call in step.calls if call.name == "monitor"]
    assert (script.counts["turns"], len(calls), script.counts["BOOST.met"]) == (11, 3, 4)


@pytest.fixture(scope="module")
def special() -> Run:
    """The scripts on special categories, by the shipped answers of a real model."""
    files = find_scripts(EVALS / "special")
    return recorded(files, EVALS / "recordings" / "special")


def test_special_categories_are_told_from_what_sounds_like_them(special: Run) -> None:
    """What must be kept is kept whole, and what must not never comes to stand."""
    assert special.troubles == []
    assert len(special.scripts) == 8
    judged = [step.judged for one in special.scripts for step in one.steps]
    faults = [(*one.breaches, *one.missed, *one.lost, *one.misnamed, *one.recall) for one in judged]
    assert [fault for fault in faults if fault] == []
    wrong = [mark for one in judged for mark in one.marks if mark.standing is OpStatus.WRONG]
    assert {mark.nature for mark in wrong} <= {ErrorType.UNFORESEEN}
    assert [one.end for one in special.scripts if one.end] == []


def test_special_categories_are_in_nothing_that_is_written(special: Run) -> None:
    """No answer of the model names one: no reason or cue, no episode, no portrait."""
    lacks = {file.stem: read_script(file).end.lacks for file in find_scripts(EVALS / "special")}
    calls = [
        (one.name, call) for one in special.scripts for step in one.steps for call in step.calls
    ]
    assert {call.name for _, call in calls} >= {"monitor", "episode", "portrait"}
    named = [
        (name, call.name, pattern)
        for name, call in calls
        for pattern in lacks[name]
        if occurs(pattern, call.answer)
    ]
    assert named == []


def test_a_careless_judge_does_no_harm() -> None:
    """What it invents, mixes up, repeats, obeys or keeps secret never comes to stand."""
    run = recorded(find_scripts(EVALS / "careless"), EVALS / "none")
    assert run.troubles == []
    for one in run.scripts:
        assert one.end == ()
        done = [op.op for step in one.steps for op in step.ops if not op.refused]
        assert set(done) <= {"SKIP"}
        assert sum(bool(op.refused) for step in one.steps for op in step.ops) >= 5
