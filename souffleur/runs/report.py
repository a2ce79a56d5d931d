"""The report run: records the numbers of the store, to compare them with other days."""

from typing import TYPE_CHECKING

from souffleur.knowledge.upkeep.quality import measure
from souffleur.runs.run import RunOptions, RunResult

if TYPE_CHECKING:
    from souffleur.knowledge.knowledge_base import KnowledgeBase


async def run_report(knowledge: "KnowledgeBase", options: RunOptions) -> RunResult:
    """Count what is in the store, and what is wrong with it; without words, so it may be kept."""
    from souffleur.reporting.report import health

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
        "contradictions": len(quality.contradictions),
        "failures": len(quality.failures),
    }
    return result
