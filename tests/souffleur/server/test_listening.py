"""A server that stops: what it breaks off."""

import asyncio
import logging
from pathlib import Path

import httpx2
import pytest
from starlette.types import Message, Receive, Scope, Send

from souffleur.server.listening import bind, listening
from souffleur.settings import Settings
from tests.place import where
from tests.stores import open_empty


async def test_all_end_within_one_timeout(tmp_path: Path) -> None:
    """The seconds that a server spends on its requests are not left to what ends after it."""
    settings = Settings(**where(tmp_path), embedder="hash:64", shutdown_timeout=1.2)

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "lifespan":
            await asyncio.Event().wait()

    at = bind("127.0.0.1", 0)
    host, port = at.getsockname()
    async with (
        open_empty(settings) as memory,
        httpx2.AsyncClient(base_url=f"http://{host}:{port}", timeout=10) as client,
    ):
        async with listening(app, at, drain=memory.seconds_left):
            asked = asyncio.create_task(client.get("/"))
            await asyncio.sleep(0.2)
        assert (await asked).status_code == 503
        assert memory.seconds_left() < 0.3


async def test_what_is_broken_off_is_told(caplog: pytest.LogCaptureFixture) -> None:
    """A request without an answer gets a 503, a stream ends early, and no traceback is logged."""
    waiting = asyncio.Semaphore(0)

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            return
        if scope["path"] == "/stream":
            start: Message = {"type": "http.response.start", "status": 200, "headers": []}
            await send(start)
        waiting.release()
        await asyncio.Event().wait()

    at = bind("127.0.0.1", 0)
    host, port = at.getsockname()
    async with httpx2.AsyncClient(base_url=f"http://{host}:{port}", timeout=10) as client:
        async with listening(app, at, drain=lambda: 1.0):
            asked = [asyncio.create_task(client.get(path)) for path in ("/answer", "/stream")]
            for _ in asked:
                await waiting.acquire()
        told, stream = await asyncio.gather(*asked, return_exceptions=True)
    assert isinstance(told, httpx2.Response)
    assert (told.status_code, told.headers["Retry-After"]) == (503, "5")
    assert "send it again later" in told.json()["error"]["message"]
    assert isinstance(stream, httpx2.RemoteProtocolError)
    assert [one for one in caplog.records if one.exc_info or one.levelno > logging.ERROR] == []
