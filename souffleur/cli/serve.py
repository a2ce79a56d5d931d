"""Commands that serve a store to others: serve, token, proxy, mcp."""

import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from souffleur.cli.console import print_json
from souffleur.cli.memory import need_no_owner, open_memory, run_async, stop_on_signal
from souffleur.cli.options import ME, AsJson, User
from souffleur.cli.tables import show

if TYPE_CHECKING:
    import asyncio

    from souffleur.server.tokens import Token, TokenFile
    from souffleur.settings import Settings

LOOPBACK = "127.0.0.1"
_SHOWN = 8
"""Characters of a hash that are shown as the id of its token."""


def serve(
    host: Annotated[str, typer.Option(help="The address to listen at.")] = LOOPBACK,
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="The port; 0 takes a free one.")
    ] = 8321,
    upstream: Annotated[
        str | None,
        typer.Option(help="URL of the model's endpoint for the proxy, then at /proxy/v1."),
    ] = None,
    schedule: Annotated[
        bool, typer.Option("--schedule/--no-schedule", help="Whether to run the jobs, too.")
    ] = True,
) -> None:
    """Serve the store to other programs over HTTP until stopped: docs/serving.md."""
    from souffleur.errors import SettingsError

    try:
        import fastapi  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError:
        raise SettingsError("serving needs more: pip install 'souffleur[serve]'") from None
    run_async(_serve(host, port, upstream, schedule=schedule))


async def _serve(host: str, port: int, upstream: str | None, *, schedule: bool) -> None:
    from souffleur.collector import spare_what_lasts
    from souffleur.server.app import make_whole_app
    from souffleur.server.listening import address, bind, listening
    from souffleur.server.serving import check_exposure, owned
    from souffleur.settings import load_settings

    chosen = {"upstream_url": upstream} if upstream else {}
    settings, tokens = load_settings(**chosen), _tokens()
    check_exposure(host, tokens)
    stopping = stop_on_signal()
    with bind(host, port) as at:
        async with open_memory(settings, schedule=schedule) as memory:
            app = make_whole_app(memory, settings, tokens=tokens)
            drain, ending = memory.seconds_left, app.state.stopping
            async with owned(memory), listening(app, at, drain=drain, stopping=ending):
                free = at.getsockname()[1]
                who = "with a token" if tokens.is_there else "from this machine, without a token"
                spare_what_lasts()
                typer.echo(f"serving at {address(host, free)} {who}; stop it with an interrupt")
                await stopping.wait()


def token(
    user: Annotated[str | None, typer.Option("--user", "-u", help="For this user alone.")] = None,
    agent: Annotated[
        str | None, typer.Option("--agent", "-a", help="For this persona, with any user.")
    ] = None,
    admin: Annotated[bool, typer.Option("--admin", help="For everything.")] = False,
    label: Annotated[str, typer.Option(help="What it is for.")] = "",
    revoke: Annotated[
        str | None, typer.Option(help="Revoke the token whose id begins so; see the list.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Make a token for `souffleur serve`, which is shown once; without options, list them."""
    from souffleur.errors import NotFoundError, SettingsError

    tokens = _tokens()
    asked = [option for option in (user, agent, admin or None, revoke) if option is not None]
    if len(asked) > 1:
        raise SettingsError("choose one of --user, --agent, --admin and --revoke")
    if revoke is not None:
        gone = tokens.revoke(revoke)
        if not gone:
            raise NotFoundError(f"there is no token whose id begins with {revoke!r}")
        _print_tokens(gone, as_json=as_json, title="revoked")
    elif asked:
        _print_secret(_make_token(tokens, user, agent, label), as_json=as_json)
    else:
        _print_tokens(tokens.tokens, as_json=as_json)


def _make_token(tokens: "TokenFile", user: str | None, agent: str | None, label: str) -> str:
    from datetime import UTC, datetime

    from souffleur.server.tokens import Role

    role = Role.USER if user is not None else Role.PERSONA if agent is not None else Role.ADMIN
    who = user if user is not None else agent or ""
    return tokens.make(role, who, label=label, now=datetime.now(UTC))


def _tokens() -> "TokenFile":
    from souffleur.server.tokens import TokenFile
    from souffleur.settings import load_settings

    return TokenFile(load_settings().tokens_file)


def _print_secret(secret: str, *, as_json: bool) -> None:
    """Print a new token, alone on standard output."""
    if as_json:
        print_json({"token": secret})
        return
    print(secret)
    print("it is stored nowhere and not shown again", file=sys.stderr)


def _print_tokens(tokens: "list[Token]", *, as_json: bool, title: str = "") -> None:
    columns = (
        ("id", lambda one: one.digest[:_SHOWN]),
        ("for", lambda one: f"{one.role} {one.who}".strip()),
        ("made", lambda one: f"{one.made_at:%Y-%m-%d %H:%M} UTC"),
        ("label", lambda one: one.label),
    )
    empty = "there is no token: make one with --user, --agent or --admin"
    show(tokens, columns, as_json=as_json, empty=empty, title=title)


def proxy(
    upstream: Annotated[
        str | None,
        typer.Option(help="URL of the endpoint behind it; default: SOUFFLEUR_UPSTREAM_URL."),
    ] = None,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = LOOPBACK,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port; 0: any free one.")] = 8788,
    user: Annotated[
        str | None,
        typer.Option("--user", "-u", help="The user of requests that name no user; default: me."),
    ] = None,
    many_users: Annotated[
        bool, typer.Option("--many-users", help="Refuse requests that name no user.")
    ] = False,
) -> None:
    """Give a front end a memory: pass its requests on to a model, with what is remembered."""
    from souffleur.errors import SettingsError
    from souffleur.settings import load_settings

    if user and many_users:
        raise SettingsError("--user and --many-users exclude each other")
    given = {"upstream_url": upstream, "proxy_user": user}
    chosen: dict[str, Any] = {name: value for name, value in given.items() if value}
    if many_users:
        chosen["proxy_user"] = None
    run_async(_proxy(load_settings(**chosen), host, port))


async def _proxy(settings: "Settings", host: str, port: int) -> None:
    from souffleur.collector import spare_what_lasts
    from souffleur.errors import SettingsError

    try:
        from souffleur.proxy.app import check_served, serve as serve_proxy
        from souffleur.server.serving import owned
    except ModuleNotFoundError as error:
        missing = f"{error.name} is not installed: pip install 'souffleur[serve]'"
        raise SettingsError(missing) from None
    check_served(settings, host)
    await need_no_owner()
    stopping = stop_on_signal()
    async with open_memory(settings) as memory, owned(memory):
        spare_what_lasts()
        await serve_proxy(memory, settings, host, port, typer.echo, stopping)


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
    run_async(_mcp(None if any_user else user, agent, port if http else None))


async def _mcp(user: str | None, agent: str | None, port: int | None) -> None:
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
            await _mcp_over_http(server, port, stop_on_signal())


async def _mcp_over_http(server: Any, port: int, stopping: "asyncio.Event") -> None:
    from souffleur.integrations.mcp import http_app
    from souffleur.server.listening import address, bind, listening

    with bind(LOOPBACK, port) as at:
        async with listening(http_app(server, stopping=stopping), at):
            where = address(LOOPBACK, at.getsockname()[1])
            typer.echo(f"listening: {where}/mcp; stop it with an interrupt")
            await stopping.wait()
