"""The proxy, an ASGI application that the server mounts at `/v1`.

It uses no web framework, so that each part of a response is passed on as soon as it arrives.
"""

import asyncio
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, urlencode

import httpx2
from loguru import logger
from starlette.types import Message, Receive, Scope, Send

from souffleur.errors import InputError
from souffleur.proxy.exchange import APIS, Exchange, Prompter, pass_on, pass_reply, while_there
from souffleur.proxy.speaker import QUERY_FIELDS, Admit, Headers, usually
from souffleur.proxy.wire import Asked, Client, ClientGoneError, Upstream, find_url, readable
from souffleur.server.tokens import Role

if TYPE_CHECKING:
    from souffleur.api import Souffleur
    from souffleur.server.access import Access
    from souffleur.settings import Settings

CLOSING = 5.0
"""Maximum seconds to wait at the end until open turns are stored."""


class Proxy:
    """Answers as the upstream does, and adds a memory; the server's guard has admitted the caller.

    Close it at the end.
    """

    def __init__(self, upstream: Upstream, prompter: Prompter, usual_user: str | None) -> None:
        """`usual_user` is the user of a request that names none; `None` means it is refused."""
        self._upstream = upstream
        self._prompter = prompter
        self._usual_user = usual_user
        self._passages: set[asyncio.Future[None]] = set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request; `state.access` of its scope has the rights of the caller."""
        client, headers = Client(receive, _undated(send)), readable(scope["headers"])
        await self._answer(scope, _path(scope), headers, client)

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

    def _admit(self, scope: Scope) -> Admit:
        """Return the rule for the user and persona of a request, by the rights of its caller."""
        access: Access = scope["state"]["access"]
        access.need("observe")
        if access.token is None:
            return usually(self._usual_user)
        usual = None if access.role is Role.USER else self._usual_user
        return lambda user_id, agent_id: access.talk(user_id or usual, agent_id)


def make_proxy(memory: "Souffleur", settings: "Settings") -> Proxy:
    """Return the proxy that the settings describe. Raises SettingsError without an upstream."""
    key = settings.serve.upstream_api_key
    return Proxy(
        Upstream(find_url(settings), key.get_secret_value() if key else None),
        Prompter(memory, timeout=settings.recall_timeout, mode=settings.serve.proxy_notes),
        settings.serve.proxy_user,
    )


def _path(scope: Scope) -> str:
    """Return the path after `/v1`, as the client sent it.

    >>> _path({"path": "/v1/models", "root_path": "/v1"})
    '/models'
    """
    raw: bytes = scope.get("raw_path") or scope["path"].encode()
    return raw.decode("latin-1").removeprefix(str(scope.get("root_path", "")))


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


def _undated(send: Send) -> Send:
    """Return a `send` that leaves out the upstream's `Date`, because the server adds its own."""

    async def sent(message: Message) -> None:
        if message["type"] == "http.response.start":
            kept = [one for one in message["headers"] if one[0] != b"date"]
            message = {**message, "headers": kept}
        await send(message)

    return sent
