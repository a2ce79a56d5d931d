"""An endpoint on the loopback that streams, stalls, breaks off and keeps what it was sent."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

Body = dict[str, Any]


@dataclass(frozen=True)
class Sent:
    """A request as it came over the wire."""

    line: str
    """Method, path and version."""
    headers: tuple[tuple[str, str], ...]
    """With names in lower case."""
    raw: bytes
    """The body."""

    @property
    def body(self) -> Any:
        return json.loads(self.raw)

    def header(self, name: str) -> str | None:
        return dict(self.headers).get(name)


@dataclass(frozen=True)
class Answer:
    """A response: as a whole, or in parts as a stream."""

    parts: tuple[bytes, ...]
    status: int = 200
    headers: tuple[tuple[str, str], ...] = (("content-type", "application/json"),)
    chunked: bool = False
    pause: float = 0.0
    """Seconds before each part."""
    hold_after: int | None = None
    """After so many parts, nothing comes until the client hangs up."""
    break_after: int | None = None
    """After so many parts, the connection is closed."""
    ready: Callable[[int], Awaitable[object]] | None = None
    """Awaited before each part but the first, with the number of bytes that were sent."""


Answering = Callable[[Sent], Answer]


@dataclass
class Endpoint:
    """What it was sent, and what it answers next; the last answer is repeated."""

    url: str = ""
    sent: list[Sent] = field(default_factory=list)
    gone: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when a client has hung up in the midst of an answer."""
    answers: list[Answer | Answering] = field(default_factory=list)
    connections: list[asyncio.StreamWriter] = field(default_factory=list)
    """All that were ever opened to it."""

    def will(self, *answers: Answer | Answering) -> None:
        """Answer so from now on."""
        self.answers = list(answers)
        self.sent.clear()
        self.gone.clear()

    @property
    def last(self) -> Sent:
        return self.sent[-1]

    def _next(self, sent: Sent) -> Answer:
        self.sent.append(sent)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        return answer if isinstance(answer, Answer) else answer(sent)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections.append(writer)
        try:
            while sent := await _read(reader):
                if not await self._write(writer, reader, self._next(sent)):
                    return
        except (ConnectionError, asyncio.IncompleteReadError):
            self.gone.set()
        finally:
            writer.close()

    async def _write(
        self, writer: asyncio.StreamWriter, reader: asyncio.StreamReader, answer: Answer
    ) -> bool:
        headers = list(answer.headers)
        if answer.chunked:
            headers.append(("transfer-encoding", "chunked"))
        else:
            headers.append(("content-length", str(sum(map(len, answer.parts)))))
        head = "".join(f"{name}: {value}\r\n" for name, value in headers)
        writer.write(f"HTTP/1.1 {answer.status} X\r\n{head}\r\n".encode())
        for index, part in enumerate(answer.parts):
            if answer.break_after == index:
                return False
            if answer.hold_after == index:
                await reader.read(1)
                self.gone.set()
                return False
            await asyncio.sleep(answer.pause)
            if index and answer.ready:
                await answer.ready(sum(map(len, answer.parts[:index])))
            writer.write(b"%x\r\n%s\r\n" % (len(part), part) if answer.chunked else part)
            await writer.drain()
        if answer.chunked:
            writer.write(b"0\r\n\r\n")
        await writer.drain()
        return True


async def _read(reader: asyncio.StreamReader) -> Sent | None:
    head = await reader.readuntil(b"\r\n\r\n")
    line, *rest = head.decode().rstrip().split("\r\n")
    headers = tuple(
        (name.lower(), value.strip()) for name, _, value in (h.partition(":") for h in rest)
    )
    named = dict(headers)
    if named.get("transfer-encoding") == "chunked":
        raw = b""
        while size := int(await reader.readline(), 16):
            raw += await reader.readexactly(size)
            await reader.readline()
        await reader.readline()
    else:
        raw = await reader.readexactly(int(named.get("content-length", "0")))
    return Sent(line, headers, raw)


@asynccontextmanager
async def open_endpoint() -> AsyncIterator[Endpoint]:
    endpoint = Endpoint()
    server = await asyncio.start_server(endpoint._serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    endpoint.url = f"http://127.0.0.1:{port}/v1"
    try:
        yield endpoint
    finally:
        server.close()


def whole(text: str | None, **message: Any) -> Answer:
    """A chat completion that is not streamed."""
    finish = "tool_calls" if "tool_calls" in message else "stop"
    said = {"role": "assistant", "content": text, **message}
    choice = {"index": 0, "message": said, "finish_reason": finish}
    return Answer((json.dumps(_completion("chat.completion", choice)).encode(),))


def streamed(*texts: str, finish: str = "stop", **how: Any) -> Answer:
    """A streamed chat completion, one part for each text."""
    deltas = [{"content": text} for text in texts]
    return events(*(_chunk(delta) for delta in deltas), _chunk({}, finish), "[DONE]", **how)


def calling(name: str) -> Answer:
    """A streamed call of a tool."""
    call = {
        "index": 0,
        "id": "c1",
        "type": "function",
        "function": {"name": name, "arguments": "{}"},
    }
    asked = {"role": "assistant", "content": None, "tool_calls": [call]}
    return events(_chunk(asked), _chunk({}, "tool_calls"), "[DONE]")


def responded(text: str, id: str = "resp_1") -> Answer:
    """A response of `/responses` that is not streamed."""
    return Answer((json.dumps(_response(text, id)).encode(),))


def response_events(*texts: str, id: str = "resp_1", **how: Any) -> Answer:
    """A streamed response of `/responses`."""
    place = {"output_index": 0, "content_index": 0, "item_id": "m1", "logprobs": []}
    deltas = [
        {"type": "response.output_text.delta", "delta": text, "sequence_number": n, **place}
        for n, text in enumerate(texts)
    ]
    done = {"type": "response.completed", "sequence_number": 99}
    return events(*deltas, {**done, "response": _response("".join(texts), id)}, **how)


def events(*data: object, **how: Any) -> Answer:
    """A stream of events, each one part; texts as they are, all else as JSON."""
    lines = (one if isinstance(one, str) else json.dumps(one) for one in data)
    kind = (("content-type", "text/event-stream; charset=utf-8"), ("cache-control", "no-cache"))
    parts = tuple(f"data: {line}\n\n".encode() for line in lines)
    return Answer(parts, headers=kind, chunked=True, **how)


def refusal(status: int, **headers: str) -> Answer:
    """An error in OpenAI's shape."""
    body = {"error": {"message": "slow down", "type": "stub", "param": None, "code": "x"}}
    named = tuple((name.replace("_", "-"), value) for name, value in headers.items())
    kind = ("content-type", "application/json")
    return Answer((json.dumps(body).encode(),), status, (kind, *named))


def _chunk(delta: Body, finish: str | None = None) -> Body:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return _completion("chat.completion.chunk", choice)


def _completion(kind: str, *choices: Body) -> Body:
    return {"id": "c1", "object": kind, "created": 0, "model": "m", "choices": list(choices)}


def _response(text: str, id: str) -> Body:
    content = [{"type": "output_text", "text": text, "annotations": []}]
    item = {"id": "m1", "type": "message", "role": "assistant", "status": "completed"}
    base = {"id": id, "object": "response", "created_at": 0, "model": "m", "status": "completed"}
    rest: Body = {"tools": [], "tool_choice": "auto", "parallel_tool_calls": True}
    return {**base, **rest, "output": [{**item, "content": content}]}
