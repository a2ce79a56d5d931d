"""The boundaries run: each boundary is linked with the memories that it speaks of."""

from collections import defaultdict
from typing import TYPE_CHECKING

from souffleur.errors import StoreError
from souffleur.knowledge.upkeep.boundaries import BoundaryTask, find_tasks
from souffleur.runs.run import RunItem, RunOptions, RunResult, item_for, side_by_side

if TYPE_CHECKING:
    from souffleur.agents.boundary_linker import BoundaryLinker
    from souffleur.knowledge.knowledge_base import KnowledgeBase


async def run_boundaries(
    knowledge: "KnowledgeBase", linker: "BoundaryLinker", options: RunOptions
) -> RunResult:
    """Judge what boundaries speak of among the active memories that they were not judged against.

    A boundary counts once for each request.
    """
    work: defaultdict[str, list[BoundaryTask]] = defaultdict(list)
    known = await knowledge.list(options.user_id, now=options.now)
    for task in find_tasks([one for one in known if one.user_id not in options.resting]):
        work[task.boundaries[0].user_id].append(task)
    due = sum(len(task.boundaries) for mine in work.values() for task in mine)
    result = RunResult("boundaries", options, due=due)

    async def one(task: BoundaryTask) -> list[RunItem]:
        try:
            entries = await linker.run(task, now=options.now, dry_run=options.dry_run)
        except StoreError:
            raise
        except Exception as error:  # noqa: BLE001  the worker's edge: the links stay as they are
            return [result.failed_item(task.boundaries[0], error)]
        for entry in entries:
            result.spend(entry.cost)
        linked = {entry.details["target"]: entry for entry in entries if entry.op == "GUARD"}
        return [
            item_for(boundary, linked[boundary.id])
            if boundary.id in linked
            else RunItem(boundary, "CHANGED", "it was changed meanwhile")
            for boundary in task.boundaries
        ]

    await side_by_side(result, work, one)
    return result
