"""Streams that a client keeps open for what the server may say: they end when the server stops."""

import asyncio

from starlette.types import ASGIApp, Message, Receive, Scope, Send


class EndedStreams:
    """An app whose GET requests end, whole, once `stopping` is set. They wait without end."""

    def __init__(self, app: ASGIApp, stopping: asyncio.Event) -> None:
        self._app = app
        self._stopping = stopping

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http" or scope["method"] != "GET":
            await self._app(scope, receive, send)
            return
        is_open = False

        async def sent(message: Message) -> None:
            nonlocal is_open
            is_open = message["type"] == "http.response.start" or bool(message.get("more_body"))
            await send(message)

        async def received() -> Message:
            return await self._received(receive)

        await self._app(scope, received, sent)
        if is_open:
            await send({"type": "http.response.body"})

    async def _received(self, receive: Receive) -> Message:
        """Return what comes; that the client has gone, once the server stops."""
        came = asyncio.ensure_future(receive())
        stopped = asyncio.ensure_future(self._stopping.wait())
        try:
            await asyncio.wait([came, stopped], return_when=asyncio.FIRST_COMPLETED)
            return came.result() if came.done() else {"type": "http.disconnect"}
        finally:
            came.cancel()
            stopped.cancel()
