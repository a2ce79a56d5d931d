"""Recollection: what is whispered before a reply, and what a question about the past brings."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from loguru import logger

from souffleur.knowledge.asking import asks_about_past
from souffleur.knowledge.memory import Category, Kind, Memory
from souffleur.knowledge.search import EVERYWHERE, INSTANT, Found, Query, Scope
from souffleur.knowledge.session import WindowRule
from souffleur.knowledge.times import Period, find_period
from souffleur.prompts import language_of
from souffleur.settings import Settings
from souffleur.tokens import Count
from souffleur.whisper import Budget, Recall, Shelf, Voice, compose

if TYPE_CHECKING:
    from souffleur.knowledge.knowledge_base import KnowledgeBase

RESIDENT = frozenset({Kind.FACT, Kind.PREFERENCE, Kind.RELATIONSHIP, Kind.BOUNDARY})
"""Kinds that may accompany every message; plans and moments come when they are called for."""
RESIDENT_AMONG = 30
NEAR_PLANS = 3
CONTEXT_MESSAGES = 3
"""Messages before this one that a recall looks at."""
OLDER_EPISODES = 2
"""Episodes before the latest ones that a message may call up."""
MOST_PAST = 6
"""Episodes, and as many raw turns, that a question about the past brings."""


@dataclass(frozen=True)
class Asked:
    """What somebody said, when and where."""

    user_id: str
    session_id: str
    text: str
    now: datetime
    zone: ZoneInfo


@dataclass(frozen=True)
class Past:
    """What a question about the past brings."""

    period: Period | None
    """The time it asks about; None: it names none."""
    since: datetime | None
    until: datetime | None
    found: tuple[Found, ...]
    """Episodes, raw turns and memories: those of a time in its order, others best first."""


async def whisper_for(
    knowledge: "KnowledgeBase", settings: Settings, asked: Asked, count: Count
) -> Recall:
    """The block for the reply to what was said. Raises nothing: see `Recall.trouble`."""
    shelf, trouble = Shelf(), ""
    try:
        shelf = await fill_shelf(knowledge, settings, asked)
    except Exception as error:  # noqa: BLE001  a reply must never fail for want of memory
        trouble = f"{type(error).__name__}: {error}"
        logger.bind(user=asked.user_id).warning("recall is incomplete: {}", trouble)
    voice = Voice(
        user=settings.user_title,
        assistant=settings.assistant_name,
        language=settings.language or language_of(asked.text),
        zone=asked.zone,
        style=settings.whisper_style,
    )
    budget = Budget(
        core=settings.core_tokens,
        portrait=settings.portrait_tokens,
        episodes=settings.episode_tokens,
        related=settings.related_tokens,
        past=settings.past_tokens,
    )
    return compose(shelf, budget=budget, voice=voice, count=count, trouble=trouble)


async def fill_shelf(knowledge: "KnowledgeBase", settings: Settings, asked: Asked) -> Shelf:
    """What could be whispered, before any budget."""
    user_id, now = asked.user_id, asked.now
    core = await knowledge.list(user_id, category=Category.CORE, now=now)
    system = await knowledge.list(user_id, category=Category.SYSTEM, now=now)
    before = await knowledge.sessions.window(user_id, asked.session_id)
    said = [said.text for turn in before for said in turn.said()][-CONTEXT_MESSAGES:]
    query = Query(user_id, asked.text, now, context="\n".join(said), limit=settings.recall_limit)
    hits = await knowledge.search(query)
    latest = await knowledge.episodes(user_id, limit=settings.recall_episodes, now=now)
    older = replace(query, scope=(Scope.EPISODES,), limit=len(latest) + OLDER_EPISODES)
    known = {episode.id for episode in latest}
    others = [hit for hit in await knowledge.search(older) if hit.item.id not in known]
    hits += others[:OLDER_EPISODES]
    past: tuple[Found, ...] = ()
    if asks_about_past(asked.text):
        held = {turn.id for turn in before}
        brought = await recollect(knowledge, settings.window_rule, asked)
        past = tuple(hit for hit in brought.found if brought.period or hit.item.id not in held)
    return Shelf(
        core=[*system, *core],
        portrait=await knowledge.portrait(user_id),
        episodes=latest,
        resident=await _resident(knowledge, settings, asked),
        found=[hit for hit in hits if hit.relevant],
        past=past,
    )


async def recollect(
    knowledge: "KnowledgeBase", rule: WindowRule, asked: Asked, *, limit: int = MOST_PAST
) -> Past:
    """What was told at the time a text asks about, or, where it names none, about its matter."""
    period = await asyncio.to_thread(find_period, asked.text, asked.now, asked.zone)
    text = asked.text.replace(period.phrase, " ") if period else asked.text
    query = Query(asked.user_id, text, asked.now, limit=limit)
    if period is None:
        hits = await knowledge.search(replace(query, scope=(Scope.EPISODES, Scope.TURNS)))
        return Past(None, None, None, tuple(hit for hit in hits if hit.relevant))
    since, until = period.start, period.end
    if period.last:
        span = await knowledge.sessions.before_this(
            asked.user_id, asked.session_id, asked.now, rule
        )
        if span is None:
            return Past(period, None, None, ())
        since, until = span[0], span[1] + INSTANT
    then = replace(query, since=since, until=until)
    return Past(period, since, until, tuple(await _told(knowledge, then)))


async def _told(knowledge: "KnowledgeBase", then: Query) -> list[Found]:
    """The episodes of a time, in order, and what was said then about the matter."""
    told = await knowledge.told(then)
    episodes = [Found(item, 1.0, 1.0, 0.0) for item in told if isinstance(item, Memory)]
    hits = await knowledge.search(replace(then, scope=(Scope.TURNS,)))
    turns = [hit for hit in hits if hit.relevant]
    if not episodes and not turns:  # not summarised yet, or asked for as a whole
        turns = [Found(item, 1.0, 1.0, 0.0) for item in told if not isinstance(item, Memory)]
    if not episodes and not turns:  # longer ago than either is kept: what was learnt then
        hits = await knowledge.search(replace(then, scope=(Scope.MEMORIES,)))
        return hits or await knowledge.learnt(then)
    return [*episodes, *turns]


async def look_everywhere(
    knowledge: "KnowledgeBase", rule: WindowRule, asked: Asked, *, limit: int
) -> Past:
    """As `recollect`; where a text names no time, memories are searched as well."""
    past = await recollect(knowledge, rule, asked, limit=limit)
    if past.period is not None:
        return past
    query = Query(asked.user_id, asked.text, asked.now, limit=limit, scope=EVERYWHERE)
    hits = await knowledge.search(query)
    return replace(past, found=tuple(hit for hit in hits if hit.relevant))


async def _resident(
    knowledge: "KnowledgeBase", settings: Settings, asked: Asked
) -> Sequence[Memory]:
    """Plans whose day is near, and the most important facts."""
    best = await knowledge.most_valuable(
        asked.user_id, limit=RESIDENT_AMONG, categories=(Category.FACT,), now=asked.now
    )
    lasting = [memory for memory in best if memory.kind in RESIDENT][: settings.resident]
    near = await knowledge.plans_near(asked.user_id, limit=NEAR_PLANS, now=asked.now)
    return [*near, *lasting]
