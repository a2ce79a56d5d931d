"""Rounds: what an unusable answer and a failed call have taken is told, whoever asked."""

from dataclasses import asdict
from typing import Any

import pytest
from pydantic import BaseModel

from souffleur.agents.chat import Chat, Reply, Request, Usage
from souffleur.agents.judge import Judge
from souffleur.agents.rounds import ask, begin, settled, unusable
from souffleur.errors import AnswerError, EndpointError
from tests.scripted import Scripted

ONE = Usage(calls=1, input_tokens=100, output_tokens=10)


class Note(BaseModel):
    text: str


async def after(chat: Chat, rounds: int) -> dict[str, Any]:
    """The state after so many rounds."""
    state: dict[str, Any] = {"language": "en", **begin("Write.", "About tea and milk.")}
    for _ in range(rounds):
        state |= await ask(state, Judge(chat), Note, "note")
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
    """Of the answer before it; a call without an answer has taken nothing."""
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
    assert told == "it still tells: …"
