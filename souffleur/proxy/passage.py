"""The passage: one request on its way to the upstream, and its response on the way back."""

import asyncio
from urllib.parse import quote

import httpx2
from loguru import logger

from souffleur.proxy.client import Client
from souffleur.proxy.exchange import Exchange, Prompter
from souffleur.proxy.notes import Carrier
from souffleur.proxy.places import REFUSALS, Places, after
from souffleur.proxy.reply import Reply
from souffleur.proxy.upstream import Asked, RawHeaders, Upstream, end_to_end


async def pass_on(upstream: Upstream, asked: Asked, client: Client) -> None:
    """Pass on a request that asks for no reply. Raises httpx2.HTTPError if nothing comes back."""
    response = await upstream.send(asked)
    try:
        await client.begin(response.status_code, end_to_end(response.headers.raw))
        async for part in response.aiter_raw():
            await client.tell(part)
        await client.tell(b"", more=False)
    finally:
        await response.aclose()


async def pass_reply(
    upstream: Upstream, asked: Asked, client: Client, exchange: Exchange, prompter: Prompter
) -> None:
    """Pass on a request for a reply; the turn is kept before the last of it is sent.

    If client or upstream hang up on the way, as much is kept as was said. Raises httpx2.HTTPError
    if nothing comes back.
    """
    response, exchange = await _ask(upstream, asked, exchange, prompter.places)
    try:
        encoding = response.headers.get("content-encoding", "")
        carrier = None
        raw = end_to_end(response.headers.raw)
        if exchange.notes and response.is_success and not encoding:
            carrier = Carrier(exchange.notes, prompter.mode, exchange.api)
            raw = [(name, value) for name, value in raw if name.lower() != b"content-length"]
        await client.begin(response.status_code, raw + headers_of(exchange))
        reply = Reply(exchange.api, encoding)
        if response.is_success:
            await _bring(response, client, reply, exchange, prompter, carrier)
            if carrier and carrier.done:
                prompter.show(exchange)
        else:
            async for part in response.aiter_raw():
                await client.tell(part)
        await client.tell(b"", more=False)
    finally:
        await response.aclose()


async def while_there(client: Client, passage: "asyncio.Future[None]") -> None:
    """Wait for a passage; end it if the client hangs up."""
    gone = asyncio.ensure_future(client.wait_until_gone())
    try:
        await asyncio.wait({passage, gone}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        gone.cancel()
        passage.cancel()
        await asyncio.wait({passage, gone})
    if not passage.cancelled():
        passage.result()


def headers_of(exchange: Exchange) -> RawHeaders:
    """Return the headers that say which turn it is, how much was whispered, and how fast."""
    turn = exchange.turn
    if turn is None:
        return []
    return [
        (b"x-souffleur-session", quote(turn.session_id).encode()),
        (b"x-souffleur-turn", quote(turn.turn_id).encode()),
        (b"x-souffleur-memories", str(len(exchange.whisper.ids)).encode()),
        (b"server-timing", f"recall;dur={1000 * exchange.seconds:.1f}".encode()),
    ]


async def _ask(
    upstream: Upstream, asked: Asked, exchange: Exchange, places: Places
) -> tuple[httpx2.Response, Exchange]:
    """Return the response, and the exchange with its whisper where it was taken.

    A request that may have been refused because of its whisper is sent again with that elsewhere,
    and at last without it; then what comes back is what the client would have had without us.
    """
    response = await upstream.send(asked.with_body(exchange.body))
    if response.status_code not in REFUSALS:
        return response, exchange
    while not response.is_success and (place := after(exchange.place)):
        await response.aclose()
        exchange = exchange.placed(place)
        response = await upstream.send(asked.with_body(exchange.body))
    if response.is_success:
        places.learn(exchange.model, len(exchange.plain), exchange.place)
    return response, exchange


async def _bring(
    response: httpx2.Response,
    client: Client,
    reply: Reply,
    exchange: Exchange,
    prompter: Prompter,
    carrier: Carrier | None,
) -> None:
    kept = False
    left = int(response.headers.get("content-length", -1))

    async def keep() -> None:
        nonlocal kept
        if not kept:
            kept = True
            if said := prompter.end(exchange, reply):
                await asyncio.to_thread(prompter.keep, said)

    try:
        async for part in response.aiter_raw():
            reply.take(part)
            left -= len(part)
            if left == 0:  # so the client will not wait for more
                reply.finish()
            if reply.complete:
                await keep()
            await client.tell(carrier.take(part, reply.form) if carrier else part)
        reply.finish()
    except httpx2.HTTPError as error:
        logger.warning("the upstream has broken off a reply: {}", type(error).__name__)
        raise
    finally:
        await keep()
    if carrier:
        await client.tell(carrier.finish())
