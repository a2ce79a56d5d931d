"""The content of an endpoint's response: an answer, or an error that becomes an error of ours.

The answer is read from the body here, and not by langchain-openai: that library loses an answer in
`reasoning_content`, and fails over an odd role, id, tier or tool call, or a usage that is no
number. An endpoint's message is repeated without keys and without words of the request.
"""

import json
import math
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from email.utils import parsedate_to_datetime
from typing import Any

from souffleur.agents.fields import shorten
from souffleur.agents.model.address import Address
from souffleur.agents.model.chat import Request, Usage
from souffleur.agents.model.concessions import refuses
from souffleur.errors import EndpointError
from souffleur.knowledge.network.http_failures import (
    causes_of,
    hint_for,
    is_time_out,
    is_unreachable,
)
from souffleur.knowledge.privacy.addresses import bare_address
from souffleur.knowledge.privacy.redaction import redact
from souffleur.knowledge.text.plain import mend, single_line

MAX_RETRY_AFTER = 300.0
"""Maximum pause in seconds; a longer pause that an endpoint asks for is cut to this."""

_MAX_DETAIL_LENGTH = 300
"""Maximum characters of an endpoint's error message that are repeated."""

_MAX_NESTING = 6
_TELLING = ("error", "message", "detail", "metadata", "raw", "param", "code")
"""Fields of an error that say what is wrong, in the best order for reading."""
_RETRYABLE = {408, 409, 425, 429}
_TOO_LONG = re.compile(
    r"context.?(length|window|size)|prompt is too long|too many tokens", re.IGNORECASE
)

_HINTS = {
    400: "check the model's name and settings",
    404: "check the model's name and the address, which usually ends in /v1",
    413: "the prompt is too long for it",
    422: "check the model's name and settings",
    501: "it does not offer what was asked for",
}

_MAX_TOKENS = 10**12
"""Maximum of a token count; a greater number is ignored."""
_MAX_DIGITS = 15
_MAX_NAME_LENGTH = 100
"""Maximum characters of the name of a model or of a finish reason."""
_ANSWERS = ("content", "reasoning_content", "reasoning", "reasoning_details", "thinking")
"""Fields of a message that may hold the answer: servers that find thinking by a model's marks put
all text into the later fields if the marks are missing. There, only an object is an answer."""
_WORDS = ("text", "summary", "content")
"""Fields that hold the words of a part."""
_UNSAID = frozenset({"thinking", "reasoning", "redacted_thinking", "reasoning.encrypted"})
"""Types of parts of a content that are no answer."""
_MAX_DEPTH = 3
_OBJECT = re.compile(r'\{\s*+"')


@dataclass(frozen=True)
class Completion:
    """The parts of a chat completion that are used. Its strings hold no lone surrogates."""

    text: str = ""
    refusal: str = ""
    finish: str = ""
    model: str = ""
    input_tokens: int = 0
    """Tokens of the prompt; token counts are 0 if the server gave no plausible number."""
    cached_tokens: int = 0
    """Cached prompt tokens, at most `input_tokens`."""
    output_tokens: int = 0


def parse_body(content: bytes) -> object:
    """Return the JSON value of a body. Raises ValueError for no JSON, or too deep nesting."""
    try:
        return json.loads(content.decode("utf-8-sig", "replace"), parse_int=_integer)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def read_completion(body: object) -> Completion | None:
    """Return the first answer in a chat completion; `None` if it has no message.

    Only `choices[0].message` is required; its role, ids, times and tool calls are ignored.

    >>> read_completion({"choices": [{"message": {"content": "ok"}}], "usage": "?"}).text
    'ok'
    >>> thought = {"content": "", "reasoning_content": 'So: {"ops": []}'}
    >>> read_completion({"choices": [{"message": thought}]}).text
    'So: {"ops": []}'
    """
    choices = _part(body, "choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    message = _part(choice, "message")
    if not isinstance(message, Mapping):
        return None
    usage = _part(body, "usage")
    taken = _count(_part(usage, "prompt_tokens"))
    cached = _count(_part(_part(usage, "prompt_tokens_details"), "cached_tokens"))
    return Completion(
        text=_answer(message),
        refusal=_text(message.get("refusal")),
        finish=_name(_part(choice, "finish_reason")),
        model=_name(_part(body, "model")),
        input_tokens=taken,
        cached_tokens=min(cached, taken),
        output_tokens=_count(_part(usage, "completion_tokens")),
    )


def _part(value: object, key: str) -> object:
    return value.get(key) if isinstance(value, Mapping) else None


def _answer(message: Mapping[str, object]) -> str:
    said, *thought = (_text(message.get(place)) for place in _ANSWERS)
    return said if said.strip() else next(filter(_OBJECT.search, thought), said)


def _text(content: object, depth: int = 0) -> str:
    """Return the text of a message, or of its parts."""
    if isinstance(content, str):
        return mend(content)
    if depth > _MAX_DEPTH:
        return ""
    if isinstance(content, list):
        said = (part for part in content if _part(part, "type") not in _UNSAID)
        return "".join(_text(part, depth + 1) for part in said)
    texts = (_text(_part(content, name), depth + 1) for name in _WORDS)
    return next(filter(None, texts), "")


def _name(value: object) -> str:
    return shorten(single_line(mend(value)), _MAX_NAME_LENGTH) if isinstance(value, str) else ""


def _count(value: object) -> int:
    """Return a count of tokens; 0 for a value that cannot be a count.

    >>> [_count(value) for value in (7, 7.0, -1, "7", True, None, float("nan"), float("inf"))]
    [7, 7, 0, 0, 0, 0, 0, 0]
    """
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return 0
    return int(value) if 0 <= value < _MAX_TOKENS else 0


def _integer(digits: str) -> float:
    """Return the number; infinity if it has more digits than `int` may read."""
    return int(digits) if len(digits) <= _MAX_DIGITS else math.inf


@dataclass(frozen=True)
class Call:
    """A question to an endpoint."""

    address: Address
    request: Request

    def quote(self, words: str) -> str:
        """Return an endpoint's message on one line, without the key and without private talk."""
        private = [one.content for one in self.request.messages if one.role != "system"]
        secret = self.address.secret.get_secret_value()
        return shorten(redact(words, private, [secret]), _MAX_DETAIL_LENGTH).rstrip(".")


def translate(error: Exception, call: Call, response: Any = None) -> EndpointError:
    """Return our error for any error of a call, unless the answer came completely.

    `response` is the response of the last attempt, if there is one. Without a response, the error
    is known by its class in openai, langchain-openai or httpx2: APITimeoutError,
    APIConnectionError.
    """
    url = call.address.url
    causes = list(causes_of(error))
    if any(map(is_time_out, causes)):
        return EndpointError(
            f"{url} gave no answer within {call.address.timeout:g} s: raise the time-out, or take"
            " a faster model.",
            slow=True,
        )
    if response is not None:
        return _refused(response, call)
    if any(map(is_unreachable, causes)):
        return EndpointError(
            f"{url} cannot be reached ({call.quote(_root(error))}): check the address, and that"
            " the server runs."
        )
    what = call.quote(f"{type(error).__name__}: {error}")
    return EndpointError(
        f"The request to {url} could not be made ({what}): check its settings.",
        retryable=False,
        outage=False,
    )


def unreadable(response: Any, call: Call) -> EndpointError:
    """Return our error for a 200 whose body is no chat completion.

    The address may be wrong, or the server made a mistake; the result of another question shows
    which (see `EndpointError.outage`).
    """
    try:
        body = parse_body(response.content)
    except ValueError:
        instead = f"with {_kind(response)} instead of a chat completion"
        return _unused(f"{instead}: check the address, which usually ends in /v1", response, call)
    fault = body.get("error") if isinstance(body, dict) else None
    if not fault:
        return _unused(
            "without an answer in it: check that it serves /chat/completions", response, call
        )
    detail, code = _said(response, call), _status(fault)
    if not code:
        return _unused(f"with an error{detail}", response, call)
    # Aggregators pass on a provider's 429 or 502 in this way; a second try may succeed.
    hint = hint_for(code, _HINTS)
    return EndpointError(
        f"{call.address.url} answered 200, but with an error, for the model {call.address.model}:"
        f" {hint}{detail}.",
        status=code,
        retryable=_retryable(code, detail),
        outage=_outage(code, detail, call),
    )


def _unused(what: str, response: Any, call: Call) -> EndpointError:
    return EndpointError(
        f"{call.address.url} answered {response.status_code} for the model {call.address.model},"
        f" but {what}.",
        status=response.status_code,
        outage=False,
        usage=asdict(Usage(calls=1)),
    )


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds of a Retry-After header (RFC 9110, 10.2.3), 0 to `MAX_RETRY_AFTER`.

    A date is read against the server's own clock, its Date header.

    >>> retry_after({"retry-after": "2.5"}), retry_after({"retry-after": "86400"})
    (2.5, 300.0)
    >>> retry_after({"retry-after": "Wed, 21 Oct 2026 07:28:30 GMT",
    ...              "date": "Wed, 21 Oct 2026 07:28:00 GMT"})
    30.0
    >>> retry_after({"retry-after": "soon"}), retry_after({})
    (None, None)
    """
    asked = headers.get("retry-after", "")
    try:
        seconds = float(asked)
    except ValueError:
        try:
            until, now = map(parsedate_to_datetime, (asked, headers.get("date", "")))
            seconds = (until - now).total_seconds()
        except (ValueError, TypeError, OverflowError):
            return None
    return min(max(seconds, 0.0), MAX_RETRY_AFTER) if math.isfinite(seconds) else None


def _refused(response: Any, call: Call) -> EndpointError:
    status, detail = response.status_code, _said(response, call)
    if 300 <= status < 400:
        place = bare_address(response.headers.get("location", ""))
        to = call.quote(place.removesuffix("/chat/completions")) or "?"
        hint = f"it has moved to {to}: use that address"
    elif _TOO_LONG.search(detail):
        hint = "the prompt is too long for it"
    else:
        hint = hint_for(status, _HINTS)
    return EndpointError(
        f"{call.address.url} answered {status} for the model {call.address.model}: {hint}{detail}.",
        status=status,
        retryable=_retryable(status, detail),
        retry_after=retry_after(response.headers),
        outage=_outage(status, detail, call),
    )


def _retryable(status: int, detail: str) -> bool:
    if "insufficient_quota" in detail:
        return False
    return status in _RETRYABLE or (status >= 500 and status != 501)


def _outage(status: int, detail: str, call: Call) -> bool | None:
    """Return False for a refusal of the form alone: another form may be accepted."""
    return False if call.request.form != "text" and refuses("form", status, detail) else None


def _status(fault: object) -> int | None:
    """Return the HTTP status named by an error in a body."""
    code = fault.get("code") if isinstance(fault, Mapping) else None
    text = str(code) if isinstance(code, int | str) else ""
    return int(text) if re.fullmatch("[45][0-9]{2}", text) else None


def _said(response: Any, call: Call) -> str:
    """Return the endpoint's error message; empty if there is no message."""
    try:
        said = _message(parse_body(response.content))
    except ValueError:
        said = ""
    text = call.quote(said or response.content.decode("utf-8", "replace"))
    return f" (it said: {text})" if text else ""


def _message(body: object, depth: int = 0) -> str:
    """Return the message in an error's body, with its subject; empty if it has no usual form.

    Aggregators only say that their provider refused, and pass on the provider's answer as text.

    >>> said = '{"error": {"message": "no temperature here"}}'
    >>> _message({"error": {"message": "Provider returned error", "metadata": {"raw": said}}})
    'Provider returned error, no temperature here'
    """
    if isinstance(body, str) and body.lstrip().startswith(("{", "[")):
        try:
            return _message(parse_body(body.encode("utf-8", "replace")), depth) or body
        except ValueError:
            return body
    if isinstance(body, list) and len(body) == 1:
        return _message(body[0], depth)
    if not isinstance(body, Mapping) or depth > _MAX_NESTING:
        return str(body) if isinstance(body, int | str) and body else ""
    parts = [_message(body.get(key), depth + 1) for key in _TELLING]
    return ", ".join(dict.fromkeys(filter(None, parts)))


def _kind(response: Any) -> str:
    if not response.content:
        return "nothing"
    kind = str(response.headers.get("content-type", "")).partition(";")[0]
    return "broken JSON" if "json" in kind else kind or "something"


def _root(error: BaseException) -> str:
    """Return the deepest cause that has a message."""
    return [text for cause in causes_of(error) if (text := str(cause).strip())][-1].rstrip(".")
