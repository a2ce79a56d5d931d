"""Problems: every error in the same JSON format, with a message that says how to correct it."""

from typing import Any

from fastapi import FastAPI, Request
from fastapi.dependencies.models import Dependant
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException

from souffleur.errors import (
    AnswerError,
    EmbedderError,
    EndpointError,
    MemoryOffError,
    NotFoundError,
    SettingsError,
    SouffleurError,
    StoreBusyError,
    StoreError,
    StoreMismatchError,
    UndoError,
)
from souffleur.knowledge.text.plain import mend

OWN = "/api/"
"""The beginning of paths whose queries are checked; clients of mem0 send extra parameters."""


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


RETRY_AFTER = 5
"""Seconds after which a client may retry if the store, model or embedder fails."""
_UNPROCESSABLE = 422
STATUSES: tuple[tuple[type[SouffleurError], int], ...] = (
    (NotFoundError, 404),
    (UndoError, 409),
    (MemoryOffError, 409),
    (StoreBusyError, 409),
    (StoreMismatchError, 409),
    (AnswerError, 502),
    (StoreError, 503),
    (EndpointError, 503),
    (EmbedderError, 503),
    (SettingsError, _UNPROCESSABLE),
    (SouffleurError, _UNPROCESSABLE),
)
"""The HTTP status of each error class; the first class that fits counts."""
TOO_LARGE = (
    "the body is too large: send less, or raise SOUFFLEUR_MAX_BODY, for an import "
    "SOUFFLEUR_MAX_IMPORT"
)
_NO_OBJECT = "the body must be a JSON object: send one, with `Content-Type: application/json`"
_ADVICE = {
    400: "the body cannot be read: send JSON, in UTF-8",
    404: "there is no such route: see /openapi.json",
    405: "the route does not take this method: see /openapi.json",
    413: TOO_LARGE,
}


class RequestError(Exception):
    """A request that is refused."""

    def __init__(self, status: int, message: str, *, retry_after: int | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.retry_after = retry_after


class Trouble(BaseModel):
    """Why a request failed."""

    type: str = Field(examples=["NotFoundError"])
    """The name of the error in `souffleur.errors`, or of its kind: RequestError, ServerError."""
    message: str = Field(examples=["there is no memory with the id '7'"])
    """The fault, and how to mend it."""


class ErrorBody(BaseModel):
    """The body of every answer that is an error."""

    error: Trouble
    """Why the request failed."""


def answer(
    status: int, message: str, kind: str = "RequestError", retry_after: int | None = None
) -> JSONResponse:
    """Return the answer for a problem."""
    body = ErrorBody(error=Trouble(type=kind, message=mend(message)))
    headers = {"Retry-After": str(retry_after)} if retry_after is not None else {}
    if status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    return JSONResponse(body.model_dump(), status, headers)


def status_of(error: SouffleurError) -> int:
    """Return the HTTP status of an error.

    >>> status_of(NotFoundError("gone")), status_of(StoreError("down"))
    (404, 503)
    """
    return next(status for kind, status in STATUSES if isinstance(error, kind))


def handle(app: FastAPI) -> None:
    """Make an app answer every error in the same format."""
    app.add_exception_handler(SouffleurError, _souffleur_error)
    app.add_exception_handler(RequestError, _problem)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _http_error)
    app.add_exception_handler(Exception, _crash)


async def _souffleur_error(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, SouffleurError)
    status = status_of(error)
    wait = RETRY_AFTER if status == 503 else None
    return answer(status, str(error), type(error).__name__, wait)


async def _problem(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestError)
    return answer(error.status, str(error), retry_after=error.retry_after)


async def _invalid(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)
    faults = error.errors()
    status = 400 if any(fault["type"] == "json_invalid" for fault in faults) else _UNPROCESSABLE
    return answer(status, "; ".join(map(_told, faults)))


def _told(fault: Any) -> str:
    """Return the fault of a part of a request, without the part itself, because it is private.

    >>> _told({"loc": ("body", "limit"), "msg": "Input should be less than 9"})
    'body.limit: Input should be less than 9'
    >>> _told({"loc": ("body",), "msg": "Field required", "type": "missing"})
    'the body must be a JSON object: send one, with `Content-Type: application/json`'
    """
    if fault["loc"] == ("body",):
        return _NO_OBJECT
    where = ".".join(str(part) for part in fault["loc"])
    return f"{where}: {fault['msg'].removeprefix('Value error, ')}"


async def _http_error(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)
    return answer(error.status_code, _ADVICE.get(error.status_code, str(error.detail)))


async def _crash(request: Request, error: Exception) -> JSONResponse:
    message = "the server failed at this request: see its log"
    return answer(500, message, "ServerError")


RESPONSES: dict[int | str, dict[str, Any]] = {
    status: {"model": ErrorBody, "description": text}
    for status, text in (
        (400, "The request cannot be read, or does not say whose memories are meant."),
        (401, "There is no token, or an unknown one."),
        (403, "The token is for somebody else."),
        (404, "There is nothing with that id."),
        (409, "It cannot be done as things stand."),
        (413, "The body is too large."),
        (422, "The request is invalid."),
        (429, "Too many requests."),
        (502, "The model's answer cannot be used."),
        (503, "The store, the model or the embedder is in trouble; `Retry-After` says how long."),
    )
}
"""The error answers of every route, for the OpenAPI document."""
