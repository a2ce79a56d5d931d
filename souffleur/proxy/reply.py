"""The reply: the companion's words, read from the bytes of a response on their way."""

from collections.abc import Iterator, Mapping
from typing import Any, Literal

from souffleur.knowledge.text.thinking import without_thinking
from souffleur.messages import readable_content
from souffleur.proxy.injection import Api, parse_object
from souffleur.proxy.streams import (
    BLANK,
    Decode,
    UndecodableError,
    make_decoder,
    read_event,
    split_events,
)

ABORTED = "[aborted]"
"""The mark at the end of an interrupted reply."""
MAX_BODY = 64 << 20
"""Maximum number of bytes of a response, or of one of its events; a longer one is not observed."""
_CALLS = frozenset(
    {"function_call", "custom_tool_call", "computer_call", "local_shell_call", "shell_call"}
    | {"apply_patch_call", "mcp_approval_request"}
)
"""Types of items of a response that wait for the client; a later response has the reply."""
NOT_KNOWN = "it is no reply of OpenAI's interface"
NO_JSON = "it is neither events nor one JSON object"
ODD_EVENT = "one of its events is no JSON object"
TOO_LONG = f"it is longer than {MAX_BODY >> 20} MB"
"""Reasons why a reply, or a part of it, is not read."""

Form = Literal["", "events", "whole"]
"""The form of a response: events, or one JSON object; empty before its first byte."""


class Reply:
    """Reads the words of a response from its bytes. Skips unreadable parts."""

    def __init__(self, api: Api, encoding: str = "") -> None:
        """Prepare to read a response; `encoding` is its `Content-Encoding`."""
        self.form: Form = ""
        """The form of the response, found from its body."""
        self.unread = ""
        """Why the reply, or a part of it, is not read; empty if all of it is read."""
        self.complete = False
        """Whether the reply has ended without an error."""
        self.calls_tools = False
        """Whether the companion calls tools and continues afterwards."""
        self.ended = False
        """Whether the response says that the reply has ended."""
        self.failed = False
        """Whether the upstream has reported an error within the reply; then it is incomplete."""
        self.known = False
        """Whether a part of the response has the form of a reply."""
        self.grows = False
        """Whether the words have arrived in parts."""
        self.id = ""
        """The id of the response."""
        self._said: dict[str, list[str]] = {}
        self._held = bytearray()
        self._read = _read_chat if api == "chat" else _read_response
        self._decode: Decode = _nothing
        try:
            self._decode = make_decoder(encoding)
        except UndecodableError as error:
            self._give_up(str(error))

    @property
    def text(self) -> str:
        """The words so far, without the model's thoughts."""
        texts = filter(None, ("".join(part) for part in self._said.values()))
        return without_thinking("\n".join(texts))

    def take(self, data: bytes) -> None:
        """Read the next bytes of the response."""
        try:
            for part in self._decode(data):
                self._take_decoded(part)
        except UndecodableError as error:
            self._give_up(str(error))

    def finish(self) -> None:
        """Read the rest at the end of the response."""
        left, self._held = bytes(self._held.lstrip(BLANK)), bytearray()
        if left and self.form == "events":
            self._take_event(left)
        elif left:
            self._take_whole(left)
        if not (self.known or self.failed or self.unread):
            self.unread = NOT_KNOWN
        self.complete |= self.ended and not self.failed

    def say(self, part: str, text: object, *, whole: bool = False) -> None:
        """Add text to a part of the reply; with `whole`, the text replaces the part."""
        if isinstance(text, str) and text:
            said = self._said.setdefault(part, [])
            if whole:
                said.clear()
            said.append(text)

    def say_all(self, parts: Mapping[str, str]) -> None:
        """Replace the text of the reply by these parts."""
        self._said = {part: [text] for part, text in parts.items()}

    def _take_decoded(self, part: bytes) -> None:
        seen = len(self._held)
        self._held += part
        if not self.form and (begin := self._held.lstrip(BLANK)):
            self.form = "whole" if begin.startswith((b"{", b"[")) else "events"
        if self.form == "events" and (b"\n" in part or b"\r" in part):
            events, rest = split_events(bytes(self._held), seen)
            self._held = bytearray(rest)
            for event in events:
                self._take_event(event)
        if len(self._held) > MAX_BODY:
            self._give_up(TOO_LONG)

    def _take_whole(self, body: bytes) -> None:
        found = parse_object(body)
        if found is None:
            self.unread = NO_JSON
        else:
            self._take_object(found)

    def _take_event(self, event: bytes) -> None:
        found = read_event(event)
        self.failed |= found.name == "error"
        for one in found.data:
            self._take_object(one)
        if found.is_odd and found.name != "error":
            self.unread = ODD_EVENT
        if found.is_last:
            self.complete = not self.failed

    def _take_object(self, body: Mapping[str, Any]) -> None:
        self.failed |= tells_of_error(body)
        self._read(self, body)

    def _give_up(self, why: str) -> None:
        self.unread, self._decode = why, _nothing
        self._held.clear()


def tells_of_error(body: Mapping[str, Any]) -> bool:
    """Return whether an object is an error: in the form of OpenAI or vLLM, or a bare message.

    >>> tells_of_error({"error": {"message": "…"}}), tells_of_error({"object": "error"})
    (True, True)
    >>> tells_of_error({"code": 500, "message": "…"}), tells_of_error({"choices": []})
    (True, False)
    """
    named = "error" in (body.get("object"), body.get("type"))
    bare = "choices" not in body and "message" in body and body.get("code") not in (None, 0, 200)
    return named or bare or bool(body.get("error") or body.get("error_code"))


def _read_chat(reply: Reply, body: Mapping[str, Any]) -> None:
    """Read a completion, or a chunk of a completion. Of several choices, only the first is read.

    Some servers send the whole message in the last chunk, or in each chunk with the new part.
    """
    reply.id = str(body.get("id") or reply.id)
    reply.known |= isinstance(body.get("choices"), list)
    for choice in _mappings(body.get("choices")):
        if choice.get("index", 0):
            continue
        more, whole = _mapping(choice.get("delta")), _mapping(choice.get("message"))
        for part in ("content", "refusal"):
            if text := readable_content(more.get(part)):
                reply.grows = True
                reply.say(part, text)
            else:
                reply.say(part, readable_content(whole.get(part)), whole=reply.grows)
        calls = (one.get(name) for one in (more, whole) for name in ("tool_calls", "function_call"))
        reply.calls_tools |= any(calls)
        reason = choice.get("finish_reason")
        reply.failed |= bool(choice.get("error")) or reason == "error"
        reply.ended |= bool(reason or (whole and not more))


def _read_response(reply: Reply, body: Mapping[str, Any]) -> None:
    """Read a response, or an event of a response."""
    kind = str(body.get("type") or "")
    reply.known |= kind.startswith("response.") or "output" in body
    part = f"{body.get('output_index')} {body.get('content_index')}"
    reply.failed |= kind == "response.failed"
    if kind in ("response.output_text.delta", "response.refusal.delta"):
        reply.say(part, body.get("delta"))
    elif kind in ("response.output_text.done", "response.refusal.done"):
        reply.say(part, body.get("text") or body.get("refusal"), whole=True)
    elif kind == "response.output_item.done" and isinstance(body.get("item"), Mapping):
        reply.calls_tools |= str(body["item"].get("type")) in _CALLS
    whole = body.get("response") if kind else body
    if isinstance(whole, Mapping):
        reply.id = str(whole.get("id") or reply.id)
        if whole.get("status") in ("completed", "incomplete"):
            _read_output(reply, whole)


def _read_output(reply: Reply, response: Mapping[str, Any]) -> None:
    """Read the output of an ended response."""
    said: dict[str, str] = {}
    for index, item in enumerate(_mappings(response.get("output"))):
        reply.calls_tools |= str(item.get("type")) in _CALLS
        if item.get("type") == "message":
            for place, part in enumerate(_mappings(item.get("content"))):
                said[f"{index} {place}"] = str(part.get("text") or part.get("refusal") or "")
    if any(said.values()):
        reply.say_all(said)
    reply.complete = True


def _mappings(given: object) -> list[Mapping[str, Any]]:
    return [one for one in given if isinstance(one, Mapping)] if isinstance(given, list) else []


def _mapping(given: object) -> Mapping[str, Any]:
    return given if isinstance(given, Mapping) else {}


def _nothing(_: bytes) -> Iterator[bytes]:
    return iter(())
