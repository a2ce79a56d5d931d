"""Task: what is asked again, and what an unusable answer and a failed call took."""

from collections.abc import Awaitable, Callable
from dataclasses import asdict

import langsmith
import pytest
from langsmith.utils import tracing_is_enabled
from pydantic import BaseModel

from souffleur.agents import task as tasks
from souffleur.agents.model.chat import Chat, Message, Reply, Request, Usage
from souffleur.agents.structured_chat import StructuredChat
from souffleur.agents.task import Answered, Task, ask_task, unusable
from souffleur.errors import AnswerError, EndpointError
from tests.scripted import Scripted

ONE = Usage(calls=1, input_tokens=100, output_tokens=10)


class Note(BaseModel):
    text: str


def about_milk(note: Note) -> str:
    """The fault of a note that does not name milk."""
    return "" if "milk" in note.text else "the milk is missing"


async def no_doubt(_: Note) -> str:
    return ""


async def noted(
    chat: Chat,
    fault: Callable[[Note], str] = lambda _: "",
    doubt: Callable[[Note], Awaitable[str]] = no_doubt,
) -> Answered[Note]:
    """The answer to a small task."""
    task = Task("note", "Write.", "en", "About tea and milk.", Note, fault=fault, doubt=doubt)
    return await ask_task(StructuredChat(chat), task)


async def test_an_unusable_answer_is_paid_for() -> None:
    """A repaired answer has taken two calls, with their tokens."""
    answered = await noted(Scripted(["no", {"text": "tea"}]))
    assert answered.value == Note(text="tea")
    assert (answered.rounds, answered.usage) == (2, ONE + ONE)


async def test_two_unusable_answers_are_an_error() -> None:
    """Whether they cannot be read or have a fault; the error says what both took."""
    for answers in (["no", "no"], ["no", {"text": "tea"}], [{"text": "tea"}, "no"]):
        chat = Scripted([*answers, {"text": "milk"}])
        with pytest.raises(AnswerError) as caught:
            await noted(chat, about_milk)
        assert len(chat.requests) == 2
        assert caught.value.usage == asdict(ONE + ONE)


async def test_an_answer_with_a_fault_is_asked_for_again() -> None:
    """The second question holds the first answer and its fault; a good answer ends the run."""
    chat = Scripted([{"text": "tea"}, {"text": "tea, milk"}])
    assert (await noted(chat, about_milk)).value == Note(text="tea, milk")
    first, second = (request.messages for request in chat.requests)
    assert second[:2] == first
    assert [one.role for one in second[2:]] == ["assistant", "user"]
    assert "the milk is missing" in second[3].content
    once = Scripted([{"text": "milk"}])
    assert (await noted(once, about_milk)).value == Note(text="milk")


async def test_a_doubt_goes_back_once() -> None:
    """The model reads it as it is, and who insists is believed; a fault comes first."""

    async def doubt(note: Note) -> str:
        return f"Did they say {note.text}?"

    chat = Scripted([{"text": "tea"}] * 2)
    assert (await noted(chat, doubt=doubt)).value == Note(text="tea")
    assert chat.requests[1].messages[-1] == Message("user", "Did they say tea?")
    chat = Scripted([{"text": "tea"}, {"text": "milk"}])
    assert (await noted(chat, about_milk, doubt)).value == Note(text="milk")
    assert "the milk is missing" in chat.requests[1].messages[-1].content


async def test_a_call_that_fails_later_says_what_came_before() -> None:
    """Its error has the usage of the answer before; a call without an answer has taken nothing."""
    for before, took in ((["no"], ONE), ([], Usage())):
        with pytest.raises(EndpointError) as caught:
            await noted(Scripted([*before, EndpointError("busy")]))
        assert caught.value.usage == asdict(took)


async def test_what_a_chat_refuses_says_what_it_took() -> None:
    """An answer that is withheld or cut off at the endpoint counts as one that cannot be read."""
    failed = AnswerError("The answer was empty.", usage=asdict(ONE))
    assert (await noted(Scripted([failed, {"text": "tea"}]))).usage == ONE + ONE

    async def cut_off(_: Request) -> Reply:
        return Reply('{"text": "te', finish="length", usage=ONE)

    with pytest.raises(AnswerError, match="cut off") as caught:
        await noted(cut_off)
    assert caught.value.usage == asdict(ONE + ONE)


async def test_the_error_of_an_unusable_answer_repeats_no_private_words() -> None:
    """It names the fault; neither the answer, nor what was asked, nor a secret is in it."""
    private = "My psoriasis is back since Sunday"
    said = {"text": [private.upper(), "password: tea4two!"]}
    with pytest.raises(AnswerError, match="text: must be a valid string") as caught:
        await noted(Scripted([said, said]))
    assert not [word for word in ("PSORIASIS", "Sunday", "tea4two") if word in str(caught.value)]
    messages = (await noted(Scripted([{"text": "tea"}]))).messages
    told = str(unusable(messages, ONE, f"it still tells: {messages[1].content}"))
    assert told == "it still tells: …."


async def test_a_hosts_tracing_stays_outside_a_run() -> None:
    """Neither the call nor the check is traced though the host traces its own work around them."""
    traced: list[bool] = []

    async def chat(_: Request) -> Reply:
        traced.append(bool(tracing_is_enabled()))
        return Reply('{"text": "tea"}')

    def fault(_: Note) -> str:
        traced.append(bool(tracing_is_enabled()))
        return ""

    with langsmith.tracing_context(enabled=True):
        await noted(chat, fault)
        assert tracing_is_enabled()
    assert traced == [False, False]


def test_the_graph_is_the_picture() -> None:
    """The nodes are those the docstring draws."""
    assert tasks.__doc__ is not None
    nodes = tasks.GRAPH.get_graph().nodes
    assert all(node.strip("_").casefold() in tasks.__doc__.casefold() for node in nodes)
