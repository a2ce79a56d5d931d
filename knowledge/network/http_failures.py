"""Explanations for HTTP statuses of endpoints, and for errors of the HTTP client."""

import sys
from collections.abc import Iterator, Mapping

_HINTS = {
    401: "check the API key",
    402: "the account there has no credit left",
    403: "check what the API key is allowed to do",
    429: "too many requests, or the quota is used up: wait, or raise the quota there",
}


def hint_for(status: int, own: Mapping[int, str]) -> str:
    """Return advice for a status; `own` has the advice for this kind of endpoint.

    >>> hint_for(401, {}), hint_for(404, {404: "check the address"})
    ('check the API key', 'check the address')
    >>> hint_for(503, {}), hint_for(308, {})
    ('the server is in trouble; ask again later', 'it has moved: use its new address')
    """
    if 300 <= status < 400:
        return "it has moved: use its new address"
    return own.get(status) or _HINTS.get(status, "the server is in trouble; ask again later")


def causes_of(error: BaseException) -> Iterator[BaseException]:
    """Yield the error and its explicit causes; not its contexts, which may be of other calls."""
    cause: BaseException | None = error
    while cause is not None:
        yield cause
        cause = cause.__cause__


def is_time_out(error: BaseException) -> bool:
    """Return whether an error of Python or openai is a time-out."""
    return isinstance(error, TimeoutError) or _is_openai(error, "APITimeoutError")


def is_unreachable(error: BaseException) -> bool:
    """Return whether an error of Python or openai is a failed connection."""
    return isinstance(error, ConnectionError) or _is_openai(error, "APIConnectionError")


def _is_openai(error: BaseException, kind: str) -> bool:
    openai = sys.modules.get("openai")  # an unloaded library has raised no error
    return openai is not None and isinstance(error, getattr(openai, kind))
