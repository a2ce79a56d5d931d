"""Both ends of the proxy: the client that asks, and the upstream that answers."""

import asyncio
import json
from base64 import b64encode
from collections.abc import (
    AsyncIterable,
    AsyncIterator,
    Iterable,
    Mapping,
)
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import httpx2
from starlette.types import Receive, Send

from souffleur.errors import SettingsError
from souffleur.knowledge.network.connections import connection
from souffleur.knowledge.privacy.addresses import api_base, bare_address, host_of

if TYPE_CHECKING:
    from souffleur.settings import Settings

RawHeaders = list[tuple[bytes, bytes]]
"""Headers as they are sent, in order."""

CONNECT_TIMEOUT = 10.0
"""Seconds to reach the upstream; how long a model thinks is the client's matter."""
MAX_IDLE = 100
"""Connections to the upstream that are kept open."""
IDLE = 60.0
"""Seconds for which they stay open: about as long as a user takes for the next message. Routers on
the way may drop a connection that is silent for some minutes without notice."""
OWN = b"x-souffleur-"
"""How the names of our own headers begin: the upstream does not see them."""
_PATIENCE = {"timeout": {"connect": CONNECT_TIMEOUT}}
_HOP_BY_HOP = frozenset(
    {b"connection", b"keep-alive", b"proxy-authenticate", b"proxy-authorization", b"te"}
    | {b"trailer", b"transfer-encoding", b"upgrade", b"proxy-connection"}
)
"""Headers that concern one connection (RFC 9110, 7.6.1)."""

NO_UPSTREAM = (
    "the proxy has no endpoint behind it: give --upstream URL or set SOUFFLEUR_UPSTREAM_URL, such "
    "as http://localhost:11434/v1"
)


@dataclass(frozen=True)
class Asked:
    """A request to the upstream."""

    method: str
    path: str
    """It begins behind the `/v1` of OpenAI's interface."""
    query: str
    """The part after the question mark; usually empty."""
    headers: RawHeaders
    """The client's headers."""
    body: bytes | AsyncIterable[bytes]

    def with_body(self, body: bytes) -> "Asked":
        """Return the request with another body, and its length."""
        others = [header for header in self.headers if header[0].lower() != b"content-length"]
        length = (b"content-length", str(len(body)).encode())
        return replace(self, headers=[*others, length], body=body)


class Upstream:
    """Sends requests to the endpoint behind the proxy, and returns its responses as they begin."""

    def __init__(self, url: str, key: str | None = None, *, with_theirs: bool = True) -> None:
        """`key` replaces the keys of clients, which are passed on only `with_theirs`.

        Raises SettingsError if the environment bars the way: see `connection`.
        """
        self._url = api_base(url)
        self._key = key
        self._with_theirs = with_theirs and key is None
        self._login = _login(httpx2.URL(self._url))
        limits = httpx2.Limits(
            max_connections=None, max_keepalive_connections=MAX_IDLE, keepalive_expiry=IDLE
        )
        # A client adds cookies, redirects and logins, which are not ours and take time.
        self._transport = httpx2.AsyncHTTPTransport(**connection(self._url), limits=limits)

    @property
    def address(self) -> str:
        """The URL as it may be shown."""
        return bare_address(self._url)

    @property
    def has_key(self) -> bool:
        """Whether it has a key of its own, so that clients need no key for it."""
        return self._key is not None

    async def send(self, asked: Asked) -> httpx2.Response:
        """Return the response when its headers are there; close it when it is read.

        Raises httpx2.HTTPError if the upstream cannot be reached.
        """
        url = f"{self._url}{asked.path}{'?' if asked.query else ''}{asked.query}"
        headers = self._passed(asked.headers)
        request = httpx2.Request(
            asked.method, url, headers=headers, content=asked.body, extensions=_PATIENCE
        )
        return await self._transport.handle_async_request(request)

    async def close(self) -> None:
        """Close all connections."""
        await self._transport.aclose()

    def _passed(self, headers: RawHeaders) -> RawHeaders:
        kept = [
            (name, value) for name, value in end_to_end(headers) if name not in (b"host", b"expect")
        ]
        own = self._login or (f"Bearer {self._key}" if self._key else "")
        if self._with_theirs and not own:
            return kept
        others = [(name, value) for name, value in kept if name != b"authorization"]
        return [*others, (b"authorization", own.encode())] if own else others


def find_url(settings: "Settings") -> str:
    """Return the URL of the upstream. Raises SettingsError if there is none, or it is invalid."""
    url = settings.serve.upstream_url or settings.base_url
    if url is None:
        raise SettingsError(NO_UPSTREAM)
    if not url.startswith(("http://", "https://")) or not host_of(url):
        raise SettingsError(
            f"{bare_address(url)!r} is no address of an endpoint: give one such as "
            "http://localhost:11434/v1"
        )
    return url


def _login(url: httpx2.URL) -> str:
    """Return the `Authorization` for a URL with a user's name in it; empty if it has none.

    >>> _login(httpx2.URL("http://ann:pw@localhost/v1")), _login(httpx2.URL("http://localhost/v1"))
    ('Basic YW5uOnB3', '')
    """
    named = f"{url.username}:{url.password}"
    return f"Basic {b64encode(named.encode()).decode()}" if len(named) > 1 else ""


def end_to_end(headers: Iterable[tuple[bytes, bytes]]) -> RawHeaders:
    """Return the headers to pass on, in lower case: neither a connection's nor the proxy's own.

    >>> end_to_end([(b"Accept", b"a"), (b"TE", b"b"), (b"X-Souffleur-User", b"ann")])
    [(b'accept', b'a')]
    """
    lowered = [(name.lower(), value) for name, value in headers]
    named = {
        one.strip().lower()
        for name, value in lowered
        if name == b"connection"
        for one in value.split(b",")
    }
    dropped = _HOP_BY_HOP | named
    return [
        (name, value) for name, value in lowered if name not in dropped and not name.startswith(OWN)
    ]


def readable(headers: Iterable[tuple[bytes, bytes]]) -> Mapping[str, str]:
    """Return headers by name in lower case, as text; of two with one name, the last.

    >>> readable([(b"X-A", "Ännchen".encode())])
    {'x-a': 'Ännchen'}
    """
    return {name.decode("latin-1").lower(): _text(value) for name, value in headers}


def _text(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value.decode("latin-1")


class ClientGoneError(Exception):
    """The client has hung up before it had said everything."""


class Client:
    """The other end of one request."""

    def __init__(self, receive: Receive, send: Send) -> None:
        self._receive = receive
        self._send = send
        self._heard = asyncio.Event()
        self.has_response = False
        """Whether the response has begun."""

    async def hear(self) -> AsyncIterator[bytes]:
        """Yield the body of the request. Raises ClientGoneError."""
        more = True
        while more:
            message = await self._receive()
            if message["type"] != "http.request":
                raise ClientGoneError
            if part := message.get("body", b""):
                yield part
            more = message.get("more_body", False)
        self._heard.set()

    async def hear_all(self) -> bytes:
        """Return the body of the request. Raises ClientGoneError."""
        return b"".join([part async for part in self.hear()])

    async def wait_until_gone(self) -> None:
        """Wait until the client has hung up, or has its response."""
        await self._heard.wait()
        while (await self._receive())["type"] != "http.disconnect":
            pass

    async def begin(self, status: int, headers: RawHeaders) -> None:
        """Begin the response."""
        self.has_response = True
        await self._send({"type": "http.response.start", "status": status, "headers": headers})

    async def tell(self, part: bytes, *, more: bool = True) -> None:
        """Send a part of the response, which is the last one unless there is `more`."""
        await self._send({"type": "http.response.body", "body": part, "more_body": more})

    async def refuse(self, status: int, message: str, code: str) -> None:
        """Answer with an error, as OpenAI's interface has it."""
        kind = "invalid_request_error" if status < 500 else "api_error"
        error = {"message": message, "type": kind, "param": None, "code": code}
        body = json.dumps({"error": error}).encode()
        length = str(len(body)).encode()
        await self.begin(
            status, [(b"content-type", b"application/json"), (b"content-length", length)]
        )
        await self.tell(body, more=False)
