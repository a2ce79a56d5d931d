"""Purging: forgotten memories are erased after a year, including their words in the ledger.

Entries that changed nothing (SKIPs and refusals) may contain anything: their words are also erased
after a year.
"""

from datetime import datetime, timedelta

from souffleur.knowledge.identity import user_conditions
from souffleur.knowledge.knowledge_base import KnowledgeBase
from souffleur.knowledge.memory import Memory, MemoryState
from souffleur.knowledge.operation import WORDLESS
from souffleur.knowledge.store.codecs import to_memories
from souffleur.knowledge.store.engine.collection import Between, Filter, Is, read_all

TOMBSTONE_KEPT_FOR = timedelta(days=365)
"""Time during which a forgotten memory can be restored."""


async def find_purgeable(
    knowledge: KnowledgeBase, now: datetime, *, user_id: str | None = None
) -> list[Memory]:
    """Return the memories forgotten over a year ago and not changed since, the oldest first."""
    late = (
        Is("state", MemoryState.FORGOTTEN),
        Between("created_at", high=now - TOMBSTONE_KEPT_FOR),
    )
    found = to_memories(
        await read_all(knowledge.memories, Filter((*late, *user_conditions(user_id))))
    )
    over = [memory for memory in found if memory.updated_at < now - TOMBSTONE_KEPT_FOR]
    return sorted(over, key=lambda memory: (memory.updated_at, memory.id))


async def purge(knowledge: KnowledgeBase, memory: Memory) -> list[str]:
    """Erase a forgotten memory and the earlier versions it replaced; return the erased ids.

    Their ledger entries still say who did what and when, without any words. This is idempotent and
    cannot be undone. Raises ValueError if the memory is not forgotten.
    """
    if memory.state is not MemoryState.FORGOTTEN:
        raise ValueError(f"memory {memory.id} is {memory.state}: only what is forgotten is purged")
    gone = await _with_earlier(knowledge, memory)
    ids = [one.id for one in gone]
    for one in gone:
        for entry in await knowledge.journal.entries(one.user_id, memory_id=one.id):
            await knowledge.journal.rewrite(entry.emptied(ids))
    # The memory itself is deleted last, so that after a crash the rest is found through it.
    await knowledge.memories.delete(ids[::-1])
    return ids


async def purge_idle(knowledge: KnowledgeBase, now: datetime, *, user_id: str | None = None) -> int:
    """Erase the words of entries over a year old that changed nothing; return their number."""
    return await knowledge.journal.drop_words(now - TOMBSTONE_KEPT_FOR, WORDLESS, user_id)


async def _with_earlier(knowledge: KnowledgeBase, memory: Memory) -> list[Memory]:
    """Return a memory and the inactive earlier versions that it replaced."""
    found, names = [memory], list(memory.supersedes)
    while names:
        points = await knowledge.memories.get(names)
        earlier = to_memories(points)
        dead = [one for one in earlier if one.state is not MemoryState.ACTIVE and one not in found]
        found += dead
        names = [name for one in dead for name in one.supersedes]
    return found
