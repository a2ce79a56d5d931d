"""The consolidation run: old memories and expiring episodes become fewer."""

from typing import TYPE_CHECKING

from souffleur.errors import StoreError
from souffleur.knowledge.memory import Memory
from souffleur.knowledge.upkeep import grouping
from souffleur.runs.run import RunItem, RunOptions, RunResult, item_for, side_by_side

if TYPE_CHECKING:
    from souffleur.agents.consolidator import Consolidator
    from souffleur.knowledge.knowledge_base import KnowledgeBase

Group = list[Memory]


async def run_consolidate(
    knowledge: "KnowledgeBase", consolidator: "Consolidator", options: RunOptions
) -> RunResult:
    """Make fewer memories of each group that is near enough (see `knowledge.grouping`)."""
    owners = await grouping.users_with_candidates(knowledge, options.now, options.user_id)
    work = {
        user_id: await grouping.find_groups(knowledge, user_id, options.now)
        for user_id in owners
        if user_id not in options.resting
    }
    result = RunResult("consolidate", options, due=sum(map(len, work.values())))

    async def one(group: Group) -> list[RunItem]:
        try:
            entries = await consolidator.run(group, now=options.now, dry_run=options.dry_run)
        except StoreError:
            raise
        except Exception as error:  # noqa: BLE001  the worker's edge: the group stays as it is
            return [result.failed_item(group[0], error)]
        if not entries:
            return [RunItem(group[0], "CHANGED", "one of the group was changed meanwhile")]
        items = []
        for entry in entries:
            if entry.at == options.now:  # else it was decided, and paid for, by a former run
                result.spend(entry.cost)
            merged = entry.changes[0].after if entry.changes else group[0]
            items.append(item_for(merged, entry))
        return items

    await side_by_side(result, work, one)
    return result
