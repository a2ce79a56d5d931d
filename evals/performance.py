"""How long the host waits for recall, observe and a judged turn, as the store grows.

The model answers at once here, so a judged turn shows the cost of the memory itself.
"""

import asyncio
import json
import statistics
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from souffleur import Importance, Kind, Reply, Request, Settings, Souffleur
from souffleur.evals.chores import Chore, do_chores, report_chores
from souffleur.evals.command import make_app

STORE_SIZES = (100, 1_000, 10_000)
"""Number of memories of the measured user."""
ROUNDS = 100
NOW = datetime(2026, 1, 3, tzinfo=UTC)

PLACES = ("Lyon", "Berlin", "Osaka", "成都", "Lisbon", "杭州", "Oslo", "京都")
THINGS = (
    "green tea",
    "old jazz",
    "红烧肉",
    "running",
    "Go",
    "水彩画",
    "trains",
    "拉面",
    "swims",
    "猫",
)
ASKED = ("what shall I drink?", "晚上吃什么好？", "any plans for Lyon?", "我想去京都", "so tired")


@dataclass(frozen=True)
class Timing:
    """The time of one operation, in milliseconds."""

    name: str
    size: int
    median: float
    slow: float
    """The 95th percentile."""


async def measure(
    sizes: tuple[int, ...] = STORE_SIZES, rounds: int = ROUNDS
) -> tuple[list[Timing], list[Chore]]:
    """Time every operation and chore at every size, on a fresh store for each size."""
    timings, chores = [], []
    for size in sizes:
        async with _opened(size) as memory:
            for name, work in _operations(memory).items():
                timings.append(await _time(name, size, rounds, work))
            with tempfile.TemporaryDirectory(prefix="souffleur-") as folder:
                chores += await do_chores(memory, "ann", size, Path(folder))
    return timings, chores


def report(timings: list[Timing]) -> None:
    """Print one line for each operation and size."""
    table = Table("operation", "memories of the user", "median ms", "p95 ms")
    for one in timings:
        table.add_row(one.name, f"{one.size:,}", f"{one.median:.2f}", f"{one.slow:.2f}")
    Console().print(table)


def _operations(memory: Souffleur) -> dict[str, Callable[[int], Awaitable[None]]]:
    async def recall(count: int) -> None:
        text = f"{ASKED[count % len(ASKED)]} {count}"  # another text each time: nothing is cached
        await memory.recall(user_id="ann", session_id="s", text=text, at=NOW)

    async def past(count: int) -> None:
        text = f"what did we say about place {count} yesterday?"
        await memory.recall(user_id="ann", session_id="s", text=text, at=NOW + timedelta(days=1))

    async def observe(count: int) -> None:
        memory.observe(user_id="bob", session_id=str(count), user=f"hi {count}", at=NOW)

    async def judged(count: int) -> None:
        said = f"I like place {count}"
        memory.observe(user_id="ann", session_id="s", user=said, assistant="ok", at=NOW)
        await memory.flush()

    return {
        "recall": recall,
        "observe": observe,
        "a judged turn, less the model": judged,
        "recall, asked about yesterday": past,
    }


async def _time(
    name: str, size: int, rounds: int, work: Callable[[int], Awaitable[None]]
) -> Timing:
    await work(-1)
    taken = []
    for count in range(rounds):
        start = time.perf_counter()
        await work(count)
        taken.append(1000 * (time.perf_counter() - start))
    slow = statistics.quantiles(taken, n=20)[-1]
    return Timing(name, size, statistics.median(taken), slow)


@asynccontextmanager
async def _opened(size: int) -> AsyncIterator[Souffleur]:
    with tempfile.TemporaryDirectory(prefix="souffleur-") as folder:
        settings = Settings(path=Path(folder), user_title="Ann", assistant_name="Mo")
        async with Souffleur.open(settings, chat=_instant, clock=lambda: NOW) as memory:
            for count in range(size):
                await memory.remember(
                    f"Ann likes {THINGS[count % 10]} in {PLACES[count % 8]}, {count} times.",
                    user_id="ann",
                    kind=Kind.PREFERENCE,
                    importance=Importance.MEDIUM,
                    at=NOW,
                )
            yield memory


async def _instant(request: Request) -> Reply:
    said = request.messages[-1].content.rpartition("Ann: ")[2].partition("\n")[0]
    add: dict[str, Any] = {"op": "ADD", "reason": "new", "quote": said, "content": f"Ann: {said}"}
    rest: dict[str, Any] = {
        "kind": "fact",
        "importance": "low",
        "entities": [],
        "since": None,
        "until": None,
    }
    ops = [{**add, **rest}] if said.startswith("I like") else []
    return Reply(text=json.dumps({"reason": "", "ops": ops}), model="instant")


def speed() -> None:
    """Measure how long the host waits, as the store grows."""
    timings, chores = asyncio.run(measure())
    report(timings)
    report_chores(chores)


app = make_app(speed)
