"""When a portrait is due, and what leaves it before it is written anew: the rules alone."""

from typing import Any

import pytest

from souffleur.knowledge.memory import Category, Memory, MemoryState
from souffleur.knowledge.portrait_rule import PortraitStatus, why_due, without_outdated
from tests.build import NOW, days, memory

CALM = PortraitStatus(user_id="ann")
SAME = PortraitStatus(user_id="ann", until=NOW + days(2))
"""Two days later the same words were written again."""
BIG = PortraitStatus(user_id="ann", big=True)
FORMER = memory("Ann.", category=Category.PROFILE)
WITHDRAWN = FORMER.model_copy(update={"state": MemoryState.FORGOTTEN, "data": {"without": ["Tom"]}})
UNDONE = FORMER.model_copy(update={"state": MemoryState.FORGOTTEN})


def told(count: int, age: float = 0) -> list[Memory]:
    return [
        memory(f"{n}", category=Category.EPISODE, created_at=NOW - days(age)) for n in range(count)
    ]


@pytest.mark.parametrize(
    ("former", "episodes", "upkeep", "later", "why"),
    [
        (None, told(0), BIG, 99, ""),
        (None, told(1), CALM, 0, ""),
        (None, told(9), CALM, 29.9, ""),
        (None, told(10), CALM, 0, "10 new episodes"),
        (None, told(1), CALM, 30, "30 days have passed"),
        (None, told(1), BIG, 0, "something big was told"),
        (FORMER, told(0), CALM, 99, ""),
        (FORMER, told(0), BIG, 0.9, ""),
        (FORMER, told(0), BIG, 1, "something big was told"),
        (FORMER, told(9), CALM, 29.9, ""),
        (FORMER, told(1), CALM, 30, "30 days have passed"),
        (FORMER, told(1, -2), SAME, 31.9, ""),
        (FORMER, told(1, -2), SAME, 32, "30 days have passed"),
        (FORMER, told(10), CALM, 0, "10 new episodes"),
        (WITHDRAWN, told(0), CALM, 0, "something in it was to be forgotten"),
        (UNDONE, told(0), CALM, 0, ""),
    ],
)
def test_when_it_is_due(
    former: Memory | None, episodes: list[Memory], upkeep: PortraitStatus, later: float, why: str
) -> None:
    """After ten episodes, a month with one, something big, or when it must leave something out."""
    assert why_due(former, episodes, upkeep, NOW + days(later)) == why


def test_what_has_changed_makes_it_due() -> None:
    """A day after it was written, so that news that is told in pieces is written once."""
    due = [why_due(FORMER, [], CALM, NOW + days(at), outdated=True) for at in (0.9, 1)]
    assert due == ["", "it tells what has changed"]


def replaced(content: str, by: str, **fields: Any) -> list[Memory]:
    """A memory that was replaced a day after the portrait, and the one in its place."""
    old = {"state": MemoryState.SUPERSEDED, "updated_at": NOW + days(1)}
    new = memory(by)
    return [memory(content, **{**old, "superseded_by": new.id, **fields}), new]


@pytest.mark.parametrize(
    ("content", "memories", "left"),
    [
        (
            "Ann bakes. She takes 20 mg of Sertraline.",
            replaced("Ann takes 20 mg of Sertraline.", "Ann takes 50 mg of Sertraline."),
            "Ann bakes.",
        ),
        (
            "Ann lives in Ulm with Tom.\n\nShe bakes.",
            replaced("Ann lives in Ulm.", "Ann lives in Bonn.", entities=("Ulm",)),
            "She bakes.",
        ),
        (
            "Ann lives in Bonn, before that in Ulm.",
            replaced("Ann lives in Ulm.", "Ann lives in Bonn, before that in Ulm."),
            "Ann lives in Bonn, before that in Ulm.",
        ),
        (
            "Ann lives in Ulm.",
            replaced("Ann lives in Ulm.", "Ann lives in Bonn.", updated_at=NOW - days(1)),
            "Ann lives in Ulm.",
        ),
        (
            "Ann works at Vale as a nurse. She bakes.",
            replaced("Ann works as a nurse at Vale.", "Ann was let go by Vale in May 2026."),
            "She bakes.",
        ),
        ("小雨住在苏州。她喜欢面。", replaced("小雨住在苏州。", "小雨住在南京。"), "她喜欢面。"),
    ],
)
def test_what_was_replaced_is_not_told(content: str, memories: list[Memory], left: str) -> None:
    """A sentence goes with a detail that no memory has any more; what still holds stays."""
    whole = memory(content, category=Category.PROFILE)
    assert without_outdated(whole, [whole, *memories]).content == left
