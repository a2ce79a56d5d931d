"""The caretaker: ends silent sessions, makes raw words findable, and lets them expire."""

import asyncio
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from loguru import logger

from souffleur.errors import EmbedderError

if TYPE_CHECKING:
    from souffleur.knowledge.knowledge_base import KnowledgeBase
    from souffleur.knowledge.session import WindowRule

ROUND = 60.0
"""Seconds between two rounds."""
EXPIRY = timedelta(hours=1)
"""Between two looks for words that have expired; they are out of every read path anyway."""


class Caretaker:
    """Goes round in the background; `wake` is told whose session has ended."""

    def __init__(
        self,
        knowledge: "KnowledgeBase",
        rule: "WindowRule",
        *,
        clock: Callable[[], datetime],
        wake: Callable[[str], None],
    ) -> None:
        self._knowledge = knowledge
        self._rule = rule
        self._clock = clock
        self._wake = wake
        self._expired_at: datetime | None = None
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Go round until `stop`."""
        self._task = asyncio.get_running_loop().create_task(self._go_round())

    def stop(self) -> None:
        """Let go at once."""
        if self._task:
            self._task.cancel()

    async def tidy(self) -> None:
        """One round, without the words that wait to be found."""
        now, sessions = self._clock(), self._knowledge.sessions
        for user_id in await sessions.end_idle(now, self._rule):
            self._wake(user_id)
        if self._expired_at is None or now - self._expired_at >= EXPIRY:
            self._expired_at = now
            if self._knowledge.raw_days:
                await sessions.expire(now, self._knowledge.raw_days)

    async def embed(self, user_id: str | None = None) -> None:
        """Make raw turns findable; with the embedder out of reach they wait."""
        try:
            await self._knowledge.embed_turns(user_id)
        except EmbedderError as error:
            logger.warning("raw turns are not found by their words yet: {}", error)

    async def _go_round(self) -> None:
        while True:
            await asyncio.sleep(ROUND)
            try:
                await self.tidy()
                await self.embed()
            except Exception as error:  # noqa: BLE001  the worker's edge: there is a next round
                logger.opt(exception=error).error("a round of upkeep failed: {}", error)
