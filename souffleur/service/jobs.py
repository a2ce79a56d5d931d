"""The jobs of a store, each a run by its name, and the schedule that does them at their times.

A repeated, late, early or missed wake does no harm: watermarks decide whether a job is due. Missed
work is done once, however long no process ran. Work that a crash or a lost lease interrupts is
repeated, so it must be repeatable.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, TypeVar

from loguru import logger

from souffleur.errors import SettingsError, StoreError
from souffleur.knowledge.store.ledger import Journal
from souffleur.knowledge.store.runs import run_log, watermarks
from souffleur.knowledge.store.runs.watermarks import DAY, Leader, Watermark
from souffleur.service.model_runs import (
    run_audit,
    run_boundaries,
    run_consolidate,
    run_cues,
    run_profile,
    run_review,
)
from souffleur.service.rule_runs import run_decay, run_purge, run_report
from souffleur.service.run import RunOptions, RunResult
from souffleur.telemetry.log_lines import describe, trace_bug

if TYPE_CHECKING:
    from souffleur.knowledge.knowledge_base import KnowledgeBase
    from souffleur.parts import Agents, Parts

A = TypeVar("A")

HOUR, WEEK = timedelta(hours=1), timedelta(days=7)
NIGHTLY_HOUR = 3
"""The hour of the day in UTC at which daily jobs run."""


WAKE_INTERVAL = timedelta(minutes=1)
"""Maximum time between two wakes of a job."""
LEASE_RENEWAL = timedelta(seconds=30)
"""Time between two renewals of the lease; three may fail before it runs out."""
STOP_TIMEOUT = 10.0
"""Seconds that running work may take to end when the schedule stops."""


@dataclass(frozen=True)
class Job:
    """Work that is done periodically."""

    name: str
    """The name of the job and of its watermark."""
    every: timedelta
    work: Callable[[datetime], Awaitable[None]]
    """Called with the time; an error is logged, and retried after pauses that grow."""
    at_hour: int | None = None
    """The hour of the day in UTC, if the period is a number of whole days."""

    def __post_init__(self) -> None:
        """Check the period. Raises SettingsError if the job could never be due."""
        if self.every <= timedelta():
            raise SettingsError(f"the job {self.name!r} must run every so often: give it a period")
        if self.at_hour is not None and (self.at_hour not in range(24) or self.every % DAY):
            raise SettingsError(
                f"the job {self.name!r} runs at an hour of the day: give one of 0 to 23, and a "
                "period of whole days"
            )


@dataclass(frozen=True)
class Run:
    """A run that can be started by hand or by the schedule."""

    name: str
    every: timedelta
    work: Callable[["Parts", RunOptions], Awaitable[RunResult]]
    asks: bool = False
    """Whether the run needs a model."""


def _asking(
    name: str,
    every: timedelta,
    work: Callable[["KnowledgeBase", A, RunOptions], Awaitable[RunResult]],
    agent_of: Callable[["Agents"], A],
) -> Run:
    """Return a run that an agent does."""
    return Run(
        name,
        every,
        lambda parts, options: work(parts.knowledge, agent_of(parts.needed_agents), options),
        asks=True,
    )


def _decay(parts: "Parts", options: RunOptions) -> Awaitable[RunResult]:
    return run_decay(parts.knowledge, options, has_reviewer=parts.has_model)


RUNS = {
    run.name: run
    for run in (
        # Before decay, so that expired memories are condensed, not only dropped.
        _asking("consolidate", DAY, run_consolidate, lambda agents: agents.consolidator),
        Run("decay", HOUR, _decay),
        _asking("review", WEEK, run_review, lambda agents: agents.reviewer),
        _asking("audit", DAY, run_audit, lambda agents: agents.auditor),
        _asking("profile", DAY, run_profile, lambda agents: agents.summaries),
        _asking("cues", DAY, run_cues, lambda agents: agents.cue_writer),
        _asking("boundaries", DAY, run_boundaries, lambda agents: agents.boundary_linker),
        Run("purge", DAY, lambda parts, options: run_purge(parts.knowledge, options)),
        Run("report", DAY, lambda parts, options: run_report(parts.knowledge, options)),
    )
}
"""Runs by name, in the order in which they are done if several are due."""


async def perform(parts: "Parts", name: str, options: RunOptions) -> RunResult:
    """Do a run, and keep a record of its result, unless it was dry or had nothing to do.

    Raises StoreError if the store was out of reach meanwhile. The results before that are recorded
    if possible.
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


def jobs_of(parts: "Parts") -> list[Job]:
    """Return a job for each run; without a model, only for the runs that need no model."""
    return [_job(parts, run) for run in RUNS.values() if parts.has_model or not run.asks]


def _job(parts: "Parts", run: Run) -> Job:
    async def work(now: datetime) -> None:
        result = await perform(parts, run.name, RunOptions(now))
        done = {op: result.count(op) for op in {item.op for item in result.items}}
        logger.info("{}: {} due, {}", run.name, result.due, done or "nothing done")
        if result.error:  # the rest is tried before the next period
            raise result.error

    return Job(run.name, run.every, work, at_hour=None if run.every == HOUR else NIGHTLY_HOUR)


class Schedule:
    """Runs the jobs of a store, each once per period, even if other processes have a schedule."""

    def __init__(
        self,
        journal: Journal,
        jobs: Sequence[Job],
        *,
        clock: Callable[[], datetime],
        leader: Leader | None = None,
        stop_timeout: float = STOP_TIMEOUT,
    ) -> None:
        """`stop_timeout` is in seconds. Raises SettingsError if two jobs have the same name."""
        self._journal = journal
        self._jobs = {job.name: job for job in jobs}
        if len(self._jobs) < len(jobs):
            raise SettingsError("two jobs of a schedule have the same name: rename one of them")
        self._clock = clock
        self._leader = leader or Leader(journal)
        self._stop_timeout = stop_timeout
        # Kept here, as APScheduler's shutdown cancels running tasks instead of waiting for them.
        self._tasks: dict[str, asyncio.Task[bool]] = {}
        self._working: set[str] = set()
        self._alone = asyncio.Lock()
        """Held by the running job: jobs run one by one, as many may be due after a pause."""
        self._failures: dict[str, tuple[int, datetime]] = {}
        """For each failing job, the number of failures in a row, and the end of its pause."""
        self._stopping = False
        self._scheduler: Any = None

    async def start(self) -> None:
        """Wake the jobs until `stop`; wakes them at once for missed work. Idempotent."""
        if self._scheduler is not None:
            return
        from apscheduler.schedulers.asyncio import (  # type: ignore[import-untyped]
            AsyncIOScheduler,
        )
        from apscheduler.triggers.interval import IntervalTrigger  # type: ignore[import-untyped]

        # No grace time: a late wake counts too.
        usual = {"coalesce": True, "max_instances": 1, "misfire_grace_time": None}
        self._scheduler = AsyncIOScheduler(timezone="UTC", job_defaults=usual)
        self._stopping = False
        often = [(job.every, self._wake, [job.name]) for job in self._jobs.values()]
        for period, wake, args in [(LEASE_RENEWAL, self.renew, []), *often]:
            seconds = min(period, WAKE_INTERVAL).total_seconds()
            trigger = IntervalTrigger(seconds=seconds, timezone=UTC)
            self._scheduler.add_job(wake, trigger, args=args)
        self._scheduler.start()
        for name in self._jobs:
            self.begin(name)

    async def stop(self) -> None:
        """Begin no further job, wait for running jobs, cancel late ones, and give up the lease.

        Must be awaited before the store is closed.
        """
        self._stopping = True
        if tasks := list(self._tasks.values()):
            _, late = await asyncio.wait(tasks, timeout=self._stop_timeout)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)
        if self._scheduler is not None:
            self._scheduler.shutdown(wait=False)
            self._scheduler = None
            await asyncio.sleep(0)  # the loop calls the shutdown
        try:
            await self._leader.release()
        except StoreError as error:
            logger.warning("the lease of the schedule is not given up, it runs out: {}", error)

    def begin(self, name: str) -> asyncio.Task[bool] | None:
        """Begin a job; return its task. The task returns whether the job was due and is done.

        Returns `None` if the job is running already, or if the schedule stops.
        """
        if self._stopping or name in self._tasks:
            return None
        work = self._attend(self._jobs[name], self._clock())
        self._tasks[name] = task = asyncio.get_running_loop().create_task(work)
        task.add_done_callback(lambda _: self._tasks.pop(name))
        return task

    async def renew(self) -> None:
        """Stay or become the leader. If the lead is lost, cancel running jobs."""
        now = self._clock()
        try:
            leads = await self._leader.lead(now)
        except StoreError as error:
            logger.warning("the lease of the schedule could not be renewed: {}", error)
            leads = self._leader.until is not None and now < self._leader.until
        for name in [] if leads else list(self._working):
            logger.bind(job=name).warning("the job {} is cut off: another process leads now", name)
            self._tasks[name].cancel()

    async def _wake(self, name: str) -> None:
        """Begin a job. APScheduler calls this, and would log a warning if it took long."""
        self.begin(name)

    async def _attend(self, job: Job, now: datetime) -> bool:
        times, until = self._failures.get(job.name, (0, now))
        if now < until:
            return False
        try:
            queued = self._alone.locked()
            async with self._alone:
                done = not (queued and self._stopping) and await self._run(job, now)
        except Exception as error:  # noqa: BLE001  the worker's edge: the other jobs go on
            pause = min(WAKE_INTERVAL * 2**times, job.every)
            self._failures[job.name] = (times + 1, now + pause)
            bound, why = logger.bind(job=job.name), describe(error)
            bound.error("the job {} failed, it is tried again in {}: {}", job.name, pause, why)
            trace_bug(bound, error)
            return False
        self._failures.pop(job.name, None)
        return done

    async def _run(self, job: Job, now: datetime) -> bool:
        leads = await self._leader.lead(now)
        mark = await watermarks.read(self._journal, job.name)
        if mark.due_at is None or (leads and watermarks.is_astray(mark, job.every, now)):
            new = watermarks.begun(mark, job.every, job.at_hour, now)
            await watermarks.save(self._journal, new, by=self._leader.holder)
            return False
        due_at = watermarks.due(mark, job.every, job.at_hour, now)
        if due_at is None or not leads:
            return False
        self._working.add(job.name)
        try:
            await job.work(now)
        finally:
            self._working.discard(job.name)
        await self._advance(mark, due_at)
        return True

    async def _advance(self, mark: Watermark, due_at: datetime) -> None:
        done = mark.model_copy(update={"due_at": due_at, "done_at": self._clock()})
        if not await watermarks.save(self._journal, done, by=self._leader.holder):
            logger.bind(job=mark.name).warning("the job {} was done by another too", mark.name)
