"""The stores of other systems as they come, filled with the same texts: only their search is timed.

They are filled past their own writing, which asks a model or goes one by one. Each is given its own
form of a memory, and the embedder that ours has.
"""

import hashlib
import uuid
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from datetime import datetime
from importlib.metadata import version
from itertools import islice
from pathlib import Path

from langchain_core.embeddings import Embeddings

from bench.speed.store import USER
from bench.systems import load_factory
from souffleur.errors import SettingsError
from souffleur.knowledge.search.embedding_models import HashEmbeddings

MEMORIES_PER_WRITE = 500


Search = Callable[[str], Awaitable[int]]
"""Searches by a text, and returns how many memories it found."""


class HashedTexts(HashEmbeddings, Embeddings):
    """Our embedder by spelling, of the class that both other systems ask for."""


@dataclass(frozen=True)
class Fill:
    """What a store is filled with."""

    folder: Path
    """For its files, if it has any."""
    embeddings: HashedTexts
    texts: Sequence[str]
    now: datetime
    limit: int
    """Memories that its search returns."""


@contextmanager
def _open_mem0(fill: Fill) -> Iterator[Search]:
    """Open mem0 over its local Qdrant in a folder, with these memories of one user."""
    from langchain_core.language_models.fake_chat_models import FakeListChatModel

    from bench.systems.mem0 import library

    embeddings = fill.embeddings
    store = {
        "collection_name": "memories",
        "embedding_model_dims": embeddings.dimension,
        "path": str(fill.folder / "mem0"),
    }
    config = {
        "llm": {"provider": "langchain", "config": {"model": FakeListChatModel(responses=[""])}},
        "embedder": {
            "provider": "langchain",
            "config": {"model": embeddings, "embedding_dims": embeddings.dimension},
        },
        "vector_store": {"provider": "qdrant", "config": store},
        "history_db_path": ":memory:",
    }
    memory = library().Memory.from_config(config)
    for batch in _batches(fill.texts):
        payloads = [_payload(text, fill.now) for text in batch]
        vectors = embeddings.embed_documents(batch)
        ids = [str(uuid.uuid4()) for _ in batch]
        memory.vector_store.insert(vectors=vectors, payloads=payloads, ids=ids)

    async def search(text: str) -> int:
        found = memory.search(text, filters={"user_id": USER}, top_k=fill.limit, threshold=0.0)
        return len(found["results"])

    try:
        yield search
    finally:
        memory.close()
        memory.vector_store.client.close()


@contextmanager
def _open_langmem(fill: Fill) -> Iterator[Search]:
    """Open LangGraph's store in memory, LangMem's default, with these memories of one user."""
    from langgraph.store.base import IndexConfig, PutOp
    from langgraph.store.memory import InMemoryStore

    embeddings = fill.embeddings
    index = IndexConfig(dims=embeddings.dimension, embed=embeddings)
    store = InMemoryStore(index=index)
    namespace = ("memories", USER)
    for batch in _batches(fill.texts):
        values = [{"kind": "Memory", "content": {"content": text}} for text in batch]
        store.batch([PutOp(namespace, str(uuid.uuid4()), value) for value in values])

    async def search(text: str) -> int:
        return len(await store.asearch(namespace, query=text, limit=fill.limit))

    yield search


def _batches(texts: Sequence[str]) -> Iterator[list[str]]:
    rest = iter(texts)
    while batch := list(islice(rest, MEMORIES_PER_WRITE)):
        yield batch


def _payload(text: str, now: datetime) -> dict[str, str]:
    """Return what mem0's `add` keeps with a memory."""
    return {
        "user_id": USER,
        "role": "user",
        "data": text,
        "hash": hashlib.md5(text.encode(), usedforsecurity=False).hexdigest(),
        "created_at": now.isoformat(),
        "updated_at": now.isoformat(),
        "text_lemmatized": text.lower(),
    }


@dataclass(frozen=True)
class RivalSpec:
    """How another system is compared."""

    package: str
    """Name of its distribution."""
    store: str
    """Its default store."""
    open: Callable[[Fill], AbstractContextManager[Search]]
    most: int
    """Memories up to which it is filled."""
    reason: str = ""
    """Why no more."""


RIVALS: Mapping[str, RivalSpec] = {
    "mem0": RivalSpec("mem0ai", "local Qdrant in a folder", _open_mem0, 100_000),
    "langmem": RivalSpec(
        "langmem",
        "LangGraph's InMemoryStore",
        _open_langmem,
        10_000,
        "its store takes 2 GB for so many vectors, which are lists of numbers",
    ),
}


@dataclass(frozen=True)
class Rivals:
    """The systems to compare with."""

    specs: Mapping[str, RivalSpec]
    notes: tuple[str, ...] = ()
    """A line for each: what is searched, or why it is left out."""


def find_rivals(names: Sequence[str], size: int) -> Rivals:
    """Return those of the named systems that are installed and can be filled with so much.

    Raises SettingsError if there is no system of a name.
    """
    found, notes = {}, []
    for name in names:
        if name not in RIVALS:
            raise SettingsError(f"there is no system {name!r} to compare with: {', '.join(RIVALS)}")
        spec = RIVALS[name]
        try:
            load_factory(name)
        except SettingsError as error:
            notes.append(f"{name} is not compared: {error}.")
            continue
        if size > spec.most:
            notes.append(f"{name} is not compared at {size:,}: {spec.reason}.")
        else:
            notes.append(f"{title_of(name)}: its search over {spec.store}.")
            found[name] = spec
    return Rivals(found, tuple(notes))


def title_of(name: str) -> str:
    """Return the name of an installed system with its version."""
    return f"{name} {version(RIVALS[name].package)}"
