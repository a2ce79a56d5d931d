"""The whole server: the routes and, behind the same guard, the proxy and the tools of MCP."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from fastapi import FastAPI
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from souffleur.api import Souffleur
from souffleur.errors import IdentityError
from souffleur.proxy.app import make_mounted, undated
from souffleur.server.access import Access
from souffleur.server.app import make_app
from souffleur.server.problems import RequestError
from souffleur.server.tokens import TokenFile
from souffleur.settings import Settings

if TYPE_CHECKING:
    from souffleur.integrations.mcp import Who

PROXY = "/proxy"
"""Where the proxy is mounted; its own address ends with /v1."""
TOOLS = "/mcp"
"""Where the tools of MCP answer."""


def make_whole_app(memory: Souffleur, settings: Settings, *, tokens: TokenFile | None) -> FastAPI:
    """Return the app of `souffleur serve`.

    The proxy is there if an upstream is set, the tools if the package mcp is installed.
    """
    proxy = make_mounted(memory, settings) if settings.upstream_url else None
    mounts: dict[str, ASGIApp] = {PROXY: undated(proxy)} if proxy else {}

    @asynccontextmanager
    async def running(app: FastAPI) -> AsyncIterator[None]:
        async with AsyncExitStack() as closing:
            if proxy:
                closing.push_async_callback(proxy.close)
            if tools is not None:
                await closing.enter_async_context(tools.router.lifespan_context(tools))
            yield

    app = make_app(memory, settings, tokens=tokens, mounts=mounts, lifespan=running)
    tools = _make_tools(memory, app.state.stopping) if find_spec("mcp") else None
    if tools is not None:  # mounted there, it would answer a redirect
        app.router.routes.append(Route(TOOLS, tools))
    return app


def _make_tools(memory: Souffleur, stopping: asyncio.Event) -> Any:
    from souffleur.integrations.mcp import Who, http_app, make_server, method_of, request_of

    def whose(context: Any, named: str | None) -> "Who":
        access: Access = request_of(context).state.access
        try:
            access.need(method_of(context))
            return Who(*access.talk(named, None))
        except RequestError as error:  # the model is told, as of any id that is wrong
            raise IdentityError(str(error)) from None

    server = make_server(memory, resolve=whose)
    tools = http_app(server, path=TOOLS, guarded=True, stopping=stopping)
    tools.add_middleware(_owned_sessions)
    return tools


def _owned_sessions(app: ASGIApp) -> ASGIApp:
    """Return the tools; a session of theirs is for the token alone that it was begun with."""
    from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
    from mcp.server.auth.provider import AccessToken

    async def owned(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and (digest := scope["state"]["access"].token):
            scope["user"] = AuthenticatedUser(AccessToken(token="", client_id=digest, scopes=[]))
        await app(scope, receive, send)

    return owned
