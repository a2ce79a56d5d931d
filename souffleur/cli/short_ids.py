"""Shortened ids: a unique prefix is enough."""

from typing import TYPE_CHECKING

from souffleur.errors import NotFoundError, SettingsError
from souffleur.knowledge.identity import PERSONAS

if TYPE_CHECKING:
    from souffleur.cli.event_loop import Memory
    from souffleur.knowledge.memory import Memory as OneMemory

_PAGE = 1000
"""Ledger entries that are read at a time."""


async def everyone(memory: "Memory") -> list[str]:
    """Return the ids of all users, and that under which personas are defined."""
    return [*(one.user_id for one in await memory.users()), PERSONAS]


async def find_memory_id(memory: "Memory", prefix: str) -> tuple[str, str]:
    """Return the id of the one memory whose id has a prefix, and its user. Raises NotFoundError."""
    owners = {one.id: one.user_id for one in await _every_memory(memory)}
    found = _only(list(owners), prefix, "memory")
    return found, owners[found]


async def find_entry_id(memory: "Memory", prefix: str) -> tuple[str, str]:
    """Return the id of the one ledger entry whose id has a prefix, and its user.

    Raises NotFoundError.
    """
    owners: dict[str, str] = {}
    for user_id in await everyone(memory):
        after = 0
        while page := await memory.ledger(user_id=user_id, after=after, limit=_PAGE):
            owners |= {one.entry.id: user_id for one in page}
            after = page[-1].seq
    found = _only(list(owners), prefix, "ledger entry")
    return found, owners[found]


async def find_proposal(memory: "Memory", prefix: str) -> tuple[str, str]:
    """Return the id of a waiting proposal, or else of a memory, and its user.

    An added memory that waits is meant by its own id and by that of its ledger entry. Raises
    NotFoundError.
    """
    from souffleur.knowledge.memory import MemoryState

    memories = await _every_memory(memory)
    users = {one.user_id for one in memories} | set(await everyone(memory))
    waiting = [one for user in users for one in await memory.proposals(user_id=user) if one.waits]
    owners = {entry.id: (entry.id, entry.user_id) for entry in waiting}
    owners |= {one.id: (one.id, one.user_id) for one in memories}
    pending = (one for one in memories if one.state is MemoryState.PENDING)
    owners |= {one.written_by: (one.id, one.user_id) for one in pending}
    return owners[_only(list(owners), prefix, "proposal or memory")]


async def _every_memory(memory: "Memory") -> "list[OneMemory]":
    users = await everyone(memory)
    return [one for user in users for one in await memory.list(user_id=user, state=None)]


async def find_turn_id(memory: "Memory", prefix: str, user_id: str | None) -> tuple[str, str]:
    """Return the id of the one turn that is meant, and its user. Raises NotFoundError.

    It is meant by the host's id, or by the beginning of its own.
    """
    from souffleur.cli.event_loop import inspect

    turns = await inspect(memory).turns(user_id=user_id, named=prefix)
    if len(turns) == 1 and turns[0].turn_id == prefix:
        return turns[0].id, turns[0].user_id
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
