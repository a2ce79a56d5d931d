"""Places of a whisper: a reply that a model gives without a memory, it gives with one."""

import json
from collections.abc import AsyncIterator, Callable
from typing import Any

import openai
import pytest
import pytest_asyncio

from souffleur.proxy.injection import LEARNED_FOR, Places
from tests.souffleur.proxy.endpoint import Answer, Sent, refusal, responded, streamed, whole
from tests.souffleur.proxy.scene import TEA, Scene, open_scene
from tests.souffleur.proxy.test_openai_client import assistant, system, user

pytestmark = pytest.mark.asyncio(loop_scope="module")
Rule = Callable[[list[dict[str, Any]]], bool]
ASK = "Which tea?"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def scene(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Scene]:
    async with open_scene(tmp_path_factory.mktemp("store")) as opened:
        await opened.know("ann")
        yield opened


def no_system(messages: list[dict[str, Any]]) -> bool:
    """Gemma's template."""
    return "system" not in roles(messages)


def one_system(messages: list[dict[str, Any]]) -> bool:
    """MiniMax."""
    return roles(messages).count("system") <= 1


def alternating(messages: list[dict[str, Any]]) -> bool:
    """Templates that know two roles, in turn."""
    return all(role == ("user", "assistant")[at % 2] for at, role in enumerate(roles(messages)))


def short(messages: list[dict[str, Any]]) -> bool:
    """A model whose context is full."""
    return len(json.dumps(messages)) < 160


def roles(messages: list[dict[str, Any]]) -> list[str]:
    return [one["role"] for one in messages]


def model(takes: Rule, status: int = 400, answer: Answer | None = None) -> Callable[[Sent], Answer]:
    """An endpoint whose model refuses messages against a rule."""
    return lambda sent: (
        (answer or whole("Green.")) if takes(sent.body["messages"]) else refusal(status)
    )


def name(request: pytest.FixtureRequest) -> str:
    """A model of this test alone."""
    return str(request.node.name)


async def asked(scene: Scene, model: str, *messages: Any, **more: Any) -> str:
    client: Any = scene.client("ann", model)
    async with client:
        reply = await client.chat.completions.create(model=model, messages=[*messages], **more)
        return str(reply.choices[0].message.content)


@pytest.mark.parametrize("status", [400, 422])
@pytest.mark.parametrize("takes", [no_system, alternating])
async def test_a_model_without_a_system_role(
    scene: Scene, request: pytest.FixtureRequest, takes: Rule, status: int
) -> None:
    """The first refusal costs a second request, later ones none: the user's words have it."""
    scene.endpoint.will(model(takes, status))
    talk = [user("Hi"), assistant("Hello."), user([{"type": "text", "text": ASK}])]
    assert await asked(scene, name(request), user(ASK)) == "Green."
    assert await asked(scene, name(request), *talk) == "Green."
    first, second, third = (sent.body["messages"] for sent in scene.endpoint.sent)
    assert roles(first) == ["system", "user"]
    assert roles(second) == ["user"]
    assert TEA in second[0]["content"]
    assert second[0]["content"].endswith(f"\n\n{ASK}")
    assert third[:2] == talk[:2]
    assert TEA in third[2]["content"][0]["text"]
    assert third[2]["content"][1:] == talk[2]["content"]
    assert ASK in [turn.user for turn in await scene.turns("ann")]
    assert not [turn for turn in await scene.turns("ann") if TEA in turn.user]


async def test_a_stream_is_asked_for_again(scene: Scene, request: pytest.FixtureRequest) -> None:
    """A refused stream has not begun, and comes with the second request."""
    scene.endpoint.will(model(no_system, answer=streamed("Gre", "en.")))
    client: Any = scene.client("ann", "streams")
    async with client:
        stream = await client.chat.completions.create(
            model=name(request), messages=[user(ASK)], stream=True
        )
        assert [one.choices[0].delta.content async for one in stream][:2] == ["Gre", "en."]
    assert len(scene.endpoint.sent) == 2


@pytest.mark.parametrize(
    "told",
    [
        [user("Hi"), assistant("Hello."), system("Be brief."), user(ASK)],
        [system(None), user(ASK)],
        [system([]), user(ASK)],
        [user(ASK), system("Be brief.")],
        [{"role": "user", "name": "ann", "content": "Hi"}, system("Be brief."), user(ASK)],
    ],
)
async def test_one_message_of_the_system(
    scene: Scene, request: pytest.FixtureRequest, told: list[Any]
) -> None:
    """A system's message has the whisper wherever it stands, so that there is no second one."""
    scene.endpoint.will(model(one_system))
    assert await asked(scene, name(request), *told) == "Green."
    (sent,) = scene.endpoint.sent
    assert roles(sent.body["messages"]) == roles(told)
    assert TEA in json.dumps(next(one for one in sent.body["messages"] if one["role"] == "system"))


async def test_an_example_is_left_alone(scene: Scene, request: pytest.FixtureRequest) -> None:
    """What is an example of a talk has no whisper in it."""
    example = {**system("Mrow?"), "name": "example_user"}
    scene.endpoint.will(whole("Green."))
    await asked(scene, name(request), example, user(ASK))
    assert scene.endpoint.last.body["messages"][1:] == [example, user(ASK)]


async def test_the_developer_has_it(scene: Scene, request: pytest.FixtureRequest) -> None:
    """A developer's message is the system's, with tools and whatever else a request has."""
    tool = {"type": "function", "function": {"name": "weather", "parameters": {}}}
    told = {"role": "developer", "content": "Be kind."}
    scene.endpoint.will(model(no_system))
    await asked(scene, name(request), told, user(ASK), tools=[tool])
    (sent,) = scene.endpoint.sent
    assert sent.body["messages"][0]["content"].startswith("Be kind.\n\n")
    assert sent.body["tools"] == [tool]


async def test_a_full_context(scene: Scene, request: pytest.FixtureRequest) -> None:
    """A model that takes no whisper replies without one; a shorter request has one again."""
    scene.endpoint.will(lambda sent: model(short)(sent))
    long = user(f"{ASK} {'x' * 80}")
    for sends in (3, 1):
        scene.endpoint.sent.clear()
        assert await asked(scene, name(request), long) == "Green."
        assert len(scene.endpoint.sent) == sends
        assert TEA not in scene.endpoint.last.raw.decode()
    scene.endpoint.will(whole("Green."))
    await asked(scene, name(request), user(ASK))
    assert TEA in scene.endpoint.last.body["messages"][0]["content"]
    kept = {turn.user: turn.injected for turn in await scene.turns("ann")}
    assert (bool(kept[long["content"]]), bool(kept[ASK])) == (False, True)


@pytest.mark.parametrize("status", [400, 401, 403, 404, 413, 422, 429, 500, 503])
async def test_any_other_cause(scene: Scene, request: pytest.FixtureRequest, status: int) -> None:
    """What fails without a memory fails alike with one, and teaches nothing."""
    scene.endpoint.will(refusal(status, x_odd="1"))
    with pytest.raises(openai.APIStatusError) as caught:
        await asked(scene, name(request), user(ASK))
    assert caught.value.status_code == status
    assert caught.value.response.headers["x-odd"] == "1"
    assert caught.value.response.content == refusal(status).parts[0]
    assert len(scene.endpoint.sent) == (3 if status in (400, 422) else 1)
    scene.endpoint.will(whole("Green."))
    await asked(scene, name(request), user(ASK))
    (sent,) = scene.endpoint.sent
    assert roles(sent.body["messages"]) == ["system", "user"]


@pytest.mark.parametrize("given", [ASK, [user("Hi"), {**user(ASK), "type": "message"}]])
async def test_responses(scene: Scene, request: pytest.FixtureRequest, given: Any) -> None:
    """`/responses` without instructions has the whisper before the user's words."""
    scene.endpoint.will(
        lambda sent: refusal(400) if "instructions" in sent.body else responded("Green.")
    )
    client: Any = scene.client("ann", f"r-{type(given)}")
    async with client:
        for _ in range(2):
            reply = await client.responses.create(model=name(request), input=given)
            assert reply.output_text == "Green."
    assert len(scene.endpoint.sent) == 3
    for sent in scene.endpoint.sent[1:]:
        said = sent.body["input"]
        assert TEA in (said if isinstance(said, str) else said[-1]["content"])


async def test_what_was_learned_is_tried_again() -> None:
    """After a while a model has another chance."""
    now = 0.0
    places = Places(lambda: now)
    places.learn("m", 10, "user")
    assert places.first("m", 1) == "user"
    now = LEARNED_FOR
    assert places.first("m", 1) == "system"


async def test_few_models_are_remembered() -> None:
    """The models of a client that makes up their names are forgotten, the oldest first."""
    places = Places()
    for number in range(2001):
        places.learn(f"m{number}", 10, "user")
    assert (places.first("m0", 1), places.first("m2000", 1)) == ("system", "user")
