"""Every way a model's answer can be bad, over real HTTP: nothing changes, and nothing is lost."""

import json
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from souffleur.api import Souffleur
from souffleur.errors import AnswerError
from souffleur.knowledge.turn import Turn, TurnState
from souffleur.settings import Settings
from tests.build import NOW
from tests.place import where
from tests.scripted import add, answer, boost
from tests.stores import open_empty
from tests.stub import (
    Behaviour,
    Response,
    Stub,
    chatty,
    completion,
    fail,
    fenced,
    say,
    send,
    thoughtful,
    truncated,
)

Start = Callable[..., Stub]

GOOD = json.dumps(answer(add("Ann likes tea.", "I like tea")))
WRONG_TYPES = json.dumps(answer(add("Ann likes tea.", "I like tea", importance=7)))
BLANK = json.dumps(answer(add(" \u200b", "I like tea")))
UNKNOWN_ID = json.dumps(answer(boost("m9")))

BROKEN: dict[str, Behaviour] = {
    "prose": say("Nothing worth remembering here, I think."),
    "truncated JSON": truncated(GOOD),
    "cut off by length": say(GOOD[:40], finish="length"),
    "thoughts without an answer": say("<think>Is tea a preference? I wonder"),
    "a fence around half of it": say(f"```json\n{GOOD[:50]}"),
    "unknown ids": say(UNKNOWN_ID),
    "wrong types": say(WRONG_TYPES),
    "another object": say('{"memories": []}'),
    "empty": say(""),
    "no content": say(None),
    "a refusal": say(None, refusal="I can't help with that."),
    "half an emoji in a refusal": say(None, refusal="I can't \ud83d."),
    "blank lines without end": say("```json" + "\n" * 60_000 + "{"),
    "a far too long answer": say(" " * 70_000 + GOOD),
    "a content of white space": say(BLANK),
    "a content filter": say(None, finish="content_filter"),
}
NO_COMPLETION: dict[str, Behaviour] = {
    "brackets without end": send("[" * 100_000),
    "no choices": send({"id": "x", "object": "chat.completion", "choices": []}),
    "an error with 200": send({"error": "Unexpected endpoint or method"}),
    "a page of HTML": send("<html>Bad gateway</html>", "text/html"),
    "nothing": send("", "text/plain"),
}


def settings(folder: Path, endpoint: Stub, **fields: Any) -> Settings:
    base: dict[str, Any] = {**where(folder), "embedder": "hash:64", "retry_pause": 0.0}
    names = {"user_title": "Ann", "assistant_name": "Mo"}
    there = {"base_url": endpoint.base_url, "model": "stub", "timeout": 10.0}
    return Settings(**{**base, **names, **there, **fields})


async def observed(memory: Souffleur) -> Turn:
    """One turn, observed and judged as well as it can be."""
    memory.observe(user_id="ann", session_id="s", user="I like tea", assistant="ok", turn_id="t")
    await memory.flush()
    (turn,) = await memory.knowledge.journal.turns()
    return turn


@pytest.mark.parametrize("broken", BROKEN.values(), ids=BROKEN.keys())
async def test_three_failures_set_the_turn_aside(
    tmp_path: Path, stub: Start, broken: Behaviour
) -> None:
    """After three tries nothing has changed, the turn says why, and it can be judged again."""
    answering = [broken]
    endpoint = stub(lambda body: answering[0](body))
    async with open_empty(settings(tmp_path, endpoint), clock=lambda: NOW) as memory:
        turn = await observed(memory)
        assert (turn.state, turn.tries) == (TurnState.FAILED, 3)
        assert turn.error
        assert await memory.knowledge.list("ann") == []
        assert await memory.knowledge.journal.entries("ann") == []
        answering[0] = say(GOOD)
        assert await memory.retry() == 1
        await memory.flush()
        assert [one.content for one in await memory.knowledge.list("ann")] == ["Ann likes tea."]
        assert await memory.knowledge.journal.turns(state=TurnState.FAILED) == []


async def test_who_has_messages_judged_is_told(tmp_path: Path, stub: Start) -> None:
    """`remember` raises that they were set aside and what to do; not as if nothing was new."""
    answering = [say("")]
    endpoint = stub(lambda body: answering[0](body))
    said = [{"role": "user", "content": "I like tea"}]
    async with open_empty(settings(tmp_path, endpoint), clock=lambda: NOW) as memory:
        with pytest.raises(AnswerError, match=r"for 1 of 1 turns.* set aside: `retry`"):
            await memory.remember(said, user_id="ann")
        answering[0] = say(GOOD)
        assert await memory.retry() == 1
        await memory.flush()
        (entry,) = await memory.remember(said, user_id="ann")
        assert entry.changes[0].after.content == "Ann likes tea."


@pytest.mark.parametrize("broken", NO_COMPLETION.values(), ids=NO_COMPLETION.keys())
async def test_what_no_model_says_is_an_outage(
    tmp_path: Path, stub: Start, broken: Behaviour
) -> None:
    """Where every request brings no completion, turns wait, and health says since when and why."""
    answering, clock = [broken], [NOW]
    endpoint = stub(lambda body: answering[0](body))
    async with open_empty(settings(tmp_path, endpoint), clock=lambda: clock[0]) as memory:
        turn = await observed(memory)
        clock[0] += timedelta(hours=1)
        assert not await memory.flush()
        assert (turn.state, turn.tries, bool(turn.error)) == (TurnState.PENDING, 0, True)
        health = await memory.health()
        assert (health.endpoint, health.set_aside) == ("failing", 0)
        assert health.judging_error.startswith(
            f"judging has failed since {NOW:%Y-%m-%d %H:%M} UTC: {endpoint.base_url} answered 200"
        )
        answering[0] = say(GOOD)
        assert await memory.flush()
        assert len(await memory.knowledge.list("ann")) == 1


@pytest.mark.parametrize("broken", NO_COMPLETION.values(), ids=NO_COMPLETION.keys())
async def test_what_one_turn_alone_meets_sets_it_aside(
    tmp_path: Path, stub: Start, broken: Behaviour
) -> None:
    """A turn that brings no completion, where other requests do, is set aside after three tries."""
    endpoint = stub(lambda body: (broken if "tea" in str(body) else say("OK"))(body))
    async with open_empty(settings(tmp_path, endpoint), clock=lambda: NOW) as memory:
        turn = await observed(memory)
        assert (turn.state, turn.tries) == (TurnState.FAILED, 3)
        assert (await memory.health()).endpoint == "ok"


@pytest.mark.parametrize(
    "broken", [*BROKEN.values(), *NO_COMPLETION.values()], ids=[*BROKEN, *NO_COMPLETION]
)
async def test_a_passing_failure_leaves_no_trace(
    tmp_path: Path, stub: Start, broken: Behaviour
) -> None:
    """Where a later try succeeds, the turn is judged once and the memory is there once."""
    endpoint = stub(broken, broken, say(GOOD))
    async with open_empty(settings(tmp_path, endpoint), clock=lambda: NOW) as memory:
        assert (await observed(memory)).state is TurnState.JUDGED
        assert len(await memory.knowledge.list("ann")) == 1
        assert len(await memory.knowledge.journal.entries("ann")) == 1


@pytest.mark.parametrize("dressed", [fenced, thoughtful, chatty], ids=lambda one: one.__name__)
async def test_an_answer_in_wrapping_is_an_answer(
    tmp_path: Path, stub: Start, dressed: Callable[[str], Behaviour]
) -> None:
    """Fences, thoughts and prose around a whole answer cost no second call."""
    endpoint = stub(dressed(GOOD))
    async with open_empty(settings(tmp_path, endpoint), clock=lambda: NOW) as memory:
        assert (await observed(memory)).state is TurnState.JUDGED
        assert len(endpoint.requests) == 1


@pytest.mark.parametrize(
    "odd",
    [
        {"usage": {"prompt_tokens": float("nan"), "completion_tokens": "many"}},
        {"model": "st\ud83d"},
        {"choices": [{"message": {"role": "user", "content": GOOD}}]},
    ],
    ids=["usage", "model", "role"],
)
async def test_a_good_answer_with_odd_bookkeeping_is_one(
    tmp_path: Path, stub: Start, odd: dict[str, Any]
) -> None:
    """It is judged at once, and what was kept can be read."""
    whole = completion(choices=[{"message": {"content": GOOD}}])
    endpoint = stub(send({**whole, **odd}))
    async with open_empty(settings(tmp_path, endpoint), clock=lambda: NOW) as memory:
        assert (await observed(memory)).state is TurnState.JUDGED
        assert len(await memory.knowledge.list("ann")) == 1
        assert len(endpoint.requests) == 1


async def test_a_request_that_is_refused_for_its_words_is_set_aside(
    tmp_path: Path, stub: Start
) -> None:
    """A 400 that another request does not meet is the turn's own, and trying again is no use."""

    def picky(body: dict[str, Any]) -> Response:
        whole = json.dumps(body)
        return fail(400, "content policy")(body) if "I like tea" in whole else say("OK")(body)

    endpoint = stub(picky)
    async with open_empty(settings(tmp_path, endpoint), clock=lambda: NOW) as memory:
        turn = await observed(memory)
        assert (turn.state, turn.tries, len(endpoint.requests)) == (TurnState.FAILED, 1, 2)
        assert memory.error == ""


async def test_one_bad_turn_does_not_take_the_others(tmp_path: Path, stub: Start) -> None:
    """Of turns judged together in vain, each is tried alone, and only the bad one fails."""

    def reply(body: dict[str, Any]) -> str:
        exchange = body["messages"][1]["content"].partition("The exchange to judge")[2]
        return "no idea" if "poison" in exchange else GOOD

    endpoint = stub(say(reply))
    async with open_empty(settings(tmp_path, endpoint, tries=1), clock=lambda: NOW) as memory:
        for name in ("poison", "I like tea"):
            memory.observe(user_id="ann", session_id="s", user=name, assistant="ok", turn_id=name)
        await memory.flush()
        states = {turn.turn_id: turn.state for turn in await memory.knowledge.journal.turns()}
        assert states == {"poison": TurnState.FAILED, "I like tea": TurnState.JUDGED}


async def test_an_endpoint_that_knows_no_schema_is_asked_in_words(
    tmp_path: Path, stub: Start
) -> None:
    """The ladder goes down to the line protocol, and stays there."""
    lines = "[ADD] Ann likes tea.\nquote: I like tea\nreason: new"
    endpoint = stub(
        fail(400, "response_format not supported"), fail(400, "json_object? no"), say(lines)
    )
    async with open_empty(settings(tmp_path, endpoint), clock=lambda: NOW) as memory:
        assert (await observed(memory)).state is TurnState.JUDGED
        assert len(await memory.knowledge.list("ann")) == 1
