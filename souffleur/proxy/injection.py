"""The whisper as text in a request, and where each model takes it."""

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
    """Return the JSON object; `None` if it is anything else.

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
    """A value, and where it stands in the text."""

    value: Any
    """The value."""
    begin: int
    """Position of its first character."""
    end: int
    """Position after its last character."""


def find_members(text: str, begin: int = 0) -> dict[str, Span]:
    """Return the members of the object that begins there; of two with one name, the last.

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
    """Yield the items of the array that begins there.

    >>> [item.value for item in find_items('[1, {"a": 2}]', 0)]
    [1, {'a': 2}]
    """
    at = _skip(text, begin + 1)
    while text[at] != "]":
        value, end = _DECODER.raw_decode(text, at)
        yield Span(value, at, end)
        at = _next(text, end)


def insert(text: str, at: int, more: str) -> str:
    """Return the text with more at a position.

    >>> insert("ac", 1, "b")
    'abc'
    """
    return f"{text[:at]}{more}{text[at:]}"


def _skip(text: str, at: int) -> int:
    return _SPACE.match(text, at).end()  # type: ignore[union-attr]


def _next(text: str, at: int) -> int:
    """Return where the next member or item begins, or where the object or array ends."""
    at = _skip(text, at)
    return _skip(text, at + 1) if text[at] == "," else at


Api = Literal["chat", "responses"]
"""Which of OpenAI's interfaces: `/chat/completions` or `/responses`."""
Place = Literal["system", "user", "nowhere"]
"""Where a whisper stands: in the system's text, before the user's latest words, or not at all."""
SYSTEM_ROLES = frozenset({"system", "developer"})
_EXAMPLE = "example_"
"""How the names of system messages begin that are examples of a talk (OpenAI's cookbook)."""


def inject(body: str, whisper: str, api: Api, place: Place = "system") -> str:
    r"""Return the request with the whisper at a place of it. `body` must be a JSON object.

    As system text it is appended, in chat to the first message of the system, wherever that stands,
    in responses to `instructions`. If there is none, it becomes one, in front. A request without
    words of a user has no such place, and stays as it is.

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
    """Return whether it is the system's, and has a place for a whisper."""
    is_example = str(message.get("name", "")).startswith(_EXAMPLE)
    held = "content" in message and isinstance(message["content"], str | list | None)
    return message.get("role") in SYSTEM_ROLES and held and not is_example


def _is_said(message: dict[str, Any]) -> bool:
    """Return whether it is the user's, and has a place for a whisper."""
    return message.get("role") == "user" and isinstance(message.get("content"), str | list)


def _content(body: str, messages: Span, position: int) -> Span:
    message = next(islice(find_items(body, messages.begin), position, None))
    return find_members(body, message.begin)["content"]


def _add(body: str, content: Span, whisper: str, type_: str, *, before: bool = False) -> str:
    """Return the body with a whisper at an end of a content, or in place of an empty content."""
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
"""How upstreams answer messages that they, or the template of a model, cannot take: vLLM, LM Studio
and most others with 400, those that check requests with pydantic with 422. Any other status is due
to something else: the key, the address, the rate, the size of a body, trouble of the upstream."""
ORDER: tuple[Place, ...] = ("system", "user", "nowhere")
"""The places, from the best one on."""
LEARNED_FOR = 3600.0
"""Seconds for which a refusal counts: a model may have another template tomorrow."""
MAX_MODELS = 1000
"""Models that are remembered."""
_TOLD = {
    "user": "before the user's words, but refused it as the system's",
    "nowhere": "nowhere: a request was refused with one, and answered without",
}


class Places:
    """Remembers which requests the models of one upstream have refused."""

    def __init__(self, steady: Callable[[], float] = time.monotonic) -> None:
        """`steady` counts seconds and never jumps."""
        self._steady = steady
        self._refused: Latest[tuple[str, Place], tuple[int, float]] = Latest(2 * MAX_MODELS)
        """From which length on requests were refused, and until when that counts."""

    def first(self, model: str, length: int) -> Place:
        """Return the best place for a request of so many characters that is not known to fail.

        >>> (places := Places()).learn("gemma", 900, "user")
        >>> places.first("gemma", 100), places.first("qwen", 100)
        ('user', 'system')
        """
        return next(one for one in ORDER if length < self._limit(model, one))

    def learn(self, model: str, length: int, place: Place) -> None:
        """Note that a request was refused with a whisper at any place before this one.

        If another place is taken, the refused one is none for this model. If none is, a shorter
        request may do, as the whisper may have been too much for the model's context.
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
    """Return the next best place; `None` if there is none.

    >>> after("system"), after("user"), after("nowhere")
    ('user', 'nowhere', None)
    """
    return next(iter(ORDER[ORDER.index(place) + 1 :]), None)
