"""The decay run: forgets or archives what has expired or faded by rule; calls no model."""

from collections.abc import Sequence
from datetime import UTC
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from souffleur.knowledge import decay
from souffleur.knowledge.memory import Due, Memory
from souffleur.knowledge.operation import Actor, ActorKind, Archive, Forget, Verdict, derive_id
from souffleur.runs.run import RunItem, RunOptions, RunResult, item_for

if TYPE_CHECKING:
    from datetime import datetime, tzinfo

    from souffleur.knowledge.knowledge_base import KnowledgeBase
    from souffleur.knowledge.policy import Policy

DUE_BY_RULE = (Due.EXPIRE, Due.ARCHIVE, Due.FORGET)
"""Reasons for being due that need no judgement."""
DUE_PER_PAGE = 100


async def run_decay(
    knowledge: "KnowledgeBase", options: RunOptions, *, has_reviewer: bool = True
) -> RunResult:
    """Forget or archive what has expired or faded.

    Without a reviewer, what is due for review and has fallen below the policy's last threshold is
    forgotten as well: it would never be asked about.
    """
    now, user_id = options.now, options.user_id
    what = DUE_BY_RULE if has_reviewer else (*DUE_BY_RULE, Due.REVIEW)
    due = await knowledge.count_due(now, what, user_id=user_id)
    result = RunResult("decay", options, due=due)
    with result.until_the_store_fails():
        await _let_all_go(knowledge, result, what)
    return result


async def _let_all_go(knowledge: "KnowledgeBase", result: RunResult, what: Sequence[Due]) -> None:
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
            result.items.append(await _let_go(knowledge, memory, result))
            options.step(len(seen), result.due)


def passes(
    memory: Memory, now: "datetime", policy: "Policy", zone: "tzinfo" = UTC
) -> Archive | Forget | None:
    """Return the op for a memory by rule alone; `None` if it must wait for a reviewer.

    `zone` is the user's time zone.
    """
    match memory.due_for:
        case Due.EXPIRE:
            return Forget(target=memory.id, reason=f"expired on {_day(memory.expires_at, zone)}")
        case Due.ARCHIVE:
            return Archive(target=memory.id, reason="its value fell below the policy's threshold")
        case Due.FORGET:
            return Forget(target=memory.id, reason="its time, or its value, is over")
        case _:
            below = policy.rule(memory.category).forget_below
            if below is None or decay.effective(memory, now, policy) >= below:
                return None
            return Forget(target=memory.id, reason="faded, and there is no reviewer to ask")


async def _let_go(knowledge: "KnowledgeBase", memory: Memory, result: RunResult) -> RunItem:
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


def _day(moment: "datetime | None", zone: "tzinfo") -> str:
    return f"{moment.astimezone(zone):%Y-%m-%d}" if moment else "its day"
