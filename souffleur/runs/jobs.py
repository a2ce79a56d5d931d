"""The jobs of a store: each run by its name, how often it is done, and by whom."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from loguru import logger

from souffleur.errors import StoreError
from souffleur.knowledge.upkeep import run_log
from souffleur.knowledge.upkeep.watermarks import DAY
from souffleur.parts import Parts
from souffleur.runs.consolidate import run_consolidate
from souffleur.runs.contradictions import run_contradictions
from souffleur.runs.cues import run_cues
from souffleur.runs.decay import run_decay
from souffleur.runs.profile import run_profile
from souffleur.runs.purge import run_purge
from souffleur.runs.report import run_report
from souffleur.runs.review import run_review
from souffleur.runs.run import RunOptions, RunResult
from souffleur.runs.schedule import Job

HOUR = timedelta(hours=1)
AT_NIGHT = 3
"""The hour, in UTC, of what is done once a day."""


@dataclass(frozen=True)
class Run:
    """What can be run, by hand or by the schedule."""

    name: str
    every: timedelta
    work: Callable[[Parts, RunOptions], Awaitable[RunResult]]
    asks: bool = False
    """Whether it needs a model."""


def _decay(parts: Parts, errand: RunOptions) -> Awaitable[RunResult]:
    return run_decay(parts.knowledge, errand, has_reviewer=parts.has_model)


RUNS = {
    run.name: run
    for run in (
        # Before decay: what expired while nobody was there is told in short, not just dropped.
        Run(
            "consolidate",
            DAY,
            lambda parts, errand: run_consolidate(
                parts.knowledge, parts.needed_agents.consolidator, errand
            ),
            asks=True,
        ),
        Run("decay", HOUR, _decay),
        Run(
            "review",
            HOUR,
            lambda parts, errand: run_review(parts.knowledge, parts.needed_agents.reviewer, errand),
            asks=True,
        ),
        Run(
            "contradictions",
            DAY,
            lambda parts, errand: run_contradictions(
                parts.knowledge, parts.needed_agents.arbiter, errand
            ),
            asks=True,
        ),
        Run(
            "profile",
            DAY,
            lambda parts, errand: run_profile(
                parts.knowledge, parts.needed_agents.narrator, errand
            ),
            asks=True,
        ),
        Run(
            "cues",
            DAY,
            lambda parts, errand: run_cues(parts.knowledge, parts.needed_agents.cue_writer, errand),
            asks=True,
        ),
        Run("purge", DAY, lambda parts, errand: run_purge(parts.knowledge, errand)),
        Run("report", DAY, lambda parts, errand: run_report(parts.knowledge, errand)),
    )
}
"""By name, in the order in which those are done that are due at once."""


async def perform(parts: Parts, name: str, errand: RunOptions) -> RunResult:
    """Do a run, and keep a record of what came of it, unless it was dry or found nothing to do.

    Raises StoreError if the store was out of reach meanwhile; what was done till then is recorded
    if it can be.
    """
    report = await RUNS[name].work(parts, errand)
    if not errand.dry_run and (report.due or report.data):
        await run_log.keep(parts.knowledge.journal, report.record(parts.clock()))
    if isinstance(report.error, StoreError):
        raise report.error
    return report


def jobs_of(parts: Parts) -> list[Job]:
    """A job for each run; without a model, for those that need none."""
    return [_job(parts, run) for run in RUNS.values() if parts.has_model or not run.asks]


def _job(parts: Parts, run: Run) -> Job:
    async def work(now: datetime) -> None:
        report = await perform(parts, run.name, RunOptions(now))
        done = {op: report.count(op) for op in {line.op for line in report.lines}}
        logger.info("{}: {} due, {}", run.name, report.due, done or "nothing done")
        if report.error:  # what is left is tried before the next period
            raise report.error

    return Job(run.name, run.every, work, at_hour=AT_NIGHT if run.every == DAY else None)
