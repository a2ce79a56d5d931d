"""The judge: whole answers in, checked values out, and nothing salvaged from broken ones."""

import asyncio
import json
import re
from collections.abc import Callable
from contextlib import suppress
from datetime import date
from importlib import import_module
from pkgutil import iter_modules
from typing import Annotated, Any, Literal

import pytest
from hypothesis import given, strategies as st
from pydantic import BaseModel, ConfigDict, Field, field_validator

from souffleur import agents
from souffleur.agents.answers import MAX_ANSWER_LENGTH, read_answer
from souffleur.agents.model.chat import Form, Message, Reply, Request, Usage
from souffleur.agents.model.endpoint import Endpoint
from souffleur.agents.structured_chat import StructuredChat
from souffleur.errors import AnswerError, EndpointError
from tests.stub import (
    Behaviour,
    Stub,
    chatty,
    fail,
    fenced,
    say,
    send,
    takes,
    thoughtful,
    truncated,
)

Start = Callable[..., Stub]


class Add(BaseModel):
    model_config = ConfigDict(extra="ignore")
    op: Literal["ADD"]
    content: str
    importance: Literal["low", "medium", "high"] = "medium"
    since: date | None = None

    @field_validator("content")
    @classmethod
    def _says_something(cls, content: str) -> str:
        if not content.strip():
            raise ValueError("must say something")
        return content


class Delete(BaseModel):
    model_config = ConfigDict(extra="ignore")
    op: Literal["DELETE"]
    id: str


class Verdict(BaseModel):
    """Every field has a default, so that half an answer would pass if it were let through."""

    model_config = ConfigDict(extra="ignore")
    reason: str = ""
    ops: list[Annotated[Add | Delete, Field(discriminator="op")]] = []


class Summary(BaseModel):
    topics: list[str]


MESSAGES = (Message("system", "You judge."), Message("user", "我喜欢茶"))
VERDICT = Verdict(
    reason="new", ops=[Add(op="ADD", content='茶 "{}"'), Delete(op="DELETE", id="m1")]
)
WORDS = VERDICT.model_dump_json()
LINES = "[ADD] 喜欢茶\n[DELETE:m1]"


def judge(stub: Stub, **settings: Any) -> StructuredChat:
    return StructuredChat(Endpoint(base_url=stub.base_url, model="m", timeout=10), **settings)


def read(text: str) -> Verdict:
    return read_answer(text, Verdict, lines=True)


@pytest.mark.parametrize(
    "behaviour",
    [say(WORDS), fenced(WORDS), thoughtful(WORDS), chatty(WORDS)],
    ids=["plain", "fenced", "thoughts", "prose"],
)
async def test_answer_is_read(stub: Start, behaviour: Behaviour) -> None:
    """An answer is found in fences, after thoughts and in prose, and comes with what it took."""
    judged = await judge(stub(behaviour)).ask(MESSAGES, Verdict, name="verdict")
    assert judged.value == VERDICT
    assert judged.usage == Usage(1, 1000, 400, 50)
    assert (judged.model, judged.form) == ("stub-1", "json_schema")
    assert WORDS in judged.text


async def test_first_rung_is_a_strict_schema(stub: Start) -> None:
    """A strict schema is asked for first, and the prompt stays as it is."""
    server = stub(say(WORDS))
    await judge(server).ask(MESSAGES, Verdict, name="verdict")
    [body] = server.requests
    assert [message["content"] for message in body["messages"]] == ["You judge.", "我喜欢茶"]
    demanded = body["response_format"]["json_schema"]
    assert (demanded["name"], demanded["strict"]) == ("verdict", True)
    assert "oneOf" not in json.dumps(demanded)


async def test_second_rung_is_told_the_schema(stub: Start) -> None:
    """Where only JSON can be demanded, the system message says JSON, and which."""
    server = stub(takes("json_object", WORDS))
    judged = await judge(server).ask(MESSAGES, Verdict, name="verdict")
    assert (judged.value, judged.form) == (VERDICT, "json_object")
    first, second = server.requests
    assert first["response_format"]["type"] == "json_schema"
    system, user = (message["content"] for message in second["messages"])
    assert system.startswith("You judge.\n\n")
    assert "JSON" in system
    assert '"enum":["ADD"]' in system
    assert user == "我喜欢茶"


async def test_last_rung_speaks_lines(stub: Start) -> None:
    """Where nothing can be demanded, the line protocol is explained, and understood."""
    server = stub(takes(None, LINES))
    judged = await judge(server).ask(MESSAGES, Verdict, name="verdict")
    assert judged.form == "text"
    assert [op.op for op in judged.value.ops] == ["ADD", "DELETE"]
    assert "[UPDATE:m3]" in server.requests[-1]["messages"][0]["content"]


async def test_last_rung_speaks_json_where_there_are_no_operations(stub: Start) -> None:
    """An answer that is no list of operations is asked for as JSON, in words."""
    server = stub(takes(None, '{"topics": ["茶"]}'))
    judged = await judge(server).ask(MESSAGES, Summary, name="summary")
    assert (judged.value, judged.form) == (Summary(topics=["茶"]), "text")
    system = server.requests[-1]["messages"][0]["content"]
    assert "JSON" in system
    assert "[ADD]" not in system


async def test_rung_is_remembered(stub: Start) -> None:
    """A form that was refused once is not tried again."""
    server = stub(takes(None, LINES))
    asker = judge(server)
    for _ in range(2):
        await asker.ask(MESSAGES, Verdict, name="verdict")
    assert len(server.requests) == 4
    assert asker.form == "text"


async def test_ladder_may_begin_lower(stub: Start) -> None:
    """A judge that is told the form asks once, in that form."""
    server = stub(takes("json_object", WORDS))
    await judge(server, form="json_object").ask(MESSAGES, Verdict, name="verdict")
    assert len(server.requests) == 1


async def test_instruction_gets_a_message_of_its_own(stub: Start) -> None:
    """Without a system message, the instruction is the first message."""
    server = stub(say(LINES))
    await judge(server, form="text").ask(MESSAGES[1:], Verdict, name="verdict")
    assert [message["role"] for message in server.requests[0]["messages"]] == ["system", "user"]


async def test_instruction_goes_to_the_last_system_message(stub: Start) -> None:
    """Of several system messages the last gets the instruction, and all keep their places."""
    server = stub(say(LINES))
    messages = [Message("system", "a"), Message("user", "b"), Message("system", "c"), MESSAGES[1]]
    await judge(server, form="text").ask(messages, Verdict, name="verdict")
    sent = [message["content"] for message in server.requests[0]["messages"]]
    assert [text.partition("\n")[0] for text in sent] == ["a", "b", "c", "我喜欢茶"]
    assert [len(text) > 100 for text in sent] == [False, False, True, False]


async def test_late_refusal_does_not_climb_back() -> None:
    """A refusal of the first form that arrives late does not undo that of the second."""
    first_may_fail = asyncio.Event()
    forms: list[Form] = []

    async def chat(request: Request) -> Reply:
        forms.append(request.form)
        if request.form == "json_schema" and request.messages[-1].content == "slow":
            await first_may_fail.wait()
        if request.form == "text":
            return Reply(LINES)
        raise EndpointError("no response_format here", status=400)

    asker = StructuredChat(chat)
    slow = asyncio.ensure_future(asker.ask([Message("user", "slow")], Verdict, name="verdict"))
    await asyncio.sleep(0)
    await asker.ask([Message("user", "fast")], Verdict, name="verdict")
    first_may_fail.set()
    assert (await slow).form == "text"
    assert forms == ["json_schema", "json_schema", "json_object", "text", "text"]


@pytest.mark.parametrize(
    "message",
    [
        "'response_format' of type 'json_schema' is not supported with this model",
        "Invalid schema for response_format 'verdict': 'oneOf' is not permitted",
        "This response_format type is unavailable now",
        "failed to parse grammar",
        "extra fields not permitted: json_schema",
        "Failed to initialize samplers: failed to parse grammar",
        "failed to load model vocabulary required for format",
        "guided decoding is not available",
    ],
)
@pytest.mark.parametrize("status", [400, 404, 422, 500, 501])
async def test_refused_form_steps_down(stub: Start, status: int, message: str) -> None:
    """A refusal that names the form leads one rung down."""
    judged = await judge(stub(fail(status, message), say(WORDS))).ask(
        MESSAGES, Verdict, name="verdict"
    )
    assert judged.form == "json_object"


@pytest.mark.parametrize(
    "behaviour",
    [
        fail(400, "top_p must be 1"),
        fail(401, "json_schema"),
        fail(404, "model 'm' not found"),
        fail(429, "schema"),
        fail(500, "CUDA out of memory"),
        fail(503, "response_format"),
    ],
    ids=["other parameter", "key", "model", "rate", "server", "busy"],
)
async def test_other_refusals_do_not(stub: Start, behaviour: Behaviour) -> None:
    """A refusal for another reason is raised, and the form is kept."""
    server = stub(behaviour)
    asker = judge(server)
    with pytest.raises(EndpointError):
        await asker.ask(MESSAGES, Verdict, name="verdict")
    assert (len(server.requests), asker.form) == (1, "json_schema")


async def test_a_relayed_refusal_steps_down(stub: Start) -> None:
    """A form that an aggregator's provider refuses is not asked for again."""
    raw = json.dumps({"error": {"message": "response_format json_schema is not supported"}})
    error = {"message": "Provider returned error", "code": 400, "metadata": {"raw": raw}}
    server = stub(send({"error": error}, status=400), say(WORDS))
    asker = judge(server)
    for _ in range(2):
        assert (await asker.ask(MESSAGES, Verdict, name="verdict")).form == "json_object"
    assert len(server.requests) == 3


@pytest.mark.parametrize("status", [400, 404, 500, 501])
async def test_a_refused_form_is_no_outage(stub: Start, status: int) -> None:
    """Where another form can be asked for, the endpoint is in no trouble; where none, it may be."""
    endpoint = Endpoint(base_url=stub(fail(status, "failed to parse grammar")).base_url, model="m")
    expected: dict[Form, bool] = {"json_schema": False, "json_object": False}
    for form, outage in {**expected, "text": status != 400}.items():
        with pytest.raises(EndpointError) as caught:
            await endpoint(Request(MESSAGES, "verdict", None, form))
        assert caught.value.outage is outage


async def test_a_form_is_given_up_only_for_one_that_is_answered(stub: Start) -> None:
    """An endpoint that refuses every form, for whatever reason, is asked for the best one again."""
    server = stub(*[fail(400, "response_format")] * 3, say(WORDS))
    asker = judge(server)
    with pytest.raises(EndpointError):
        await asker.ask(MESSAGES, Verdict, name="verdict")
    assert (await asker.ask(MESSAGES, Verdict, name="verdict")).form == "json_schema"


async def test_ladder_has_an_end(stub: Start) -> None:
    """An endpoint that refuses every form is asked three times, and its error is raised."""
    server = stub(fail(400, "response_format"))
    with pytest.raises(EndpointError):
        await judge(server).ask(MESSAGES, Verdict, name="verdict")
    assert len(server.requests) == 3


@pytest.mark.parametrize(
    ("behaviour", "words"),
    [
        (truncated(WORDS), "cut off before its end"),
        (say('{"ops": [] "reason": ""}'), "broken"),
        (say("I would rather not."), "no JSON object"),
        (say("<think>" + WORDS), "no JSON object"),
        (say(f"[{WORDS}]"), "not an array"),
        (say(f"So: [{WORDS}, {WORDS}]"), "not an array"),
        (say(f'{WORDS} or {{"ops": []}}'), "different JSON objects"),
        (say('{"ops": [{"op": "ADD", "content": NaN}]}'), "broken"),
    ],
    ids=["truncated", "broken", "prose", "only thoughts", "array", "array in prose", "two", "nan"],
)
async def test_unusable_answer_fails_closed(stub: Start, behaviour: Behaviour, words: str) -> None:
    """Of an answer that is not whole, or not one, nothing is used; what was said is kept."""
    server = stub(behaviour)
    with pytest.raises(AnswerError, match=words) as caught:
        await judge(server).ask(MESSAGES, Verdict, name="verdict")
    assert caught.value.answer
    assert len(server.requests) == 1


async def test_cut_off_lines_fail_closed() -> None:
    """Lines that any chat says were cut off are not used, though they could be read."""

    async def chat(_: Request) -> Reply:
        return Reply("[DELETE:m1]", finish="length")

    with pytest.raises(AnswerError, match="cut off"):
        await StructuredChat(chat, form="text").ask(MESSAGES, Verdict, name="verdict")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (
            {"ops": [{"op": "ADD", "content": "x", "importance": "huge"}]},
            "ops.0.importance: must be one of low, medium, high (was 'huge')",
        ),
        ({"ops": [{"op": "ADD"}]}, "ops.0.content: is missing"),
        ({"ops": [{"op": "GROW"}]}, "ops.0.op: must be one of ADD, DELETE (was 'GROW')"),
        ({"ops": [{"content": "x"}]}, "ops.0.op: is missing"),
        ({"ops": ["ADD"]}, "ops.0: must be an object (was 'ADD')"),
        ({"ops": {}}, "ops: must be a valid list (was {})"),
        ({"ops": [{"op": "ADD", "content": " "}]}, "ops.0.content: must say something (was ' ')"),
        (
            {"reason": 1, "ops": [{"op": "DELETE", "id": None}]},
            "reason: must be a valid string (was 1); ops.0.id: must be a valid string (was None)",
        ),
        (
            {"ops": [{"op": "ADD", "content": ["x" * 99]}]},
            f"ops.0.content: must be a valid string (was ['{'x' * 37}…)",
        ),
    ],
)
def test_faults_are_listed(data: Any, message: str) -> None:
    """A misshapen answer is answered with what is wrong and where, in words for a model."""
    with pytest.raises(AnswerError) as caught:
        read(json.dumps(data))
    assert str(caught.value) == message


def test_long_list_of_faults_is_cut() -> None:
    """Of many faults eight are told, and how many more there are."""
    with pytest.raises(AnswerError, match=r"ops\.7\.content: is missing; and 12 more$"):
        read(json.dumps({"ops": [{"op": "ADD"}] * 20}))


@pytest.mark.parametrize(
    "text",
    [
        f"<think>\n{WORDS[:20]}\n</think>{WORDS}",
        f"<thinking>{{}}</thinking>\n{WORDS}",
        f'so {{"ops": ...\nthat is it.</think>\n{WORDS}',
        f"<think>a</think>\n<think>b</think>\n```\n{WORDS}\n```",
        f"{WORDS}\n\n{WORDS}",
        f"Using {{braces}}: {WORDS}",
        f"```json\n{WORDS}\n```\nDone.",
        f'[THINK]{{"ops": []}}[/THINK]{WORDS}',
        f'<seed:think>{{"ops": []}}</seed:think>{WORDS}',
        f'◁think▷{{"ops": []}}◁/think▷{WORDS}',
        f'So {{"ops": []}}? No.<|channel|>final<|message|>{WORDS}<|return|>',
        f'<|channel|>analysis<|message|>{{"ops": []}}<|end|><|start|>assistant<|channel|>final'
        f"<|message|>{WORDS}",
        f'I say <reasoning>{{"ops": []}}</reasoning>\n```json\n{WORDS}\n```',
        f"{WORDS[:-1]},}}",
        f"So: {WORDS.replace(']', ', ]')} That is it.",
    ],
)
def test_wrappings_are_taken_off(text: str) -> None:
    """Thoughts, closed or begun in the prompt, fences, prose and repetition do no harm."""
    assert read(text) == VERDICT


@pytest.mark.parametrize("said", ["<think>", "</think>", "```", "[DELETE:m1]", "\n<think>\n", "}"])
def test_words_inside_the_answer_are_left_alone(said: str) -> None:
    """What looks like a wrapping inside a string belongs to the string."""
    verdict = Verdict(ops=[Add(op="ADD", content=f"wrote {said}")])
    assert read(verdict.model_dump_json()) == verdict
    assert read(f"Here:\n{verdict.model_dump_json(indent=1)}") == verdict


def test_commas_in_words_are_left_alone() -> None:
    """A comma that nothing follows is none of the answer's, unless it stands in a string."""
    words = '{"ops": [{"op": "ADD", "content": "\\"a,]\\" and b, }",},]}'
    assert read(words) == Verdict(ops=[Add(op="ADD", content='"a,]" and b, }')])


def test_whole_json_is_taken_as_it_is() -> None:
    """Where the text is JSON from end to end, not even the end of thoughts is looked for."""
    verdict = Verdict(ops=[Add(op="ADD", content="wrote </think>{")])
    assert read(verdict.model_dump_json()) == verdict


def test_half_an_emoji_does_no_harm() -> None:
    """An answer with half an emoji is read, with the replacement character in its place."""
    assert read('{"reason": "so \ud83d"}') == Verdict(reason="so \ufffd")


def test_lines_are_understood_on_every_rung() -> None:
    """Lines are read where there is no JSON, unless the answer is no list of operations."""
    assert [op.op for op in read(f"<think>\n[ADD] no\n</think>\n{LINES}").ops] == ["ADD", "DELETE"]
    with pytest.raises(AnswerError, match="no JSON object"):
        read_answer(LINES, Verdict, lines=False)


@given(st.integers(0, len(WORDS) - 1), st.sampled_from(["{}", "```json\n{}", "<think>a</think>{}"]))
def test_no_part_of_an_answer_is_used(length: int, wrapping: str) -> None:
    """Wherever an answer is cut, it is an AnswerError."""
    with pytest.raises(AnswerError):
        read(wrapping.replace("{}", WORDS[:length]))


BRACKETS = ["{", "}", "[", "]", "<", ">", '"', "\\", ":", ",", "\n"]
PIECES = ["```", "<think>", "</think>", "[ADD]", '"ops"', '"op":"ADD"', "\ud83d", "1e999", "null"]
SHARDS = st.sampled_from(BRACKETS + PIECES)


@given(st.text() | st.lists(SHARDS, max_size=30).map("".join))
def test_any_text_is_a_verdict_or_an_answer_error(text: str) -> None:
    """Nothing a model may say raises anything but AnswerError."""
    with suppress(AnswerError):
        assert isinstance(read(text), Verdict)


HOSTILE = [
    "{",
    '{"a":',
    '{"',
    '{"a": 1}{"a": 2}',
    "[",
    "<think>",
    "</think> ",
    " ",
    "```",
    '\\"',
    '{"\\"',
    "[ADD\n",
    "[ADD] x\n",
    "a :",
    "\\ud83d",
    '{"ops": [{"op": ',
]


@pytest.mark.parametrize("head", ["", "```json", '{"ops": "', "<think>", "["])
@pytest.mark.parametrize("piece", HOSTILE)
def test_hostile_text_is_read_in_time(piece: str, head: str) -> None:
    """Deep or endless brackets, and blank lines in a fence, are an AnswerError too, and soon."""
    for tail in ("", "{", "\\", "</think>"):
        text = head + piece * ((MAX_ANSWER_LENGTH - 20) // len(piece)) + tail
        with suppress(AnswerError):
            assert isinstance(read(text), Verdict)


def test_blank_lines_in_a_fence_are_soon_read() -> None:
    """A model that degenerates into blank lines costs no more than another."""
    with pytest.raises(AnswerError, match="no JSON"):
        read("```json" + "\n" * 60_000 + "{")


def test_patterns_give_nothing_back() -> None:
    """No pattern tries a text again: repeats of a class are possessive, and one at most is free."""
    rooms = [import_module(f"souffleur.agents.{one.name}") for one in iter_modules(agents.__path__)]
    values = [value for room in rooms for value in vars(room).values()]
    patterns = {value.pattern for value in values if isinstance(value, re.Pattern)}
    assert len(patterns) > 8
    for pattern in patterns:
        plain = re.sub(r"\[(?:[^\]\\]|\\.)*+\]|\\[sSwWdD]", "C", pattern)
        assert not re.search(r"C[*+](?!\+)", plain), pattern
        assert plain.count(".*") <= 1, pattern


@pytest.mark.parametrize("piece", ["x", "茶", "\n", WORDS])
def test_a_far_too_long_answer_is_not_read(piece: str) -> None:
    """Over 64 K characters, even a whole answer is sent back, and only its beginning is kept."""
    text = WORDS + " " * (MAX_ANSWER_LENGTH + 1 - len(WORDS))
    for said in (text, piece * (MAX_ANSWER_LENGTH // len(piece) + 1)):
        with pytest.raises(AnswerError, match="far too long: give a shorter one") as caught:
            read(said)
        assert 0 < len(caught.value.answer) <= 2000
    assert read(text[:-1]) == VERDICT


@pytest.mark.parametrize("depth", [150, 250, 900, 5_000])
def test_nesting_is_bounded(depth: int) -> None:
    """What is deeply nested is ignored where it means nothing, and too deep it is refused."""
    text = WORDS[:-1] + f', "more": {"[" * depth}{"]" * depth}}}'
    if depth < 200:  # pydantic's reader takes no more
        assert read(text) == VERDICT
    else:
        with pytest.raises(AnswerError, match="broken"):
            read(text)


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        (r"so \ud83d", "so \ufffd"),
        (r"\udc35\ud83d.", "\ufffd\ufffd."),
        (r"\ud83c\udf75", "🍵"),
        (r"\\ud83d", r"\ud83d"),
        (r"\"\uD83D\"", '"\ufffd"'),
    ],
)
def test_half_an_emoji_as_an_escape_does_no_harm(said: str, meant: str) -> None:
    """An escape of half an emoji, which no strict reader takes, is the replacement character."""
    assert read(f'{{"reason": "{said}"}}') == Verdict(reason=meant)


@pytest.mark.parametrize("form", ["json_schema", "json_object", "text"])
async def test_prompt_is_the_same_each_time(form: Form) -> None:
    """The same question is the same request, so that a recording of it can be found."""
    asked: list[Request] = []

    async def chat(request: Request) -> Reply:
        asked.append(request)
        return Reply(WORDS)

    for _ in range(2):
        await StructuredChat(chat, form=form).ask(MESSAGES, Verdict, name="verdict")
    assert asked[0] == asked[1]
