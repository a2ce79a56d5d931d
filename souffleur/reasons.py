"""Reasons: why each memory was whispered before a reply.

They are not stored. They come from a new search: the words of the turn, but the present memories.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, tzinfo
from enum import StrEnum
from typing import TYPE_CHECKING

from souffleur.knowledge import decay
from souffleur.knowledge.memory import Category, Kind, Memory
from souffleur.knowledge.search.query import Found, Query
from souffleur.knowledge.session import CONTEXT_MESSAGES
from souffleur.knowledge.store.codecs import to_memories
from souffleur.knowledge.turn import Turn

if TYPE_CHECKING:
    from souffleur.knowledge.knowledge_base import KnowledgeBase

NEAREST = 100
"""Maximum number of search results for a message that explain its whispered memories."""


class Why(StrEnum):
    """Why a memory was whispered."""

    ALWAYS = "always"
    """The memory is core: always in mind."""
    SELF = "self"
    """The memory defines the persona."""
    SAID = "said"
    """The memory is similar to the talk, in its words or its sense."""
    LINKED = "linked"
    """The memory shares a name or link with a memory that is similar to the talk."""
    BOUNDARY = "boundary"
    """The memory is a boundary: a topic that the companion must not raise."""
    PLAN = "plan"
    """The memory is a plan or promise for the days around the talk."""
    LASTING = "lasting"
    """The memory is important, or was expected to be useful in any talk."""


@dataclass(frozen=True)
class Reason:
    """A memory that was whispered, and why."""

    memory: Memory
    """The present memory."""
    why: Why
    """Why the memory was whispered."""
    day: date | None
    """The day of a plan, in the user's time zone; `None` for another reason."""


async def reasons_for(knowledge: "KnowledgeBase", turn: Turn, zone: tzinfo) -> list[Reason]:
    """Return the memories that were whispered before a reply, in their order, with the reasons."""
    found = to_memories(await knowledge.memories.get(turn.injected))
    hits = await _near(knowledge, turn)
    reasons = []
    for one in found:
        if one.user_id == turn.user_id:
            because, day = why(one, hits.get(one.id), turn.at), None
            if because is Why.PLAN and one.expires_at:
                day = decay.plan_day(one.expires_at).astimezone(zone).date()
            reasons.append(Reason(one, because, day))
    return reasons


async def _near(knowledge: "KnowledgeBase", turn: Turn) -> Mapping[str, Found]:
    """Return the search results for the user's words of a turn, by memory id."""
    said = turn.clipped()
    if not said.user.strip():
        return {}
    before = await knowledge.journal.messages_before(turn, limit=CONTEXT_MESSAGES)
    context = "\n".join(one.text for one in before)
    query = Query(
        turn.user_id, said.user, turn.at, context=context, sphere=turn.sphere, limit=NEAREST
    )
    return {hit.item.id: hit for hit in await knowledge.current.search(query)}


def why(memory: Memory, hit: Found | None, at: datetime) -> Why:
    """Return why a memory was whispered at a time; `hit` is its search result for the message."""
    if memory.category in (Category.CORE, Category.SYSTEM):
        return Why.ALWAYS if memory.category is Category.CORE else Why.SELF
    if hit and hit.relevant:
        by_link = hit.parts.get("hop", 0.0) >= hit.relevance and hit.by_itself < hit.relevance
        return Why.LINKED if by_link else Why.SAID
    if memory.kind is Kind.BOUNDARY:
        return Why.BOUNDARY
    low, high = decay.near_expiries(at)
    if memory.expires_at is not None and low <= memory.expires_at < high:
        return Why.PLAN
    return Why.LASTING
