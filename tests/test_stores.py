"""Stores that are emptied and used again are as new to whoever reads them."""

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from souffleur.errors import StoreError
from souffleur.knowledge.knowledge_base import KnowledgeBase
from souffleur.knowledge.memory import MemoryState
from souffleur.knowledge.operation import Forget, derive_id
from souffleur.knowledge.search.words import encode_query
from souffleur.knowledge.store.engine.collection import Filter, Is, Point, Search, read_pages
from tests.build import NOW, by_hand, keep, open_base, turn
from tests.place import in_folder
from tests.stores import empty_base

WORDS = ("tea", "green tea", "Oslo", "a dog", "sailing")
Acts = Sequence[tuple[str, str]]
AFTER: tuple[Acts, ...] = (
    (),
    (("keep", "tea"), ("say", "Oslo"), ("keep", "green tea")),
    (("say", "tea"), ("keep", "a dog"), ("forget", "Oslo"), ("keep", "sailing"), ("say", "tea")),
)
BEFORE = st.lists(
    st.tuples(st.sampled_from(("keep", "forget", "say")), st.sampled_from(WORDS)), max_size=6
)


async def done(base: KnowledgeBase, acts: Acts) -> Any:
    """What is read of a store in which this was done: its records, numbers and scores."""
    outcomes = []
    for place, (what, word) in enumerate(acts):
        match what:
            case "keep":
                kept = await keep(base, f"Ann likes {word}.", cues=(f"Who likes {word}?",))
                outcomes.append(kept.id)
            case "forget":
                for one in (await base.list("ann"))[:1]:
                    forgotten = Forget(target=one.id, reason=word)
                    outcomes.append((await by_hand(base, forgotten, at=NOW)).id)
            case "say":
                base.journal.record(turn(f"I like {word}", "ok", turn_id=str(place)))
    collections = base.memories, base.journal.collection
    records = [
        [point async for page in read_pages(one, Filter(), vectors=True) for point in page]
        for one in collections
    ]
    counts = [await collection.count(Filter()) for collection in collections]
    return outcomes, records, counts, await hits(base)


async def hits(base: KnowledgeBase) -> list[Any]:
    """What the engine finds, and with what scores, by meaning, words and cues.

    As everywhere, words count by their rarity within a corpus: that over all points would count
    what was deleted, too.
    """
    mine, active = Is("user_id", "ann"), Is("state", MemoryState.ACTIVE)
    (vector,) = await base.embedder.embed(["Who likes green tea?"])
    words = encode_query("Who likes green tea?")
    searches = [
        Search(vector, Filter((mine,)), 5),
        Search(words, Filter((mine,)), 5, idf_within=Filter((mine, active))),
        Search(vector, Filter((mine,)), 5, by_cues=True),
        Search(words, Filter((mine,)), 5, idf_within=Filter((mine,)), by_cues=True),
    ]
    found = await base.memories.search(searches)
    return [[(hit.point.id, hit.score) for hit in each] for each in found]


@pytest.fixture(scope="module")
def new(tmp_path_factory: pytest.TempPathFactory) -> Callable[[int], Any]:
    """What is read of a new store, by the number of what was done."""

    async def read(acts: Acts) -> Any:
        base = await open_base(tmp_path_factory.mktemp("new"))
        found = await done(base, acts)
        await base.close()
        return found

    return [asyncio.run(read(acts)) for acts in AFTER].__getitem__


@in_folder
@settings(max_examples=15, suppress_health_check=list(HealthCheck))
@given(before=BEFORE, which=st.sampled_from(range(len(AFTER))))
def test_an_emptied_store_is_as_new(
    new: Callable[[int], Any],
    tmp_path_factory: pytest.TempPathFactory,
    before: Acts,
    which: int,
) -> None:
    """Records, numbers, counts and scores are those of a new one, whatever was there before."""

    async def twice() -> None:
        used = await empty_base(tmp_path_factory.mktemp("used"))
        await done(used, before)
        await used.close()
        again = await empty_base(tmp_path_factory.mktemp("again"))
        assert await done(again, AFTER[which]) == new(which)
        await again.close()

    asyncio.run(twice())


def folder(base: KnowledgeBase) -> Path:
    """Where the engine has the memories."""
    found: Path = base.memories._path  # type: ignore[attr-defined]
    return found


@in_folder
async def test_what_was_given_back_is_used_no_more(tmp_path: Path) -> None:
    """Whoever held on to it gets an error, and writes nothing into the store of the next."""
    held = await empty_base(tmp_path / "a", dimension=17)
    await held.close()
    other = await empty_base(tmp_path / "b", dimension=17)
    assert folder(other) == folder(held)
    with pytest.raises(StoreError, match="given back"):
        await keep(held)
    assert await other.memories.count(Filter()) == 0
    await other.close()


@in_folder
async def test_what_needs_files_is_refused(tmp_path: Path) -> None:
    """A folder is opened once, as nothing is in it later, and its files are not rewritten."""
    base = await empty_base(tmp_path)
    for opening in (empty_base, open_base):
        with pytest.raises((FileExistsError, StoreError)):
            await opening(tmp_path)
    with pytest.raises(StoreError, match="take `open_base`"):
        await base.memories.compact()
    await base.close()


@in_folder
async def test_what_is_not_empty_is_not_lent(tmp_path: Path) -> None:
    """A writer that comes after the end of a test is found out."""
    base = await empty_base(tmp_path / "a", dimension=17)
    late: Any = base.memories
    shard = late._opened._shard
    await base.close()
    late._opened._shard = shard
    late.put_now([Point(derive_id("late"), {})])
    with pytest.raises(AssertionError, match="is not empty"):
        await empty_base(tmp_path / "b", dimension=17)
