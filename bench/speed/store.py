"""Times, the state of the event loop, and a store of many memories of one user after a year.

Each memory of the store has cues and a topic, as judged ones have. Besides those in force there are
former ones, a few of those in force are boundaries, and a portrait was written a week ago.
"""

import asyncio
import json
import os
import statistics
import tempfile
import time
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from souffleur import Kind, Reply, Request, Settings, Souffleur
from souffleur.knowledge.memory import Category, Memory, MemoryState
from souffleur.knowledge.store.codecs import embedded_point
from souffleur.types import Importance

LOOK_PAUSE = 0.001
"""Seconds between two looks at whether the event loop is free."""


@dataclass(frozen=True)
class Timing:
    """The time of one operation, in milliseconds."""

    name: str
    size: int
    """The number of memories of the user."""
    median: float
    slow: float
    """The 95th percentile."""
    slowest: float
    """The 99th percentile."""


@dataclass(frozen=True)
class Operation:
    """Work that is timed, and work before it that is not; each is given the round's number."""

    work: Callable[[int], Awaitable[None]]
    before: Callable[[int], Awaitable[None]] | None = None


@dataclass(frozen=True)
class Chore:
    """One chore on a whole store, such as a backup."""

    name: str
    size: int
    """The number of memories."""
    seconds: float
    megabytes: float | None = None
    """The size of the file or folder, if there is one."""


def timing_of(name: str, size: int, taken: Sequence[float]) -> Timing:
    """Return the percentiles of two or more times in milliseconds.

    >>> timing_of("recall", 1_000, [1.0, 2.0, 3.0]).median
    2.0
    """
    hundredths = statistics.quantiles(taken, n=100, method="inclusive")
    return Timing(name, size, statistics.median(taken), hundredths[94], hundredths[98])


def machine_load() -> str:
    """Return a phrase that tells how busy the machine is: a busy one doubles every figure."""
    cores = os.cpu_count() or 1
    try:
        minute, five, _ = os.getloadavg()
    except OSError:
        return f"{cores} cores; this system does not tell its load"
    return f"load {minute:.1f} in the last minute, {five:.1f} in five, on {cores} cores"


@asynccontextmanager
async def watched_loop(note: Callable[[float, float], None]) -> AsyncIterator[None]:
    """Look within the block again and again whether the event loop is free.

    `note` is given two times in milliseconds: for how long the loop was held, and how much of that
    the process itself computed. The rest went to other programs, or was spent waiting for a disk.
    """

    async def watch() -> None:
        while True:
            began, computed = time.perf_counter(), time.process_time()
            await asyncio.sleep(LOOK_PAUSE)
            held = 1000 * (time.perf_counter() - began - LOOK_PAUSE)
            note(held, min(held, 1000 * (time.process_time() - computed)))

    task = asyncio.create_task(watch())
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


def process_memory(*kinds: str) -> float:
    """Return memory of this process in MB, by its kinds in /proc; 0 where no system tells.

    RssAnon is its heap, RssFile and RssShmem are mapped files.
    """
    with suppress(OSError):
        lines = Path("/proc/self/status").read_text().splitlines()
        return sum(int(one.split()[1]) / 1024 for one in lines if one.split(":")[0] in kinds)
    return 0.0


USER = "ann"
NOW = datetime(2026, 1, 3, tzinfo=UTC)
MEMORIES_PER_WRITE = 500
IN_FORCE = 7
"""Of ten memories; two of the others are superseded, and one is over and archived."""
BOUNDARIES = 20
"""About so many boundaries, of a store of any size."""
PORTRAIT = "Ann likes green tea and old jazz. She goes to Lyon by train. " * 8

PLACES = ("Lyon", "Berlin", "Osaka", "成都", "Lisbon", "杭州", "Oslo", "京都")
THINGS = (
    *("green tea", "old jazz", "红烧肉", "running", "Go"),
    *("水彩画", "trains", "拉面", "swims", "猫"),
)


@asynccontextmanager
async def open_filled(size: int) -> AsyncIterator[tuple[Souffleur, Chore]]:
    """Fill a store with so many memories in force; yield it opened anew, with the seconds."""
    with tempfile.TemporaryDirectory(prefix="souffleur-") as folder:
        settings = Settings(path=Path(folder), user_title="Ann", assistant_name="Mo")
        async with Souffleur.open(settings, chat=instant, clock=lambda: NOW) as memory:
            await _fill(memory, size)
        megabytes = _megabytes(Path(folder))
        begun = time.perf_counter()
        async with Souffleur.open(settings, chat=instant, clock=lambda: NOW) as memory:
            taken = time.perf_counter() - begun
            yield memory, Chore("open it again", size, taken, megabytes)


def _megabytes(folder: Path) -> float:
    """Return what a folder takes on the disk; the engine's files are sparse."""
    return sum(512 * file.stat().st_blocks for file in folder.rglob("*")) / 1e6


async def _fill(memory: Souffleur, size: int) -> None:
    """Write memories with their cues, many at once and without a ledger."""
    await memory.remember(
        liking(0), user_id=USER, kind=Kind.PREFERENCE, importance=Importance.MEDIUM, at=NOW
    )
    (first,) = await memory.knowledge.list(USER)
    written = NOW - timedelta(days=7)
    portrait = {"category": Category.PROFILE, "content": PORTRAIT, "created_at": written}
    some = [first.model_copy(update={"id": str(uuid.uuid4()), **portrait})]
    some += [_lived(first, count, size) for count in range(size * 10 // IN_FORCE)]
    for start in range(0, len(some), MEMORIES_PER_WRITE):
        batch = some[start : start + MEMORIES_PER_WRITE]
        texts = [text for memory in batch for text in memory.embedded]
        vectors = dict(zip(texts, await memory.knowledge.embedder.embed(texts), strict=True))
        await memory.knowledge.memories.put([embedded_point(one, vectors) for one in batch])


def _lived(first: Memory, count: int, size: int) -> Memory:
    """Return one memory of a year; from number `size` on, one that is no longer in force."""
    learned = NOW - timedelta(days=count % 365, minutes=count // 365)
    fields = {
        "id": first.id if count == 0 else str(uuid.UUID(int=count)),
        "content": liking(count),
        "cues": cues(count),
        "topics": (THINGS[count % 10],),
        **dict.fromkeys(("created_at", "updated_at", "anchor_at"), learned),
    }
    if count >= size:
        replaced = {
            "state": MemoryState.SUPERSEDED,
            "superseded_by": str(uuid.UUID(int=count - size)),
        }
        over = {"state": MemoryState.ARCHIVED, "expires_at": learned + timedelta(days=1)}
        fields |= over if count % 3 == 0 else replaced
    elif count % max(2, size // BOUNDARIES) == 1:
        words = f"{liking(count)} She does not want to be asked about it."
        fields |= {"kind": Kind.BOUNDARY, "content": words}
    return first.model_copy(update=fields)


def liking(count: int) -> str:
    """Return the content of a memory, another for each number."""
    return f"Ann likes {THINGS[count % 10]} in {PLACES[count % 8]}, {count} times."


def cues(count: int) -> tuple[str, str, str]:
    """Return the three cues of a memory; the monitor gives each two to five.

    >>> cues(3)
    ('an evening with running', 'a weekend in 成都, number 3', 'what Ann may enjoy after day 3')
    """
    return (
        f"an evening with {THINGS[count % 10]}",
        f"a weekend in {PLACES[count % 8]}, number {count}",
        f"what Ann may enjoy after day {count}",
    )


async def instant(request: Request) -> Reply:
    """Answer at once: keep each sentence that begins with `I like`, with cues, and no other."""
    said = request.messages[-1].content.rpartition("Ann: ")[2].partition("\n")[0]
    add: dict[str, Any] = {
        **{"op": "ADD", "reason": "new", "quote": said, "content": f"Ann: {said}"},
        **{"kind": "fact", "importance": "low", "entities": [], "since": None, "until": None},
        "cues": [f"{said} on a {day}" for day in ("Monday", "rainy day", "holiday")],
    }
    ops = [add] if said.startswith("I like") else []
    return Reply(text=json.dumps({"reason": "", "ops": ops}), model="instant")
