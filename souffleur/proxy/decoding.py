"""Decoding: the bytes of a response as they were before they were compressed on the way."""

import zlib
from collections.abc import Callable, Iterator
from importlib import import_module
from itertools import chain
from types import ModuleType
from typing import Protocol

Decode = Callable[[bytes], Iterator[bytes]]
"""Yields what the next part of a body holds. Raises UndecodableError where it is damaged."""


class UndecodableError(Exception):
    """A body cannot be decoded."""


class _Decompressor(Protocol):
    """What zlib and zstd have in common."""

    @property
    def eof(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, /) -> bytes: ...


def make_decoder(encoding: str) -> Decode:
    """Return what decodes a body with this `Content-Encoding`.

    Raises UndecodableError for one that is not known, or whose library is not installed.

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
    """Return what decodes one member, or frame, after another."""
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
    """Return what decodes deflate with the header of zlib, or without it, as some send it."""
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
    """Return the first of some libraries that is installed."""
    for name in names:
        try:
            return import_module(name)
        except ImportError:
            continue
    return None
