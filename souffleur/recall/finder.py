"""Finder: the searches of one recall, for one message."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, TypeVar

from loguru import logger

from souffleur.agents.brief import Persona
from souffleur.errors import EmbedderError
from souffleur.knowledge.identity import COMMON
from souffleur.knowledge.memory import Memory
from souffleur.knowledge.search.query import Found, Query
from souffleur.knowledge.turn import Turn
from souffleur.telemetry.log_lines import describe, trace_bug

if TYPE_CHECKING:
    from souffleur.knowledge.knowledge_base import KnowledgeBase

T = TypeVar("T")


@dataclass(frozen=True)
class Asked:
    """A message, with its time, its session and its persona."""

    user_id: str
    session_id: str
    text: str
    now: datetime
    persona: Persona
    """The names of user and persona, and the user's time zone and language."""
    agent_id: str = "default"
    sphere: str = COMMON
    """The sphere that the persona may read."""
    unsaid: frozenset[str] = frozenset()
    """The ids of the turns that count as not said any more."""


class Finder:
    """Searches the store; after the embedder was late or failed, searches by words alone."""

    def __init__(
        self,
        knowledge: "KnowledgeBase",
        within: float | None = None,
        unsaid: frozenset[str] = frozenset(),
    ) -> None:
        """`within`: maximum seconds for the embedder; `None` means no limit.

        No part of the recall has the `unsaid` turns, or a memory that rests on them alone.
        """
        self.knowledge = knowledge
        self._unsaid = unsaid
        self.errors: list[str] = []
        """The errors so far, each once."""
        self._within = within
        self._by_words = False

    async def search(self, query: Query) -> list[Found]:
        """Return the records that match a query, best first. Raises StoreError."""
        asked = replace(query, within=self._within, by_words=self._by_words)
        try:
            return await self.knowledge.search(asked)
        except EmbedderError as error:
            self._by_words = True
            self.note(error)
            return await self.knowledge.search(replace(asked, by_words=True))

    async def prepare(self, *texts: str) -> None:
        """Embed texts once, so that concurrent searches do not embed them again."""
        said = [text for text in texts if text.strip()]
        try:
            await self.knowledge.embedder.prepare_queries(said, within=self._within)
        except EmbedderError as error:
            self._by_words = True
            self.note(error)

    async def part(self, ask: Callable[[], Awaitable[list[T]]]) -> list[T]:
        """Return the result of a call; if it fails, note the error and return an empty list.

        The coroutine is made here, so that a cancelled recall leaves no coroutine unawaited.
        """
        try:
            found = await ask()
        except Exception as error:  # noqa: BLE001  a reply must not fail because a recall fails
            self.note(error)
            return []
        unsaid = self._unsaid
        return [one for one in found if not rests_on(one, unsaid)] if unsaid else found

    def note(self, error: Exception) -> None:
        """Note and log an error, once."""
        told = describe(error)
        if told not in self.errors:
            self.errors.append(told)
            logger.warning("recall is incomplete: {}", told)
            trace_bug(logger, error)


def rests_on(one: object, turn_ids: frozenset[str]) -> bool:
    """Return whether a record is one of these turns, or a memory that rests on them alone."""
    item = one.item if isinstance(one, Found) else one
    if isinstance(item, Turn):
        return item.id in turn_ids
    sources = {said.turn_id for said in item.evidence} if isinstance(item, Memory) else set[str]()
    return bool(sources) and sources <= turn_ids
