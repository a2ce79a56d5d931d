"""Runs over what is due: reviews by a model, and the decay that needs none.

A run reads by index, changes through the ledger, and keeps no state of its own: what was done is
no longer due, so a run that was stopped goes on where it was, and a doubled one does nothing.
"""

import asyncio
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING

from loguru import logger

from souffleur.knowledge import life
from souffleur.knowledge.memory import Due, Memory
from souffleur.knowledge.operation import (
    Archive,
    By,
    Delete,
    Forget,
    Outcome,
    Verdict,
    Who,
    derive_id,
)

if TYPE_CHECKING:
    from souffleur.agents.reviewer import Decision, MemoryReviewer
    from souffleur.knowledge.knowledge_base import KnowledgeBase
    from souffleur.knowledge.policy import Policy

ASKED = (Due.PROMOTION, Due.REVIEW)
"""What a reviewer decides."""
PASSING = (Due.EXPIRE, Due.ARCHIVE, Due.FORGET)
"""What needs no judgement."""
PAGE = 100
FEWEST_DELETIONS = 5
SHARE_DELETED = 0.2
"""Of what a run looks at, as much may be deleted, or `FEWEST_DELETIONS` if that is more."""

Step = Callable[[int, int], None]
"""Is told how many are done, and of how many."""


@dataclass(frozen=True)
class Limits:
    """What a run may cost and do."""

    memories: int = 1000
    """Looked at."""
    calls: int = 1000
    """Of the model."""
    deletions: int | None = None
    """None: a fifth of what is looked at, at least five."""
    parallel: int = 8
    """Users side by side."""


USUAL = Limits()


@dataclass(frozen=True)
class Line:
    """What a run did with one memory, or would do."""

    memory: Memory
    op: str
    """PROMOTE, KEEP, DELETE, FORGET, ARCHIVE; or FAILED, WAITS, CHANGED, REFUSED."""
    reason: str
    trail: tuple[str, ...] = ()


@dataclass
class Report:
    """What came of a run."""

    name: str
    began: datetime
    dry_run: bool = False
    due: int = 0
    """How many were due when it began."""
    lines: list[Line] = field(default_factory=list)
    calls: int = 0
    tokens: int = 0
    cost: float = 0.0
    stopped: str = ""
    """Why it ended before all was done; empty: it is done."""

    def count(self, *ops: str) -> int:
        """How many lines have one of these ops."""
        return sum(line.op in ops for line in self.lines)


async def run_decay(
    knowledge: "KnowledgeBase",
    now: datetime,
    *,
    user_id: str | None = None,
    limits: Limits = USUAL,
    dry_run: bool = False,
    has_reviewer: bool = True,
    step: Step = lambda done, total: None,
) -> Report:
    """Let go what has expired or faded by rule; calls no model.

    Without a reviewer, what is due for review and has fallen below the policy's last threshold is
    forgotten as well: it would never be asked about.
    """
    what = PASSING if has_reviewer else (*PASSING, Due.REVIEW)
    report = Report(
        "decay", now, dry_run, due=await knowledge.count_due(now, what, user_id=user_id)
    )
    seen: set[str] = set()
    while len(seen) < limits.memories:
        room = min(PAGE, limits.memories - len(seen))
        still_due = len(seen) if dry_run else report.count("WAITS", "REFUSED")
        page = await knowledge.due(now, what, user_id=user_id, limit=room + still_due)
        fresh = [memory for memory in page if memory.id not in seen]
        if not fresh:
            return report
        for memory in fresh:
            seen.add(memory.id)
            report.lines.append(await _let_go(knowledge, memory, now, dry_run))
            step(len(seen), report.due)
    report.stopped = f"it may look at {limits.memories} memories"
    return report


async def run_review(
    knowledge: "KnowledgeBase",
    reviewer: "MemoryReviewer",
    now: datetime,
    *,
    user_id: str | None = None,
    limits: Limits = USUAL,
    dry_run: bool = False,
    stop: Callable[[], bool] = lambda: False,
    step: Step = lambda done, total: None,
) -> Report:
    """Have what is due for promotion or review decided by a model, users side by side."""
    due = await knowledge.count_due(now, ASKED, user_id=user_id)
    report = Report("review", now, dry_run, due=due)
    memories = await knowledge.due(now, ASKED, user_id=user_id, limit=limits.memories)
    if due > len(memories):
        report.stopped = f"it may look at {limits.memories} memories"
    share = int(SHARE_DELETED * len(memories))
    most = max(FEWEST_DELETIONS, share) if limits.deletions is None else limits.deletions
    review = _Review(knowledge, reviewer, report, limits, most, stop, step)
    by_user: defaultdict[str, list[Memory]] = defaultdict(list)
    for memory in memories:
        by_user[memory.user_id].append(memory)
    slots = asyncio.Semaphore(limits.parallel)
    await asyncio.gather(*(review.user(mine, now, slots) for mine in by_user.values()))
    return report


class _Review:
    """One review run: its report, its budget and its cap."""

    def __init__(
        self,
        knowledge: "KnowledgeBase",
        reviewer: "MemoryReviewer",
        report: Report,
        limits: Limits,
        most_deletions: int,
        stop: Callable[[], bool],
        step: Step,
    ) -> None:
        self._knowledge = knowledge
        self._reviewer = reviewer
        self._report = report
        self._limits = limits
        self._most_deletions = most_deletions
        self._stop = stop
        self._step = step

    async def user(
        self, memories: Sequence[Memory], now: datetime, slots: asyncio.Semaphore
    ) -> None:
        """The memories of one user, one after the other."""
        async with slots:
            for memory in memories:
                if self._is_over():
                    return
                self._report.lines.append(await self._one(memory, now))
                self._step(len(self._report.lines), self._report.due)

    def _is_over(self) -> bool:
        if self._stop():
            self._report.stopped = "it was asked to stop"
        elif self._report.calls >= self._limits.calls:
            self._report.stopped = f"it may make {self._limits.calls} calls"
        else:
            return False
        return True

    async def _one(self, memory: Memory, now: datetime) -> Line:
        try:
            decision = await self._reviewer.run(memory, now)
        except Exception as error:  # noqa: BLE001  the worker's edge: it stays due, the run goes on
            logger.bind(user=memory.user_id).warning("not reviewed: {}: {}", memory.id, error)
            return Line(memory, "FAILED", f"{type(error).__name__}: {error}")
        report = self._report
        report.calls += decision.usage.calls
        report.tokens += decision.usage.input_tokens + decision.usage.output_tokens
        report.cost += decision.usage.cost
        return await self._carry_out(decision)

    async def _carry_out(self, decision: "Decision") -> Line:
        op, memory = decision.op, decision.memory
        if isinstance(op, Delete) and self._report.count("DELETE") >= self._most_deletions:
            why = f"it would be deleted, but {self._most_deletions} were in this run"
            return Line(memory, "WAITS", why, op.trail)
        if self._report.dry_run:
            return Line(memory, op.op, op.reason, op.trail)
        current = await self._knowledge.get(memory.id)
        if current.revision != memory.revision:
            return Line(memory, "CHANGED", "it was changed while it was thought about", op.trail)
        (outcome,) = await self._knowledge.apply(decision.verdict)
        if outcome.refused:
            return Line(memory, "REFUSED", f"{outcome.refused}: {outcome.detail}", op.trail)
        return Line(memory, op.op, op.reason, op.trail)


def passes(memory: Memory, now: datetime, policy: "Policy") -> Archive | Forget | None:
    """What becomes of a memory by rule alone; None: nothing yet, it waits for a reviewer."""
    match memory.due_for:
        case Due.EXPIRE:
            return Forget(target=memory.id, reason=f"expired on {memory.expires_at:%Y-%m-%d}")
        case Due.ARCHIVE:
            return Archive(target=memory.id, reason="its value fell below the policy's threshold")
        case Due.FORGET:
            return Forget(target=memory.id, reason="its time, or its value, is over")
        case _:
            below = policy.rule(memory.category).forget_below
            if below is None or life.effective(memory, now, policy) >= below:
                return None
            return Forget(target=memory.id, reason="faded, and there is no reviewer to ask")


async def _let_go(knowledge: "KnowledgeBase", memory: Memory, now: datetime, dry_run: bool) -> Line:
    op = passes(memory, now, knowledge.policy)
    if op is None:
        return Line(memory, "WAITS", "it is due for review")
    if dry_run:
        return Line(memory, op.op, op.reason)
    verdict = Verdict(
        id=derive_id("decay", memory.id, memory.revision),
        user_id=memory.user_id,
        agent_id=memory.agent_id,
        by=By(who=Who.SCHEDULE),
        at=now,
        ops=(op,),
    )
    (outcome,) = await knowledge.apply(verdict)
    return _told(memory, outcome)


def _told(memory: Memory, outcome: Outcome) -> Line:
    if outcome.refused:
        return Line(memory, "REFUSED", f"{outcome.refused}: {outcome.detail}")
    return Line(memory, outcome.op, outcome.reason)
