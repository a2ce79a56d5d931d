"""The proxy as a part of the server: requests speak for whom their token allows."""

from typing import TYPE_CHECKING

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from souffleur.proxy.app import Proxy, make_proxy
from souffleur.proxy.speaker import Admit
from souffleur.server.access import Access
from souffleur.server.tokens import Role

if TYPE_CHECKING:
    from souffleur.api import Souffleur
    from souffleur.settings import Settings


def make_mounted(memory: "Souffleur", settings: "Settings") -> Proxy:
    """Return the proxy behind the guard of the server, whose tokens it takes as API keys.

    They are not passed to the upstream. Raises SettingsError without an upstream.
    """

    def admit(scope: Scope) -> Admit:
        access: Access = scope["state"]["access"]
        access.need("observe")
        usual = None if access.role is Role.USER else settings.proxy_user
        return lambda user_id, agent_id: access.talk(user_id or usual, agent_id)

    return make_proxy(memory, settings, admit=admit)


def undated(app: ASGIApp) -> ASGIApp:
    """Return an app whose answers have no `Date`: the server that it is mounted in sets one."""

    async def passing(scope: Scope, receive: Receive, send: Send) -> None:
        async def sent(message: Message) -> None:
            if message["type"] == "http.response.start":
                kept = [one for one in message["headers"] if one[0] != b"date"]
                message = {**message, "headers": kept}
            await send(message)

        await app(scope, receive, sent)

    return passing
