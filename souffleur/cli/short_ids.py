"""Shortened ids: a unique prefix is enough."""

from typing import TYPE_CHECKING

from souffleur.errors import NotFoundError, SettingsError

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


async def find_proposal(knowledge: "KnowledgeBase", prefix: str) -> tuple[str, str]:
    """Return the id of a waiting proposal, or else of a memory, and its user.

    An added memory that waits is meant by its own id and by that of its ledger entry. Raises
    NotFoundError.
    """
    from souffleur.knowledge.memory import MemoryState

    waiting = await knowledge.journal.entries(waits=True)
    memories = await knowledge.list(None, states=tuple(MemoryState))
    owners = {entry.id: (entry.id, entry.user_id) for entry in waiting}
    owners |= {one.id: (one.id, one.user_id) for one in memories}
    pending = (one for one in memories if one.state is MemoryState.PENDING)
    owners |= {one.written_by: (one.id, one.user_id) for one in pending}
    return owners[_only(list(owners), prefix, "proposal or memory")]


async def find_turn_id(
    knowledge: "KnowledgeBase", prefix: str, user_id: str | None
) -> tuple[str, str]:
    """Return the id of the one turn that is meant, and its user. Raises NotFoundError.

    It is meant by the host's id, or by the beginning of its own.
    """
    turns = await knowledge.journal.turns(user_id=user_id)
    same = [turn for turn in turns if turn.turn_id == prefix]
    if len(same) == 1:
        return same[0].id, same[0].user_id
    owners = {turn.id: turn.user_id for turn in turns}
    found = _only(list(owners), prefix, "turn")
    return found, owners[found]


def _only(ids: list[str], prefix: str, what: str) -> str:
    if not prefix.strip():
        raise SettingsError(f"the id is empty: give the id of a {what}, or its beginning")
    fits = [id for id in ids if id.startswith(prefix.strip().lower())]
    if len(fits) == 1:
        return fits[0]
    if not fits:
        raise NotFoundError(f"there is no {what} whose id starts with {prefix!r}")
    raise NotFoundError(f"{len(fits)} ids start with {prefix!r}; give more of it")
