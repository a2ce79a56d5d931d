"""The search of other systems beside ours: one call of each in turn, in one process, as ratios.

Their stores are as they come, filled with the same texts past their own writing, which asks a model
or goes one by one. Each is given its own form of a memory, and the embedder that ours has.
"""

import asyncio
import gc
import hashlib
import time
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from datetime import datetime
from importlib.metadata import version
from itertools import islice
from pathlib import Path
from random import Random

from langchain_core.embeddings import Embeddings
from rich.console import Console
from rich.table import Table

from bench.speed.store import USER, Operation, Timing, timing_of
from bench.systems import load_factory
from souffleur import Souffleur
from souffleur.errors import SettingsError
from souffleur.evals.fixture import scratch
from souffleur.knowledge.search.embedding_models import HashEmbeddings

MEMORIES_PER_WRITE = 500


Search = Callable[[str], Awaitable[int]]
"""Searches by a text, and returns how many memories it found."""


class HashedTexts(HashEmbeddings, Embeddings):
    """Our embedder by spelling, of the class that both other systems ask for."""


@dataclass(frozen=True)
class Fill:
    """The content of a store."""

    folder: Path
    """The folder of its files, if it has files."""
    embeddings: HashedTexts
    texts: Sequence[str]
    now: datetime
    limit: int
    """Memories that its search returns."""


@contextmanager
def _open_mem0(fill: Fill) -> Iterator[Search]:
    """Open mem0 over its local Qdrant in a folder, with these memories of one user."""
    from langchain_core.language_models.fake_chat_models import FakeListChatModel

    from bench.systems.mem0 import make_memory

    model, embeddings = FakeListChatModel(responses=[""]), fill.embeddings
    store = {"path": str(fill.folder / "mem0")}
    memory = make_memory(model, embeddings, embeddings.dimension, store)
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
    """Another system, and the limits of its comparison."""

    package: str
    """Name of its distribution."""
    store: str
    """The name of its default store."""
    open: Callable[[Fill], AbstractContextManager[Search]]
    most: int
    """Memories up to which it is filled."""
    reason: str = ""
    """The reason of the limit."""


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


LIMIT = 10
"""Memories that each search returns."""
DIMENSION = 512
PAUSE = 0.01
"""Seconds after which is looked again whether a thread still works."""
MAX_PAUSES = 50
RECALL, BARE, SEARCH = "recall", "recall, less the embedding", "search"


@dataclass(frozen=True)
class Entry:
    """One operation of one system."""

    name: str
    wall: Timing
    cpu: Timing
    """Time of all threads of the process."""


@dataclass(frozen=True)
class Ratio:
    """The times of another system, divided by ours."""

    theirs: str
    ours: str
    size: int
    wall: float
    """The ratio of the medians."""
    slow: float
    """The ratio of the 95th percentiles."""
    cpu: float
    """The ratio of the medians of processor time."""


async def settle(worked: Callable[[], float] = time.process_time, pause: float = PAUSE) -> None:
    """Wait until no thread of this process works, for fifty pauses at most.

    Those of numpy's OpenBLAS go on spinning for a tenth of a second after a product of matrices: on
    a processor that the next system needs, and in the processor time of its call. `worked` returns
    the seconds that all threads have worked.
    """
    for _ in range(MAX_PAUSES):
        before = worked()
        await asyncio.sleep(pause)
        if worked() - before < pause / 10:
            return


async def interleave(operations: Mapping[str, Operation], size: int, rounds: int) -> list[Entry]:
    """Time each operation once a round, in another order each round, the same in every run.

    Each is called when the threads of the one before it are at rest.
    """
    names = list(operations)
    wall: dict[str, list[float]] = {name: [] for name in names}
    cpu: dict[str, list[float]] = {name: [] for name in names}
    for count in range(-1, rounds):
        # In a fixed order, what follows the system that touches most memory would always be slow.
        for name in Random(count).sample(names, len(names)):
            operation = operations[name]
            if operation.before:
                await operation.before(count)
            await settle()
            began, worked = time.perf_counter(), time.process_time()
            await operation.work(count)
            if count >= 0:  # the first call loads what all others use
                cpu[name].append(1000 * (time.process_time() - worked))
                wall[name].append(1000 * (time.perf_counter() - began))
    return [
        Entry(name, timing_of(name, size, wall[name]), timing_of(name, size, cpu[name]))
        for name in names
    ]


async def contest(
    memory: Souffleur,
    rivals: Rivals,
    texts: Sequence[str],
    asked: Sequence[str],
    rounds: int,
    now: datetime,
) -> list[Entry]:
    """Fill the others with the texts that the memory holds of its user, and time all in turn."""
    async with _opened(rivals, texts, now) as searches:
        operations = _ours(memory, asked, now)
        for number, (title, search) in enumerate(searches.items()):
            operations[title] = _search_of(search, asked, number)
        return await interleave(operations, len(texts), rounds)


def ratios(entries: Sequence[Entry]) -> list[Ratio]:
    """Return the ratio of each other system to each of our operations, at the same size."""
    ours = [one for one in entries if one.name in (RECALL, BARE, SEARCH)]
    return [
        Ratio(
            their.name,
            our.name,
            our.wall.size,
            wall=their.wall.median / our.wall.median,
            slow=their.wall.slow / our.wall.slow,
            cpu=their.cpu.median / our.cpu.median,
        )
        for their in entries
        if their not in ours
        for our in ours
        if our.wall.size == their.wall.size
    ]


def report_contest(entries: Sequence[Entry]) -> None:
    """Print one line for each operation, and one for each ratio."""
    console = Console()
    table = Table(
        *("one call of each in turn", "memories", "median ms", "p95 ms"),
        *("processor: median ms", "p95 ms"),
    )
    for one in entries:
        times = (one.wall.median, one.wall.slow, one.cpu.median, one.cpu.slow)
        table.add_row(one.name, f"{one.wall.size:,}", *(f"{time:.2f}" for time in times))
    console.print(table)
    table = Table("their search", "our", "memories", "median", "p95", "processor")
    for ratio in ratios(entries):
        shares = (f"{share:.1f} x" for share in (ratio.wall, ratio.slow, ratio.cpu))
        table.add_row(ratio.theirs, ratio.ours, f"{ratio.size:,}", *shares)
    console.print(table)


def _ours(memory: Souffleur, asked: Sequence[str], now: datetime) -> dict[str, Operation]:
    embedder = memory.knowledge.embedder

    def message(kind: str, count: int) -> str:
        return f"{asked[count % len(asked)]} {kind}{count}"  # another one each time: none is cached

    async def embed(count: int) -> None:
        await embedder.embed_queries([message("b", count)])

    async def bare(count: int) -> None:
        await memory.recall(user_id=USER, session_id="s", text=message("b", count), at=now)

    async def recall(count: int) -> None:
        await memory.recall(user_id=USER, session_id="s", text=message("r", count), at=now)

    async def search(count: int) -> None:
        await memory.search(message("s", count), user_id=USER, limit=LIMIT, at=now)

    return {RECALL: Operation(recall), BARE: Operation(bare, embed), SEARCH: Operation(search)}


def _search_of(search: Search, asked: Sequence[str], number: int) -> Operation:
    async def work(count: int) -> None:
        await search(f"{asked[count % len(asked)]} {number} {count}")

    return Operation(work)


@asynccontextmanager
async def _opened(
    rivals: Rivals, texts: Sequence[str], now: datetime
) -> AsyncIterator[dict[str, Search]]:
    with ExitStack() as closing:
        folder = closing.enter_context(scratch())
        fill = Fill(folder, HashedTexts(DIMENSION), texts, now, LIMIT)
        searches = {
            title_of(name): closing.enter_context(spec.open(fill))
            for name, spec in rivals.specs.items()
        }
        gc.collect()
        gc.freeze()  # else one system's memories lengthen the collections during another's call
        closing.callback(gc.unfreeze)
        yield searches
