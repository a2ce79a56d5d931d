"""Many users at once: how much of what the model's delay allows is judged, and for how many tokens.

The model is scripted: it answers after a given delay that there is nothing to keep.
"""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, field
from importlib.resources import files
from itertools import cycle, islice
from pathlib import Path
from typing import Annotated, Any

from rich.console import Console
from rich.table import Table
from typer import Option

from bench.command import ToJson
from bench.speed.store import watched_loop
from souffleur import Reply, Request, Settings, Souffleur
from souffleur.agents.model.chat import Usage
from souffleur.evals.fixture import scratch
from souffleur.evals.script import TalkPart, find_scripts, read_script
from souffleur.recall.rendering import estimate_tokens
from souffleur.service.judging import USUAL_TURNS_PER_CALL

PARALLEL = (32, 64, 128, 500)
"""Values of `parallel_users` that are tried."""
QUEUE_TURNS, QUEUE_USERS = 1_000, 50
GROUPS = (1, USUAL_TURNS_PER_CALL, 10, 20)
"""Values of `turns_per_call` that are tried with the queue."""
_SKIP = json.dumps({"reason": "", "ops": [{"op": "SKIP", "reason": "small talk"}]})


@dataclass
class Model:
    """A model that answers after some seconds, and counts what it is asked."""

    delay: float = 0.0
    calls: int = 0
    tokens: int = 0
    """Tokens of all prompts, with the schema of the answer, as `estimate_tokens` counts."""
    lengths: dict[str, int] = field(default_factory=dict)
    """Tokens of each text that was counted before."""

    async def __call__(self, request: Request) -> Reply:
        """Answer that there is nothing to keep."""
        texts = [message.content for message in request.messages]
        texts += [json.dumps(request.schema)] if request.schema else []
        self.calls += 1
        self.tokens += sum(self._length(text) for text in texts)
        await asyncio.sleep(self.delay)
        return Reply(_SKIP, usage=Usage(calls=1), model="scripted")

    def _length(self, text: str) -> int:
        if text not in self.lengths:
            self.lengths[text] = estimate_tokens(text)
        return self.lengths[text]


@dataclass(frozen=True)
class Burst:
    """The judging of many users who spoke at once."""

    parallel: int
    """The setting `parallel_users`."""
    turns: int
    calls: int
    seconds: float
    """Seconds until all turns were judged."""
    allowed: float
    """Seconds that the delay of the model alone demands with so many calls at a time."""
    held: float
    """Longest time in milliseconds for which the event loop was held."""

    @property
    def share(self) -> float:
        """The part of what the delay allows that was reached."""
        return self.allowed / self.seconds


@dataclass(frozen=True)
class Queue:
    """The cost of judging a queue of waiting turns."""

    most: int
    """The setting `turns_per_call`."""
    turns: int
    calls: int
    tokens: int
    """Tokens of all prompts."""

    @property
    def tokens_per_turn(self) -> float:
        """Tokens of prompts for each turn."""
        return self.tokens / self.turns


async def burst(users: int, turns: int, delay: float, parallel: int) -> Burst:
    """Let each user say so many turns at once; wait until all are judged one by one."""
    model = Model(delay)
    async with _opened(model, parallel_users=parallel, turns_per_call=1) as memory:
        await _warm(memory, model)
        _talk(memory, users, turns)
        held = [0.0]
        async with watched_loop(lambda for_ms, _: held.append(for_ms)):
            began = time.perf_counter()
            await memory.flush()
            seconds = time.perf_counter() - began
    allowed = delay * -(-model.calls // parallel)
    return Burst(parallel, users * turns, model.calls, seconds, allowed, max(held))


async def queue(turns: int, users: int, most: int) -> Queue:
    """Judge a queue that waited for its model, with at most so many turns to a call."""
    model = Model()
    async with _opened(model, turns_per_call=most) as memory:
        _talk(memory, users, turns // users)
        await memory.flush()
    return Queue(most, turns, model.calls, model.tokens)


def load(
    users: Annotated[int, Option(min=1, help="Users who speak at once.")] = 500,
    turns: Annotated[int, Option(min=1, help="Turns that each of them says.")] = 2,
    delay: Annotated[float, Option(min=0.0, help="Seconds the model takes.")] = 1.0,
    parallel: Annotated[
        list[int] | None, Option(min=1, help="Value of `parallel_users`; repeatable.")
    ] = None,
    queued: Annotated[
        int, Option(min=1, help="Turns of the waiting queue, of 20 each user.")
    ] = QUEUE_TURNS,
    as_json: ToJson = False,
) -> None:
    """Measure judging under load: 500 users at once, and a queue of 1,000 waiting turns."""
    bursts = [asyncio.run(burst(users, turns, delay, number)) for number in parallel or PARALLEL]
    each = QUEUE_TURNS // QUEUE_USERS
    queues = [asyncio.run(queue(queued, max(1, queued // each), most)) for most in GROUPS]
    if as_json:
        both: dict[str, Any] = {
            "bursts": [{**asdict(one), "share": one.share} for one in bursts],
            "queues": [asdict(one) for one in queues],
        }
        print(json.dumps(both, indent=1))
    else:
        report(bursts, queues)


def report(bursts: Sequence[Burst], queues: Sequence[Queue]) -> None:
    """Print both tables."""
    console = Console()
    table = Table("parallel_users", "turns", "turns / s", "of what the delay allows", "loop held")
    for one in bursts:
        rate, held = f"{one.turns / one.seconds:.1f}", f"{one.held:.0f} ms"
        table.add_row(str(one.parallel), f"{one.turns:,}", rate, f"{one.share:.0%}", held)
    console.print(table)
    heads = ("turns_per_call", "waiting turns", "calls", "prompt tokens / turn", "of one by one")
    table = Table(*heads)
    for q in queues:
        share = f"{q.tokens_per_turn / queues[0].tokens_per_turn:.0%}"
        tokens = f"{q.tokens_per_turn:,.0f}"
        table.add_row(str(q.most), f"{q.turns:,}", f"{q.calls:,}", tokens, share)
    console.print(table)


async def _warm(memory: Souffleur, model: Model) -> None:
    """Judge one turn: the first one loads what all others use."""
    delay, model.delay = model.delay, 0.0
    memory.observe(user_id="first", user="hello", assistant="hi")
    await memory.flush()
    model.delay, model.calls, model.tokens = delay, 0, 0


def _talk(memory: Souffleur, users: int, turns: int) -> None:
    said = list(islice(cycle(_exchanges()), turns))
    for user, assistant in said:
        for number in range(users):
            memory.observe(user_id=f"u{number}", user=user, assistant=assistant)


def _exchanges() -> list[tuple[str, str]]:
    """Return what is said in the English dialogues of the suite."""
    folder = Path(str(files("souffleur.evals"))) / "dialogues"
    scripts = [read_script(file) for file in find_scripts(folder, "*_en")]
    talks = [part for one in scripts for part in one.sessions if isinstance(part, TalkPart)]
    return [(turn.user, turn.assistant) for talk in talks for turn in talk.turns]


@asynccontextmanager
async def _opened(model: Model, **fields: Any) -> AsyncIterator[Souffleur]:
    with scratch() as folder:
        # Sessions go on, so that judging is all there is to do.
        settings = Settings(path=folder, idle_minutes=0, window=100, **fields)
        async with Souffleur.open(settings, chat=model) as memory:
            yield memory
