"""Families of responses in which an endpoint, a proxy or a server goes wrong around an answer.

Each takes any good answer, whatever was asked for.
"""

import gzip
import json
import zlib
from collections.abc import Mapping
from random import Random
from typing import Any

from tests.faults.scene import API_KEY, EXCHANGES
from tests.stub import (
    USAGE,
    Behaviour,
    Body,
    Response,
    completion,
    fail,
    hang_up,
    say,
    send,
)

Good = dict[str, Any]
JSON = {"content-type": "application/json"}


def _text(good: Good) -> str:
    return json.dumps(good, ensure_ascii=False)


def _whole(good: Good, **fields: Any) -> Body:
    """Return the body of an ordinary completion, with other fields."""
    message = {"role": "assistant", "content": _text(good), "refusal": None}
    choices = [{"index": 0, "finish_reason": "stop", "message": message}]
    return completion(**{"choices": choices, "usage": USAGE, **fields})


def _message(good: Good, **fields: Any) -> Body:
    """Return the body of a completion whose message has other fields."""
    message = {"role": "assistant", "content": _text(good), **fields}
    return _whole(good, choices=[{"index": 0, "finish_reason": "stop", "message": message}])


def _raw(body: bytes, status: int = 200, headers: Mapping[str, str] = JSON) -> Behaviour:
    return lambda _: Response(status, body, headers)


def of_another_content_type(chance: Random, good: Good) -> Behaviour:
    """Calls itself something else, or says nothing of what it is."""
    kinds = [
        "text/plain",
        "text/html; charset=latin-1",
        "application/octet-stream",
        "",
        "json",
        ";",
    ]
    return send(_whole(good), kind=chance.choice(kinds))


def of_another_encoding(chance: Random, good: Good) -> Behaviour:
    """Is encoded in UTF-16, Latin-1, UTF-8 with a mark, or in no encoding at all."""
    text = json.dumps(_whole(good), ensure_ascii=False)
    name = chance.choice(["utf-16", "utf-16-le", "utf-8-sig", "gb18030", "utf-32"])
    body = text.encode(name, "replace")
    return _raw(
        chance.choice([body, body[:-1], text.encode() + b"\xff\xfe", b"\xff" + text.encode()])
    )


def packed(chance: Random, good: Good) -> Behaviour:
    """Is packed, though nobody asked for it: whole, cut off, broken, or not at all."""
    plain = json.dumps(_whole(good)).encode()
    name, body = chance.choice(
        [("gzip", gzip.compress(plain)), ("deflate", zlib.compress(plain)), ("br", plain)]
    )
    odd = [body, body[: len(body) // 2], plain, body[:10] + b"\x00" + body[11:], body + b"more"]
    return _raw(chance.choice(odd), headers={**JSON, "content-encoding": name})


def a_chunked_body_cut_off(chance: Random, good: Good) -> Behaviour:
    """Comes in chunks, of which the last ones are missing or no chunks."""
    plain = json.dumps(_whole(good)).encode()
    half = plain[: len(plain) // chance.choice([1, 2])]
    chunk = f"{len(half):x}\r\n".encode() + half + b"\r\n"
    ends = [b"", b"0", b"zz\r\n", b"ffffffff\r\nabc", b"0\r\n\r\n", b"5;x=1\r\nhello\r\n"]
    headers = {**JSON, "transfer-encoding": "chunked"}
    return _raw(chunk + chance.choice(ends), headers=headers)


def a_wrong_length(chance: Random, good: Good) -> Behaviour:
    """Says that it is longer or shorter than it is, or what is no length."""
    plain = json.dumps(_whole(good)).encode()
    length = chance.choice([len(plain) + 100, len(plain) // 2, 0, len(plain) - 1])
    return _raw(plain, headers={**JSON, "content-length": str(length)})


def hanging_up(_: Random, __: Good) -> Behaviour:
    """Closes the connection without a word."""
    return hang_up


def a_body_cut_off(chance: Random, good: Good) -> Behaviour:
    """Ends in its midst, with a length that says that it is whole."""
    plain = json.dumps(_whole(good)).encode()
    return _raw(plain[: chance.randrange(len(plain))])


def of_another_root(chance: Random, good: Good) -> Behaviour:
    """Has no completion for its body: another JSON value, or none."""
    odd = [None, [], {}, 7, "ok", [_whole(good)], good, {"response": _text(good), "done": True}]
    return send(chance.choice([*odd, {"choices": good}, {"data": _whole(good)}, " ", "\x00"]))


def odd_choices(chance: Random, good: Good) -> Behaviour:
    """Has no choices, or what are none."""
    whole = _whole(good)
    odd: list[Any] = [
        None,
        [],
        {},
        "x",
        [None],
        [[]],
        [{}],
        [{"message": None}],
        [{"text": _text(good)}],
    ]
    odd += [[{"delta": {"content": _text(good)}}], {"0": whole["choices"][0]}, [{"message": []}]]
    return send({**whole, "choices": chance.choice(odd)})


def several_choices(chance: Random, good: Good) -> Behaviour:
    """Has several answers: the same, drafts, or empty ones."""
    whole = _whole(good)
    first = whole["choices"][0]
    draft = {"index": 1, "message": {"role": "assistant", "content": "{}"}, "finish_reason": "stop"}
    return send(
        {**whole, "choices": chance.choice([[first, first], [first, draft], [draft, first]])}
    )


def wrong_usage(chance: Random, good: Good) -> Behaviour:
    """Counts its tokens as no one can: NaN, strings, negative, nested, without end."""
    odd = [float("nan"), float("inf"), "many", -5, None, [], {}, 10**40, 1e308, True, "12"]
    usage = {key: chance.choice(odd) for key in USAGE}
    details = {"prompt_tokens_details": {"cached_tokens": chance.choice(odd)}}
    return send(_whole(good, usage=chance.choice([usage, {**usage, **details}, *odd])))


def wrong_roles(chance: Random, good: Good) -> Behaviour:
    """Speaks in the role of somebody else, or of nobody."""
    return send(
        _message(good, role=chance.choice(["user", "system", "tool", "", None, 7, [], "bob"]))
    )


def odd_bookkeeping(chance: Random, good: Good) -> Behaviour:
    """Has an odd id, time, model, finish or fingerprint."""
    names = ["id", "object", "created", "model", "system_fingerprint", "service_tier", "choice"]
    odd: list[Any] = [None, 7, [], {}, "st\ud83d", "x" * 5000, float("nan"), "\x00", True, API_KEY]
    return send(_whole(good, **{chance.choice(names): chance.choice(odd) for _ in range(3)}))


def odd_ends(chance: Random, good: Good) -> Behaviour:
    """Ends for a reason that nobody knows."""
    return say(
        _text(good), finish=chance.choice(["", "eos", "tool_calls", "error", "max_tokens", "STOP"])
    )


def refusing(chance: Random, good: Good) -> Behaviour:
    """Refuses, in a field of its own, with the words that it was asked, or beside an answer."""
    private = chance.choice(EXCHANGES).private
    words = chance.choice(
        ["I can't.", "\ud83d", "", private, f"About “{private}” I say no.", "x" * 9000]
    )
    return say(chance.choice([None, "", _text(good)]), refusal=words)


def filtered(chance: Random, good: Good) -> Behaviour:
    """Was withheld by a filter, in whole or in part."""
    return say(chance.choice([None, "", _text(good), _text(good)[:40]]), finish="content_filter")


def calling_tools(chance: Random, good: Good) -> Behaviour:
    """Calls a tool, or a function as one did in 2023, instead of an answer."""
    call = {
        "id": "c",
        "type": "function",
        "function": {"name": "verdict", "arguments": _text(good)},
    }
    odd: list[Body] = [
        {"tool_calls": [call]},
        {"function_call": call["function"]},
        {"tool_calls": "x"},
    ]
    return send(
        _message(good, content=chance.choice([None, "", _text(good)]), **chance.choice(odd))
    )


def in_parts(chance: Random, good: Good) -> Behaviour:
    """Has its content in parts, some of them odd."""
    half = len(_text(good)) // 2
    parts: list[Any] = [{"type": "text", "text": _text(good)[:half]}]
    parts += [{"type": "text", "text": _text(good)[half:]}]
    odd = [
        {"type": "image_url", "image_url": {}},
        {"type": "text"},
        None,
        "x",
        {"type": "thinking"},
    ]
    return send(
        _message(good, content=chance.choice([parts, [*parts, chance.choice(odd)], parts[:1]]))
    )


def of_no_words(chance: Random, good: Good) -> Behaviour:
    """Has a content that is no text."""
    odd = [good, 7, True, [], {}, [good], float("nan"), {"text": _text(good)}, [[_text(good)]]]
    return send(_message(good, content=chance.choice(odd)))


def only_reasoning(chance: Random, good: Good) -> Behaviour:
    """Has its words in a field for thoughts."""
    name = chance.choice(["reasoning_content", "reasoning", "thinking", "audio"])
    return send(_message(good, **{"content": chance.choice([None, ""]), name: _text(good)}))


def streaming(chance: Random, good: Good) -> Behaviour:
    """Streams events, though nobody asked for it: whole, cut off, or with an error in it."""
    text = _text(good)
    parts = [text[at : at + 40] for at in range(0, len(text), 40)]
    chunks = [{"choices": [{"index": 0, "delta": {"content": part}}]} for part in parts]
    events = [f"data: {json.dumps(completion(**chunk))}\n\n" for chunk in chunks]
    ends = ["data: [DONE]\n\n", "", 'data: {"error": {"message": "overloaded"}}\n\n', ": ping\n\n"]
    return send("".join(events) + chance.choice(ends), kind="text/event-stream")


def line_by_line(chance: Random, good: Good) -> Behaviour:
    """Sends a JSON object a line, as Ollama's own interface does."""
    lines = [{"message": {"content": _text(good)}, "done": False}, {"done": True}, _whole(good)]
    return send("\n".join(map(json.dumps, chance.sample(lines, k=2))), "application/x-ndjson")


def an_error_in_a_success(chance: Random, good: Good) -> Behaviour:
    """Answers 200 with an error in it, alone or beside an answer."""
    private = chance.choice(EXCHANGES).private
    codes: list[Any] = [
        None,
        400,
        429,
        "429",
        502,
        "server_error",
        200,
        True,
        10**30,
        "rate limit",
        418,
        [],
    ]
    error = {"message": f"no: {private} {API_KEY}", "code": chance.choice(codes)}
    odd = [
        {"error": error},
        {"error": private},
        {"error": {}},
        {"detail": private},
        {"error": [error]},
    ]
    return send(chance.choice([*odd, _whole(good, error=error), _whole(good, error=None)]))


def another_success(chance: Random, good: Good) -> Behaviour:
    """Answers 201, 202, 204 or 206, with or without a body."""
    body = chance.choice([b"", json.dumps(_whole(good)).encode(), b"{}"])
    return _raw(body, chance.choice([201, 202, 203, 204, 205, 206, 207, 226, 299]))


def moved(chance: Random, good: Good) -> Behaviour:
    """Has moved: to nowhere, to itself, to an address with a key in it, or to another scheme."""
    places = [
        "",
        "/v2",
        "/v1/chat/completions",
        f"http://a.example/?key={API_KEY}",
        "ftp://x",
        "\\",
    ]
    headers = {"location": chance.choice(places)} if chance.random() < 0.8 else {}
    return _raw(
        json.dumps(_whole(good)).encode(),
        chance.choice([300, 301, 302, 303, 304, 307, 308]),
        headers,
    )


def refused_by_status(chance: Random, _: Good) -> Behaviour:
    """Answers with a status from 400 to 451, and says why: of the form, the length, the words."""
    private = chance.choice(EXCHANGES).private
    words = ["no", "response_format is not supported", "context length exceeded", private, API_KEY]
    words += [
        f"invalid key {API_KEY} for {private}",
        "insufficient_quota",
        "\ud83d",
        "x" * 9000,
        "",
    ]
    status = chance.choice(
        [400, 401, 402, 403, 404, 405, 408, 409, 413, 415, 418, 422, 425, 429, 451]
    )
    after = chance.choice(
        ["0", "1", "86400", "-1", "nan", "soon", "", "Wed, 21 Oct 2026 07:28:00 GMT"]
    )
    return fail(status, chance.choice(words), retry_after=after)


def broken_down(chance: Random, good: Good) -> Behaviour:
    """Answers with a status of 500 or more, with an error, a page, an answer or nothing."""
    private = chance.choice(EXCHANGES).private
    bodies: list[Any] = ["", "<html><h1>Bad gateway</h1></html>", {"error": private}, _whole(good)]
    bodies += [{"detail": [{"msg": private}]}, f"prompt was: {private}", "[" * 5000, {"message": 7}]
    status = chance.choice([500, 501, 502, 503, 504, 507, 520, 524, 529, 598, 599, 999])
    return send(chance.choice(bodies), status=status)


def repeating_what_it_was_asked(chance: Random, good: Good) -> Behaviour:
    """Sends the request back, in an error or for an answer, in one encoding or another."""
    status = chance.choice([200, 400, 401, 422, 500])
    form = chance.choice(["plain", "escaped", "nested", "html"])

    def respond(body: Body) -> Response:
        asked = json.dumps(body, ensure_ascii=form == "escaped")
        told: Any = {"error": {"message": f"cannot parse {asked} with {API_KEY}"}}
        told = {"error": {"message": json.dumps(told)}} if form == "nested" else told
        told = f"<p>{asked.replace(chr(34), '&quot;')}</p>" if form == "html" else told
        return send(told, status=status)(body)

    return respond


def an_endless_body(chance: Random, good: Good) -> Behaviour:
    """Has megabytes of blanks, brackets or log probabilities around its answer."""
    blank = chance.choice([b" ", b"\n", b"[", b'{"a":', b"0"])
    body = json.dumps(_whole(good)).encode()
    return _raw(
        chance.choice([blank * 5_000_000 + body, body + blank * 4_200_000, blank * 200_000])
    )


def a_double_key(chance: Random, good: Good) -> Behaviour:
    """Names its choices, its message or its content twice."""
    text = json.dumps(_whole(good))
    name = chance.choice(["choices", "content", "message"])
    value = chance.choice(["null", "[]", '"x"', "{}"])
    return send(text.replace(f'"{name}":', f'"{name}": {value}, "{name}":', 1))


def a_page_instead(chance: Random, _: Good) -> Behaviour:
    """Sends a page of a proxy, a login or a captive portal, with status 200."""
    pages = [
        "<html><title>Log in</title></html>",
        "OK",
        "<?xml version='1.0'?><Error/>",
        "Not found",
    ]
    return send(chance.choice(pages), chance.choice(["text/html", "text/plain", "application/xml"]))
