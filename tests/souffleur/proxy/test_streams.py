"""Streams of all kinds through the proxy, for the clients that people have.

The endpoint sends a part once the client has confirmed the parts before it: what were held back
would never come.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import httpx2
import openai
import pytest
import pytest_asyncio

from tests.browser import needs_browser, open_browser
from tests.souffleur.proxy.endpoint import Answer, Sent
from tests.souffleur.proxy.scene import Scene, open_scene
from tests.souffleur.proxy.streams import STREAMS
from tests.souffleur.proxy.test_wire import request

pytestmark = pytest.mark.asyncio(loop_scope="module")
PATIENCE = 20.0
"""Seconds for what takes some milliseconds."""
FETCH = """
const [names, urls, done] = arguments;
const fetched = async (base, name, confirms) => {
  const headers = confirms ? {"X-Souffleur-User": `page-${name}`} : {};
  const body = JSON.stringify({stream: true, messages: [{role: "user", content: name}]});
  const read = [];
  try {
    const response = await fetch(`${base}/chat/completions`, {method: "POST", body, headers});
    const reader = response.body.getReader();
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      read.push(...part.value);
      if (confirms) await fetch(`${base}/confirmed/${encodeURIComponent(name)}/${read.length}`);
    }
  } catch (error) { read.push(String(error)); }
  return read;
};
const all = async () => {
  const found = {};
  for (const name of names)
    found[name] = [await fetched(urls[0], name, true), await fetched(urls[1], name, false)];
  return found;
};
all().then(done, error => done(String(error)));
"""
"""What a page reads of each stream through the proxy, and of the endpoint itself."""


class Confirmed:
    """How many bytes a client has confirmed."""

    def __init__(self) -> None:
        self._more = asyncio.Condition()
        self._count = 0

    async def up_to(self, count: int) -> None:
        async with self._more:
            self._count = count
            self._more.notify_all()

    async def wait(self, count: int) -> None:
        async with asyncio.timeout(PATIENCE), self._more:
            await self._more.wait_for(lambda: self._count >= count)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def scene(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Scene]:
    async with open_scene(tmp_path_factory.mktemp("store"), recall_timeout=30.0) as opened:
        yield opened


def asked(name: str) -> dict[str, Any]:
    return {"model": "m", "stream": True, "messages": [{"role": "user", "content": name}]}


def named(who: str, name: str) -> dict[str, str]:
    """The headers of a client that has a user for each stream."""
    return {"X-Souffleur-User": f"{who}-{name}"}


async def check_turn(scene: Scene, who: str, name: str) -> None:
    """Check what was kept of a stream, and what is told if it was not read."""
    stream = STREAMS[name]
    for _ in range(100):  # a client that saw an error hangs up, and the turn is stored after it
        if turns := await scene.turns(f"{who}-{name}"):
            break
        await asyncio.sleep(0.1)
    (turn,) = turns
    assert (turn.user, turn.assistant) == (name, stream.said)
    told = (await scene.memory.health()).reply_error
    assert bool(told) == bool(stream.unread)
    assert stream.unread in told
    assert not told or turn.turn_id in told


@pytest.mark.parametrize("name", STREAMS)
async def test_a_raw_socket(scene: Scene, name: str) -> None:
    """Every part comes as it was sent, before the next is, and the turn has the right words."""
    stream, confirmed = STREAMS[name], Confirmed()
    scene.endpoint.will(stream.answer(ready=confirmed.wait))
    port = int(scene.url.split(":")[2].split("/")[0])
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    async with closing(writer):
        writer.write(request(json.dumps(asked(name)).encode(), **named("raw", name)))
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        told = f"\r\ncontent-type: {stream.type}\r\n"
        assert told in head if stream.type else "\r\ncontent-type:" not in head
        got = b""
        async for part in raw_parts(reader, head.lower()):
            got += part
            await confirmed.up_to(len(got))
    assert got == stream.body
    await check_turn(scene, "raw", name)


@asynccontextmanager
async def closing(writer: asyncio.StreamWriter) -> AsyncIterator[None]:
    try:
        yield
    finally:
        writer.close()
        await writer.wait_closed()


async def raw_parts(reader: asyncio.StreamReader, head: str) -> AsyncIterator[bytes]:
    """The parts of a body as they arrive."""
    if "transfer-encoding: chunked" not in head:
        while part := await reader.read(1 << 16):
            yield part
        return
    while size := int(await reader.readline(), 16):
        yield await reader.readexactly(size)
        await reader.readline()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def client(scene: Scene) -> AsyncIterator[openai.AsyncOpenAI]:
    async with scene.client() as opened:
        yield opened


@pytest.mark.parametrize("name", STREAMS)
async def test_the_asynchronous_client(scene: Scene, client: openai.AsyncOpenAI, name: str) -> None:
    """It has every byte at once."""
    stream, confirmed, got = STREAMS[name], Confirmed(), b""
    scene.endpoint.will(stream.answer(ready=confirmed.wait))
    headers = named("async", name)
    chunks = await client.chat.completions.create(**asked(name), extra_headers=headers)
    async for part in chunks.response.aiter_raw():
        got += part
        await confirmed.up_to(len(got))
    assert got == stream.body
    await check_turn(scene, "async", name)


class Confirming(httpx2.BaseTransport):
    """Confirms what a client hears, while that reads it in its own way."""

    def __init__(self, confirm: Callable[[int], object]) -> None:
        self._confirm = confirm
        self._inner = httpx2.HTTPTransport()

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        response = self._inner.handle_request(request)
        assert isinstance(response.stream, httpx2.SyncByteStream)
        response.stream = Heard(response.stream, self._confirm)
        return response

    def close(self) -> None:
        self._inner.close()


class Heard(httpx2.SyncByteStream):
    """A body whose bytes are confirmed as soon as they are there."""

    def __init__(self, inner: httpx2.SyncByteStream, confirm: Callable[[int], object]) -> None:
        self._inner = inner
        self._confirm = confirm

    def __iter__(self) -> Iterator[bytes]:
        count = 0
        for part in self._inner:
            count += len(part)
            self._confirm(count)
            yield part

    def close(self) -> None:
        self._inner.close()


async def test_the_synchronous_client(scene: Scene) -> None:
    """It reads, at once, what it reads without the proxy, up to the same error if there is one."""
    loop, confirmed = asyncio.get_running_loop(), Confirmed()

    def confirm(count: int) -> None:
        asyncio.run_coroutine_threadsafe(confirmed.up_to(count), loop).result(PATIENCE)

    how: dict[str, Any] = {"api_key": "k", "max_retries": 0}
    with (
        openai.DefaultHttpxClient(transport=Confirming(confirm)) as confirming,
        openai.OpenAI(base_url=scene.url, http_client=confirming, **how) as through,
        openai.OpenAI(base_url=scene.endpoint.url, **how) as direct,
    ):
        for name, stream in STREAMS.items():
            await confirmed.up_to(0)
            scene.endpoint.will(stream.answer(ready=confirmed.wait), stream.answer())
            read = await asyncio.to_thread(what_is_read, through, name)
            assert (name, *read) == (name, *await asyncio.to_thread(what_is_read, direct, name))
            if not (read and read[-1].endswith("Error")):  # else it hangs up
                await check_turn(scene, "sync", name)


def what_is_read(client: openai.OpenAI, name: str) -> list[str]:
    """What the client makes of a stream: its pieces, and the error that it ends with."""
    read = []
    try:
        chunks = client.chat.completions.create(**asked(name), extra_headers=named("sync", name))
        for chunk in chunks:
            read.append(chunk.to_json(indent=None))
    except (openai.OpenAIError, httpx2.HTTPError, ValueError) as error:
        read.append(type(error).__name__)
    return read


@needs_browser
async def test_a_page(scene: Scene, tmp_path: Path) -> None:
    """What a page fetches through the proxy is what it fetches of the endpoint, and at once."""
    confirmed = {name: Confirmed() for name in STREAMS}
    confirming = set()

    def answer(sent: Sent) -> Answer:
        if sent.line.startswith("POST"):
            name = sent.body["messages"][0]["content"]
            stream, is_ours = STREAMS[name], sent.header("accept-encoding") == "identity"
            gated = is_ours and stream.encoding in ("", "identity")  # else it counts other bytes
            return stream.answer(ready=confirmed[name].wait if gated else None)
        if "/confirmed/" in sent.line:
            name, count = unquote(sent.line.split(" ")[1]).split("/")[-2:]
            confirming.add(asyncio.ensure_future(confirmed[name].up_to(int(count))))
        return Answer((b"<html></html>",), headers=(("content-type", "text/html"),))

    scene.endpoint.will(answer)
    urls = [scene.url, scene.endpoint.url]
    read = await asyncio.to_thread(fetch_all, tmp_path, urls)
    for name, stream in STREAMS.items():
        through, direct = read[name]
        assert (name, through) == (name, direct)
        if not stream.encoding:
            assert bytes(through) == stream.body
        assert await scene.said(f"page-{name}") == [(name, stream.said)]


def fetch_all(profile: Path, urls: list[str]) -> dict[str, list[Any]]:
    """What a page of the proxy's own address fetches."""
    with open_browser(profile, f"{urls[0]}/page") as browser:
        browser.set_script_timeout(3 * PATIENCE)
        found = browser.execute_async_script(FETCH, list(STREAMS), urls)
    assert isinstance(found, dict), found
    return found
