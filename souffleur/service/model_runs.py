"""The runs that ask a model: review, consolidate, contradictions, boundaries, cues, profile."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from souffleur.agents.reviewer import review_id
from souffleur.knowledge import grouping
from souffleur.knowledge.memory import NARRATIVE, Category, Due, Memory, MemoryState
from souffleur.knowledge.operation import Delete, LedgerEntry, entry_id
from souffleur.knowledge.pairs import (
    BoundaryTask,
    ConflictSet,
    find_boundary_tasks,
    find_conflict_sets,
    users_with_candidates,
)
from souffleur.knowledge.store.runs import run_log
from souffleur.service.run import RunItem, RunOptions, RunResult, item_for, side_by_side

if TYPE_CHECKING:
    from souffleur.agents.boundary_linker import BoundaryLinker
    from souffleur.agents.conflict_resolver import ConflictResolver
    from souffleur.agents.consolidator import Consolidator
    from souffleur.agents.cue_writer import CueWriter
    from souffleur.agents.reviewer import Decision, MemoryReviewer
    from souffleur.knowledge.knowledge_base import KnowledgeBase
    from souffleur.service.summaries import DuePortrait, Summaries


REVIEWED_DUE = (Due.PROMOTION, Due.REVIEW)
"""Reasons of due memories that a reviewer decides on."""


async def run_review(
    knowledge: "KnowledgeBase", reviewer: "MemoryReviewer", options: RunOptions
) -> RunResult:
    """Have a model decide on each memory that is due for review, users concurrently."""
    now, user_id, limit = options.now, options.user_id, options.limits.memories
    due = await knowledge.count_due(now, REVIEWED_DUE, user_id=user_id)
    result = RunResult("review", options, due=due)
    memories = await knowledge.due(now, REVIEWED_DUE, user_id=user_id, limit=limit)
    max_deletions = result.max_deletions(len(memories))
    by_user: defaultdict[str, list[Memory]] = defaultdict(list)
    for memory in memories:
        by_user[memory.user_id].append(memory)

    async def one(memory: Memory) -> list[RunItem]:
        # Decided before for this state (refused, or waits for the user's yes): costs no call.
        if decided := await knowledge.journal.get_entries([entry_id(review_id(memory), 0)]):
            return [item_for(memory, decided[0])]
        decision = await reviewer.run(memory, now)
        result.spend(decision.verdict.cost)
        return [await _carry_out(knowledge, decision, result, max_deletions)]

    await side_by_side(result, by_user, one, lambda memory: memory)
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


Group = list[Memory]


async def run_consolidate(
    knowledge: "KnowledgeBase", consolidator: "Consolidator", options: RunOptions
) -> RunResult:
    """Merge the memories of each group with nearly the same content (see `knowledge.grouping`)."""
    owners = await grouping.users_with_candidates(knowledge, options.now, options.user_id)
    work = {
        user_id: await grouping.find_groups(knowledge, user_id, options.now)
        for user_id in owners
        if user_id not in options.resting
    }
    result = RunResult("consolidate", options, due=sum(map(len, work.values())))

    async def one(group: Group) -> list[RunItem]:
        entries = await consolidator.run(group, now=options.now, dry_run=options.dry_run)
        if not entries:
            return [RunItem(group[0], "CHANGED", "one of the group was changed meanwhile")]
        items = []
        for entry in entries:
            if entry.at == options.now:  # else it was decided, and paid for, by a former run
                result.spend(entry.cost)
            merged = entry.changes[0].after if entry.changes else group[0]
            items.append(item_for(merged, entry))
        return items

    await side_by_side(result, work, one, lambda group: group[0])
    return result


LOOKBACK_OVERLAP = timedelta(days=2)
"""Overlap of two runs: a memory has the time of its turn, which may have been judged later."""
MAX_RUNS_READ = 20
"""Maximum records of former runs read to find the last complete one."""


async def run_contradictions(
    knowledge: "KnowledgeBase", resolver: "ConflictResolver", options: RunOptions
) -> RunResult:
    """Compare the memories since the last complete run with earlier memories."""
    since = await _done_until(knowledge, options.user_id)
    work: defaultdict[str, list[ConflictSet]] = defaultdict(list)
    for user_id in await users_with_candidates(knowledge, options.now, since, options.user_id):
        if user_id not in options.resting:
            work[user_id] = await find_conflict_sets(knowledge, user_id, options.now, since)
    result = RunResult("contradictions", options, due=sum(map(len, work.values())))

    async def one(pair: ConflictSet) -> Sequence[RunItem]:
        entries = await resolver.run(pair, now=options.now, dry_run=options.dry_run)
        for entry in entries:
            if entry.at == options.now:  # else it was decided, and paid for, by a former run
                result.spend(entry.cost)
        return [
            item_for(entry.changes[-1].after if entry.changes else pair.memory, entry)
            for entry in entries
        ]

    await side_by_side(result, work, one, lambda pair: pair.memory)
    return result


async def _done_until(knowledge: "KnowledgeBase", user_id: str | None) -> datetime | None:
    """Return when the last complete run over these memories began; `None` if there is no run."""
    records = await run_log.latest(knowledge.journal, name="contradictions", limit=MAX_RUNS_READ)
    whole = (
        one.began
        for one in records
        if not one.stopped and not one.counts.get("FAILED") and one.of_user in {None, user_id}
    )
    began = next(whole, None)
    return began - LOOKBACK_OVERLAP if began else None


def _items(memories: Sequence[Memory], entries: Mapping[str, LedgerEntry]) -> list[RunItem]:
    """Return an item for each memory: its entry, or the note that it was changed meanwhile."""
    return [
        item_for(one, entries[one.id])
        if one.id in entries
        else RunItem(one, "CHANGED", "it was changed meanwhile")
        for one in memories
    ]


async def run_boundaries(
    knowledge: "KnowledgeBase", linker: "BoundaryLinker", options: RunOptions
) -> RunResult:
    """Judge which memories each boundary speaks of; skips pairs that were judged before."""
    work: defaultdict[str, list[BoundaryTask]] = defaultdict(list)
    known = await knowledge.list(options.user_id, now=options.now)
    for task in find_boundary_tasks([one for one in known if one.user_id not in options.resting]):
        work[task.boundaries[0].user_id].append(task)
    due = sum(len(task.boundaries) for mine in work.values() for task in mine)
    result = RunResult("boundaries", options, due=due)

    async def one(task: BoundaryTask) -> list[RunItem]:
        entries = await linker.run(task, now=options.now, dry_run=options.dry_run)
        for entry in entries:
            result.spend(entry.cost)
        linked = {entry.details["target"]: entry for entry in entries if entry.op == "GUARD"}
        return _items(task.boundaries, linked)

    await side_by_side(result, work, one, lambda task: task.boundaries[0])
    return result


MAX_AT_ONCE = 25
"""Maximum memories in a request."""

_WITHOUT_CUES = {*NARRATIVE, Category.SYSTEM}


async def run_cues(
    knowledge: "KnowledgeBase", writer: "CueWriter", options: RunOptions
) -> RunResult:
    """Write cues for the active memories without cues, `MAX_AT_ONCE` memories in a request."""
    work = await _find_work(knowledge, options)
    result = RunResult(
        "cues", options, due=sum(len(part) for mine in work.values() for part in mine)
    )

    async def one(part: list[Memory]) -> list[RunItem]:
        entries = await writer.run(part, now=options.now, dry_run=options.dry_run)
        for entry in entries:
            result.spend(entry.cost)
        named = [entry for entry in entries if entry.op == "CUE"]
        changed = {change.after.id: entry for entry in named for change in entry.changes}
        return _items(part, changed)

    await side_by_side(result, work, one, lambda part: part[0])
    return result


async def _find_work(
    knowledge: "KnowledgeBase", options: RunOptions
) -> dict[str, list[list[Memory]]]:
    """Return the memories without cues by user, as a list for each request."""
    together: defaultdict[tuple[str, str, str], list[Memory]] = defaultdict(list)
    for memory in await knowledge.list(options.user_id, now=options.now):
        wanted = not memory.cues and memory.category not in _WITHOUT_CUES
        if wanted and memory.user_id not in options.resting:
            together[memory.user_id, memory.agent_id, memory.sphere].append(memory)
    work: defaultdict[str, list[list[Memory]]] = defaultdict(list)
    for (user_id, _, _), mine in together.items():
        work[user_id] += [mine[at : at + MAX_AT_ONCE] for at in range(0, len(mine), MAX_AT_ONCE)]
    return dict(work)


async def run_profile(
    knowledge: "KnowledgeBase", summaries: "Summaries", options: RunOptions
) -> RunResult:
    """Write each portrait that is due: after five episodes, a week, or a big event."""
    due: defaultdict[str, list[tuple[Memory, DuePortrait]]] = defaultdict(list)
    for user_id, anchor in (await _talked_with(knowledge, options.user_id)).items():
        if user_id not in options.resting:
            due[user_id] += [(anchor, one) for one in await summaries.due(user_id)]
    result = RunResult("profile", options, due=sum(map(len, due.values())))

    async def one(task: tuple[Memory, "DuePortrait"]) -> Sequence[RunItem]:
        anchor, wanted = task
        if options.dry_run:
            return [RunItem(anchor, "PORTRAY", wanted.why)]
        portrait = await summaries.write_portrait(anchor.user_id, wanted.why, wanted.sphere)
        for entry in await knowledge.history(portrait.id, user_id=portrait.user_id):
            result.spend(entry.cost)
        return [RunItem(portrait, "PORTRAY", wanted.why)]

    await side_by_side(result, due, one, lambda task: task[0])
    return result


async def _talked_with(knowledge: "KnowledgeBase", user_id: str | None) -> dict[str, Memory]:
    """Return the users with an episode or a withdrawn portrait, each with that memory."""
    talked_with, withdrawn = (
        (Category.EPISODE, MemoryState.ACTIVE),
        (Category.PROFILE, MemoryState.FORGOTTEN),
    )
    found: dict[str, Memory] = {}
    for category, state in (talked_with, withdrawn):
        for memory in await knowledge.list(user_id, states=(state,), category=category):
            found.setdefault(memory.user_id, memory)
    return dict(sorted(found.items()))
