"""The jobs of a store: each run by its name, how often it is done, and how."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, TypeVar

from loguru import logger

from souffleur.errors import StoreError
from souffleur.knowledge.store.runs import run_log
from souffleur.knowledge.store.runs.watermarks import DAY
from souffleur.parts import Agents, Parts
from souffleur.service.model_runs import (
    run_boundaries,
    run_consolidate,
    run_contradictions,
    run_cues,
    run_profile,
    run_review,
)
from souffleur.service.rule_runs import run_decay, run_purge, run_report
from souffleur.service.run import RunOptions, RunResult
from souffleur.service.schedule import Job

if TYPE_CHECKING:
    from souffleur.knowledge.knowledge_base import KnowledgeBase

A = TypeVar("A")

HOUR = timedelta(hours=1)
NIGHTLY_HOUR = 3
"""The hour in UTC of daily jobs."""


@dataclass(frozen=True)
class Run:
    """A run that can be started by hand or by the schedule."""

    name: str
    every: timedelta
    work: Callable[[Parts, RunOptions], Awaitable[RunResult]]
    asks: bool = False
    """Whether it needs a model."""


def _asking(
    name: str,
    every: timedelta,
    work: Callable[["KnowledgeBase", A, RunOptions], Awaitable[RunResult]],
    agent_of: Callable[[Agents], A],
) -> Run:
    """Return a run that an agent does."""
    return Run(
        name,
        every,
        lambda parts, options: work(parts.knowledge, agent_of(parts.needed_agents), options),
        asks=True,
    )


def _decay(parts: Parts, options: RunOptions) -> Awaitable[RunResult]:
    return run_decay(parts.knowledge, options, has_reviewer=parts.has_model)


RUNS = {
    run.name: run
    for run in (
        # Before decay: what expired meanwhile is condensed, not just dropped.
        _asking("consolidate", DAY, run_consolidate, lambda agents: agents.consolidator),
        Run("decay", HOUR, _decay),
        _asking("review", HOUR, run_review, lambda agents: agents.reviewer),
        _asking("contradictions", DAY, run_contradictions, lambda agents: agents.conflict_resolver),
        _asking("profile", DAY, run_profile, lambda agents: agents.summaries),
        _asking("cues", DAY, run_cues, lambda agents: agents.cue_writer),
        _asking("boundaries", DAY, run_boundaries, lambda agents: agents.boundary_linker),
        Run("purge", DAY, lambda parts, options: run_purge(parts.knowledge, options)),
        Run("report", DAY, lambda parts, options: run_report(parts.knowledge, options)),
    )
}
"""Runs by name, in the order in which they are done if several are due."""


async def perform(parts: Parts, name: str, options: RunOptions) -> RunResult:
    """Do a run, and keep a record of its result, unless it was dry or had nothing to do.

    Raises StoreError if the store was out of reach meanwhile; what was done before is recorded if
    possible.
    """
    options = replace(options, resting=await parts.knowledge.choices.resting())
    with parts.watch("run", name=name) as work:
        result = await RUNS[name].work(parts, options)
        work.note(due=result.due, calls=result.calls, tokens=result.tokens, cost=result.cost)
    if not options.dry_run and (result.due or result.data):
        await run_log.keep(parts.knowledge.journal, result.record(parts.clock()))
    if isinstance(result.error, StoreError):
        raise result.error
    return result


def jobs_of(parts: Parts) -> list[Job]:
    """Return a job for each run; without a model, for those that need none."""
    return [_job(parts, run) for run in RUNS.values() if parts.has_model or not run.asks]


def _job(parts: Parts, run: Run) -> Job:
    async def work(now: datetime) -> None:
        result = await perform(parts, run.name, RunOptions(now))
        done = {op: result.count(op) for op in {item.op for item in result.items}}
        logger.info("{}: {} due, {}", run.name, result.due, done or "nothing done")
        if result.error:  # what is left is tried before the next period
            raise result.error

    return Job(run.name, run.every, work, at_hour=NIGHTLY_HOUR if run.every == DAY else None)
