"""CORS: which web pages may call, and read what is answered."""

from collections.abc import Sequence

from starlette.middleware.cors import CORSMiddleware
from starlette.types import ASGIApp

from souffleur.settings import Settings


def origins_of(settings: Settings) -> list[str]:
    """Return the origins of the pages that may call; `*` among them means all."""
    return [one.strip() for one in (settings.cors_origins or "").split(",") if one.strip()]


def with_cors(app: ASGIApp, origins: Sequence[str]) -> ASGIApp:
    """Return an app that tells browsers which pages may call it.

    Their preflight requests, which carry no token, are answered before the app is asked.
    """
    if not origins:
        return app
    return CORSMiddleware(app, allow_origins=origins, allow_methods=["*"], allow_headers=["*"])
