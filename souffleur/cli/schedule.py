"""`souffleur schedule`: the jobs of a store, each at its time, until it is stopped."""

import typer


def register(app: typer.Typer) -> None:
    """Add the command to the app."""
    app.command()(schedule)


def schedule() -> None:
    """Run each job at its time until stopped; only one process does so for a store at a time."""
    from souffleur.cli.event_loop import run_async

    run_async(_keep())


async def _keep() -> None:
    from souffleur.api import Souffleur
    from souffleur.cli.event_loop import find_owner, inspect, stop_on_signal
    from souffleur.errors import StoreBusyError
    from souffleur.service.jobs import jobs_of

    async with find_owner() as owner:
        if owner:
            if names := ", ".join(await inspect(owner).jobs()):
                typer.echo(f"scheduled by the process that serves the store: {names}")
                return
            raise StoreBusyError(
                "the process that serves the store runs no jobs: stop `souffleur serve`, and start "
                "it without --no-schedule"
            )
    stopping = stop_on_signal()
    async with Souffleur.open(schedule=True) as memory:
        names = ", ".join(job.name for job in jobs_of(memory.parts))
        typer.echo(f"scheduled: {names}; stop it with an interrupt")
        await stopping.wait()
