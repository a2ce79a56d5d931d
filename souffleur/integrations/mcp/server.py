"""The MCP server: the tools over a memory, for stdio and for streamable HTTP."""

import asyncio
import logging
import os
import sys
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

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
from souffleur.integrations.mcp.tools import (
    NO_USER,
    OPTIONAL_USER,
    USER,
    Method,
    Resolve,
    Tools,
    check_who,
    tool_function,
)
from souffleur.server.hosts import CONTAINER_HOSTS


class EndedStreams:
    """An app that ends its streams (GET requests without an end) when `stopping` is set."""

    def __init__(self, app: ASGIApp, stopping: asyncio.Event) -> None:
        self._app = app
        self._stopping = stopping

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http" or scope["method"] != "GET":
            await self._app(scope, receive, send)
            return
        is_open = False

        async def send_noted(message: Message) -> None:
            nonlocal is_open
            is_open = message["type"] == "http.response.start" or bool(message.get("more_body"))
            await send(message)

        await self._app(scope, lambda: self._received(receive), send_noted)
        if is_open:
            await send({"type": "http.response.body"})

    async def _received(self, receive: Receive) -> Message:
        """Return the next message; a disconnect when the server stops."""
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
    """Serve one client; only the protocol is written to standard output."""
    serving = asyncio.create_task(_serve(server))
    stopped = asyncio.create_task(stopping.wait())
    done, waiting = await asyncio.wait({serving, stopped}, return_when=asyncio.FIRST_COMPLETED)
    for task in waiting:
        task.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)
    for task in done:
        task.result()


async def _serve(server: MCPServer[Any]) -> None:
    lines: Any = _lines(sys.stdin.fileno())  # the transport reads only the lines of a file
    async with stdio_server(stdin=lines) as (incoming, outgoing):
        inner = server._lowlevel_server  # no public name: MCPServer would read stdin itself
        await inner.run(incoming, outgoing, inner.create_initialization_options())


async def _lines(fd: int) -> AsyncIterator[str]:
    """Yield the lines of a stream, read by a daemon thread.

    A thread of anyio would keep the process alive until the next line.
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
    """Put each chunk into the queue; at the end of the stream, an empty one."""
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


class ToolInfo(NamedTuple):
    """The method of Souffleur that a tool calls, and the tool's annotations.

    The method decides who may call the tool.
    """

    method: str
    hints: ToolAnnotations


TOOLS: dict[str, ToolInfo] = {
    "add_memory": ToolInfo("remember", _changes("Remember something", again=True)),
    "search_memories": ToolInfo("search", _reads("Search memories")),
    "get_memories": ToolInfo("list", _reads("List memories")),
    "get_memory": ToolInfo("get", _reads("Get a memory")),
    "update_memory": ToolInfo("edit", _changes("Correct a memory", destroys=True, again=True)),
    "delete_memory": ToolInfo("forget", _changes("Forget a memory", destroys=True, again=True)),
    "delete_all_memories": ToolInfo(
        "forget", _changes("Forget everything", destroys=True, again=True)
    ),
    "history": ToolInfo("history", _reads("History of a memory")),
    "undo": ToolInfo("undo", _changes("Undo a change", destroys=True)),
    "ask": ToolInfo("ask", _reads("Ask about the past")),
}


def make_server(
    memory: Any,
    *,
    user_id: str | None = None,
    agent_id: str | None = None,
    resolve: Resolve | None = None,
) -> MCPServer[Any]:
    """Return a server with the tools over an opened memory; the caller closes the memory.

    `memory` is a Souffleur or an AsyncClient. All calls are about `user_id`; without it, each call
    must name its user. `agent_id` is the persona; `None` means all memories of a user. For many
    users with tokens, `resolve` finds user and persona in the request instead. Then a call may name
    a user, and any SouffleurError of `resolve` refuses the call; `method_of` returns the method of
    the call. Raises InputError for an invalid id.
    """
    if resolve is not None and (user_id, agent_id) != (None, None):
        raise InputError("`resolve` finds user and persona: give no ids beside it")
    user_type: Any = OPTIONAL_USER
    if resolve is None and user_id is None:
        user_type, resolve = USER, lambda context, named: check_who(named, agent_id)
    elif resolve is None:
        who = check_who(user_id, agent_id)
        user_type, resolve = NO_USER, lambda context, named: who
    tools = Tools(memory)
    with _logging_left_alone():
        return MCPServer(
            "souffleur",
            title="Souffleur",
            instructions=INSTRUCTIONS,
            version=souffleur.__version__,
            tools=[
                _strict(tool_function(getattr(tools, name), resolve, user_type), name, info.hints)
                for name, info in TOOLS.items()
            ],
        )


def _strict(function: Method, name: str, hints: ToolAnnotations) -> Tool:
    """Return a tool that refuses unknown arguments, for example a misspelt filter."""
    tool = Tool.from_function(function, name, annotations=hints)
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
    """Keep the host's logging: MCPServer configures the root logger if it has no handler."""
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
    """Return a server as a Starlette app for streamable HTTP at `path`.

    It answers only requests to this machine, unless an outer app checks the callers (`guarded`).
    Clients keep streams open: set `stopping` when the server stops, so that it does not wait for
    them. An outer app must run its lifespan: `app.router.lifespan_context(app)`.
    """
    hosts = [f"{name}:*" for name in ("127.0.0.1", "localhost", "[::1]", *CONTAINER_HOSTS)]
    security = TransportSecuritySettings(
        enable_dns_rebinding_protection=not guarded,
        allowed_hosts=hosts,
        allowed_origins=[f"http://{host}" for host in hosts],
    )
    app = server.streamable_http_app(streamable_http_path=path, transport_security=security)
    app.router.redirect_slashes = False  # a redirect would go to any host that a request names
    if stopping:
        app.add_middleware(EndedStreams, stopping=stopping)
    return app


def request_of(context: Context[Any, Any]) -> Any:
    """Return the HTTP request of a call, for a `resolve`. Raises InputError without a request."""
    request = context.request_context.request
    if request is None:
        raise InputError("there is no HTTP request to find the user in: name the user")
    return request


def method_of(context: Context[Any, Any]) -> str:
    """Return the method of Souffleur that a request calls, for example `forget`."""
    called = context.request_context.params or {}
    return TOOLS[called["name"]].method
