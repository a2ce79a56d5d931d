"""When a portrait is due: the rule alone."""

import pytest

from souffleur.knowledge.memory import Category, Memory, MemoryState
from souffleur.knowledge.portrait_rule import PortraitStatus, why_due
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
        (None, told(4), CALM, 6.9, ""),
        (None, told(5), CALM, 0, "5 new episodes"),
        (None, told(1), CALM, 7, "a week has passed"),
        (None, told(1), BIG, 0, "something big was told"),
        (FORMER, told(0), CALM, 99, ""),
        (FORMER, told(0), BIG, 0.9, ""),
        (FORMER, told(0), BIG, 1, "something big was told"),
        (FORMER, told(4), CALM, 6.9, ""),
        (FORMER, told(1), CALM, 7, "a week has passed"),
        (FORMER, told(1, -2), SAME, 8.9, ""),
        (FORMER, told(1, -2), SAME, 9, "a week has passed"),
        (FORMER, told(5), CALM, 0, "5 new episodes"),
        (WITHDRAWN, told(0), CALM, 0, "something in it was to be forgotten"),
        (UNDONE, told(0), CALM, 0, ""),
    ],
)
def test_when_it_is_due(
    former: Memory | None, episodes: list[Memory], upkeep: PortraitStatus, later: float, why: str
) -> None:
    """After five episodes, a week with one, something big, or when it must leave something out."""
    assert why_due(former, episodes, upkeep, NOW + days(later)) == why
