"""A process that is killed: it embeds a store anew."""

import asyncio
import sys
from pathlib import Path

from souffleur.knowledge.policy import COMPANION
from souffleur.knowledge.search.embedder import make_embedder
from souffleur.knowledge.store.opening import StoreLocation, open_knowledge, take_over

NEW = "hash:32"
"""The embedder that takes over."""


async def renew(folder: Path) -> None:
    """All that a store with another embedder needs."""
    place, embedder = StoreLocation(folder=folder), make_embedder(NEW)
    await take_over(place, embedder)
    base = await open_knowledge(place, embedder, COMPANION)
    await base.embed_anew()
    await base.embed_turns()
    await base.close()


if __name__ == "__main__":
    print("open", flush=True)
    asyncio.run(renew(Path(sys.argv[1])))
    print("done", flush=True)
