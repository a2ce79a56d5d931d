"""`souffleur serve` and `souffleur token`: a store that others reach over HTTP."""

from typing import TYPE_CHECKING, Annotated

import typer

from souffleur.cli.options import AsJson

if TYPE_CHECKING:
    from souffleur.server.tokens import TokenFile

HOST, PORT = "127.0.0.1", 8321


def register(app: typer.Typer) -> None:
    """Add the commands to the app."""
    for command in (serve, token):
        app.command()(command)


def serve(
    host: Annotated[str, typer.Option(help="The address to listen at.")] = HOST,
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="The port; 0 takes a free one.")
    ] = PORT,
    upstream: Annotated[
        str | None,
        typer.Option(help="URL of the model's endpoint for the proxy, then at /proxy/v1."),
    ] = None,
    schedule: Annotated[
        bool, typer.Option("--schedule/--no-schedule", help="Whether to run the jobs, too.")
    ] = True,
) -> None:
    """Serve the store to other programs over HTTP until stopped: docs/serving.md."""
    from souffleur.cli.event_loop import run_async
    from souffleur.errors import SettingsError

    try:
        import fastapi  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError:
        raise SettingsError("serving needs more: pip install 'souffleur[serve]'") from None
    run_async(_serve(host, port, upstream, schedule=schedule))


async def _serve(host: str, port: int, upstream: str | None, *, schedule: bool) -> None:
    from souffleur.api import Souffleur
    from souffleur.cli.event_loop import stop_on_signal
    from souffleur.collector import spare_what_lasts
    from souffleur.server.listening import address, bind, listening
    from souffleur.server.serving import check_exposure, owned
    from souffleur.server.whole import make_whole_app
    from souffleur.settings import load_settings

    chosen = {"upstream_url": upstream} if upstream else {}
    settings, tokens = load_settings(**chosen), _tokens()
    check_exposure(host, tokens)
    stopping = stop_on_signal()
    with bind(host, port) as at:
        async with Souffleur.open(settings, schedule=schedule) as memory:
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
        str | None, typer.Option(help="Revoke the one whose id begins so; see the list.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Make a token for `souffleur serve`, which is shown once; without options, list them."""
    from souffleur.cli.format_tokens import print_secret, print_tokens
    from souffleur.errors import NotFoundError, SettingsError

    tokens = _tokens()
    asked = [what for what in (user, agent, admin or None, revoke) if what is not None]
    if len(asked) > 1:
        raise SettingsError("choose one of --user, --agent, --admin and --revoke")
    if revoke is not None:
        gone = tokens.revoke(revoke)
        if not gone:
            raise NotFoundError(f"there is no token whose id begins with {revoke!r}")
        print_tokens(gone, as_json=as_json, gone=True)
    elif asked:
        print_secret(_make(tokens, user, agent, label), as_json=as_json)
    else:
        print_tokens(tokens.tokens, as_json=as_json)


def _make(tokens: "TokenFile", user: str | None, agent: str | None, label: str) -> str:
    from datetime import UTC, datetime

    from souffleur.server.tokens import Role

    role = Role.USER if user is not None else Role.PERSONA if agent is not None else Role.ADMIN
    who = user if user is not None else agent or ""
    return tokens.make(role, who, label=label, now=datetime.now(UTC))


def _tokens() -> "TokenFile":
    from souffleur.server.tokens import TokenFile
    from souffleur.settings import load_settings

    return TokenFile(load_settings().tokens_file)
