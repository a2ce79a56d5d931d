"""Notes that a user sees with a reply, and their place in the bytes of the response."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

from souffleur.knowledge.text.marks import marked
from souffleur.notices import Notice
from souffleur.proxy.injection import Api, find_items, find_members, insert
from souffleur.proxy.reply import Form
from souffleur.proxy.streams import BLANK, read_event, split_events
from souffleur.recall.rendering import Reference

Mode = Literal["off", "append", "event"]
"""Where notes are shown: `append` adds them to the text of a reply, `event` sends them separately
in the same response, `off` sends no notes."""
_CALLING = ("tool_calls", "function_call")
"""The finish reasons of a reply that continues after a tool call."""


@dataclass(frozen=True)
class Notes:
    """The references of a whisper, and the notices of earlier turns."""

    references: tuple[Reference, ...] = ()
    notices: tuple[Notice, ...] = ()

    def __bool__(self) -> bool:
        """Return whether there is a reference or a notice."""
        return bool(self.references or self.notices)

    @property
    def text(self) -> str:
        """The notes as text to append to a reply, between marks."""
        lines = [line for one in self.notices for line in one.text.split("\n")]
        lines += [f"{one.text} ({one.age})" for one in self.references]
        return marked("\n\n---\n" + "\n".join(f"- {line}" for line in lines))

    @property
    def data(self) -> str:
        """The notes as one line of JSON."""
        told = {
            "notices": [one.model_dump(mode="json") for one in self.notices],
            "references": [asdict(one) for one in self.references],
        }
        return json.dumps(told, ensure_ascii=False)


class Carrier:
    """Puts notes into the bytes of one response."""

    def __init__(self, notes: Notes, mode: Mode, api: Api) -> None:
        """In `/responses`, the mode `append` has the effect of `event`."""
        self.done = False
        """Whether the bytes returned so far contain the notes."""
        self._notes = notes
        self._appends = mode == "append" and api == "chat"
        self._held = b""
        self._form: Form = ""

    def take(self, part: bytes, form: Form) -> bytes:
        """Return the bytes to send now; `form` is the form of the response, empty if unknown."""
        if self.done or not form:
            return part
        self._form = form
        if form == "events" and not self._appends:
            return self._with_comment(part)
        before = len(self._held)
        self._held += part
        if form == "whole":
            return b""
        events, self._held = split_events(self._held, before)
        sent = b"".join(map(self._event, events))
        if self.done:
            sent, self._held = sent + self._held, b""
        return sent

    def finish(self) -> bytes:
        """Return the last bytes to send."""
        left, self._held = self._held, b""
        return self._whole(left) if self._form == "whole" else left

    def _whole(self, body: bytes) -> bytes:
        try:
            text = body.decode()
            new = self._into_chat(text) if self._appends else self._beside(text)
        except (ValueError, KeyError, IndexError, RecursionError):
            return body  # the body is no JSON object, or has no reply
        self.done = new != text
        return new.encode()

    def _with_comment(self, part: bytes) -> bytes:
        """Return the first part of a stream with a comment before its first line."""
        self.done = True
        begin = len(part) - len(part.lstrip(BLANK))
        comment = f": souffleur {self._notes.data}\n\n".encode()
        return part[:begin] + comment + part[begin:]

    def _event(self, event: bytes) -> bytes:
        """Return an event. The last event of a reply has the notes before it.

        If the last event has text of its own, the notes follow it.
        """
        chunk = next(iter(read_event(event).data), {})
        choice = _first(chunk.get("choices"))
        reason = choice.get("finish_reason")
        if self.done or not reason or reason in _CALLING:
            return event
        self.done = True
        delta = {"index": 0, "delta": {"content": self._notes.text}, "finish_reason": None}
        shared = {name: value for name, value in chunk.items() if name != "usage"}
        more = json.dumps({**shared, "choices": [delta]}, ensure_ascii=False)
        note = f"data: {more}\n\n".encode()
        said = choice.get("delta")
        says = isinstance(said, Mapping) and said.get("content")
        return event + note if says else note + event

    def _into_chat(self, text: str) -> str:
        choice = next(find_items(text, find_members(text)["choices"].begin))
        message = find_members(text, choice.begin)["message"]
        content = find_members(text, message.begin)["content"]
        calls = message.value.get("tool_calls") or message.value.get("function_call")
        if calls or not isinstance(content.value, str) or not content.value:
            return text
        more = json.dumps(self._notes.text, ensure_ascii=False)[1:-1]
        return insert(text, content.end - 1, more)

    def _beside(self, text: str) -> str:
        members = find_members(text)
        member = f'"souffleur": {self._notes.data}'
        return insert(text, text.index("{") + 1, f"{member}, " if members else member)


def _first(choices: object) -> Mapping[str, Any]:
    """Return the first choice of a chunk; empty if it has no choice."""
    every = choices if isinstance(choices, list) else []
    found = (one for one in every if isinstance(one, Mapping) and not one.get("index", 0))
    return next(found, {})
