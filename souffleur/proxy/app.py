"""The proxy, an ASGI application below `/v1`: alone, or mounted in the server.

It uses no web framework, so that each part of a response is passed on as soon as it arrives.
"""

import asyncio
import hmac
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, urlencode

import httpx2
from loguru import logger
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from souffleur.errors import InputError, SettingsError
from souffleur.knowledge.privacy.addresses import host_of
from souffleur.proxy.exchange import APIS, Exchange, Prompter, pass_on, pass_reply, while_there
from souffleur.proxy.speaker import QUERY_FIELDS, Admit, Headers, usually
from souffleur.proxy.wire import Asked, Client, ClientGoneError, Upstream, find_url, readable
from souffleur.server.hosts import is_local, means_this_machine, named_host, origins_of, with_cors
from souffleur.server.tokens import Role

if TYPE_CHECKING:
    from souffleur.api import Souffleur
    from souffleur.server.access import Access
    from souffleur.settings import Settings

CLOSING = 5.0
"""Maximum seconds to wait at the end until open turns are stored."""


class Proxy:
    """Answers as the upstream does, and adds a memory. Can be mounted; close it at the end."""

    def __init__(
        self,
        upstream: Upstream,
        prompter: Prompter,
        admit: Callable[[Scope], Admit],
        token: str | None = None,
        *,
        local_only: bool = False,
        origins: Sequence[str] = (),
    ) -> None:
        """With a `token`, refuse requests without it. `admit` returns the rule for their speaker.

        Web pages of `origins` may call the proxy. With `local_only`, requests to other host names
        and from other web pages are refused, also if a browser on this machine sends them.
        """
        self._local_only = local_only
        self._origins = origins
        self._app = with_cors(self._admit_or_refuse, origins)
        self._upstream = upstream
        self._prompter = prompter
        self._admit = admit
        self._token = token
        self._passages: set[asyncio.Future[None]] = set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        await self._app(scope, receive, send)

    async def _admit_or_refuse(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1000, "reason": "not supported"})
        if scope["type"] != "http":
            return
        client, headers = Client(receive, send), readable(scope["headers"])
        path = _path(scope)
        if not self._may(headers):
            message = "the token is missing or wrong: send it in the header X-Souffleur-Token"
            await client.refuse(401, message, "invalid_token")
        elif self._local_only and (stranger := _stranger(headers, self._origins)) is not None:
            message = f"{stranger!r} is not this machine: set SOUFFLEUR_PROXY_TOKEN for others"
            await client.refuse(403, message, "not_local")
        elif path is None:
            message = "this is a proxy of OpenAI's interface: its address ends with /v1"
            await client.refuse(404, message, "no_such_path")
        else:
            await self._answer(scope, path, headers, client)

    @property
    def upstream(self) -> str:
        """The upstream's URL, without secrets."""
        return self._upstream.address

    async def close(self) -> None:
        """Wait until the turns of interrupted replies are stored, then close all connections."""
        if self._passages:
            await asyncio.wait(self._passages, timeout=CLOSING)
        await self._upstream.close()

    async def _answer(self, scope: Scope, path: str, headers: Headers, client: Client) -> None:
        """Pass on the request and the response. Answers 502 if the upstream cannot be reached."""

        async def pass_it() -> None:
            if scope["method"] == "POST" and path in APIS:
                await self._reply(scope, path, headers, client)
            else:
                framed = "content-length" in headers or "transfer-encoding" in headers
                body = client.hear() if framed else await client.hear_all()
                asked = Asked(scope["method"], path, _query(scope), scope["headers"], body)
                await pass_on(self._upstream, asked, client)

        passage = asyncio.ensure_future(pass_it())
        self._passages.add(passage)
        passage.add_done_callback(self._passages.discard)
        try:
            await while_there(client, passage)
        except ClientGoneError:
            return
        except InputError as error:
            await client.refuse(400, str(error), "no_user")
        except httpx2.HTTPError as error:
            if client.has_response:  # then the client's connection is closed, too
                return
            what = f"{self._upstream.address} cannot be reached: {type(error).__name__}"
            logger.error("{}", what)
            await client.refuse(502, what, "upstream_unreachable")

    async def _reply(self, scope: Scope, path: str, headers: Headers, client: Client) -> None:
        """Pass on a request for a reply with a whisper, and store the turn."""
        body, api, query = await client.hear_all(), APIS[path], _query(scope)
        exchange = Exchange(body, api)
        if "content-encoding" not in headers:
            exchange = await self._prompter.begin(api, body, headers, query, self._admit(scope))
        if exchange.turn is None:
            asked = Asked("POST", path, query, scope["headers"], b"").with_body(exchange.body)
            await pass_on(self._upstream, asked, client)
            return
        raw = [(name, value) for name, value in scope["headers"] if name != b"accept-encoding"]
        raw.append((b"accept-encoding", b"identity"))  # the proxy reads the response
        asked = Asked("POST", path, _without_own(query), raw, b"")
        await pass_reply(self._upstream, asked, client, exchange, self._prompter)

    def _may(self, headers: Headers) -> bool:
        """Return whether a request has the token: in our header, or as the API key.

        The API key counts only if the upstream has a key of its own.
        """
        if self._token is None:
            return True
        key = headers.get("authorization", "").removeprefix("Bearer ")
        given = headers.get("x-souffleur-token") or (key if self._upstream.has_key else "")
        return hmac.compare_digest(given.encode(), self._token.encode())


def make_proxy(
    memory: "Souffleur",
    settings: "Settings",
    *,
    admit: Callable[[Scope], Admit] | None = None,
) -> Proxy:
    """Return the proxy that the settings describe. Raises SettingsError without an upstream.

    `admit` is for a server that mounts the proxy and identifies callers by their tokens: it returns
    the rule for the user and persona of a request. Then the keys of requests are not passed to the
    upstream, and the server decides which web pages may call.
    """
    key, token = settings.serve.upstream_api_key, settings.serve.proxy_token
    usual = usually(settings.serve.proxy_user)
    return Proxy(
        Upstream(
            find_url(settings), key.get_secret_value() if key else None, with_theirs=admit is None
        ),
        Prompter(memory, timeout=settings.recall_timeout, mode=settings.serve.proxy_notes),
        admit or (lambda _: usual),
        token.get_secret_value() if token and admit is None else None,
        local_only=token is None and admit is None,
        origins=origins_of(settings) if admit is None else (),
    )


def _path(scope: Scope) -> str | None:
    """Return the path after `/v1`, as the client sent it; `None` for any other path.

    >>> _path({"path": "/v1/models"}), _path({"path": "/ai/v1/models", "root_path": "/ai/v1"})
    ('/models', '/models')
    >>> _path({"path": "/metrics"})
    """
    root = str(scope.get("root_path", ""))
    raw: bytes = scope.get("raw_path") or scope["path"].encode()
    path = raw.decode("latin-1")
    inner = path.removeprefix(root)
    if inner.startswith("/v1/"):
        return inner.removeprefix("/v1")
    return inner if root.endswith("/v1") else None


def _stranger(headers: Headers, origins: Sequence[str] = ()) -> str | None:
    """Return the host name or page origin that is not allowed; `None` if both are allowed.

    Names of this machine are allowed, and the pages of `origins`.

    >>> [_stranger({"host": host}) for host in ("evil.example", "", "[::1]:80")]
    ['evil.example', '', None]
    >>> _stranger({"host": "localhost:80", "origin": "https://evil.example"})
    'https://evil.example'
    """
    host, origin = headers.get("host", ""), headers.get("origin", "")
    if not means_this_machine(named_host(host)):
        return host
    allowed = not origin or means_this_machine(host_of(origin)) or {origin, "*"} & {*origins}
    return None if allowed else origin


def _query(scope: Scope) -> str:
    return str(scope.get("query_string", b"").decode("latin-1"))


def _without_own(query: str) -> str:
    """Return a query without the proxy's own parameters.

    >>> _without_own("user=ann&api-version=2"), _without_own("a=%20b")
    ('api-version=2', 'a=%20b')
    """
    parts = parse_qsl(query, keep_blank_values=True)
    others = [(name, value) for name, value in parts if name not in QUERY_FIELDS]
    return query if others == parts else urlencode(others)


def make_mounted(memory: "Souffleur", settings: "Settings") -> Proxy:
    """Return the proxy for a server with a guard. The server's tokens are its API keys.

    These tokens are not passed to the upstream. Raises SettingsError without an upstream.
    """

    def admit(scope: Scope) -> Admit:
        access: Access = scope["state"]["access"]
        access.need("observe")
        usual = None if access.role is Role.USER else settings.serve.proxy_user
        return lambda user_id, agent_id: access.talk(user_id or usual, agent_id)

    return make_proxy(memory, settings, admit=admit)


def undated(app: ASGIApp) -> ASGIApp:
    """Return an app whose answers have no `Date` header, because the server adds its own."""

    async def passing(scope: Scope, receive: Receive, send: Send) -> None:
        async def sent(message: Message) -> None:
            if message["type"] == "http.response.start":
                kept = [one for one in message["headers"] if one[0] != b"date"]
                message = {**message, "headers": kept}
            await send(message)

        await app(scope, receive, sent)

    return passing


async def serve(
    memory: "Souffleur",
    settings: "Settings",
    host: str,
    port: int,
    tell: Callable[[str], object],
    stopping: asyncio.Event,
) -> None:
    """Serve until `stopping` is set; call `tell` with the address when the proxy accepts requests.

    After that, running replies have `shutdown_timeout` to end; the words of an interrupted reply
    are stored. Raises SettingsError if the address is not available, and as `check_served`.
    """
    from souffleur.server.listening import (  # a mounted proxy needs no uvicorn
        address,
        bind,
        listening,
    )

    check_served(settings, host)
    proxy = make_proxy(memory, settings)
    at = bind(host, port)
    where = address(host, at.getsockname()[1])
    try:
        async with listening(proxy, at, drain=memory.seconds_left, dated=False):
            tell(f"{where}/v1 -> {proxy.upstream}; stop it with an interrupt")
            await stopping.wait()
    finally:
        await proxy.close()


def check_served(settings: "Settings", host: str) -> None:
    """Raise SettingsError without an upstream, or if other machines need no token."""
    find_url(settings)
    if not is_local(host) and settings.serve.proxy_token is None:
        raise SettingsError(
            f"{host} is open to others, who would read what is remembered: set "
            "SOUFFLEUR_PROXY_TOKEN, or listen on 127.0.0.1"
        )
