"""The reply: what a companion said, read from the bytes of a response while they pass."""

import re
import zlib
from collections.abc import Callable, Mapping
from typing import Any

from souffleur.contents import readable_content
from souffleur.proxy.injection import Api
from souffleur.proxy.json_text import parse_object

ABORTED = "[aborted]"
"""What stands at the end of a reply that was not written to its end."""
MAX_BODY = 64 << 20
"""Bytes of a response that is not streamed which are read; a longer one is not observed."""
_THOUGHTS = re.compile(r"\s*<think(?:ing)?>.*?(?:</think(?:ing)?>\s*|$)", re.DOTALL)
_CALLS = frozenset(
    {"function_call", "custom_tool_call", "computer_call", "local_shell_call", "shell_call"}
    | {"apply_patch_call", "mcp_approval_request"}
)
"""Items of a response that wait for the client: the reply comes with a later one."""
_ENCODINGS = frozenset({"gzip", "x-gzip", "deflate"})
_GZIP_OR_DEFLATE = zlib.MAX_WBITS | 32
"""Has zlib read either header."""


class Reply:
    """Takes the bytes of a response and gives what was said; what it cannot read, it leaves out."""

    def __init__(self, api: Api, content_type: str, encoding: str = "") -> None:
        """`content_type` and `encoding` are headers of the response."""
        self.complete = False
        """Whether the reply has come to its end."""
        self.calls_tools = False
        """Whether the companion waits for tools, and says the rest afterwards."""
        self.ended = False
        """Whether the companion has said why it stopped."""
        self.failed = False
        """Whether the upstream has told of an error in its midst: then it has no end."""
        self.id = ""
        """The id of the response."""
        self._said: dict[object, list[str]] = {}
        self._held = bytearray()
        self._read = _read_chat if api == "chat" else _read_response
        self._streamed = content_type.startswith("text/event-stream")
        self._decode = _decoder(encoding)

    @property
    def text(self) -> str:
        """What was said so far, without thoughts."""
        texts = filter(None, ("".join(part) for part in self._said.values()))
        return _THOUGHTS.sub("", "\n".join(texts), count=1)

    @property
    def is_streamed(self) -> bool:
        """Whether it comes as events."""
        return self._streamed

    def take(self, data: bytes) -> None:
        """Read some bytes of the response."""
        self._held += self._decode(data)
        if self._streamed:
            *lines, rest = self._held.split(b"\n")
            self._held = rest
            for line in lines:
                self._take_line(line)
        elif len(self._held) > MAX_BODY:
            self._held.clear()
            self._decode = _nothing

    def finish(self) -> None:
        """Read what is left: the response has come to its end."""
        if self._streamed:
            self._take_line(self._held)
        elif (body := parse_object(self._held)) is not None:
            self._read(self, body)
        self._held = bytearray()
        self.complete |= self.ended and not self.failed

    def say(self, part: object, text: object, *, whole: bool = False) -> None:
        """Note what was said in a part of the reply: more of it, or the `whole`."""
        if isinstance(text, str) and text:
            said = self._said.setdefault(part, [])
            if whole:
                said.clear()
            said.append(text)

    def _take_line(self, line: bytes | bytearray) -> None:
        if not line.startswith(b"data:"):
            return
        data = line[5:].strip()
        if data == b"[DONE]":
            self.complete = not self.failed
        elif (event := parse_object(data)) is not None:
            self._read(self, event)


def _read_chat(reply: Reply, body: Mapping[str, Any]) -> None:
    """Read a completion, or a chunk of one; of several choices the first."""
    reply.id = str(body.get("id") or reply.id)
    reply.failed |= bool(body.get("error"))
    for choice in _mappings(body.get("choices")):
        if choice.get("index", 0):
            continue
        message = choice.get("delta") or choice.get("message")
        if isinstance(message, Mapping):
            reply.say("content", readable_content(message.get("content")))
            reply.say("refusal", message.get("refusal"))
            if message.get("tool_calls") or message.get("function_call"):
                reply.calls_tools = True
        reply.failed |= bool(choice.get("error")) or choice.get("finish_reason") == "error"
        reply.ended |= bool(choice.get("finish_reason") or choice.get("message"))


def _read_response(reply: Reply, body: Mapping[str, Any]) -> None:
    """Read a response, or an event of one."""
    kind = str(body.get("type") or "")
    part = (body.get("output_index"), body.get("content_index"))
    reply.failed |= kind in ("error", "response.failed")
    if kind in ("response.output_text.delta", "response.refusal.delta"):
        reply.say(part, body.get("delta"))
    elif kind in ("response.output_text.done", "response.refusal.done"):
        reply.say(part, body.get("text") or body.get("refusal"), whole=True)
    elif kind == "response.output_item.done" and isinstance(body.get("item"), Mapping):
        reply.calls_tools |= body["item"].get("type") in _CALLS
    whole = body.get("response") if kind else body
    if isinstance(whole, Mapping):
        reply.id = str(whole.get("id") or reply.id)
        if whole.get("status") in ("completed", "incomplete"):
            _read_output(reply, whole)


def _read_output(reply: Reply, response: Mapping[str, Any]) -> None:
    """Read the output of a response that is at its end."""
    for index, item in enumerate(_mappings(response.get("output"))):
        reply.calls_tools |= item.get("type") in _CALLS
        if item.get("type") == "message":
            for place, part in enumerate(_mappings(item.get("content"))):
                said = part.get("text") or part.get("refusal")
                reply.say((index, place), said, whole=True)
    reply.complete = True


def _mappings(given: object) -> list[Mapping[str, Any]]:
    return [one for one in given if isinstance(one, Mapping)] if isinstance(given, list) else []


def _decoder(encoding: str) -> Callable[[bytes], bytes]:
    """Return what reads bytes of an encoding; nothing of one that is not known."""
    if encoding in ("", "identity"):
        return bytes
    if encoding not in _ENCODINGS:
        return _nothing
    inflate = zlib.decompressobj(_GZIP_OR_DEFLATE)

    def decode(data: bytes) -> bytes:
        try:
            return inflate.decompress(data)
        except zlib.error:
            return b""

    return decode


def _nothing(_: bytes) -> bytes:
    return b""
