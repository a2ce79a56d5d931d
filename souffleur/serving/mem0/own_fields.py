"""Own fields: what mem0 keeps beside a memory and Souffleur does not, as items of its user."""

from collections.abc import Iterable, Mapping
from typing import Any

from souffleur.knowledge.items import Item, Place
from souffleur.knowledge.language.plain_text import mend
from souffleur.knowledge.memory import Memory
from souffleur.runtime import Souffleur

FOLDER = "mem0"
FIELDS = ("metadata", "run_id", "app_id")


async def find_own(memory: Souffleur, memories: Iterable[Memory]) -> dict[str, Mapping[str, Any]]:
    """Return the own fields of memories, by their ids; what an import brought is made whole."""
    places = {_place(one.user_id, one.id): one.id for one in memories}
    found = await memory.knowledge.items.get(list(places))
    own: dict[str, Mapping[str, Any]] = {id: {} for id in places.values()}
    return own | {places[place]: _readable(item.value) for place, item in found.items()}


async def keep_own(
    memory: Souffleur, user_id: str, memory_ids: Iterable[str], fields: Mapping[str, Any]
) -> None:
    """Keep fields beside memories; those that are empty stay, as do other keys of metadata."""
    new = {name: fields[name] for name in FIELDS if fields.get(name)}
    places = [_place(user_id, one) for one in memory_ids]
    if not new or not places:
        return
    items, now = memory.knowledge.items, memory.clock()
    known = await items.get(places)
    old = {place: _readable(item.value) for place, item in known.items()}
    await items.put(
        [
            Item(
                namespace=place[0],
                key=place[1],
                value=_merged(old.get(place, {}), new),
                user_id=user_id,
                created_at=known[place].created_at if place in known else now,
                updated_at=now,
            )
            for place in places
        ]
    )


def _merged(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    metadata = {**old.get("metadata", {}), **new.get("metadata", {})}
    return {**old, **new, "metadata": metadata}


def _readable(value: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is kept, each as its kind and without halves of characters: not all was checked.

    >>> _readable({"metadata": "tea", "run_id": "r1"})
    {'metadata': {}, 'run_id': 'r1'}
    """
    whole: dict[str, Any] = _mended(value)
    metadata = whole.get("metadata")
    return {**whole, "metadata": metadata if isinstance(metadata, dict) else {}}


def _mended(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {_mended(key): _mended(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_mended(one) for one in value]
    return mend(value) if isinstance(value, str) else value


def _place(user_id: str, memory_id: str) -> Place:
    return (user_id, FOLDER), memory_id
