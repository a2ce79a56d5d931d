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
    from souffleur.cli.event_loop import stop_on_signal
    from souffleur.runs.jobs import jobs_of
    from souffleur.runtime import Souffleur

    stopping = stop_on_signal()
    async with Souffleur.open(schedule=True) as memory:
        names = ", ".join(job.name for job in jobs_of(memory.parts))
        typer.echo(f"scheduled: {names}; stop it with an interrupt")
        await stopping.wait()
