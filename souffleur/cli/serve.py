"""Commands that serve a store to others: serve, proxy, token, mcp."""

import sys
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from typer import Option

from souffleur.cli.command import Result, in_loop, listed, printed
from souffleur.cli.memory import need_no_owner, open_memory, stop_on_signal
from souffleur.cli.options import ME, Address, Port, User, flag, of_agent, of_user
from souffleur.errors import NotFoundError, SettingsError, to_install
from souffleur.knowledge.privacy.addresses import bare_address
from souffleur.report.phrases import count

if TYPE_CHECKING:
    import asyncio

    from souffleur.server.judge import Models
    from souffleur.server.tokens import Token, TokenFile
    from souffleur.settings import Settings

LOOPBACK = "127.0.0.1"
_SHOWN = 8
"""Number of characters of a hash that are shown as the id of its token."""


Upstream = Annotated[str | None, Option(help="URL of the model that front ends talk with.")]
Judge = Annotated[
    Literal["auto", "upstream", "none"],
    Option(help="Whether that model judges as well; auto: if it costs nothing (private address)."),
]
Schedule = Annotated[bool, Option("--schedule/--no-schedule", help="Whether to run the jobs, too.")]
UsualUser = Annotated[
    str | None, of_user("The user of front ends' requests that name none; default: me.")
]
ManyUsers = Annotated[bool, flag("--many-users", "Refuse requests that name no user.")]


@in_loop
async def serve(
    upstream: Upstream = None,
    host: Address = LOOPBACK,
    port: Port = 8321,
    judge: Judge = "auto",
    user: UsualUser = None,
    many_users: ManyUsers = False,
    schedule: Schedule = True,
) -> None:
    """Serve front ends, the person's page, REST and MCP at one address: docs/running.md."""
    await _serve(_chosen(upstream, judge, user, many_users), host, port, schedule)


@in_loop
async def proxy(
    upstream: Upstream = None,
    host: Address = LOOPBACK,
    port: Port = 8321,
    judge: Judge = "auto",
    user: UsualUser = None,
    many_users: ManyUsers = False,
) -> None:
    """Give front ends a memory: as `souffleur serve`, by default before the judge's endpoint."""
    from souffleur.proxy.wire import find_url
    from souffleur.settings import change_settings

    settings = _chosen(upstream, judge, user, many_users)
    await _serve(change_settings(settings, upstream_url=find_url(settings)), host, port, True)


def _chosen(upstream: str | None, judge: str, user: str | None, many_users: bool) -> "Settings":
    """Return the settings, with the options of the command in place of the environment's."""
    from souffleur.settings import load_settings

    if user and many_users:
        raise SettingsError("--user and --many-users exclude each other")
    given = {"upstream_url": upstream, "proxy_user": user}
    chosen: dict[str, Any] = {name: value for name, value in given.items() if value}
    if many_users:
        chosen["proxy_user"] = None
    if judge != "auto":
        chosen["upstream_judges"] = judge == "upstream"
    return load_settings(**chosen)


async def _serve(settings: "Settings", host: str, port: int, schedule: bool) -> None:
    """Serve until a signal, and say first where, with which model, and what will be kept."""
    from souffleur.collector import spare_what_lasts

    try:
        from souffleur.server.app import make_whole_app
        from souffleur.server.judge import judged_by, list_models, wait_for_judge
        from souffleur.server.listening import address, bind, listening
        from souffleur.server.serving import check_exposure
    except ModuleNotFoundError as error:
        raise _missing(error) from None
    tokens = _tokens()
    check_exposure(host, tokens)
    await need_no_owner()
    stopping = stop_on_signal()
    while not stopping.is_set():
        models = await list_models(settings.serve)
        chosen, judge = judged_by(settings, models)
        with bind(host, port) as at:
            port = at.getsockname()[1]
            async with open_memory(chosen, schedule=schedule) as memory:
                app = make_whole_app(memory, chosen, tokens=tokens)
                drain, ending = memory.seconds_left, app.state.stopping
                async with listening(app, at, drain=drain, stopping=ending):
                    where = address(host, port)
                    spare_what_lasts()
                    who = "with a token" if tokens.in_use else "from this machine, without a token"
                    typer.echo(f"serving at {where} {who}")
                    for line in _banner(where, chosen, judge, models):
                        typer.echo(line)
                    await wait_for_judge(settings, models, stopping)


def _banner(where: str, settings: "Settings", judge: str, models: "Models") -> list[str]:
    """Return the lines that say what is served."""
    lines = {
        "judge": judge,
        "store": bare_address(settings.qdrant_url or str(settings.folder)),
        "page": f"{where}/",
        "stop": "Ctrl+C",
    }
    if upstream := settings.serve.upstream_url:
        found = models.error or count(len(models.names), "model")
        lines = {"front ends": f"{where}/v1 -> {bare_address(upstream)} ({found})", **lines}
    return [f"  {name:<11} {line}" for name, line in lines.items()]


def _missing(error: ModuleNotFoundError) -> SettingsError:
    return SettingsError(f"{error.name} is not installed: {to_install('serve')}")


@printed
def token(
    user: Annotated[str | None, of_user("For this user alone.")] = None,
    agent: Annotated[str | None, of_agent("For this persona, with any user.")] = None,
    admin: Annotated[bool, flag("--admin", "For everything.")] = False,
    label: Annotated[str, Option(help="What it is for.")] = "",
    revoke: Annotated[
        str | None, Option(help="Revoke the token whose id begins so; see the list.")
    ] = None,
) -> Result:
    """Make a token for `souffleur serve`, which is shown once; without options, list them."""
    tokens = _tokens()
    asked = [option for option in (user, agent, admin or None, revoke) if option is not None]
    if len(asked) > 1:
        raise SettingsError("choose one of --user, --agent, --admin and --revoke")
    if revoke is not None:
        gone = tokens.revoke(revoke)
        if not gone:
            raise NotFoundError(f"there is no token whose id begins with {revoke!r}")
        return _list_tokens(gone, title="revoked")
    if not asked:
        return _list_tokens(tokens.tokens)
    secret = _make_token(tokens, user, agent, label)
    return Result({"token": secret}, lambda: _print_secret(secret))


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


def _print_secret(secret: str) -> None:
    """Print a new token on standard output, without other text."""
    print(secret)
    print("it is stored nowhere and not shown again", file=sys.stderr)


def _list_tokens(tokens: "list[Token]", *, title: str = "") -> Result:
    columns = (
        ("id", lambda one: one.digest[:_SHOWN]),
        ("for", lambda one: f"{one.role} {one.who}".strip()),
        ("made", lambda one: f"{one.made_at:%Y-%m-%d %H:%M} UTC"),
        ("label", lambda one: one.label),
    )
    empty = "there is no token: make one with --user, --agent or --admin"
    return listed(tokens, columns, empty=empty, title=title)


@in_loop
async def mcp(
    user: User = ME,
    any_user: Annotated[
        bool, flag("--any-user", "Each call names its user, instead of --user.")
    ] = False,
    agent: Annotated[
        str | None, Option("--agent", help="The persona that asks; default: all that is known.")
    ] = None,
    http: Annotated[bool, flag("--http", "Serve HTTP on this machine, instead of stdio.")] = False,
    port: Port = 8322,
) -> None:
    """Serve the memory to MCP clients such as Claude Desktop and Cursor, until stopped."""
    from souffleur.cli.shared_store import SharedStore
    from souffleur.collector import spare_what_lasts
    from souffleur.integrations.mcp import make_server
    from souffleur.integrations.mcp.server import serve_stdio
    from souffleur.settings import load_settings

    async with SharedStore(load_settings()) as memory:
        server = make_server(memory, user_id=None if any_user else user, agent_id=agent)
        spare_what_lasts()
        if http:
            await _mcp_over_http(server, port, stop_on_signal())
        else:
            await serve_stdio(server, stop_on_signal())


async def _mcp_over_http(server: Any, port: int, stopping: "asyncio.Event") -> None:
    from souffleur.integrations.mcp import http_app
    from souffleur.server.listening import address, bind, listening

    with bind(LOOPBACK, port) as at:
        async with listening(http_app(server, stopping=stopping), at):
            where = address(LOOPBACK, at.getsockname()[1])
            typer.echo(f"listening: {where}/mcp; stop it with an interrupt")
            await stopping.wait()
