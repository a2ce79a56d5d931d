"""The body of a response, read up to a limit, so that no server can fill this process's memory."""

import zlib
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing

import httpx2

MAX_BODY_BYTES = 4 << 20
"""Maximum bytes of a body; answers have far fewer, even with reasoning and token probabilities."""

_GZIP_OR_DEFLATE = zlib.MAX_WBITS | 32


def bound(response: httpx2.Response) -> None:
    """Limit the bytes that are read of the response to `MAX_BODY_BYTES` + 1, counted unpacked.

    The server was asked for an unpacked body; a body packed with gzip or deflate is unpacked all
    the same, any other packing stays.
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
