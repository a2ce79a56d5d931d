"""Reviews and consolidations that die anywhere: nothing is lost, and nothing is done twice."""

import random
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest

from souffleur.knowledge.grouping import find_groups
from souffleur.knowledge.knowledge_base import KnowledgeBase
from souffleur.knowledge.memory import Category, Memory, MemoryState
from souffleur.knowledge.operation import ActorKind, LedgerEntry
from tests.build import fill, open_base
from tests.faults import consolidating, reviewing
from tests.faults.child import running
from tests.faults.reviewing import ASKED


def live(
    child: str, folder: Path, *, seed: int, writes: int = -1, seconds: float | None = None
) -> bool:
    """Run a child until it dies before that write, or is killed that long after it has opened.

    Returns whether it came to its end.
    """
    with running(f"tests.faults.{child}", folder, writes, seed) as process:
        if seconds is not None:
            assert process.stdout.readline() == "open\n"
            time.sleep(seconds)
            process.kill()
        said = process.stdout.read()
        assert process.wait() in {0, -9}
    return said.endswith("done\n")


async def lives(child: str, folder: Path, born: Sequence[Memory], limit: int, most: int) -> int:
    """Live and die before one of the next `most` writes, until all is done; how many deaths."""
    chance = random.Random(5)
    for life in range(limit):
        if live(child, folder, writes=chance.randrange(most), seed=life):
            return life
        await assert_none_is_lost(folder, born)
    raise AssertionError(f"not done after {limit} lives")


async def filled(folder: Path, born: Sequence[Memory]) -> None:
    """A store that holds these."""
    base = await open_base(folder, dimension=64)
    await fill(base, *born)
    await base.close()


async def assert_none_is_lost(folder: Path, born: Sequence[Memory]) -> None:
    """Each is active, or was merged into one that is, or was forgotten by an entry that says so."""
    base = await open_base(folder, dimension=64)
    stored = {one.id: one for one in await base.list(None, states=tuple(MemoryState))}
    entries = await base.journal.entries()
    gone = {id for entry in entries if entry.op == "DELETE" for id in entry.memory_ids}
    for old in born:
        one = stored[old.id]
        if one.state is MemoryState.ARCHIVED:
            into = stored[one.relations[-1].to]
            assert one.id in into.supersedes
            assert into.state is MemoryState.ACTIVE
        elif one.state is MemoryState.FORGOTTEN:
            assert one.id in gone
        else:
            assert one.state is MemoryState.ACTIVE
        assert one.content == old.content
    await base.close()


def assert_ledger_agrees(entries: Sequence[LedgerEntry], stored: dict[str, Memory]) -> None:
    """Nothing was refused, each change follows on the last, and the last is what lies there."""
    last: dict[str, Memory] = {}
    for entry in entries:
        assert entry.refused is None
        for change in entry.changes:
            known = last.get(change.after.id, change.before)
            assert change.before == known
            last[change.after.id] = change.after
    assert {id: stored[id] for id in last} == last


async def assert_reviewed_once(folder: Path, born: Sequence[Memory]) -> None:
    """Each memory that was due was decided once, and is as that says; the others are as before."""
    base = await open_base(folder, dimension=64)
    assert await base.recover() == 0
    assert await base.count_due(reviewing.LATER, ASKED) == 0
    entries = await base.journal.entries()
    stored = {one.id: one for one in await base.list(None, states=tuple(MemoryState))}
    asked = [one for one in born if one.due_at and one.due_at <= reviewing.LATER]
    assert Counter(id for entry in entries for id in entry.memory_ids) == Counter(
        one.id for one in asked
    )
    assert_ledger_agrees(entries, stored)
    assert {entry.by.who for entry in entries} == {ActorKind.REVIEWER}
    assert {entry.op for entry in entries} <= {"PROMOTE", "KEEP", "DELETE"}
    for entry in entries:
        one = stored[entry.memory_ids[0]]
        assert (one.category is Category.CORE) == (entry.op == "PROMOTE")
        assert (one.state is MemoryState.FORGOTTEN) == (entry.op == "DELETE")
    assert [one for one in born if one not in asked] == [
        stored[one.id] for one in born if one not in asked
    ]
    assert stored.keys() == {one.id for one in born}
    await base.close()


async def assert_consolidated_once(folder: Path, born: Sequence[Memory], users: int) -> None:
    """There is one memory for each group, and each original is in one of them, word for word."""
    base = await open_base(folder, dimension=64)
    assert await base.recover() == 0
    entries = await base.journal.entries()
    assert len(entries) == users * consolidating.GROUPS
    assert {entry.op for entry in entries} == {"MERGE"}
    merges = Counter(id for entry in entries for id in entry.details["targets"])
    assert merges == Counter(one.id for one in born)
    merged = await base.list(None)
    assert Counter(id for one in merged for id in one.supersedes) == merges
    assert len(merged) == len(entries)
    originals = {one.id: one for one in born}
    for one in merged:
        assert all(originals[id].content in one.content for id in one.supersedes)
        assert len({originals[id].topics for id in one.supersedes}) == 1
    stored = {one.id: one for one in await base.list(None, states=tuple(MemoryState))}
    assert stored.keys() == {one.id for one in (*born, *merged)}
    assert {stored[one.id].state for one in born} == {MemoryState.ARCHIVED}
    assert_ledger_agrees(entries, stored)
    await base.close()


async def all_groups(base: KnowledgeBase, users: int) -> list[list[Memory]]:
    """The groups of all users."""
    names = [f"user{number}" for number in range(users)]
    return [one for name in names for one in await find_groups(base, name, consolidating.LATER)]


soak = pytest.mark.soak


@pytest.mark.parametrize(
    ("each", "most", "least"),
    [(3, 16, 2), pytest.param(75, 18, 60, marks=soak)],
    ids=["few", "sixty"],
)
async def test_a_review_that_dies_decides_each_memory_once(
    tmp_path: Path, each: int, most: int, least: int
) -> None:
    """Wherever it dies: the next life goes on, and what was written down stands."""
    born = reviewing.things(each)
    await filled(tmp_path, born)
    deaths = await lives("reviewing", tmp_path, born, limit=5 * each, most=most)
    assert deaths >= least
    await assert_none_is_lost(tmp_path, born)
    await assert_reviewed_once(tmp_path, born)


@pytest.mark.parametrize(
    ("users", "most", "least"),
    [(1, 18, 2), pytest.param(16, 16, 60, marks=soak)],
    ids=["few", "sixty"],
)
async def test_a_consolidation_that_dies_merges_each_memory_once(
    tmp_path: Path, users: int, most: int, least: int
) -> None:
    """Wherever it dies: no original is left over, and none is in two merged ones."""
    born = consolidating.notes(users)
    await filled(tmp_path, born)
    base = await open_base(tmp_path, dimension=64)
    sizes = Counter(len(found) for found in await all_groups(base, users))
    assert sizes == {3: 2 * users, 4: users, 5: users}
    await base.close()
    deaths = await lives("consolidating", tmp_path, born, limit=20 * users, most=most)
    assert deaths >= least
    await assert_none_is_lost(tmp_path, born)
    await assert_consolidated_once(tmp_path, born, users)


@pytest.mark.soak
@pytest.mark.parametrize("child", ["reviewing", "consolidating"])
async def test_a_run_that_is_killed_from_outside_does_all_once(tmp_path: Path, child: str) -> None:
    """kill -9 at any time, in the middle of a write as well."""
    chance = random.Random(3)
    born = reviewing.things(100) if child == "reviewing" else consolidating.notes(40)
    await filled(tmp_path, born)
    killed = 0
    for life in range(12):
        killed += not live(child, tmp_path, seed=life, seconds=chance.uniform(0.0, 0.5))
        await assert_none_is_lost(tmp_path, born)
    assert killed >= 3
    assert live(child, tmp_path, seed=99)
    if child == "reviewing":
        await assert_reviewed_once(tmp_path, born)
    else:
        await assert_consolidated_once(tmp_path, born, users=40)
