"""MemoryReviewer: rounds of thinking, what may be answered when, and what is kept of it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from souffleur.agents import reviewer
from souffleur.agents.exchange import Persona
from souffleur.agents.judge import Judge
from souffleur.agents.rounds import Context
from souffleur.errors import AnswerError, EndpointError
from souffleur.knowledge.knowledge_base import KnowledgeBase
from souffleur.knowledge.memory import Due, Memory, State
from souffleur.knowledge.operation import Add, Boost, By, Delete, Keep, Promote, Who
from tests.build import NOW, days, open_base, turn, verdict
from tests.scripted import Answer, Scripted


def says(action: str, query: str | None = None, reason: str = "because") -> dict[str, Any]:
    """A round of the reviewer as a model writes it."""
    return {"reason": reason, "action": action, "query": query}


@asynccontextmanager
async def base_of(folder: Path) -> AsyncIterator[KnowledgeBase]:
    base = await open_base(folder)
    yield base
    await base.close()


async def due_for(base: KnowledgeBase, what: Due, content: str = "Ann lives in Lyon.") -> Memory:
    """A memory about which this question is due."""
    add = Add(reason="r", quote="", content=content)
    (entry,) = await base.apply(verdict(add, who=Who.HOST, name=content))
    if what is Due.PROMOTION:
        for count in range(6):
            boost = Boost(target=entry.memory_ids[0], reason="r")
            await base.apply(verdict(boost, who=Who.HOST, name=(content, count)))
    memory = await base.get(entry.memory_ids[0])
    assert memory.due_for is what
    return memory


async def review(
    base: KnowledgeBase, memory: Memory, *answers: Answer
) -> tuple[reviewer.Decision, Scripted]:
    chat = Scripted(answers)
    context = Context(Judge(chat), base, Persona(user="Ann", assistant="Mo"))
    now = max(NOW + days(1), memory.due_at or NOW)
    return await reviewer.MemoryReviewer(context).run(memory, now), chat


@pytest.mark.parametrize(
    ("what", "action", "op"),
    [
        (Due.PROMOTION, "PROMOTE", Promote),
        (Due.PROMOTION, "KEEP", Keep),
        (Due.PROMOTION, "DELETE", Delete),
        (Due.REVIEW, "KEEP", Keep),
        (Due.REVIEW, "[delete]", Delete),
    ],
)
async def test_a_decision_is_an_op(tmp_path: Path, what: Due, action: str, op: type) -> None:
    """Each question has its prompt, and nothing is changed before it is carried out."""
    async with base_of(tmp_path) as base:
        memory = await due_for(base, what)
        decision, chat = await review(base, memory, says(action))
        assert isinstance(decision.op, op)
        rules = chat.requests[0].messages[0].content
        assert ("becomes core" in rules) == (what is Due.PROMOTION)
        assert await base.get(memory.id) == memory
        (outcome,) = await base.apply(decision.verdict)
        assert (outcome.refused, outcome.by.who) == (None, Who.REVIEWER)
        assert await base.apply(decision.verdict) == [outcome]  # twice is once


async def test_what_was_worth_promoting_may_have_faded(tmp_path: Path) -> None:
    """Long after it was due for promotion, the question is whether to keep it at all."""
    async with base_of(tmp_path) as base:
        memory = await due_for(base, Due.PROMOTION)
        chat = Scripted([says("PROMOTE"), says("KEEP")])
        agent = reviewer.MemoryReviewer(Context(Judge(chat), base, Persona(user="Ann")))
        decision = await agent.run(memory, NOW + days(90))
        assert "becomes core" not in chat.requests[0].messages[0].content
        assert "action: must be one of" in chat.requests[1].messages[-1].content
        assert isinstance(decision.op, Keep)


async def test_it_looks_up_before_it_decides(tmp_path: Path) -> None:
    """Memories, episodes and raw turns are found, and the rounds stand in the ledger."""
    async with base_of(tmp_path) as base:
        memory = await due_for(base, Due.REVIEW)
        other = Add(reason="r", quote="", content="Ann sold the flat and went to Oslo.")
        await base.apply(verdict(other, who=Who.HOST, name="other"))
        base.journal.record(turn("the boxes are all in Oslo now", "good", at=memory.due_at))
        await base.embed_turns()
        decision, chat = await review(
            base, memory, says("SEARCH", "Oslo flat boxes", "has she moved?"), says("DELETE")
        )
        told = chat.requests[1].messages[-1].content
        assert "Ann sold the flat" in told
        assert "Ann: the boxes are all in Oslo now" in told
        assert "search 1 more" in told
        (outcome,) = await base.apply(decision.verdict)
        (step,) = outcome.details["trail"]
        assert step.startswith("has she moved? | SEARCH Oslo flat boxes | ")
        assert (await base.get(memory.id)).state is State.FORGOTTEN


async def test_only_what_is_related_is_shown(tmp_path: Path) -> None:
    """Not the memory itself once more, nor what a search brings for want of anything better."""
    async with base_of(tmp_path) as base:
        memory = await due_for(base, Due.REVIEW)
        other = Add(reason="r", quote="", content="Ann sold the flat and went to Oslo.")
        await base.apply(verdict(other, who=Who.HOST, name="other"))
        search = says("SEARCH", "Any idea why docker fails?")
        _, chat = await review(base, memory, search, says("KEEP"))
        question, looked_up = (request.messages[-1].content for request in chat.requests)
        assert question.count(memory.content) == 1
        assert "Oslo" not in looked_up
        assert "(none)" in looked_up


async def test_three_rounds_at_most(tmp_path: Path) -> None:
    """In the third round it must decide; another search is sent back, once."""
    async with base_of(tmp_path) as base:
        memory = await due_for(base, Due.REVIEW)
        two = (says("SEARCH", "one"), says("SEARCH", "two"))
        decision, chat = await review(base, memory, *two, says("SEARCH", "three"), says("KEEP"))
        assert isinstance(decision.op, Keep)
        assert len(decision.op.trail) == 2
        assert "decide now" in chat.requests[2].messages[-1].content
        assert "must be one of DELETE, KEEP" in chat.requests[3].messages[-1].content
        with pytest.raises(AnswerError, match="must be one of"):
            await review(base, memory, *two, says("SEARCH", "three"), says("SEARCH", "four"))


@pytest.mark.parametrize(
    ("faulty", "complaint"),
    [
        (says("PROMOTE"), "must be one of DELETE, KEEP, SEARCH"),
        (says("SEARCH"), "query: is missing"),
        ("hm", "no JSON"),
    ],
)
async def test_what_is_not_allowed_is_sent_back_once(
    tmp_path: Path, faulty: Answer, complaint: str
) -> None:
    """A faded memory is not promoted, and a search says for what."""
    async with base_of(tmp_path) as base:
        memory = await due_for(base, Due.REVIEW)
        decision, chat = await review(base, memory, faulty, says("KEEP"))
        assert complaint in chat.requests[1].messages[-1].content
        assert isinstance(decision.op, Keep)
        with pytest.raises(AnswerError):
            await review(base, memory, faulty, faulty)


async def test_a_failed_call_changes_nothing(tmp_path: Path) -> None:
    """The memory stays due as it was."""
    async with base_of(tmp_path) as base:
        memory = await due_for(base, Due.REVIEW)
        with pytest.raises(EndpointError):
            await review(base, memory, EndpointError("busy"))
        assert await base.get(memory.id) == memory


async def test_a_core_memory_is_not_deleted_by_a_reviewer(tmp_path: Path) -> None:
    """What became core meanwhile is refused, and stays."""
    async with base_of(tmp_path) as base:
        memory = await due_for(base, Due.PROMOTION)
        decision, _ = await review(base, memory, says("DELETE"))
        promote = Promote(target=memory.id, reason="r")
        await base.apply(verdict(promote, by=By(who=Who.HOST), name="promote"))
        (outcome,) = await base.apply(decision.verdict)
        assert outcome.refused == "protected"


def test_the_graph_is_the_picture() -> None:
    """The nodes are those the docstring draws."""
    assert reviewer.__doc__ is not None
    for node in ("gather", "think", "search", "decide"):
        assert node in reviewer.__doc__
