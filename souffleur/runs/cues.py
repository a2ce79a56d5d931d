"""The cues run: memories without cues, such as older or imported ones, are given some."""

from collections import defaultdict
from typing import TYPE_CHECKING

from souffleur.errors import StoreError
from souffleur.knowledge.memory import NARRATIVE, Category, Memory
from souffleur.runs.run import RunItem, RunOptions, RunResult, item_for, side_by_side

if TYPE_CHECKING:
    from souffleur.agents.cue_writer import CueWriter
    from souffleur.knowledge.knowledge_base import KnowledgeBase

MAX_AT_ONCE = 25
"""Memories in one request."""

_WITHOUT_CUES = {*NARRATIVE, Category.SYSTEM}


async def run_cues(
    knowledge: "KnowledgeBase", writer: "CueWriter", options: RunOptions
) -> RunResult:
    """Give cues to the active memories that have none, some at once."""
    work = await _find_work(knowledge, options)
    result = RunResult(
        "cues", options, due=sum(len(part) for mine in work.values() for part in mine)
    )

    async def one(part: list[Memory]) -> list[RunItem]:
        try:
            entries = await writer.run(part, now=options.now, dry_run=options.dry_run)
        except StoreError:
            raise
        except Exception as error:  # noqa: BLE001  the worker's edge: the memories stay as they are
            return [result.failed_item(part[0], error)]
        for entry in entries:
            result.spend(entry.cost)
        named = [entry for entry in entries if entry.op == "CUE"]
        changed = {change.after.id: entry for entry in named for change in entry.changes}
        return [
            item_for(memory, changed[memory.id])
            if memory.id in changed
            else RunItem(memory, "CHANGED", "it was changed meanwhile")
            for memory in part
        ]

    await side_by_side(result, work, one)
    return result


async def _find_work(
    knowledge: "KnowledgeBase", options: RunOptions
) -> dict[str, list[list[Memory]]]:
    """Return what has no cues, by user, in parts that are asked for together."""
    together: defaultdict[tuple[str, str, str], list[Memory]] = defaultdict(list)
    for memory in await knowledge.list(options.user_id, now=options.now):
        wanted = not memory.cues and memory.category not in _WITHOUT_CUES
        if wanted and memory.user_id not in options.resting:
            together[memory.user_id, memory.agent_id, memory.sphere].append(memory)
    work: defaultdict[str, list[list[Memory]]] = defaultdict(list)
    for (user_id, _, _), mine in together.items():
        work[user_id] += [mine[at : at + MAX_AT_ONCE] for at in range(0, len(mine), MAX_AT_ONCE)]
    return dict(work)
