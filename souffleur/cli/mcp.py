"""`souffleur mcp`: a memory as tools for clients of the Model Context Protocol."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from souffleur.cli.options import ME, User

if TYPE_CHECKING:
    import asyncio

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
    from souffleur.cli.event_loop import run_async

    run_async(_serve(None if any_user else user, agent, port if http else None))


async def _serve(user: str | None, agent: str | None, port: int | None) -> None:
    from souffleur.cli.event_loop import stop_on_signal
    from souffleur.cli.shared_store import SharedStore
    from souffleur.collector import spare_what_lasts
    from souffleur.integrations.mcp import make_server
    from souffleur.integrations.mcp.server import serve_stdio
    from souffleur.settings import load_settings

    async with SharedStore(load_settings()) as memory:
        server = make_server(memory, user_id=user, agent_id=agent)
        spare_what_lasts()
        if port is None:
            await serve_stdio(server, stop_on_signal())
        else:
            await _serve_http(server, port, stop_on_signal())


async def _serve_http(server: Any, port: int, stopping: "asyncio.Event") -> None:
    from souffleur.integrations.mcp import http_app
    from souffleur.server.listening import address, bind, listening

    with bind(LOOPBACK, port) as at:
        async with listening(http_app(server, stopping=stopping), at):
            where = address(LOOPBACK, at.getsockname()[1])
            typer.echo(f"listening: {where}/mcp; stop it with an interrupt")
            await stopping.wait()
