"""The cost of the proxy: time to the first chunk, and many streams at once, beside going direct.

Upstream, proxy and client are processes of their own on the loopback. The upstream streams at a
fixed pace, so that a stream takes longer only if the proxy cannot keep up.
"""

import asyncio
import json
import multiprocessing
import re
import statistics
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import asdict, dataclass
from multiprocessing.connection import Connection
from typing import Annotated, Any

from rich.console import Console
from rich.table import Table
from typer import Option

from bench.command import ToJson
from bench.speed.store import process_memory

MEMORIES = 1_000
"""Memories of the user who talks."""
ROUNDS = 200
STREAMS = 200
CHUNKS, PAUSE = 200, 0.05
"""Chunks of one of many streams, and seconds before each: 20 a second."""
WITHIN = 5.0
"""Seconds within which many streams begin."""
REST = 0.05
"""Seconds between two requests, in which what the last one left to do is done."""
WORD = 0.02
"""Seconds before each of the two chunks of a single request: the first is not the end of it."""
READY = 120.0
"""Seconds that a process may take to start."""
_RECALL = re.compile(rb"recall;dur=([0-9.]+)")


@dataclass(frozen=True)
class FirstChunks:
    """Milliseconds to the first chunk, of as many requests each way, in turn."""

    direct: tuple[float, ...]
    proxied: tuple[float, ...]
    recall: tuple[float, ...]
    """Milliseconds of the recall in each request through the proxy."""

    @property
    def added(self) -> float:
        """Milliseconds by which the median is higher through the proxy."""
        return statistics.median(self.proxied) - statistics.median(self.direct)


@dataclass(frozen=True)
class Streams:
    """Seconds that many streams took at once, and what memory the proxy held meanwhile."""

    direct: tuple[float, ...]
    proxied: tuple[float, ...]
    before: float
    """MB that the proxy's process held before, without the files that it maps."""
    peak: float
    """The most MB that it held meanwhile."""
    after: tuple[float, ...]
    """MB that it held after each time that all streams had gone through it."""

    @property
    def slowest(self) -> float:
        """The slowest stream through the proxy, as a multiple of the slowest that went direct."""
        return max(self.proxied) / max(self.direct)


def measure(
    rounds: int, streams: int, memories: int, earlier: int = 0
) -> tuple[FirstChunks, Streams]:
    """Start everything, and measure both; requests for first chunks hold `earlier` exchanges."""
    with _process(_upstream) as upstream, tempfile.TemporaryDirectory() as folder:
        direct = upstream.recv()
        with _process(_proxy, direct, folder, memories) as proxy:
            proxied = proxy.recv()
            first = asyncio.run(_first_chunks(direct, proxied, rounds, earlier))
            return first, asyncio.run(_many(direct, proxied, proxy, streams))


def report(first: FirstChunks, many: Streams) -> None:
    """Print both as tables."""
    console = Console()
    table = Table("time to the first chunk, ms", "median", "p95", "p99")
    rows = {"direct": first.direct, "through the proxy": first.proxied}
    for name, taken in (rows | {"of which recall": first.recall}).items():
        cuts = statistics.quantiles(taken, n=100)
        table.add_row(name, *(f"{one:.1f}" for one in (cuts[49], cuts[94], cuts[98])))
    console.print(table)
    console.print(f"The median is {first.added:.1f} ms higher.")
    table = Table(
        f"{len(many.direct) // 2} streams at once, twice; seconds each", "median", "p95", "slowest"
    )
    for name, taken in (("direct", many.direct), ("through the proxy", many.proxied)):
        cuts = statistics.quantiles(taken, n=100)
        table.add_row(name, *(f"{one:.2f}" for one in (cuts[49], cuts[94], max(taken))))
    console.print(table)
    more = 100 * (many.slowest - 1)
    console.print(f"The slowest took {more:.1f} % longer than the slowest that went direct.")
    then = ", ".join(f"{one:.0f}" for one in many.after)
    console.print(
        f"The proxy's process held {many.before:.0f} MB before, {many.peak:.0f} at most, "
        f"and {then} after the first and the second time."
    )


async def _first_chunks(direct: str, proxied: str, rounds: int, earlier: int) -> FirstChunks:
    """Ask both ways in turn, over connections that stay open; each message is another."""
    taken: dict[str, list[float]] = {direct: [], proxied: []}
    recall: list[float] = []
    async with _connected(direct) as one, _connected(proxied) as other:
        for count in range(-3, rounds):
            for url, (reader, writer) in ((direct, one), (proxied, other)):
                await asyncio.sleep(REST)
                said = f"What do I like in Lyon, number {count}?"
                asked = _request(said, chunks=2, pause=WORD, earlier=earlier)
                start = time.perf_counter()
                writer.write(asked)
                head = await reader.readuntil(b"data: ")
                if count >= 0:
                    taken[url].append(1000 * (time.perf_counter() - start))
                    recall += [float(found) for found in _RECALL.findall(head)]
                await reader.readuntil(b"\r\n0\r\n\r\n")
    return FirstChunks(tuple(taken[direct]), tuple(taken[proxied]), tuple(recall))


async def _many(direct: str, proxied: str, proxy: Connection, streams: int) -> Streams:
    before = _held(proxy)
    taken: dict[str, list[float]] = {direct: [], proxied: []}
    peak, after = 0.0, []
    for url in (direct, proxied, direct, proxied):
        work = asyncio.gather(*(_stream(url, n, streams) for n in range(streams)))
        while not work.done():
            await asyncio.wait([work], timeout=0.5)
            peak = max(peak, await asyncio.to_thread(_held, proxy))
        taken[url] += work.result()
        if url == proxied:
            after.append(_held(proxy))
    return Streams(tuple(taken[direct]), tuple(taken[proxied]), before, peak, tuple(after))


async def _stream(url: str, number: int, streams: int) -> float:
    """Return the seconds that one of many streams took."""
    await asyncio.sleep(WITHIN * number / streams)
    start = time.perf_counter()
    async with _connected(url) as (reader, writer):
        writer.write(_request(f"Tell me of Lyon, number {number}.", CHUNKS, PAUSE, f"u{number}"))
        while b"0\r\n\r\n" not in (part := await reader.read(65536))[-5:]:
            assert part, "the stream was cut off"
    return time.perf_counter() - start


def _held(proxy: Connection) -> float:
    proxy.send("held")
    return float(proxy.recv())


def _request(text: str, chunks: int, pause: float, user: str = "ann", *, earlier: int = 0) -> bytes:
    said = [{"role": "system", "content": "Be kind."}]
    for count in range(earlier):
        said.append({"role": "user", "content": f"{count}: {'I went to see the market. ' * 10}"})
        said.append({"role": "assistant", "content": f"{count}: {'How lovely, tell me. ' * 45}"})
    said.append({"role": "user", "content": text})
    asked = {"model": "m", "stream": True, "messages": said, "chunks": chunks, "pause": pause}
    body = json.dumps(asked).encode()
    head = (
        f"POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\ncontent-length: {len(body)}\r\n"
    )
    return f"{head}x-souffleur-user: {user}\r\n\r\n".encode() + body


@asynccontextmanager
async def _connected(url: str) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    port = int(url.split(":")[2].split("/")[0])
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        yield reader, writer
    finally:
        writer.close()
        await writer.wait_closed()


@contextmanager
def _process(work: Callable[..., Coroutine[Any, Any, None]], *given: Any) -> Iterator[Connection]:
    """Run work in a process of its own; its connection says when it is ready, and where."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_run, args=(work, theirs, *given), daemon=True)
    process.start()
    theirs.close()
    try:
        if not ours.poll(READY):
            raise RuntimeError("a process of the measurement did not start")
        yield ours
    finally:
        with suppress(OSError):  # it has ended already
            ours.send("end")
        process.join(10)
        process.kill()


def _run(work: Callable[..., Coroutine[Any, Any, None]], *given: Any) -> None:
    asyncio.run(work(*given))


async def _upstream(told: Connection) -> None:
    server = await asyncio.start_server(_answer, "127.0.0.1", 0, backlog=1024)
    told.send(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1")
    await asyncio.to_thread(told.recv)


async def _answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer requests with as many chunks, at such a pace, as they ask for."""
    try:
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            length = re.search(rb"(?i)content-length: (\d+)", head)
            asked = json.loads(await reader.readexactly(int(length[1]) if length else 0))
            kind = b"content-type: text/event-stream\r\ntransfer-encoding: chunked"
            writer.write(b"HTTP/1.1 200 OK\r\n%s\r\n\r\n" % kind)
            start = time.perf_counter()
            for count in range(asked["chunks"]):
                due = start + asked["pause"] * (count + 1)
                await asyncio.sleep(max(0.0, due - time.perf_counter()))
                writer.write(_event({"choices": [{"index": 0, "delta": {"content": "word "}}]}))
            writer.write(_event("[DONE]") + b"0\r\n\r\n")
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        writer.close()


def _event(data: object) -> bytes:
    line = data if isinstance(data, str) else json.dumps(data)
    event = f"data: {line}\n\n".encode()
    return b"%x\r\n%s\r\n" % (len(event), event)


async def _proxy(told: Connection, upstream: str, folder: str, memories: int) -> None:
    from bench.speed.store import PLACES, THINGS
    from souffleur import Souffleur
    from souffleur.collector import spare_what_lasts
    from souffleur.server.app import make_whole_app
    from souffleur.server.listening import address, bind, listening
    from souffleur.settings import check_settings

    async with Souffleur.open(check_settings({"path": folder, "upstream_url": upstream})) as memory:
        for count in range(memories):
            thing, place = THINGS[count % len(THINGS)], PLACES[count % len(PLACES)]
            await memory.remember(f"Ann likes {thing} in {place}, {count} times.", user_id="ann")
        spare_what_lasts()  # as the command does

        app = make_whole_app(memory, memory.settings, tokens=None)
        with bind("127.0.0.1", 0) as at:
            async with listening(app, at, stopping=app.state.stopping):
                told.send(f"{address('127.0.0.1', at.getsockname()[1])}/v1")
                while await asyncio.to_thread(told.recv) != "end":
                    told.send(process_memory("RssAnon"))


def proxy(
    rounds: Annotated[int, Option(min=2, help="Requests each way, one by one.")] = ROUNDS,
    streams: Annotated[int, Option(min=2, help="Streams at once.")] = STREAMS,
    memories: Annotated[int, Option(min=0, help="Memories of the user.")] = MEMORIES,
    earlier: Annotated[
        int, Option(min=0, help="Earlier exchanges, of 1.2 kB, in each single request.")
    ] = 0,
    as_json: ToJson = False,
) -> None:
    """Measure what the proxy costs: the first chunk, and many streams at once."""
    first, many = measure(rounds, streams, memories, earlier)
    if as_json:
        print(json.dumps({"first_chunks_ms": asdict(first), "streams_s": asdict(many)}))
    else:
        report(first, many)
