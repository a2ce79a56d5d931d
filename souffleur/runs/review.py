"""The review run: a model decides on what is due for promotion or review."""

from collections import defaultdict
from typing import TYPE_CHECKING

from souffleur.agents.review import review_id
from souffleur.errors import StoreError
from souffleur.knowledge.memory import Due, Memory
from souffleur.knowledge.operation import Delete, entry_id
from souffleur.runs.run import RunItem, RunOptions, RunResult, item_for, side_by_side

if TYPE_CHECKING:
    from souffleur.agents.reviewer import Decision, MemoryReviewer
    from souffleur.knowledge.knowledge_base import KnowledgeBase

REVIEWED_DUE = (Due.PROMOTION, Due.REVIEW)
"""Reasons for being due that a reviewer decides on."""


async def run_review(
    knowledge: "KnowledgeBase", reviewer: "MemoryReviewer", options: RunOptions
) -> RunResult:
    """Have everything due decided, users concurrently."""
    now, user_id, limit = options.now, options.user_id, options.limits.memories
    due = await knowledge.count_due(now, REVIEWED_DUE, user_id=user_id)
    result = RunResult("review", options, due=due)
    memories = await knowledge.due(now, REVIEWED_DUE, user_id=user_id, limit=limit)
    max_deletions = result.max_deletions(len(memories))
    by_user: defaultdict[str, list[Memory]] = defaultdict(list)
    for memory in memories:
        by_user[memory.user_id].append(memory)

    async def one(memory: Memory) -> list[RunItem]:
        # Decided on as it is now: what was refused, or waits for the user's yes, costs no call.
        if decided := await knowledge.journal.get_entries([entry_id(review_id(memory), 0)]):
            return [item_for(memory, decided[0])]
        try:
            decision = await reviewer.run(memory, now)
        except StoreError:
            raise
        except Exception as error:  # noqa: BLE001  the worker's edge: it stays due, the run goes on
            return [result.failed_item(memory, error)]
        result.spend(decision.verdict.cost)
        return [await _carry_out(knowledge, decision, result, max_deletions)]

    await side_by_side(result, by_user, one)
    if due > len(memories) and not result.stopped:
        result.stopped = f"it may look at {limit} of {due}"
    return result


async def _carry_out(
    knowledge: "KnowledgeBase", decision: "Decision", result: RunResult, max_deletions: int
) -> RunItem:
    op, memory = decision.op, decision.memory
    if isinstance(op, Delete) and result.count("DELETE") >= max_deletions:
        why = f"it would be deleted, but {max_deletions} were in this run"
        return RunItem(memory, "WAITS", why, op.trail)
    if result.options.dry_run:
        return RunItem(memory, op.op, op.reason, op.trail)
    current = await knowledge.get(memory.id, user_id=memory.user_id)
    if current.revision != memory.revision:
        return RunItem(memory, "CHANGED", "it was changed while it was thought about", op.trail)
    (entry,) = await knowledge.apply(decision.verdict)
    return item_for(memory, entry, op.trail)
