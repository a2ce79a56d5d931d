"""Cancellation: what was sent to a server goes on, whoever waits for it."""

import asyncio
from collections.abc import Awaitable
from contextlib import suppress
from typing import TypeVar

T = TypeVar("T")


async def carry_through(work: Awaitable[T]) -> T:
    """Return the result of work; who is cancelled meanwhile ends once the work has ended.

    A write in a thread cannot be called back: if the task were over before, it could reach the
    server after what is done next, such as erasing the user.
    """
    begun = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(begun)
    except asyncio.CancelledError:
        while not begun.done():
            with suppress(asyncio.CancelledError):
                await asyncio.wait([begun])
        raise
