"""HaluMem end to end: the memories that a session leaves, compared with those it should leave.

python -m bench halumem halumem.jsonl --sessions 5 --record answers.jsonl

The sessions of a user are replayed through the real runtime into a fresh store. After each, an eval
judge marks what the monitor wrote during it, and the ten best search results for each point that
replaces an older one, see `halumem_marks`, which has the metrics and their source. The
set is not shipped: https://github.com/MemTensor/HaluMem.
"""

import asyncio
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Column, Table
from typer import Argument, Option

from bench.command import Embedder, MaxCalls, Record, Recorded, ToJson, open_source, source_settings
from bench.sets.halumem_file import EXPECTED_FILE, Part, User, choose
from bench.sets.halumem_marks import Marker, Rate, SessionMarks, SessionResult, measure
from souffleur.agents.model.chat import Chat
from souffleur.agents.structured_chat import StructuredChat
from souffleur.api import Souffleur
from souffleur.cli.console import plain
from souffleur.demo.dialogue import Played, clock_for, replay
from souffleur.evals.fixture import Listener, scratch, to_op_records
from souffleur.knowledge.operation import ActorKind
from souffleur.knowledge.search.query import Query
from souffleur.knowledge.turn import TurnState
from souffleur.settings import Settings

UPDATE_SEARCH_LIMIT = 10
"""Number of search results for an update, as in the paper's code."""
MONITOR_WRITES = {"ADD", "UPDATE"}


@dataclass(frozen=True)
class Result:
    """The results of a whole run."""

    model: str
    user: str
    sessions: int
    turns: int
    requests: dict[str, int]
    """Number of requests by name."""
    marked: SessionMarks
    troubles: tuple[str, ...] = ()
    """Turns that could not be judged."""
    metrics: dict[str, Rate] = field(default_factory=dict)


async def run(user: User, settings: Settings, chat: Chat) -> Result:
    """Replay and mark. Raises what the model's chat raises while marking, and RecordingError."""
    listener = Listener(chat)
    session_results, troubles = await play(user, settings, listener)
    marked = await Marker(StructuredChat(listener, form=settings.answer_form)).mark(session_results)
    return Result(
        model=settings.model,
        user=user.id,
        sessions=len(user.parts),
        turns=len(user.dialogue),
        requests=dict(sorted(Counter(call.name for call in listener.take()).items())),
        marked=marked,
        troubles=tuple(troubles),
        metrics=measure(marked.covered, marked.extracted, marked.updated),
    )


async def play(user: User, settings: Settings, chat: Chat) -> tuple[list[SessionResult], list[str]]:
    """Return what each session left, and the turns that could not be judged."""
    clock = clock_for(user.dialogue)
    session_results: list[SessionResult] = []
    troubles: list[str] = []
    async with Souffleur.open(settings, chat=chat, clock=clock) as memory:
        for part in user.parts:
            turns = [one async for one in replay(user.dialogue_of(part), memory, clock)]
            troubles += [
                f"{part.id} at {one.turn.at}: {one.turn.error}"
                for one in turns
                if one.turn.state is not TurnState.JUDGED
            ]
            if part.scored:
                session_results.append(await _session_result(memory, user, part, turns))
    return session_results, troubles


def report(result: Result, console: Console) -> None:
    """Print the metrics, all that is not right, and the number of requests."""
    table = Table("metric", "value", "of", "unmarked", box=box.SIMPLE_HEAD)
    for name, rate in result.metrics.items():
        value = "-" if rate.value is None else f"{rate.value:.1%}"
        table.add_row(name, value, str(rate.of), str(rate.unmarked or ""))
    console.print(table)
    wrongs = Table("session", "mark", Column("of", overflow="fold"), Column("why", overflow="fold"))
    wrongs.box = box.SIMPLE_HEAD
    for row in _wrong(result.marked):
        wrongs.add_row(*map(escape, row))
    console.print(wrongs)
    for trouble in result.troubles:
        console.print(f"[red]not judged[/]  {escape(trouble)}")
    asked = ", ".join(f"{count} {name}" for name, count in result.requests.items())
    console.print(f"{result.sessions} sessions, {result.turns} turns by {result.model}: {asked}")


def as_json(result: Result) -> str:
    """Return the whole result as JSON; the same run always gives the same text."""
    return json.dumps(plain(result), ensure_ascii=False, indent=1)


async def _session_result(
    memory: Souffleur, user: User, part: Part, turns: Sequence[Played]
) -> SessionResult:
    written = [
        done.content
        for one in turns
        for done in to_op_records(one.outcomes)
        if done.op in MONITOR_WRITES and done.who == ActorKind.MONITOR and not done.refused
    ]
    found = {}
    for index, point in enumerate(part.points):
        if point.updates:
            query = Query(user.id, point.content, turns[-1].exchange.at, limit=UPDATE_SEARCH_LIMIT)
            found[index] = tuple(hit.text for hit in await memory.knowledge.search(query))
    return SessionResult(part.id, user.name, part.talk, part.points, tuple(written), found)


def _wrong(marked: SessionMarks) -> list[tuple[str, str, str, str]]:
    """List all marks that lower a metric."""
    names = {None: "not marked", 0: "nothing", 1: "part", 2: "all"}
    rows = [
        (one.session, f"{names[one.score]} of a {kind}", one.point.content, one.reason)
        for one in marked.covered
        for kind in ["point" if one.point.wanted else "false point"]
        if one.score != (2 if one.point.wanted else 0)
    ]
    rows += [
        (one.session, f"{names[one.score]} of it is so", one.content, one.reason)
        for one in marked.extracted
        if one.score != 2
    ]
    return rows + [
        (one.session, f"update: {one.result or names[None]}", one.point.content, one.reason)
        for one in marked.updated
        if one.result != "correct"
    ]


def halumem(
    file: Annotated[Path, Argument(help=f"{EXPECTED_FILE}.")],
    user: Annotated[int, Option(help="Index of the user's line, from 0.")] = 0,
    sessions: Annotated[int | None, Option(help="Number of sessions; default: all.")] = None,
    embedder: Embedder = "hash:512",
    record: Record = None,
    recorded: Recorded = None,
    max_calls: MaxCalls = None,
    to_json: ToJson = False,
) -> None:
    """Replay HaluMem's sessions of a user, and mark what each leaves in the memory."""
    console = Console(highlight=False, width=140)
    settings = source_settings(record, recorded, embedder=embedder)
    chosen = choose(file, user, sessions)
    result = asyncio.run(_run(chosen, settings, record, recorded, max_calls))
    if to_json:
        print(as_json(result))
    else:
        report(result, console)


async def _run(
    user: User, settings: Settings, record: Path | None, recorded: Path | None, most: int | None
) -> Result:
    troubles: list[str] = []
    source = open_source(settings, record, recorded, most=most, is_whole=lambda: not troubles)
    with scratch() as folder:
        async with source as chat:
            result = await run(user, settings.model_copy(update={"path": folder}), chat)
            troubles += result.troubles
    return result
