"""ASGI apps served on the loopback."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import uvicorn


@asynccontextmanager
async def served(app: Any) -> AsyncIterator[str]:
    """The address of an app, which is served by the event loop of the test."""
    at = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(app, log_config=None))
    running = asyncio.create_task(server.serve(sockets=[at]))
    try:
        yield f"http://127.0.0.1:{at.getsockname()[1]}"
    finally:
        server.should_exit = True
        await running
