"""The `openai` client through the proxy: what the endpoint gets, what comes back, what is kept."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import aclosing, suppress
from typing import Any

import openai
import pytest
import pytest_asyncio

from tests.souffleur.proxy.endpoint import (
    Answer,
    calling,
    events,
    refusal,
    responded,
    response_events,
    streamed,
    whole,
)
from tests.souffleur.proxy.scene import TEA, Scene, open_scene

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def scene(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Scene]:
    async with open_scene(tmp_path_factory.mktemp("store")) as opened:
        yield opened


def user(text: Any) -> dict[str, Any]:
    return {"role": "user", "content": text}


def assistant(text: Any, **fields: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": text, **fields}


def system(text: Any) -> dict[str, Any]:
    return {"role": "system", "content": text}


async def say(scene: Scene, who: str, *messages: Any, session: str = "s", **asked: Any) -> str:
    """The reply to these messages."""
    client: Any = scene.client(who, session)
    async with client:
        reply = await client.chat.completions.create(model="m", messages=list(messages), **asked)
        return str(reply.choices[0].message.content)


async def hear(scene: Scene, who: str, *messages: Any, session: str = "s", **asked: Any) -> str:
    """The reply to these messages, streamed."""
    client: Any = scene.client(who, session)
    async with client:
        stream = await client.chat.completions.create(
            model="m", messages=list(messages), stream=True, **asked
        )
        return "".join([chunk.choices[0].delta.content or "" async for chunk in stream])


async def test_whispered_and_observed(scene: Scene) -> None:
    """What is known is in the system's message, and what was said is a turn."""
    await scene.know("u1")
    scene.endpoint.will(whole("Green, as always?"))
    reply = await say(scene, "u1", system("Be kind."), user("Which tea?"))
    assert reply == "Green, as always?"
    told, asked = scene.endpoint.last.body["messages"]
    assert told["content"].startswith("Be kind.\n\n")
    assert f"- {TEA}" in told["content"]
    assert asked == user("Which tea?")
    assert await scene.said("u1") == [("Which tea?", "Green, as always?")]


async def test_streamed(scene: Scene) -> None:
    """A streamed reply comes as it is, and is observed as a whole."""
    scene.endpoint.will(streamed("Hel", "lo, ", "Ann!"))
    assert await hear(scene, "u2", user("Hi")) == "Hello, Ann!"
    assert await scene.said("u2") == [("Hi", "Hello, Ann!")]


async def test_key_and_parameters_pass(scene: Scene) -> None:
    """The client's key and whatever else it sends reach the endpoint; our headers do not."""
    scene.endpoint.will(whole("ok"))
    await say(scene, "u3", user("hi"), temperature=0.5, seed=7, extra_body={"odd": [1.0, None]})
    sent = scene.endpoint.last
    assert sent.header("authorization") == "Bearer sk-client"
    assert (sent.body["temperature"], sent.body["seed"], sent.body["odd"]) == (0.5, 7, [1.0, None])
    assert not [name for name, _ in sent.headers if name.startswith("x-souffleur")]


async def test_images(scene: Scene) -> None:
    """An image reaches the endpoint untouched, and is a word of the turn."""
    await scene.know("u4")
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    parts = [{"type": "text", "text": "My tea!"}, image]
    scene.endpoint.will(whole("Nice."))
    await say(scene, "u4", system([{"type": "text", "text": "Be kind."}]), user(parts))
    told, asked = scene.endpoint.last.body["messages"]
    assert asked == user(parts)
    assert [part["type"] for part in told["content"]] == ["text", "text"]
    assert TEA in told["content"][1]["text"]
    assert await scene.said("u4") == [("My tea!\n[image]", "Nice.")]


async def test_tools(scene: Scene) -> None:
    """Calls of tools and what they return are one turn, kept with what is said at last."""
    asked = user("What is the weather?")
    call = {"id": "c1", "type": "function", "function": {"name": "weather", "arguments": "{}"}}
    tool = {"type": "function", "function": {"name": "weather", "parameters": {}}}
    scene.endpoint.will(calling("weather"), streamed("It ", "rains."))
    await hear(scene, "u5", asked, tools=[tool])
    assert scene.endpoint.last.body["tools"] == [tool]
    assert await scene.said("u5") == []
    result = {"role": "tool", "tool_call_id": "c1", "content": "rain"}
    rest = (asked, assistant("One moment.", tool_calls=[call]), result)
    assert await hear(scene, "u5", *rest, tools=[tool]) == "It rains."
    assert scene.endpoint.last.body["messages"][-1] == result
    assert await scene.said("u5") == [("What is the weather?", "One moment.\nIt rains.")]


async def test_errors_pass(scene: Scene) -> None:
    """An error of the endpoint comes as it is, and no turn is made of it."""
    scene.endpoint.will(refusal(429, retry_after="7"))
    with pytest.raises(openai.RateLimitError) as caught:
        await say(scene, "u6", user("hi"))
    assert caught.value.response.headers["retry-after"] == "7"
    assert "slow down" in str(caught.value)
    assert await scene.said("u6") == []


async def test_client_hangs_up(scene: Scene) -> None:
    """The endpoint is stopped, and what was said so far is kept, marked as aborted."""
    scene.endpoint.will(streamed("Once upon ", "a time", "never", hold_after=2))
    client: Any = scene.client("u7", "s")
    async with client:
        stream = await client.chat.completions.create(
            model="m", messages=[user("A story!")], stream=True
        )
        async with aclosing(stream.__aiter__()) as chunks:
            assert (await anext(chunks)).choices[0].delta.content == "Once upon "
            assert (await anext(chunks)).choices[0].delta.content == "a time"
        await stream.close()
        await asyncio.wait_for(scene.endpoint.gone.wait(), 5)
    await until(scene, "u7", [("A story!", "Once upon a time [aborted]")])


async def test_endpoint_breaks_off(scene: Scene) -> None:
    """The client's connection breaks off as well, and what was said is kept as aborted."""
    scene.endpoint.will(streamed("Once ", "upon", break_after=1))
    with pytest.raises(openai.APIConnectionError):
        await hear(scene, "u8", user("A story!"))
    await until(scene, "u8", [("A story!", "Once [aborted]")])


async def test_endpoint_fails_in_the_midst(scene: Scene) -> None:
    """An error that comes as an event of a reply ends it: what was said is kept as aborted."""
    once, *_ = streamed("Once ").parts
    told = events({"error": {"message": "overloaded", "code": 503}}, "[DONE]")
    scene.endpoint.will(Answer((once, *told.parts), headers=told.headers, chunked=True))
    with pytest.raises(openai.APIError, match="overloaded"):
        await hear(scene, "u27", user("A story!"))
    await until(scene, "u27", [("A story!", "Once [aborted]")])


async def test_regenerated(scene: Scene) -> None:
    """Another reply to the same message replaces the former, and what it brought is undone."""
    first = (user("Hi"), assistant("Hello."))
    scene.endpoint.will(streamed("Red."), streamed("Blue."))
    await hear(scene, "u9", *first, user("I like colours"))
    await hear(scene, "u9", *first, user("I like colours"))
    (turn,) = await scene.turns("u9")
    assert (turn.assistant, turn.version) == ("Blue.", 1)


async def test_edited(scene: Scene) -> None:
    """An edited message replaces the former, and so does what was kept of it."""
    first = (user("Hi"), assistant("Hello."))
    scene.endpoint.will(whole("Nice."))
    await say(scene, "u10", *first, user("I live in Oslo"))
    await scene.memory.flush()
    await say(scene, "u10", *first, user("I work in Bergen"))
    assert "Oslo" not in str(scene.endpoint.last.body)  # not even in the block of this very reply
    await scene.memory.flush()
    assert await scene.said("u10") == [("I work in Bergen", "Nice.")]
    assert [one.content for one in await scene.memory.list(user_id="u10")] == ["Ann work in Bergen"]


async def test_first_message_edited(scene: Scene) -> None:
    """A first message that stays nearly the same is edited; another one is a turn of its own."""
    scene.endpoint.will(whole("Nice."))
    for text in ("I live in Oslo", "I live in Bergen", "What is a fjord?"):
        await say(scene, "u11", user(text))
    assert [said for said, _ in await scene.said("u11")] == ["I live in Bergen", "What is a fjord?"]


async def test_continued(scene: Scene) -> None:
    """What a companion goes on to say belongs to the reply that it had begun."""
    scene.endpoint.will(whole("Once upon"), whole(" a time."))
    asked = user("A story!")
    await say(scene, "u12", asked)
    nudge = system("[Continue your last message.]")
    await say(scene, "u12", asked, assistant("Once upon"), nudge)
    assert await scene.said("u12") == [("A story!", "Once upon a time.")]


async def test_history_is_cut(scene: Scene) -> None:
    """A front end that sends only its latest messages makes a new turn of each."""
    talk: list[Any] = []
    for number in range(6):
        scene.endpoint.will(whole(f"Reply {number}."))
        talk.append(user(f"Message {number}"))
        talk.append(assistant(await say(scene, "u13", *talk[-5:])))
    assert len(await scene.said("u13")) == 6


async def test_session_is_derived(scene: Scene) -> None:
    """Requests of one talk have one session without saying so; another talk has another."""
    scene.endpoint.will(whole("One."), whole("Two."), whole("Three."), whole("Four."))
    client: Any = scene.client("u14")
    talks = (
        [system("It is 10:00."), user("Hi")],
        [system("It is 10:01."), user("Hi"), assistant("One."), user("And?")],
        [system("It is 10:02."), assistant("Two."), user("And then?")],
        [system("It is 10:03."), user("Something else")],
    )
    async with client:
        for messages in talks:
            await client.chat.completions.create(model="m", messages=messages)
    sessions = [turn.session_id for turn in await scene.turns("u14")]
    assert len(set(sessions[:3])) == 1
    assert sessions[3] != sessions[0]


async def test_tasks_are_no_turns(scene: Scene) -> None:
    """A request for a title goes to the endpoint as it is, and nothing is kept of it."""
    await scene.know("u15")
    scene.endpoint.will(whole("Tea"))
    asked = user("### Task:\nGenerate a concise, 3-5 word title.\n<chat_history>…</chat_history>")
    await say(scene, "u15", asked)
    assert scene.endpoint.last.body["messages"] == [asked]
    assert await scene.said("u15") == []


async def test_responses(scene: Scene) -> None:
    """`/responses` has the whisper in its instructions, streamed or not, and follows its chain."""
    await scene.know("u16")
    client: Any = scene.client("u16")
    scene.endpoint.will(responded("Hello.", "resp_1"), response_events("Gre", "en.", id="resp_2"))
    async with client:
        first = await client.responses.create(model="m", input="Hi")
        assert first.output_text == "Hello."
        assert TEA in scene.endpoint.last.body["instructions"]
        stream = await client.responses.create(
            model="m",
            instructions="Be kind.",
            input=[user("Which tea?")],
            previous_response_id="resp_1",
            stream=True,
        )
        kinds = [event.type async for event in stream]
    assert kinds[-1] == "response.completed"
    assert scene.endpoint.last.body["instructions"].startswith("Be kind.\n\n")
    assert await scene.said("u16") == [("Hi", "Hello."), ("Which tea?", "Green.")]
    assert len({turn.session_id for turn in await scene.turns("u16")}) == 1


async def test_response_regenerated(scene: Scene) -> None:
    """Another response after the same one replaces the former."""
    client: Any = scene.client("u17")
    scene.endpoint.will(responded("One.", "a"), responded("Two.", "b"), responded("Three.", "c"))
    async with client:
        await client.responses.create(model="m", input="Hi")
        for _ in range(2):
            await client.responses.create(model="m", input="So?", previous_response_id="a")
    assert await scene.said("u17") == [("Hi", "One."), ("So?", "Three.")]


async def test_an_empty_id_names_no_response(scene: Scene) -> None:
    """Requests that fill in the field with nothing are turns of their own."""
    client: Any = scene.client("u31")
    scene.endpoint.will(responded("Hello.", "e1"), responded("Green.", "e2"))
    async with client:
        for text in ("Hi", "Which tea?"):
            await client.responses.create(model="m", input=text, previous_response_id="")
    assert await scene.said("u31") == [("Hi", "Hello."), ("Which tea?", "Green.")]


async def test_conversation(scene: Scene) -> None:
    """Each message of a conversation that the endpoint holds is a turn, also if it was said so."""
    client: Any = scene.client("u28")
    scene.endpoint.will(*(responded(f"{n}.", f"c{n}") for n in range(5)))
    said = ["Good night", "I bought 3 apples", "I bought 4 apples", "Good night", "Good night"]
    async with client:
        for text in said:
            await client.responses.create(model="m", input=text, conversation="conv_1")
    assert await scene.said("u28") == [(text, f"{n}.") for n, text in enumerate(said)]
    assert {turn.session_id for turn in await scene.turns("u28")} == {"conv_1"}


async def test_conversation_broken_off(scene: Scene) -> None:
    """The same message again replaces one whose reply was broken off, another one does not."""
    client: Any = scene.client("u30")
    cut = response_events("Once ", "upon", break_after=1)
    whole_ones = response_events("Once.", id="b1"), response_events("I see.", id="b2")
    scene.endpoint.will(cut, whole_ones[0], cut, whole_ones[1])
    async with client:
        for text in ("A story!", "A story!", "More!", "No, wait"):
            with suppress(openai.APIConnectionError):
                stream = await client.responses.create(
                    model="m", input=text, conversation="conv_3", stream=True
                )
                assert [event async for event in stream]
    kept = [("A story!", "Once."), ("More!", "Once [aborted]"), ("No, wait", "I see.")]
    await until(scene, "u30", kept)


async def test_conversation_with_tools(scene: Scene) -> None:
    """What a conversation replies after a call of a tool completes the turn that called it."""
    client: Any = scene.client("u29")
    call = {"type": "function_call", "name": "f", "arguments": "{}", "call_id": "k"}
    body = {**json.loads(responded("", "t1").parts[0]), "output": [call]}
    scene.endpoint.will(Answer((json.dumps(body).encode(),)), responded("Rain.", "t2"))
    output = [{"type": "function_call_output", "call_id": "k", "output": "rain"}]
    async with client:
        for given in ("How is the weather?", output):
            await client.responses.create(model="m", input=given, conversation={"id": "conv_2"})
    assert await scene.said("u29") == [("How is the weather?", "Rain.")]


async def test_other_paths_pass(scene: Scene) -> None:
    """Models, embeddings and whatever else there is are the endpoint's own."""
    models = {"object": "list", "data": [{"id": "m", "object": "model"}]}
    scene.endpoint.will(Answer((json.dumps(models).encode(),)))
    client = scene.client()
    async with client:
        assert [model.id async for model in client.models.list()] == ["m"]
    assert scene.endpoint.last.line == "GET /v1/models HTTP/1.1"


async def until(scene: Scene, who: str, said: list[tuple[str, str]]) -> None:
    """Wait until this was observed, as nobody tells when a client is gone."""
    for _ in range(3000):
        if await scene.said(who) == said:
            return
        await asyncio.sleep(0.01)
    assert await scene.said(who) == said
