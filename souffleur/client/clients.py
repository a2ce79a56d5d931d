"""Client and AsyncClient: the methods of a Souffleur in another process."""

from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Generator, Iterator
from functools import update_wrapper
from pathlib import Path
from types import TracebackType
from typing import Any, Concatenate, ParamSpec, TypeVar
from urllib.parse import urlsplit

import httpx2
from pydantic import ValidationError

from souffleur.client.calls import Call, call_of, error_of
from souffleur.client.conversation import Asked, ask, converse
from souffleur.errors import RemoteError, SettingsError
from souffleur.faces import AsyncMethods, Methods
from souffleur.inspection import StoreInspection
from souffleur.knowledge.identity import check_id
from souffleur.knowledge.network.connections import connection
from souffleur.knowledge.privacy.addresses import bare_address
from souffleur.knowledge.text.plain import mend
from souffleur.server.events import MemoryEvent
from souffleur.server.table import INSPECTION
from souffleur.times import Clock, TimeSource

DEFAULT_URL = "http://127.0.0.1:8321"
EVENTS = "/api/events"
_QUICK = 5.0
_PATIENT = httpx2.Timeout(60.0, read=None)
_NO_HOST = "http://souffleur"
"""The base URL of requests over a socket; the path of the socket is the real address."""


class Client(Methods):
    """The methods of Souffleur for programs without an event loop, over HTTP.

    `recall`, `observe` and `end_session` never raise; other methods raise Souffleur's errors, and
    RemoteError if the server cannot be reached or refuses a request. Thread-safe.
    """

    def __init__(
        self,
        url: str = DEFAULT_URL,
        *,
        token: str | None = None,
        socket: Path | None = None,
        timeout: float = 60.0,
    ) -> None:
        """Use the server at `url`, or the process that listens on `socket`.

        `timeout` is the time limit of a call in seconds. `recall` has 5 seconds; methods that ask a
        model have no limit. Raises SettingsError for an invalid address or token.
        """
        self._http = httpx2.Client(
            **_options(url, token, socket, timeout),
            transport=httpx2.HTTPTransport(**_way(url, socket)),
        )
        self.clock: Clock = TimeSource().now
        """Returns the present time of this machine."""

    def is_there(self) -> bool:
        """Return whether the server answers."""
        try:
            return self._http.get("/health", timeout=_QUICK).is_success
        except (httpx2.HTTPError, RuntimeError):  # RuntimeError: the client is closed
            return False

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def __enter__(self) -> "Client":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def events(self, *, user_id: str, after: str | None = None) -> Iterator[MemoryEvent]:
        """Yield the events of a user's memories: those after the event `after`, or from now on.

        Ends when the server stops. Raises RemoteError if the connection breaks; then call again
        with the id of the latest event.
        """
        try:
            with self._http.stream("GET", EVENTS, **_following(user_id, after)) as response:
                if not response.is_success:
                    raise error_of(response.status_code, response.headers, response.read())
                for sent in httpx2.EventSource(response):
                    if sent.data:  # the first lines only have the id to resume from
                        yield MemoryEvent.model_validate_json(sent.data)
        except (httpx2.HTTPError, RuntimeError, ValidationError) as error:
            raise _broken(self._http, error) from error

    def _call(self, method: str, /, **given: Any) -> Any:
        talk = converse(method, given)
        try:
            asked = next(talk)
            while True:
                try:
                    response = self._http.send(_built(self._http, asked))
                except Exception as error:  # noqa: BLE001  any error of a library
                    asked = talk.throw(_unreachable(self._http, error))
                else:
                    asked = talk.send(response)
        except StopIteration as end:
            return end.value


class AsyncClient(AsyncMethods):
    """The methods of Souffleur over HTTP, as coroutines; otherwise as `Client`."""

    def __init__(
        self,
        url: str = DEFAULT_URL,
        *,
        token: str | None = None,
        socket: Path | None = None,
        timeout: float = 60.0,
    ) -> None:
        """Use the server at `url`, or the process that listens on `socket`, as `Client` does."""
        self._http = httpx2.AsyncClient(
            **_options(url, token, socket, timeout),
            transport=httpx2.AsyncHTTPTransport(**_way(url, socket)),
        )
        self.clock: Clock = TimeSource().now
        """Returns the present time of this machine."""

    async def is_there(self) -> bool:
        """Return whether the server answers."""
        try:
            return (await self._http.get("/health", timeout=_QUICK)).is_success
        except (httpx2.HTTPError, RuntimeError):  # RuntimeError: the client is closed
            return False

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def __aenter__(self) -> "AsyncClient":
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def events(self, *, user_id: str, after: str | None = None) -> AsyncIterator[MemoryEvent]:
        """Yield the events of a user's memories: those after the event `after`, or from now on.

        Ends when the server stops. Raises RemoteError if the connection breaks; then call again
        with the id of the latest event.
        """
        try:
            async with self._http.stream("GET", EVENTS, **_following(user_id, after)) as response:
                if not response.is_success:
                    raise error_of(response.status_code, response.headers, await response.aread())
                async for sent in httpx2.EventSource(response):
                    if sent.data:  # the first lines only have the id to resume from
                        yield MemoryEvent.model_validate_json(sent.data)
        except (httpx2.HTTPError, RuntimeError, ValidationError) as error:
            raise _broken(self._http, error) from error

    async def send(self, call: Call, /, **given: Any) -> Any:
        """Send a call, also one that is no method, and return its result. Raises RemoteError."""
        return await self._hold(ask(call, given))

    async def _call(self, method: str, /, **given: Any) -> Any:
        return await self._hold(converse(method, given))

    async def _hold(self, talk: Generator[Asked, httpx2.Response, Any]) -> Any:
        try:
            asked = next(talk)
            while True:
                try:
                    response = await self._http.send(_built(self._http, asked))
                except Exception as error:  # noqa: BLE001  any error of a library
                    asked = talk.throw(_unreachable(self._http, error))
                else:
                    asked = talk.send(response)
        except StopIteration as end:
            return end.value


def _options(url: str, token: str | None, socket: Path | None, timeout: float) -> dict[str, Any]:
    bare = (token or "").strip()
    if not (bare.isascii() and bare.isprintable()):
        raise SettingsError("the token holds what no request can carry: copy it again, as it is")
    headers = {"Authorization": f"Bearer {bare}"} if bare else {}
    return {
        "base_url": _NO_HOST if socket else _checked(url),
        "headers": headers,
        "timeout": timeout,
    }


def _way(url: str, socket: Path | None) -> dict[str, Any]:
    """Return the arguments of a transport to a server, or to a process at a socket.

    >>> _way(DEFAULT_URL, Path("owner.sock"))["uds"]
    'owner.sock'
    """
    return connection(DEFAULT_URL) | {"uds": str(socket)} if socket else connection(url)


def _checked(url: str) -> str:
    """Return a valid URL of a server. Raises SettingsError.

    >>> _checked("http://127.0.0.1:8321")
    'http://127.0.0.1:8321'
    >>> _checked("127.0.0.1:8321")
    Traceback (most recent call last):
    souffleur.errors.SettingsError: '127.0.0.1:8321' is no address of a server: write it like \
http://127.0.0.1:8321
    """
    try:
        parts = urlsplit(url)
        if parts.scheme in ("http", "https") and parts.hostname and parts.port != 0:
            return url
    except ValueError:
        pass
    raise SettingsError(
        f"{bare_address(url)!r} is no address of a server: write it like {DEFAULT_URL}"
    )


def _following(user_id: str, after: str | None) -> dict[str, Any]:
    place = {} if after is None else {"after": mend(str(after))}
    return {"params": {"user_id": check_id(user_id), **place}, "timeout": _PATIENT}


def _built(http: httpx2.Client | httpx2.AsyncClient, asked: Asked) -> httpx2.Request:
    call, request = asked
    headers = {"Content-Type": "application/json"} if request.body else {}
    return http.build_request(
        request.verb,
        request.path,
        params=request.query,
        content=request.body,
        headers=headers,
        timeout=call.timeout,
    )


def _broken(http: httpx2.Client | httpx2.AsyncClient, error: Exception) -> RemoteError:
    if isinstance(error, ValidationError):
        return RemoteError("an event cannot be read: server and client need the same version")
    return _unreachable(http, error)


def _unreachable(http: httpx2.Client | httpx2.AsyncClient, error: Exception) -> RemoteError:
    why = str(error) or type(error).__name__
    return RemoteError(f"the server at {bare_address(str(http.base_url))} does not answer: {why}")


P = ParamSpec("P")
R = TypeVar("R")


def _inspects(
    method: Callable[Concatenate[StoreInspection, P], Awaitable[R]],
) -> "Callable[Concatenate[RemoteInspection, P], Coroutine[Any, Any, R]]":
    """Return a method of `StoreInspection` that sends its arguments; all arguments are named."""
    call = next(call_of(row, prepare=dict) for row in INSPECTION if row.method == method)

    async def sends(self: "RemoteInspection", /, *args: P.args, **named: P.kwargs) -> R:
        found: R = await self.client.send(call, **named)
        return found

    return update_wrapper(sends, method)


class RemoteInspection:
    """The methods of `StoreInspection` over HTTP. They also raise RemoteError."""

    def __init__(self, client: AsyncClient) -> None:
        """`client` must be a client at the owner's socket; the server refuses other clients."""
        self.client = client

    error = _inspects(StoreInspection.error)
    turns = _inspects(StoreInspection.turns)
    entries = _inspects(StoreInspection.entries)
    reasons = _inspects(StoreInspection.reasons)
    segments = _inspects(StoreInspection.segments)
    page = _inspects(StoreInspection.page)
    jobs = _inspects(StoreInspection.jobs)
