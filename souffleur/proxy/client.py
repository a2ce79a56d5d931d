"""The client: what it sends, what is sent to it, and whether it is still there."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from typing import Any

from souffleur.proxy.upstream import RawHeaders

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
"""The parts of ASGI (asgi.readthedocs.io)."""


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
