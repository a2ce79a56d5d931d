"""The guard before every route: it checks the caller, the caller's address and the rate."""

from collections import OrderedDict
from collections.abc import Callable, Collection, Mapping

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from souffleur.errors import SettingsError
from souffleur.server.access import Access
from souffleur.server.hosts import is_local, means_this_machine, named_host
from souffleur.server.page.assets import FOLDER
from souffleur.server.problems import TOO_LARGE, RequestError, answer
from souffleur.server.tokens import TokenFile

OPEN_PATHS = frozenset({"/", "/me", "/health", "/ready"})
"""Paths that need no token; their answers have no user's data."""
OPEN_FOLDER = f"{FOLDER}/"
"""The beginning of the paths of the page's files; they need no token either."""
NO_TOKEN = "this needs a token: send `Authorization: Bearer TOKEN`; see `souffleur token`"
UNKNOWN_TOKEN = "this token is unknown: it may be revoked; `souffleur token` makes another one"
_SCHEMES = ("bearer", "token")
MAX_CALLERS = 10_000
"""Maximum number of callers whose rate is remembered; the caller with the oldest request is removed
first."""


class Guard:
    """Refuses requests without a valid token, and too many requests of a caller.

    A refused request is not read.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        tokens: TokenFile | None,
        origins: Collection[str],
        rate: "Rate | None",
        max_body: int,
        larger: Mapping[str, int] | None = None,
    ) -> None:
        """Without `tokens`, every caller is an admin: for a socket that only the owner can open.

        Before the first token is made, callers from this machine are admins, except web pages.
        `max_body` is the maximum size of a body in bytes; `larger` has the limits of paths that
        begin so.
        """
        self._app = app
        self._tokens = tokens
        self._origins = origins
        self._rate = rate
        self._max_body = max_body
        self._larger = larger or {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, with `request.state.access`, or refuse it."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":  # a WebSocket; closing it before its handshake answers 403
            await send({"type": "websocket.close", "code": 1000, "reason": "not supported"})
            return
        try:
            scope.setdefault("state", {})["access"] = self._admit(scope)
        except RequestError as problem:
            refusal = answer(problem.status, str(problem), retry_after=problem.retry_after)
            await refusal(scope, receive, send)
        except SettingsError as error:
            await answer(503, str(error), "SettingsError")(scope, receive, send)
        else:
            await self._app(scope, self._bounded(receive, self._limit(scope)), send)

    def _limit(self, scope: Scope) -> int:
        path = scope["path"]
        return next(
            (most for at, most in self._larger.items() if path.startswith(at)), self._max_body
        )

    def _bounded(self, receive: Receive, limit: int) -> Receive:
        """Return a reader of the body that raises HTTPException (413) if it is too large."""
        size = 0

        async def bounded() -> Message:
            nonlocal size
            message = await receive()
            size += len(message.get("body", b""))
            if size > limit:
                raise HTTPException(413, TOO_LARGE)
            return message

        return bounded

    def _admit(self, scope: Scope) -> Access | None:
        headers = Headers(scope=scope)
        if _length(headers) > self._limit(scope):
            raise RequestError(413, TOO_LARGE)
        if self._tokens is None:
            return Access()
        if is_open(scope["path"]):
            return None
        if not self._tokens.in_use:
            self._check_local(scope, headers)
            self._count(_address(scope))
            return Access()
        name, secret = _secret(headers)
        token = self._tokens.find(secret) if secret else None
        if token is None:
            self._count(_address(scope))
            raise RequestError(401, UNKNOWN_TOKEN if secret else NO_TOKEN)
        self._count(token.digest)
        # The token is not for the upstream, to which the other headers are passed on.
        scope["headers"] = [one for one in scope["headers"] if one[0] != name]
        return Access.by(token)

    def _check_local(self, scope: Scope, headers: Headers) -> None:
        """Raise RequestError (403) for other machines, and for web pages of other origins."""
        origin, client = headers.get("origin"), scope.get("client")
        at, named = client[0] if client else "", named_host(headers.get("host", ""))
        if not (is_local(at) and means_this_machine(named)):
            why = (
                f"without tokens only this machine may call, not {named if is_local(at) else at!r}"
            )
            raise RequestError(403, f"{why}: make one with `souffleur token`")
        own = f"{scope['scheme']}://{headers.get('host', '')}"  # the origin of this server's page
        if origin and not {origin, "*"} & {*self._origins, own}:
            raise RequestError(403, f"pages of {origin} may not call: set SOUFFLEUR_CORS_ORIGINS")

    def _count(self, caller: str) -> None:
        wait = self._rate.take(caller) if self._rate else 0.0
        if wait:
            seconds = int(wait) + 1
            raise RequestError(429, f"too many requests: wait {seconds} s", retry_after=seconds)


class Rate:
    """The rate limit of each caller: a token bucket that fills in a minute."""

    def __init__(self, per_minute: int, steady: Callable[[], float]) -> None:
        """Take the limit, and a `steady` clock: it returns seconds and never jumps."""
        self._room = float(per_minute)
        self._per_second = per_minute / 60
        self._steady = steady
        self._callers: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, caller: str) -> float:
        """Count a request of a caller; return the seconds to wait, 0 if the request is allowed.

        >>> times = iter([0.0, 0.0, 0.0, 30.0])
        >>> rate = Rate(2, times.__next__)
        >>> [rate.take("ann") for _ in range(4)]
        [0.0, 0.0, 30.0, 0.0]
        """
        now = self._steady()
        left, at = self._callers.pop(caller, (self._room, now))
        left = min(self._room, left + (now - at) * self._per_second)
        wait = 0.0 if left >= 1 else (1 - left) / self._per_second
        self._callers[caller] = (left if wait else left - 1, now)
        if len(self._callers) > MAX_CALLERS:
            self._callers.popitem(last=False)
        return wait


def is_open(path: str) -> bool:
    """Return whether a path needs no token.

    >>> is_open("/"), is_open("/page/style.css"), is_open("/api/me")
    (True, True, False)
    """
    return path in OPEN_PATHS or path.startswith(OPEN_FOLDER)


def _length(headers: Headers) -> int:
    """Return the `Content-Length` of a request; 0 if it is missing or no number."""
    try:
        return int(headers.get("content-length", "0"))
    except ValueError:
        return 0


def _secret(headers: Headers) -> tuple[bytes, str]:
    """Return the name of the header with the token, and the token; empty without a token."""
    for name in ("x-souffleur-token", "x-api-key"):  # the second is sent by clients of mem0
        if key := headers.get(name):
            return name.encode(), key.strip()
    scheme, _, secret = headers.get("authorization", "").partition(" ")
    return b"authorization", secret.strip() if scheme.lower() in _SCHEMES else ""


def _address(scope: Scope) -> str:
    client = scope.get("client")
    return f"address {client[0]}" if client else "address"
