"""Asking again: requests of a measurement are tried as often as ours are."""

import asyncio

from souffleur.agents.model.chat import Chat, Reply, Request
from souffleur.errors import EndpointError
from souffleur.settings import Settings


async def ask_patiently(chat: Chat, request: Request, settings: Settings) -> Reply:
    """Return the reply; ask again, after a pause, if that may help. Raises what the chat raises."""
    for attempt in range(1, settings.tries):
        try:
            return await chat(request)
        except EndpointError as error:
            if not error.retryable:
                raise
            pause = settings.retry_pause * 2 ** (attempt - 1)
            await asyncio.sleep(max(pause, error.retry_after or 0))
    return await chat(request)


def patient(chat: Chat, settings: Settings) -> Chat:
    """Return a chat that asks another one patiently."""

    async def asked(request: Request) -> Reply:
        return await ask_patiently(chat, request, settings)

    return asked
