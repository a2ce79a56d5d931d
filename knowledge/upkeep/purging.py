"""Purging: after a year, what was forgotten is erased, its words in the ledger included.

What changed nothing, a SKIP or a refusal, may tell of anything: its words go after a year, too.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta

from souffleur.knowledge.engine.collection import Between, Filter, Is, read_all
from souffleur.knowledge.identity import EVERYBODY, user_conditions
from souffleur.knowledge.knowledge_base import KnowledgeBase
from souffleur.knowledge.memory import Memory, MemoryState
from souffleur.knowledge.memory_codec import to_memories
from souffleur.knowledge.operation import LedgerEntry

TOMBSTONE_KEPT_FOR = timedelta(days=365)
"""For so long a forgotten memory can be restored."""
PURGED = {"purged": True}
"""All that is left of an op whose words were erased."""
_WORDLESS = {"details": PURGED, "reason": "", "quote": "", "detail": ""}


async def find_purgeable(
    knowledge: KnowledgeBase, now: datetime, *, user_id: str | None = EVERYBODY
) -> list[Memory]:
    """The memories that were forgotten a year ago and not touched since, the oldest first."""
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
    """Erase a forgotten memory and the earlier versions it replaced; returns the erased ids.

    Their ledger entries keep who did what and when, and lose every word. It cannot be undone, and
    done again, after a crash, it does no harm. ValueError for a memory that is not forgotten.
    """
    if memory.state is not MemoryState.FORGOTTEN:
        raise ValueError(f"memory {memory.id} is {memory.state}: only what is forgotten is purged")
    gone = await _with_earlier(knowledge, memory)
    ids = [one.id for one in gone]
    for one in gone:
        for entry in await knowledge.journal.entries(one.user_id, memory_id=one.id):
            await knowledge.journal.rewrite(_emptied(entry, ids))
    # The memory itself goes last: what a crash leaves behind is found by it again.
    await knowledge.memories.delete(ids[::-1])
    return ids


async def purge_idle(
    knowledge: KnowledgeBase, now: datetime, *, user_id: str | None = EVERYBODY
) -> int:
    """Erase the words of what changed nothing a year ago and more; returns of how many entries."""
    return await knowledge.journal.drop_words(now - TOMBSTONE_KEPT_FOR, _WORDLESS, user_id)


async def _with_earlier(knowledge: KnowledgeBase, memory: Memory) -> list[Memory]:
    """A memory and all that led to it and lives no more."""
    found, names = [memory], list(memory.supersedes)
    while names:
        points = await knowledge.memories.get(names)
        earlier = to_memories(points)
        dead = [one for one in earlier if one.state is not MemoryState.ACTIVE and one not in found]
        found += dead
        names = [name for one in dead for name in one.supersedes]
    return found


def _emptied(entry: LedgerEntry, ids: Sequence[str]) -> LedgerEntry:
    """The entry without a word of these memories, nor of why."""
    left = tuple(change for change in entry.changes if change.after.id not in ids)
    return entry.model_copy(update={**_WORDLESS, "changes": left})
