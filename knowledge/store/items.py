"""Items: a host's own JSON records, stored in the journal under a namespace and a key.

Items are not memories: they are never judged or whispered, they never fade, and the ledger has no
entries about them. They are part of every backup, and are deleted when their user is erased.
"""

import json
from collections.abc import Sequence
from functools import partial
from typing import Annotated, Any

from pydantic import AfterValidator, AwareDatetime, BeforeValidator

from souffleur.errors import InputError
from souffleur.knowledge.memory import Frozen, Text
from souffleur.knowledge.operation import derive_id
from souffleur.knowledge.search.embedder import Embedder
from souffleur.knowledge.store.engine.collection import (
    Collection,
    Condition,
    Filter,
    Is,
    Point,
    Search,
    read_all,
)
from souffleur.knowledge.store.labels import has, lookup_fields
from souffleur.knowledge.store.reading import read, read_each
from souffleur.knowledge.text.plain import mend
from souffleur.knowledge.turn import shorten

Namespace = tuple[str, ...]
Place = tuple[Namespace, str]
"""The place of an item: its namespace and key."""

ITEMS = Is("type", "item")


def _parsed(value: Any) -> Any:
    return json.loads(value) if isinstance(value, str) else value


def _whole(text: str) -> str:
    if mend(text) != text:  # after mending, two names could be equal
        raise ValueError("holds half of a character: it was cut, give the whole of it")
    return text


Name = Annotated[str, AfterValidator(_whole)]


class Item(Frozen):
    """A record of a host."""

    namespace: tuple[Name, ...]
    """The namespace of the item: labels, from the widest to the narrowest."""
    key: Name
    """The name of the item in the namespace."""
    value: Annotated[dict[str, Any], BeforeValidator(_parsed)]
    """The JSON object."""
    user_id: Name = ""
    """The user with whom the item is erased; empty without a user."""
    texts: tuple[Text, ...] = ()
    """The texts by which the item is found; without texts it is found only by its place."""
    created_at: AwareDatetime
    """The time of the first write."""
    updated_at: AwareDatetime
    """The time of the last write."""

    @property
    def id(self) -> str:
        """The id of the point."""
        return place_id(self.namespace, self.key)


_READER = partial(read, model=Item)


class Items:
    """The items in a journal. Every method may raise StoreError."""

    def __init__(self, collection: Collection, embedder: Embedder) -> None:
        self._collection = collection
        self._embedder = embedder

    async def get(self, places: Sequence[Place]) -> dict[Place, Item]:
        """Return the items at these places; skips places without an item."""
        points = await self._collection.get([place_id(*place) for place in places])
        return {(one.namespace, one.key): one for one in read_each(points, _READER)}

    async def put(self, items: Sequence[Item]) -> None:
        """Write items. An item replaces the stored item at its place, and keeps its `created_at`.

        Raises InputError for a value that is no JSON, EmbedderError.
        """
        former = await self.get([(one.namespace, one.key) for one in items])
        kept = []
        for one in items:
            old = former.get((one.namespace, one.key))
            kept.append(one.model_copy(update={"created_at": old.created_at}) if old else one)
        if kept:
            await self._collection.put(await self.points(kept))

    async def delete(self, places: Sequence[Place]) -> None:
        """Delete items for good; skips places without an item."""
        await self._collection.delete([place_id(*place) for place in places])

    async def within(self, folder: Namespace) -> list[Item]:
        """Return the items in a namespace and below it, oldest first."""
        points = await read_all(self._collection, _below(folder))
        return sorted(read_each(points, _READER), key=_age)

    async def near(self, folder: Namespace, text: str, limit: int) -> list[tuple[Item, float]]:
        """Return the items of `within` that have texts, nearest first, with their cosines.

        The nearest text of each item counts. Raises EmbedderError.
        """
        (vector,) = await self._embedder.embed_queries([_embeddable(text)])
        query = Search(vector, _below(folder), limit=limit, by_cues=True)
        (hits,) = await self._collection.search([query])
        return [(read(hit.point, Item), hit.score) for hit in hits]

    async def count(self, folder: Namespace) -> int:
        """Return the number of items in a namespace and below it."""
        return await self._collection.count(_below(folder))

    async def points(self, items: Sequence[Item]) -> list[Point]:
        """Return the points of items, embedded. Raises InputError, EmbedderError."""
        payloads = [_payload(one) for one in items]
        texts = (_embeddable(text) for one in items for text in one.texts)
        vectors = await self._embedder.embed_each(texts)
        return [
            Point(one.id, payload, cues=tuple(vectors[_embeddable(text)] for text in one.texts))
            for one, payload in zip(items, payloads, strict=True)
        ]


def place_id(namespace: Namespace, key: str) -> str:
    """Return the id of the point of an item.

    >>> place_id(("a", "b"), "c") == place_id(("a",), "c")
    False
    """
    return derive_id("item", len(namespace), *map(mend, (*namespace, key)))


def to_json(value: object, *, strict: bool = False) -> str:
    """Return a value as JSON. Raises InputError if it cannot be JSON.

    With `strict`, NaN and infinities raise too. Records of older versions may contain them.
    """
    try:
        return json.dumps(value, allow_nan=not strict)
    except (TypeError, ValueError, RecursionError) as error:
        raise InputError(f"an item's value must be JSON: {error}") from None


def _payload(item: Item) -> dict[str, Any]:
    folders = [_folder(item.namespace[:depth]) for depth in range(1, len(item.namespace) + 1)]
    derived = {"type": "item", "value": to_json(item.value), "folders": folders}
    payload = {**item.model_dump(mode="json", exclude={"value"}), **derived}
    return {**payload, **lookup_fields(payload)}


def _below(folder: Namespace) -> Filter:
    wanted: list[Condition] = [has("folders", _folder(folder))] if folder else []
    return Filter((ITEMS, *wanted))


def _folder(namespace: Namespace) -> str:
    """Return a namespace as a text; different namespaces never have the same text.

    >>> _folder(("a", "b")) == _folder(("a,b",))
    False
    """
    return json.dumps(list(namespace))


def _embeddable(text: str) -> str:
    return shorten(mend(text))


def _age(item: Item) -> tuple[str, Namespace, str]:
    return item.created_at.isoformat(), item.namespace, item.key
