"""The endpoint over real HTTP: what it sends, what it makes of answers, and every way to fail."""

import asyncio
import json
import subprocess
import sys
import warnings
from collections.abc import Callable
from typing import Any

import langsmith
import pytest
from langchain_core.caches import InMemoryCache
from langchain_core.callbacks import AsyncCallbackHandler
from langchain_core.globals import set_llm_cache
from langchain_core.runnables import RunnableLambda

from souffleur.agents.chat import Message, Reply, Request, Usage
from souffleur.agents.endpoint import Endpoint, Prices
from souffleur.errors import AnswerError, EndpointError, SettingsError
from tests.stub import (
    Behaviour,
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
    pytest.param(fail(503, retry_after="9999"), 503, True, 300.0, "later", id="busy"),
    pytest.param(
        fail(302, location="https://a.example/v1"),
        302,
        False,
        None,
        "https://a.example",
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
    pytest.param(send(completion(choices=None)), "choices", "without an answer", id="no choices"),
    pytest.param(send(completion(choices=[])), "choices", "without an answer", id="empty choices"),
    pytest.param(send(completion(choices=[{}])), "choices", "without an answer", id="no message"),
    pytest.param(send([]), "[]", "without an answer", id="array"),
    pytest.param(send({"error": "boom"}), "boom", "said: boom", id="error with 200"),
    pytest.param(send(HTML, "text/html"), HTML, "text/html", id="html"),
    pytest.param(send('{"choices": [{'), '{"choices": [{', "broken JSON", id="torn body"),
    pytest.param(send("", "text/plain"), "", "text/plain", id="nothing"),
]


@pytest.mark.parametrize(("behaviour", "text", "words"), UNUSABLE)
async def test_unusable_answer_is_an_answer_error(
    stub: Start, behaviour: Behaviour, text: str, words: str
) -> None:
    """A 200 that cannot be used says why, and keeps what was said."""
    with pytest.raises(AnswerError, match=words) as caught:
        await endpoint(stub(behaviour))(QUESTION)
    assert text in caught.value.answer


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


async def test_retries_do_not_stretch_the_time_out(stub: Start) -> None:
    """With retries, the time-out still holds for the whole call."""
    server = stub(fail(503, retry_after="5"))
    with pytest.raises(EndpointError, match="no answer within"):
        await endpoint(server, timeout=0.5, max_retries=3)(QUESTION)
    assert len(server.requests) == 1


async def test_retries_are_made_when_asked_for(stub: Start) -> None:
    """A passing fault is not seen where retries were asked for."""
    server = stub(fail(503, retry_after_ms="1"), say("ok"))
    assert (await endpoint(server, max_retries=1)(QUESTION)).text == "ok"


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
        with pytest.raises(AnswerError, match="without an answer"):
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
    assert isinstance(caught.value.__cause__, UserWarning)


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
        return send(f"<p>{echo(body)}</p>", "text/html")(body) if odd else say(echo)(body)

    model = endpoint(stub(either))
    asked = [Request((Message("user", str(n)),), "verdict") for n in range(12)]
    results = await asyncio.gather(*map(model, asked), return_exceptions=True)
    told = [r.text if isinstance(r, Reply) else getattr(r, "answer", r) for r in results]
    assert told == [f"<p>{n}</p>" if n % 2 else str(n) for n in range(12)]


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


@pytest.mark.parametrize(("trace", "told"), [(False, False), (True, True)])
async def test_tracing_only_where_asked_for(stub: Start, trace: bool, told: bool) -> None:
    """LangSmith is told of a call only by an endpoint that was asked to."""
    tracer = stub(send({}))
    url = tracer.base_url
    client = langsmith.Client(api_url=url, api_key="k", auto_batch_tracing=False)
    with langsmith.tracing_context(enabled=True, client=client):
        await endpoint(stub(), trace=trace)(QUESTION)
    await asyncio.to_thread(client.flush)
    client.session.close()
    assert ("茶" in json.dumps(tracer.requests, ensure_ascii=False)) is told


def test_import_stays_light() -> None:
    """Importing the endpoint imports none of the libraries it speaks through."""
    code = (
        "import sys; from souffleur.agents import endpoint, judge, recording\n"
        "heavy = {'openai', 'httpx2', 'langsmith', 'langchain_core', 'langchain_openai'}\n"
        "print(sorted(heavy & sys.modules.keys()))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
