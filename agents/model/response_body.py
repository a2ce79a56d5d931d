"""The body of a response, read up to a bound: no server fills the memory of its caller."""

import zlib
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing

import httpx2

MAX_BODY_BYTES = 4 << 20
"""An answer has far less, even with its reasoning and token probabilities."""

_GZIP_OR_DEFLATE = zlib.MAX_WBITS | 32


def bound(response: httpx2.Response) -> None:
    """Limit what is read of the response to `MAX_BODY_BYTES` + 1 bytes, counted unpacked.

    A body that is packed otherwise than by gzip or deflate, unasked, stays as it is.
    """
    assert isinstance(response.stream, httpx2.AsyncByteStream)
    packed = response.headers.pop("content-encoding", "").strip().lower()
    response.stream = _Bounded(response.stream, packed in ("gzip", "x-gzip", "deflate"))


class _Bounded(httpx2.AsyncByteStream):
    def __init__(self, stream: httpx2.AsyncByteStream, packed: bool) -> None:
        self._stream = stream
        self._packed = packed

    async def __aiter__(self) -> AsyncIterator[bytes]:
        inflate = zlib.decompressobj(_GZIP_OR_DEFLATE).decompress if self._packed else _first
        left = MAX_BODY_BYTES + 1
        async with aclosing(_parts(self._stream)) as parts:
            async for part in parts:
                try:
                    read = inflate(part, left)
                except zlib.error:
                    return
                yield read
                left -= len(read)
                if left <= 0:
                    return

    async def aclose(self) -> None:
        await self._stream.aclose()


async def _parts(stream: httpx2.AsyncByteStream) -> AsyncGenerator[bytes, None]:
    async for part in stream:
        yield part


def _first(part: bytes, limit: int) -> bytes:
    return part[:limit]
