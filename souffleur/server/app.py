"""The app: all routes for one memory behind the guard, with the proxy and the MCP tools."""

import asyncio
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from fastapi import APIRouter, Depends, FastAPI
from fastapi.security import HTTPBearer
from starlette.routing import Route
from starlette.types import ASGIApp, Lifespan, Receive, Scope, Send

import souffleur
from souffleur.api import Souffleur
from souffleur.errors import InputError
from souffleur.integrations.importers.files import remove_temporary_files
from souffleur.integrations.mem0 import routes as mem0
from souffleur.proxy.app import make_proxy
from souffleur.server import hand_routes, table_routes
from souffleur.server.access import Access, check_method
from souffleur.server.guard import Guard, Rate
from souffleur.server.hosts import origins_of, with_cors
from souffleur.server.page import assets, routes as page_routes
from souffleur.server.problems import RESPONSES, RequestError, check_query, handle
from souffleur.server.tokens import TokenFile
from souffleur.settings import Settings

if TYPE_CHECKING:
    from souffleur.integrations.mcp import Who

ROUTERS: tuple[APIRouter, ...] = (
    table_routes.router,
    hand_routes.router,
    page_routes.router,
    mem0.router,
)
"""The routes of every server; each has the name of its method in `server/table.py`."""

FRONT_ENDS = "/v1"
"""The path of the proxy, to which front ends send their requests."""
_UNTRACED: Any = {"tracing": False, "metrics": False, "logs": False, "auto_configure": False}
"""Without this, FastAPI traces queries and logs the texts of errors, against the settings."""
_BEARER = HTTPBearer(auto_error=False, description="A token of `souffleur token`.")


def make_app(
    memory: Souffleur,
    settings: Settings | None = None,
    *,
    tokens: TokenFile | None = None,
    routers: Sequence[APIRouter] = (),
    mounts: Mapping[str, ASGIApp] | None = None,
    lifespan: Lifespan[FastAPI] | None = None,
    heartbeat: float = 15.0,
) -> FastAPI:
    """Return an app that serves an open memory; the caller closes the memory.

    Without `tokens`, every caller is an admin. `routers`, and `mounts` (apps by path), are behind
    the same guard: `request.state.access` has the rights of the caller. `lifespan` is the lifespan
    of the app, for mounted apps. `heartbeat` is the time between the comments of a stream without
    events, in seconds.
    """
    chosen = settings or memory.settings
    remove_temporary_files(memory.settings.folder)
    app = FastAPI(
        telemetry=_UNTRACED,
        title="Souffleur",
        summary="A memory worth having, for companion chatbots.",
        version=souffleur.__version__,
        docs_url=None,  # its page loads scripts from another host
        redoc_url=None,
        redirect_slashes=False,  # a redirect would go to any host that a request names
        lifespan=lifespan,
        dependencies=[Depends(_BEARER), Depends(check_method), Depends(check_query)],
        responses=RESPONSES,
    )
    app.state.memory = memory
    app.state.tokens = tokens
    app.state.stopping = asyncio.Event()
    app.state.heartbeat = heartbeat
    handle(app)
    for router in (*ROUTERS, *routers):
        app.include_router(router)
    app.router.routes.extend(assets.ROUTES)
    for path, mounted in (mounts or {}).items():
        app.mount(path, mounted)
    origins, limit = origins_of(chosen), chosen.serve.rate_limit
    rate = Rate(limit, time.monotonic) if tokens and limit else None
    app.add_middleware(
        Guard,
        tokens=tokens,
        origins=origins,
        rate=rate,
        max_body=chosen.serve.max_body,
        larger={hand_routes.IMPORT: chosen.max_import, f"{FRONT_ENDS}/": chosen.max_import},
    )
    app.add_middleware(with_cors, origins)  # the outermost, so that pages can read refusals, too
    return app


TOOLS = "/mcp"
"""The path of the MCP tools."""


def make_whole_app(memory: Souffleur, settings: Settings, *, tokens: TokenFile | None) -> FastAPI:
    """Return the app of `souffleur serve`.

    It has the proxy if an upstream is set, and the MCP tools if the package mcp is installed.
    """
    proxy = make_proxy(memory, settings) if settings.serve.upstream_url else None
    mounts: dict[str, ASGIApp] = {FRONT_ENDS: proxy} if proxy else {}

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
    if tools is not None:  # a mounted app would answer with a redirect
        app.router.routes.append(Route(TOOLS, tools))
    return app


def _make_tools(memory: Souffleur, stopping: asyncio.Event) -> Any:
    from souffleur.integrations.mcp import Who, http_app, make_server, method_of, request_of

    def whose(context: Any, named: str | None) -> "Who":
        access: Access = request_of(context).state.access
        try:
            access.need(method_of(context))
            return Who(*access.talk(named, None))
        except RequestError as error:  # the model reads it, as for an invalid id
            raise InputError(str(error)) from None

    server = make_server(memory, resolve=whose)
    tools = http_app(server, path=TOOLS, guarded=True, stopping=stopping)
    tools.add_middleware(_owned_sessions)
    return tools


def _owned_sessions(app: ASGIApp) -> ASGIApp:
    """Return the app of the MCP tools; each session belongs to the token that began it."""
    from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
    from mcp.server.auth.provider import AccessToken

    async def owned(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and (digest := scope["state"]["access"].token):
            scope["user"] = AuthenticatedUser(AccessToken(token="", client_id=digest, scopes=[]))
        await app(scope, receive, send)

    return owned
