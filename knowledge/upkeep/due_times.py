"""Due times that an older version stored, computed anew by the rules in force."""

from souffleur.knowledge import decay, memory_codec
from souffleur.knowledge.engine.collection import Collection, Filter, OneOf, read_pages
from souffleur.knowledge.memory import Memory, MemoryState
from souffleur.knowledge.policy import Policy

DUE_RULES_KEY = "due_rules"
"""Key in the store's metadata: the version of the rules by which due times were computed."""

_MAY_BE_DUE = Filter((OneOf("state", (MemoryState.ACTIVE, MemoryState.ARCHIVED)),))


async def recompute(memories: Collection, policy: Policy) -> int:
    """Store the due times of all memories that have another one by now; return their number.

    Content, value and revision stay as they are. May be interrupted and done again.
    """
    changed = 0
    async for page in read_pages(memories, _MAY_BE_DUE):
        for old in memory_codec.to_memories(page):
            new = decay.scheduled(old, policy)
            if new != old:
                await memories.merge_payload([old.id], _times(new))
                changed += 1
    return changed


def _times(memory: Memory) -> dict[str, object]:
    return memory.model_dump(mode="json", include={"due_at", "due_for"})
