"""Queries: which parameters the address of a request may have, so that no slip of one is lost."""

from fastapi import Request
from fastapi.dependencies.models import Dependant

from souffleur.serving.problems import RequestError

OWN = "/api/"
"""What the paths begin with whose queries are checked; programs made for mem0 send more to its."""


def check_query(request: Request) -> None:
    """Raise RequestError (422) for a parameter in the address that the route does not have."""
    asked, route = request.query_params.keys(), request.scope.get("route")
    dependant = getattr(route, "dependant", None)
    if not asked or dependant is None or not request.url.path.startswith(OWN):
        return
    known = _names(dependant)
    for name in asked:
        if name not in known:
            there = f"there are {', '.join(sorted(known))}" if known else "this route has none"
            raise RequestError(422, f"query: there is no parameter {name[:40]!r}; {there}")


def _names(dependant: Dependant) -> set[str]:
    own = {field.alias for field in dependant.query_params}
    return own.union(*map(_names, dependant.dependencies))
