"""Asked: what a model would change and waits for the person's yes, in the words it is about."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from souffleur.api import Souffleur
from souffleur.knowledge.memory import Memory, MemoryState
from souffleur.knowledge.operation import LedgerEntry
from souffleur.knowledge.proposals import LAPSES_AFTER, named_ids
from souffleur.knowledge.store.codecs import to_memories


@dataclass(frozen=True)
class Question:
    """One change that waits."""

    id: str
    """The id of the ledger entry, which `confirm` and `reject` take."""
    op: str
    """What would be done: ADD, UPDATE, DELETE, MERGE or CONTRADICT."""
    before: list[str]
    """The words that would go, as they are now; empty if nothing would."""
    after: str
    """The words that would be remembered; empty if none would."""
    memory_id: str | None
    """The memory that waits and can be reworded before; `None` if the change is to others."""
    reason: str
    """Why, in the words of its author."""
    quote: str
    """The words of the talk on which it rests."""
    agent_id: str
    """The persona that the user talked with."""
    at: datetime
    """When it was proposed."""
    lapses_at: datetime
    """When it lapses without an answer."""


async def asked(memory: Souffleur, user_id: str) -> list[Question]:
    """Return the changes that wait for a user's consent, oldest first."""
    entries = await memory.proposals(user_id=user_id)
    ids = {id for entry in entries for id in named_ids(entry)}
    found = to_memories(await memory.knowledge.memories.get(sorted(ids)))
    mine = {one.id: one for one in found if one.user_id == user_id}
    return [question_of(entry, mine) for entry in entries]


def question_of(entry: LedgerEntry, memories: Mapping[str, Memory]) -> Question:
    """Return the question that a proposal puts, where `memories` are what it names, by their ids.

    A new memory may have been reworded since it was proposed.
    """
    named = [memories[id] for id in named_ids(entry) if id in memories]
    new = next((one for one in named if one.state is MemoryState.PENDING), None)
    stays = memories.get(str(entry.details.get("stays")))
    after = new or stays
    return Question(
        id=entry.id,
        op="ADD" if new else entry.op,
        before=[one.content for one in named if one is not after],
        after=after.content if after else str(entry.details.get("content") or ""),
        memory_id=new.id if new else None,
        reason=entry.reason,
        quote=entry.quote,
        agent_id=entry.agent_id,
        at=entry.at,
        lapses_at=entry.at + LAPSES_AFTER,
    )
