"""Commands that work in the background: run, schedule, worker, retry."""

import asyncio
from collections import Counter
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape
from typer import Argument, Option

from souffleur.cli.command import Result, in_loop, printed
from souffleur.cli.console import console, progress
from souffleur.cli.memory import find_owner, inspect, open_memory, run_async, stop_on_signal
from souffleur.cli.options import AnyUser, DryRun
from souffleur.cli.tables import marked, show
from souffleur.errors import SettingsError, StoreBusyError
from souffleur.report.phrases import count

if TYPE_CHECKING:
    from souffleur.cli.memory import Memory
    from souffleur.service.run import RunItem, RunLimits, RunResult

_LOOK_SECONDS = 1.0
"""Seconds between two checks of the progress of judging."""

_COLOURS = {
    "PROMOTE": "green",
    "KEEP": "cyan",
    "MERGE": "blue",
    "PORTRAY": "green",
    "DELETE": "red",
    "FORGET": "red",
    "PURGE": "red",
    "ARCHIVE": "yellow",
    "FAILED": "red reverse",
}


class RunName(StrEnum):
    """The jobs that can be run."""

    REVIEW = "review"
    DECAY = "decay"
    CONSOLIDATE = "consolidate"
    PROFILE = "profile"
    AUDIT = "audit"
    CUES = "cues"
    BOUNDARIES = "boundaries"
    PURGE = "purge"
    REPORT = "report"


@printed
@in_loop
async def run(
    name: Annotated[RunName, Argument(help="decay, purge and report ask no model.")],
    user: AnyUser = None,
    dry_run: DryRun = False,
    limit: Annotated[int, Option(min=1, help="Maximum memories to look at.")] = 1000,
    calls: Annotated[int, Option(min=1, help="Maximum calls of the model.")] = 1000,
    deletions: Annotated[
        int | None,
        Option(min=0, help="Maximum deletions; default: a fifth of those a model decides."),
    ] = None,
) -> Result:
    """Do what is due, by one of the runs of the schedule."""
    from souffleur.service.run import RunLimits

    limits = RunLimits(memories=limit, calls=calls, deletions=deletions)
    result = await _run(name, user, dry_run, limits)
    failed = bool(result.count("FAILED"))
    return Result(_run_data(result), lambda: _print_run(result), code=int(failed))


async def _run(name: RunName, user: str | None, dry_run: bool, limits: "RunLimits") -> "RunResult":
    from souffleur.service.jobs import RUNS
    from souffleur.service.run import RunOptions
    from souffleur.settings import load_settings, need_model

    async with find_owner() as owner:
        if owner:
            return await owner.run(name, RunOptions(owner.clock(), user, limits, dry_run))
    settings = load_settings()
    if RUNS[name].asks:
        need_model(settings)
    async with open_memory(settings, schedule=False) as memory:
        stopping = stop_on_signal()
        with progress(name) as step:
            options = RunOptions(memory.clock(), user, limits, dry_run, stopping.is_set, step)
            return await memory.run(name, options)


@in_loop
async def schedule() -> None:
    """Run each job at its time until stopped; only one process does so for a store at a time."""
    from souffleur.service.jobs import jobs_of

    async with find_owner() as owner:
        if owner:
            if names := ", ".join(await inspect(owner).jobs()):
                typer.echo(f"scheduled by the process that has the store: {names}")
                return
            raise StoreBusyError(
                "the process that has the store runs no jobs: open it with schedule=True, or start "
                "`souffleur serve` without --no-schedule"
            )
    stopping = stop_on_signal()
    async with open_memory(schedule=True) as memory:
        names = ", ".join(job.name for job in jobs_of(memory.parts))
        typer.echo(f"scheduled: {names}; stop it with an interrupt")
        await stopping.wait()


@in_loop
async def worker() -> None:
    """Judge what hosts at the same Qdrant server record, until stopped; several may run.

    Users are shared out among all workers and hosts that judge. SIGTERM or an interrupt lets it
    finish what is being judged, for SOUFFLEUR_SHUTDOWN_TIMEOUT seconds.
    """
    from souffleur.collector import spare_what_lasts
    from souffleur.settings import load_settings

    settings = load_settings(judge=True)
    if not settings.qdrant_url:
        raise SettingsError(
            "a worker needs a Qdrant server, as one process owns the folder of an embedded store: "
            "set SOUFFLEUR_QDRANT_URL"
        )
    if not settings.has_model:
        raise SettingsError("a worker needs a model: set SOUFFLEUR_BASE_URL or SOUFFLEUR_MODEL")
    stopping = stop_on_signal()
    async with open_memory(settings):
        spare_what_lasts()
        typer.echo("judging; stop it with an interrupt")
        await stopping.wait()


def retry(user: AnyUser = None) -> None:
    """Judge the turns that failed again, and those that wait; needs the model's endpoint."""
    tried, left, error = run_async(_retry(user))
    why = f" ({error})" if error else ""
    typer.echo(f"{tried - left} of {count(tried, 'turn')} judged, {left} not{why}")
    raise typer.Exit(1 if left else 0)


async def _retry(user: str | None) -> tuple[int, int, str]:
    """Return the number of tried turns, the number of turns left, and the latest error."""
    from souffleur.settings import load_settings, need_model

    async with find_owner() as owner:
        if owner:
            if (await owner.health()).endpoint == "none":
                raise SettingsError(
                    "no model is configured for the process that serves the store: start it with "
                    "SOUFFLEUR_BASE_URL or SOUFFLEUR_API_KEY"
                )
            return await _judge_again(owner, user)
    async with open_memory(need_model(load_settings())) as memory:
        return await _judge_again(memory, user)


async def _judge_again(memory: "Memory", user: str | None) -> tuple[int, int, str]:
    from souffleur.knowledge.turn import TurnState

    inspection = inspect(memory)
    waiting = len(await inspection.turns(state=TurnState.PENDING, user_id=user))
    tried = waiting + await memory.retry(user_id=user)
    await _judge_all(memory)
    states = (TurnState.FAILED, TurnState.PENDING)
    left = sum([len(await inspection.turns(state=state, user_id=user)) for state in states])
    return tried, left, await inspection.error()


async def _judge_all(memory: "Memory") -> None:
    """Wait until all due turns are judged and summarised, and show the progress."""
    total = (await memory.health()).waiting
    working = asyncio.create_task(memory.flush())
    try:
        with progress("judging") as step:
            while not working.done():
                await asyncio.wait([working], timeout=_LOOK_SECONDS)
                step(total - (await memory.health()).waiting, total)
        await working
    finally:
        working.cancel()


def _print_run(result: "RunResult") -> None:
    """Print a row for each memory, then the sums and the cost."""
    columns = (
        ("user", lambda line: line.memory.user_id),
        ("op", lambda line: marked(f"[{_COLOURS.get(line.op, 'dim')}]{line.op}[/]")),
        ("memory", lambda line: line.memory.content),
        ("because", _reasons),
    )
    show(result.items, columns)
    done = Counter(line.op for line in result.items)
    sums = " · ".join(f"{number} {op}" for op, number in sorted(done.items())) or "nothing was due"
    if result.data:
        sums = " · ".join(f"{name}: {_short(value)}" for name, value in result.data.items())
    would = "would be: " if result.options.dry_run else ""
    console.print(f"{result.name}: {would}{sums}")
    if result.calls:
        cost = f", ${result.cost:.4f}" if result.cost else ""
        asked = f"{count(result.calls, 'call')}, {count(result.tokens, 'token')}{cost}"
        console.print(f"[dim]{asked}[/]")
    if result.stopped:
        console.print(f"[yellow]not all is done: {result.stopped}[/]")


def _reasons(line: "RunItem") -> object:
    return marked(*(f"[dim]{escape(step)}[/]" for step in line.trail), escape(line.reason))


def _short(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{number} {name}" for name, number in value.items()) or "none"
    return "; ".join(map(str, value)) or "none" if isinstance(value, list) else str(value)


def _run_data(result: "RunResult") -> dict[str, Any]:
    """Return all fields except the callables of the options."""
    names = ("name", "due", "calls", "tokens", "cost", "stopped", "data")
    return {
        **{name: getattr(result, name) for name in names},
        "began": result.options.now.isoformat(),
        "dry_run": result.options.dry_run,
        "lines": [
            {
                **{"id": line.memory.id, "user_id": line.memory.user_id},
                **{"content": line.memory.content, "op": line.op},
                **{"reason": line.reason, "trail": list(line.trail)},
            }
            for line in result.items
        ],
    }
