"""Embedding anew: memories whose vectors were dropped get those of the store's new embedder.

See `knowledge.reembedding`, which drops them. Until then they are found by words alone.
"""

import asyncio
from collections.abc import Sequence

from souffleur.knowledge.search.embedder import Embedder
from souffleur.knowledge.store.codecs import embedded_point, to_memories
from souffleur.knowledge.store.engine.collection import Collection, Filter, Is, Point, read_pages
from souffleur.knowledge.store.ledger import Journal
from souffleur.knowledge.store.schema import Progress

POINTS_PER_PAGE = 64
"""Number of memories whose texts are embedded at once."""
KEY = "reembedding"
"""Key in the store's metadata: which embedder takes over, and how far it came."""


async def fill(
    memories: Collection,
    journal: Journal,
    embedder: Embedder,
    *,
    progress: Progress = lambda done, total: None,
) -> int:
    """Embed the memories that lack vectors since the embedder was changed; return their number.

    The store may be used meanwhile. May be cancelled or killed at any moment, and done again.
    Raises EmbedderError, StoreError.
    """
    begun = (await journal.meta() or {}).get(KEY) or {}
    if begun.get("to") != embedder.name:
        return 0
    first = seen = int(begun.get("seen", 0))
    after, total = begun.get("after"), await memories.count(Filter())
    while True:
        page, after = await memories.scroll(Filter(), limit=POINTS_PER_PAGE, after=after)
        await _embed(memories, page, embedder)
        seen += len(page)
        progress(min(seen, total), total)
        if after is None:
            break
        await journal.note_meta({KEY: {"to": embedder.name, "after": after, "seen": seen}})
        await asyncio.sleep(0)
    await journal.note_meta({}, drop=(KEY,))
    return seen - first


async def set_turns_aside(journal: Collection) -> None:
    """Note that the turns are to be embedded, as those that come in."""
    embedded = Filter((Is("type", "turn"), Is("embedded", True)))
    points = [point.id async for page in read_pages(journal, embedded) for point in page]
    for start in range(0, len(points), POINTS_PER_PAGE):
        await journal.merge_payload(points[start : start + POINTS_PER_PAGE], {"embedded": False})


async def _embed(memories: Collection, page: Sequence[Point], embedder: Embedder) -> None:
    texts = list({text: None for memory in to_memories(page) for text in memory.embedded})
    vectors = dict(zip(texts, await embedder.embed(texts), strict=True))
    for memory in to_memories(await memories.get([point.id for point in page])):
        if all(text in vectors for text in memory.embedded):  # else it was just written anew
            await memories.replace(embedded_point(memory, vectors), revision=memory.revision)
