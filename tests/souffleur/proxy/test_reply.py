"""The reply: what was said, from bytes that may be cut anywhere."""

import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from souffleur.proxy.injection import Api
from souffleur.proxy.reply import MAX_BODY, TOO_LONG, Reply
from tests.souffleur.proxy.endpoint import (
    Answer,
    calling,
    events,
    responded,
    response_events,
    streamed,
    whole,
)
from tests.souffleur.proxy.streams import STREAMS


def read(answer: Answer, api: Api = "chat", size: int = 10_000) -> Reply:
    """Read an answer in pieces of so many bytes."""
    reply = Reply(api)
    body = b"".join(answer.parts)
    for place in range(0, len(body), size):
        reply.take(body[place : place + size])
    reply.finish()
    return reply


@pytest.mark.parametrize("size", [1, 7, 10_000])
@pytest.mark.parametrize(
    ("answer", "api"),
    [
        (streamed("你", "好, ", "Ann é"), "chat"),
        (whole("你好, Ann é"), "chat"),
        (response_events("你", "好, ", "Ann é"), "responses"),
        (responded("你好, Ann é"), "responses"),
    ],
)
def test_however_it_is_cut(answer: Answer, api: Api, size: int) -> None:
    """Bytes may be cut within a letter, and a reply is whole at its end."""
    reply = read(answer, api, size)
    assert (reply.text, reply.complete) == ("你好, Ann é", True)


def test_calls_of_tools() -> None:
    """A reply that calls tools is not the last word."""
    assert read(calling("weather")).calls_tools
    call = {"type": "function_call", "name": "f", "arguments": "{}", "call_id": "c"}
    body = {"id": "r", "status": "completed", "output": [call]}
    assert read(Answer((json.dumps(body).encode(),)), "responses").calls_tools
    assert not read(streamed("Hi")).calls_tools


def test_thoughts_are_not_said() -> None:
    """Thoughts are left out, whether their beginning or their end is there or not."""
    assert read(streamed("She is sad", ".\n</thi", "nk>\n\nHi")).text == "Hi"
    assert read(whole("[THINK]Sad.[/THINK]Hi! <Think>Ask.</Think>Tea?")).text == "Hi! Tea?"
    assert read(streamed("<think>Who", "?</think>\n\nHi")).text == "Hi"
    assert read(streamed("<think>Who")).text == ""


def test_first_choice_counts() -> None:
    """Of several choices the first is what was said."""
    choices = [{"index": index, "delta": {"content": f"c{index}"}} for index in (1, 0)]
    assert read(events({"choices": choices}, "[DONE]")).text == "c0"


def test_refusal_is_said() -> None:
    """A refusal is what the companion says."""
    assert read(whole(None, refusal="I cannot")).text == "I cannot"


@pytest.mark.parametrize("data", ["{", "[]", "7", '{"choices": 7}', '{"choices": [7]}'])
def test_what_cannot_be_read(data: str) -> None:
    """An odd event is left out, those around it are read."""
    good: Any = {"choices": [{"delta": {"content": "Hi"}}]}
    assert read(events(data, good, data, "[DONE]")).text == "Hi"


def test_without_an_end() -> None:
    """A stream without its end is not complete; a reason why it stopped is an end."""
    chunk: Any = {"choices": [{"delta": {"content": "Hi"}}]}
    assert not read(events(chunk)).complete
    assert read(events(chunk, {"choices": [{"delta": {}, "finish_reason": "stop"}]})).complete


BROKEN = {"error": {"message": "overloaded", "code": 503}}
GONE = {"choices": [{"index": 0, "delta": {}, "finish_reason": "error"}]}
FAILED = {"type": "response.failed", "response": {"id": "r", "status": "failed", "output": []}}


@pytest.mark.parametrize(
    ("error", "api"),
    [
        (BROKEN, "chat"),
        (GONE, "chat"),
        ({**GONE, **BROKEN}, "chat"),
        ({"type": "error", "code": "server_error", "message": "overloaded"}, "responses"),
        (FAILED, "responses"),
    ],
)
def test_an_error_in_its_midst(error: object, api: Api) -> None:
    """A reply in whose midst the upstream tells of an error is not whole, whatever follows."""
    begun = streamed("Once ") if api == "chat" else response_events("Once ")
    told = events(error, "[DONE]")
    reply = read(Answer((begun.parts[0], *told.parts), headers=told.headers), api)
    assert (reply.text, reply.complete, reply.failed) == ("Once ", False, True)


@pytest.mark.parametrize("name", STREAMS)
@given(cuts=st.lists(st.integers(0, 700), max_size=6))
@settings(max_examples=15)
def test_streams_of_all_kinds(name: str, cuts: list[int]) -> None:
    """Wherever the bytes of a stream are cut, it says the same, or what of it is not read."""
    stream = STREAMS[name]
    reply = Reply("chat", stream.encoding)
    for begin, end in pairwise([0, *sorted(cuts), len(stream.body)]):
        reply.take(stream.body[begin:end])
    reply.finish()
    assert reply.text == stream.said.removesuffix(" [aborted]")
    assert reply.complete == (not stream.said.endswith("]") and bool(stream.said))
    assert (stream.unread in reply.unread) if stream.unread else not reply.unread


@pytest.mark.parametrize(
    "odd",
    [
        {"type": "response.output_text.delta", "output_index": [], "delta": "x"},
        {"type": "response.output_item.done", "item": {"type": []}},
        {"status": "completed", "output": [{"type": {}}, {"type": "message", "content": [{}]}]},
        {"choices": [{"index": [], "delta": [], "message": 7, "finish_reason": {}}], "code": []},
    ],
)
@pytest.mark.parametrize("api", ["chat", "responses"])
def test_odd_values(api: Api, odd: object) -> None:
    """No value of a response, in whatever place, keeps it from being passed on."""
    assert read(events(odd), api).text in ("", "x")


def test_a_response_is_said_once() -> None:
    """What the end of a response repeats replaces its pieces, though they had no place in it."""
    pieces = [{"type": "response.output_text.delta", "delta": text} for text in ("Hel", "lo.")]
    end = response_events("Hello.").parts[-1]
    answer = events(*pieces)
    assert read(Answer((*answer.parts, end), headers=answer.headers), "responses").text == "Hello."


def test_a_long_body_is_not_read() -> None:
    """What would fill the memory is let go, and that is told."""
    reply = Reply("chat")
    for part in (b'{"choices": "', *[b"x" * (MAX_BODY // 4)] * 4):
        reply.take(part)
    reply.finish()
    assert (reply.text, reply.complete, reply.unread) == ("", False, TOO_LONG)
