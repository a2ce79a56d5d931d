"""Empty stores that are open already: they are emptied after each use, and used again.

A new store takes a tenth of a second of a processor, and closing it nearly as much: most of it for
pages of memory. Whoever tests files, opening, closing or crashes has a store of his own in a folder
instead: `open_base`, `Souffleur.open`.
"""

import shutil
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, cast

import qdrant_edge as qdrant

from souffleur.api import Opening
from souffleur.knowledge.knowledge_base import KnowledgeBase
from souffleur.knowledge.memory import Memory
from souffleur.knowledge.policy import COMPANION, Policy
from souffleur.knowledge.search.embedder import Embedder
from souffleur.knowledge.store.engine import files
from souffleur.knowledge.store.engine.collection import Collection, CollectionSchema
from souffleur.knowledge.store.engine.edge import EdgeCollection
from souffleur.knowledge.store.labels import INDEXES
from souffleur.knowledge.store.opening import StoreLocation, open_collections
from souffleur.settings import Settings, change_settings
from souffleur.times import Clock, TimeSource, from_clock
from tests.build import fill, open_base

USES = 50
"""Uses after which a collection is made anew, as what was deleted leaves gaps in its files."""


class Shard:
    """The engine's open collection: it is emptied, not closed, when its user closes it."""

    def __init__(self, folder: Path, schema: CollectionSchema) -> None:
        self.folder = folder
        self.uses = 0
        self._shard = EdgeCollection.open(folder, schema)._shard

    def lend(
        self, schema: CollectionSchema, *, again: bool = False
    ) -> tuple[EdgeCollection, "Loan"]:
        """A collection over it that knows nothing of those before; `again`: as it was left."""
        if not again:
            assert self._count() == 0, f"{self.folder} is not empty"
            self.uses += 1
        loan = Loan(self._shard)
        opened = cast("qdrant.EdgeShard", loan)
        path, room = self.folder / schema.name, files.free_bytes
        usual = EdgeCollection(opened, path, schema, flush_every=1.0, power_safe=False, room=room)
        return usual, loan

    def empty(self) -> None:
        """Delete all points."""
        everything = qdrant.UpdateOperation.delete_points_by_filter(qdrant.Filter())
        self._shard.update(everything)

    def close(self) -> None:
        """Remove its files."""
        self._shard.close()
        shutil.rmtree(self.folder)

    def _count(self) -> int:
        return self._shard.count(qdrant.CountRequest())


class Loan:
    """The engine's collection, until it is given back."""

    def __init__(self, shard: qdrant.EdgeShard) -> None:
        self._shard: qdrant.EdgeShard | None = shard

    def __getattr__(self, name: str) -> Any:
        if self._shard is None:
            raise RuntimeError("this store was given back")
        return getattr(self._shard, name)

    def flush(self) -> None:
        """Flush; what was given back was flushed."""
        if self._shard is not None:
            self._shard.flush()

    def close(self) -> None:
        """Fail: whoever closes or moves the files needs a store in a folder."""
        raise AssertionError("the files of a lent store stay: take `open_base` for this test")

    def give_back(self) -> None:
        """Whoever still uses it gets an error."""
        self._shard = None


class Stores:
    """Those of a process of tests, by name and dimension."""

    def __init__(self) -> None:
        self.folder: Path | None = None
        """Where they are, while tests run."""
        self._idle: dict[tuple[str, int], list[Shard]] = defaultdict(list)
        self._made = 0

    async def open(
        self, location: StoreLocation, dimension: int, opening: AsyncExitStack
    ) -> tuple[Collection, Collection]:
        """Do what `open_collections` does, with what was emptied; once for each folder."""
        if location.url:
            return await open_collections(location, dimension, opening)
        _mark(location)
        memories, journal = (self._lend(name, dimension, opening) for name in INDEXES)
        return memories, journal

    def _lend(self, name: str, dimension: int, opening: AsyncExitStack) -> EdgeCollection:
        schema = _schema(name, dimension)
        shard = self.take(schema)
        collection, loan = shard.lend(schema)

        def give_back() -> None:
            loan.give_back()
            self.put_back(schema, shard)

        opening.callback(give_back)
        return collection

    def take(self, schema: CollectionSchema) -> Shard:
        """An empty collection, for one user."""
        idle = self._idle[schema.name, schema.dimension]
        return idle.pop() if idle else self._make(schema)

    def put_back(self, schema: CollectionSchema, shard: Shard) -> None:
        """Empty a collection for its next user."""
        if shard.uses < USES:
            shard.empty()
            self._idle[schema.name, schema.dimension].append(shard)
        else:
            shard.close()

    def _make(self, schema: CollectionSchema) -> Shard:
        assert self.folder, "no tests run"
        self._made += 1
        return Shard(self.folder / str(self._made), schema)

    def close(self) -> None:
        """Remove those that nobody uses."""
        for shards in self._idle.values():
            while shards:
                shards.pop().close()


class Kept:
    """Empty stores that stay as they are left when they are closed, until `give_back`.

    For commands that open the same store one after the other.
    """

    def __init__(self, stores: Stores) -> None:
        self._stores = stores
        self._lent: dict[tuple[Path, str], tuple[CollectionSchema, Shard]] = {}

    async def open(
        self, location: StoreLocation, dimension: int, opening: AsyncExitStack
    ) -> tuple[Collection, Collection]:
        """Do what `open_collections` does; a folder that is opened again has what it had."""
        if location.url:
            return await open_collections(location, dimension, opening)
        memories, journal = (self._lend(location, name, dimension, opening) for name in INDEXES)
        return memories, journal

    def _lend(
        self, location: StoreLocation, name: str, dimension: int, opening: AsyncExitStack
    ) -> EdgeCollection:
        assert location.folder, "a store without a place"
        schema, again = _schema(name, dimension), (location.folder, name) in self._lent
        if not again:
            if name == "memories":
                _mark(location)
            self._lent[location.folder, name] = schema, self._stores.take(schema)
        lent, shard = self._lent[location.folder, name]
        assert lent.dimension == dimension, "another embedder: this test needs a store in a folder"
        collection, loan = shard.lend(schema, again=again)
        opening.callback(loan.give_back)
        return collection

    def give_back(self) -> None:
        """Empty all of them."""
        for schema, shard in self._lent.values():
            self._stores.put_back(schema, shard)
        self._lent.clear()


def _schema(name: str, dimension: int) -> CollectionSchema:
    return CollectionSchema(name, dimension, INDEXES[name], cues=True)


def _mark(location: StoreLocation) -> None:
    """Have a folder refuse to be opened again, in which whoever does so expects what was kept."""
    assert location.folder, "a store without a place"
    location.folder.mkdir(parents=True, exist_ok=True)
    (location.folder / "memories").touch(exist_ok=False)


STORES = Stores()
"""Those of this process; `conftest` says where they are."""


async def empty_base(folder: Path, policy: Policy = COMPANION, **chosen: Any) -> KnowledgeBase:
    """An empty store, as `open_base` makes one; on a server, it is named after the folder."""
    return await open_base(folder, policy, **chosen, opener=STORES.open)


@asynccontextmanager
async def base_of(folder: Path, *memories: Memory) -> AsyncIterator[KnowledgeBase]:
    """A store with these memories as they are."""
    base = await empty_base(folder)
    await fill(base, *memories)
    yield base
    await base.close()


def open_empty(
    settings: Settings,
    *,
    chat: Any = None,
    clock: Clock | None = None,
    embedder: Embedder | None = None,
    **overrides: Any,
) -> Opening:
    """Do what `Souffleur.open` does, over an empty store."""
    times = from_clock(clock) if clock else TimeSource()
    chosen = change_settings(settings, **overrides)
    return Opening(chosen, chat, times, embedder, STORES.open)
