"""The users of a store: who is known, by how much, and when they were last seen."""

from collections import Counter
from datetime import UTC, datetime

from pydantic import AwareDatetime

from souffleur.field_docs import explain_fields
from souffleur.knowledge.engine.collection import Collection, Filter, Is, Point, read_pages
from souffleur.knowledge.identity import PERSONAS
from souffleur.knowledge.journal import Journal
from souffleur.knowledge.memory import NARRATIVE, Frozen, MemoryState

_LONG_AGO = datetime.min.replace(tzinfo=UTC)
_COUNTED = (MemoryState.ACTIVE, MemoryState.PENDING)


@explain_fields
class UserSummary(Frozen):
    """What there is of one user."""

    user_id: str
    """The host's id of the user."""
    memories: int
    """Memories in force, or waiting for consent; no episodes and no portraits."""
    turns: int
    """Turns, whether or not their words have expired."""
    last_seen: AwareDatetime | None = None
    """When the latest turn was said; `None` if there is none."""


async def list_users(memories: Collection, journal: Journal) -> list[UserSummary]:
    """Return all users with a memory or a turn; those who were seen last come first."""
    kept: Counter[str] = Counter()
    said: Counter[str] = Counter()
    seen: dict[str, datetime] = {}
    async for page in read_pages(memories, Filter()):
        for point in page:
            kept[str(point.payload.get("user_id"))] += _counts(point)
    async for page in read_pages(journal.collection, Filter((Is("type", "turn"),))):
        for point in page:
            user_id = str(point.payload.get("user_id"))
            at = datetime.fromisoformat(str(point.payload["at"]))
            said[user_id] += 1
            seen[user_id] = max(at, seen.get(user_id, at))
    found = [
        UserSummary(
            user_id=user_id,
            memories=kept[user_id],
            turns=said[user_id],
            last_seen=seen.get(user_id),
        )
        for user_id in sorted((kept.keys() | said.keys()) - {PERSONAS})
    ]
    return sorted(found, key=lambda one: one.last_seen or _LONG_AGO, reverse=True)


def _counts(point: Point) -> bool:
    payload = point.payload
    return payload.get("state") in _COUNTED and payload.get("category") not in NARRATIVE
