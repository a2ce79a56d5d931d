"""The schema of a store, and upgrades in place: to this version's schema, or to another embedder.

When a store is opened with another embedder, `opening.take_over` drops its vectors, and `fill`
creates new vectors while the store is used. Until then, memories are found only by their words.
"""

import asyncio
from collections.abc import Callable, Sequence

from loguru import logger

from souffleur.errors import StoreMismatchError
from souffleur.knowledge.search.embedder import Embedder
from souffleur.knowledge.store.codecs import embedded_point, to_memories
from souffleur.knowledge.store.engine.collection import Collection, Filter, Is, Point, read_pages
from souffleur.knowledge.store.labels import lookup_fields
from souffleur.knowledge.store.ledger import Journal

SCHEMA = 5
"""The version of the schema that this program writes."""
OLDEST = 4
"""The oldest version of the schema that this program reads. Its records have no `labels`."""
REEMBEDDING = "reembedding"
"""The metadata key with the name and the progress of a new embedder."""
EMBEDDED_AT_ONCE = 64
"""Number of memories per embedding step."""

Progress = Callable[[int, int], None]
"""A function that is called with the number of finished records and the total."""


def no_progress(done: int, total: int) -> None:
    """Ignore the progress."""


def check_schema(schema: object, where: object) -> None:
    """Raise StoreMismatchError unless this program reads the schema.

    >>> check_schema(OLDEST, "/data")
    >>> check_schema(99, "/data")
    Traceback (most recent call last):
        ...
    souffleur.errors.StoreMismatchError: /data was written by a newer version of Souffleur ...
    """
    if isinstance(schema, int) and 1 <= schema < OLDEST:
        raise StoreMismatchError(
            f"{where} was written before the first release of Souffleur (schema {schema}, and this "
            f"version reads {OLDEST} and later): begin a new store."
        )
    if not isinstance(schema, int) or not OLDEST <= schema <= SCHEMA:
        raise StoreMismatchError(
            f"{where} was written by a newer version of Souffleur (schema {schema}, and this "
            f"version reads up to {SCHEMA}): use that version or a later one."
        )


async def bring_up(memories: Collection, journal: Journal) -> int:
    """Upgrade a store to the current schema; return the number of changed records.

    The upgrade runs before the store is used, as filters find no records without labels. The
    process may be killed at any moment, and the call repeated. Raises StoreError.
    """
    changed = 0
    for collection in (memories, journal.collection):
        async for page in read_pages(collection, Filter()):
            for point in page:
                fields = lookup_fields(point.payload)
                if any(point.payload.get(name) != value for name, value in fields.items()):
                    await collection.merge_payload([point.id], fields)
                    changed += 1
    await journal.note_meta({"schema": SCHEMA})
    logger.info("the store was brought up to schema {}: {} records changed", SCHEMA, changed)
    return changed


async def fill(
    memories: Collection,
    journal: Journal,
    embedder: Embedder,
    *,
    progress: Progress = no_progress,
) -> int:
    """Embed all memories again after a change of the embedder; return their number.

    The store may be used meanwhile. The call may be cancelled or killed at any moment, and
    repeated. Raises EmbedderError, StoreError.
    """
    begun = (await journal.meta() or {}).get(REEMBEDDING) or {}
    if begun.get("to") != embedder.name:
        return 0
    first = seen = int(begun.get("seen", 0))
    after, total = begun.get("after"), await memories.count(Filter())
    while True:
        page, after = await memories.scroll(Filter(), limit=EMBEDDED_AT_ONCE, after=after)
        await _embed(memories, page, embedder)
        seen += len(page)
        progress(min(seen, total), total)
        if after is None:
            break
        await journal.note_meta({REEMBEDDING: {"to": embedder.name, "after": after, "seen": seen}})
        await asyncio.sleep(0)
    await journal.note_meta({}, drop=(REEMBEDDING,))
    return seen - first


async def queue_turns(journal: Collection) -> None:
    """Mark all embedded turns as not embedded, so that they are embedded again like new turns."""
    embedded = Filter((Is("type", "turn"), Is("embedded", True)))
    points = [point.id async for page in read_pages(journal, embedded) for point in page]
    for start in range(0, len(points), EMBEDDED_AT_ONCE):
        await journal.merge_payload(points[start : start + EMBEDDED_AT_ONCE], {"embedded": False})


async def _embed(memories: Collection, page: Sequence[Point], embedder: Embedder) -> None:
    texts = (text for memory in to_memories(page) for text in memory.embedded)
    vectors = await embedder.embed_each(texts)
    for memory in to_memories(await memories.get([point.id for point in page])):
        if all(text in vectors for text in memory.embedded):  # else the memory has just changed
            await memories.replace(embedded_point(memory, vectors), revision=memory.revision)
