"""Whatever may go wrong between us and a model's endpoint, told as our own errors."""

import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any

from souffleur.errors import AnswerError, EndpointError, SouffleurError

LONGEST_WAIT = 300.0
"""Seconds. An endpoint that asks for a longer rest is asked again after this."""

_DETAIL = 300
"""Characters of an endpoint's own words that are worth repeating."""

_RETRYABLE = {408, 409, 425, 429}

_HINTS = {
    400: "check the model's name and settings",
    401: "check the API key",
    402: "the account there has no credit left",
    403: "check what the API key is allowed to do",
    404: "check the model's name and the address, which usually ends in /v1",
    413: "the prompt is too long for it",
    422: "check the model's name and settings",
    501: "it does not offer what was asked for",
    429: "too many requests, or the quota is used up: wait, or raise the quota there",
}


@dataclass(frozen=True)
class Address:
    """Whom we speak to, as far as an error message may tell."""

    url: str
    """Without user name, password and query."""
    model: str
    timeout: float
    """Seconds a call may take."""
    secret: str = ""
    """The key, so that no message repeats it."""


def translate(error: Exception, address: Address, response: Any = None) -> SouffleurError:
    """Our error for whatever a call has raised; `response` is the last one heard, if any.

    Translated are: openai's APITimeoutError, APIConnectionError, APIStatusError and every other
    APIError, each with langchain-openai's own subclasses; TimeoutError; and, because neither
    library has an error for a 200 that makes no sense, what they stumble over then: ValueError,
    JSONDecodeError, KeyError, IndexError, TypeError and AttributeError.
    """
    import openai

    for cause in _causes(error):
        if isinstance(cause, openai.APIStatusError):
            return _refused(cause, address)
        if isinstance(cause, TimeoutError | openai.APITimeoutError):
            return EndpointError(
                f"{address.url} gave no answer within {address.timeout:g} s: raise the time-out,"
                " or take a faster model.",
                slow=True,
            )
        if isinstance(cause, openai.APIConnectionError):
            return EndpointError(
                f"{address.url} cannot be reached ({_root(cause)}): check the address, and that"
                " the server runs."
            )
    if response is not None:
        return _nonsense(response, address)
    return EndpointError(
        f"The request to {address.url} could not be made ({type(error).__name__}: {error}):"
        " check its settings.",
        retryable=False,
    )


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds to wait by the Retry-After header (RFC 9110, 10.2.3), 0 to `LONGEST_WAIT`.

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
        except (ValueError, TypeError):
            return None
    return min(max(seconds, 0.0), LONGEST_WAIT) if math.isfinite(seconds) else None


def _refused(error: Any, address: Address) -> EndpointError:
    status, response = error.status_code, error.response
    detail = _said(error.body if error.body is not None else response.text, address)
    if 300 <= status < 400:
        hint = f"it has moved to {response.headers.get('location', '?')}: use that address"
    elif _too_long(detail):
        hint = "the prompt is too long for it"
    else:
        hint = _HINTS.get(status, "the server is in trouble; ask again later")
    return EndpointError(
        f"{address.url} answered {status} for the model {address.model}: {hint}{detail}.",
        status=status,
        retryable=_retryable(status, detail),
        retry_after=retry_after(response.headers),
    )


def _nonsense(response: Any, address: Address) -> SouffleurError:
    """For a 200 whose body is not a chat completion."""
    text = response.text
    try:
        body = json.loads(text)
    except ValueError:
        return AnswerError(
            f"{address.url} answered 200, but with {_kind(response)} instead of a chat completion:"
            " check the address, which usually ends in /v1.",
            answer=text,
        )
    fault = body.get("error") if isinstance(body, dict) else None
    if not fault:
        return AnswerError(
            f"{address.url} answered 200 for the model {address.model}, but without an answer in"
            " it: check that it serves /chat/completions.",
            answer=text,
        )
    detail = _said(body, address)
    message = f"{address.url} answered 200, but with an error, for the model {address.model}"
    code = fault.get("code") if isinstance(fault, dict) else None
    # Aggregators pass a provider's 429 or 502 on in this way, and it can be asked again.
    if isinstance(code, int) and 400 <= code < 600:
        hint = _HINTS.get(code, "the server is in trouble; ask again later")
        retryable = _retryable(code, detail)
        return EndpointError(f"{message}: {hint}{detail}.", status=code, retryable=retryable)
    return AnswerError(f"{message}{detail}.", answer=text)


def _retryable(status: int, detail: str) -> bool:
    if "insufficient_quota" in detail:
        return False
    return status in _RETRYABLE or (status >= 500 and status != 501)


def _too_long(text: str) -> bool:
    return bool(
        re.search(r"context.?(length|window|size)|prompt is too long|too many tokens", text, re.I)
    )


def _said(body: object, address: Address) -> str:
    """The endpoint's own words, on one line, without the key; "" if it had none."""
    if isinstance(body, Mapping) and "error" in body:
        body = body["error"]
    if isinstance(body, Mapping):
        parts = [body.get(key) for key in ("message", "detail", "param", "code")]
        body = ", ".join(str(part) for part in parts if part) or json.dumps(body, default=str)
    text = " ".join(re.sub(r"<[^>]*>", " ", str(body)).split())
    if address.secret:
        text = text.replace(address.secret, "…")
    if len(text) > _DETAIL:
        text = text[: _DETAIL - 1] + "…"
    return f" (it said: {text.rstrip('.')})" if text else ""


def _kind(response: Any) -> str:
    kind = str(response.headers.get("content-type", "")).partition(";")[0]
    return "broken JSON" if "json" in kind else kind or "something"


def _causes(error: BaseException) -> Iterator[BaseException]:
    """The error, and what it was raised from.

    Not its context, which may be an older call's error. Except for a warning that `-W error` has
    made an exception: langchain-openai gives one while it handles some answers of 400.
    """
    cause: BaseException | None = error
    while cause is not None:
        yield cause
        cause = cause.__cause__ or (cause.__context__ if isinstance(cause, Warning) else None)


def _root(error: BaseException) -> str:
    """The deepest cause that says something."""
    return [text for cause in _causes(error) if (text := str(cause).strip())][-1].rstrip(".")
