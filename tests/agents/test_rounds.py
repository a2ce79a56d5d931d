"""Rounds: what an unusable answer and a failed call have taken is told, whoever asked."""

from dataclasses import asdict
from typing import Any, TypedDict

import langsmith
import pytest
from langsmith.utils import tracing_is_enabled
from pydantic import BaseModel

from souffleur.agents.model.chat import Chat, Reply, Request, Usage
from souffleur.agents.rounds import (
    ask,
    ask_with_repair,
    begin,
    compile_rounds,
    run_graph,
    settled,
    unusable,
)
from souffleur.agents.structured_chat import StructuredChat
from souffleur.errors import AnswerError, EndpointError
from tests.scripted import Scripted

ONE = Usage(calls=1, input_tokens=100, output_tokens=10)


class Note(BaseModel):
    text: str


async def after(chat: Chat, rounds: int) -> dict[str, Any]:
    """The state after so many rounds."""
    state: dict[str, Any] = {"language": "en", **begin("Write.", "About tea and milk.")}
    for _ in range(rounds):
        state |= await ask(state, StructuredChat(chat), Note, "note")
        state |= settled(state, state["problem"])
    return state


async def test_an_unusable_answer_is_paid_for() -> None:
    """A repaired answer has taken two calls, with their tokens."""
    state = await after(Scripted(["no", {"text": "tea"}]), 2)
    assert state["answer"] == Note(text="tea")
    assert state["usage"] == ONE + ONE


async def test_two_unusable_answers_say_what_both_took() -> None:
    """The error that leaves a graph carries the whole run."""
    with pytest.raises(AnswerError) as caught:
        await after(Scripted(["no", "no"]), 2)
    assert caught.value.usage == asdict(ONE + ONE)


async def test_a_call_that_fails_later_says_what_came_before() -> None:
    """Its error has the usage of the answer before; a call without an answer has taken nothing."""
    for before, took in ((["no"], ONE), ([], Usage())):
        with pytest.raises(EndpointError) as caught:
            await after(Scripted([*before, EndpointError("busy")]), 2)
        assert caught.value.usage == asdict(took)


async def test_what_a_chat_refuses_says_what_it_took() -> None:
    """An answer that is withheld or cut off at the endpoint counts as one that cannot be read."""
    failed = AnswerError("The answer was empty.", usage=asdict(ONE))
    assert (await after(Scripted([failed, {"text": "tea"}]), 2))["usage"] == ONE + ONE

    async def cut_off(_: Request) -> Reply:
        return Reply('{"text": "te', finish="length", usage=ONE)

    with pytest.raises(AnswerError, match="cut off") as caught:
        await after(cut_off, 2)
    assert caught.value.usage == asdict(ONE + ONE)


async def test_the_error_of_an_unusable_answer_repeats_no_private_words() -> None:
    """It names the fault; neither the answer, nor what was asked, nor a secret is in it."""
    private = "My psoriasis is back since Sunday"
    said = {"text": [private.upper(), "password: tea4two!"]}
    with pytest.raises(AnswerError, match="text: must be a valid string") as caught:
        await after(Scripted([said, said]), 2)
    assert not [word for word in ("PSORIASIS", "Sunday", "tea4two") if word in str(caught.value)]
    state = await after(Scripted(["no"]), 1)
    told = str(unusable(state, f"it still tells: {state['messages'][1].content}"))
    assert told == "it still tells: …."


async def noted(chat: Chat) -> Note:
    """The answer of the rounds without a graph: of a note that names milk."""
    return await ask_with_repair(
        StructuredChat(chat),
        "Write.",
        "About tea and milk.",
        Note,
        name="note",
        language="en",
        fault=lambda note: "" if "milk" in note.text else "the milk is missing",
    )


async def test_without_a_graph_an_answer_with_a_fault_is_asked_for_again() -> None:
    """The second question holds the first answer and its fault; a good answer ends the rounds."""
    chat = Scripted([{"text": "tea"}, {"text": "tea, milk"}])
    assert await noted(chat) == Note(text="tea, milk")
    first, second = (request.messages for request in chat.requests)
    assert second[:2] == first
    assert [one.role for one in second[2:]] == ["assistant", "user"]
    assert "the milk is missing" in second[3].content
    once = Scripted([{"text": "milk"}])
    assert await noted(once) == Note(text="milk")


async def test_without_a_graph_two_answers_are_all_there_are() -> None:
    """Whether they cannot be read or have a fault; the error says what both took."""
    for answers in (["no", "no"], ["no", {"text": "tea"}], [{"text": "tea"}, "no"]):
        chat = Scripted([*answers, {"text": "milk"}])
        with pytest.raises(AnswerError) as caught:
            await noted(chat)
        assert len(chat.requests) == 2
        assert caught.value.usage == asdict(ONE + ONE)


class Traced(TypedDict, total=False):
    problem: str
    traced: list[bool]


async def gather(state: Traced) -> dict[str, Any]:
    return {"traced": [tracing_is_enabled()]}


async def think(state: Traced) -> dict[str, Any]:
    return {"traced": [*state["traced"], tracing_is_enabled()]}


async def check(state: Traced) -> dict[str, Any]:
    return {"problem": ""}


async def apply(state: Traced) -> dict[str, Any]:
    return {"traced": [*state["traced"], tracing_is_enabled()]}


async def test_a_hosts_tracing_stays_outside_a_run() -> None:
    """No node is traced though the host traces its own work, before and after."""
    nodes: dict[str, Any] = {"gather": gather, "ask": think, "check": check, "apply": apply}
    graph = compile_rounds("traced", Traced, dict, **nodes)
    nothing: Any = {}
    with langsmith.tracing_context(enabled=True):
        state = await run_graph(graph, {}, nothing)
        assert tracing_is_enabled()
    assert state["traced"] == [False, False, False]
