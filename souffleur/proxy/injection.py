"""Injection: the whisper as text in a request, every other character as it was."""

import json
from collections.abc import Callable, Sequence
from itertools import islice
from typing import Any, Literal

from souffleur.proxy.json_text import Span, find_items, find_members, insert

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
    """Return the body with a whisper at an end of a content; in place of what has no text."""
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
