"""Streams as upstreams send them, with what was said in them, for the tests of the proxy."""

import gzip
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

from tests.souffleur.proxy.endpoint import Answer

EVENTS = "text/event-stream"
SSE = b"data: "


@dataclass(frozen=True)
class Stream:
    """What an upstream sends, part by part, and what is to be known of it."""

    parts: tuple[bytes, ...]
    said: str = "Héllo."
    """What is kept of it."""
    unread: str = ""
    """What is said about it if it cannot be read as a whole."""
    type: str | None = EVENTS
    """The content type."""
    encoding: str = ""
    """The content encoding."""
    chunked: bool = True

    @property
    def body(self) -> bytes:
        return b"".join(self.parts)

    def answer(self, **how: Any) -> Answer:
        """It as an answer, which a page from anywhere may read without a guess at its type."""
        named = {"content-type": self.type, "content-encoding": self.encoding}
        headers = [(name, value) for name, value in named.items() if value]
        headers += [("access-control-allow-origin", "*"), ("x-content-type-options", "nosniff")]
        return Answer(self.parts, headers=tuple(headers), chunked=self.chunked, **how)


def chunk(content: str, rest: str = "") -> bytes:
    """A chunk of a chat."""
    return f'{{"choices":[{{"index":0,"delta":{{"content":"{content}"}}{rest}}}]}}'.encode()


STOP = b'{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}'
HE, LLO = chunk("Hé"), chunk("llo.")
DATA = (HE, LLO, STOP, b"[DONE]")
USUAL = tuple(SSE + one + b"\n\n" for one in DATA)
WHOLE = '{"choices":[{"message":{"content":"Héllo."},"finish_reason":"stop"}]}'.encode()
VLLM = b'{"object":"error","message":"x","type":"InternalServerError","param":null,"code":500}'


def lines(end: bytes, before: bytes = SSE) -> tuple[bytes, ...]:
    """The usual events with lines that begin and end so."""
    return tuple(before + one + end + end for one in DATA)


def minimax(delta: str) -> tuple[bytes, ...]:
    """A stream whose last chunk has the whole message beside what was new in it."""
    last = f'{{"choices":[{{{delta}"finish_reason":"stop","message":{{"content":"Héllo."}}}}]}}'
    return (*USUAL[:2], SSE + last.encode() + b"\n\n")


def failing(*events: bytes, end: bytes = b"data: [DONE]\n\n") -> Stream:
    """A stream in whose midst the upstream tells of an error."""
    return Stream((USUAL[0], *events, *([end] if end else [])), "Hé [aborted]")


def deflated(bits: int) -> bytes:
    """The usual stream, deflated."""
    packed = zlib.compressobj(wbits=bits)
    return packed.compress(b"".join(USUAL)) + packed.flush()


def flushed() -> Iterator[bytes]:
    """The usual stream as one member of gzip, each event on its own."""
    packed = zlib.compressobj(wbits=zlib.MAX_WBITS | 16)
    for event in USUAL:
        yield packed.compress(event) + packed.flush(zlib.Z_SYNC_FLUSH)
    yield packed.flush()


BR = bytes.fromhex(
    "1b6200309c0576a333d9b2190cd6e65bdaf5a116d9db82d90a2c5d7d5a47e4ab6f8080130ed8e380963ecaae9313"
    "3b1fbf5d9fd642c81254165c1e6d995a6f42133ffcce1acc0b218abddee0e037c404"
)
ZSTD = bytes.fromhex(
    "28b52ffd2463bd0200d2851317903b07c35786966403b6acfd37badaa8d4e8e6c9f58e25082584710c084231896fb8dff3cb4fa9a330af6d5b9ee203764e8be77bb597d7615eb553f624e41f65db0e91fcd3d598598740aa562c010015368428fc549f8a"
)
"""A reply that is `Hello.`, by the programs of Debian 12."""


def packed(name: str, body: bytes, *libraries: str) -> Stream:
    """A stream in an encoding that is read where its library is installed."""
    if any(find_spec(one.partition(".")[0]) and find_spec(one) for one in libraries):
        return Stream((body,), "Hello.", encoding=name)
    return Stream((body,), "", f"its encoding '{name}' is not known here", encoding=name)


STREAMS: Mapping[str, Stream] = {
    # what its label says
    "usual": Stream(USUAL),
    "charset": Stream(USUAL, type="text/event-stream; charset=utf-8"),
    "spelled": Stream(USUAL, type="Text/Event-Stream;Charset=UTF-8"),
    "text": Stream(USUAL, type="text/plain"),
    "json label": Stream(USUAL, type="application/json"),
    "ndjson label": Stream(USUAL, type="application/x-ndjson"),
    "octets": Stream(USUAL, type="application/octet-stream"),
    "no label": Stream(USUAL, type=None),
    "with a length": Stream(USUAL, chunked=False),
    "a whole one": Stream((WHOLE[:20], WHOLE[20:]), type="application/json"),
    "a whole one with a length": Stream((WHOLE[:20], WHOLE[20:]), chunked=False),
    "a whole one after lines": Stream((b"\n", b"\n\n", WHOLE), type="text/plain"),
    # how its lines are written
    "crlf": Stream(lines(b"\r\n")),
    "cr": Stream(lines(b"\r")),
    "mixed ends": Stream(tuple(SSE + one + b"\r\n\n" for one in DATA)),
    "single ends": Stream(tuple(SSE + one + b"\n" for one in DATA)),
    "no space": Stream(lines(b"\n", b"data:")),
    "comments": Stream((b": hi\n\n", *lines(b"\n", b": ping\n\ndata: "), b": bye\n\n")),
    "names": Stream(lines(b"\n", b"event: message\nid: 7\nretry: 10\ndata: ")),
    "byte order mark": Stream((b"\xef\xbb\xbf" + USUAL[0], *USUAL[1:])),
    "half a mark": Stream((b"\xef", b"\xbb\xbf" + USUAL[0], *USUAL[1:])),
    "several lines": Stream((b'data: {"choices":\ndata: ' + HE[11:] + b"\n\n", *USUAL[1:])),
    "cut characters": Stream((*(bytes([one]) for one in USUAL[0]), *USUAL[1:])),
    "no last end": Stream((*USUAL[:3], b"data: [DONE]")),
    "without done": Stream(USUAL[:3]),
    "without a reason": Stream((*USUAL[:2], USUAL[3])),
    # what cannot be read
    "broken json": Stream((USUAL[0], b'data: {"choi\n\n', *USUAL[1:]), unread="no JSON object"),
    "broken utf-8": Stream(
        (SSE + chunk("H?").replace(b"?", b"\xc3") + b"\n\n", *USUAL[1:]), "H\ufffdllo."
    ),
    "plain words": Stream((b"Hello", b" you."), "", "no reply of OpenAI's", type="text/plain"),
    "a page": Stream((b"<html>\n\n", b"</html>"), "", "no reply of OpenAI's", type="text/html"),
    "broken whole": Stream((WHOLE[:30],), "", "nor one JSON object", type="application/json"),
    "another form": Stream((b'{"response": "Hello."}',), "", "no reply of OpenAI's"),
    "lines of json": Stream((HE + b"\n", LLO + b"\n"), "", "nor one JSON object"),
    # what is said twice, or not to the end
    "whole message, no delta": Stream(minimax("")),
    "whole message, empty delta": Stream(minimax('"delta":{},')),
    "whole message, blank delta": Stream(minimax('"delta":{"role":"assistant","content":""},')),
    "whole message, last delta": Stream(
        (USUAL[0], SSE + chunk("llo.", ',"message":{"content":"Héllo."}') + b"\n\n", *USUAL[2:])
    ),
    "cut off": Stream(USUAL[:2], "Héllo. [aborted]"),
    "whole messages, cut off": Stream(
        (SSE + chunk("Hé", ',"message":{"content":"Hé"}') + b"\n\n",), "Hé [aborted]"
    ),
    "error of vllm": failing(SSE + VLLM + b"\n\n"),
    "error of openai": failing(b'data: {"error":{"message":"x"}}\n\n'),
    "error by name": failing(b'event: error\ndata: {"message":"x"}\n\n'),
    "error by name, no json": failing(b"event: error\ndata: x\n\n"),
    "error of llama.cpp": failing(b'error: {"code":500,"message":"x"}\n\n'),
    "error in a choice": failing(b'data: {"choices":[{"finish_reason":"error"}]}\n\n'),
    "error without a frame": failing(b'data: {"code":500,"message":"x"}\n\n'),
    "error as the last": failing(SSE + VLLM + b"\n\n", end=b""),
    "several choices": Stream((SSE + chunk("No").replace(b":0", b":1") + b"\n\n", *USUAL)),
    # how its bytes are packed
    "gzip": Stream(tuple(flushed()), encoding="gzip"),
    "gzip spelled": Stream(tuple(flushed()), encoding="X-GZip"),
    "members of gzip": Stream(tuple(map(gzip.compress, USUAL)), encoding="gzip"),
    "deflate": Stream((deflated(15),), encoding="deflate"),
    "deflate without a header": Stream((deflated(-15),), encoding="deflate"),
    "packed twice": Stream((gzip.compress(deflated(15)),), encoding="deflate, gzip"),
    "identity": Stream(USUAL, encoding="identity"),
    "whole gzip": Stream((gzip.compress(WHOLE),), encoding="gzip", type="application/json"),
    "damaged gzip": Stream(
        (gzip.compress(USUAL[0]), b"damage"), "Hé [aborted]", "damaged", encoding="gzip"
    ),
    "unknown encoding": Stream((b"\x01\x02",), "", "'snappy' is not known", encoding="snappy"),
    "br": packed("br", BR, "brotli", "brotlicffi"),
    "zstd": packed("zstd", ZSTD, "compression.zstd", "backports.zstd"),
}
