"""MemoryReviewer: rounds of thinking, what may be answered when, and what is kept of it."""

from pathlib import Path
from typing import Any

import pytest

from souffleur.agents import reviewer
from souffleur.agents.brief import Persona
from souffleur.agents.fields import MAX_REMARK_LENGTH
from souffleur.agents.model.chat import Request
from souffleur.agents.reviewer import UNDECIDED
from souffleur.agents.structured_chat import StructuredChat
from souffleur.agents.task import Context
from souffleur.errors import AnswerError, EndpointError
from souffleur.knowledge.knowledge_base import KnowledgeBase
from souffleur.knowledge.memory import Due, Memory, MemoryState
from souffleur.knowledge.operation import Actor, ActorKind, Add, Boost, Delete, Keep, Promote
from tests.build import NOW, days, turn, verdict
from tests.scripted import Answer, Scripted
from tests.stores import base_of


def says(action: str, query: str | None = None, reason: str = "because") -> dict[str, Any]:
    """A round of the reviewer as a model writes it."""
    return {"reason": reason, "action": action, "query": query}


async def due_for(base: KnowledgeBase, what: Due, content: str = "Ann lives in Lyon.") -> Memory:
    """A memory about which this question is due."""
    add = Add(reason="r", quote="", content=content)
    (entry,) = await base.apply(verdict(add, who=ActorKind.HOST, name=content))
    if what is Due.PROMOTION:
        for count in range(6):
            boost = Boost(target=entry.memory_ids[0], reason="r")
            await base.apply(verdict(boost, who=ActorKind.HOST, name=(content, count)))
    memory = await base.get(entry.memory_ids[0], user_id=None)
    assert memory.due_for is what
    return memory


async def review(
    base: KnowledgeBase, memory: Memory, *answers: Answer
) -> tuple[reviewer.Decision, Scripted]:
    chat = Scripted(answers)
    context = Context(StructuredChat(chat), base, Persona(user="Ann", assistant="Mo"))
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
        assert await base.get(memory.id, user_id=None) == memory
        (outcome,) = await base.apply(decision.verdict)
        assert (outcome.refused, outcome.by.who) == (None, ActorKind.REVIEWER)
        assert await base.apply(decision.verdict) == [outcome]  # twice is once


async def test_what_was_worth_promoting_may_have_faded(tmp_path: Path) -> None:
    """Refused once, and long after it was due again, the question is whether to keep it at all."""
    async with base_of(tmp_path) as base:
        memory = await due_for(base, Due.PROMOTION)
        memory = memory.model_copy(update={"asked_at": NOW - days(9), "asked_value": 2.0})
        chat = Scripted([says("PROMOTE"), says("KEEP")])
        agent = reviewer.MemoryReviewer(Context(StructuredChat(chat), base, Persona(user="Ann")))
        decision = await agent.run(memory, NOW + days(90))
        assert "becomes core" not in chat.requests[0].messages[0].content
        assert "action: must be one of" in chat.requests[1].messages[-1].content
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
            base, memory, says("SEARCH", "Oslo flat boxes", "has she moved?"), says("DELETE")
        )
        told = chat.requests[1].messages[-1].content
        assert "Ann sold the flat" in told
        assert "Ann: the boxes are all in Oslo now" in told
        assert "search 1 more" in told
        (outcome,) = await base.apply(decision.verdict)
        (step,) = outcome.details["trail"]
        assert step.startswith("has she moved? | SEARCH Oslo flat boxes | ")
        assert (await base.get(memory.id, user_id=None)).state is MemoryState.FORGOTTEN


TWO = (says("SEARCH", "one"), says("SEARCH", "two"))


async def test_only_what_is_related_is_shown(tmp_path: Path) -> None:
    """Not the memory itself once more, nor what a search brings for want of anything better."""
    async with base_of(tmp_path) as base:
        memory = await due_for(base, Due.REVIEW)
        other = Add(reason="r", quote="", content="Ann sold the flat and went to Oslo.")
        await base.apply(verdict(other, who=ActorKind.HOST, name="other"))
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
        decision, chat = await review(base, memory, *TWO, says("SEARCH", "three"), says("DELETE"))
        assert isinstance(decision.op, Delete)
        assert len(decision.op.trail) == 2
        assert "decide now" in chat.requests[2].messages[-1].content
        assert "must be one of KEEP, DELETE" in chat.requests[3].messages[-1].content


@pytest.mark.parametrize("what", [Due.REVIEW, Due.PROMOTION])
@pytest.mark.parametrize(
    "last",
    [
        (says("SEARCH", "three"), says("SEARCH", "four")),
        (says("SEARCH", "three", "still unsure " * 999), "hm"),
        ("hm", "hm"),
    ],
)
async def test_who_never_decides_keeps_it(
    tmp_path: Path, what: Due, last: tuple[Answer, ...]
) -> None:
    """With its rounds used up, the memory is kept; the ledger shows what was answered instead."""
    async with base_of(tmp_path) as base:
        memory = await due_for(base, what)
        decision, chat = await review(base, memory, *TWO, *last)
        assert isinstance(decision.op, Keep)
        assert decision.op.reason == UNDECIDED
        assert (len(chat.requests), len(decision.op.trail)) == (4, 3)
        said = last[-1] if isinstance(last[-1], str) else "SEARCH"
        assert said in decision.op.trail[-1]
        (outcome,) = await base.apply(decision.verdict)
        assert (outcome.refused, outcome.by.model, outcome.cost["calls"]) == (None, "scripted", 4)


async def test_a_repair_before_the_last_round_counts(tmp_path: Path) -> None:
    """One answer is repaired in a review; then the last round must decide at once, or keeps."""
    async with base_of(tmp_path) as base:
        memory = await due_for(base, Due.REVIEW)
        decision, chat = await review(base, memory, "hm", *TWO, says("SEARCH", "three"))
        assert (decision.op.reason, len(chat.requests)) == (UNDECIDED, 4)


def offered(request: Request) -> list[str]:
    """The actions that the schema of a request has."""
    assert request.schema is not None
    actions: list[str] = request.schema["properties"]["action"]["enum"]
    return actions


@pytest.mark.parametrize(
    ("what", "first", "last"),
    [
        (
            Due.PROMOTION,
            ["SEARCH", "PROMOTE", "KEEP", "DELETE"],
            ["PROMOTE", "KEEP", "DELETE"],
        ),
        (Due.REVIEW, ["SEARCH", "KEEP", "DELETE"], ["KEEP", "DELETE"]),
    ],
)
async def test_a_round_offers_what_it_allows(
    tmp_path: Path, what: Due, first: list[str], last: list[str]
) -> None:
    """A model that is held to the schema cannot answer what code would send back."""
    async with base_of(tmp_path) as base:
        memory = await due_for(base, what)
        _, chat = await review(base, memory, *TWO, "hm", says("KEEP"))
        assert [offered(request) for request in chat.requests] == [first, first, last, last]
        plain = [dict(request.schema or {}) for request in chat.requests]
        for schema in plain:
            schema["properties"]["action"] = None
        assert plain == [plain[0]] * 4


async def test_what_was_thought_is_cut(tmp_path: Path) -> None:
    """A novel of a reason or query stands in the ledger with its beginning."""
    async with base_of(tmp_path) as base:
        memory = await due_for(base, Due.REVIEW)
        novel = says("SEARCH", "boxes " * 999, "why " * 999)
        decision, _ = await review(base, memory, novel, says("KEEP", None, "why " * 999))
        assert [len(step) for step in decision.op.trail] == [MAX_REMARK_LENGTH]
        assert len(decision.op.reason) == MAX_REMARK_LENGTH


@pytest.mark.parametrize(("content", "words"), [("Ann.", "the same memory"), ("安", "同一条记忆")])
async def test_a_repair_speaks_of_the_memory(tmp_path: Path, content: str, words: str) -> None:
    """There is no exchange to judge again."""
    async with base_of(tmp_path) as base:
        memory = await due_for(base, Due.REVIEW, content)
        _, chat = await review(base, memory, "hm", says("KEEP"))
        assert words in chat.requests[1].messages[-1].content


@pytest.mark.parametrize(
    ("faulty", "complaint"),
    [
        (says("PROMOTE"), "must be one of SEARCH, KEEP, DELETE (was 'PROMOTE')"),
        (says("SEARCH"), "query: is missing"),
        (says("SEARCH", "\u200b"), "query: is missing"),
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
        with pytest.raises(AnswerError) as caught:
            await review(base, memory, faulty, faulty)
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
