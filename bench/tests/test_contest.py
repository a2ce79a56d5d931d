"""Calls in turn, ratios, and other systems that are not installed: no figure is a time."""

import json
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path

import pytest
from langchain_core.embeddings import Embeddings

from bench.speed.command import compare
from bench.speed.rivals import (
    BARE,
    MAX_PAUSES,
    RECALL,
    RIVALS,
    Entry,
    Fill,
    HashedTexts,
    find_rivals,
    interleave,
    ratios,
    settle,
)
from bench.speed.store import Operation, Timing
from souffleur.errors import SettingsError
from tests.command import Run

MISSING = [name for name in ("mem0", "langmem") if find_spec(name) is None]


def entry(name: str, median: float, size: int = 1_000) -> Entry:
    """An operation that took so many milliseconds, and twice that at worst."""
    taken = Timing(name, size, median, 2 * median, 2 * median)
    return Entry(name, taken, taken)


async def test_calls_are_made_in_turn() -> None:
    """One of each a round, in changing orders, after a first round that is not measured."""
    called: list[str] = []

    def calling(name: str) -> Operation:
        async def work(count: int) -> None:
            called.append(f"{name}{count}")

        return Operation(work)

    entries = await interleave({name: calling(name) for name in "abc"}, 10, rounds=20)
    assert [one.name for one in entries] == ["a", "b", "c"]
    rounds = [called[start : start + 3] for start in range(0, len(called), 3)]
    assert [sorted(one) for one in rounds] == [
        [f"{name}{count}" for name in "abc"] for count in range(-1, 20)
    ]
    assert len({tuple(name[0] for name in one) for one in rounds}) == 6


@pytest.mark.parametrize(("busy", "looks"), [(0, 1), (3, 4), (99, MAX_PAUSES)])
async def test_a_call_begins_when_the_threads_of_the_one_before_rest(busy: int, looks: int) -> None:
    """While threads work in a pause, another one is made, up to a limit."""
    times = [time for look in range(99) for time in (look, look + (look < busy))]
    left = iter(times)
    await settle(lambda: next(left), pause=0.001)
    assert len(list(left)) == len(times) - 2 * looks


def test_a_ratio_is_theirs_divided_by_ours() -> None:
    """Each other system has one for each operation of ours."""
    found = ratios([entry(RECALL, 2.0), entry(BARE, 1.0), entry("mem0 2", 10.0), entry("x", 4.0)])
    told = {(one.theirs, one.ours): (one.wall, one.cpu) for one in found}
    assert told == {
        ("mem0 2", RECALL): (5.0, 5.0),
        ("mem0 2", BARE): (10.0, 10.0),
        ("x", RECALL): (2.0, 2.0),
        ("x", BARE): (4.0, 4.0),
    }


def test_ratios_are_of_one_size() -> None:
    """Each system is compared with ours over as many memories."""
    sizes = (50, 10_000)
    found = ratios([entry(name, 2.0, size) for name in (RECALL, "mem0 2") for size in sizes])
    assert [(one.size, one.wall) for one in found] == [
        (50, 1.0),
        (10_000, 1.0),
    ]


def test_systems_are_named_or_refused() -> None:
    """Each is compared, or a line says why not; LangMem's store is not filled without end."""
    assert {*find_rivals(tuple(RIVALS), 1_000).specs} == {*RIVALS} - {*MISSING}
    assert not find_rivals(["langmem"], 100_000).specs
    with pytest.raises(SettingsError, match="mem0, langmem"):
        find_rivals(["nothing"], 1)


@pytest.mark.skipif(not MISSING, reason="all of them are installed")
async def test_what_is_not_installed_is_left_out() -> None:
    """No store is opened for it, and a line says what to install."""
    entries, notes = await compare((5,), 2, MISSING)
    assert entries == []
    assert len(notes) == len(MISSING)
    assert all("is not compared" in note and "pip install" in note for note in notes)


def test_the_embedder_is_of_the_class_that_both_ask_for() -> None:
    """mem0 refuses one that is no LangChain `Embeddings`."""
    assert isinstance(HashedTexts(64), Embeddings)


@pytest.mark.parametrize("name", RIVALS)
async def test_each_finds_what_it_was_filled_with(name: str, tmp_path: Path) -> None:
    """Each system finds as many as wanted, by its own search over its own store."""
    if name in MISSING:
        pytest.skip(f"{name} is not installed")
    texts = [f"Ann likes tea, {count} times." for count in range(20)]
    fill = Fill(tmp_path, HashedTexts(64), texts, datetime(2026, 1, 3, tzinfo=UTC), limit=10)
    with RIVALS[name].open(fill) as search:
        assert await search("tea?") == 10


def test_the_command(run: Run) -> None:
    """JSON; without other systems and without our own there is only the load."""
    words = ("--size", "3", "--rounds", "2", "--no-versus", "--no-own")
    code, out, err = run("speed", *words, "--json")
    assert code == 0, err
    told = json.loads(out)
    assert (told["timings"], told["versus"], len(told["load"])) == ([], [], 2)
