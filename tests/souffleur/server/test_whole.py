"""The whole server: routes, proxy and tools behind one guard."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx2

from souffleur.api import Souffleur
from souffleur.server.app import make_whole_app
from souffleur.server.tokens import Role, TokenFile
from souffleur.settings import ServeSettings, Settings
from tests.build import NOW

CALL = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}
PING = {"jsonrpc": "2.0", "id": 2, "method": "ping"}
SAID = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}


@asynccontextmanager
async def whole(folder: Path) -> AsyncIterator[httpx2.AsyncClient]:
    """Yield a client of a whole app that nothing is behind, with a token of Ann's."""
    chosen = Settings(
        path=folder / "store",
        embedder="hash:64",
        serve=ServeSettings(upstream_url="http://[::1]:9/v1"),
    )
    tokens = TokenFile(folder / "tokens.json")
    secret = tokens.make(Role.USER, "ann", now=NOW)
    async with Souffleur.open(chosen, clock=lambda: NOW) as memory:
        app = make_whole_app(memory, chosen, tokens=tokens)
        transport = httpx2.ASGITransport(app)
        async with (
            app.router.lifespan_context(app),
            httpx2.AsyncClient(transport=transport, base_url="http://localhost") as client,
        ):
            client.headers["Authorization"] = f"Bearer {secret}"
            client.headers["Accept"] = "application/json, text/event-stream"
            yield client


async def test_all_are_behind_the_guard(tmp_path: Path) -> None:
    """Without a token each is a 401; with one, proxy and tools answer for its user alone."""
    chat = "/v1/chat/completions"
    async with whole(tmp_path) as client:
        for path, body in ((chat, SAID), ("/mcp", CALL), ("/api/memories", None)):
            refused = await client.post(path, json=body, headers={"Authorization": ""})
            assert refused.status_code == 401, path
        passed_on = await client.post(chat, json=SAID)
        assert (passed_on.status_code, "upstream_unreachable" in passed_on.text) == (502, True)
        other = await client.post(chat, json={**SAID, "user": "ben"})
        assert (other.status_code, "another user" in other.text) == (403, True)
        tools = await client.post("/mcp", json=CALL)
        assert (tools.status_code, "serverInfo" in tools.text) == (200, True)
        assert (await client.get("/metrics")).status_code == 403


async def test_a_session_is_for_its_token(tmp_path: Path) -> None:
    """Another one, of the same user too, finds no session of that id, and cannot end it."""
    async with whole(tmp_path) as client:
        tokens = TokenFile(tmp_path / "tokens.json")
        session = {
            "mcp-session-id": (await client.post("/mcp", json=CALL)).headers["mcp-session-id"]
        }
        for role, who in ((Role.USER, "ann"), (Role.USER, "ben"), (Role.ADMIN, "")):
            other = {**session, "Authorization": f"Bearer {tokens.make(role, who, now=NOW)}"}
            assert (await client.post("/mcp", json=PING, headers=other)).status_code == 404
            assert (await client.delete("/mcp", headers=other)).status_code == 404
        assert (await client.post("/mcp", json=PING, headers=session)).status_code == 200
        assert (await client.delete("/mcp", headers=session)).status_code == 200


async def test_what_is_not_there_is_told_as_elsewhere(tmp_path: Path) -> None:
    """A path without a route is a 404, and a wrong method a 405, with a message each."""
    async with whole(tmp_path) as client:
        for method, path, status in (
            ("GET", "/api/nothing", 404),
            ("POST", "/mcp/nothing", 404),
            ("PUT", "/api/memories", 405),
        ):
            told = await client.request(method, path)
            assert told.status_code == status
            assert "see /openapi.json" in told.json()["error"]["message"]
