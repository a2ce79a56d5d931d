"""MCP sessions of the official client: with a process over stdio, and over streamable HTTP."""

import asyncio
import os
import re
import signal
import socket
import sys
import time
from pathlib import Path
from typing import Any

import httpx2
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client

from souffleur import Settings, Souffleur
from souffleur.integrations.mcp import Who, http_app, make_server, request_of
from souffleur.server.listening import bind, listening
from tests.asgi import served
from tests.command import Run

ADD = {"text": "Ann likes tea."}


def settings(folder: Path) -> dict[str, str]:
    return {"SOUFFLEUR_PATH": str(folder), "SOUFFLEUR_EMBEDDER": "hash:64"}


async def test_stdio(tmp_path: Path) -> None:
    """A session with a process of its own, which says nothing but the protocol."""
    given = {**settings(tmp_path), "SOUFFLEUR_USER": "ann"}
    command = StdioServerParameters(
        command=sys.executable, args=["-m", "souffleur", "mcp"], env=given
    )
    with (tmp_path / "errors.txt").open("w+") as errors:
        async with Client(stdio_client(command, errlog=errors)) as client:
            assert len((await client.list_tools()).tools) == 10
            assert not (await client.call_tool("add_memory", ADD)).is_error
            found = await client.call_tool("search_memories", {"query": "tea"})
            assert found.structured_content
            assert found.structured_content["results"][0]["text"] == "Ann likes tea."
    assert (tmp_path / "errors.txt").read_text() == ""
    async with Souffleur.open(Settings(path=tmp_path, embedder="hash:64")) as memory:
        assert [one.content for one in await memory.list(user_id="ann")] == ["Ann likes tea."]


async def test_a_signal_ends_the_process(tmp_path: Path) -> None:
    """Within seconds, with the store closed, while its client is still there."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "souffleur", "mcp"),
        env={**os.environ, **settings(tmp_path)},
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    assert process.stdin
    assert process.stdout
    assert process.stderr
    process.stdin.write(b'no JSON\n{"jsonrpc": "2.0", "id": 1, "method": "ping"}\n')
    line = await asyncio.wait_for(process.stdout.readline(), 30)
    assert b'"id":1' in line
    process.send_signal(signal.SIGTERM)
    assert await asyncio.wait_for(process.wait(), 20) == 0
    assert await process.stdout.read() == b""
    async with Souffleur.open(Settings(path=tmp_path, embedder="hash:64")) as memory:
        assert await memory.list(user_id="me") == []


async def test_http(tmp_path: Path) -> None:
    """Sessions of both generations of the protocol; two at once do not mix."""
    async with (
        Souffleur.open(Settings(path=tmp_path, embedder="hash:64")) as memory,
        served(http_app(make_server(memory, user_id="ann"))) as url,
    ):
        for mode in ("legacy", "auto"):
            async with Client(f"{url}/mcp", mode=mode) as one, Client(f"{url}/mcp") as other:
                added = await one.call_tool("add_memory", {"text": f"Ann likes {mode}."})
                assert not added.is_error
                found = await other.call_tool("search_memories", {"query": mode})
                assert found.structured_content
                assert found.structured_content["results"][0]["text"] == f"Ann likes {mode}."
        async with httpx2.AsyncClient() as plain:
            foreign = {"host": "evil.example", "content-type": "application/json"}
            answer = await plain.post(f"{url}/mcp", headers=foreign, json={})
            assert answer.status_code == 421
            led = await plain.post(f"{url}/mcp/", headers=foreign, json={})
            assert (led.status_code, "location" in led.headers) == (404, False)
            container = {**foreign, "host": "host.docker.internal:8322"}
            assert (await plain.post(f"{url}/mcp", headers=container, json={})).status_code != 421


async def test_a_server_that_stops_ends_the_streams_of_its_clients(tmp_path: Path) -> None:
    """At once and whole, also while a client waits for what the server may say."""
    at, stopping = bind("127.0.0.1", 0), asyncio.Event()
    url = f"http://127.0.0.1:{at.getsockname()[1]}/mcp"
    headers = {"accept": "application/json, text/event-stream"}
    who = {"name": "x", "version": "1"}
    begin = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": who}
    asked = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": begin}
    async with (
        Souffleur.open(Settings(path=tmp_path, embedder="hash:64")) as memory,
        httpx2.AsyncClient(headers=headers, timeout=10.0) as client,
    ):
        app = http_app(make_server(memory, user_id="ann"), stopping=stopping)
        async with listening(app, at, drain=lambda: 5.0, stopping=stopping):
            session = (await client.post(url, json=asked)).headers["mcp-session-id"]
            stream = client.stream("GET", url, headers={"mcp-session-id": session})
            response = await stream.__aenter__()
            assert response.status_code == 200
            begun = time.monotonic()
        assert [line async for line in response.aiter_lines()] == []
        assert time.monotonic() - begun < 3.0
        await stream.__aexit__(None, None, None)


async def test_many_users_behind_tokens(tmp_path: Path) -> None:
    """A host finds the user of each request itself; a call names another only if it may."""

    def resolve(context: Any, named: str | None) -> Who:
        token = request_of(context).headers.get("authorization", "")
        return Who(named or "nobody") if token == "Bearer admin" else Who(token.split()[-1])

    async with Souffleur.open(Settings(path=tmp_path, embedder="hash:64")) as memory:
        await memory.remember("Ann likes tea.", user_id="ann")
        app = http_app(make_server(memory, resolve=resolve), path="/", guarded=True)
        totals = []
        async with served(app) as url:
            for token, given in (
                ("ann", {}),
                ("bob", {}),
                ("bob", {"user_id": "ann"}),
                ("admin", {"user_id": "ann"}),
            ):
                headers = {"authorization": f"Bearer {token}"}
                async with httpx2.AsyncClient(headers=headers) as web:
                    transport = streamable_http_client(f"{url}/", http_client=web)
                    async with Client(transport) as client:
                        result = await client.call_tool("get_memories", given)
                        assert result.structured_content
                        totals.append(result.structured_content["total"])
        assert totals == [1, 0, 0, 1]


def test_a_port_that_is_taken(run: Run) -> None:
    """The command says which option to change."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        code, _, errors = run("mcp", "--http", "--port", str(taken.getsockname()[1]))
    assert code == 2
    assert "name another --port" in errors


async def test_http_needs_this_extra_alone(tmp_path: Path) -> None:
    """The command serves without FastAPI, answers a session, and ends with 0 at a signal."""
    code = "import sys; sys.modules['fastapi'] = None; from souffleur.cli import main; main()"
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", code, "mcp", "--http", "--port", "0"),
        env={**os.environ, **settings(tmp_path)},
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdout
    said = (await asyncio.wait_for(process.stdout.readline(), 30)).decode()
    (url,) = re.findall(r"listening: (http://127\.0\.0\.1:\d+/mcp);", said)
    async with Client(url) as client:
        assert not (await client.call_tool("add_memory", ADD)).is_error
        process.send_signal(signal.SIGTERM)
        assert await asyncio.wait_for(process.wait(), 20) == 0
