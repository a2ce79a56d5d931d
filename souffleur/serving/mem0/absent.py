"""Absent: what mem0's interface has and this server has not, refused with what to do instead."""

from collections.abc import Mapping

from starlette.requests import Request
from starlette.routing import Route

from souffleur.serving.problems import RequestError

_SETTINGS = "the server judges by its own settings, not by requests: see docs/settings.md"
_EXPORTS = "there are no exports by a schema: list the memories"
_TOKENS = "there are no accounts: make tokens with `souffleur token`"
INSTEAD: Mapping[str, str] = {
    "/v1/feedback/": "feedback is not taken: change or delete the memory",
    "/v1/exports/": _EXPORTS,
    "/v1/exports/get/": _EXPORTS,
    "/v1/summary/": "there are no summaries of this kind: GET /api/profile shows a portrait",
    "/v1/event/{rest:path}": "an add is done when it is answered, with its results",
    "/v1/events/": "there are no such events: follow GET /api/events",
    "/api/v1/webhooks/{rest:path}": "there are no webhooks: follow GET /api/events",
    "/api/v1/orgs/{rest:path}": f"there are no projects; {_SETTINGS}",
    "/configure": _SETTINGS,
    "/configure/providers": _SETTINGS,
    "/generate-instructions": _SETTINGS,
    "/reset": "erase users one by one: DELETE /entities/user/USER_ID, as an admin for any of them",
    "/auth/{rest:path}": _TOKENS,
    "/api-keys": _TOKENS,
    "/requests": "requests are not kept: GET /metrics counts them",
}
"""For each path that is not there, what to do instead."""
_VERBS = ("GET", "POST", "PUT", "PATCH", "DELETE")


def _refusing(path: str, instead: str) -> Route:
    async def refuse(_: Request) -> None:
        raise RequestError(404, instead)

    return Route(path, refuse, methods=_VERBS, include_in_schema=False)


ABSENT = tuple(_refusing(path, instead) for path, instead in INSTEAD.items())
"""A route for each of them."""
