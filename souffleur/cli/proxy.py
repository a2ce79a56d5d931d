"""`souffleur proxy`: an OpenAI-compatible endpoint with a memory, until it is stopped."""

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from souffleur.settings import Settings


def register(app: typer.Typer) -> None:
    """Add the command to the app."""
    app.command()(proxy)


def proxy(
    upstream: Annotated[
        str | None,
        typer.Option(help="URL of the endpoint behind it; default: SOUFFLEUR_UPSTREAM_URL."),
    ] = None,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port; 0: any free one.")] = 8788,
    user: Annotated[
        str | None,
        typer.Option("--user", "-u", help="The user of requests that name none; default: me."),
    ] = None,
    many_users: Annotated[
        bool, typer.Option("--many-users", help="Refuse requests that name no user.")
    ] = False,
) -> None:
    """Give a front end a memory: pass its requests on to a model, with what is remembered."""
    from souffleur.cli.event_loop import run_async
    from souffleur.errors import SettingsError
    from souffleur.settings import load_settings

    if user and many_users:
        raise SettingsError("--user and --many-users exclude each other")
    given = {"upstream_url": upstream, "proxy_user": user}
    chosen = {name: value for name, value in given.items() if value}
    run_async(
        _serve(load_settings(**chosen, **({"proxy_user": None} if many_users else {})), host, port)
    )


async def _serve(settings: "Settings", host: str, port: int) -> None:
    from souffleur.cli.event_loop import need_no_owner, stop_on_signal
    from souffleur.collector import spare_what_lasts
    from souffleur.errors import SettingsError

    try:
        from souffleur.proxy.server import check_served, serve
        from souffleur.server.serving import owned
    except ModuleNotFoundError as error:
        missing = f"{error.name} is not installed: pip install 'souffleur[serve]'"
        raise SettingsError(missing) from None
    from souffleur.api import Souffleur

    check_served(settings, host)
    await need_no_owner()
    stopping = stop_on_signal()
    async with Souffleur.open(settings) as memory, owned(memory):
        spare_what_lasts()
        await serve(memory, settings, host, port, typer.echo, stopping)
