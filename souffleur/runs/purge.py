"""The purge run: erases what was forgotten a year ago, and the words of old refusals."""

from typing import TYPE_CHECKING

from souffleur.knowledge.upkeep import run_log
from souffleur.knowledge.upkeep.purging import TOMBSTONE_KEPT_FOR, find_purgeable, purge, purge_idle
from souffleur.runs.run import RunItem, RunOptions, RunResult

if TYPE_CHECKING:
    from souffleur.knowledge.knowledge_base import KnowledgeBase


async def run_purge(knowledge: "KnowledgeBase", options: RunOptions) -> RunResult:
    """Erase tombstones, the oldest first, idle words of the ledger, and the records of old runs.

    If a tombstone was erased, the files are compacted.
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
    await knowledge.lapse(options.now, user_id=options.user_id)
    await purge_idle(knowledge, options.now, user_id=options.user_id)
    if options.user_id is None:
        await run_log.drop_old(knowledge.journal, options.now)
    if result.items:
        await knowledge.compact()
    return result
