"""The runs that ask a model: review, audit, consolidate, boundaries, cues, profile."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING

from souffleur.agents.auditor import is_due, is_read
from souffleur.agents.reviewer import MAX_TOGETHER, review_id
from souffleur.knowledge import grouping
from souffleur.knowledge.boundary_pairs import BoundaryTask, find_boundary_tasks
from souffleur.knowledge.memory import NOT_LEARNED, Category, Due, Memory, MemoryState, Source
from souffleur.knowledge.operation import Delete, LedgerEntry, entry_id
from souffleur.service.run import RunItem, RunOptions, RunResult, item_for, side_by_side

if TYPE_CHECKING:
    from souffleur.agents.auditor import Auditor
    from souffleur.agents.boundary_linker import BoundaryLinker
    from souffleur.agents.consolidator import Consolidator
    from souffleur.agents.cue_writer import CueWriter
    from souffleur.agents.reviewer import Decision, MemoryReviewer
    from souffleur.knowledge.knowledge_base import KnowledgeBase
    from souffleur.service.summaries import DuePortrait, Summaries


SOON = timedelta(days=14)
"""Time within which memories become due that fill up a review, so that fewer are needed."""
MAX_SOON = 100
"""Maximum memories read to fill up the reviews of a user."""
REVIEWED_DUE = (Due.PROMOTION, Due.REVIEW)
"""Reasons of due memories that a reviewer decides on."""


async def run_review(
    knowledge: "KnowledgeBase", reviewer: "MemoryReviewer", options: RunOptions
) -> RunResult:
    """Have a model decide on what is due for review, up to ten memories of a user together."""
    now, user_id, limit = options.now, options.user_id, options.limits.memories
    due = await knowledge.count_due(now, REVIEWED_DUE, user_id=user_id)
    result = RunResult("review", options, due=due)
    memories = await knowledge.due(now, REVIEWED_DUE, user_id=user_id, limit=limit)
    max_deletions = result.max_deletions(len(memories))

    async def one(some: Sequence[Memory]) -> list[RunItem]:
        # Decided before for this state (refused, or waits for the user's yes): costs no call.
        ids = {entry_id(review_id(memory), 0): memory for memory in some}
        decided = {entry.id: entry for entry in await knowledge.journal.get_entries(list(ids))}
        items = [item_for(ids[id], entry) for id, entry in decided.items()]
        left = [memory for id, memory in ids.items() if id not in decided]
        for decision in await reviewer.run(left, now) if left else ():
            result.spend(decision.verdict.cost)
            count = result.count("DELETE") + sum(item.op == "DELETE" for item in items)
            may_delete = count < max_deletions
            items.append(await _carry_out(knowledge, decision, result.options, may_delete))
        return items

    work = _together(memories, MAX_TOGETHER)
    for user_id, parts in work.items():
        every = await knowledge.due(now + SOON, REVIEWED_DUE, user_id=user_id, limit=MAX_SOON)
        soon = [one for one in every if one.due_at and one.due_at > now]
        parts[:] = [_filled(part, soon) for part in parts]
    await side_by_side(result, work, one, lambda some: some[0])
    if due > len(memories) and not result.stopped:
        result.stopped = f"it may look at {limit} of {due}"
    return result


def _filled(part: list[Memory], soon: Sequence[Memory]) -> list[Memory]:
    """Return memories that are due, and in what is left of their request, some that soon are."""
    here = part[0].agent_id, part[0].sphere
    alike = [one for one in soon if (one.agent_id, one.sphere) == here]
    return [*part, *alike[: MAX_TOGETHER - len(part)]]


def _together(memories: Iterable[Memory], most: int) -> dict[str, list[list[Memory]]]:
    """Return by user the memories of one persona and sphere, as a list for each request."""
    alike: defaultdict[tuple[str, str, str], list[Memory]] = defaultdict(list)
    for memory in memories:
        alike[memory.user_id, memory.agent_id, memory.sphere].append(memory)
    work: defaultdict[str, list[list[Memory]]] = defaultdict(list)
    for (user_id, _, _), mine in alike.items():
        work[user_id] += [mine[at : at + most] for at in range(0, len(mine), most)]
    return work


async def _carry_out(
    knowledge: "KnowledgeBase", decision: "Decision", options: RunOptions, may_delete: bool
) -> RunItem:
    op, memory, trail = decision.op, decision.memory, getattr(decision.op, "trail", ())
    if isinstance(op, Delete) and not may_delete:
        return RunItem(memory, "WAITS", "it would be deleted, but enough were in this run", trail)
    if options.dry_run:
        return RunItem(memory, op.op, op.reason, trail)
    current = await knowledge.get(memory.id, user_id=memory.user_id)
    if current.revision != memory.revision:
        return RunItem(memory, "CHANGED", "it was changed while it was thought about", trail)
    (entry,) = await knowledge.apply(decision.verdict)
    return item_for(memory, entry, trail)


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


async def run_audit(
    knowledge: "KnowledgeBase", auditor: "Auditor", options: RunOptions
) -> RunResult:
    """Read all memories of each user together, by sphere, if there are new ones after a week."""
    spheres: defaultdict[tuple[str, str], list[Memory]] = defaultdict(list)
    for memory in await knowledge.list(options.user_id, now=options.now):
        if is_read(memory) and memory.user_id not in options.resting:
            spheres[memory.user_id, memory.sphere].append(memory)
    work: defaultdict[str, list[Memory]] = defaultdict(list)
    for (user_id, sphere), memories in spheres.items():
        status = await knowledge.sessions.portrait_status(user_id, sphere)
        if is_due(memories, status, options.now):
            work[user_id].append(memories[-1])
    result = RunResult("audit", options, due=sum(map(len, work.values())))

    async def one(latest: Memory) -> list[RunItem]:
        entries = await auditor.run(
            latest.user_id, latest.sphere, now=options.now, dry_run=options.dry_run
        )
        for entry in entries:
            result.spend(entry.cost)
        return [
            item_for(entry.changes[-1].after if entry.changes else latest, entry)
            for entry in entries
        ]

    await side_by_side(result, work, one, lambda latest: latest)
    return result


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


async def run_cues(
    knowledge: "KnowledgeBase", writer: "CueWriter", options: RunOptions
) -> RunResult:
    """Write cues for memories that no model wrote, `MAX_AT_ONCE` memories in a request."""
    known = await knowledge.list(options.user_id, now=options.now)
    bare = [one for one in known if _lacks_cues(one) and one.user_id not in options.resting]
    work, result = _together(bare, MAX_AT_ONCE), RunResult("cues", options, due=len(bare))

    async def one(part: list[Memory]) -> list[RunItem]:
        entries = await writer.run(part, now=options.now, dry_run=options.dry_run)
        for entry in entries:
            result.spend(entry.cost)
        named = [entry for entry in entries if entry.op == "CUE"]
        changed = {change.after.id: entry for entry in named for change in entry.changes}
        return _items(part, changed)

    await side_by_side(result, work, one, lambda part: part[0])
    return result


def _lacks_cues(memory: Memory) -> bool:
    """Return whether cues are to be written for a memory; a judge gives its own memories theirs."""
    written = memory.category in NOT_LEARNED or memory.source is Source.BACKGROUND_AI
    return not (memory.cues or written)


async def run_profile(
    knowledge: "KnowledgeBase", summaries: "Summaries", options: RunOptions
) -> RunResult:
    """Write each portrait that is due: after ten episodes, a month, or big news."""
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
