"""The review run: what is due for promotion or review is decided by a model."""

from collections import defaultdict
from typing import TYPE_CHECKING

from souffleur.agents.review import review_id
from souffleur.errors import StoreError
from souffleur.knowledge.memory import Due, Memory
from souffleur.knowledge.operation import Delete, entry_id
from souffleur.runs.run import RunItem, RunOptions, RunResult, side_by_side, told

if TYPE_CHECKING:
    from souffleur.agents.reviewer import Decision, MemoryReviewer
    from souffleur.knowledge.knowledge_base import KnowledgeBase

ASKED = (Due.PROMOTION, Due.REVIEW)
"""What a reviewer decides."""


async def run_review(
    knowledge: "KnowledgeBase", reviewer: "MemoryReviewer", errand: RunOptions
) -> RunResult:
    """Have what is due decided, users side by side."""
    now, user_id, limit = errand.now, errand.user_id, errand.limits.memories
    due = await knowledge.count_due(now, ASKED, user_id=user_id)
    report = RunResult("review", errand, due=due)
    memories = await knowledge.due(now, ASKED, user_id=user_id, limit=limit)
    most = report.most_deletions(len(memories))
    by_user: defaultdict[str, list[Memory]] = defaultdict(list)
    for memory in memories:
        by_user[memory.user_id].append(memory)

    async def one(memory: Memory) -> list[RunItem]:
        # Decided on as it is now: what was refused, or waits for the user's yes, costs no call.
        if decided := await knowledge.journal.get_entries([entry_id(review_id(memory), 0)]):
            return [told(memory, decided[0])]
        try:
            decision = await reviewer.run(memory, now)
        except StoreError:
            raise
        except Exception as error:  # noqa: BLE001  the worker's edge: it stays due, the run goes on
            return [report.failed(memory, error)]
        report.spend(decision.verdict.cost)
        return [await _carry_out(knowledge, decision, report, most)]

    await side_by_side(report, by_user, one)
    if due > len(memories) and not report.stopped:
        report.stopped = f"it may look at {limit} of {due}"
    return report


async def _carry_out(
    knowledge: "KnowledgeBase", decision: "Decision", report: RunResult, most: int
) -> RunItem:
    op, memory = decision.op, decision.memory
    if isinstance(op, Delete) and report.count("DELETE") >= most:
        why = f"it would be deleted, but {most} were in this run"
        return RunItem(memory, "WAITS", why, op.trail)
    if report.errand.dry_run:
        return RunItem(memory, op.op, op.reason, op.trail)
    current = await knowledge.get(memory.id, user_id=memory.user_id)
    if current.revision != memory.revision:
        return RunItem(memory, "CHANGED", "it was changed while it was thought about", op.trail)
    (outcome,) = await knowledge.apply(decision.verdict)
    return told(memory, outcome, op.trail)
