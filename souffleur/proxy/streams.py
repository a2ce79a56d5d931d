"""Streams: the bytes of a response, decompressed and split into events."""

import re
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from itertools import chain
from types import ModuleType
from typing import Any, Protocol

from souffleur.proxy.injection import parse_object

Decode = Callable[[bytes], Iterator[bytes]]
"""Yields the decoded bytes of the next part of a body. Raises UndecodableError if damaged."""


class UndecodableError(Exception):
    """The body of a response cannot be decoded."""


class _Decompressor(Protocol):
    """The common methods of the decompressors of zlib and zstd."""

    @property
    def eof(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, /) -> bytes: ...


def make_decoder(encoding: str) -> Decode:
    """Return a decoder for the value of a `Content-Encoding` header.

    Raises UndecodableError for an unknown encoding, or if its library is not installed.

    >>> list(make_decoder("identity")(b"hi")), list(make_decoder("Deflate")(zlib.compress(b"hi")))
    ([b'hi'], [b'hi'])
    """
    named = [one.strip().lower() for one in encoding.split(",")]
    steps = [_step(one) for one in reversed(named) if one not in ("", "identity")]

    def decode(data: bytes) -> Iterator[bytes]:
        parts = iter([data])
        for step in steps:
            parts = chain.from_iterable(map(step, parts))
        return parts

    return decode


def _step(name: str) -> Decode:
    if name in ("gzip", "x-gzip"):
        return _in_members(lambda: zlib.decompressobj(zlib.MAX_WBITS | 16), zlib.error)
    if name == "deflate":
        return _deflated()
    if name == "zstd" and (zstd := _library("compression.zstd", "backports.zstd")):
        return _in_members(zstd.ZstdDecompressor, zstd.ZstdError)
    if name == "br" and (brotli := _library("brotli", "brotlicffi")):
        inner = brotli.Decompressor()
        decode = getattr(inner, "process", None) or inner.decompress
        return lambda data: _guarded(decode, data, brotli.error)
    raise UndecodableError(f"its encoding {name!r} is not known here")


def _in_members(make: Callable[[], _Decompressor], error: type[Exception]) -> Decode:
    """Return a decoder for a sequence of gzip members or zstd frames."""
    inner = make()

    def decode(data: bytes) -> Iterator[bytes]:
        nonlocal inner
        while data:
            if inner.eof:
                inner = make()
            yield from _guarded(inner.decompress, data, error)
            data = inner.unused_data

    return decode


def _deflated() -> Decode:
    """Return a decoder for deflate, with the header of zlib or without it."""
    begin = b""
    inner: Decode | None = None

    def decode(data: bytes) -> Iterator[bytes]:
        nonlocal begin, inner
        if inner is None:
            begin += data
            if len(begin) < 2:
                return iter(())
            has_header = begin[0] & 15 == 8 and int.from_bytes(begin[:2]) % 31 == 0  # RFC 1950
            bits = zlib.MAX_WBITS if has_header else -zlib.MAX_WBITS
            inner, data = _in_members(lambda: zlib.decompressobj(bits), zlib.error), begin
        return inner(data)

    return decode


def _guarded(
    decode: Callable[[bytes], bytes], data: bytes, error: type[Exception]
) -> Iterator[bytes]:
    try:
        yield decode(data)
    except error as damage:
        raise UndecodableError("its compressed bytes are damaged") from damage


def _library(*names: str) -> ModuleType | None:
    """Return the first installed library of these names; `None` if no library is installed."""
    for name in names:
        try:
            return import_module(name)
        except ImportError:
            continue
    return None


DONE = b"[DONE]"
"""The data of the last event of a chat."""
BLANK = b"\xef\xbb\xbf \t\r\n"
"""Bytes that may come before a body: white space, and the byte order mark of UTF-8."""
_DATA = (b"data", b"error")
"""Fields with data; llama.cpp used the second for errors until 2025."""
_END = re.compile(rb"(?>\r\n|\n|\r){2}")
"""The end of an event: an empty line. Lines end with CR, LF or both (html.spec.whatwg.org)."""
_LONGEST = 4
"""Number of bytes of the longest end of an event."""


@dataclass(frozen=True)
class Event:
    """The content of one event."""

    name: str = ""
    data: tuple[dict[str, Any], ...] = ()
    """The data, usually one JSON object."""
    is_last: bool = False
    """Whether the event ends the stream."""
    is_odd: bool = False
    """Whether a part of its data is no JSON object."""


def split_events(held: bytes, seen: int = 0) -> tuple[list[bytes], bytes]:
    r"""Return the whole events at the beginning of some bytes, and the rest.

    No event ends in the first `seen` bytes; they are not searched again.

    >>> split_events(b"data: 1\n\ndata: 2\r\n\r\ndata: 3\r\rda")
    ([b'data: 1\n\n', b'data: 2\r\n\r\n', b'data: 3\r\r'], b'da')
    """
    ends = [match.end() for match in _END.finditer(held, max(0, seen - _LONGEST))]
    begins = [0, *ends]
    events = [held[begin:end] for begin, end in zip(begins, ends, strict=False)]
    return events, held[begins[-1] :]


def read_event(event: bytes) -> Event:
    r"""Return the content of an event.

    Data in several lines are one object, or one object for each line, because some servers do not
    end events.

    >>> read_event(b'event: x\ndata:{"a":\ndata: 1}\n\n')
    Event(name='x', data=({'a': 1},), is_last=False, is_odd=False)
    >>> read_event(b'data: {"a": 1}\ndata: {\ndata: [DONE]\n')
    Event(name='', data=({'a': 1},), is_last=True, is_odd=True)
    >>> read_event(b": keep-alive\ndata:\n\n") == Event()
    True
    """
    name, data = "", []
    for line in event.lstrip(BLANK).splitlines():
        field, _, value = line.partition(b":")
        if field in _DATA:
            data.append(value.strip())
        if field == b"event":
            name = value.strip().decode(errors="replace")
        elif field == b"error":
            name = "error"
    said = [one for one in data if one not in (b"", DONE)]
    found = [_read(b"\n".join(said))] if said else []
    if found == [None]:
        found = [_read(one) for one in said]
    objects = tuple(one for one in found if one is not None)
    return Event(name, objects, DONE in data, len(objects) < len(found))


def _read(data: bytes) -> dict[str, Any] | None:
    return parse_object(data.decode(errors="replace"))  # a character may be incomplete
