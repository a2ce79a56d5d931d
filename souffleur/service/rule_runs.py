"""The runs that call no model: decay, purge and report; and a warning if no run is done."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from souffleur.knowledge import decay
from souffleur.knowledge.memory import Category, Due, Memory, MemoryState
from souffleur.knowledge.operation import Actor, ActorKind, Archive, Forget, Verdict, derive_id
from souffleur.knowledge.proposals import lapse
from souffleur.knowledge.store.erasing import TOMBSTONE_KEPT_FOR, find_purgeable, purge, purge_idle
from souffleur.knowledge.store.runs import run_log
from souffleur.report.phrases import count, duration
from souffleur.report.quality import measure
from souffleur.service.model_runs import REVIEWED_DUE
from souffleur.service.run import RunItem, RunOptions, RunResult, item_for

if TYPE_CHECKING:
    from souffleur.knowledge.knowledge_base import KnowledgeBase
    from souffleur.knowledge.policy import Policy
    from souffleur.settings import Settings


DUE_BY_RULE = (Due.EXPIRE, Due.ARCHIVE, Due.FORGET)
"""Reasons of due memories that need no judgement."""
DUE_PER_PAGE = 100


async def run_decay(
    knowledge: "KnowledgeBase", options: RunOptions, *, has_reviewer: bool = True
) -> RunResult:
    """Archive memories whose time is over, and forget or archive those that have faded.

    What was true once is archived: questions about the past still find it.

    Without a reviewer, memories that are due for review and below the policy's last threshold are
    forgotten as well, as nobody would ever review them.
    """
    now, user_id = options.now, options.user_id
    what = DUE_BY_RULE if has_reviewer else (*DUE_BY_RULE, Due.REVIEW)
    due = await knowledge.count_due(now, what, user_id=user_id)
    result = RunResult("decay", options, due=due)
    with result.until_the_store_fails():
        await _forget_due(knowledge, result, what)
    return result


async def _forget_due(knowledge: "KnowledgeBase", result: RunResult, what: Sequence[Due]) -> None:
    options = result.options
    now, user_id, limits = options.now, options.user_id, options.limits
    seen: set[str] = set()
    while not result.is_over() and len(seen) < limits.memories:
        room = min(DUE_PER_PAGE, limits.memories - len(seen))
        still_due = len(seen) if options.dry_run else result.count("WAITS", "REFUSED")
        page = await knowledge.due(now, what, user_id=user_id, limit=room + still_due)
        fresh = [memory for memory in page if memory.id not in seen]
        if not fresh:
            return
        for memory in fresh:
            seen.add(memory.id)
            result.items.append(await _forget_one(knowledge, memory, result))
            options.step(len(seen), result.due)


def passes(
    memory: Memory, now: datetime, policy: "Policy", zone: tzinfo = UTC
) -> Archive | Forget | None:
    """Return the op for a memory by rule alone; `None` if it must wait for a reviewer.

    `zone` is the user's time zone.
    """
    if memory.expires_at and memory.expires_at <= now:  # faded or not, the past is asked about
        return Archive(target=memory.id, reason=f"expired on {_day(memory.expires_at, zone)}")
    match memory.due_for:
        case Due.FORGET if (
            memory.category is Category.EPISODE and memory.state is MemoryState.ACTIVE
        ):
            return Archive(target=memory.id, reason="its time, or its value, is over")
        case Due.ARCHIVE:
            return Archive(target=memory.id, reason="its value fell below the policy's threshold")
        case Due.FORGET:
            return Forget(target=memory.id, reason="its time, or its value, is over")
        case _:
            below = policy.rule(memory.category).forget_below
            if below is None or decay.effective(memory, now, policy) >= below:
                return None
            return Forget(target=memory.id, reason="faded, and there is no reviewer to ask")


async def _forget_one(knowledge: "KnowledgeBase", memory: Memory, result: RunResult) -> RunItem:
    options = result.options
    person, _ = await knowledge.people.find(memory.user_id, memory.agent_id)
    zone = ZoneInfo(person.timezone) if person and person.timezone else UTC
    op = passes(memory, options.now, knowledge.policy, zone)
    max_deletions = options.limits.deletions
    if op is None:
        return RunItem(memory, "WAITS", "it is due for review")
    if max_deletions is not None and result.count("FORGET", "ARCHIVE") >= max_deletions:
        return RunItem(memory, "WAITS", f"it is over, but {max_deletions} were let go in this run")
    if options.dry_run:
        return RunItem(memory, op.op, op.reason)
    verdict = Verdict(
        id=derive_id("decay", memory.id, memory.revision),
        user_id=memory.user_id,
        agent_id=memory.agent_id,
        by=Actor(who=ActorKind.SCHEDULE),
        at=options.now,
        ops=(op,),
    )
    (entry,) = await knowledge.apply(verdict)
    return item_for(memory, entry)


def _day(moment: datetime | None, zone: tzinfo) -> str:
    return f"{moment.astimezone(zone):%Y-%m-%d}" if moment else "its day"


NEGLECTED_AFTER = timedelta(days=8)
"""How long a memory may be due without a run before the host is warned."""


@dataclass(frozen=True)
class Neglect:
    """Memories that have been due for long, and the runs that would handle them."""

    memories: int
    """Number of memories that have been due for longer than `NEGLECTED_AFTER`."""
    waited: timedelta
    """How long the first of these memories has been due."""
    runs: tuple[str, ...]
    """Names of the runs that would handle these memories."""

    @property
    def text(self) -> str:
        """The warning for the host, in two sentences."""
        commands = " and ".join(f"`souffleur run {name}`" for name in self.runs)
        return (
            f"Nothing reviews memories or lets them go: "
            f"{count(self.memories, 'memory has', 'memories have')} long been due, the first "
            f"for {duration(self.waited)}. While a host has an embedded store open, no other "
            "process can: open it with schedule=True (SOUFFLEUR_SCHEDULE=true), or run "
            f"{commands} by cron while the host is stopped (schedule=False hides this)."
        )


async def find_neglect(
    knowledge: "KnowledgeBase", settings: "Settings", now: datetime, *, has_model: bool
) -> Neglect | None:
    """Return the memories that were due for eight days in which no run handled them.

    Returns `None` if no memory is neglected, or if `schedule` was set to any value. Also returns
    `None` for a store on a server, where another process may have a schedule.
    """
    if settings.qdrant_url or "schedule" in settings.model_fields_set:
        return None
    before = now - NEGLECTED_AFTER
    kinds = {"review": REVIEWED_DUE, "decay": DUE_BY_RULE} if has_model else {"decay": DUE_BY_RULE}
    number, since, runs = 0, now, []
    for name, what in kinds.items():
        first = await knowledge.due(before, what, limit=1)
        latest = await run_log.latest(knowledge.journal, name=name, limit=1)
        if first and first[0].due_at and (not latest or latest[0].ended < before):
            number += await knowledge.count_due(before, what)
            since = min(since, first[0].due_at)
            runs.append(name)
    return Neglect(number, now - since, tuple(runs)) if runs else None


async def run_purge(knowledge: "KnowledgeBase", options: RunOptions) -> RunResult:
    """Erase tombstones, the oldest first, idle words of the ledger, and the records of old runs.

    If a tombstone was erased, compacts the files.
    """
    memories = await find_purgeable(knowledge, options.now, user_id=options.user_id)
    result = RunResult("purge", options, due=len(memories))
    why = f"forgotten more than {TOMBSTONE_KEPT_FOR.days} days ago"
    max_deletions = options.limits.deletions
    with result.until_the_store_fails():
        for memory in memories:
            if result.is_over():
                return result
            if max_deletions is not None and result.count("PURGE") >= max_deletions:
                result.stopped = f"it may erase {max_deletions}"
                return result
            if not options.dry_run:
                await purge(knowledge, memory)
            result.items.append(RunItem(memory, "PURGE", why))
            options.step(len(result.items), result.due)
    if options.dry_run or result.stopped:
        return result
    await lapse(knowledge, options.now, user_id=options.user_id)
    await purge_idle(knowledge, options.now, user_id=options.user_id)
    if options.user_id is None:
        await run_log.drop_old(knowledge.journal, options.now)
    if result.items:
        await knowledge.compact()
    return result


async def run_report(knowledge: "KnowledgeBase", options: RunOptions) -> RunResult:
    """Count the contents and faults of the store. The record has no words, so it may be kept."""
    from souffleur.report.report import health

    quality = await measure(knowledge, options.now, user_id=options.user_id)
    state, findings = health(quality)
    result = RunResult("report", options)
    result.data = {
        "health": str(state),
        "findings": findings,
        "users": quality.users,
        "states": quality.states,
        "categories": quality.categories,
        "overdue": sum(quality.overdue.values()),
        "duplicates": len(quality.duplicates),
        "near_duplicates": len(quality.near_duplicates),
        "stale": len(quality.stale),
        "never_recalled": len(quality.never_recalled),
        "failures": len(quality.failures),
    }
    return result
