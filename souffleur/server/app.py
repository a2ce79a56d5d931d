"""The app: all routes over one memory, behind the guard."""

import asyncio
import time
from collections.abc import Mapping, Sequence
from typing import Any

from fastapi import APIRouter, Depends, FastAPI
from fastapi.security import HTTPBearer
from starlette.types import ASGIApp, Lifespan

import souffleur
from souffleur.api import Souffleur
from souffleur.integrations.importers.passing import remove_left
from souffleur.integrations.mem0 import routes as mem0
from souffleur.server.access import check_method
from souffleur.server.cors import origins_of, with_cors
from souffleur.server.guard import Guard, Rate
from souffleur.server.page import assets
from souffleur.server.problems import RESPONSES, check_query, handle
from souffleur.server.routes import events, memories, page, plain, store
from souffleur.server.tokens import TokenFile
from souffleur.settings import Settings

ROUTERS: tuple[APIRouter, ...] = (
    plain.router,
    memories.router,
    store.router,
    events.router,
    page.router,
    mem0.router,
)
"""The routes of every server, each named like its method in `server/table.py`."""

_UNTRACED: Any = {"tracing": False, "metrics": False, "logs": False, "auto_configure": False}
"""FastAPI would trace queries and log errors with their texts, whatever the settings say."""
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
    """Return an app that serves an open memory, which it does not close.

    Without `tokens` every caller is an admin. `routers` and `mounts`, apps by their paths, come
    behind the same guard: `request.state.access` says what the caller may do. `lifespan` runs while
    the app does, for mounted apps that need it. `heartbeat`: seconds between the signs of life of a
    stream without events.
    """
    chosen = settings or memory.settings
    remove_left(memory.settings.folder)
    app = FastAPI(
        telemetry=_UNTRACED,
        title="Souffleur",
        summary="A memory worth having, for companion chatbots.",
        version=souffleur.__version__,
        docs_url=None,  # its page loads scripts from elsewhere
        redoc_url=None,
        redirect_slashes=False,  # to whatever host and scheme a request names
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
    origins = origins_of(chosen)
    rate = Rate(chosen.rate_limit, time.monotonic) if tokens and chosen.rate_limit else None
    app.add_middleware(
        Guard,
        tokens=tokens,
        origins=origins,
        rate=rate,
        max_body=chosen.max_body,
        larger={store.IMPORT: chosen.max_import},
    )
    app.add_middleware(with_cors, origins)  # outermost, so that pages can read refusals, too
    return app
