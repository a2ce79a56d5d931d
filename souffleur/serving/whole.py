"""The whole server: the routes and, behind the same guard, the proxy and the tools of MCP."""

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from fastapi import FastAPI
from starlette.types import ASGIApp, Scope

from souffleur.errors import IdentityError
from souffleur.proxy.app import make_proxy
from souffleur.proxy.speaker import Admit
from souffleur.runtime import Souffleur
from souffleur.serving.access import Access
from souffleur.serving.app import make_app
from souffleur.serving.problems import RequestError
from souffleur.serving.tokens import Role, TokenFile
from souffleur.settings import Settings

if TYPE_CHECKING:
    from souffleur.mcp import Who

PROXY, TOOLS = "/v1", "/mcp"
"""Where they are mounted."""


def make_whole_app(memory: Souffleur, settings: Settings, *, tokens: TokenFile | None) -> FastAPI:
    """Return the app of `souffleur serve`.

    The proxy is there if an upstream is set, the tools if the package mcp is installed.
    """
    admitting = _admitting(settings.proxy_user)
    proxy = make_proxy(memory, settings, admit=admitting) if settings.upstream_url else None
    tools = _make_tools(memory) if find_spec("mcp") else None
    mounts: dict[str, ASGIApp] = {PROXY: proxy} if proxy else {}
    if tools is not None:
        mounts[""] = tools  # it answers at /mcp, without a redirect, and comes last

    @asynccontextmanager
    async def running(app: FastAPI) -> AsyncIterator[None]:
        async with AsyncExitStack() as closing:
            if proxy:
                closing.push_async_callback(proxy.close)
            if tools is not None:
                await closing.enter_async_context(tools.router.lifespan_context(tools))
            yield

    return make_app(memory, settings, tokens=tokens, mounts=mounts, lifespan=running)


def _admitting(usual: str | None) -> Callable[[Scope], Admit]:
    """Return how the proxy learns for whom a request may speak; `usual` is whom admins mean."""

    def admitted(scope: Scope) -> Admit:
        access: Access = scope["state"]["access"]

        def talk(user_id: str | None, agent_id: str | None) -> tuple[str, str | None]:
            named = user_id or (usual if access.role is Role.ADMIN else None)
            with _told_to_front_ends():
                return access.talk(named, agent_id)

        return talk

    return admitted


@contextmanager
def _told_to_front_ends() -> Iterator[None]:
    """Raise what a caller may not do as an error that front ends and agents are told of."""
    try:
        yield
    except RequestError as error:
        raise IdentityError(str(error)) from None


def _make_tools(memory: Souffleur) -> Any:
    from souffleur.mcp import Who, http_app, make_server, request_of

    def whose(context: Any, named: str | None) -> "Who":
        with _told_to_front_ends():
            return Who(*request_of(context).state.access.talk(named, None))

    return http_app(make_server(memory, resolve=whose), guarded=True)
