"""What words leave outside the store, over HTTP and beside it: a canary.

Looked through are spans with content, metrics, events, refusals, and each line that any library
logs at level DEBUG, with its traceback.
"""

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import pytest
from langchain.agents import create_agent
from langchain_core.messages import HumanMessage
from loguru import logger
from mcp import Client as ToolClient

from souffleur.api import Souffleur
from souffleur.client import AsyncClient
from souffleur.integrations.langchain import SouffleurMiddleware, Talk
from souffleur.integrations.mcp import make_server
from souffleur.knowledge.turn import Turn
from souffleur.proxy.exchange import Prompter
from souffleur.proxy.speaker import usually
from souffleur.server.app import make_whole_app
from souffleur.server.listening import bind, listening
from souffleur.service.outbox import Outbox, Spool
from souffleur.settings import ServeSettings, Settings
from souffleur.telemetry import metrics_text
from tests.build import turn
from tests.line import Line
from tests.place import SERVER, bytes_below, where
from tests.scripted import SKIP, Scripted
from tests.souffleur.integrations.langchain.agents import scripted
from tests.souffleur.proxy.endpoint import streamed, whole
from tests.souffleur.proxy.scene import Scene, open_scene
from tests.traced import exporter

CANARY = "zanzibarcanary7"
SECRET = f"The wifi password is {CANARY}!"
ANN: dict[str, Any] = {"user_id": "ann", "session_id": "s1"}
WATCHED: dict[str, Any] = {
    "metrics": True,
    "traces": "content",
    "retry_pause": 0.0,
}


class Lines(logging.Handler):
    """Keeps each line, with its traceback."""

    def __init__(self) -> None:
        super().__init__(logging.NOTSET)
        self.kept: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        if not record.name.startswith("mcp.client."):  # what a caller logs is not ours
            self.kept.append(f"{record.name}: {self.format(record)}")


@pytest.fixture
def lines() -> Iterator[list[str]]:
    """All that is logged while a test runs, with values of variables, as is loguru's default."""
    handler, root = Lines(), logging.getLogger()
    former = root.level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    logger.enable("souffleur")
    sink = logger.add(lambda line: handler.kept.append(str(line)), level="DEBUG", diagnose=True)
    exporter().clear()
    yield handler.kept
    logger.remove(sink)
    logger.disable("souffleur")
    root.setLevel(former)
    root.removeHandler(handler)


@asynccontextmanager
async def served(memory: Any) -> AsyncIterator[str]:
    """The address of the whole server: routes, proxy and tools."""
    app, at = make_whole_app(memory, memory.settings, tokens=None), bind("127.0.0.1", 0)
    async with listening(app, at, drain=lambda: 1.0, stopping=app.state.stopping):
        yield f"http://127.0.0.1:{at.getsockname()[1]}"


@asynccontextmanager
async def following(url: str, kept: list[str]) -> AsyncIterator[None]:
    """Keeps the stream of Ann's events."""

    async def follow() -> None:
        about = f"{url}/api/events?user_id=ann&after=0"
        async with httpx2.AsyncClient(timeout=None) as http, http.stream("GET", about) as stream:
            async for line in stream.aiter_lines():
                kept.append(line)

    task = asyncio.create_task(follow())
    yield
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


@dataclass
class Edge:
    """A scene, and those who reach its memory over HTTP."""

    scene: Scene
    url: str
    client: AsyncClient
    http: httpx2.AsyncClient


@asynccontextmanager
async def edges(folder: Path, seen: list[str]) -> AsyncIterator[Edge]:
    """A scene whose memory is served; Ann's events are kept in `seen`."""
    async with (
        open_scene(folder, **WATCHED) as scene,
        served(scene.memory) as url,
        following(url, seen),
        AsyncClient(url) as client,
        httpx2.AsyncClient(base_url=url) as http,
    ):
        yield Edge(scene, url, client, http)


def left(*places: list[str]) -> list[str]:
    """What of all this, and of the spans, has the canary."""
    spans = [span.to_json() for span in exporter().get_finished_spans()]
    return [one for place in (*places, spans) for one in place if CANARY in one]


async def refused(http: httpx2.AsyncClient, words: str) -> list[str]:
    """Send bodies that are wrong in some way; what is answered."""
    bodies: list[dict[str, Any]] = [
        {"text": {"odd": words}, "user": {"odd": words}, "incognito": True},
        {"text": words, "user": words, "incognito": words},
        {"text": words, "topic": [words], "limit": words, "incognito": True},
    ]
    told = []
    for path in ("recall", "turns", "ask", "memories", "memories/search", "forget", "cards/search"):
        for content in (*map(json.dumps, bodies), f'{{"text": "{words}'):
            answer = await http.post(f"/api/{path}?user_id=ann", content=content)
            told.append(answer.text)
    return told


async def completed(http: httpx2.AsyncClient, words: str, **headers: str) -> None:
    """Have the proxy pass on words of Ann's."""
    asked = {"messages": [{"role": "user", "content": words}], "user": "ann"}
    told = await http.post("/v1/chat/completions", json=asked, headers=headers)
    assert told.is_success


async def test_incognito(tmp_path: Path, lines: list[str]) -> None:
    """By the client, the proxy, the tools and refused bodies: nothing is left anywhere."""
    seen: list[str] = []
    async with edges(tmp_path, seen) as edge:
        scene, client, http = edge.scene, edge.client, edge.http
        await client.remember("Ann likes plainly-said tea.", user_id="ann")
        await client.recall(**ANN, text="plainly-said")
        whisper = await client.recall(**ANN, text=CANARY, incognito=True)
        receipt = await client.observe(
            **ANN, user=CANARY, assistant=CANARY, whisper=whisper, incognito=True
        )
        assert (whisper.text, receipt.new) == ("", False)
        for answer in (whole(CANARY), streamed(CANARY, CANARY)):
            scene.endpoint.will(answer)
            await completed(http, CANARY, **{"x-souffleur-incognito": "1"})
        seen += await refused(http, CANARY)
        await client.set_preferences(user_id="ann", incognito=True)
        await completed(http, CANARY)
        async with ToolClient(f"{edge.url}/mcp") as tools:
            for name, given in (("search_memories", "query"), ("ask", "question")):
                told = await tools.call_tool(name, {given: CANARY, "user_id": "ann"})
                assert told.is_error
        await client.flush()
        seen.append(await metrics_text(scene.memory))
    assert any("plainly-said" in one for one in seen)
    assert any("plainly-said" in span.to_json() for span in exporter().get_finished_spans())
    assert left(lines, seen) == []
    assert not any(line.startswith("uvicorn.access") for line in lines)
    traced = {span.instrumentation_scope.name for span in exporter().get_finished_spans()}
    assert traced == {"souffleur", "mcp-python-sdk"}  # FastAPI's would have the query
    assert CANARY.encode() not in bytes_below(tmp_path)


async def test_secrets(tmp_path: Path, lines: list[str]) -> None:
    """What is said with them is traced and logged without them; so is a search for one."""
    seen: list[str] = []
    async with edges(tmp_path, seen) as edge:
        scene, client, http = edge.scene, edge.client, edge.http
        await client.remember(SECRET, user_id="ann")
        await client.recall(**ANN, text=SECRET)
        await client.ask(SECRET, user_id="ann")
        await client.search(SECRET, user_id="ann")
        await client.observe(**ANN, user=f"I say {SECRET}", assistant=SECRET, turn_id=SECRET)
        for answer in (whole(SECRET), streamed("Noted: ", SECRET)):
            scene.endpoint.will(answer)
            await completed(http, f"I say {SECRET}")
        seen += await refused(http, SECRET)
        await client.flush()
        seen.append(await metrics_text(scene.memory))
    assert any("[secret]" in one for one in seen)
    assert any("[secret]" in span.to_json() for span in exporter().get_finished_spans())
    assert left(lines, seen) == []


@pytest.mark.skipif(SERVER is None, reason="SOUFFLEUR_TEST_QDRANT_URL names no server")
async def test_an_outage(tmp_path: Path, lines: list[str]) -> None:
    """What waits on the disk for a server has no secret, and nothing that was incognito."""
    with Line(str(SERVER)) as line:
        chosen = Settings(**{**where(tmp_path), "qdrant_url": line.url}, embedder="hash:64")
        async with Souffleur.open(chosen, chat=Scripted(lambda _: SKIP), **WATCHED) as memory:
            memory.observe(**ANN, user="I begin")
            await memory.flush()
            line.cut()
            told: list[Any] = [memory.observe(**ANN, user=f"I say {SECRET}", assistant=SECRET)]
            told.append(memory.observe(**ANN, user=CANARY, incognito=True))
            told.append(await memory.recall(**ANN, text=SECRET))
            assert line.url in told[-1].error
            waiting = await asyncio.to_thread(bytes_below, tmp_path)
            told += [memory.error, await metrics_text(memory)]
            line.mend()
            assert await memory.flush()
    assert b"I say The wifi password is [secret]" in waiting
    assert CANARY.encode() not in waiting
    assert left(lines, list(map(repr, told))) == []


class Quoting:
    """A memory with a bug: whatever it is asked fails, and its error quotes the question."""

    def __init__(self, folder: Path) -> None:
        self.settings = Settings(
            path=folder, serve=ServeSettings(upstream_url="http://127.0.0.1:9/v1")
        )

    def observe(self, **given: Any) -> Any:
        raise ValueError(f"cannot observe {given}")

    def __getattr__(self, name: str) -> Any:
        async def fail(*words: Any, **given: Any) -> Any:
            raise ValueError(f"cannot {name} {words} {given}")

        return fail


async def test_bugs(tmp_path: Path, lines: list[str]) -> None:
    """An unexpected error that quotes what was said is logged by its type and place alone."""
    seen: list[str] = []
    memory: Any = Quoting(tmp_path)
    async with served(memory) as url, httpx2.AsyncClient(base_url=url) as http:
        for path, body in (("recall", {"text": CANARY}), ("turns", {"user": CANARY})):
            answer = await http.post(f"/api/{path}", params={"user_id": "ann"}, json=body)
            assert answer.status_code == 500
            seen.append(answer.text)
    async with ToolClient(make_server(memory, user_id="ann")) as tools:
        told = await tools.call_tool("add_memory", {"text": CANARY})
        assert told.is_error
        seen.append(str(told))
    asked = json.dumps({"messages": [{"role": "user", "content": CANARY}]}).encode()
    exchange = await Prompter(memory, timeout=1.0).begin("chat", asked, {}, "", usually("ann"))
    assert exchange.turn is None
    agent = create_agent(scripted("ok"), middleware=[SouffleurMiddleware(memory, recall=False)])
    await agent.ainvoke({"messages": [HumanMessage(CANARY)]}, context=Talk(user_id="ann"))

    def record(said: Turn) -> Turn | None:
        raise ValueError(f"cannot write {said}")

    box = Outbox(Spool(tmp_path / "spool", power_safe=False), record)
    box.put(turn(CANARY), print)
    assert not box.settle(20)
    box.close()
    seen.append(box.error)
    assert left(lines, seen) == []
    # two routes, a tool, a request of the proxy, an agent's two, an outbox's two
    assert sum("ValueError in " in line for line in lines) == 8
