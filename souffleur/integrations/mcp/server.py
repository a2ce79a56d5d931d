"""The MCP server: the tools over a memory, for stdio and for streamable HTTP."""

import asyncio
import logging
import os
import sys
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.tools import Tool
from mcp.server.stdio import stdio_server
from mcp.server.transport_security import TransportSecuritySettings
from mcp.types import ToolAnnotations
from pydantic import create_model, model_validator
from pydantic_core import PydanticCustomError
from starlette.types import ASGIApp, Message, Receive, Scope, Send

import souffleur
from souffleur.errors import InputError
from souffleur.integrations.mcp.tools import Resolve, Tools, fixed, resolved, said
from souffleur.server.hosts import CONTAINER_HOSTS


class EndedStreams:
    """An app whose GET requests end, whole, once `stopping` is set. They wait without end."""

    def __init__(self, app: ASGIApp, stopping: asyncio.Event) -> None:
        self._app = app
        self._stopping = stopping

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http" or scope["method"] != "GET":
            await self._app(scope, receive, send)
            return
        is_open = False

        async def sent(message: Message) -> None:
            nonlocal is_open
            is_open = message["type"] == "http.response.start" or bool(message.get("more_body"))
            await send(message)

        async def received() -> Message:
            return await self._received(receive)

        await self._app(scope, received, sent)
        if is_open:
            await send({"type": "http.response.body"})

    async def _received(self, receive: Receive) -> Message:
        """Return what comes; that the client has gone, once the server stops."""
        came = asyncio.ensure_future(receive())
        stopped = asyncio.ensure_future(self._stopping.wait())
        try:
            await asyncio.wait([came, stopped], return_when=asyncio.FIRST_COMPLETED)
            return came.result() if came.done() else {"type": "http.disconnect"}
        finally:
            came.cancel()
            stopped.cancel()


BYTES_READ = 1 << 16


async def serve_stdio(server: MCPServer[Any], stopping: asyncio.Event) -> None:
    """Serve one client. Nothing but the protocol is written to standard output."""
    serving = asyncio.create_task(_serve(server))
    stopped = asyncio.create_task(stopping.wait())
    done, waiting = await asyncio.wait({serving, stopped}, return_when=asyncio.FIRST_COMPLETED)
    for task in waiting:
        task.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)
    for task in done:
        task.result()


async def _serve(server: MCPServer[Any]) -> None:
    lines: Any = _lines(sys.stdin.fileno())  # of a file, the transport only reads the lines
    async with stdio_server(stdin=lines) as (incoming, outgoing):
        inner = server._lowlevel_server  # it has no public name: MCPServer reads stdin by itself
        await inner.run(incoming, outgoing, inner.create_initialization_options())


async def _lines(fd: int) -> AsyncIterator[str]:
    """Yield the lines of a stream. Nobody has to wait for one: a daemon reads them.

    The thread that anyio reads files with would keep the process alive until the next line.
    """
    read: asyncio.Queue[bytes] = asyncio.Queue()
    loop = asyncio.get_running_loop()
    threading.Thread(target=_read, args=(fd, loop, read), daemon=True).start()
    rest = b""
    while chunk := await read.get():
        *whole, rest = (rest + chunk).split(b"\n")
        for line in whole:
            yield line.decode(errors="replace")


def _read(fd: int, loop: asyncio.AbstractEventLoop, read: asyncio.Queue[bytes]) -> None:
    """Put what comes into the queue; at its end, nothing."""
    while not loop.is_closed():
        try:
            chunk = os.read(fd, BYTES_READ)
        except OSError:
            chunk = b""
        try:
            loop.call_soon_threadsafe(read.put_nowait, chunk)
        except RuntimeError:  # the loop was closed meanwhile
            return
        if not chunk:
            return


INSTRUCTIONS = (
    "A long-term memory of the user. Before you answer, search_memories for what could matter. "
    "When the user tells you something lasting, or asks you to remember it, add_memory. When what "
    "you remember is wrong, update_memory or delete_memory. Every change can be undone."
)


def _reads(title: str) -> ToolAnnotations:
    return ToolAnnotations(title=title, read_only_hint=True, open_world_hint=False)


def _changes(title: str, *, destroys: bool = False, again: bool = False) -> ToolAnnotations:
    return ToolAnnotations(
        title=title,
        read_only_hint=False,
        destructive_hint=destroys,
        idempotent_hint=again,
        open_world_hint=False,
    )


@dataclass(frozen=True)
class About:
    """What is known of a tool beside its function."""

    method: str
    """The method of Souffleur that it is, which decides who may call it."""
    hints: ToolAnnotations


TOOLS: dict[str, About] = {
    "add_memory": About("remember", _changes("Remember something", again=True)),
    "search_memories": About("search", _reads("Search memories")),
    "get_memories": About("list", _reads("List memories")),
    "get_memory": About("get", _reads("Get a memory")),
    "update_memory": About("edit", _changes("Correct a memory", destroys=True, again=True)),
    "delete_memory": About("forget", _changes("Forget a memory", destroys=True, again=True)),
    "delete_all_memories": About(
        "forget", _changes("Forget everything", destroys=True, again=True)
    ),
    "history": About("history", _reads("History of a memory")),
    "undo": About("undo", _changes("Undo a change", destroys=True)),
    "ask": About("ask", _reads("Ask about the past")),
}


def make_server(
    memory: Any,
    *,
    user_id: str | None = None,
    agent_id: str | None = None,
    resolve: Resolve | None = None,
) -> MCPServer[Any]:
    """Return a server with the tools over an opened memory, which it does not close.

    `memory` is a Souffleur, or a client with its methods. All calls are about `user_id`; without
    it, each call must name its user. `agent_id` is the persona that asks; `None` means all that is
    known of a user. `resolve` finds both in the request instead, for many users behind tokens: a
    call may then name a user, and is refused by any SouffleurError. Who may change what a persona
    knows, it decides too: see `method_of`. Raises InputError for an invalid id.
    """
    if resolve is not None and (user_id, agent_id) != (None, None):
        raise InputError("`resolve` finds user and persona: give no ids beside it")
    if resolve is not None:
        whose = resolved(resolve)
    else:
        whose = said(agent_id) if user_id is None else fixed(user_id, agent_id)
    tools = Tools(memory)
    with _logging_left_alone():
        return MCPServer(
            "souffleur",
            title="Souffleur",
            instructions=INSTRUCTIONS,
            version=souffleur.__version__,
            tools=[
                _strict(
                    Tool.from_function(
                        whose.bind(getattr(tools, name)), name, annotations=about.hints
                    )
                )
                for name, about in TOOLS.items()
            ],
        )


def _strict(tool: Tool) -> Tool:
    """Return a tool that refuses unknown arguments: ignored, they would widen what it does."""
    model = tool.fn_metadata.arg_model
    known = list(tool.parameters["properties"])

    def check(cls: type[Any], given: dict[str, Any]) -> dict[str, Any]:
        if unknown := [name for name in given if name not in known]:
            raise PydanticCustomError(
                "unknown_argument",
                "there is no argument {unknown}: {name} takes {known}. Nothing was done.",
                {
                    "unknown": ", ".join(map(repr, unknown)),
                    "name": tool.name,
                    "known": ", ".join(known) or "none",
                },
            )
        return given

    checks: dict[str, Any] = {"check_arguments": model_validator(mode="before")(check)}
    tool.fn_metadata.arg_model = create_model(model.__name__, __base__=model, __validators__=checks)
    tool.parameters["additionalProperties"] = False
    return tool


@contextmanager
def _logging_left_alone() -> Iterator[None]:
    """Keep a host's log as it is: without a handler, MCPServer would set up one for everybody."""
    root, nobody = logging.getLogger(), logging.NullHandler()
    root.addHandler(nobody)
    try:
        yield
    finally:
        root.removeHandler(nobody)


def http_app(
    server: MCPServer[Any],
    *,
    path: str = "/mcp",
    guarded: bool = False,
    stopping: asyncio.Event | None = None,
) -> Any:
    """Return a server as an ASGI app, of Starlette, for streamable HTTP at `path`.

    Only requests to this machine are answered, unless the app is `guarded` by another that checks
    who may call. Clients keep a stream open: set `stopping` when the server is to stop, which would
    wait for them otherwise. Mounted in another app, its lifespan must run with that
    app's: `app.router.lifespan_context(app)`.
    """
    hosts = [f"{name}:*" for name in ("127.0.0.1", "localhost", "[::1]", *CONTAINER_HOSTS)]
    security = TransportSecuritySettings(
        enable_dns_rebinding_protection=not guarded,
        allowed_hosts=hosts,
        allowed_origins=[f"http://{host}" for host in hosts],
    )
    app = server.streamable_http_app(streamable_http_path=path, transport_security=security)
    app.router.redirect_slashes = False  # it would lead to whatever host a request names
    if stopping:
        app.add_middleware(EndedStreams, stopping=stopping)
    return app


def request_of(context: Context[Any, Any]) -> Any:
    """Return the HTTP request of a call, for a `resolve`. Raises InputError if there is none."""
    request = context.request_context.request
    if request is None:
        raise InputError("there is no HTTP request to find the user in: name the user")
    return request


def method_of(context: Context[Any, Any]) -> str:
    """Return the method of Souffleur that a call of a tool is, such as `forget`."""
    called = context.request_context.params or {}
    return TOOLS[called["name"]].method
