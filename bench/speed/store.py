"""The store that is measured: many memories of one user, each with cues, as judged ones are."""

import json
import tempfile
import time
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bench.speed.timing import Chore
from souffleur import Kind, Reply, Request, Settings, Souffleur
from souffleur.knowledge.store.codecs import embedded_point
from souffleur.types import Importance

USER = "ann"
NOW = datetime(2026, 1, 3, tzinfo=UTC)
MEMORIES_PER_WRITE = 500

PLACES = ("Lyon", "Berlin", "Osaka", "成都", "Lisbon", "杭州", "Oslo", "京都")
THINGS = (
    *("green tea", "old jazz", "红烧肉", "running", "Go"),
    *("水彩画", "trains", "拉面", "swims", "猫"),
)


@asynccontextmanager
async def open_filled(size: int) -> AsyncIterator[tuple[Souffleur, Chore]]:
    """Fill a store with so many memories and close it; yield it opened anew, with the seconds."""
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
    for start in range(0, size, MEMORIES_PER_WRITE):
        batch = [
            first.model_copy(
                update={
                    "id": first.id if count == 0 else str(uuid.UUID(int=count)),
                    "content": liking(count),
                    "cues": cues(count),
                }
            )
            for count in range(start, min(size, start + MEMORIES_PER_WRITE))
        ]
        texts = [text for memory in batch for text in memory.embedded]
        vectors = dict(zip(texts, await memory.knowledge.embedder.embed(texts), strict=True))
        await memory.knowledge.memories.put([embedded_point(one, vectors) for one in batch])


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
