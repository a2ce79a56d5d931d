"""A chat completion, read from the body of a response: odd bookkeeping spoils no answer."""

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass

from souffleur.agents.fields import shorten
from souffleur.knowledge.text.plain import mend, single_line

_MAX_TOKENS = 10**12
"""A greater number is not a count of tokens."""
_MAX_DIGITS = 15
_MAX_NAME_LENGTH = 100
"""Characters of the name of a model or of a finish reason."""
_ANSWERS = ("content", "reasoning_content", "reasoning", "reasoning_details", "thinking")
"""Where an answer stands in a message: servers that tell thinking by a model's marks put all of it
there if the marks are missing. In the later ones, only an object counts as an answer."""
_WORDS = ("text", "summary", "content")
"""Where the words of a part stand."""
_UNSAID = frozenset({"thinking", "reasoning", "redacted_thinking", "reasoning.encrypted"})
"""Types of parts of a content that are no answer."""
_MAX_DEPTH = 3
_OBJECT = re.compile(r'\{\s*+"')


@dataclass(frozen=True)
class Completion:
    """The parts of a chat completion that are used. Strings hold no lone surrogates."""

    text: str = ""
    refusal: str = ""
    finish: str = ""
    model: str = ""
    input_tokens: int = 0
    """Token counts are 0 if the server gave no plausible number."""
    cached_tokens: int = 0
    """Cached prompt tokens, at most `input_tokens`."""
    output_tokens: int = 0


def parse_body(content: bytes) -> object:
    """Return the JSON value of a body. Raises ValueError if it is none, or nested without end."""
    try:
        return json.loads(content.decode("utf-8-sig", "replace"), parse_int=_integer)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def read_completion(body: object) -> Completion | None:
    """Return the first answer in a chat completion; None if there is no message in it.

    Only `choices[0].message` must be there; its role, ids, times and tool calls are not looked at.

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
    """Return a count of tokens; 0 for what can be none.

    >>> [_count(value) for value in (7, 7.0, -1, "7", True, None, float("nan"), float("inf"))]
    [7, 7, 0, 0, 0, 0, 0, 0]
    """
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return 0
    return int(value) if 0 <= value < _MAX_TOKENS else 0


def _integer(digits: str) -> float:
    """Return the number; infinity if it has more digits than `int` may read."""
    return int(digits) if len(digits) <= _MAX_DIGITS else math.inf
