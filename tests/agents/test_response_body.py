"""Bodies of responses: no more of them is read than an answer may have."""

import gzip
import zlib
from collections.abc import AsyncIterator

import httpx2
import pytest

from souffleur.agents.model.response_body import MAX_BODY_BYTES, bound

PIECE = 65_536


class Endless(httpx2.AsyncByteStream):
    """Gives the same piece for ever, and counts."""

    def __init__(self, piece: bytes) -> None:
        self.piece = piece
        self.given = 0
        self.closed = False

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while True:
            self.given += 1
            yield self.piece

    async def aclose(self) -> None:
        self.closed = True


class Whole(httpx2.AsyncByteStream):
    """Gives these bytes, a few at a time."""

    def __init__(self, body: bytes, size: int = 7) -> None:
        self.pieces = [body[at : at + size] for at in range(0, len(body), size)]

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for piece in self.pieces:
            yield piece


async def read(stream: httpx2.AsyncByteStream, packing: str = "") -> bytes:
    headers = {"content-encoding": packing} if packing else {}
    response = httpx2.Response(200, headers=headers, stream=stream)
    bound(response)
    return await response.aread()


async def test_an_endless_body_is_left() -> None:
    """One byte more than the bound is read, so that its length tells, and the rest is not asked."""
    stream = Endless(b"x" * PIECE)
    assert len(await read(stream)) == MAX_BODY_BYTES + 1
    assert stream.given == MAX_BODY_BYTES // PIECE + 1
    assert stream.closed


@pytest.mark.parametrize("packing", ["gzip", "deflate", " GZIP "])
async def test_a_bomb_is_unpacked_up_to_the_bound(packing: str) -> None:
    """Of a gigabyte in a megabyte no more than the bound is ever made."""
    packer = zlib.compressobj(wbits=zlib.MAX_WBITS | (0 if packing == "deflate" else 16))
    bomb = b"".join(packer.compress(bytes(1 << 20)) for _ in range(64)) + packer.flush()
    assert len(bomb) < 100_000
    assert await read(Whole(bomb, PIECE), packing) == bytes(MAX_BODY_BYTES + 1)


@pytest.mark.parametrize(
    ("body", "packing"),
    [
        (b"abc" * 999, ""),
        (gzip.compress(b"abc" * 999, mtime=0), "gzip"),
        (gzip.compress(b"abc" * 999, mtime=0), "x-gzip"),
        (zlib.compress(b"abc" * 999), "deflate"),
        (b"abc" * 999, "identity"),
        (b"abc" * 999, "br"),
    ],
)
async def test_a_short_body_is_whole(body: bytes, packing: str) -> None:
    """It comes as it was sent, or unpacked; another packing is not undone."""
    assert await read(Whole(body), packing) == b"abc" * 999


async def test_what_is_broken_ends_there() -> None:
    """Of a torn or false archive that which could be unpacked is read."""
    assert await read(Whole(b"no archive"), "gzip") == b""
    torn = gzip.compress(b"abc" * 9)[:-9]
    assert (await read(Whole(torn), "gzip")) in b"abc" * 9
