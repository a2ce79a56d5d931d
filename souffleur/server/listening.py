"""Listening: serve an ASGI app at a socket, in the caller's event loop."""

import asyncio
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager

import uvicorn
from loguru import logger
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from souffleur.errors import SettingsError
from souffleur.telemetry.log_lines import describe, trace_bug

_stopped = JSONResponse(
    {"error": {"type": "RequestError", "message": "the server has stopped: send it again later"}},
    status_code=503,
    headers={"Retry-After": "5"},
)


class _Server(uvicorn.Server):
    """A server that handles no signals, because one event loop may have two servers."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


@asynccontextmanager
async def listening(
    app: ASGIApp,
    at: socket.socket,
    *,
    drain: Callable[[], float] = lambda: 10.0,
    stopping: asyncio.Event | None = None,
) -> AsyncIterator[None]:
    """Serve an app at a bound socket within the block; at its end, finish the open requests.

    At the end, `stopping` is set, so that endless streams can end. `drain` returns the seconds,
    minimum 1, after which unfinished requests are cancelled.
    """
    config = uvicorn.Config(
        _discreet(app),
        log_config=None,
        access_log=False,
        server_header=False,
    )
    server = _Server(config)
    running = asyncio.create_task(server.serve(sockets=[at]))
    try:
        yield  # an earlier connection waits until the server has started
    finally:
        if stopping:
            stopping.set()
        config.timeout_graceful_shutdown = max(1, round(drain()))
        server.should_exit = True
        await running


def _discreet(app: ASGIApp) -> ASGIApp:
    """Return an app that logs its own bugs, because the server's traceback may quote a talk.

    A request that is cancelled when the server stops gets the answer that it can be sent again.
    """

    async def caught(scope: Scope, receive: Receive, send: Send) -> None:
        begun = False

        async def sent(message: Message) -> None:
            nonlocal begun
            begun = True
            await send(message)

        try:
            await app(scope, receive, sent)
        except asyncio.CancelledError:
            if scope["type"] == "lifespan":
                raise
            logger.warning("a request was broken off, as the server stops: {}", scope.get("path"))
            if not begun:
                await _stopped(scope, receive, send)
        except Exception as error:
            if scope["type"] == "lifespan":
                raise
            bound = logger.bind(method=scope.get("method"), path=scope.get("path"))
            bound.error("a request failed: {}", describe(error))
            trace_bug(bound, error)

    return caught


def bind(host: str, port: int) -> socket.socket:
    """Return a socket bound to an address; port 0 means any free port. Raises SettingsError."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        at = socket.create_server((host, port), family=family)
        at.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # each event is sent at once
        return at
    except (OSError, OverflowError) as error:
        raise SettingsError(
            f"cannot listen at {address(host, port)} ({error}): name another --port or address"
        ) from None


def address(host: str, port: int) -> str:
    """Return the URL of a host and port.

    >>> address("127.0.0.1", 8321), address("::1", 80)
    ('http://127.0.0.1:8321', 'http://[::1]:80')
    """
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
