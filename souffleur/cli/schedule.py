"""`souffleur schedule`: the runs of a store, each at its time, until it is stopped."""

from datetime import datetime, timedelta
from typing import TYPE_CHECKING

import typer
from loguru import logger

if TYPE_CHECKING:
    from souffleur.runs import Report
    from souffleur.runtime import Souffleur
    from souffleur.schedule import Job

HOUR = timedelta(hours=1)


def register(app: typer.Typer) -> None:
    """Add the command to the app."""
    app.command()(schedule)


def schedule() -> None:
    """Run decay and review hourly until stopped; one process of a store at a time does it."""
    from souffleur.cli.door import enter

    enter(_keep())


async def _keep() -> None:
    from souffleur.cli.door import stop_on_signal
    from souffleur.runtime import Souffleur
    from souffleur.schedule import Schedule

    async with Souffleur.open() as memory:
        jobs = jobs_of(memory)
        keeping = Schedule(memory.knowledge.journal, jobs, clock=memory.clock)
        stopping = stop_on_signal()
        await keeping.start()
        typer.echo(f"scheduled: {', '.join(job.name for job in jobs)}; stop it with an interrupt")
        await stopping.wait()
        await keeping.stop()


def jobs_of(memory: "Souffleur") -> "list[Job]":
    """Decay, and, where there is a model, review."""
    from souffleur.runs import run_decay, run_review
    from souffleur.schedule import Job

    async def decay(now: datetime) -> None:
        has_model = memory.settings.has_model
        _log(await run_decay(memory.knowledge, now, has_reviewer=has_model))

    async def review(now: datetime) -> None:
        _log(await run_review(memory.knowledge, memory.reviewer, now))

    jobs = [Job("decay", HOUR, decay)]
    return [*jobs, Job("review", HOUR, review)] if memory.settings.has_model else jobs


def _log(report: "Report") -> None:
    done = {op: report.count(op) for op in {line.op for line in report.lines}}
    logger.info("{}: {} due, {}", report.name, report.due, done or "nothing done")
