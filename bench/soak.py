"""Many users for an hour: how long the event loop is held, and whether anything grows.

The model is scripted: after a delay it keeps one sentence in four.
"""

import asyncio
import json
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated, Any

from rich.console import Console
from rich.table import Table
from typer import Option

from bench.command import ToJson
from bench.speed.store import instant, process_memory, watched_loop
from souffleur import Reply, Request, Settings, Souffleur
from souffleur.collector import spare_what_lasts
from souffleur.evals.fixture import scratch
from souffleur.knowledge.turn import TurnState

HELD_BAR = 30.0
"""Milliseconds for which the event loop may be held."""
TURNS_PER_SESSION = 10
WARM_UP = 0.25
"""Part of the periods that are not compared: caches fill, and the first memories come."""
GROWTH = {"objects": 0.10, "recall": 0.25, "files": 0.0}
"""By how much each may be higher at the end and still be called flat."""
HEAP_PER_TURN = 8.0
"""KB by which the heap may grow with each turn: the engine has the indexes of all stored fields
there, 6.3 KB for a turn and its entry in the ledger, and more for a memory."""
FILES_MORE = 4
"""Open files that come and go."""


@dataclass(frozen=True)
class Period:
    """The figures of one period, a minute as a rule."""

    seconds: float
    """Seconds from the beginning of the measurement to the end of the period."""
    turns: int
    """Turns that were said in it."""
    waiting: int
    """Turns that were not judged yet at its end."""
    held: float
    """Longest time in milliseconds for which the event loop was held."""
    busy: float
    """Likewise, as far as the process itself computed meanwhile: what other programs took of its
    processor is left out, and how long a disk was waited for."""
    recall: float
    """Median of `recall`, in milliseconds."""
    recall_slow: float
    """The 99th percentile of `recall`, in milliseconds."""
    observe_slow: float
    """The 99th percentile of `observe`, in milliseconds."""
    memory: float
    """The heap: memory of the process besides mapped files, in MB; 0 where no system tells."""
    mapped: float
    """Mapped files in memory, in MB: they give way when memory is short; 0 likewise."""
    objects: int
    """Blocks of memory that Python's objects have, in thousands."""
    files: int
    """Open files; 0 where the system does not tell."""
    cores: float
    """Cores that the process used."""


@dataclass
class Seen:
    """The observations during a period."""

    held: float = 0.0
    busy: float = 0.0
    recalls: list[float] = field(default_factory=list)
    observes: list[float] = field(default_factory=list)


async def watch_users(
    users: int,
    seconds: float,
    *,
    rate: float,
    delay: float = 1.0,
    period: float = 60.0,
    spare: bool = True,
    tell: Callable[[Sequence[Period]], None] = lambda _: None,
) -> list[Period]:
    """Let so many users say `rate` turns a second together; return what was seen in each period.

    `delay` is what the model takes, in seconds; `tell` is called after each period. With `spare`,
    Python's garbage collector leaves alone what is there at the start, as in `souffleur serve`.
    """

    async def model(request: Request) -> Reply:
        await asyncio.sleep(delay)
        return await instant(request)

    with scratch() as folder:
        settings = Settings(
            path=folder, user_title="Ann", idle_minutes=0, parallel_users=max(8, round(rate * 4))
        )
        async with Souffleur.open(settings, chat=model) as memory:
            if spare:
                spare_what_lasts()
            talk = _Talk(memory, pause=users / rate)
            tasks = [asyncio.create_task(talk.user(number, users)) for number in range(users)]
            try:
                async with watched_loop(talk.note):
                    return await talk.periods(seconds, period, tell)
            finally:
                for task in tasks:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)


class _Talk:
    """Users who talk, each once in a `pause` of so many seconds."""

    def __init__(self, memory: Souffleur, *, pause: float) -> None:
        self._memory = memory
        self._pause = pause
        self._seen = Seen()

    def note(self, held: float, busy: float) -> None:
        """Note for how many milliseconds the event loop was held, see `watched_loop`."""
        self._seen.held = max(self._seen.held, held)
        self._seen.busy = max(self._seen.busy, busy)

    async def user(self, number: int, users: int) -> None:
        """Say one turn after another, as one of so many users."""
        await asyncio.sleep(self._pause * number / users)
        count, due = 0, time.perf_counter()
        while True:
            count, due = count + 1, due + self._pause
            session = str(count // TURNS_PER_SESSION)
            text = (
                f"I like place {count}" if count % 4 == 0 else f"well, I was there on day {count}"
            )
            began = time.perf_counter()
            await self._memory.recall(user_id=f"u{number}", session_id=session, text=text)
            recalled = time.perf_counter()
            self._memory.observe(
                user_id=f"u{number}", session_id=session, user=text, assistant="I see"
            )
            self._seen.recalls.append(1000 * (recalled - began))
            self._seen.observes.append(1000 * (time.perf_counter() - recalled))
            await asyncio.sleep(max(0.0, due - time.perf_counter()))

    async def periods(
        self, seconds: float, period: float, tell: Callable[[Sequence[Period]], None]
    ) -> list[Period]:
        """Return what was seen in each period until these seconds are over."""
        began, found = time.perf_counter(), list[Period]()
        while (passed := time.perf_counter() - began) < seconds:
            self._seen, used = Seen(), time.process_time()
            await asyncio.sleep(min(period, seconds - passed))
            took = time.perf_counter() - began - passed
            found.append(await self._period(passed + took, (time.process_time() - used) / took))
            tell(found)
        return found

    async def _period(self, seconds: float, cores: float) -> Period:
        seen = self._seen
        return Period(
            seconds=round(seconds, 1),
            turns=len(seen.observes),
            waiting=await self._memory.knowledge.journal.count_turns(TurnState.PENDING),
            held=round(seen.held, 1),
            busy=round(seen.busy, 1),
            recall=round(statistics.median(seen.recalls or [0.0]), 2),
            recall_slow=round(_slowest(seen.recalls), 2),
            observe_slow=round(_slowest(seen.observes), 2),
            memory=round(process_memory("RssAnon"), 1),
            mapped=round(process_memory("RssFile", "RssShmem"), 1),
            objects=sys.getallocatedblocks() // 1000,
            files=_open_files(),
            cores=round(cores, 2),
        )


def is_flat(values: Sequence[float], growth: float, more: float = 0.0) -> bool:
    """Return whether the last third of what follows the warm-up is no higher than the first.

    Medians are compared; `growth` is the part, `more` the number by which it may be higher.

    >>> is_flat([50, 90, 90, 90, 91, 90, 92, 91], 0.1), is_flat([1, 2, 3, 4, 5, 6, 7, 8], 0.1)
    (True, False)
    """
    after = values[int(WARM_UP * len(values)) :]
    third = max(1, len(after) // 3)
    first, last = statistics.median(after[:third]), statistics.median(after[-third:])
    return last <= first * (1 + growth) + more


def heap_per_turn(periods: Sequence[Period]) -> float:
    """Return by how many KB the heap grew with each turn, after the warm-up."""
    after = periods[int(WARM_UP * len(periods)) :]
    turns = sum(one.turns for one in after[1:])
    return 1024 * (after[-1].memory - after[0].memory) / turns if turns else 0.0


def verdicts(periods: Sequence[Period]) -> dict[str, bool]:
    """Say which bars are met."""
    held, heap = max(one.held for one in periods), heap_per_turn(periods)
    return {
        f"the event loop is held for at most {HELD_BAR:g} ms": held <= HELD_BAR,
        "Python's objects are flat": is_flat([p.objects for p in periods], GROWTH["objects"]),
        f"the heap grows by at most {HEAP_PER_TURN:g} KB a turn": heap <= HEAP_PER_TURN,
        "recall is flat": is_flat([p.recall for p in periods], GROWTH["recall"]),
        "open files are flat": is_flat([p.files for p in periods], GROWTH["files"], FILES_MORE),
        "all turns are judged in time": is_flat([p.waiting for p in periods], 0.5, 50),
    }


def soak(
    users: Annotated[int, Option(min=1, help="Users who talk.")] = 200,
    minutes: Annotated[float, Option(min=0.001, help="How long they talk.")] = 60.0,
    rate: Annotated[float, Option(min=0.01, help="Turns a second, of all together.")] = 5.0,
    delay: Annotated[float, Option(min=0.0, help="Seconds the model takes.")] = 1.0,
    period: Annotated[float, Option(min=0.01, help="Seconds of each line.")] = 60.0,
    spare: Annotated[
        bool, Option(help="Whether to spare the collector the start, as `serve` does.")
    ] = True,
    out: Annotated[Path | None, Option(help="Write JSON here after each period.")] = None,
    as_json: ToJson = False,
) -> None:
    """Let 200 users talk for an hour: how long the event loop is held, what grows."""

    def tell(periods: Sequence[Period]) -> None:
        if out:
            out.write_text(json.dumps(_as_data(periods), indent=1), encoding="utf-8")

    pace: dict[str, Any] = {"rate": rate, "delay": delay, "period": period, "spare": spare}
    seen = asyncio.run(watch_users(users, 60 * minutes, **pace, tell=tell))
    if as_json:
        print(json.dumps(_as_data(seen), indent=1))
    else:
        report(seen)


def report(periods: Sequence[Period]) -> None:
    """Print a line for each period, and which bars are met."""
    names = list(Period.__dataclass_fields__)
    table = Table(*names)
    for one in periods:
        table.add_row(*(f"{getattr(one, name):,}" for name in names))
    Console().print(table)
    print(f"the heap grew by {heap_per_turn(periods):.1f} KB with each turn")
    for what, met in verdicts(periods).items():
        print(f"{what}: {'yes' if met else 'no'}")


def _as_data(periods: Sequence[Period]) -> dict[str, Any]:
    return {"verdicts": verdicts(periods), "periods": [asdict(one) for one in periods]}


def _slowest(taken: Sequence[float]) -> float:
    return sorted(taken)[int(0.99 * len(taken))] if taken else 0.0


def _open_files() -> int:
    with suppress(OSError):
        return sum(1 for _ in Path("/proc/self/fd").iterdir())
    return 0
