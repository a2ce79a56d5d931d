"""How long the host waits for recall, observe and a judged turn, as the store grows.

The model answers at once here, so a judged turn shows the cost of the memory itself: from `observe`
until its verdict is applied (judging), or until its words can be found and all is on the disk.
"""

import asyncio
import json
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any

from rich.console import Console
from rich.table import Table
from typer import Option

from bench.command import ToJson
from bench.speed.rivals import RIVALS, Entry, contest, find_rivals, ratios, report_contest
from bench.speed.store import (
    NOW,
    USER,
    Chore,
    Operation,
    Timing,
    liking,
    machine_load,
    open_filled,
    timing_of,
    watched_loop,
)
from souffleur import Souffleur
from souffleur.knowledge.store.backup import restore
from souffleur.knowledge.store.opening import StoreLocation

STORE_SIZES = (1_000, 10_000, 100_000)
"""Number of memories of the measured user."""
MOST_IN_CHORES = 10_000
"""Memories up to which a store is saved, restored and erased."""
ROUNDS = 100
USERS_AT_ONCE = 8
PAUSE = 0.1
"""Seconds between what several users say at once."""
ASKED = ("what shall I drink?", "晚上吃什么好？", "any plans for Lyon?", "我想去京都", "so tired")


async def measure(
    sizes: tuple[int, ...] = STORE_SIZES, rounds: int = ROUNDS
) -> tuple[list[Timing], list[Chore]]:
    """Time every operation and chore at every size, on a fresh store for each size."""
    timings, chores = [], []
    for size in sizes:
        async with open_filled(size) as (memory, opening):
            for name, operation in operations(memory).items():
                timings.append(await _time(name, size, rounds, operation))
            timings += await _time_together(memory, size, rounds)
            chores.append(opening)
            if size <= MOST_IN_CHORES:
                with tempfile.TemporaryDirectory(prefix="souffleur-") as folder:
                    chores += await do_chores(memory, size, Path(folder))
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
            async with open_filled(size) as (memory, _):
                texts = [liking(count) for count in range(size)]
                entries += await contest(memory, rivals, texts, ASKED, rounds, NOW)
    return entries, list(dict.fromkeys(notes))


def operations(memory: Souffleur) -> dict[str, Operation]:
    """Return what a host waits for, by name."""

    def message(count: int) -> str:
        return f"{ASKED[count % len(ASKED)]} {count}"  # another text each time: nothing is cached

    async def recall(count: int) -> None:
        await memory.recall(user_id=USER, session_id="s", text=message(count), at=NOW)

    async def embed(count: int) -> None:
        await memory.knowledge.embedder.embed_queries([message(count)])

    async def past(count: int) -> None:
        text = f"what did we say about place {count} yesterday?"
        await memory.recall(user_id=USER, session_id="s", text=text, at=NOW + timedelta(days=1))

    async def observe(count: int) -> None:
        memory.observe(user_id="bob", session_id=str(count), user=f"hi {count}", at=NOW)

    async def say(text: str) -> None:
        memory.observe(user_id=USER, session_id="s", user=text, assistant="ok", at=NOW)
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
        if user_id == USER:
            judged.set()

    end = memory.knowledge.journal.watch(note)
    memory.observe(user_id=USER, session_id="s", user=text, assistant="ok", at=NOW)
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
    async with watched_loop(lambda held, _: late.append(held)):
        for count in range(rounds):
            for user in range(USERS_AT_ONCE):
                start = time.perf_counter()
                memory.observe(user_id=f"user {user}", user=f"I like place {count}", at=NOW)
                taken.append(1000 * (time.perf_counter() - start))
            await asyncio.sleep(PAUSE)
        await memory.flush()
    while_judged = f"while {USERS_AT_ONCE} users are judged"
    return [
        timing_of(f"observe, {while_judged}", size, taken),
        timing_of(f"how late the event loop is, {while_judged}", size, late),
    ]


async def do_chores(memory: Souffleur, size: int, folder: Path) -> list[Chore]:
    """Save an open store, restore it beside, and erase its user.

    `folder` is for the file and the restored store; both stay there. That the restored store is the
    same is not compared here: tests of the backup do that.
    """
    file, target = folder / "backup.zip", StoreLocation(folder=folder / "restored")
    begun = time.perf_counter()
    await memory.backup(file)
    saved = time.perf_counter()
    await restore(file, target)
    restored = time.perf_counter()
    await memory.erase_user(user_id=USER)
    erased = time.perf_counter()
    return [
        Chore("backup", size, saved - begun, file.stat().st_size / 1e6),
        Chore("restore: every record and vector as saved", size, restored - saved),
        Chore("erase the user", size, erased - restored),
    ]


def report(timings: Sequence[Timing], chores: Sequence[Chore]) -> None:
    """Print one line for each operation, and one for each chore."""
    table = Table("operation", "memories of the user", "median ms", "p95 ms", "p99 ms")
    for one in timings:
        times = (f"{time:.2f}" for time in (one.median, one.slow, one.slowest))
        table.add_row(one.name, f"{one.size:,}", *times)
    Console().print(table)
    table = Table("chore", "memories of the user", "seconds", "MB")
    for chore in chores:
        megabytes = "" if chore.megabytes is None else f"{chore.megabytes:.1f}"
        table.add_row(chore.name, f"{chore.size:,}", f"{chore.seconds:.2f}", megabytes)
    Console().print(table)


def speed(
    size: Annotated[
        list[int] | None, Option(min=1, help="Memories of the user; repeatable.")
    ] = None,
    rounds: Annotated[int, Option(min=2, help="How often each is timed.")] = ROUNDS,
    own: Annotated[bool, Option("--own/--no-own", help="Time what a host waits for.")] = True,
    versus: Annotated[
        bool, Option("--versus/--no-versus", help="Time mem0 and LangMem, if installed.")
    ] = True,
    as_json: ToJson = False,
) -> None:
    """Measure how long the host waits, as the store grows; beside the search of other systems."""
    sizes, loads = tuple(size or STORE_SIZES), [machine_load()]
    timings, chores = asyncio.run(measure(sizes, rounds)) if own else ([], [])
    entries, notes = asyncio.run(compare(sizes, rounds)) if versus else ([], [])
    loads.append(machine_load())
    if as_json:
        lists: dict[str, Sequence[Any]] = {
            "timings": timings,
            "chores": chores,
            "versus": entries,
            "ratios": ratios(entries),
        }
        found = {key: [asdict(one) for one in figures] for key, figures in lists.items()}
        print(json.dumps({**found, "notes": notes, "load": loads}, indent=1))
        return
    if own:
        report(timings, chores)
    if entries:
        report_contest(entries)
    print(*notes, f"Before: {loads[0]}. After: {loads[1]}.", sep="\n")
