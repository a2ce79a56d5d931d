"""The whisper as text in a request, and the places where each model accepts it."""

import json
import re
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Literal

from loguru import logger

from souffleur.proxy.latest import Latest

_DECODER = json.JSONDecoder()
_SPACE = re.compile(r"[ \t\n\r]*")


def parse_object(data: str | bytes | bytearray) -> dict[str, Any] | None:
    """Return the JSON object of a text; `None` if the text is no JSON object.

    >>> parse_object('{"a": 1}'), parse_object("[1]"), parse_object("{")
    ({'a': 1}, None, None)
    """
    try:
        found = json.loads(data)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


@dataclass(frozen=True)
class Span:
    """A value, and its position in the text."""

    value: Any
    """The value."""
    begin: int
    """Position of its first character."""
    end: int
    """Position after its last character."""


def find_members(text: str, begin: int = 0) -> dict[str, Span]:
    """Return the members of the JSON object at a position; of members with one name, the last.

    >>> find_members('{"a": 1, "b": [2]}')["b"]
    Span(value=[2], begin=14, end=17)
    """
    found = {}
    at = _skip(text, text.index("{", begin) + 1)
    while text[at] != "}":
        name, at = _DECODER.raw_decode(text, at)
        begins = _skip(text, text.index(":", at) + 1)
        value, at = _DECODER.raw_decode(text, begins)
        found[name] = Span(value, begins, at)
        at = _next(text, at)
    return found


def find_items(text: str, begin: int) -> Iterator[Span]:
    """Yield the items of the JSON array at a position.

    >>> [item.value for item in find_items('[1, {"a": 2}]', 0)]
    [1, {'a': 2}]
    """
    at = _skip(text, begin + 1)
    while text[at] != "]":
        value, end = _DECODER.raw_decode(text, at)
        yield Span(value, at, end)
        at = _next(text, end)


def insert(text: str, at: int, more: str) -> str:
    """Return the text with more text at a position.

    >>> insert("ac", 1, "b")
    'abc'
    """
    return f"{text[:at]}{more}{text[at:]}"


def _skip(text: str, at: int) -> int:
    return _SPACE.match(text, at).end()  # type: ignore[union-attr]


def _next(text: str, at: int) -> int:
    """Return the position of the next member or item, or of the end of the object or array."""
    at = _skip(text, at)
    return _skip(text, at + 1) if text[at] == "," else at


Api = Literal["chat", "responses"]
"""The interface of OpenAI: `/chat/completions` or `/responses`."""
Place = Literal["system", "user", "nowhere"]
"""The place of a whisper: in a system message, before the user's latest words, or without one."""
SYSTEM_ROLES = frozenset({"system", "developer"})
_EXAMPLE = "example_"
"""The beginning of the name of a system message that is an example of a talk (OpenAI cookbook)."""


def inject(body: str, whisper: str, api: Api, place: Place = "system") -> str:
    r"""Return the request with the whisper at a place. `body` must be a JSON object.

    At the place `system`, the whisper is appended: in `/chat/completions` to the first system
    message, in `/responses` to `instructions`. A request without them gets a new system message or
    `instructions` at its beginning. At the place `user`, a request without user's words stays
    unchanged.

    >>> inject('{"messages": [{"role": "user", "content": "hi"}]}', "Ann", "chat")
    '{"messages": [{"role": "system", "content": "Ann"}, {"role": "user", "content": "hi"}]}'
    >>> inject('{"input": "hi"}', "Ann", "responses", "user")
    '{"input": "Ann\\n\\nhi"}'
    """
    if not whisper or place == "nowhere":
        return body
    if place == "user":
        return _before_the_user(body, whisper, api)
    return _into_chat(body, whisper) if api == "chat" else _into_instructions(body, whisper)


def _into_chat(body: str, whisper: str) -> str:
    messages = find_members(body)["messages"]
    if told := _positions(messages.value, _is_told):
        return _add(body, _content(body, messages, told[0]), whisper, "text")
    message = json.dumps({"role": "system", "content": whisper}, ensure_ascii=False)
    return insert(body, messages.begin + 1, f"{message}, " if messages.value else message)


def _into_instructions(body: str, whisper: str) -> str:
    members = find_members(body)
    if told := members.get("instructions"):
        return _add(body, told, whisper, "input_text")
    member = f'"instructions": {json.dumps(whisper, ensure_ascii=False)}'
    return insert(body, body.index("{") + 1, f"{member}, " if members else member)


def _before_the_user(body: str, whisper: str, api: Api) -> str:
    said = find_members(body)["messages" if api == "chat" else "input"]
    if isinstance(said.value, list):
        places = _positions(said.value, _is_said)
        if not places:
            return body
        said = _content(body, said, places[-1])
    return _add(body, said, whisper, "text" if api == "chat" else "input_text", before=True)


def _positions(messages: Sequence[Any], fits: Callable[[dict[str, Any]], bool]) -> list[int]:
    return [at for at, one in enumerate(messages) if isinstance(one, dict) and fits(one)]


def _is_told(message: dict[str, Any]) -> bool:
    """Return whether a message is a system message with room for a whisper."""
    is_example = str(message.get("name", "")).startswith(_EXAMPLE)
    held = "content" in message and isinstance(message["content"], str | list | None)
    return message.get("role") in SYSTEM_ROLES and held and not is_example


def _is_said(message: dict[str, Any]) -> bool:
    """Return whether a message is a user message with room for a whisper."""
    return message.get("role") == "user" and isinstance(message.get("content"), str | list)


def _content(body: str, messages: Span, position: int) -> Span:
    message = next(islice(find_items(body, messages.begin), position, None))
    return find_members(body, message.begin)["content"]


def _add(body: str, content: Span, whisper: str, type_: str, *, before: bool = False) -> str:
    """Return the body with a whisper before or after a content, or instead of a null content."""
    text = json.dumps(whisper, ensure_ascii=False)
    place = content.begin + 1 if before else content.end - 1
    if isinstance(content.value, list):
        part = json.dumps({"type": type_, "text": whisper}, ensure_ascii=False)
        joint = ", " if content.value else ""
        return insert(body, place, f"{part}{joint}" if before else f"{joint}{part}")
    if isinstance(content.value, str):
        joint = "\\n\\n" if content.value else ""
        return insert(body, place, f"{text[1:-1]}{joint}" if before else f"{joint}{text[1:-1]}")
    return body[: content.begin] + text + body[content.end :]


REFUSALS = frozenset({400, 422})
"""HTTP statuses for messages that an upstream or a model's template does not accept: 400 from vLLM,
LM Studio and most others, 422 from upstreams that check requests with pydantic. Any other status
has another cause: the key, the address, the rate, the size of a body, a fault of the upstream."""
ORDER: tuple[Place, ...] = ("system", "user", "nowhere")
"""The places, the best first."""
LEARNED_FOR = 3600.0
"""Seconds for which a refusal counts, because a model may get another template."""
MAX_MODELS = 1000
"""Maximum number of models that are remembered."""
_TOLD = {
    "user": "before the user's words, but refused it as the system's",
    "nowhere": "nowhere: a request was refused with one, and answered without",
}


class Places:
    """Remembers the places where the models of one upstream refused a whisper."""

    def __init__(self, steady: Callable[[], float] = time.monotonic) -> None:
        """Take a `steady` clock: it returns seconds and never jumps."""
        self._steady = steady
        self._refused: Latest[tuple[str, Place], tuple[int, float]] = Latest(2 * MAX_MODELS)
        """The minimum length of refused requests, and the time until which it counts."""

    def first(self, model: str, length: int) -> Place:
        """Return the best place without a known refusal; `length` is that of the request in bytes.

        >>> (places := Places()).learn("gemma", 900, "user")
        >>> places.first("gemma", 100), places.first("qwen", 100)
        ('user', 'system')
        """
        return next(one for one in ORDER if length < self._limit(model, one))

    def learn(self, model: str, length: int, place: Place) -> None:
        """Remember that a model refused a request at each better place than `place`.

        If the model accepted the whisper at `place`, no request uses the better places. If it
        accepted the request only without the whisper, requests of this length or more do not use
        them: the whisper may have been too long for the model's context.
        """
        begin = length if place == "nowhere" else 0
        logger.warning("the model {!r} takes a whisper {}", model, _TOLD[place])
        for refused in ORDER[: ORDER.index(place)]:
            limit = min(begin, self._limit(model, refused))
            self._refused.put((model, refused), (int(limit), self._steady() + LEARNED_FOR))

    def _limit(self, model: str, place: Place) -> float:
        limit, until = self._refused.get((model, place)) or (0, 0.0)
        return limit if self._steady() < until else float("inf")


def after(place: Place) -> Place | None:
    """Return the next best place; `None` after the last place.

    >>> after("system"), after("user"), after("nowhere")
    ('user', 'nowhere', None)
    """
    return next(iter(ORDER[ORDER.index(place) + 1 :]), None)
