"""How long the host waits for recall, observe and a judged turn, as the store grows.

The model answers at once here, so a judged turn shows the cost of the memory itself: from `observe`
until its verdict is applied (judging), or until its words can be found and all is on the disk.
"""

import asyncio
import json
import tempfile
import time
import uuid
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from bench.chores import Chore, do_chores, report_chores
from bench.command import ToJson
from bench.speed.bars import judge, machine_load, report_bars
from bench.speed.contest import Entry, contest, ratios, report_contest
from bench.speed.page import to_html
from bench.speed.rivals import RIVALS, find_rivals
from bench.speed.timing import Operation, Timing, timing_of
from souffleur import Importance, Kind, Reply, Request, Settings, Souffleur
from souffleur.knowledge.store.codecs import embedded_point

STORE_SIZES = (1_000, 10_000, 100_000)
"""Number of memories of the measured user."""
MOST_IN_CHORES = 10_000
"""Memories up to which a store is saved, restored and erased."""
ROUNDS = 100
USERS_AT_ONCE = 8
MEMORIES_PER_WRITE = 500
PAUSE = 0.1
"""Seconds between what several users say at once."""
TICK = 0.001
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


async def measure(
    sizes: tuple[int, ...] = STORE_SIZES, rounds: int = ROUNDS
) -> tuple[list[Timing], list[Chore]]:
    """Time every operation and chore at every size, on a fresh store for each size."""
    timings, chores = [], []
    for size in sizes:
        async with _opened(size) as (memory, opening):
            for name, operation in _operations(memory).items():
                timings.append(await _time(name, size, rounds, operation))
            timings += await _time_together(memory, size, rounds)
            chores.append(opening)
            if size <= MOST_IN_CHORES:
                with tempfile.TemporaryDirectory(prefix="souffleur-") as folder:
                    chores += await do_chores(memory, "ann", size, Path(folder))
    return timings, chores


async def compare(
    sizes: Sequence[int], rounds: int = ROUNDS, names: Sequence[str] = tuple(RIVALS)
) -> tuple[list[Entry], list[str]]:
    """Time the search of other systems beside ours; also return a line about each."""
    entries: list[Entry] = []
    notes: list[str] = []
    for size in sizes:
        rivals = find_rivals(names, size)
        notes += rivals.notes
        if rivals.specs:
            async with _opened(size) as (memory, _):
                texts = [_liking(count) for count in range(size)]
                entries += await contest(memory, rivals, texts, ASKED, rounds, NOW)
    return entries, list(dict.fromkeys(notes))


def report(timings: list[Timing]) -> None:
    """Print one line for each operation and size."""
    table = Table("operation", "memories of the user", "median ms", "p95 ms", "p99 ms")
    for one in timings:
        times = (f"{time:.2f}" for time in (one.median, one.slow, one.slowest))
        table.add_row(one.name, f"{one.size:,}", *times)
    Console().print(table)


def _operations(memory: Souffleur) -> dict[str, Operation]:
    def message(count: int) -> str:
        return f"{ASKED[count % len(ASKED)]} {count}"  # another text each time: nothing is cached

    async def recall(count: int) -> None:
        await memory.recall(user_id="ann", session_id="s", text=message(count), at=NOW)

    async def embed(count: int) -> None:
        await memory.knowledge.embedder.embed_queries([message(count)])

    async def past(count: int) -> None:
        text = f"what did we say about place {count} yesterday?"
        await memory.recall(user_id="ann", session_id="s", text=text, at=NOW + timedelta(days=1))

    async def observe(count: int) -> None:
        memory.observe(user_id="bob", session_id=str(count), user=f"hi {count}", at=NOW)

    async def say(text: str) -> None:
        memory.observe(user_id="ann", session_id="s", user=text, assistant="ok", at=NOW)
        await memory.flush()

    async def flush(count: int) -> None:
        await memory.flush()

    return {
        "recall, less the embedding": Operation(recall, before=embed),
        "recall": Operation(lambda count: recall(count + ROUNDS)),
        "observe": Operation(observe),
        "a turn that changes nothing, less the model": Operation(lambda count: say(f"hm {count}")),
        "a turn that adds a memory, less the model": Operation(
            lambda count: say(f"I like place {count}")
        ),
        "judging a turn that changes nothing, less the model": Operation(
            lambda count: _judge(memory, f"so {count}"), before=flush
        ),
        "judging a turn that adds a memory, less the model": Operation(
            lambda count: _judge(memory, f"I like place {ROUNDS + count}"), before=flush
        ),
        "recall, asked about yesterday": Operation(past),
    }


async def _judge(memory: Souffleur, text: str) -> None:
    """Say something, and wait until its verdict is in the ledger and applied."""
    judged = asyncio.Event()

    def note(user_id: str) -> None:
        if user_id == "ann":
            judged.set()

    end = memory.knowledge.journal.watch(note)
    memory.observe(user_id="ann", session_id="s", user=text, assistant="ok", at=NOW)
    await judged.wait()
    end()


async def _time(name: str, size: int, rounds: int, operation: Operation) -> Timing:
    work, before = operation.work, operation.before
    await work(-1)
    taken = []
    for count in range(rounds):
        if before:
            await before(count)
        start = time.perf_counter()
        await work(count)
        taken.append(1000 * (time.perf_counter() - start))
    return timing_of(name, size, taken)


async def _time_together(memory: Souffleur, size: int, rounds: int) -> list[Timing]:
    """Time `observe`, and how late the event loop is, while several users are judged."""
    taken, late = [], []

    async def watch() -> None:
        while True:
            start = time.perf_counter()
            await asyncio.sleep(TICK)
            late.append(1000 * (time.perf_counter() - start - TICK))

    watching = asyncio.create_task(watch())
    for count in range(rounds):
        for user in range(USERS_AT_ONCE):
            start = time.perf_counter()
            memory.observe(user_id=f"user {user}", user=f"I like place {count}", at=NOW)
            taken.append(1000 * (time.perf_counter() - start))
        await asyncio.sleep(PAUSE)
    await memory.flush()
    watching.cancel()
    with suppress(asyncio.CancelledError):
        await watching
    while_judged = f"while {USERS_AT_ONCE} users are judged"
    return [
        timing_of(f"observe, {while_judged}", size, taken),
        timing_of(f"how late the event loop is, {while_judged}", size, late),
    ]


@asynccontextmanager
async def _opened(size: int) -> AsyncIterator[tuple[Souffleur, Chore]]:
    """Open a store that exists, of that many memories; say how long that took."""
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
    return sum(512 * file.stat().st_blocks for file in folder.rglob("*")) / 1e6


async def _fill(memory: Souffleur, size: int) -> None:
    """Write memories as `remember` does, many at once and without a ledger."""
    await memory.remember(
        _liking(0), user_id="ann", kind=Kind.PREFERENCE, importance=Importance.MEDIUM, at=NOW
    )
    (first,) = await memory.knowledge.list("ann")
    numbers = range(1, size)
    for start in range(0, len(numbers), MEMORIES_PER_WRITE):
        batch = [
            first.model_copy(update={"id": str(uuid.UUID(int=one)), "content": _liking(one)})
            for one in numbers[start : start + MEMORIES_PER_WRITE]
        ]
        texts = [memory.content for memory in batch]
        vectors = dict(zip(texts, await memory.knowledge.embedder.embed(texts), strict=True))
        await memory.knowledge.memories.put([embedded_point(one, vectors) for one in batch])


def _liking(count: int) -> str:
    return f"Ann likes {THINGS[count % 10]} in {PLACES[count % 8]}, {count} times."


async def instant(request: Request) -> Reply:
    """Answer at once: keep each sentence that begins with `I like`, and nothing else."""
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


def speed(
    size: Annotated[
        list[int] | None, typer.Option(min=1, help="Memories of the user; repeatable.")
    ] = None,
    rounds: Annotated[int, typer.Option(min=2, help="How often each is timed.")] = ROUNDS,
    own: Annotated[bool, typer.Option("--own/--no-own", help="Time what a host waits for.")] = True,
    versus: Annotated[
        bool, typer.Option("--versus/--no-versus", help="Time mem0 and LangMem, if installed.")
    ] = True,
    html: Annotated[Path | None, typer.Option(help="Write a page with plots here.")] = None,
    as_json: ToJson = False,
) -> None:
    """Measure how long the host waits, as the store grows; beside the search of other systems."""
    sizes, loads = tuple(size or STORE_SIZES), [machine_load()]
    timings, chores = asyncio.run(measure(sizes, rounds)) if own else ([], [])
    entries, notes = asyncio.run(compare(sizes, rounds)) if versus else ([], [])
    loads.append(machine_load())
    judged = list(judge([*timings, *chores]))
    if html:
        page = to_html(timings, chores, judged, entries, notes, loads)
        html.write_text(page, encoding="utf-8")
    if as_json:
        lists: dict[str, Sequence[Any]] = {
            "timings": timings,
            "chores": chores,
            "bars": judged,
            "versus": entries,
        }
        told = {key: [asdict(one) | _verdict(one) for one in found] for key, found in lists.items()}
        told |= {"ratios": [asdict(one) | _verdict(one) for one in ratios(entries)]}
        print(json.dumps({**told, "notes": notes, "load": loads}, indent=1))
        return
    if own:
        report(timings)
        report_chores(chores)
        report_bars(judged)
    if entries:
        report_contest(entries)
    print(*notes, f"Before: {loads[0]}. After: {loads[1]}.", sep="\n")


def _verdict(figure: object) -> dict[str, str]:
    return {"verdict": figure.verdict} if hasattr(figure, "verdict") else {}
