"""Scoring: each rule by hand, on one step."""

from typing import Any

import pytest

from souffleur.evals.llm_judge import OpAnswer, error_type
from souffleur.evals.result import ErrorType, Mark, OpRecord, OpStatus, Step, StepMarks
from souffleur.evals.scoring import (
    count_error_types,
    list_entailment_pairs,
    score,
    score_end,
    score_recall,
)
from souffleur.evals.script import End, RecallPart, RunPart, ScriptTurn

AT = "2026-03-05T20:00:00+08:00"
MOVED = {"op": "UPDATE", "of": "Woodlands", "pattern": ["Jurong"]}
MOVES = {"op": "UPDATE", "olds": ("Lin lives in Woodlands.",), "content": "Lin lives in Jurong."}


def turn(**fields: Any) -> ScriptTurn:
    return ScriptTurn.model_validate({"at": AT, "user": "…", **fields})


def run(**fields: Any) -> RunPart:
    return RunPart.model_validate({"at": AT, "run": "review", **fields})


def step(*ops: dict[str, Any], **fields: Any) -> Step:
    done = tuple(OpRecord.model_validate({"who": "monitor", **op}) for op in ops)
    return Step(place="s1.1", at=AT, ops=done, **fields)


def add(content: str, **fields: Any) -> dict[str, Any]:
    return {"op": "ADD", "content": content, "kind": "fact", **fields}


def counts(part: ScriptTurn | RunPart, one: Step, **said: bool) -> dict[str, float]:
    entailments = {tuple(key.split("|")): value for key, value in said.items()}
    return dict(score(part, one, entailments).counts)  # type: ignore[arg-type]


def test_what_is_expected_and_done_is_right() -> None:
    """One op, one expectation; details and kind are counted apart."""
    expect = {
        "op": "ADD",
        "pattern": ["peanut", "allerg"],
        "details": ["peanut", "2019"],
        "kind": "fact",
    }
    one = step(add("Lin has been allergic to peanuts since 2018."))
    scored = score(turn(expect=[expect]), one, {})
    assert scored.counts == {
        **{"ADD.right": 1, "ADD.met": 1, "details.all": 2, "details.kept": 1},
        **{"kind.all": 1, "kind.right": 1},
    }
    assert scored.judged.marks == (Mark(standing=OpStatus.RIGHT, why="ADD peanut & allerg"),)
    assert scored.judged.lost == ("2019 (ADD peanut & allerg)",)
    assert not scored.judged.is_clean


def test_all_patterns_must_be_there() -> None:
    """An op that has only one of two is wrong, and the expectation missed."""
    expect = {"op": "ADD", "pattern": ["peanut", "allerg"]}
    scored = score(turn(expect=[expect]), step(add("Lin bought peanuts.")), {})
    assert scored.counts == {"ADD.wrong": 1, "ADD.missed": 1}
    assert scored.judged.missed == ("ADD peanut & allerg",)


def test_merging_and_splitting_do_no_harm() -> None:
    """Two facts in one memory are both met; one fact with its detail in another keeps it."""
    moved = {"op": "ADD", "pattern": "Jurong", "details": "15 minutes"}
    walks = {"op": "ADD", "pattern": "15 min"}
    part = turn(expect=[moved, walks])
    together = counts(part, step(add("Lin lives in Jurong, 15 minutes from work.")))
    assert together == {"ADD.right": 1, "ADD.met": 2, "details.all": 1, "details.kept": 1}
    apart = counts(part, step(add("Lin lives in Jurong."), add("Work is 15 minutes away.")))
    assert apart == {"ADD.right": 2, "ADD.met": 2, "details.all": 1, "details.kept": 1}


def test_what_may_be_done_counts_for_nothing() -> None:
    """It is neither right nor wrong, and the turn is still a SKIP."""
    part = turn(may=[{"op": ["ADD", "UPDATE"], "pattern": "gym"}])
    scored = score(part, step(add("Lin may join a gym.")), {})
    assert scored.counts == {"SKIP.right": 1, "SKIP.met": 1}
    assert scored.judged.marks[0].standing is OpStatus.FINE


def test_skip_is_right_where_nothing_is_expected_and_nothing_done() -> None:
    """A SKIP is right if nothing is expected and nothing done, and only then."""
    quiet, telling = turn(), turn(expect=[{"op": "ADD", "pattern": "cat"}])
    assert counts(quiet, step()) == {"SKIP.right": 1, "SKIP.met": 1}
    assert counts(telling, step()) == {"ADD.missed": 1, "SKIP.wrong": 1}
    assert counts(quiet, step(add("Lin has a cat."))) == {"ADD.wrong": 1, "SKIP.missed": 1}
    assert counts(telling, step(add("Lin has a dog."))) == {"ADD.wrong": 1, "ADD.missed": 1}


def test_a_turn_that_could_not_be_judged_is_no_skip() -> None:
    """To have no answer is not to decide that there is nothing."""
    assert counts(turn(), step(trouble="AnswerError: no JSON")) == {"SKIP.missed": 1}
    telling = turn(expect=[{"op": "ADD", "pattern": "cat"}])
    assert counts(telling, step(trouble="AnswerError: no JSON")) == {"ADD.missed": 1}


def test_a_refused_op_was_not_done() -> None:
    """It is listed, meets nothing and harms nothing."""
    part = turn(expect=[{"op": "ADD", "pattern": "cat"}], never=[{"op": "ADD", "pattern": "cat"}])
    scored = score(part, step(add("Lin has a cat.", refused="ungrounded: …")), {})
    assert scored.counts == {"ADD.missed": 1, "SKIP.wrong": 1}
    assert scored.judged.marks[0].standing is OpStatus.REFUSED
    assert scored.judged.breaches == ()


def test_what_must_never_be_is_wrong_even_where_it_may_be() -> None:
    """A `never` wins over `may` and `expect`, and is listed as a breach."""
    mars = {"op": "ADD", "pattern": "Mars"}
    part = turn(may=[mars], never=[{**mars, "why": "a joke"}])
    scored = score(part, step(add("Lin lives on Mars.")), {})
    assert scored.counts == {"ADD.wrong": 1, "SKIP.missed": 1, "breaches": 1}
    assert scored.judged.marks[0].why == "never: a joke"
    assert len(scored.judged.breaches) == 1
    both = counts(turn(expect=[mars], never=[mars]), step(add("Lin lives on Mars.")))
    assert both == {"ADD.wrong": 1, "ADD.met": 1, "breaches": 1}


def test_an_update_is_of_something() -> None:
    """The old content must be the one that is meant."""
    part = turn(expect=[MOVED])
    right = counts(part, step(MOVES))
    assert right == {"UPDATE.right": 1, "UPDATE.met": 1, "update.correct": 1}
    other = counts(part, step({**MOVES, "olds": ("Lin works in Changi.",)}))
    assert other == {"UPDATE.wrong": 1, "UPDATE.missed": 1, "update.omitted": 1}


def test_an_update_with_other_words_is_hallucinated() -> None:
    """The right memory was updated, to something that is not so."""
    wrong = {**MOVES, "content": "Lin lives in Tampines."}
    assert counts(turn(expect=[MOVED]), step(wrong)) == {
        **{"UPDATE.wrong": 1, "UPDATE.missed": 1, "update.hallucinated": 1}
    }


def test_an_add_beside_what_became_wrong_is_an_update_omitted() -> None:
    """The UPDATE is missed and the ADD is wrong, unless either was fine."""
    beside = step(add("Lin lives in Jurong."))
    scored = score(turn(expect=[MOVED]), beside, {})
    assert scored.counts == {"UPDATE.missed": 1, "ADD.wrong": 1, "update.omitted": 1}
    assert scored.judged.marks[0].nature is ErrorType.MISFILED
    either = turn(expect=[{"op": ["ADD", "UPDATE"], "pattern": "Jurong"}])
    assert counts(either, beside) == {"ADD.right": 1, "ADD.met": 1}


def test_what_an_update_is_to_keep_is_a_detail() -> None:
    """What it is to keep of the old words counts as a detail, beside those of the new ones."""
    part = turn(expect=[{**MOVED, "keeps": ["Lin", "alone"], "details": "Jurong"}])
    told = counts(part, step(MOVES))
    assert (told["details.all"], told["details.kept"]) == (3, 2)


def test_boosts_and_deletions_are_known_by_what_they_are_done_to() -> None:
    """An unforeseen one is of a nature that needs no LLM judge."""
    nuts = {"op": "BOOST", "olds": ("Lin is allergic to peanuts.",)}
    assert counts(turn(expect=[{"op": "BOOST", "of": "peanut"}]), step(nuts)) == {
        **{"BOOST.right": 1, "BOOST.met": 1}
    }
    scored = score(turn(), step(nuts, {**nuts, "op": "DELETE"}), {})
    natural = [mark.nature for mark in scored.judged.marks]
    assert natural == [ErrorType.NOT_USED, ErrorType.WRONG_DELETE]
    assert count_error_types(scored.judged) == {f"nature.{one}": 1 for one in natural}


def test_each_pattern_of_a_merge_is_in_one_of_the_old_contents() -> None:
    """Three memories of a hobby become one."""
    olds = ("Lin bought clay in Porto.", "Lin made a bowl.", "Lin glazed it blue.")
    merge = {"op": "MERGE", "olds": olds, "content": "Lin does pottery: clay, a bowl, blue."}
    part = run(run="consolidate", expect=[{"op": "MERGE", "of": ["clay", "bowl", "glazed"]}])
    assert counts(part, step(merge)) == {"MERGE.right": 1, "MERGE.met": 1}
    part = run(run="consolidate", expect=[{"op": "MERGE", "of": ["clay", "kiln"]}])
    assert counts(part, step(merge)) == {"MERGE.wrong": 1, "MERGE.missed": 1}


def test_a_run_has_no_skip() -> None:
    """What a review keeps or lets go is an op of its own."""
    keep = {"op": "KEEP", "olds": ("Lin likes jazz.",)}
    part = run(expect=[{"op": "PROMOTE", "of": "birthday"}, {"op": "KEEP", "of": "jazz"}])
    assert counts(part, step(keep)) == {"KEEP.right": 1, "KEEP.met": 1, "PROMOTE.missed": 1}
    assert counts(run(), step()) == {}


def test_the_wrong_kind_is_counted_apart() -> None:
    """The op is right all the same."""
    part = turn(expect=[{"op": "ADD", "pattern": "tea", "kind": ["preference", "pattern"]}])
    scored = score(part, step(add("Lin drinks tea.")), {})
    assert scored.counts == {"ADD.right": 1, "ADD.met": 1, "kind.all": 1}
    assert scored.judged.misnamed == ("fact, not preference/pattern (ADD tea)",)


def test_what_only_a_llm_judge_can_tell_is_asked() -> None:
    """Each op that could meet it is asked about once, and the answer decides."""
    part = turn(expect=[{"op": "ADD", "says": "Lin quit smoking", "pattern": "Lin"}])
    one = step(add("Lin no longer smokes."), add("Rain."), {"op": "BOOST", "olds": ("Lin.",)})
    pair = ("Lin quit smoking", "Lin no longer smokes.")
    assert list_entailment_pairs(part, one.ops) == [pair]
    assert score(part, one, {pair: True}).counts["ADD.met"] == 1
    assert score(part, one, {pair: False}).counts["ADD.missed"] == 1
    assert score(part, one, {}).counts["ADD.missed"] == 1


@pytest.mark.parametrize(
    ("supported", "known", "worth", "is_"),
    [
        (False, True, True, ErrorType.INVENTED),
        (True, True, True, ErrorType.DUPLICATE),
        (True, False, False, ErrorType.NOISE),
        (True, False, True, ErrorType.UNFORESEEN),
    ],
)
def test_what_an_unforeseen_memory_is(
    supported: bool, known: bool, worth: bool, is_: ErrorType
) -> None:
    """Invented before all; then known, then not worth it."""
    answer = OpAnswer(reason="", supported=supported, known=known, worth=worth)
    assert error_type(answer) is is_


def test_recall_brings_lacks_and_ranks() -> None:
    """A rank is that among what was called for; what stands in the block anyway has none."""
    block = "- Lin lives in Jurong.\n- Lin likes tea.\n- Lin's name is Lin Wei."
    ranked = ["Lin likes tea.", "Lin lives in Jurong.", "Jurong is far."]
    part = RecallPart(brings=("Jurong", "Lin Wei", "peanut"), lacks=("Woodlands", "tea"))
    scored = score_recall(part, block, ranked)
    assert scored.counts == {
        **{"brings.all": 3, "brings.hit": 2, "rank.all": 2, "rank.sum": 0.5},
        **{"lacks.all": 2, "lacks.kept": 1},
    }
    assert scored.judged.recall == ("not brought: peanut", "brought all the same: tea")


def test_the_end_holds_and_lacks() -> None:
    """What is there twice is a duplicate."""
    end = End.model_validate(
        {
            "holds": [
                {"pattern": ["Jurong"], "once": True},
                {"pattern": "tea", "once": True},
                {"pattern": "cat"},
            ],
            "lacks": ["Mars", "Woodlands"],
        }
    )
    memories = ["Lin lives in Jurong.", "Lin moved to Jurong.", "Lin likes tea.", "Lin on Mars."]
    wrong, counted = score_end(end, memories)
    assert counted == {"end.all": 5, "end.right": 2, "held_twice": 1}
    assert wrong == ["held 2 times: Jurong", "not held: cat", "held all the same: Lin on Mars."]


def test_a_clean_step_is_clean() -> None:
    """Nothing missed, nothing wrong."""
    assert StepMarks(marks=(Mark(standing=OpStatus.RIGHT),)).is_clean
    assert not StepMarks(marks=(Mark(standing=OpStatus.WRONG),)).is_clean
