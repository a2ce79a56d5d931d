"""Attribution: the turn to which an op belongs, if several were judged in one call."""

from collections.abc import Sequence
from typing import Any

import pytest

from souffleur.evals.result import ErrorType, OpStatus, Step
from souffleur.evals.scoring import score
from souffleur.evals.script import ScriptTurn
from souffleur.evals.script_runner import share_out
from souffleur.knowledge.operation import Actor, ActorKind, Change, LedgerEntry
from souffleur.knowledge.turn import Turn
from tests.build import NOW, memory, turn

TEA = memory("Ann likes tea.")
BOOST = {"op": "BOOST", "of": "tea"}
WHISPERED, QUIET = (TEA.id,), ()


def group(*injected: tuple[str, ...]) -> list[Turn]:
    """Turns with different words; some of them had the tea whispered."""
    return [
        turn(f"word{number}", turn_id=str(number), injected=ids)
        for number, ids in enumerate(injected)
    ]


def parts(*expected: dict[str, Any]) -> list[ScriptTurn]:
    return [ScriptTurn.model_validate({"at": NOW, "user": "…", **one}) for one in expected]


def entry(turns: Sequence[Turn], quote: str = "") -> LedgerEntry:
    """What one judgement on these turns did to the tea."""
    return LedgerEntry(
        id="e",
        verdict_id="v",
        position=0,
        of=1,
        user_id="ann",
        agent_id="default",
        turn_ids=tuple(one.id for one in turns),
        by=Actor(who=ActorKind.MONITOR),
        at=NOW,
        op="BOOST",
        quote=quote,
        changes=(Change(before=TEA, after=TEA),),
    )


def place(done: LedgerEntry, turns: Sequence[Turn], expected: Sequence[ScriptTurn]) -> int:
    """The index of the one turn that has the op."""
    (found,) = [at for at, ops in enumerate(share_out([done], turns, expected)) if ops]
    return found


def test_a_boost_is_of_the_turn_in_which_its_memory_was_whispered() -> None:
    """No turn before or after it has the boost, even where the script expects it there."""
    turns = group(QUIET, WHISPERED, QUIET)
    assert place(entry(turns), turns, parts({"expect": [BOOST]}, {}, {})) == 1


@pytest.mark.parametrize(
    ("expected", "at"),
    [
        (({}, {"expect": [BOOST]}, {"may": [BOOST]}, {"never": [BOOST]}), 1),
        (({"never": [BOOST]}, {"may": [BOOST]}, {}, {}), 1),
        (({"never": [BOOST]}, {}, {}, {}), 0),
        (({}, {"expect": [{**BOOST, "of": "milk"}]}, {"expect": [BOOST]}, {"expect": [BOOST]}), 2),
        (({}, {}, {}, {}), 3),
    ],
)
def test_if_whispered_in_several_it_is_of_one_that_expects_it(
    expected: tuple[dict[str, Any], ...], at: int
) -> None:
    """Else of one that allows it, that forbids it, or of the last."""
    turns = group(*[WHISPERED] * 4)
    assert place(entry(turns), turns, parts(*expected)) == at


def test_a_boost_that_no_turn_expects_is_wrong() -> None:
    """Whatever else the turns of the group expect, and what turns outside it do."""
    turns, milk = group(*[WHISPERED] * 3), {"expect": [{**BOOST, "of": "milk"}]}
    expected = parts({}, milk, {"expect": [BOOST]})
    shared = share_out([entry(turns[:2])], turns, expected)
    assert [len(ops) for ops in shared] == [0, 1, 0]
    step = Step(place="s1.2", at=NOW.isoformat(), ops=shared[1])
    scored = score(expected[1], step, {})
    (mark,) = scored.judged.marks
    assert (mark.standing, mark.nature) == (OpStatus.WRONG, ErrorType.NOT_USED)
    assert (scored.counts["BOOST.wrong"], scored.counts["BOOST.missed"]) == (1, 1)


def test_an_op_that_quotes_a_turn_is_of_that_turn() -> None:
    """Wherever its memory was whispered or is expected."""
    turns = group(QUIET, WHISPERED, QUIET)
    assert place(entry(turns, "word0"), turns, parts({}, {"expect": [BOOST]}, {})) == 0
