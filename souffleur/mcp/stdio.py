"""MCP over the standard streams of this process, until its input ends or it is told to stop."""

import asyncio
import os
import sys
import threading
from collections.abc import AsyncIterator
from typing import Any

from mcp.server.mcpserver import MCPServer
from mcp.server.stdio import stdio_server

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
