"""Fields of a provider's own that go with each request, such as `think` or `num_ctx`."""

import json
from collections.abc import Mapping
from typing import Any

_SET_ELSEWHERE = {
    "max_tokens": "SOUFFLEUR_MAX_TOKENS",
    "model": "SOUFFLEUR_MODEL",
    "response_format": "SOUFFLEUR_ANSWER_FORM",
    "temperature": "SOUFFLEUR_TEMPERATURE",
}
_OURS = frozenset(
    {
        *("function_call", "functions", "tool_choice", "tools"),
        *("messages", "n", "stream", "stream_options"),
    }
)
"""Fields that would change what is asked, or how many answers come and in which form."""


def parse_extra_body(text: str) -> dict[str, Any]:
    """Return the fields in a JSON object. Raises ValueError, whose text says what to write.

    >>> parse_extra_body('{"think": false}')
    {'think': False}
    >>> parse_extra_body("think=false")
    Traceback (most recent call last):
    ValueError: must be a JSON object, such as {"think": false}
    """
    try:
        fields = json.loads(text, parse_constant=_no_number)
    except (ValueError, RecursionError):
        fields = None
    if not isinstance(fields, dict):
        raise ValueError('must be a JSON object, such as {"think": false}')
    return fields


def check_extra_body(fields: Mapping[str, Any]) -> None:
    """Raise ValueError if a field is one that Souffleur sends itself, or no JSON value.

    >>> check_extra_body({"think": False, "options": {"num_ctx": 16384}})
    >>> check_extra_body({"temperature": 1})
    Traceback (most recent call last):
    ValueError: must not hold 'temperature': set SOUFFLEUR_TEMPERATURE
    """
    for name, value in fields.items():
        if name in _SET_ELSEWHERE:
            raise ValueError(f"must not hold {name!r}: set {_SET_ELSEWHERE[name]}")
        if name in _OURS:
            raise ValueError(f"must not hold {name!r}: Souffleur decides that itself")
        try:
            json.dumps(value, allow_nan=False)
        except (TypeError, ValueError, RecursionError):
            raise ValueError(f"must hold JSON values, and {name!r} is none") from None


def _no_number(name: str) -> float:
    raise ValueError(f"{name} is no JSON")
