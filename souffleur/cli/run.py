"""`souffleur run`: the jobs of the schedule, by hand or by cron."""

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from souffleur.cli.options import AnyUser, AsJson

if TYPE_CHECKING:
    from souffleur.service.run import RunLimits, RunResult


class RunName(StrEnum):
    """The jobs that can be run."""

    REVIEW = "review"
    DECAY = "decay"
    CONSOLIDATE = "consolidate"
    PROFILE = "profile"
    CONTRADICTIONS = "contradictions"
    CUES = "cues"
    BOUNDARIES = "boundaries"
    PURGE = "purge"
    REPORT = "report"


def register(app: typer.Typer) -> None:
    """Add the command to the app."""
    app.command()(run)


def run(
    name: Annotated[RunName, typer.Argument(help="decay, purge and report ask no model.")],
    user: AnyUser = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be done, and change nothing.")
    ] = False,
    limit: Annotated[int, typer.Option(min=1, help="Maximum memories to look at.")] = 1000,
    calls: Annotated[int, typer.Option(min=1, help="Maximum calls of the model.")] = 1000,
    deletions: Annotated[
        int | None,
        typer.Option(min=0, help="Maximum deletions; default: a fifth of those a model decides."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Do what is due, by one of the runs of the schedule."""
    from souffleur.cli import format_runs
    from souffleur.cli.event_loop import run_async
    from souffleur.service.run import RunLimits

    limits = RunLimits(memories=limit, calls=calls, deletions=deletions)
    report = run_async(_run(name, user, dry_run, limits))
    format_runs.print_run(report, as_json=as_json)
    if report.count("FAILED"):
        raise typer.Exit(1)


async def _run(name: RunName, user: str | None, dry_run: bool, limits: "RunLimits") -> "RunResult":
    from souffleur.api import Souffleur
    from souffleur.cli.console import progress
    from souffleur.cli.event_loop import find_owner, stop_on_signal
    from souffleur.service.jobs import RUNS
    from souffleur.service.run import RunOptions
    from souffleur.settings import load_settings, need_model

    async with find_owner() as owner:
        if owner:
            return await owner.run(name, RunOptions(owner.clock(), user, limits, dry_run))
    settings = load_settings()
    if RUNS[name].asks:
        need_model(settings)
    async with Souffleur.open(settings, schedule=False) as memory:
        stopping = stop_on_signal()
        with progress(name) as step:
            options = RunOptions(memory.clock(), user, limits, dry_run, stopping.is_set, step)
            return await memory.run(name, options)
