"""MemoryReviewer: rounds of thinking, what may be answered when, and what is kept of it."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from souffleur.agents import reviewer
from souffleur.agents.brief import Persona
from souffleur.agents.fields import MAX_REMARK_LENGTH
from souffleur.agents.reviewer import UNDECIDED
from souffleur.agents.structured_chat import StructuredChat
from souffleur.agents.task import Context
from souffleur.errors import AnswerError, EndpointError
from souffleur.knowledge.knowledge_base import KnowledgeBase
from souffleur.knowledge.memory import Due, Memory, MemoryState
from souffleur.knowledge.operation import (
    Actor,
    ActorKind,
    Add,
    Boost,
    Delete,
    Keep,
    Promote,
    Refusal,
    Update,
    derive_id,
)
from tests.build import NOW, an_add, days, keep, turn, verdict
from tests.scripted import Answer, Scripted
from tests.stores import base_of


def says(
    action: str | None = None, query: str | None = None, reason: str = "because", **fields: Any
) -> dict[str, Any]:
    """A round of the reviewer as a model writes it: a decision on m1, or words to look for."""
    decided = [{"id": "m1", "reason": reason, "action": action, **fields}] if action else []
    return {"reason": reason, "query": query, "decisions": decided}


async def due_for(base: KnowledgeBase, what: Due, content: str = "Ann lives in Lyon.") -> Memory:
    """A memory about which this question is due."""
    (entry,) = await base.apply(verdict(an_add(content), who=ActorKind.HOST, name=content))
    if what is Due.PROMOTION:
        for count in range(6):
            boost = Boost(target=entry.memory_ids[0], reason="r")
            await base.apply(verdict(boost, who=ActorKind.HOST, name=(content, count)))
    memory = await base.get(entry.memory_ids[0], user_id=None)
    assert memory.due_for is what
    return memory


async def review_all(
    base: KnowledgeBase, memories: Sequence[Memory], *answers: Answer
) -> tuple[list[reviewer.Decision], Scripted]:
    chat = Scripted(answers)
    context = Context(StructuredChat(chat), base, Persona(user="Ann", assistant="Mo"))
    now = max([NOW + days(1), *(one.due_at for one in memories if one.due_at)])
    return await reviewer.MemoryReviewer(context).run(memories, now), chat


async def review(
    base: KnowledgeBase, memory: Memory, *answers: Answer
) -> tuple[reviewer.Decision, Scripted]:
    (decision,), chat = await review_all(base, [memory], *answers)
    return decision, chat


@pytest.mark.parametrize(
    ("what", "action", "op"),
    [
        (Due.PROMOTION, "PROMOTE", Promote),
        (Due.PROMOTION, "KEEP", Keep),
        (Due.PROMOTION, "DELETE", Delete),
        (Due.REVIEW, "KEEP", Keep),
        (Due.REVIEW, "[delete]", Delete),
        (Due.REVIEW, "UPDATE", Update),
    ],
)
async def test_a_decision_is_an_op(tmp_path: Path, what: Due, action: str, op: type) -> None:
    """Each memory has its question, and nothing is changed before it is carried out."""
    async with base_of(tmp_path) as base:
        memory = await due_for(base, what)
        decision, chat = await review(base, memory, says(action, content="Ann left Lyon."))
        assert isinstance(decision.op, op)
        asked = chat.requests[0].messages[1].content
        assert f"m1 ({reviewer.MARKS[what]}" in asked
        assert await base.get(memory.id, user_id=None) == memory
        (outcome,) = await base.apply(decision.verdict)
        assert (outcome.refused, outcome.by.who) == (None, ActorKind.REVIEWER)
        assert await base.apply(decision.verdict) == [outcome]  # twice is once


async def test_several_are_decided_on_together(tmp_path: Path) -> None:
    """Each with its own reason; the call is paid for once, and what is not decided on is kept."""
    async with base_of(tmp_path) as base:
        memories = [await due_for(base, Due.REVIEW, f"Ann likes tea {n}.") for n in range(3)]
        both = says("DELETE", reason="a trifle")
        both["decisions"].append({"id": "m3", "reason": "it matters", "action": "KEEP"})
        decisions, chat = await review_all(base, memories, both)
        told = [(one.memory.content, one.op.op, one.op.reason) for one in decisions]
        assert told == [
            ("Ann likes tea 0.", "DELETE", "a trifle"),
            ("Ann likes tea 1.", "KEEP", UNDECIDED),
            ("Ann likes tea 2.", "KEEP", "it matters"),
        ]
        assert len(chat.requests) == 1
        assert [one.verdict.cost.get("calls") for one in decisions] == [1, None, None]


async def test_a_half_true_sentence_is_mended(tmp_path: Path) -> None:
    """From what was shown or found; what nobody said is refused."""
    async with base_of(tmp_path) as base:
        memory = await due_for(base, Due.REVIEW, "Ann lives in Lyon with Tom.")
        await keep(base, "Tom went to Oslo in May 2026.")
        for content, refused in (
            ("Ann lives with Eva.", Refusal.UNFOUNDED),
            ("Ann lives in Lyon; Tom went to Oslo in May 2026.", None),
        ):
            decision, _ = await review(base, memory, says("UPDATE", content=content))
            another = decision.verdict.model_copy(update={"id": derive_id(content)})
            (outcome,) = await base.apply(another)
            assert outcome.refused == refused
        assert outcome.changes[0].after.content == content


async def test_what_was_worth_promoting_may_have_faded(tmp_path: Path) -> None:
    """Refused once, and long after it was due again, the question is whether to keep it at all."""
    async with base_of(tmp_path) as base:
        memory = await due_for(base, Due.PROMOTION)
        memory = memory.model_copy(update={"asked_at": NOW - days(9), "asked_value": 2.0})
        chat = Scripted([says("PROMOTE"), says("KEEP")])
        agent = reviewer.MemoryReviewer(Context(StructuredChat(chat), base, Persona(user="Ann")))
        (decision,) = await agent.run([memory], NOW + days(90))
        assert "m1 (stay?" in chat.requests[0].messages[1].content
        assert "m1: only KEEP, UPDATE or DELETE" in chat.requests[1].messages[-1].content
        assert isinstance(decision.op, Keep)


async def test_it_looks_up_before_it_decides(tmp_path: Path) -> None:
    """Memories, episodes and raw turns are found, and the rounds stand in the ledger."""
    async with base_of(tmp_path) as base:
        memory = await due_for(base, Due.REVIEW)
        other = Add(reason="r", quote="", content="Ann sold the flat and went to Oslo.")
        await base.apply(verdict(other, who=ActorKind.HOST, name="other"))
        base.journal.record(turn("the boxes are all in Oslo now", "good", at=memory.due_at))
        await base.embed_turns()
        decision, chat = await review(
            base, memory, says(None, "Oslo flat boxes", "has she moved?"), says("DELETE")
        )
        told = chat.requests[1].messages[-1].content
        assert "Ann sold the flat" in told
        assert "Ann: the boxes are all in Oslo now" in told
        assert "search 1 more" in told
        (outcome,) = await base.apply(decision.verdict)
        (step,) = outcome.details["trail"]
        assert step.startswith("has she moved? | SEARCH Oslo flat boxes | ")
        assert (await base.get(memory.id, user_id=None)).state is MemoryState.FORGOTTEN


TWO = (says(None, "one"), says(None, "two"))


async def test_only_what_is_related_is_shown(tmp_path: Path) -> None:
    """Not the memory itself once more, nor what a search brings for want of anything better."""
    async with base_of(tmp_path) as base:
        memory = await due_for(base, Due.REVIEW)
        other = Add(reason="r", quote="", content="Ann sold the flat and went to Oslo.")
        await base.apply(verdict(other, who=ActorKind.HOST, name="other"))
        search = says(None, "Any idea why docker fails?")
        _, chat = await review(base, memory, search, says("KEEP"))
        question, looked_up = (request.messages[-1].content for request in chat.requests)
        assert question.count(memory.content) == 1
        assert "Oslo" not in looked_up
        assert "(none)" in looked_up


async def test_three_rounds_at_most(tmp_path: Path) -> None:
    """In the third round nothing is looked up any more, and what is not decided on is kept."""
    async with base_of(tmp_path) as base:
        memory = await due_for(base, Due.REVIEW)
        decision, chat = await review(base, memory, *TWO, says("DELETE", "three"))
        assert isinstance(decision.op, Delete)
        assert (len(decision.op.trail), len(chat.requests)) == (2, 3)
        assert "decide now" in chat.requests[2].messages[-1].content
        kept, chat = await review(base, memory, *TWO, says(None, "three"))
        assert (kept.op.op, kept.op.reason, len(chat.requests)) == ("KEEP", UNDECIDED, 3)


async def test_what_was_thought_is_cut(tmp_path: Path) -> None:
    """A novel of a reason or query stands in the ledger with its beginning."""
    async with base_of(tmp_path) as base:
        memory = await due_for(base, Due.REVIEW)
        novel = says(None, "boxes " * 999, "why " * 999)
        decision, _ = await review(base, memory, novel, says("KEEP", None, "why " * 999))
        assert [len(step) for step in decision.op.trail] == [MAX_REMARK_LENGTH]
        assert len(decision.op.reason) == MAX_REMARK_LENGTH


@pytest.mark.parametrize(
    ("faulty", "complaint"),
    [
        (says("PROMOTE"), "m1: only KEEP, UPDATE or DELETE is asked for"),
        (says("UPDATE"), "m1: UPDATE has no content"),
        (says("KEEP", id="m7"), "m7: is none of the memories"),
        (says(), "decisions: are missing"),
        (says(None, "\u200b"), "decisions: are missing"),
    ],
)
async def test_what_is_not_allowed_is_sent_back_once(
    tmp_path: Path, faulty: Answer, complaint: str
) -> None:
    """A second time, such a decision decides nothing, and the memory is kept."""
    async with base_of(tmp_path) as base:
        memory = await due_for(base, Due.REVIEW)
        decision, chat = await review(base, memory, faulty, says("DELETE"))
        assert complaint in chat.requests[1].messages[-1].content
        assert isinstance(decision.op, Delete)
        decision, chat = await review(base, memory, faulty, faulty)
        assert (decision.op.op, decision.op.reason, len(chat.requests)) == ("KEEP", UNDECIDED, 2)


async def test_what_cannot_be_read_twice_is_an_error(tmp_path: Path) -> None:
    """The memory stays due; what was paid is told."""
    async with base_of(tmp_path) as base:
        memory = await due_for(base, Due.REVIEW)
        with pytest.raises(AnswerError) as caught:
            await review(base, memory, "hm", "hm")
        assert caught.value.usage["calls"] == 2


async def test_a_failed_call_changes_nothing(tmp_path: Path) -> None:
    """The memory stays due as it was."""
    async with base_of(tmp_path) as base:
        memory = await due_for(base, Due.REVIEW)
        with pytest.raises(EndpointError) as caught:
            await review(base, memory, TWO[0], EndpointError("busy"))
        assert caught.value.usage["calls"] == 1
        assert await base.get(memory.id, user_id=None) == memory


async def test_a_core_memory_is_not_deleted_by_a_reviewer(tmp_path: Path) -> None:
    """What became core meanwhile is refused, and stays."""
    async with base_of(tmp_path) as base:
        memory = await due_for(base, Due.PROMOTION)
        decision, _ = await review(base, memory, says("DELETE"))
        promote = Promote(target=memory.id, reason="r")
        await base.apply(verdict(promote, by=Actor(who=ActorKind.HOST), name="promote"))
        (outcome,) = await base.apply(decision.verdict)
        assert outcome.refused == "protected"


def test_the_graph_is_the_picture(base: KnowledgeBase) -> None:
    """The nodes are those the docstring draws."""
    context = Context(StructuredChat(Scripted([])), base, Persona())
    nodes = reviewer.MemoryReviewer(context).graph.get_graph().nodes
    assert reviewer.__doc__ is not None
    assert all(node.strip("_").casefold() in reviewer.__doc__.casefold() for node in nodes)
