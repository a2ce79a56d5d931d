"""The connections of the proxy: to the client and to the upstream."""

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
"""Names and values of headers in the order of the request or response."""

CONNECT_TIMEOUT = 10.0
"""Maximum seconds to connect to the upstream. The client decides how long to wait for a reply."""
MAX_IDLE = 100
"""Maximum number of idle connections to the upstream."""
IDLE = 60.0
"""Seconds for which an idle connection stays open: about the time until a user's next message.
Routers may drop a silent connection after some minutes without notice."""
OWN = b"x-souffleur-"
"""The beginning of the names of our own headers; they are not passed to the upstream."""
_PATIENCE = {"timeout": {"connect": CONNECT_TIMEOUT}}
_HOP_BY_HOP = frozenset(
    {b"connection", b"keep-alive", b"proxy-authenticate", b"proxy-authorization", b"te"}
    | {b"trailer", b"transfer-encoding", b"upgrade", b"proxy-connection"}
)
"""Headers for one connection only (RFC 9110, 7.6.1)."""

NO_UPSTREAM = (
    "there is no model for front ends to talk with: give --upstream URL or set "
    "SOUFFLEUR_UPSTREAM_URL, such as http://localhost:11434/v1"
)


@dataclass(frozen=True)
class Asked:
    """A request to the upstream."""

    method: str
    path: str
    """The part of the path after the `/v1` of OpenAI's interface."""
    query: str
    """The part of the URL after the question mark; usually empty."""
    headers: RawHeaders
    """The client's headers."""
    body: bytes | AsyncIterable[bytes]

    def with_body(self, body: bytes) -> "Asked":
        """Return the request with another body and its `Content-Length`."""
        others = [header for header in self.headers if header[0].lower() != b"content-length"]
        length = (b"content-length", str(len(body)).encode())
        return replace(self, headers=[*others, length], body=body)


class Upstream:
    """Sends requests to the endpoint behind the proxy, and returns its responses."""

    def __init__(self, url: str, key: str | None = None) -> None:
        """`key` replaces the clients' keys.

        Raises SettingsError for unusable settings in the environment: see `connection`.
        """
        self._url = api_base(url)
        self._key = key
        self._login = _login(httpx2.URL(self._url))
        limits = httpx2.Limits(
            max_connections=None, max_keepalive_connections=MAX_IDLE, keepalive_expiry=IDLE
        )
        # A transport, because a client of httpx2 adds cookies, redirects and logins.
        self._transport = httpx2.AsyncHTTPTransport(**connection(self._url), limits=limits)

    @property
    def address(self) -> str:
        """The URL without secrets."""
        return bare_address(self._url)

    async def send(self, asked: Asked) -> httpx2.Response:
        """Return the response when its headers have arrived; the caller must close it.

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
        if not own:
            return kept
        others = [(name, value) for name, value in kept if name != b"authorization"]
        return [*others, (b"authorization", own.encode())]


def find_url(settings: "Settings") -> str:
    """Return the URL of the upstream. Raises SettingsError if it is missing or invalid."""
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
    """Return the `Authorization` header for a URL with a user name; empty without a user name.

    >>> _login(httpx2.URL("http://ann:pw@localhost/v1")), _login(httpx2.URL("http://localhost/v1"))
    ('Basic YW5uOnB3', '')
    """
    named = f"{url.username}:{url.password}"
    return f"Basic {b64encode(named.encode()).decode()}" if len(named) > 1 else ""


def end_to_end(headers: Iterable[tuple[bytes, bytes]]) -> RawHeaders:
    """Return the headers to pass on, in lower case, without those of a connection or the proxy.

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
    """Return headers as text by name in lower case; of headers with one name, the last.

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
    """The client disconnected before the end of its request."""


class Client:
    """The connection to the client of one request."""

    def __init__(self, receive: Receive, send: Send) -> None:
        self._receive = receive
        self._send = send
        self._heard = asyncio.Event()
        self.has_response = False
        """Whether the response has begun."""

    async def hear(self) -> AsyncIterator[bytes]:
        """Yield the parts of the request's body. Raises ClientGoneError."""
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
        """Return the whole body of the request. Raises ClientGoneError."""
        return b"".join([part async for part in self.hear()])

    async def wait_until_gone(self) -> None:
        """Wait until the client disconnects, or has its response."""
        await self._heard.wait()
        while (await self._receive())["type"] != "http.disconnect":
            pass

    async def begin(self, status: int, headers: RawHeaders) -> None:
        """Begin the response."""
        self.has_response = True
        await self._send({"type": "http.response.start", "status": status, "headers": headers})

    async def tell(self, part: bytes, *, more: bool = True) -> None:
        """Send a part of the response; without `more`, it is the last part."""
        await self._send({"type": "http.response.body", "body": part, "more_body": more})

    async def refuse(self, status: int, message: str, code: str) -> None:
        """Answer with an error in the format of OpenAI."""
        kind = "invalid_request_error" if status < 500 else "api_error"
        error = {"message": message, "type": kind, "param": None, "code": code}
        body = json.dumps({"error": error}).encode()
        length = str(len(body)).encode()
        await self.begin(
            status, [(b"content-type", b"application/json"), (b"content-length", length)]
        )
        await self.tell(body, more=False)
