"""The contradictions run: of new memories and older ones that cannot both be true, one ends."""

from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from souffleur.errors import StoreError
from souffleur.knowledge.upkeep import run_log
from souffleur.knowledge.upkeep.conflict_sets import (
    ConflictSet,
    find_conflict_sets,
    users_with_candidates,
)
from souffleur.runs.run import RunItem, RunOptions, RunResult, item_for, side_by_side

if TYPE_CHECKING:
    from souffleur.agents.conflict_resolver import ConflictResolver
    from souffleur.knowledge.knowledge_base import KnowledgeBase

LOOKBACK_OVERLAP = timedelta(days=2)
"""A memory is as old as its turn, and may have been judged later, when a model was out of reach."""
MAX_RUNS_READ = 20
"""Maximum records of former runs read to find the last complete one."""


async def run_contradictions(
    knowledge: "KnowledgeBase", arbiter: "ConflictResolver", options: RunOptions
) -> RunResult:
    """Judge what was learned since the last complete run against what was known before."""
    since = await _done_until(knowledge, options.user_id)
    work: defaultdict[str, list[ConflictSet]] = defaultdict(list)
    for user_id in await users_with_candidates(knowledge, options.now, since, options.user_id):
        if user_id not in options.resting:
            work[user_id] = await find_conflict_sets(knowledge, user_id, options.now, since)
    result = RunResult("contradictions", options, due=sum(map(len, work.values())))

    async def one(pair: ConflictSet) -> Sequence[RunItem]:
        try:
            entries = await arbiter.run(pair, now=options.now, dry_run=options.dry_run)
        except StoreError:
            raise
        except Exception as error:  # noqa: BLE001  the worker's edge: both stay as they are
            return [result.failed_item(pair.memory, error)]
        for entry in entries:
            if entry.at == options.now:  # else it was decided, and paid for, by a former run
                result.spend(entry.cost)
        return [
            item_for(entry.changes[-1].after if entry.changes else pair.memory, entry)
            for entry in entries
        ]

    await side_by_side(result, work, one)
    return result


async def _done_until(knowledge: "KnowledgeBase", user_id: str | None) -> datetime | None:
    """Return when the last complete run over these memories began; `None` if there was none."""
    records = await run_log.latest(knowledge.journal, name="contradictions", limit=MAX_RUNS_READ)
    whole = (
        one.began
        for one in records
        if not one.stopped and not one.counts.get("FAILED") and one.of_user in {None, user_id}
    )
    began = next(whole, None)
    return began - LOOKBACK_OVERLAP if began else None
