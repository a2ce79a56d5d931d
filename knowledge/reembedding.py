"""Re-embedding in place: another embedder takes over a store.

The old vectors go in one go, which can be repeated; then the store is used as always, while page
by page memories get their new vectors (`upkeep.embedding_anew`), and turns like those that come in.
"""

from contextlib import AsyncExitStack, nullcontext

from loguru import logger

from souffleur.knowledge.embedding.embedder import Embedder
from souffleur.knowledge.engine.folder_lock import locked_folder
from souffleur.knowledge.journal import Journal
from souffleur.knowledge.store import (
    COLLECTIONS,
    StoreLocation,
    open_collection,
    resize_vectors,
    stored_dimension,
)
from souffleur.knowledge.upkeep.embedding_anew import KEY, set_turns_aside


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
        for name in COLLECTIONS:
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
