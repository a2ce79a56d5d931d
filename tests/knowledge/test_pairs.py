"""Pairs: which memories may contradict each other, and which boundaries may speak of a memory."""

from collections import Counter
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

from hypothesis import given, strategies as st

from souffleur.knowledge.identity import COMMON, SHARED, knows, own_sphere
from souffleur.knowledge.knowledge_base import KnowledgeBase
from souffleur.knowledge.memory import Category, Kind, Memory, MemoryState, Relation
from souffleur.knowledge.operation import (
    Actor,
    ActorKind,
    Archive,
    Boost,
    Edit,
    LedgerEntry,
    Op,
    Restore,
    Skip,
    Verdict,
    derive_id,
)
from souffleur.knowledge.pairs import (
    CONFLICT_CATEGORIES,
    MAX_BOUNDARIES,
    MAX_MEMORIES,
    MAX_RIVALS,
    ConflictSet,
    conflict_verdict_id,
    find_boundary_tasks,
    find_conflict_sets,
    pair_mark,
    users_with_candidates,
)
from souffleur.knowledge.store.codecs import to_point
from tests.build import NOW, days, fill, memory, verdict
from tests.counted import Counted

LATER = NOW + days(30)
LYON, OSLO = "Ann lives in a flat in Lyon.", "Ann lives in a flat in Oslo."
FAR = "The vet wants cash."


def homes(user_id: str = "ann", **fields: Any) -> tuple[Memory, Memory]:
    """Two memories that exclude each other; the fields are those of the older one."""
    old = memory(LYON, id=derive_id(user_id, LYON), user_id=user_id)
    id, made = derive_id(user_id, OSLO), NOW + days(9)
    new = memory(OSLO, id=id, user_id=user_id, created_at=made)
    return old.model_copy(update=fields), new


def told(found: Sequence[ConflictSet]) -> list[tuple[str, list[str]]]:
    return [(one.memory.content, [other.content for other in one.others]) for one in found]


async def change(base: KnowledgeBase, op: Op, at: datetime = LATER) -> LedgerEntry:
    (outcome,) = await base.apply(verdict(op, who=ActorKind.USER, name=(op, at), at=at))
    return outcome


async def test_two_near_memories_are_rivals_once(base: KnowledgeBase) -> None:
    """The newer one comes first; what has nothing to do with them is not among them."""
    await fill(base, *homes(), memory(FAR))
    assert told(await find_conflict_sets(base, "ann", LATER, None)) == [(OSLO, [LYON])]


async def test_a_shared_name_makes_rivals(base: KnowledgeBase) -> None:
    """However far apart they are, and however the name is written."""
    names = {
        "same": ("Tofu", "Tofu"),
        "louder": ("TOFU", "Tofu"),
        "one of two": ("Tofu Tom", "Rex tofu"),
        "different": ("Tofu", "Rex"),
        "one has none": ("Tofu", ""),
        "no names": ("!", "?"),
    }
    for user_id, pair in names.items():
        texts = ("Ask the vet what Tofu may eat.", "Chicken gives Tofu no trouble.")
        for index, (text, named) in enumerate(zip(texts, pair, strict=True)):
            id, made = derive_id(user_id, text), NOW + days(index)
            one = memory(text, id=id, user_id=user_id, created_at=made)
            await fill(base, one.model_copy(update={"entities": tuple(named.split())}))
    found = [user_id for user_id in names if await find_conflict_sets(base, user_id, LATER, None)]
    assert found == ["same", "louder", "one of two"]


async def test_a_shared_name_is_found_in_a_crowd(base: KnowledgeBase) -> None:
    """Among many that are nearer, though not near: as it is filed, or as it stands in the words."""
    texts = {"filed": "Allergic to chicken.", "in the words": "TOFU is allergic to chicken."}
    for user_id, text in texts.items():
        name = "Tofu" if user_id == "filed" else "TOFU"
        made: dict[str, Any] = {"id": derive_id(user_id), "created_at": LATER}
        new = memory("Tofu has roast daily.", entities=("Tofu",), **made)
        old = memory(text, entities=(name,))
        crowd = [memory(f"{user_id} {index}") for index in range(80)]
        mine = [one.model_copy(update={"user_id": user_id}) for one in (new, old, *crowd)]
        rows = [axis(0), axis(1), *(leaning(2 + index) for index in range(80))]
        await base.memories.put([to_point(one, row) for one, row in zip(mine, rows, strict=True)])
        assert told(await find_conflict_sets(base, user_id, LATER, LATER)) == [
            (new.content, [text])
        ]


def axis(index: int) -> tuple[float, ...]:
    """A vector of unit length along one of 128 axes."""
    return tuple(float(at == index) for at in range(128))


def leaning(index: int) -> tuple[float, ...]:
    """One whose cosine with the first axis is 0.4, and with others of its sort 0.16."""
    return (0.4, *(0.84**0.5 * value for value in axis(index)[1:]))


NO_RIVALS: dict[str, dict[str, Any]] = {
    "another kind": {"kind": Kind.PREFERENCE},
    "another persona": {"agent_id": "mo"},
    "an episode": {"category": Category.EPISODE},
    "a portrait": {"category": Category.PROFILE},
    "of the host": {"category": Category.SYSTEM},
    "waiting": {"state": MemoryState.PENDING},
    "archived": {"state": MemoryState.ARCHIVED},
    "superseded": {"state": MemoryState.SUPERSEDED},
    "forgotten": {"state": MemoryState.FORGOTTEN},
    "expired": {"expires_at": LATER},
    "no longer so": {"valid_until": LATER},
    "not so yet": {"valid_from": LATER + days(1)},
    "in the same words": {"content": OSLO.upper()},
}


async def test_what_cannot_be_so_now_has_no_rivals(base: KnowledgeBase) -> None:
    """Nor has what is of another kind or persona, or says the same; whichever is newer."""
    found = {}
    for name, fields in NO_RIVALS.items():
        for made in (NOW, NOW + days(20)):
            user_id = f"{name} {made}"
            await fill(base, *homes(user_id, created_at=made, **fields))
            found[name, made] = told(await find_conflict_sets(base, user_id, LATER, None))
    assert {name: pairs for name, pairs in found.items() if pairs} == {}


async def test_categories_do_not_keep_rivals_apart(base: KnowledgeBase) -> None:
    """A core memory may be contradicted by a fact; what still holds, for a while, as well."""
    while_ = {"valid_from": LATER, "valid_until": LATER + days(1), "expires_at": LATER + days(1)}
    for category in CONFLICT_CATEGORIES:
        await fill(base, *homes(category, category=category, **while_))
        assert len(await find_conflict_sets(base, category, LATER, None)) == 1


async def test_what_is_tied_already_is_left_out(base: KnowledgeBase) -> None:
    """Pairs that are linked as contradicting, either way, or as replacing are left out."""
    ties: dict[str, Callable[[str], dict[str, Any]]] = {
        "contradicts": lambda other: {"relations": (Relation(to=other, type="contradicts"),)},
        "supports": lambda other: {"relations": (Relation(to=other, type="supports"),)},
        "replaces": lambda other: {"supersedes": (other,)},
        "replaced": lambda other: {"superseded_by": other},
    }
    found = {}
    for name, tie in ties.items():
        for index in (0, 1):
            pair = list(homes(f"{name} {index}"))
            pair[index] = pair[index].model_copy(update=tie(pair[1 - index].id))
            await fill(base, *pair)
            found[name, index] = len(await find_conflict_sets(base, f"{name} {index}", LATER, None))
    assert {name for (name, _), count in found.items() if count} == {"supports"}
    assert len(found) == 8


async def test_no_pair_crosses_users(base: KnowledgeBase) -> None:
    """Each has a home of its own, and that excludes nothing."""
    (lyon, _), (_, oslo) = homes("ann"), homes("bob")
    await fill(base, lyon, oslo)
    assert (
        await find_conflict_sets(base, "ann", LATER, None)
        == await find_conflict_sets(base, "bob", LATER, None)
        == []
    )


async def test_each_pair_comes_once_and_the_nearest_eight(base: KnowledgeBase) -> None:
    """Where all are near to all, none is in two groups with the same other."""
    cities = ["Lyon", "Oslo", "Rome", "Bonn", "Kyiv", "Bern", "Riga", "Baku", "Lima", "Doha"]
    made = [
        memory(f"Ann lives in a flat in {city}.", created_at=NOW + days(index))
        for index, city in enumerate(cities)
    ]
    await fill(base, *made)
    found = await find_conflict_sets(base, "ann", LATER, None)
    pairs = [frozenset((one.memory.id, other.id)) for one in found for other in one.others]
    assert len(pairs) == len(set(pairs)) >= 40
    assert max(len(one.others) for one in found) == MAX_RIVALS == 8
    assert found[0].memory == made[-1]
    first, *rows = await base.embedder.embed(
        [one.content for one in (found[0].memory, *found[0].others)]
    )
    cosines = [sum(a * b for a, b in zip(first, row, strict=True)) for row in rows]
    assert cosines == sorted(cosines, reverse=True)


async def test_only_what_is_new_is_looked_at(base: KnowledgeBase) -> None:
    """Made at or after the moment; against all that is older."""
    await fill(base, *homes())
    made = NOW + days(9)
    assert told(await find_conflict_sets(base, "ann", LATER, made)) == [(OSLO, [LYON])]
    assert await find_conflict_sets(base, "ann", LATER, made + days(1)) == []
    assert await users_with_candidates(base, LATER, made) == ["ann"]
    assert await users_with_candidates(base, LATER, made, "bob") == []
    assert await users_with_candidates(base, LATER, made + days(1)) == []


async def test_what_is_reworded_or_brought_back_is_new(base: KnowledgeBase) -> None:
    """An edit and a restored memory are looked at again; a memory that was used is not."""
    lyon, oslo = homes()
    await fill(base, lyon, oslo)
    await change(base, Boost(target=lyon.id, reason="r"))
    assert await find_conflict_sets(base, "ann", LATER, LATER) == []
    edited = await change(base, Edit(target=lyon.id, reason="r", content="Ann lives in a flat."))
    assert told(await find_conflict_sets(base, "ann", LATER, LATER)) == [
        ("Ann lives in a flat.", [OSLO])
    ]
    assert await users_with_candidates(base, LATER, LATER) == ["ann"]
    assert await users_with_candidates(base, LATER, LATER, "bob") == []
    soon = LATER + days(1)
    await base.undo(edited.id, by=Actor(who=ActorKind.USER), now=soon, user_id=None)
    assert told(await find_conflict_sets(base, "ann", soon, soon)) == [(LYON, [OSLO])]
    await change(base, Archive(target=oslo.id, reason="r"), soon)
    assert await find_conflict_sets(base, "ann", soon, soon) == []
    later = LATER + days(2)
    await change(base, Restore(target=oslo.id, reason="r"), later)
    assert told(await find_conflict_sets(base, "ann", later, later)) == [(OSLO, [LYON])]


async def test_a_judged_pair_comes_back_only_in_other_words(base: KnowledgeBase) -> None:
    """Its verdict is known by the wording of both: use changes nothing, an edit does."""
    lyon, oslo = homes()
    await fill(base, lyon, oslo)
    ruling = conflict_verdict_id(oslo, lyon)
    assert ruling == conflict_verdict_id(lyon, oslo.model_copy(update={"content": OSLO.upper()}))
    by = Actor(who=ActorKind.ARBITER)
    await base.apply(
        Verdict(id=ruling, user_id="ann", by=by, at=LATER, ops=(Skip(reason="two flats"),))
    )
    await change(base, Boost(target=lyon.id, reason="r"))
    assert await find_conflict_sets(base, "ann", LATER, None) == []
    await change(base, Edit(target=lyon.id, reason="r", content="Ann lives in a flat."))
    assert len(await find_conflict_sets(base, "ann", LATER, None)) == 1


async def test_judged_pairs_make_room_for_others(base: KnowledgeBase) -> None:
    """Of ten near ones, those that were not among the first eight come next time."""
    cities = [
        "Lyon",
        "Oslo",
        "Rome",
        "Bonn",
        "Kyiv",
        "Bern",
        "Riga",
        "Baku",
        "Lima",
        "Doha",
        "Cork",
    ]
    made = [memory(f"Ann lives in a flat in {city}.") for city in cities[:-1]]
    new = memory(f"Ann lives in a flat in {cities[-1]}.", created_at=LATER)
    await fill(base, *made, new)
    (first,) = await find_conflict_sets(base, "ann", LATER, LATER)
    for other in first.others:
        told_so = verdict(
            Skip(reason="r"), who=ActorKind.ARBITER, id=conflict_verdict_id(new, other)
        )
        await base.apply(told_so)
    (second,) = await find_conflict_sets(base, "ann", LATER, LATER)
    assert (len(first.others), len(second.others)) == (8, 2)
    assert {one.id for one in (*first.others, *second.others)} == {one.id for one in made}


async def test_nothing_is_read_where_nothing_is_new(base: KnowledgeBase) -> None:
    """Of 300 old memories none is read; a new one reads what it may contradict."""
    await fill(base, *(memory(f"Ann likes thing {index}.") for index in range(300)))
    counted = Counted(base.memories)
    base.memories = counted
    assert await find_conflict_sets(base, "ann", LATER, LATER) == []
    assert counted.read == 0
    await fill(base, memory(LYON, created_at=LATER))
    await find_conflict_sets(base, "ann", LATER, LATER)
    assert counted.read < 100


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
def test_each_pair_is_judged_once(drawn: Any, shift: int) -> None:
    """Of one user, if a persona may know both, and unless it was judged; no task is too big."""
    every = life(drawn, shift)
    tasks = find_boundary_tasks(every)
    pairs = Counter((b.id, m.id) for task in tasks for b in task.boundaries for m in task.memories)
    due = {
        (one.id, other.id)
        for one in every
        for other in every
        if (one.kind, other.kind) == (Kind.BOUNDARY, Kind.FACT)
        and one.user_id == other.user_id
        and _meet(one, other)
        and pair_mark(one, other) not in one.judged
    }
    assert pairs == Counter(due)
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
