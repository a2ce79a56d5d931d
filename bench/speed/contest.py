"""The search of other systems beside ours: one call of each in turn, in one process, as ratios."""

import asyncio
import gc
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from random import Random

from rich.console import Console
from rich.table import Table

from bench.speed.rivals import Fill, HashedTexts, Rivals, Search, title_of
from bench.speed.store import USER
from bench.speed.timing import Operation, Timing, timing_of
from souffleur import Souffleur
from souffleur.evals.fixture import scratch

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
    """How many times as long another system takes as ours."""

    theirs: str
    ours: str
    size: int
    wall: float
    """Of the medians."""
    slow: float
    """Of the 95th percentiles."""
    cpu: float
    """Of the medians of processor time."""


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
