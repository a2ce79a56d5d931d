"""Migration: a whole store is copied to an empty location, for another embedder, policy or path.

The old store is only read, so an interrupted copy can be deleted and made again.
"""

from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack, nullcontext

from loguru import logger

from souffleur.errors import NotFoundError
from souffleur.knowledge import decay
from souffleur.knowledge.knowledge_base import KnowledgeBase
from souffleur.knowledge.memory import Memory
from souffleur.knowledge.policy import POLICIES, Policy
from souffleur.knowledge.search.embedder import Embedder
from souffleur.knowledge.store import codecs as memory_codec
from souffleur.knowledge.store.embedding_anew import KEY, set_turns_aside
from souffleur.knowledge.store.engine.collection import Collection, Filter, Point, read_pages
from souffleur.knowledge.store.engine.files import locked_folder
from souffleur.knowledge.store.items import to_item
from souffleur.knowledge.store.labels import INDEXES, lookup_fields
from souffleur.knowledge.store.ledger import META_ID, Journal
from souffleur.knowledge.store.opening import (
    StoreLocation,
    check_empty,
    open_collection,
    open_collections,
    open_knowledge,
    resize_vectors,
    stored_dimension,
)
from souffleur.knowledge.store.processes.numbers import Numbers

POINTS_COPIED = 64
"""Number of points copied at once, and of texts embedded in one request."""


async def copy_store(
    source: StoreLocation,
    target: StoreLocation,
    embedder: Embedder,
    policy: Policy,
    *,
    step: Callable[[int, int], None] = lambda done, total: None,
) -> int:
    """Copy memories and journal; memories are re-embedded and follow `policy`.

    `step` is called with the number of points copied and the total. Returns the number of memories.
    Raises NotFoundError if there is no store at `source`, StoreMismatchError if `target` is not
    empty.
    """
    dimension = await stored_dimension(source)
    if dimension is None:
        raise NotFoundError(f"there is no store at {source}: set SOUFFLEUR_PATH to the one to copy")
    async with AsyncExitStack() as closing:
        memories, journal = await open_collections(source, dimension, closing)
        return await _copy(memories, journal, target, embedder, policy, step)


def carried(memory: Memory, old: Policy, new: Policy) -> Memory:
    """Return a memory converted to another policy: importance rescaled, grace by the new rule.

    >>> from souffleur.knowledge.policy import COMPANION, EVERBOT
    >>> COMPANION.core_value, EVERBOT.core_value
    (3.0, 1.0)
    """
    if old.name == new.name:
        return decay.scheduled(memory, new)
    scale = new.core_value / old.core_value
    asked = memory.asked_value * scale if memory.asked_value is not None else None
    usual = memory.grace_days == old.rule(memory.category).grace_days
    grace = new.rule(memory.category).grace_days if usual else memory.grace_days
    update = {"importance": memory.importance * scale, "asked_value": asked, "grace_days": grace}
    return decay.scheduled(memory.model_copy(update=update), new)


async def _copy(
    memories: Collection,
    journal: Collection,
    target: StoreLocation,
    embedder: Embedder,
    policy: Policy,
    step: Callable[[int, int], None],
) -> int:
    made_with = await Journal(journal, last_seq=0).meta()
    if made_with is None:
        raise NotFoundError("there is no store to migrate: SOUFFLEUR_PATH names an empty one")
    former = POLICIES[made_with["policy"]]
    count = await memories.count(Filter())
    total = count + await journal.count(Filter())
    new = await open_knowledge(target, embedder, policy)
    try:
        await check_empty(new.memories, new.journal.collection, target)
        done, numbers = 0, Numbers()
        async for page in read_pages(memories, Filter(), size=POINTS_COPIED):
            await put_memories(
                new, [carried(memory_codec.to_memory(point), former, policy) for point in page]
            )
            done += len(page)
            step(done, total)
        async for page in read_pages(journal, Filter(), size=POINTS_COPIED):
            await put_records(new, [point for point in page if point.id != META_ID])
            numbers.note(page)
            done += len(page)
            step(done, total)
        await numbers.carry_on(new.journal)
    finally:
        await new.close()
    return count


async def put_memories(knowledge: KnowledgeBase, memories: Sequence[Memory]) -> None:
    """Write memories as they are, embedded, that were made elsewhere; no entry tells of them."""
    texts = list({text: None for memory in memories for text in memory.embedded})
    vectors = dict(zip(texts, await knowledge.embedder.embed(texts), strict=True))
    await knowledge.memories.put(
        [memory_codec.embedded_point(memory, vectors) for memory in memories]
    )


async def put_records(knowledge: KnowledgeBase, points: Sequence[Point]) -> None:
    """Write records of a journal that were made elsewhere; items are embedded anew."""
    items = [to_item(point) for point in points if point.payload["type"] == "item"]
    others = [unembedded(point) for point in points if point.payload["type"] != "item"]
    await knowledge.journal.collection.put([*others, *await knowledge.items.points(items)])
    knowledge.journal.read_anew()


def unembedded(point: Point) -> Point:
    """Return a point without vectors: raw turns are embedded in the background."""
    embedded = {"embedded": False} if point.payload.get("type") == "turn" else {}
    payload = {**point.payload, **embedded}
    return Point(point.id, {**payload, **lookup_fields(payload)})


async def take_over(location: StoreLocation, embedder: Embedder) -> bool:
    """Drop the vectors of a store if another embedder made them; return whether it was so.

    Nobody else may have the store open. May be killed at any moment, and done again. Raises
    StoreBusyError, StoreError, EmbedderError.
    """
    if await stored_dimension(location) is None:
        return False
    dimension = await embedder.find_dimension()
    folder = None if location.url else location.folder
    with locked_folder(folder) if folder else nullcontext():
        if not await _begin(location, embedder.name, dimension):
            return False
        for name in INDEXES:
            await resize_vectors(location, name, dimension)
        async with AsyncExitStack() as closing:
            journal = await _open_journal(location, dimension, closing)
            made = {"embedder": embedder.name, "dimension": dimension, "floor": embedder.floor}
            await journal.note_meta(made)
    logger.info("the store is embedded anew by {}", embedder.name)
    return True


async def _begin(location: StoreLocation, name: str, dimension: int) -> bool:
    """Note who takes over; return whether the store is another embedder's."""
    stored = await stored_dimension(location, "journal") or dimension
    async with AsyncExitStack() as closing:
        journal = await _open_journal(location, stored, closing)
        made_with = await journal.meta()
        if made_with is None or made_with["embedder"] == name:
            return False
        await set_turns_aside(journal.collection)
        await journal.note_meta({KEY: {"to": name}})
        return True


async def _open_journal(
    location: StoreLocation, dimension: int, closing: AsyncExitStack
) -> Journal:
    collection = await open_collection(location, "journal", dimension)
    closing.push_async_callback(collection.close)
    return Journal(collection, last_seq=0)
