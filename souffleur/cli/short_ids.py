"""Shortened ids: a unique prefix is enough."""

from typing import TYPE_CHECKING

from souffleur.errors import NotFoundError

if TYPE_CHECKING:
    from souffleur.knowledge.knowledge_base import KnowledgeBase


async def find_memory_id(knowledge: "KnowledgeBase", prefix: str) -> str:
    """Return the id of the one memory whose id has a prefix. Raises NotFoundError."""
    from souffleur.knowledge.memory import MemoryState

    memories = await knowledge.list(None, states=tuple(MemoryState))
    return _only([memory.id for memory in memories], prefix, "memory")


async def find_entry_id(knowledge: "KnowledgeBase", prefix: str) -> str:
    """Return the id of the one ledger entry whose id has a prefix. Raises NotFoundError."""
    entries = await knowledge.journal.entries()
    return _only([entry.id for entry in entries], prefix, "ledger entry")


def _only(ids: list[str], prefix: str, what: str) -> str:
    fits = [id for id in ids if id.startswith(prefix.strip().lower())]
    if len(fits) == 1:
        return fits[0]
    if not fits:
        raise NotFoundError(f"there is no {what} whose id starts with {prefix!r}")
    raise NotFoundError(f"{len(fits)} ids start with {prefix!r}; give more of it")
