"""Undoing a turn; and erasing a user, a turn, a topic or a memory for good.

Erasing runs while nothing else changes the user's records.
"""

from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

from souffleur.errors import InputError, NotFoundError, UndoError
from souffleur.knowledge import undo
from souffleur.knowledge.forgetting.request import MOST_DOUBTFUL, Doubt
from souffleur.knowledge.forgetting.topic import (
    DOUBTFUL,
    MAY_TELL,
    TopicPreview,
    Trace,
    removal_notes,
)
from souffleur.knowledge.identity import check_id
from souffleur.knowledge.memory import Memories, Memory
from souffleur.knowledge.operation import Actor, LedgerEntries, LedgerEntry
from souffleur.knowledge.privacy.secrets import mask
from souffleur.knowledge.proposals import withdraw, withdrawn
from souffleur.knowledge.search.query import CLEARLY_MEANT, Query
from souffleur.knowledge.store import erasing
from souffleur.knowledge.store.codecs import to_memories
from souffleur.knowledge.store.erasing import Erased
from souffleur.knowledge.store.topics import Forgotten, Removal, Stage, forgotten, make_order
from souffleur.knowledge.text.plain import is_blank, mend
from souffleur.knowledge.turn import Turn, shorten

if TYPE_CHECKING:
    from souffleur.knowledge.knowledge_base import KnowledgeBase

Retell = Callable[[Memories], Awaitable[None]]
"""Lets a model rewrite the waiting episodes and the given portraits."""

MOST_NEAR = 50
"""Maximum number of memories that the search for a topic returns."""


async def undo_turn(
    knowledge: "KnowledgeBase", turn: Turn, *, by: Actor, now: datetime
) -> LedgerEntries:
    """Undo the changes that rest on a turn alone, newest first; end its waiting proposals.

    Skips changes that later ones depend on. Returns the UNDO entries.
    """
    undone = []
    for entry in await _resting_on(knowledge, turn):
        if entry.waits:
            why = "its turn was replaced, and is judged again"
            await withdraw(knowledge.journal, entry, withdrawn(entry, why))
        elif entry.op != "UNDO" and undo.can_undo(entry):
            with suppress(UndoError):  # the memory was changed again since: its later words stay
                user_id = turn.user_id
                undone.append(await knowledge.undo(entry.id, user_id=user_id, by=by, now=now))
    return undone


async def _resting_on(knowledge: "KnowledgeBase", turn: Turn) -> LedgerEntries:
    """Return the entries that rest on this turn alone, the newest first."""
    journal = knowledge.journal
    found = await journal.entries(turn.user_id, turn_id=turn.id)
    ids = {id for entry in found for id in entry.turn_ids if id != turn.id}
    others = {one.id: one for one in await journal.get_turns(sorted(ids))}

    def rests_elsewhere(entry: LedgerEntry) -> bool:
        beside = [others[id] for id in entry.turn_ids if id in others]
        return undo.rests_elsewhere(entry, turn.id, beside)

    return [entry for entry in reversed(found) if not rests_elsewhere(entry)]


async def erase_user(knowledge: "KnowledgeBase", user_id: str) -> Erased:
    """Erase everything of a user. Raises NotFoundError if there is nothing."""
    async with knowledge.alone(check_id(user_id)):
        erased = await erasing.erase_user(knowledge.memories, knowledge.journal, user_id)
    return await _cleaned(knowledge, erased)


async def erase_turn(
    knowledge: "KnowledgeBase", turn_id: str, *, user_id: str, by: Actor, now: datetime
) -> Erased:
    """Erase the words of a turn and the memories that rest on it alone.

    `turn_id` is the host's id of the turn, or its own id in the evidence of memories. Memories that
    the turn had replaced are in force again. Raises NotFoundError if this user has no such turn.
    """
    turn = await erasing.find_turn(knowledge.journal, turn_id, user_id)
    for entry in await _resting_on(knowledge, turn):
        if entry.op == "UPDATE" and undo.can_undo(entry):
            with suppress(UndoError):  # the memory was changed again since: its later words stay
                await knowledge.undo(entry.id, user_id=user_id, by=by, now=now)
    async with knowledge.alone(user_id):
        called = await knowledge.writer.called(user_id, turn.agent_id)
        erased = await erasing.erase_turn(knowledge.memories, knowledge.journal, turn, called)
    return await _cleaned(knowledge, erased)


async def _cleaned(knowledge: "KnowledgeBase", erased: Erased) -> Erased:
    """Clear cached texts and rewrite the files; return the receipt with the remarks."""
    knowledge.embedder.forget_texts()
    return replace(erased, remarks=tuple(await knowledge.compact()))


async def preview_topic(
    knowledge: "KnowledgeBase", topic: str, *, user_id: str, now: datetime
) -> TopicPreview:
    """Return the records that mention a topic or rest on it, each with its reason; changes nothing.

    Raises InputError for a blank topic.
    """
    if not isinstance(topic, str) or is_blank(topic):
        raise InputError("say what is to be forgotten: a name, or a few words")
    topic = mend(topic)
    query = Query(check_id(user_id), shorten(topic), now, sphere=None, limit=MOST_NEAR)
    near = {
        found.memory.id: f"it is near the topic ({found.relevance:.2f})"
        for found in await knowledge.search(query)
        if found.relevance >= CLEARLY_MEANT
    }
    called = await knowledge.writer.called(user_id, "default")
    traces = await knowledge.removals.trace(user_id, topic, near, called)
    return TopicPreview(user_id, topic, traces, list(removal_notes(knowledge.memories.shared)))


async def forget_topic(
    knowledge: "KnowledgeBase",
    topic: str,
    ids: Sequence[str],
    *,
    user_id: str,
    by: Actor,
    now: datetime,
    retell: Retell | None = None,
) -> Forgotten:
    """Erase the records of a topic's preview that have these ids.

    Raises InputError for a blank topic, NotFoundError if no id is in the preview any more.
    """
    preview = await preview_topic(knowledge, topic, user_id=user_id, now=now)
    topic, wanted = preview.topic, set(ids)
    chosen = [trace for trace in preview.traces if trace.id in wanted]
    if not chosen:
        raise NotFoundError(
            f"nothing with these ids tells of {topic!r} any more: look at its preview again"
        )
    return await _remove(knowledge, topic, chosen, user_id=user_id, by=by, now=now, retell=retell)


async def erase_memory(
    knowledge: "KnowledgeBase",
    memory_id: str,
    *,
    user_id: str,
    turns: bool,
    by: Actor,
    now: datetime,
    retell: Retell | None = None,
) -> Forgotten:
    """Erase a memory, its earlier versions, and the records that repeat it.

    With `turns`, the raw turns that it rests on are erased as well. Raises NotFoundError.
    """
    memory = await knowledge.get(memory_id, user_id=user_id)
    called = await knowledge.writer.called(user_id, memory.agent_id)
    near = {memory.id: "it is to go"}
    kept = () if turns else ("turn", "window", "segment")
    traces = await knowledge.removals.trace(user_id, "", near, called)
    doubtful = [one for one in traces if one.why in DOUBTFUL and one.kind not in kept]
    repeating, unjudged = await _judge_traces(knowledge, memory, doubtful)
    near |= dict.fromkeys(repeating, MAY_TELL)  # records that repeat these memories go as well
    traces = await knowledge.removals.trace(user_id, "", near, called)
    chosen = [one for one in traces if (one.sure or one.id in repeating) and one.kind not in kept]
    gone = await _remove(knowledge, "", chosen, user_id=user_id, by=by, now=now, retell=retell)
    remark = f"{unjudged} other memories may tell of it, and no model could be asked: read them"
    return replace(gone, remarks=(*gone.remarks, remark)) if unjudged else gone


async def _judge_traces(
    knowledge: "KnowledgeBase", memory: Memory, doubtful: Sequence[Trace]
) -> tuple[set[str], int]:
    """Return the ids of the records that repeat a memory, and the number of unjudged memories.

    Without a model, raw turns and lines count as repeating it; memories do not, and stay.
    """
    judge = knowledge.judge_told
    asked = doubtful[:MOST_DOUBTFUL] if judge else ()
    lines = tuple(mask("\n".join(one.lines) or one.text, knowledge.withheld) for one in asked)
    doubt = Doubt(memory.user_id, memory.agent_id, (memory.content,), lines)
    answer = await judge(doubt) if judge and lines else None
    repeating = {one.id for one, tells in zip(asked, answer or (), strict=False) if tells}
    left = doubtful if answer is None else doubtful[len(asked) :]
    repeating |= {one.id for one in left if one.kind != "memory"}
    return repeating, sum(one.kind == "memory" for one in left)


async def _remove(
    knowledge: "KnowledgeBase",
    topic: str,
    chosen: Sequence[Trace],
    *,
    user_id: str,
    by: Actor,
    now: datetime,
    retell: Retell | None,
) -> Forgotten:
    removals = knowledge.removals
    called = await knowledge.writer.called(user_id, "default")
    subject = await removals.subject(user_id, topic, chosen, called)
    order = make_order(user_id, chosen, subject, by=by, now=now, retell=retell is not None)
    async with knowledge.alone(user_id):
        await removals.begin(order)
        await removals.carry_out(order)
    if retell:
        await retell(to_memories(await knowledge.memories.get(order.cut_ids("portrait"))))
    async with knowledge.alone(user_id):
        return await _conclude(knowledge, order)


async def _conclude(knowledge: "KnowledgeBase", order: Removal) -> Forgotten:
    """Write the receipt of an order whose records are erased, and rewrite the files."""
    if order.stage is Stage.RECORDS:
        await knowledge.removals.sweep(order)
        order = await knowledge.removals.close(order)
    remarks = await knowledge.compact()
    await knowledge.removals.end(order)
    return forgotten(order, remarks)


async def finish_removals(knowledge: "KnowledgeBase", user_id: str | None = None) -> int:
    """Finish the removals that a crash interrupted; return their number."""
    orders = await knowledge.removals.waiting(user_id)
    for order in orders:
        if order.stage is Stage.RECORDS:
            await knowledge.removals.carry_out(order)
        await _conclude(knowledge, order)
    return len(orders)
