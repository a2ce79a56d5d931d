"""Injection: the whisper as system text in a request, every other character as it was."""

import json
from typing import Literal

from souffleur.proxy.json_text import Span, find_items, find_members, insert

Api = Literal["chat", "responses"]
"""Which of OpenAI's interfaces: `/chat/completions` or `/responses`."""
SYSTEM_ROLES = frozenset({"system", "developer"})


def inject(body: str, whisper: str, api: Api) -> str:
    """Return the request with the whisper as system text. `body` must be a JSON object.

    In chat, it is appended to the first message if that is the system's, else it is a message of
    its own in front; in responses, it is appended to `instructions`.

    >>> inject('{"messages": [{"role": "user", "content": "hi"}]}', "Ann", "chat")
    '{"messages": [{"role": "system", "content": "Ann"}, {"role": "user", "content": "hi"}]}'
    """
    if not whisper:
        return body
    return _into_chat(body, whisper) if api == "chat" else _into_instructions(body, whisper)


def _into_chat(body: str, whisper: str) -> str:
    messages = find_members(body)["messages"]
    first = next(find_items(body, messages.begin), None)
    if first and first.value.get("role") in SYSTEM_ROLES:
        content = find_members(body, first.begin).get("content")
        if content and isinstance(content.value, str):
            return _append(body, content, whisper)
        if content and isinstance(content.value, list):
            part = json.dumps({"type": "text", "text": whisper}, ensure_ascii=False)
            return insert(body, content.end - 1, f", {part}" if content.value else part)
    message = json.dumps({"role": "system", "content": whisper}, ensure_ascii=False)
    return insert(body, messages.begin + 1, f"{message}, " if first else message)


def _into_instructions(body: str, whisper: str) -> str:
    members = find_members(body)
    told = members.get("instructions")
    if told and isinstance(told.value, str):
        return _append(body, told, whisper)
    text = json.dumps(whisper, ensure_ascii=False)
    if told:
        return body[: told.begin] + text + body[told.end :]
    member = f'"instructions": {text}'
    return insert(body, body.index("{") + 1, f"{member}, " if members else member)


def _append(body: str, string: Span, whisper: str) -> str:
    """Append to a string of the body, before its closing quotation mark."""
    more = f"\n\n{whisper}" if string.value else whisper
    return insert(body, string.end - 1, json.dumps(more, ensure_ascii=False)[1:-1])
