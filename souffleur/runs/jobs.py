"""The jobs of a store: each run by its name, how often it is done, and by whom."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from loguru import logger

from souffleur.background.schedule import Job
from souffleur.errors import StoreError
from souffleur.knowledge.upkeep import run_log
from souffleur.knowledge.upkeep.watermarks import DAY
from souffleur.runs.census import run_report
from souffleur.runs.consolidate import run_consolidate
from souffleur.runs.contradictions import run_contradictions
from souffleur.runs.decay import run_decay
from souffleur.runs.errand import Errand, Report
from souffleur.runs.profile import run_profile
from souffleur.runs.purge import run_purge
from souffleur.runs.review import run_review

if TYPE_CHECKING:
    from souffleur.runtime import Souffleur

HOUR = timedelta(hours=1)
AT_NIGHT = 3
"""The hour, in UTC, of what is done once a day."""


@dataclass(frozen=True)
class Run:
    """What can be run, by hand or by the schedule."""

    name: str
    every: timedelta
    work: "Callable[[Souffleur, Errand], Awaitable[Report]]"
    asks: bool = False
    """Whether it needs a model."""


def _decay(memory: "Souffleur", errand: Errand) -> Awaitable[Report]:
    return run_decay(memory.knowledge, errand, has_reviewer=memory.has_model)


RUNS = {
    run.name: run
    for run in (
        # Before decay: what expired while nobody was there is told in short, not just dropped.
        Run(
            "consolidate",
            DAY,
            lambda memory, errand: run_consolidate(
                memory.knowledge, memory.agents.consolidator, errand
            ),
            asks=True,
        ),
        Run("decay", HOUR, _decay),
        Run(
            "review",
            HOUR,
            lambda memory, errand: run_review(memory.knowledge, memory.agents.reviewer, errand),
            asks=True,
        ),
        Run(
            "contradictions",
            DAY,
            lambda memory, errand: run_contradictions(
                memory.knowledge, memory.agents.arbiter, errand
            ),
            asks=True,
        ),
        Run(
            "profile",
            DAY,
            lambda memory, errand: run_profile(memory.knowledge, memory.agents.narrator, errand),
            asks=True,
        ),
        Run("purge", DAY, lambda memory, errand: run_purge(memory.knowledge, errand)),
        Run("report", DAY, lambda memory, errand: run_report(memory.knowledge, errand)),
    )
}
"""By name, in the order in which those are done that are due at once."""


async def perform(memory: "Souffleur", name: str, errand: Errand) -> Report:
    """Do a run, and keep a record of what came of it, unless it was dry or found nothing to do.

    Raises StoreError if the store was out of reach meanwhile; what was done till then is recorded
    if it can be.
    """
    report = await RUNS[name].work(memory, errand)
    if not errand.dry_run and (report.due or report.data):
        await run_log.keep(memory.knowledge.journal, report.record(memory.clock()))
    if isinstance(report.error, StoreError):
        raise report.error
    return report


def jobs_of(memory: "Souffleur") -> list[Job]:
    """A job for each run; without a model, for those that need none."""
    return [_job(memory, run) for run in RUNS.values() if memory.has_model or not run.asks]


def _job(memory: "Souffleur", run: Run) -> Job:
    async def work(now: datetime) -> None:
        report = await perform(memory, run.name, Errand(now))
        done = {op: report.count(op) for op in {line.op for line in report.lines}}
        logger.info("{}: {} due, {}", run.name, report.due, done or "nothing done")
        if report.error:  # what is left is tried before the next period
            raise report.error

    return Job(run.name, run.every, work, at_hour=AT_NIGHT if run.every == DAY else None)
