"""The location of a store, the opening of its two collections, and the check of its metadata."""

from collections.abc import Awaitable, Callable, Sequence, Set as AbstractSet
from contextlib import AsyncExitStack, nullcontext
from dataclasses import dataclass, field
from pathlib import Path

from loguru import logger
from pydantic import SecretStr

from souffleur.errors import EmbedderError, StoreError, StoreMismatchError
from souffleur.knowledge.knowledge_base import KnowledgeBase
from souffleur.knowledge.policy import Policy
from souffleur.knowledge.privacy.addresses import bare_address
from souffleur.knowledge.privacy.groups import NEVER_KEPT, Group
from souffleur.knowledge.search.embedder import Embedder
from souffleur.knowledge.store.engine.collection import (
    Collection,
    CollectionSchema,
    Filter,
    IndexType,
    Payload,
    watched,
)
from souffleur.knowledge.store.engine.files import locked_folder
from souffleur.knowledge.store.labels import INDEXES, SERVER_INDEXES
from souffleur.knowledge.store.ledger import Journal
from souffleur.knowledge.store.upgrade import (
    REEMBEDDING,
    SCHEMA,
    bring_up,
    check_schema,
    queue_turns,
)
from souffleur.knowledge.watching import Watch, unwatched


@dataclass(frozen=True)
class StoreLocation:
    """The location of a store: a folder for a single process, or a Qdrant server."""

    folder: Path | None = None
    power_safe: bool = False
    """Whether every finished write to a store in a folder survives a power cut."""
    url: str | None = field(default=None, repr=False)
    """The address of a server; it may contain a user name and a password."""
    api_key: SecretStr | None = None
    prefix: str = ""
    """The prefix of the names of the store's collections on a server."""

    @property
    def plain_key(self) -> str | None:
        """The API key as plain text, only for the client."""
        return self.api_key.get_secret_value() if self.api_key else None

    def __str__(self) -> str:
        return bare_address(self.url) if self.url else str(self.folder)


Opener = Callable[[StoreLocation, int, AsyncExitStack], Awaitable[tuple[Collection, Collection]]]
"""A function that opens memories and journal, like `open_collections`."""


async def open_knowledge(
    location: StoreLocation,
    embedder: Embedder,
    policy: Policy,
    *,
    require_confirmation: bool = False,
    raw_days: int | None = None,
    withheld: AbstractSet[Group] = NEVER_KEPT,
    called: Sequence[str] = (),
    watch: Watch = unwatched,
    opener: Opener | None = None,
) -> KnowledgeBase:
    """Open a store, or create it. `opener` replaces `open_collections`.

    Raises StoreBusyError if another process uses the folder, StoreMismatchError if the store has
    another schema, embedder, dimension or policy, StoreError if it is damaged.
    """
    dimension = await _find_dimension(location, embedder)
    async with AsyncExitStack() as opening:
        memories, talk = await (opener or open_collections)(location, dimension, opening)
        journal = await Journal.open(talk)
        await _check_whole(memories, journal, location)
        made_with = await _check_made_with(journal, location, embedder, dimension, policy)
        if made_with["schema"] < SCHEMA:
            await bring_up(memories, journal)
        embedder.assume(dimension, made_with.get("floor"))
        if watch is not unwatched:
            memories, journal.collection = watched(memories, watch), watched(talk, watch)
        aclose = opening.pop_all().aclose
    return KnowledgeBase(
        memories,
        journal,
        embedder,
        policy,
        require_confirmation=require_confirmation,
        raw_days=raw_days,
        withheld=withheld,
        called=called,
        aclose=aclose,
        watch=watch,
    )


async def stored_dimension(location: StoreLocation, name: str = "memories") -> int | None:
    """Return the dimension of a store's dense vectors; `None` if there is no store.

    It is 0 if a process dropped the vectors and was killed before it created new vectors.
    """
    if location.url:
        from souffleur.knowledge.store.engine import server

        return await server.stored_dimension(
            location.url, location.plain_key, f"{location.prefix}{name}"
        )
    from souffleur.knowledge.store.engine import edge

    return edge.stored_dimension((location.folder or Path()) / name)


async def _find_dimension(location: StoreLocation, embedder: Embedder) -> int:
    """Return the dimension of the embedder, or of the store if the embedder cannot be reached.

    Raises EmbedderError if there is no store either.
    """
    try:
        return await embedder.find_dimension()
    except EmbedderError:
        stored = await stored_dimension(location)
        if stored is None:
            raise
        return stored


async def open_collections(
    location: StoreLocation, dimension: int, opening: AsyncExitStack
) -> tuple[Collection, Collection]:
    """Open memories and journal, or create them; `opening` closes them.

    The folder of a store is locked first, until both collections are closed.
    """
    if location.folder and not location.url:
        opening.enter_context(locked_folder(location.folder))
    return await open_both(location, dimension, opening)


async def open_both(
    location: StoreLocation, dimension: int, opening: AsyncExitStack
) -> tuple[Collection, Collection]:
    """Open memories and journal like `open_collections`, in a folder that is already locked."""
    opened = []
    for name in INDEXES:
        collection = await open_collection(location, name, dimension)
        opening.push_async_callback(collection.close)
        opened.append(collection)
    return opened[0], opened[1]


async def remove_collections(location: StoreLocation) -> None:
    """Delete the collections of a store on a server, with all their points."""
    from souffleur.knowledge.store.engine import server

    assert location.url is not None
    names = [f"{location.prefix}{name}" for name in INDEXES]
    await server.remove(location.url, location.plain_key, names)


async def check_empty(memories: Collection, journal: Collection, location: StoreLocation) -> None:
    """Raise StoreMismatchError if a store contains records other than its metadata."""
    if await memories.count(Filter()) or await journal.count(Filter()) > 1:
        raise StoreMismatchError(f"{location} holds memories already: name an empty place.")


async def open_collection(location: StoreLocation, name: str, dimension: int) -> Collection:
    """Open only memories or only the journal, in a folder that is already locked."""
    schema = CollectionSchema(name, dimension, _indexes(location, name), cues=True)
    if location.url:
        from souffleur.knowledge.store.engine.server import ServerCollection

        return await ServerCollection.open(
            location.url,
            schema,
            prefix=location.prefix,
            api_key=location.plain_key,
        )
    from souffleur.knowledge.store.engine.edge import EdgeCollection

    assert location.folder is not None
    return EdgeCollection.open(location.folder, schema, power_safe=location.power_safe)


def _indexes(location: StoreLocation, name: str) -> dict[str, IndexType]:
    return {**INDEXES[name], **(SERVER_INDEXES[name] if location.url else {})}


async def resize_vectors(location: StoreLocation, name: str, dimension: int) -> None:
    """Drop all dense vectors of a closed collection, and set a new dimension. Idempotent."""
    schema = CollectionSchema(name, dimension, _indexes(location, name), cues=True)
    if location.url:
        from souffleur.knowledge.store.engine import server

        await server.resize_vectors(
            location.url, location.plain_key, schema, f"{location.prefix}{name}"
        )
    else:
        from souffleur.knowledge.store.engine import edge

        assert location.folder is not None
        edge.resize_vectors(location.folder, schema)


async def _check_whole(memories: Collection, journal: Journal, location: StoreLocation) -> None:
    """Raise StoreError if there are memories but no metadata."""
    if await journal.meta() is None and await memories.count(Filter()):
        if await journal.meta() is not None:  # another process has just created the store
            return
        raise StoreError(
            f"The store at {location} has memories and has lost its journal, which says what they "
            "were made with: restore a backup."
        )


async def _check_made_with(
    journal: Journal, location: StoreLocation, embedder: Embedder, dimension: int, policy: Policy
) -> Payload:
    """Compare the settings with the store's metadata and return it; write it for a new store."""
    made_with = await journal.meta()
    if made_with is None:
        made_with = {
            "schema": SCHEMA,
            "embedder": embedder.name,
            "dimension": dimension,
            "policy": policy.name,
            "floor": embedder.floor,
        }
        await journal.set_meta(made_with)
        return made_with
    check_schema(made_with["schema"], f"The store at {location}")
    if made_with["embedder"] != embedder.name:
        raise StoreMismatchError(
            f"The store at {location} was made with the embedder {made_with['embedder']!r}, not "
            f"{embedder.name!r}: set SOUFFLEUR_EMBEDDER={made_with['embedder']}, or embed it anew "
            "with `souffleur store reembed`."
        )
    if made_with["policy"] != policy.name:
        raise StoreMismatchError(
            f"The memories at {location} follow the policy {made_with['policy']!r}, not "
            f"{policy.name!r}: set SOUFFLEUR_POLICY={made_with['policy']}, or copy them to the new "
            "policy with `souffleur store migrate NEW_PATH`."
        )
    return made_with


async def take_over(location: StoreLocation, embedder: Embedder) -> bool:
    """Drop the vectors of a store if they are from another embedder; return whether they were.

    No other process may have the store open. This process may be killed at any moment, and the call
    repeated. Raises StoreBusyError, StoreError, EmbedderError.
    """
    if await stored_dimension(location) is None:
        return False
    dimension = await embedder.find_dimension()
    folder = None if location.url else location.folder
    with locked_folder(folder) if folder else nullcontext():
        if not await _begin_reembedding(location, embedder.name, dimension):
            return False
        for name in INDEXES:
            await resize_vectors(location, name, dimension)
        async with AsyncExitStack() as closing:
            journal = await _open_journal(location, dimension, closing)
            made = {"embedder": embedder.name, "dimension": dimension, "floor": embedder.floor}
            await journal.note_meta(made)
    logger.info("the store is embedded anew by {}", embedder.name)
    return True


async def _begin_reembedding(location: StoreLocation, name: str, dimension: int) -> bool:
    """Note the new embedder in the metadata; return whether another embedder made the vectors."""
    stored = await stored_dimension(location, "journal") or dimension
    async with AsyncExitStack() as closing:
        journal = await _open_journal(location, stored, closing)
        made_with = await journal.meta()
        if made_with is None or made_with["embedder"] == name:
            return False
        await queue_turns(journal.collection)
        await journal.note_meta({REEMBEDDING: {"to": name}})
        return True


async def _open_journal(
    location: StoreLocation, dimension: int, closing: AsyncExitStack
) -> Journal:
    collection = await open_collection(location, "journal", dimension)
    closing.push_async_callback(collection.close)
    return Journal(collection, last_seq=0)
