"""Boundary tasks: which boundaries may speak of a memory, and were not judged against it."""

from typing import Any

from hypothesis import given, strategies as st

from souffleur.knowledge.boundary_pairs import (
    MAX_BOUNDARIES,
    MAX_MEMORIES,
    find_boundary_tasks,
    pair_mark,
)
from souffleur.knowledge.identity import COMMON, SHARED, knows, own_sphere
from souffleur.knowledge.memory import Category, Kind, Memory
from tests.build import memory

SPHERES = (COMMON, SHARED, own_sphere("mo"), own_sphere("bo"))


def life(places: list[tuple[str, bool, str]], shift: int) -> list[Memory]:
    """Return memories of users, boundaries among them, and each boundary judged against some."""
    every = [
        memory(
            f"{user} {index}",
            user_id=user,
            kind=Kind.BOUNDARY if is_boundary else Kind.FACT,
            sphere=sphere,
        )
        for index, (user, is_boundary, sphere) in enumerate(places)
    ]
    return [
        one.model_copy(
            update={"judged": tuple(pair_mark(one, other) for other in every[at % 3 :: shift])}
        )
        if one.kind is Kind.BOUNDARY
        else one
        for at, one in enumerate(every)
    ]


places = st.tuples(st.sampled_from(("ann", "bob")), st.booleans(), st.sampled_from(SPHERES))


def _meet(one: Memory, other: Memory) -> bool:
    return any(knows(sphere, one.sphere) and knows(sphere, other.sphere) for sphere in SPHERES)


@given(st.lists(places, max_size=60), st.integers(1, 5))
def test_each_unjudged_pair_is_in_a_task(drawn: Any, shift: int) -> None:
    """Of one user, if a persona may know both; no pair is in two tasks, and no task is too big."""
    every = life(drawn, shift)
    tasks = find_boundary_tasks(every)
    pairs = [(b.id, m.id) for task in tasks for b in task.boundaries for m in task.memories]
    due = {
        (one.id, other.id)
        for one in every
        for other in every
        if (one.kind, other.kind) == (Kind.BOUNDARY, Kind.FACT)
        and one.user_id == other.user_id
        and _meet(one, other)
        and pair_mark(one, other) not in one.judged
    }
    assert due <= set(pairs)
    assert len(pairs) == len(set(pairs))
    users = {one.id: one.user_id for one in every}
    assert all(users[boundary] == users[memory] for boundary, memory in pairs)
    for task in tasks:
        assert len(task.boundaries) <= MAX_BOUNDARIES
        assert len(task.memories) <= MAX_MEMORIES
        for part in (task.boundaries, task.memories):
            assert len({one.sphere for one in part}) == 1


def test_a_mark_is_of_both_wordings() -> None:
    """Reworded, they are judged again; what does not change the words does not change it."""
    no, tea = memory("Ann wants no tea.", kind=Kind.BOUNDARY), memory("Ann had tea.")
    mark = pair_mark(no, tea)
    assert pair_mark(no, tea.model_copy(update={"uses": 3})) == mark
    reworded = [one.model_copy(update={"content": "Ann had milk."}) for one in (no, tea)]
    assert len({mark, pair_mark(reworded[0], tea), pair_mark(no, reworded[1])}) == 3


def test_what_is_written_from_many_turns_is_not_judged() -> None:
    """Neither episodes and portraits nor what a persona is are judged."""
    no = memory("Ann wants no tea.", kind=Kind.BOUNDARY)
    others = [memory(f"{one} had tea.", category=one) for one in Category]
    (task,) = find_boundary_tasks([no, *others])
    assert {one.category for one in task.memories} == {
        Category.CORE,
        Category.FACT,
        Category.SKILL,
    }
