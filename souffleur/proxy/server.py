"""The server of `souffleur proxy`: the proxy alone, at an address, until it is stopped."""

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

from souffleur.errors import SettingsError
from souffleur.proxy.app import make_proxy
from souffleur.proxy.upstream import find_url
from souffleur.server.hosts import is_local
from souffleur.server.listening import address, bind, listening

if TYPE_CHECKING:
    from souffleur.api import Souffleur
    from souffleur.settings import Settings


async def serve(
    memory: "Souffleur",
    settings: "Settings",
    host: str,
    port: int,
    tell: Callable[[str], object],
    stopping: asyncio.Event,
) -> None:
    """Serve until `stopping` is set; `tell` is called with where, once requests are taken.

    Replies on their way have `shutdown_timeout` then; of what is cut off, what was said is kept.
    Raises SettingsError if the address cannot be listened on, and as `check_served`.
    """
    check_served(settings, host)
    proxy = make_proxy(memory, settings)
    at = bind(host, port)
    where = address(host, at.getsockname()[1])
    try:
        async with listening(proxy, at, drain=memory.seconds_left, dated=False):
            tell(f"{where}/v1 -> {proxy.upstream}; stop it with an interrupt")
            await stopping.wait()
    finally:
        await proxy.close()


def check_served(settings: "Settings", host: str) -> None:
    """Raise SettingsError without an upstream, or if others could reach it without a token."""
    find_url(settings)
    if not is_local(host) and settings.proxy_token is None:
        raise SettingsError(
            f"{host} is open to others, who would read what is remembered: set "
            "SOUFFLEUR_PROXY_TOKEN, or listen on 127.0.0.1"
        )
