"""The endpoint over real HTTP: what it sends, what it makes of answers, and every way to fail."""

import asyncio
import gzip
import html
import json
import re
import subprocess
import sys
import warnings
from base64 import b64encode
from collections.abc import Callable, Iterator
from dataclasses import asdict
from typing import Any
from urllib.parse import quote

import langsmith
import pytest
from hypothesis import given, settings, strategies as st
from langchain_core.caches import InMemoryCache
from langchain_core.callbacks import AsyncCallbackHandler
from langchain_core.globals import set_llm_cache
from langchain_core.runnables import RunnableLambda
from loguru import logger
from pydantic import SecretStr

from souffleur.agents.model.address import Address, read_key
from souffleur.agents.model.chat import Message, Reply, Request, Usage
from souffleur.agents.model.endpoint import Endpoint, Prices
from souffleur.agents.model.response import Call
from souffleur.errors import AnswerError, EndpointError, SettingsError
from tests.stub import (
    USAGE,
    Behaviour,
    Body,
    Response,
    Stub,
    completion,
    fail,
    hang_up,
    say,
    send,
    slow,
)

Start = Callable[..., Stub]

QUESTION = Request((Message("system", "You judge."), Message("user", "茶?")), "verdict")
HTML = "<html><body>Welcome</body></html>"


def endpoint(stub: Stub, **settings: Any) -> Endpoint:
    return Endpoint(**{"base_url": stub.base_url, "model": "m", "timeout": 10.0, **settings})


@pytest.fixture(scope="module")
def ask() -> Iterator[Callable[[Behaviour], Reply]]:
    """Asks one endpoint that behaves so, over real HTTP; for many examples it is one."""
    current: list[Behaviour] = []
    with Stub(lambda body: current[-1](body)) as server:
        model = endpoint(server)

        def asked(behaviour: Behaviour) -> Reply:
            current.append(behaviour)
            return asyncio.run(model(QUESTION))

        yield asked


async def test_answer_comes_with_its_usage(stub: Start) -> None:
    """A reply holds the words, why they ended, who said them, and what they have cost."""
    model = endpoint(stub(say("是")), prices=Prices(input=1.0, output=10.0, cached=0.1))
    reply = await model(QUESTION)
    assert reply == Reply("是", "stop", Usage(1, 1000, 400, 50, reply.usage.cost), "stub-1")
    assert reply.usage.cost == pytest.approx((600 * 1.0 + 400 * 0.1 + 50 * 10.0) / 1_000_000)


async def test_cached_tokens_cost_the_same_without_a_price(stub: Start) -> None:
    """Without a price for cached tokens, they are as dear as the others."""
    model = endpoint(stub(say("ok")), prices=Prices(input=1.0))
    assert (await model(QUESTION)).usage.cost == pytest.approx(0.001)


async def test_answer_without_usage_counts_as_a_call(stub: Start) -> None:
    """A server that counts no tokens is believed to have answered all the same."""
    assert (await endpoint(stub(say("ok", usage=None)))(QUESTION)).usage == Usage(calls=1)


async def test_request_is_sent_as_asked(stub: Start) -> None:
    """The wire carries the model, the messages, the limits and the fields of the provider's own."""
    server = stub()
    await endpoint(server, extra_body={"top_k": 1}, max_tokens=99)(QUESTION)
    assert server.requests == [
        {
            "model": "m",
            "messages": [
                {"role": "system", "content": "You judge."},
                {"role": "user", "content": "茶?"},
            ],
            "temperature": 0.0,
            "max_tokens": 99,
            "top_k": 1,
            "stream": False,
        }
    ]
    assert server.headers[0]["authorization"] == "Bearer not-needed"


async def test_omitted_settings_are_not_sent(stub: Start) -> None:
    """A temperature and a limit of None are left out, as some models demand."""
    server = stub()
    await endpoint(server, temperature=None, max_tokens=None)(QUESTION)
    assert server.requests[0].keys() == {"model", "messages", "stream"}


async def test_another_name_for_the_limit_takes_its_place(stub: Start) -> None:
    """An endpoint that is given `max_completion_tokens` is sent no `max_tokens` beside it."""
    server = stub()
    await endpoint(server, extra_body={"max_completion_tokens": 50}, max_tokens=99)(QUESTION)
    assert server.requests[0]["max_completion_tokens"] == 50
    assert "max_tokens" not in server.requests[0]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"temperature": 1}, "extra_body must not hold 'temperature': set SOUFFLEUR_TEMPERATURE"),
        ({"messages": []}, "extra_body must not hold 'messages': Souffleur decides that itself"),
        ({"stop": {"a"}}, "extra_body must hold JSON values, and 'stop' is none"),
    ],
)
def test_extra_body_cannot_replace_what_is_sent(fields: dict[str, Any], message: str) -> None:
    """Neither what is asked nor what has its own setting can be changed by it."""
    with pytest.raises(SettingsError, match=message):
        Endpoint(base_url="http://localhost:1/v1", model="m", extra_body=fields)


NO_ZERO = "Unsupported value: 'temperature' does not support 0.0 with this model."


def only_usual_temperature(body: Body) -> Response:
    """Refuses a temperature by name, and answers who sends none."""
    return (fail(400, NO_ZERO) if "temperature" in body else say("ok"))(body)


async def test_a_refused_temperature_is_left_out_from_then_on(stub: Start) -> None:
    """The question is asked again without it, once; the next one is sent without it at once."""
    server = stub(only_usual_temperature)
    model = endpoint(server)
    assert [(await model(QUESTION)).text for _ in range(2)] == ["ok", "ok"]
    assert ["temperature" in body for body in server.requests] == [True, False, False]
    kept = [{k: v for k, v in body.items() if k != "temperature"} for body in server.requests]
    assert kept == [kept[0]] * 3


@pytest.mark.parametrize("sent", [0.0, None])
async def test_what_is_refused_all_the_same_is_an_error(stub: Start, sent: float | None) -> None:
    """An endpoint that names the temperature whatever is sent is asked no third time."""
    server = stub(fail(400, NO_ZERO))
    model = endpoint(server, temperature=sent)
    with pytest.raises(EndpointError, match="does not support"):
        await model(QUESTION)
    assert ["temperature" in body for body in server.requests] == [True, False][sent is None :]


NO_LIMIT = "Unsupported parameter: 'max_tokens' is not supported with this model."
NO_SYSTEM = [
    fail(400, "System role not supported"),
    fail(500, "Jinja Exception: Conversation roles must alternate user/assistant/user/..."),
    fail(400, "Only user and assistant roles are supported!"),
    fail(400, "Unsupported value: 'messages[0].role' does not support 'system' with this model."),
    fail(400, "Developer instruction is not enabled for models/gemma-3-27b-it"),
]


async def test_a_refused_name_of_the_limit_is_sent_no_more(stub: Start) -> None:
    """Any host that knows the limit by its other name, or by none, is sent that from then on."""

    def refuse(body: Body) -> Response:
        return (fail(400, NO_LIMIT) if "max_tokens" in body else say("ok"))(body)

    def refuse_all(body: Body) -> Response:
        name = next((name for name in body if name.startswith("max_")), None)
        return (fail(400, f"Unsupported parameter: {name}") if name else say("ok"))(body)

    server = stub(refuse)
    model = endpoint(server, max_tokens=99)
    assert [(await model(QUESTION)).text for _ in range(2)] == ["ok", "ok"]
    assert [body.get("max_completion_tokens") for body in server.requests] == [None, 99, 99]
    assert (await endpoint(stub(refuse_all), max_tokens=99)(QUESTION)).text == "ok"


async def test_a_limit_that_is_too_high_is_no_wrong_name(stub: Start) -> None:
    """What would be refused under another name as well is not asked again."""
    server = stub(fail(400, "max_tokens is too large: 9999. This model takes at most 4096."))
    with pytest.raises(EndpointError, match="too large"):
        await endpoint(server)(QUESTION)
    assert len(server.requests) == 1


@pytest.mark.parametrize("refusal", NO_SYSTEM)
async def test_rules_go_to_the_user_s_message(stub: Start, refusal: Behaviour) -> None:
    """A model without a system role gets the rules at the head of the first message."""

    def respond(body: Body) -> Response:
        system = any(message["role"] == "system" for message in body["messages"])
        return (refusal if system else say("ok"))(body)

    server = stub(respond)
    model = endpoint(server)
    asked = Request((*QUESTION.messages, Message("assistant", "?"), Message("user", "!")), "x")
    assert [(await model(one)).text for one in (QUESTION, asked)] == ["ok", "ok"]
    said = [[(one["role"], one["content"]) for one in body["messages"]] for body in server.requests]
    assert said[1:] == [
        [("user", "You judge.\n\n茶?")],
        [("user", "You judge.\n\n茶?"), ("assistant", "?"), ("user", "!")],
    ]


async def test_several_refusals_lead_to_one_answer(stub: Start) -> None:
    """Each part that is refused is left out in its turn, whatever was left out before it."""

    def respond(body: Body) -> Response:
        if "temperature" in body:
            return fail(422, NO_ZERO)(body)
        if "max_tokens" in body:
            return fail(400, NO_LIMIT)(body)
        return (NO_SYSTEM[0] if len(body["messages"]) > 1 else say("ok"))(body)

    server = stub(respond)
    model = endpoint(server)
    assert [(await model(QUESTION)).text for _ in range(2)] == ["ok", "ok"]
    assert len(server.requests) == 5


def relayed(reason: object, status: int = 400, **more: Any) -> Behaviour:
    """What OpenRouter makes of its provider's refusal."""
    metadata = {"raw": reason, "provider_name": "Together"}
    error = {"message": "Provider returned error", "code": status, "metadata": metadata}
    return send({"error": error, "user_id": "u"}, status=status, **more)


@pytest.mark.parametrize(
    "raw",
    [
        json.dumps({"error": {"message": NO_ZERO, "type": "invalid_request_error"}}),
        json.dumps([{"error": {"message": NO_ZERO}}]),
        json.dumps({"error": {"metadata": {"raw": json.dumps({"message": NO_ZERO})}}}),
        {"error": {"message": NO_ZERO}},
        NO_ZERO,
        f'{{"error": {{"message": "{NO_ZERO}',
    ],
    ids=["JSON", "list", "twice relayed", "object", "text", "cut off"],
)
async def test_a_provider_s_reason_is_read(stub: Start, raw: object) -> None:
    """What an aggregator hands on of its provider's words is heeded, and told."""
    server = stub(relayed(raw), say("ok"))
    assert (await endpoint(server)(QUESTION)).text == "ok"
    assert ["temperature" in body for body in server.requests] == [True, False]
    with pytest.raises(EndpointError, match=r"Provider returned error.*does not support 0"):
        await endpoint(stub(relayed(raw)), temperature=None)(QUESTION)


async def test_both_attempts_share_one_time_out(stub: Start) -> None:
    """Asking again without a temperature does not make a call last longer than it may."""
    server = stub(slow(0.3, fail(400, NO_ZERO)), slow(1.2, say("late")))
    with pytest.raises(EndpointError) as caught:
        await endpoint(server, timeout=1.4)(QUESTION)
    assert (caught.value.slow, len(server.requests)) == (True, 2)


@pytest.mark.parametrize(
    ("request_", "expected"),
    [
        (
            Request(QUESTION.messages, "verdict", {"type": "object"}, "json_schema"),
            {
                "type": "json_schema",
                "json_schema": {"name": "verdict", "strict": True, "schema": {"type": "object"}},
            },
        ),
        (Request(QUESTION.messages, "verdict", None, "json_object"), {"type": "json_object"}),
        (QUESTION, None),
    ],
    ids=["json_schema", "json_object", "text"],
)
async def test_form_is_the_response_format(stub: Start, request_: Request, expected: Any) -> None:
    """Each form is demanded in OpenAI's own words, and text is not demanded at all."""
    server = stub()
    await endpoint(server, extra_body={"top_k": 1})(request_)
    assert server.requests[0].get("response_format") == expected
    assert server.requests[0]["top_k"] == 1


async def test_half_an_emoji_can_be_sent(stub: Start) -> None:
    """A message that a careless host has cut within an emoji can be judged."""
    server = stub()
    await endpoint(server)(Request((Message("user", "so \ud83d"),), "verdict"))
    assert server.requests[0]["messages"][0]["content"] == "so \ufffd"


REFUSED = [
    pytest.param(fail(400), 400, False, None, "name and settings", id="bad request"),
    pytest.param(fail(401, "bad sk-123"), 401, False, None, "check the API key", id="key"),
    pytest.param(fail(402), 402, False, None, "no credit", id="credit"),
    pytest.param(fail(403), 403, False, None, "allowed to do", id="forbidden"),
    pytest.param(fail(404), 404, False, None, "ends in /v1", id="not found"),
    pytest.param(fail(408), 408, True, None, "later", id="server's time-out"),
    pytest.param(
        fail(400, "maximum context length is 8192"), 400, False, None, "too long", id="context"
    ),
    pytest.param(
        fail(400, "Invalid schema for response_format 'verdict'"),
        400,
        False,
        None,
        "Invalid schema for response_format",
        id="schema, which langchain-openai warns of",
    ),
    pytest.param(fail(422), 422, False, None, "settings", id="unprocessable"),
    pytest.param(fail(429, retry_after="7"), 429, True, 7.0, "too many requests", id="rate"),
    pytest.param(fail(429, "insufficient_quota"), 429, False, None, "quota", id="quota"),
    pytest.param(fail(500), 500, True, None, "later", id="server"),
    pytest.param(fail(501), 501, False, None, "not offer", id="not implemented"),
    pytest.param(
        fail(503, retry_after="Wed, 21 Oct 99999999999 07:28:30 GMT"),
        503,
        True,
        None,
        "later",
        id="no such year",
    ),
    pytest.param(fail(503, retry_after="9999"), 503, True, 300.0, "later", id="busy"),
    pytest.param(
        fail(302, location="https://a.example/v1/chat/completions"),
        302,
        False,
        None,
        "https://a.example/v1: use that address",
        id="moved",
    ),
    pytest.param(send(HTML, "text/html", 502), 502, True, None, "said: Welcome", id="gateway"),
    pytest.param(send({"error": "gone"}, status=404), 404, False, None, "said: gone", id="ollama"),
    pytest.param(
        send({"error": {"message": "upstream", "code": 429}}),
        429,
        True,
        None,
        "upstream",
        id="relay",
    ),
]


@pytest.mark.parametrize(("behaviour", "status", "retryable", "wait", "words"), REFUSED)
async def test_refusal_is_an_endpoint_error(
    stub: Start, behaviour: Behaviour, status: int, retryable: bool, wait: float | None, words: str
) -> None:
    """An error of the server's says where, what to check, and whether to ask again, but no key."""
    server = stub(behaviour)
    with pytest.raises(EndpointError) as caught:
        await endpoint(server, api_key="sk-123")(QUESTION)
    error = caught.value
    assert (error.status, error.retryable, error.retry_after) == (status, retryable, wait)
    assert words in str(error)
    assert server.base_url in str(error)
    assert "sk-123" not in str(error)
    assert len(server.requests) == 1


UNUSABLE = [
    pytest.param(say('{"ops": [', finish="length"), '{"ops": [', "cut off", id="length"),
    pytest.param(say("half", finish="content_filter"), "half", "filter", id="content filter"),
    pytest.param(say(None, refusal="I can't."), "I can't.", "refused", id="refusal"),
    pytest.param(say(""), "", "empty", id="empty"),
    pytest.param(say(None), "", "empty", id="null"),
]


@pytest.mark.parametrize(("behaviour", "text", "words"), UNUSABLE)
async def test_unusable_answer_is_an_answer_error(
    stub: Start, behaviour: Behaviour, text: str, words: str
) -> None:
    """A 200 that cannot be used says why, and keeps what was said."""
    with pytest.raises(AnswerError, match=words) as caught:
        await endpoint(stub(behaviour))(QUESTION)
    assert text in caught.value.answer


OBJECT = '{"ops": []}'
ELSEWHERE = {
    "reasoning_content": {"reasoning_content": OBJECT},
    "reasoning": {"reasoning": OBJECT},
    "details": {"reasoning_details": [{"type": "reasoning.text", "text": OBJECT}]},
    "a summary": {"reasoning_details": [{"type": "reasoning.summary", "summary": OBJECT}]},
    "two details": {"reasoning_details": [{"text": '{"ops": '}, {"text": "[]}"}]},
    "thinking": {"thinking": OBJECT},
    "blank content": {"content": " \n", "reasoning_content": OBJECT},
    "empty parts": {"content": [{"type": "text", "text": ""}], "reasoning": OBJECT},
    "parts": {"content": [{"type": "text", "text": OBJECT}], "reasoning": '{"ops": "draft"}'},
    "output text": {"content": [{"type": "output_text", "text": OBJECT}]},
    "a thinking part": {
        "content": [
            {"type": "thinking", "thinking": [{"type": "text", "text": '{"ops": "draft"}'}]},
            {"type": "text", "text": OBJECT},
        ]
    },
    "strings": {"content": ['{"ops": ', "[]}"]},
}


@pytest.mark.parametrize("fields", ELSEWHERE.values(), ids=ELSEWHERE.keys())
async def test_an_answer_is_read_where_servers_put_it(stub: Start, fields: dict[str, Any]) -> None:
    """The content counts if it says anything; else an object among the thoughts."""
    message = {"role": "assistant", "content": "", **fields}
    body = completion(choices=[{"message": message, "finish_reason": "stop"}])
    assert (await endpoint(stub(send(body)))(QUESTION)).text == OBJECT


@pytest.mark.parametrize("thought", ["I would {not} say.", "[DELETE:m1]", "", 7, [[[[["deep"]]]]]])
async def test_thoughts_alone_are_no_answer(stub: Start, thought: object) -> None:
    """Without an object in them, they stay what the model thinks."""
    message = {"role": "assistant", "content": "", "reasoning_content": thought}
    with pytest.raises(AnswerError, match="empty"):
        await endpoint(stub(send(completion(choices=[{"message": message}]))))(QUESTION)


NO_COMPLETION = [
    pytest.param(send(completion(choices=None)), "without an answer", id="no choices"),
    pytest.param(send(completion(choices=[])), "without an answer", id="empty choices"),
    pytest.param(send(completion(choices=[{}])), "without an answer", id="no message"),
    pytest.param(send([]), "without an answer", id="array"),
    pytest.param(send({"error": "boom"}), "said: boom", id="error with 200"),
    pytest.param(send(HTML, "text/html"), "text/html", id="html"),
    pytest.param(send('{"choices": [{'), "broken JSON", id="torn body"),
    pytest.param(send("", "text/plain"), "with nothing instead", id="nothing"),
    pytest.param(send("", "text/plain", 204), "answered 204", id="no content"),
]


@pytest.mark.parametrize(("behaviour", "words"), NO_COMPLETION)
async def test_a_200_without_a_completion_may_be_a_wrong_address(
    stub: Start, behaviour: Behaviour, words: str
) -> None:
    """It is an error of the endpoint; one request does not tell whether it is in trouble."""
    with pytest.raises(EndpointError, match=words) as caught:
        await endpoint(stub(behaviour))(QUESTION)
    error = caught.value
    assert (error.outage, error.retryable, error.usage["calls"]) == (False, True, 1)


ANSWER = {"role": "assistant", "content": "茶"}
BODY = completion(choices=[{"index": 0, "finish_reason": "stop", "message": ANSWER}], usage=USAGE)


def without(body: dict[str, Any], *keys: str) -> dict[str, Any]:
    return {key: value for key, value in body.items() if key not in keys}


def with_message(**fields: Any) -> dict[str, Any]:
    return {**BODY, "choices": [{"message": {**ANSWER, **fields}}]}


def with_usage(**fields: Any) -> dict[str, Any]:
    return {**BODY, "usage": {**USAGE, **fields}}


NAN, ENDLESS = float("nan"), float("inf")
ODD = {
    "usage not a number": (with_usage(prompt_tokens=NAN, completion_tokens=ENDLESS), (0, 0, 0)),
    "usage in strings": (with_usage(prompt_tokens="1000", total_tokens="x"), (0, 0, 50)),
    "negative usage": (with_usage(prompt_tokens=-5, completion_tokens=-0.5), (0, 0, 0)),
    "usage in floats": (with_usage(prompt_tokens=9.0, completion_tokens=2.5), (9, 9, 2)),
    "usage of thousands of digits": (with_usage(prompt_tokens=10**4000), (0, 0, 50)),
    "no details": (with_usage(prompt_tokens_details=None), (1000, 0, 50)),
    "details of another kind": (with_usage(prompt_tokens_details=[1]), (1000, 0, 50)),
    "cached not a number": (
        with_usage(prompt_tokens_details={"cached_tokens": NAN}), (1000, 0, 50)
    ),
    "cached in a string": (
        with_usage(prompt_tokens_details={"cached_tokens": "400"}), (1000, 0, 50)
    ),
    "more cached than sent": (with_usage(prompt_tokens=100), (100, 100, 50)),
    "usage nested": (with_usage(prompt_tokens={"value": [1]}, extra={"a": [{}]}), (0, 0, 50)),
    "usage a list": ({**BODY, "usage": [1, 2]}, (0, 0, 0)),
    "usage null": ({**BODY, "usage": None}, (0, 0, 0)),
    "role user": (with_message(role="user"), (1000, 400, 50)),
    "role null": (with_message(role=None), (1000, 400, 50)),
    "no tool calls": (with_message(tool_calls=[]), (1000, 400, 50)),
    "odd tool calls": (with_message(tool_calls=[{"id": 7}, None]), (1000, 400, 50)),
    "odd function call": (with_message(function_call="none"), (1000, 400, 50)),
    "content in parts": (with_message(content=[{"type": "text", "text": "茶"}]), (1000, 400, 50)),
    "no id, created, object": (without(BODY, "id", "created", "object"), (1000, 400, 50)),
    "odd id, created, object": (
        {**BODY, "id": [], "created": "now", "object": None}, (1000, 400, 50)
    ),
    "no index, no reason": ({**BODY, "choices": [{"message": ANSWER}]}, (1000, 400, 50)),
    "an odd index": (
        {**BODY, "choices": [{"index": "0", "message": ANSWER, "logprobs": 1}]}, (1000, 400, 50)
    ),
    "error null": ({**BODY, "error": None}, (1000, 400, 50)),
    "an odd tier": ({**BODY, "service_tier": {"a": 1}}, (1000, 400, 50)),
    "the message alone": ({"choices": [{"message": {"content": "茶"}}]}, (0, 0, 0)),
}  # fmt: skip


@pytest.mark.parametrize(("body", "counts"), ODD.values(), ids=ODD.keys())
@pytest.mark.parametrize("form", ["json_schema", "text"])
async def test_odd_bookkeeping_spoils_no_answer(
    stub: Start, body: dict[str, Any], counts: tuple[int, int, int], form: Any
) -> None:
    """A usable answer is used, whatever stands around it; what is no count is 0."""
    asked = Request(QUESTION.messages, "verdict", {"type": "object"}, form)
    reply = await endpoint(stub(send(body)), prices=Prices(input=1.0, output=1.0))(asked)
    assert reply.text == "茶"
    assert reply.usage == Usage(1, *counts, reply.usage.cost)
    assert reply.usage.cost == pytest.approx((counts[0] + counts[2]) / 1_000_000)


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=5,
)
COUNTS = st.sampled_from(
    ["prompt_tokens", "completion_tokens", "total_tokens", "prompt_tokens_details",
     "completion_tokens_details", "cached_tokens"]
)  # fmt: skip
ASIDE = st.sampled_from(["role", "tool_calls", "function_call", "audio", "name", "id", "parsed"])


REST = st.sampled_from(["id", "created", "object", "model", "service_tier"])


@given(
    usage=st.dictionaries(COUNTS, JUNK, max_size=4) | JUNK,
    aside=st.dictionaries(ASIDE, JUNK, max_size=3),
    rest=st.dictionaries(REST, JUNK),
)
def test_any_bookkeeping_spoils_no_answer(
    ask: Callable[[Behaviour], Reply], usage: Any, aside: Any, rest: Any
) -> None:
    """Junk in every place but the answer's leaves the answer, with finite counts of 0 or more."""
    reply = ask(send({**with_message(**aside), "usage": usage, **rest}))
    assert reply.text == "茶"
    assert min(asdict(reply.usage).values()) >= 0
    json.dumps(asdict(reply), allow_nan=False).encode()
    reply.model.encode()


SURROGATES = st.text(st.sampled_from("ab 茶\ud83d\ude00\udfff"), min_size=1, max_size=9)
UNFIT: dict[str, Callable[[str], Behaviour]] = {
    "an error": lambda text: fail(400, text),
    "an error's code": lambda text: send({"error": {"message": "m", "code": text}}, status=500),
    "an error with 200": lambda text: send({"error": {"message": text}}),
    "a page": lambda text: send(f"<p>{json.dumps(text)}</p>", "text/html", 502),
    "a refusal": lambda text: say(None, refusal=text),
    "an end": lambda text: say("ok", finish=text),
    "a model": lambda text: send({**BODY, "model": text}),
    "an answer": lambda text: say(text),
    "an answer cut off": lambda text: say(text, finish="length"),
    "no answer": lambda text: send({"choices": text}),
}


@settings(max_examples=30)
@pytest.mark.parametrize("dress", UNFIT.values(), ids=UNFIT.keys())
@given(text=SURROGATES)
def test_half_an_emoji_does_not_get_out(
    ask: Callable[[Behaviour], Reply], dress: Callable[[str], Behaviour], text: str
) -> None:
    """Wherever an endpoint puts one, all that leaves us has UTF-8: a store takes nothing else."""
    try:
        reply = ask(dress(text))
    except (AnswerError, EndpointError) as error:
        said = (str(error), getattr(error, "answer", ""))
    else:
        said = (reply.text, f"{reply.model} {reply.finish}")
    for words in said:
        words.encode()


NESTED = ["[", '{"a":', '{"error":', '{"choices":[', '{"error":{"message":[']


@pytest.mark.parametrize("piece", NESTED)
@pytest.mark.parametrize("status", [200, 500])
async def test_endless_brackets_are_our_error(stub: Start, piece: str, status: int) -> None:
    """A body that is nested without end is told as one that makes no sense."""
    server = stub(send(piece * 100_000, status=status))
    with pytest.raises((AnswerError, EndpointError)) as caught:
        await endpoint(server)(QUESTION)
    assert f"answered {status}" in str(caught.value)
    assert len(getattr(caught.value, "answer", "")) <= 2000


LONG = json.dumps(with_message(content="x" * 6_000_000)).encode()


@pytest.mark.parametrize(
    "response",
    [
        Response(200, LONG),
        Response(200, b" " * 50_000_000),
        Response(500, b"no " * 5_000_000),
        Response(200, gzip.compress(LONG, mtime=0), {"content-encoding": "gzip"}),
        Response(200, b"\x1f\x8b broken", {"content-encoding": "gzip"}),
        Response(200, json.dumps(BODY).encode(), {"content-encoding": "br"}),
    ],
    ids=["long answer", "blanks", "long error", "bomb", "broken gzip", "unknown packing"],
)
async def test_body_is_read_up_to_a_bound(stub: Start, response: Response) -> None:
    """Of endless bodies a few megabytes are read, packed or not, and the rest is no answer."""
    server = stub(lambda _: response)
    if response.headers.get("content-encoding") == "br":
        assert (await endpoint(server)(QUESTION)).text == "茶"
        return
    with pytest.raises((AnswerError, EndpointError)) as caught:
        await endpoint(server)(QUESTION)
    assert len(str(caught.value)) < 600
    assert len(getattr(caught.value, "answer", "")) <= 2000


async def test_packed_answer_is_read(stub: Start) -> None:
    """A server that packs its answer, unasked, is understood."""
    packed = gzip.compress(json.dumps(BODY).encode())
    server = stub(lambda _: Response(200, packed, {"content-encoding": "gzip"}))
    assert (await endpoint(server)(QUESTION)).text == "茶"
    assert server.headers[0]["accept-encoding"] == "identity"


PRIVATE = "I told nobody that I am in love with Tom."
SECRET = Request(
    (Message("system", "You judge what is said."), Message("user", f"## Now\nAnn: {PRIVATE}\n")),
    "verdict",
)
QUOTING: dict[str, Callable[[str], Behaviour]] = {
    "400": lambda text: fail(400, f"content policy: {text!r} is not allowed"),
    "401": lambda text: fail(401, f"no credit for: {text}"),
    "500": lambda text: send(f"<pre>prompt={html.escape(text)}</pre>", "text/html", 500),
    "JSON within JSON": lambda text: fail(502, json.dumps({"input": [{"content": text}]})),
    "another shape": lambda text: send({"errors": [{"got": text}]}, status=422),
    "an error with 200": lambda text: send({"error": {"message": f"blocked: {text}"}}),
    "a relay": lambda text: send({"error": {"message": f"blocked: {text}", "code": 400}}),
    "a refusal": lambda text: say(None, refusal=f"I can't help with \u201c{text}\u201d."),
    "a redirect": lambda text: fail(302, location=f"http://a.example/{quote(text)}?q=1"),
}


@pytest.mark.parametrize("dress", QUOTING.values(), ids=QUOTING.keys())
async def test_private_talk_is_not_repeated(stub: Start, dress: Callable[[str], Behaviour]) -> None:
    """What an endpoint quotes of a question is cut from its words; what it says itself stays."""

    def echo(body: dict[str, Any]) -> Response:
        return dress(body["messages"][1]["content"].strip())(body)

    with pytest.raises((AnswerError, EndpointError)) as caught:
        await endpoint(stub(echo))(SECRET)
    assert "in love" not in str(caught.value)
    assert "nobody" not in str(caught.value)
    assert "…" in str(caught.value)


async def test_rules_may_be_repeated(stub: Start) -> None:
    """The system message is the same for everybody, and no secret."""
    with pytest.raises(EndpointError, match="You judge what is said"):
        await endpoint(stub(fail(400, "bad prompt: You judge what is said.")))(SECRET)


KEY = "sk-test-0123456789abcdef"


@pytest.mark.parametrize(
    "behaviour",
    [
        fail(401, f"Incorrect API key provided: {KEY}"),
        fail(401, "Incorrect API key provided: sk-test-*******cdef"),
        fail(400, f"got header Authorization: Bearer {KEY}"),
        fail(302, location=f"https://me:{KEY}@a.example/{KEY}/v1?key={KEY}"),
        send({"error": json.dumps({"key": KEY})}),
        send(f"<b>{KEY}</b>", "text/html", 500),
        say(None, refusal=f"Your key is {KEY}"),
    ],
)
async def test_key_is_not_repeated(stub: Start, behaviour: Behaviour) -> None:
    """Neither in an endpoint's own words nor in the address it moved to."""
    with pytest.raises((AnswerError, EndpointError)) as caught:
        await endpoint(stub(behaviour), api_key=KEY)(QUESTION)
    assert "cdef" not in str(caught.value)
    assert "0123456789" not in str(caught.value)


@pytest.mark.parametrize("behaviour", [fail(401), hang_up, send("[" * 100_000), say("")])
async def test_key_is_in_no_traceback(stub: Start, behaviour: Behaviour) -> None:
    """A host that logs with the values of variables logs no key and no password of the address."""
    server, lines = stub(behaviour), list[str]()
    sink = logger.add(lines.append, format="{message}", diagnose=True, backtrace=True)
    address = server.base_url.replace("http://", "http://me:pass-word@")
    model = endpoint(server, base_url=address, api_key=KEY)
    try:
        await model(QUESTION)
    except (AnswerError, EndpointError):
        logger.exception("failed")
    finally:
        logger.remove(sink)
    assert "Traceback" in "".join(lines)
    assert KEY not in "".join(lines)
    assert "pass-word" not in "".join(lines)


def test_key_is_in_no_repr() -> None:
    """What holds the key shows it to nobody."""
    address = Address("http://a.example", "m", 1.0, read_key(SecretStr(KEY)))
    assert KEY not in repr(address)
    assert KEY not in repr(Call(address, QUESTION))


async def test_key_from_a_file_is_stripped(stub: Start) -> None:
    """A line end behind the key is none of it; what no header can carry is refused, unrepeated."""
    server = stub()
    await endpoint(server, api_key=f" {KEY}\n")(QUESTION)
    assert server.headers[0]["authorization"] == f"Bearer {KEY}"
    lines = list[str]()
    sink = logger.add(lines.append, format="{message}", diagnose=True, backtrace=True)
    for point in (0x79D8, 0x07):
        try:
            Endpoint(base_url="http://a.example", model="m", api_key=f"sk{chr(point) * 9}")
        except SettingsError:
            logger.exception("failed")
    logger.remove(sink)
    assert "".join(lines).count("copy it again") == 2
    assert not re.search("秘{3}|\\x07|x07{2}", "".join(lines))


async def test_login_in_the_address_is_used(stub: Start) -> None:
    """User name and password go into a header, and not into the address of the request."""
    server = stub()
    address = server.base_url.replace("http://", "http://me:p%40ss@") + "?a=b"
    await endpoint(server, base_url=address)(QUESTION)
    assert server.headers[0]["authorization"] == f"Basic {b64encode(b'me:p@ss').decode()}"
    assert server.paths == ["/v1/chat/completions"]


@pytest.mark.parametrize("address", ["http://me:secret@a:port/v1", "me:secret@a/v1?key=secret"])
def test_password_of_no_address_is_not_told(address: str) -> None:
    """An address that is refused is named without its password."""
    with pytest.raises(SettingsError, match="no address") as caught:
        Endpoint(base_url=address, model="m")
    assert "secret" not in str(caught.value)


OUTAGES = [301, 302, 401, 402, 403, 404, 408, 409, 425, 429, 500, 501, 502, 503, 529]
REFUSALS = [400, 405, 406, 413, 418, 422, 451]


@pytest.mark.parametrize("status", OUTAGES + REFUSALS)
async def test_outage_is_told_from_a_refusal(stub: Start, status: int) -> None:
    """Trouble of the endpoint or its settings meets every question; a refusal meets this one."""
    relayed = send({"error": {"message": "no", "code": str(status)}})
    for behaviour in (fail(status), relayed if status >= 400 else fail(status)):
        with pytest.raises(EndpointError) as caught:
            await endpoint(stub(behaviour))(QUESTION)
        assert (caught.value.status, caught.value.outage) == (status, status in OUTAGES)


async def test_no_answer_in_time_is_an_outage(stub: Start) -> None:
    """A time-out is an outage, as is a connection that is closed or refused."""
    with Stub() as gone:
        pass
    for server, wait in ((stub(hang_up), 10.0), (stub(slow(5, say("late"))), 0.2), (gone, 10.0)):
        with pytest.raises(EndpointError) as caught:
            await endpoint(server, timeout=wait)(QUESTION)
        assert caught.value.outage


async def test_cut_off_answer_names_its_setting(stub: Start) -> None:
    """Whoever reads it knows what to set."""
    with pytest.raises(AnswerError, match="raise SOUFFLEUR_MAX_TOKENS"):
        await endpoint(stub(say("half", finish="length")))(QUESTION)


@pytest.mark.parametrize(
    ("behaviour", "tokens"),
    [
        (say("half", finish="length"), 1050),
        (say(None, refusal="no"), 1050),
        (say(""), 1050),
        (send("<p>Hi</p>", "text/html"), 0),
        (send({"error": {"message": "boom"}}), 0),
    ],
)
async def test_unusable_answer_says_what_it_took(
    stub: Start, behaviour: Behaviour, tokens: int
) -> None:
    """What came back was a call, and its tokens are paid for."""
    with pytest.raises((AnswerError, EndpointError)) as caught:
        await endpoint(stub(behaviour), prices=Prices(input=1.0))(QUESTION)
    usage = getattr(caught.value, "usage", {})
    assert usage.keys() == asdict(Usage()).keys()
    assert (usage["calls"], usage["input_tokens"] + usage["output_tokens"]) == (1, tokens)
    assert (usage["cost"] > 0) is (tokens > 0)


async def test_hang_up_is_an_endpoint_error(stub: Start) -> None:
    """A connection closed without an answer may be tried again."""
    with pytest.raises(EndpointError, match="cannot be reached") as caught:
        await endpoint(stub(hang_up))(QUESTION)
    assert (caught.value.status, caught.value.retryable) == (None, True)


async def test_silence_is_an_endpoint_error(stub: Start) -> None:
    """An answer that does not come in time is given up."""
    with pytest.raises(EndpointError, match=r"no answer within 0\.2 s") as caught:
        await endpoint(stub(slow(5, say("late"))), timeout=0.2)(QUESTION)
    assert caught.value.retryable


async def test_closed_port_is_an_endpoint_error() -> None:
    """Where nobody listens, the message names the address."""
    with Stub() as gone:
        address = gone.base_url
    with pytest.raises(EndpointError, match="check the address") as caught:
        await Endpoint(base_url=address, model="m")(QUESTION)
    assert address in str(caught.value)


async def test_password_in_the_address_is_not_told(stub: Start) -> None:
    """An address that holds a password is named without it."""
    server = stub(fail(500))
    address = server.base_url.replace("http://", "http://me:secret@")
    with pytest.raises(EndpointError) as caught:
        await Endpoint(base_url=address, model="m")(QUESTION)
    assert server.base_url in str(caught.value)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    "address",
    ["localhost:11434/v1", "", "http://", "ftp://a/v1", "http://[::1", "http://a:port/v1"],
)
def test_address_must_be_one(address: str) -> None:
    """What is no web address is refused at once, and not on the first call."""
    with pytest.raises(SettingsError, match="no address"):
        Endpoint(base_url=address, model="m")


async def test_closed_endpoint_is_an_endpoint_error(stub: Start) -> None:
    """A call after the close fails in our own words, and a second close does nothing."""
    model = endpoint(stub())
    await model.aclose()
    await model.aclose()
    with pytest.raises(EndpointError, match="could not be made") as caught:
        await model(QUESTION)
    assert not caught.value.retryable


async def test_earlier_failure_does_not_colour_the_next(stub: Start) -> None:
    """What is raised while an earlier error is handled is told for itself."""
    server = stub(fail(429), send(completion(choices=None)))
    model = endpoint(server)
    try:
        await model(QUESTION)
    except EndpointError:
        with pytest.raises(EndpointError, match="without an answer"):
            await model(QUESTION)
    assert len(server.requests) == 2


async def test_cancellation_is_let_through(stub: Start) -> None:
    """A cancelled call is cancelled, and not an error of ours."""
    call = asyncio.ensure_future(endpoint(stub(slow(5, say("late"))))(QUESTION))
    await asyncio.sleep(0.1)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call


async def test_warning_made_an_error_is_translated(stub: Start) -> None:
    """Where warnings are errors, the one langchain-openai gives for a schema is ours to tell."""
    server = stub(fail(400, "Invalid schema for response_format 'verdict'"))
    with warnings.catch_warnings():
        model = endpoint(server)
    with pytest.raises(EndpointError, match="Invalid schema") as caught:
        await model(QUESTION)
    assert caught.value.status == 400
    assert isinstance(caught.value.__context__, UserWarning)


async def test_long_detail_is_cut(stub: Start) -> None:
    """A server that tells a novel does not make the message one."""
    server = stub(fail(500, "No! " * 999))
    with pytest.raises(EndpointError) as caught:
        await endpoint(server)(QUESTION)
    assert len(str(caught.value)) < 450


@pytest.mark.parametrize("model", ["my-codex", "gpt-5-pro"])
async def test_model_name_does_not_choose_another_interface(stub: Start, model: str) -> None:
    """Whatever the model is called, it is asked through chat completions."""
    server = stub()
    await endpoint(server, model=model)(QUESTION)
    assert server.paths == ["/v1/chat/completions"]


async def test_hosts_cache_and_proxy_are_left_alone(
    stub: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A host's own settings for LangChain change nothing: every question is asked, and directly."""
    server = stub()
    monkeypatch.setenv("OPENAI_PROXY", "http://127.0.0.1:9")
    set_llm_cache(InMemoryCache())
    try:
        model = endpoint(server)
        await model(QUESTION)
        await model(QUESTION)
    finally:
        set_llm_cache(None)
    assert len(server.requests) == 2


async def test_calls_may_overlap(stub: Start) -> None:
    """Of calls made at the same time each gets its own answer, and its own failure."""

    def echo(body: dict[str, Any]) -> str:
        return str(body["messages"][0]["content"])

    def either(body: dict[str, Any]) -> Any:
        odd = int(echo(body)) % 2
        return send({"error": "x" * int(echo(body))})(body) if odd else say(echo)(body)

    model = endpoint(stub(either))
    asked = [Request((Message("user", str(n)),), "verdict") for n in range(12)]
    results = await asyncio.gather(*map(model, asked), return_exceptions=True)
    told = [r.text if isinstance(r, Reply) else str(r) for r in results]
    assert all(
        t.endswith(f"with an error (it said: {'x' * n}).") for n, t in enumerate(told) if n % 2
    )
    assert told[::2] == [str(n) for n in range(0, 12, 2)]


def test_one_event_loop_after_another(stub: Start) -> None:
    """The same endpoint answers in a second and a third event loop."""
    model = endpoint(stub(say("ok")))
    for _ in range(3):
        assert asyncio.run(model(QUESTION)).text == "ok"


async def test_surrounding_callbacks_hear_nothing(stub: Start) -> None:
    """A graph we happen to run in cannot stream the judge's words to its user."""
    heard: list[str] = []

    class Listener(AsyncCallbackHandler):
        async def on_chat_model_start(self, *args: Any, **kwargs: Any) -> None:
            heard.append("model")

        async def on_chain_start(self, *args: Any, **kwargs: Any) -> None:
            heard.append("chain")

    model = endpoint(stub())

    async def node(_: str) -> str:
        return (await model(QUESTION)).text

    await RunnableLambda(node).ainvoke("", {"callbacks": [Listener()]})
    assert heard == ["chain"]


async def test_no_tracing(stub: Start) -> None:
    """LangSmith is told of no call, even where the host traces its own."""
    tracer = stub(send({}))
    url = tracer.base_url
    client = langsmith.Client(api_url=url, api_key="k", auto_batch_tracing=False)
    with langsmith.tracing_context(enabled=True, client=client):
        await endpoint(stub())(QUESTION)
    await asyncio.to_thread(client.flush)
    client.session.close()
    assert tracer.requests == []


def test_import_stays_light() -> None:
    """Importing the endpoint imports none of the libraries it speaks through."""
    code = (
        "import sys; from souffleur.agents import structured_chat\n"
        "from souffleur.agents.model import endpoint, recording\n"
        "heavy = {'openai', 'httpx2', 'langsmith', 'langchain_core', 'langchain_openai'}\n"
        "print(sorted(heavy & sys.modules.keys()))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
