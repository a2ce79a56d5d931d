"""The consolidation run: old memories and expiring episodes become fewer."""

from typing import TYPE_CHECKING

from souffleur.errors import StoreError
from souffleur.knowledge.memory import Memory
from souffleur.knowledge.upkeep import grouping
from souffleur.runs.run import RunItem, RunOptions, RunResult, side_by_side, told

if TYPE_CHECKING:
    from souffleur.agents.consolidator import Consolidator
    from souffleur.knowledge.knowledge_base import KnowledgeBase

Group = list[Memory]


async def run_consolidate(
    knowledge: "KnowledgeBase", consolidator: "Consolidator", errand: RunOptions
) -> RunResult:
    """Make fewer memories of each group that is near enough (see `knowledge.grouping`)."""
    users = await grouping.users_with_candidates(knowledge, errand.now, errand.user_id)
    work = {
        user_id: await grouping.find_groups(knowledge, user_id, errand.now) for user_id in users
    }
    report = RunResult("consolidate", errand, due=sum(map(len, work.values())))

    async def one(group: Group) -> list[RunItem]:
        try:
            outcomes = await consolidator.run(group, now=errand.now, dry_run=errand.dry_run)
        except StoreError:
            raise
        except Exception as error:  # noqa: BLE001  the worker's edge: the group stays as it is
            return [report.failed(group[0], error)]
        if not outcomes:
            return [RunItem(group[0], "CHANGED", "one of the group was changed meanwhile")]
        lines = []
        for outcome in outcomes:
            if outcome.at == errand.now:  # else it was decided, and paid for, by a former run
                report.spend(outcome.cost)
            merged = outcome.changes[0].after if outcome.changes else group[0]
            lines.append(told(merged, outcome))
        return lines

    await side_by_side(report, work, one)
    return report
