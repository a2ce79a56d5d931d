"""`souffleur mcp`: a memory as tools for clients of the Model Context Protocol."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from souffleur.cli.event_loop import with_store
from souffleur.cli.options import ME, User

if TYPE_CHECKING:
    from souffleur.runtime import Souffleur

LOOPBACK = "127.0.0.1"


def register(app: typer.Typer) -> None:
    """Add the command to the app."""
    app.command()(mcp)


def mcp(
    user: User = ME,
    any_user: Annotated[
        bool, typer.Option("--any-user", help="Each call names its user, instead of --user.")
    ] = False,
    agent: Annotated[
        str | None,
        typer.Option("--agent", help="The persona that asks; default: all that is known."),
    ] = None,
    http: Annotated[
        bool, typer.Option("--http", help="Serve HTTP on this machine, instead of stdio.")
    ] = False,
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port for --http.")] = 8322,
) -> None:
    """Serve the memory to MCP clients such as Claude Desktop and Cursor, until stopped."""
    from souffleur.cli.event_loop import stop_on_signal
    from souffleur.mcp import make_server
    from souffleur.mcp.stdio import serve_stdio

    async def work(memory: "Souffleur") -> None:
        server = make_server(memory, user_id=None if any_user else user, agent_id=agent)
        if http:
            await _serve_http(server, port)
        else:
            await serve_stdio(server, stop_on_signal())

    with_store(work)


async def _serve_http(server: Any, port: int) -> None:
    import socket

    import uvicorn

    from souffleur.errors import SettingsError
    from souffleur.mcp import http_app

    try:
        at = socket.create_server((LOOPBACK, port))
    except OSError as error:
        raise SettingsError(
            f"cannot listen at port {port} ({error}): name another --port"
        ) from None
    url = f"http://{LOOPBACK}:{at.getsockname()[1]}/mcp"
    typer.echo(f"listening: {url}; stop it with an interrupt")
    config = uvicorn.Config(http_app(server), log_config=None, access_log=False)
    await uvicorn.Server(config).serve(sockets=[at])
