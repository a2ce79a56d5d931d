"""Re-embedding in place: another embedder takes over a store that goes on being used."""

import asyncio
from contextlib import suppress
from pathlib import Path

import pytest
from qdrant_edge import UpdateOperation

from souffleur.errors import StoreBusyError, StoreMismatchError
from souffleur.knowledge import proposals
from souffleur.knowledge.knowledge_base import KnowledgeBase
from souffleur.knowledge.memory import MemoryState
from souffleur.knowledge.operation import Actor, ActorKind
from souffleur.knowledge.policy import COMPANION
from souffleur.knowledge.search.embedder import Embedder, make_embedder
from souffleur.knowledge.search.query import Query, Scope
from souffleur.knowledge.store.engine.collection import Filter, Point, read_pages
from souffleur.knowledge.store.engine.edge import EdgeCollection
from souffleur.knowledge.store.ledger import Journal
from souffleur.knowledge.store.opening import (
    StoreLocation,
    open_collection,
    open_knowledge,
    take_over,
)
from souffleur.knowledge.store.transfer import copy_store
from souffleur.knowledge.store.upgrade import REEMBEDDING
from tests.build import NOW, Sulking, fill, keep, memory, open_base, turn
from tests.faults.teller import Deadly, Dying, Gone
from tests.place import in_folder

MANY = [memory(f"Ann likes thing {place}.", cues=(f"thing {place}?",)) for place in range(200)]


async def filled(folder: Path, dimension: int = 128) -> StoreLocation:
    """A store with memories, one of them forgotten, cues, and a turn that can be found."""
    base = await open_base(folder, dimension=dimension)
    await keep(base, "Ann uses React for the web.", cues=("What shall I build my page with?",))
    await fill(base, memory("Ann used to smoke.", state=MemoryState.SUPERSEDED))
    base.journal.record(turn("hello there", "hi"))
    await base.embed_turns()
    await base.close()
    return StoreLocation(folder=folder)


async def points(base: KnowledgeBase) -> dict[str, Point]:
    """All memories, with their vectors."""
    pages = read_pages(base.memories, Filter(), vectors=True)
    return {point.id: point async for page in pages for point in page}


@in_folder
async def test_all_vectors_are_those_of_the_new_embedder(tmp_path: Path) -> None:
    """As if the store had been copied for it; payloads, words, ledger and talk are as before."""
    place = await filled(tmp_path / "old")
    embedder = make_embedder("hash:64")
    await copy_store(place, StoreLocation(folder=tmp_path / "copy"), embedder, COMPANION)
    before = await open_base(tmp_path / "old")
    ledger, said = await before.journal.entries(), await before.journal.turns()
    await before.close()
    assert await take_over(place, embedder)
    base = await opened(place.folder, embedder)
    assert await base.embed_anew() == 2
    assert await base.embed_turns() == 1
    copy = await opened(tmp_path / "copy", embedder)
    assert await points(base) == await points(copy)
    assert await base.journal.entries() == ledger
    assert await base.journal.turns() == said
    raw = Query("ann", "hello there", NOW, scope=(Scope.TURNS,))
    assert [hit.item for hit in await base.search(raw)] == said
    assert REEMBEDDING not in (await base.journal.meta() or {})
    assert await base.embed_anew() == 0
    await base.close()
    await copy.close()
    assert not await take_over(place, embedder)


async def opened(folder: Path | None, embedder: Embedder) -> KnowledgeBase:
    """The store in a folder, with that embedder."""
    return await open_knowledge(StoreLocation(folder=folder), embedder, COMPANION)


@in_folder
async def test_meanwhile_words_find(tmp_path: Path) -> None:
    """Before a memory has its new vector, it is found by its words, and new ones by sense too."""
    place = await filled(tmp_path)
    embedder = make_embedder("hash:64")
    await take_over(place, embedder)
    base = await opened(place.folder, embedder)
    new = await keep(base, "Ann paints in oil.")
    best, *_ = await base.search(Query("ann", "does Ann use React for the web?", NOW))
    assert best.memory.content == "Ann uses React for the web."
    assert [one.dense is None for one in (await points(base)).values()].count(False) == 1
    assert (await points(base))[new.id].dense is not None
    await base.embed_anew()
    assert not [one for one in (await points(base)).values() if one.dense is None]
    await base.close()


@in_folder
async def test_what_is_changed_meanwhile_stays_changed(tmp_path: Path) -> None:
    """A memory that is edited while its page is embedded keeps its new words and vector."""
    place = await filled(tmp_path)

    class Slow(Sulking):
        async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
            await waiting.wait()
            return [[float(len(text)), 1.0, 2.0] for text in texts]

    waiting = asyncio.Event()
    waiting.set()
    embedder = make_embedder(Slow())
    await take_over(place, embedder)
    base = await opened(place.folder, embedder)
    (known,) = await base.list("ann")
    waiting.clear()
    filling = asyncio.create_task(base.embed_anew())
    await asyncio.sleep(0.01)
    waiting.set()
    by = Actor(who=ActorKind.USER)
    await proposals.edit(base, known.id, "Ann uses Vue for the web.", user_id="ann", by=by, now=NOW)
    await filling
    assert (await base.get(known.id, user_id="ann")).content == "Ann uses Vue for the web."
    expected = (await embedder.embed(["Ann uses Vue for the web."]))[0]
    assert (await points(base))[known.id].dense == pytest.approx(expected)
    await base.close()


@in_folder
async def test_it_goes_on_where_it_stopped(tmp_path: Path) -> None:
    """Killed before any of its writes, it ends as it would have, and embeds no page twice."""
    base = await open_base(tmp_path)
    await fill(base, *MANY)
    await base.close()
    embedder = make_embedder("hash:64")
    place = StoreLocation(folder=tmp_path)
    await take_over(place, embedder)
    base = await opened(tmp_path, embedder)
    for writes in (0, 1, 70, 3, 66, -1):
        count, journal = Dying(writes), Journal(base.journal.collection, last_seq=0)
        journal.collection = Deadly(journal.collection, count)
        knowledge = KnowledgeBase(Deadly(base.memories, count), journal, embedder, COMPANION)
        steps: list[tuple[int, int]] = []
        with suppress(Gone):
            await knowledge.embed_anew(lambda *step, to=steps: to.append(step))
    whole = await points(base)
    assert steps == [(192, 200), (200, 200)]
    (vector,) = await embedder.embed([MANY[7].searchable])
    assert whole[MANY[7].id].dense == pytest.approx(vector)
    assert all(one.dense and one.cues for one in whole.values())
    await base.close()


@in_folder
@pytest.mark.parametrize("gone", [["cues"], ["cues", "dense"]], ids=len)
async def test_a_resize_that_was_killed_halfway_is_done_again(
    tmp_path: Path, gone: list[str]
) -> None:
    """Whatever vectors were gone already, the store is whole after it."""
    place, embedder = await filled(tmp_path), make_embedder("hash:128")
    embedder.name = "hash:other"  # of the same dimension
    collection = await open_collection(place, "memories", 128)
    assert isinstance(collection, EdgeCollection)
    for name in gone:
        collection._shard.update(UpdateOperation.delete_vector_name(name))
    await collection.close()
    assert await take_over(place, embedder)
    base = await opened(tmp_path, embedder)
    assert await base.embed_anew() == 2
    await base.close()


@in_folder
async def test_another_embedder_is_told_what_to_do(tmp_path: Path) -> None:
    """The error names the command; while the store is in use, nothing is touched."""
    place = await filled(tmp_path)
    with pytest.raises(StoreMismatchError, match="souffleur store reembed"):
        await open_base(tmp_path, dimension=64)
    base = await open_base(tmp_path)
    with pytest.raises(StoreBusyError):
        await take_over(place, make_embedder("hash:64"))
    await base.close()
