"""Own fields: what mem0 keeps beside a memory and Souffleur does not, as items of its user."""

from collections.abc import Iterable, Mapping
from typing import Any

from souffleur.knowledge.items import Item, Place
from souffleur.knowledge.memory import Memory
from souffleur.runtime import Souffleur

FOLDER = "mem0"
FIELDS = ("metadata", "run_id", "app_id")


async def find_own(memory: Souffleur, memories: Iterable[Memory]) -> dict[str, Mapping[str, Any]]:
    """Return the own fields of memories, by their ids."""
    places = {_place(one.user_id, one.id): one.id for one in memories}
    found = await memory.knowledge.items.get(list(places))
    own: dict[str, Mapping[str, Any]] = {id: {} for id in places.values()}
    return own | {places[place]: item.value for place, item in found.items()}


async def keep_own(
    memory: Souffleur, user_id: str, memory_ids: Iterable[str], fields: Mapping[str, Any]
) -> None:
    """Keep fields beside memories; those that are empty stay as they were."""
    new = {name: fields[name] for name in FIELDS if fields.get(name)}
    places = [_place(user_id, one) for one in memory_ids]
    if not new or not places:
        return
    items, now = memory.knowledge.items, memory.clock()
    known = await items.get(places)
    await items.put(
        [
            Item(
                namespace=place[0],
                key=place[1],
                value={**(known[place].value if place in known else {}), **new},
                user_id=user_id,
                created_at=known[place].created_at if place in known else now,
                updated_at=now,
            )
            for place in places
        ]
    )


def _place(user_id: str, memory_id: str) -> Place:
    return (user_id, FOLDER), memory_id
