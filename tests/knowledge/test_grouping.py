"""Grouping: which memories may become fewer, which are near, and what is read to find out."""

import math
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from souffleur.knowledge.grouping import (
    GROUP_SIZES,
    NEAR_IN_GROUP,
    find_groups,
    group_memories,
    is_expiring,
    is_old,
    users_with_candidates,
)
from souffleur.knowledge.memory import Category, Kind, Memory, MemoryState
from souffleur.knowledge.operation import derive_id
from souffleur.knowledge.policy import EVERBOT
from tests.build import NOW, days, fill, memory
from tests.counted import Counted
from tests.stores import empty_base

LATER = NOW + days(91)
TEAS = ("Ann likes green tea.", "Ann likes green tea in Lyon.", "Ann likes green tea at work.")
FLOOR = 0.2


def note(index: int, **fields: Any) -> Memory:
    """A memory that lies at that place in age."""
    made = {"created_at": NOW + days(index), "id": f"m{index:02}"}
    return memory(f"Note {index}.", **{**made, **fields})


def at(angle: float) -> tuple[float, float]:
    """A vector of unit length; the cosine of two is that of the angle between them."""
    return math.cos(angle), math.sin(angle)


def teas(user_id: str = "ann") -> list[Memory]:
    """Three near memories of a user, old at LATER."""
    return [memory(text, id=derive_id(user_id, text), user_id=user_id) for text in TEAS]


notes = st.builds(
    note,
    st.integers(0, 99),
    user_id=st.sampled_from(["ann", "bob"]),
    agent_id=st.sampled_from(["default", "mo"]),
    category=st.sampled_from([Category.FACT, Category.FACT, Category.EPISODE]),
    kind=st.sampled_from([Kind.FACT, Kind.FACT, Kind.GOAL]),
    entities=st.sets(st.sampled_from("XYZ"), max_size=2).map(tuple),
)
crowds = st.lists(notes, max_size=60, unique_by=lambda one: one.id)


def alike(one: Memory) -> tuple[str, ...]:
    episode = one.category is Category.EPISODE
    return one.user_id, one.agent_id, one.category, "" if episode else one.kind


def near(one: Memory, other: Memory, vectors: dict[str, tuple[float, float]]) -> bool:
    a, b = vectors.get(one.id, (0.0, 0.0)), vectors.get(other.id, (0.0, 0.0))
    by_sense = a[0] * b[0] + a[1] * b[1] >= FLOOR + NEAR_IN_GROUP * (1 - FLOOR) - 1e-6
    return by_sense or len(set(one.entities) & set(other.entities)) >= 2


@given(crowds, st.randoms(use_true_random=False))
def test_groups_are_disjoint_alike_near_and_small(
    crowd: list[Memory], chance: random.Random
) -> None:
    """No memory is in two; all are alike; one is near to all others; the order does not matter."""
    vectors = {one.id: at(chance.uniform(0, 6.2)) for one in crowd if chance.random() < 0.9}
    found = group_memories(crowd, vectors, FLOOR)
    ids = [one.id for members in found for one in members]
    assert len(ids) == len(set(ids))
    for members in found:
        assert len(members) in GROUP_SIZES
        assert len({alike(one) for one in members}) == 1
        assert any(all(near(one, other, vectors) for other in members) for one in members)
    shuffled = chance.sample(crowd, len(crowd))
    assert group_memories(shuffled, vectors, FLOOR) == found


@given(crowds, st.randoms(use_true_random=False))
def test_no_group_is_overlooked(crowd: list[Memory], chance: random.Random) -> None:
    """Of what is left over, none is alike and near to two others."""
    vectors = {one.id: at(chance.uniform(0, 6.2)) for one in crowd}
    taken = {one.id for members in group_memories(crowd, vectors, FLOOR) for one in members}
    left = [one for one in crowd if one.id not in taken]
    for one in left:
        mates = [
            other
            for other in left
            if other != one and alike(one) == alike(other) and _surely_near(one, other, vectors)
        ]
        assert len(mates) < 2


def _surely_near(one: Memory, other: Memory, vectors: dict[str, tuple[float, float]]) -> bool:
    a, b = vectors[one.id], vectors[other.id]
    return a[0] * b[0] + a[1] * b[1] >= FLOOR + NEAR_IN_GROUP * (1 - FLOOR) + 1e-6


def test_the_nearest_eight_are_taken() -> None:
    """Where more are near, the farthest wait."""
    crowd = [note(index) for index in range(10)]
    vectors = {one.id: at(0.05 * index) for index, one in enumerate(reversed(crowd))}
    vectors[crowd[0].id] = at(0)
    (found,) = group_memories(crowd, vectors, FLOOR)
    assert found == [crowd[0], *crowd[3:]]


@pytest.mark.parametrize(
    ("fields", "sizes"),
    [
        ({"entities": ("Lyon", "Tofu")}, [3]),
        ({"entities": ("Lyon",), "topics": ("travel",)}, [3]),
        ({"entities": ("Lyon",), "topics": ("lyon",)}, []),
        ({"entities": ("", "Lyon")}, []),
    ],
)
def test_two_names_or_topics_in_common_make_near(fields: dict[str, Any], sizes: list[int]) -> None:
    """Whatever the vectors say; the same name twice is one."""
    crowd = [note(index, **fields) for index in range(3)]
    assert [len(found) for found in group_memories(crowd, {}, FLOOR)] == sizes


def test_a_memory_is_old_after_90_days_and_little_used_below_5() -> None:
    """Made or used counts, kept by a review does not, and the bounds are exact."""
    assert not is_old(note(0), note(0).anchor_at + days(90))
    assert is_old(note(0), NOW + days(90.01))
    for younger in ("created_at", "last_used_at"):
        assert not is_old(note(0, **{younger: NOW + days(1)}), NOW + days(90.5))
    assert is_old(note(0, anchor_at=NOW + days(80)), NOW + days(90.5))  # kept by a review
    assert is_old(note(0, uses=4), LATER)
    assert not is_old(note(0, uses=5), LATER)


def test_an_episode_is_about_to_expire_in_its_last_four_days() -> None:
    """Not earlier, still where it has expired and was not let go, and no plan is."""
    episode = note(0, category=Category.EPISODE, expires_at=NOW + days(14))
    assert not is_expiring(episode, NOW + days(9.9))
    assert is_expiring(episode, NOW + days(10))
    assert is_expiring(episode, NOW + days(14))
    assert not is_expiring(note(0, expires_at=NOW + days(14)), NOW + days(13))


MAY_NOT_GO: dict[str, dict[str, Any]] = {
    "made lately": {"created_at": LATER - days(90), "anchor_at": NOW},
    "used lately": {"last_used_at": LATER - days(1)},
    "often used": {"uses": 5},
    "core": {"category": Category.CORE},
    "of the host": {"category": Category.SYSTEM},
    "a portrait": {"category": Category.PROFILE},
    "waiting": {"state": MemoryState.PENDING},
    "archived": {"state": MemoryState.ARCHIVED},
    "superseded": {"state": MemoryState.SUPERSEDED},
    "forgotten": {"state": MemoryState.FORGOTTEN},
    "a plan": {"expires_at": LATER + days(1)},
    "a plan of the past": {"expires_at": LATER - days(1)},
    "no longer so": {"valid_until": LATER - days(1)},
    "soon no longer so": {"valid_until": LATER + days(1)},
    "lasting": {"importance": 3.0},
}
DIFFERS: dict[str, dict[str, Any]] = {
    "another kind": {"kind": Kind.GOAL},
    "another category": {"category": Category.SKILL},
    "another persona": {"agent_id": "mo"},
    "about something else": {"content": "The 2 cats of Tom sleep."},
}


async def test_only_what_is_old_and_little_used_is_grouped(tmp_path: Path) -> None:
    """Three near memories are a group; not where they may not go, or one is of another sort."""
    base = await empty_base(tmp_path)
    await fill(base, *teas("control"))
    for name, fields in MAY_NOT_GO.items():
        await fill(base, *(one.model_copy(update=fields) for one in teas(name)))
    for name, fields in DIFFERS.items():
        *plain, last = teas(name)
        await fill(base, *plain, last.model_copy(update=fields))
    every = ("control", *MAY_NOT_GO, *DIFFERS)
    found = {name: await find_groups(base, name, LATER) for name in every}
    await base.close()
    assert [{one.content for one in members} for members in found.pop("control")] == [set(TEAS)]
    assert [name for name, members in found.items() if members] == []


async def test_expiring_episodes_are_grouped_whatever_their_kind(tmp_path: Path) -> None:
    """Three of a user that are about to expire, near to each other, are a group, used or not."""
    base = await empty_base(tmp_path)
    kinds = (Kind.MOMENT, Kind.EXPERIENCE, Kind.CONTEXT)
    ends: dict[str, Any] = {"category": Category.EPISODE, "expires_at": NOW + days(14)}
    ends["last_used_at"] = NOW + days(9)
    await fill(base, *(memory(t, kind=k, **ends) for t, k in zip(TEAS, kinds, strict=True)))
    early = await find_groups(base, "ann", NOW + days(9))
    (found,) = await find_groups(base, "ann", NOW + days(10))
    (late,) = await find_groups(base, "ann", NOW + days(110))  # nobody was there meanwhile
    assert await find_groups(base, "bob", NOW + days(10)) == []
    assert await users_with_candidates(base, NOW + days(10), "bob") == []
    assert await users_with_candidates(base, NOW + days(10)) == ["ann"]
    await base.close()
    assert early == []
    assert {one.kind for one in found} == {one.kind for one in late} == set(kinds)


async def test_owners_are_the_users_with_enough_for_a_group(tmp_path: Path) -> None:
    """Two old memories are not enough, nor are young ones; one user alone can be asked for."""
    base = await empty_base(tmp_path)
    await fill(base, *teas("ann"), *teas("bea")[:2], *teas("cy"))
    at = NOW + days(91)
    assert await users_with_candidates(base, NOW + days(30)) == []
    assert await users_with_candidates(base, at) == ["ann", "cy"]
    assert await users_with_candidates(base, at, "cy") == ["cy"]
    assert await users_with_candidates(base, at, "bea") == []
    await base.close()


async def test_where_episodes_never_expire_old_ones_are_grouped(tmp_path: Path) -> None:
    """In `everbot` they have no end; they grow old as others do."""
    base = await empty_base(tmp_path, EVERBOT)
    await fill(base, *(memory(text, EVERBOT, category=Category.EPISODE) for text in TEAS))
    found = await find_groups(base, "ann", LATER)
    await base.close()
    assert [len(members) for members in found] == [3]


async def test_nothing_is_read_where_nothing_is_old(tmp_path: Path) -> None:
    """Of 500 young memories none is read; of 3 old ones among them, 3, and again with vectors."""
    base = await empty_base(tmp_path)
    young = [memory(f"Ann likes thing {index}.", created_at=LATER) for index in range(500)]
    await fill(base, *young)
    counted = Counted(base.memories)
    base.memories = counted
    assert await find_groups(base, "ann", LATER) == []
    assert counted.read == 0
    await fill(base, *teas())
    assert len(await find_groups(base, "ann", LATER)) == 1
    await base.close()
    assert counted.read == 6
