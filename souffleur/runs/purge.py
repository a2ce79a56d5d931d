"""The purge run: what was forgotten a year ago is erased for good, and the words of refusals."""

from typing import TYPE_CHECKING

from souffleur.knowledge.upkeep import run_log
from souffleur.knowledge.upkeep.purging import TOMBSTONE_KEPT_FOR, find_purgeable, purge, purge_idle
from souffleur.runs.run import RunItem, RunOptions, RunResult

if TYPE_CHECKING:
    from souffleur.knowledge.knowledge_base import KnowledgeBase


async def run_purge(knowledge: "KnowledgeBase", errand: RunOptions) -> RunResult:
    """Erase tombstones, the oldest first, idle words of the ledger, and the records of old runs."""
    memories = await find_purgeable(knowledge, errand.now, user_id=errand.user_id)
    report = RunResult("purge", errand, due=len(memories))
    why = f"forgotten more than {TOMBSTONE_KEPT_FOR.days} days ago"
    most = errand.limits.deletions
    with report.until_the_store_fails():
        for memory in memories:
            if report.is_over():
                return report
            if most is not None and report.count("PURGE") >= most:
                report.stopped = f"it may erase {most}"
                return report
            if not errand.dry_run:
                await purge(knowledge, memory)
            report.lines.append(RunItem(memory, "PURGE", why))
            errand.step(len(report.lines), report.due)
    if errand.dry_run or report.stopped:
        return report
    await purge_idle(knowledge, errand.now, user_id=errand.user_id)
    if errand.user_id is None:
        await run_log.drop_old(knowledge.journal, errand.now)
    return report
