"""`souffleur run`: reviews and decay, by hand or by cron."""

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from souffleur.cli.door import AnyUser, AsJson

if TYPE_CHECKING:
    from souffleur.runs import Limits, Report


class RunName(StrEnum):
    """What can be run."""

    REVIEW = "review"
    DECAY = "decay"


def register(app: typer.Typer) -> None:
    """Add the command to the app."""
    app.command()(run)


def run(
    name: Annotated[RunName, typer.Argument(help="review asks the model, decay none.")],
    user: AnyUser = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be done, and change nothing.")
    ] = False,
    limit: Annotated[int, typer.Option(min=1, help="Memories to look at.")] = 1000,
    calls: Annotated[int, typer.Option(min=1, help="Calls of the model.")] = 1000,
    deletions: Annotated[
        int | None, typer.Option(min=0, help="At most; by default a fifth, at least five.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Do what is due: have a model review memories, or let go what has expired."""
    from souffleur.cli import show_runs as render
    from souffleur.cli.door import enter
    from souffleur.runs import Limits
    from souffleur.settings import load_settings, need_model

    settings = load_settings()
    if name is RunName.REVIEW:
        need_model(settings)
    limits = Limits(memories=limit, calls=calls, deletions=deletions)
    report = enter(_run(name, user, dry_run, limits))
    render.run(report, as_json)
    if report.count("FAILED"):
        raise typer.Exit(1)


async def _run(name: RunName, user: str | None, dry_run: bool, limits: "Limits") -> "Report":
    from souffleur.cli.door import stop_on_signal
    from souffleur.cli.show import progress
    from souffleur.runs import run_decay, run_review
    from souffleur.runtime import Souffleur

    async with Souffleur.open() as memory:
        now, knowledge = memory.clock(), memory.knowledge
        with progress(name) as step:
            if name is RunName.DECAY:
                return await run_decay(
                    knowledge,
                    now,
                    user_id=user,
                    limits=limits,
                    dry_run=dry_run,
                    has_reviewer=memory.settings.has_model,
                    step=step,
                )
            stopping = stop_on_signal()
            return await run_review(
                knowledge,
                memory.reviewer,
                now,
                user_id=user,
                limits=limits,
                dry_run=dry_run,
                stop=stopping.is_set,
                step=step,
            )
