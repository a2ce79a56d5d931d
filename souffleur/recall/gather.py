"""Gathering: the candidates for a whisper, and the answers to a question about the past."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from loguru import logger

from souffleur.agents.brief import Persona, formerly
from souffleur.errors import EmbedderError
from souffleur.knowledge.decay import fading
from souffleur.knowledge.identity import COMMON, PERSONAS, knows, own_sphere
from souffleur.knowledge.memory import Category, Kind, Memory
from souffleur.knowledge.search.periods import Period, asks_about_past, find_period, is_question
from souffleur.knowledge.search.query import EVERYWHERE, INSTANT, Found, Query, Scope
from souffleur.knowledge.session import WindowRule
from souffleur.knowledge.text.match import says_again
from souffleur.knowledge.turn import Turn
from souffleur.prompts import spoken_in
from souffleur.recall.always import (
    AHEAD,
    LIVED,
    MAX_PLANS_READ,
    MAX_READ,
    MAX_UNASKED,
    Always,
    AlwaysCache,
    Place,
)
from souffleur.recall.compose import Candidates, Recall, RenderOptions, compose
from souffleur.recall.rank import find_guards, is_held_back, rank
from souffleur.recall.rendering import Count
from souffleur.settings import Settings
from souffleur.telemetry.log_lines import describe, trace_bug

if TYPE_CHECKING:
    from souffleur.knowledge.knowledge_base import KnowledgeBase

T = TypeVar("T")

MAX_NEAREST = 40
"""Maximum memories near a message that are ranked."""
CONTEXT_MESSAGES = 3
"""Number of earlier messages that a recall looks at."""
MAX_OLDER_EPISODES = 2
"""Maximum older episodes, besides the latest episodes, that a message may bring."""
RAW_GATE = 0.3
"""Minimum score of a turn for a question about the past; its score includes the turns around it."""
ANSWER_GATE = 0.35
"""The same for any other question."""
KNOWN_GATE = 0.75
"""Minimum relevance of a memory's own words, so that a question needs no raw turns."""
SAID_LATER_GATE = 0.5
"""Minimum relevance of a later turn to the turn that it may correct."""
MAX_REPEATING = 200
"""Maximum characters of a message that is dropped because it repeats another text."""
MAX_SAID_LATER = 2
"""Maximum later turns on the subject of the nearest turn."""
MAX_BEARING = 8
"""Maximum memories that are listed as bearing on the message."""
EMBEDDER_SHARE = 0.25
"""Maximum share of `recall_timeout` that a recall waits for the embedder."""
RAW = (Scope.TURNS,)
MAX_PAST_HITS = 10
"""Maximum episodes, and maximum raw turns, for a question; `WhisperBudget.past` may hold fewer."""


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


@dataclass(frozen=True)
class Past:
    """The answer to a question about the past."""

    period: Period | None
    """The time that the question names; `None` if it names no time."""
    since: datetime | None
    """The beginning of the period."""
    until: datetime | None
    """The end of the period, which is not part of it."""
    found: tuple[Found, ...]
    """Episodes, raw turns and memories: those of the period by time, the others best first."""
    error: str = ""
    """Why results may be missing; empty if no search failed."""

    def includes(self, moment: datetime) -> bool:
        """Return whether a moment is in the time that the question asks about."""
        if self.since is None or self.until is None:
            return False
        return self.since <= moment < self.until


class Finder:
    """Searches the store; after the embedder was late or failed, searches by words alone."""

    def __init__(self, knowledge: "KnowledgeBase", within: float | None = None) -> None:
        """`within`: maximum seconds for the embedder; `None` means no limit."""
        self.knowledge = knowledge
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
            return await ask()
        except Exception as error:  # noqa: BLE001  a reply must not fail because a recall fails
            self.note(error)
            return []

    def note(self, error: Exception) -> None:
        """Note and log an error, once."""
        told = describe(error)
        if told not in self.errors:
            self.errors.append(told)
            logger.warning("recall is incomplete: {}", told)
            trace_bug(logger, error)


async def whisper_for(
    knowledge: "KnowledgeBase",
    settings: Settings,
    asked: Asked,
    count: Count,
    *,
    with_references: bool = False,
) -> Recall:
    """Return the block for the reply to a message; `Recall.error` says why it may be incomplete."""
    finder = Finder(knowledge, settings.recall_timeout * EMBEDDER_SHARE)
    candidates = await gather_candidates(finder, settings, asked)
    persona = asked.persona
    language = persona.language or spoken_in(asked.text)
    options = RenderOptions(
        user=persona.user,
        assistant=persona.assistant,
        language=language,
        zone=persona.zone,
        style=settings.whisper.style,
        message=asked.text,
        formerly=formerly(persona, language),
    )
    error = "; ".join(finder.errors)
    return compose(
        candidates,
        budget=settings.whisper,
        options=options,
        count=count,
        error=error,
        shown_at=asked.now if with_references else None,
    )


async def gather_candidates(finder: Finder, settings: Settings, asked: Asked) -> Candidates:
    """Gather the candidates for a whisper, before budgets; a part that fails is left out."""
    knowledge, user_id, now = finder.knowledge, asked.user_id, asked.now
    sphere, part, policy = asked.sphere, finder.part, knowledge.policy
    find = partial(knowledge.sessions.find, user_id, asked.session_id, sphere)
    session = next(iter(await part(partial(_listed, find))), None)
    before = await part(partial(knowledge.sessions.held, session))
    likely = session.likely(now) if session else ()
    context = _context(before)
    await finder.prepare(asked.text, context)
    place = Place(user_id, sphere, own_sphere(asked.agent_id), settings.whisper.latest)
    cache = AlwaysCache(knowledge.memories.memo, place, now) if knowledge.is_cache else None
    always = cache.find() if cache else None
    latest = always.episodes if always else await _latest(finder, place, now)
    nearest = _called_for(asked, context)
    # Asked at once, all this is one request to the store.
    calls: list[Awaitable[list[Any]]] = [part(partial(finder.search, nearest))]
    if latest or not place.episodes:
        episodes = settings.whisper.latest + MAX_OLDER_EPISODES
        older = replace(nearest, scope=(Scope.EPISODES,), limit=episodes)
        calls.append(part(partial(finder.search, older)))
    if likely:
        calls.append(part(partial(knowledge.get_many, user_id, likely)))
    if always is None:
        reading = _read_always(finder, place, now, latest, cache)  # first: its parts begin later
        always, *brought = await asyncio.gather(reading, *calls)
    else:
        brought = [await calls[0]] if len(calls) == 1 else await asyncio.gather(*calls)
    answers = iter(brought)
    hits = next(answers)
    others = next(answers) if latest or not place.episodes else []
    expected: list[Memory] = next(answers, [])
    core, boundaries = always.core, always.boundaries
    near, valued = always.near_plans(now), always.valued(now, policy)
    values = {memory.id: value for memory, value in valued}
    found = [*hits, *_older(others, latest)]
    likely_now = (one for one in expected if knows(sphere, one.sphere))
    unasked = [*near, *likely_now, *(memory for memory, _ in valued[:MAX_UNASKED])]
    definitions = (*always.personas, *always.system)
    what_it_is = [one for one in definitions if one.agent_id == asked.agent_id]
    called = {hit.item.id: hit for hit in found}
    known = always.important if settings.whisper.whole else ()
    pool = [*(hit.memory for hit in found), *unasked, *boundaries, *known]
    guards = find_guards([*core, *pool], asked.text)
    ranked = rank(pool, called, values, guards=guards, likely=likely, now=now, policy=policy)
    past = await finder.part(partial(_past, finder, settings, asked, before, found))
    related = _within_limits(ranked, called, settings)
    core = [one for one in core if not is_held_back(one, guards)]
    told = () if asks_about_past(asked.text) else (one.content for one in (*core, *related))
    bearing = {*(id for id, hit in called.items() if hit.relevant), *likely}
    bearing |= {one.id for one in near}
    return Candidates(
        core=[*what_it_is, *core],
        portrait=next(iter(always.portrait), None),
        episodes=latest,
        found=[hit for hit in found if hit.relevant],
        related=related,
        known=[one for one in ranked if known and one.category in LIVED],
        bearing=[one for one in ranked if one.id in bearing][:MAX_BEARING],
        past=_without_repetitions(past, told),
    )


def _within_limits(
    ranked: Sequence[Memory], hits: Mapping[str, Found], settings: Settings
) -> list[Memory]:
    """Return the matching and the unasked memories, each group up to its limit."""
    rooms = {True: settings.whisper.matching, False: settings.whisper.unasked}
    chosen = []
    for memory in ranked:
        called = memory.id in hits and hits[memory.id].relevant
        if rooms[called] and (called or memory.category in LIVED):
            rooms[called] -= 1
            chosen.append(memory)
    return chosen


def _context(before: Sequence[Turn]) -> str:
    """Return the last `CONTEXT_MESSAGES` messages before this message."""
    return "\n".join([said.text for turn in before for said in turn.said()][-CONTEXT_MESSAGES:])


def _called_for(asked: Asked, context: str) -> Query:
    """Return the query for the memories that are nearest to a message."""
    return Query(
        asked.user_id,
        asked.text,
        asked.now,
        context=context,
        sphere=asked.sphere,
        limit=MAX_NEAREST,
    )


async def _latest(finder: Finder, place: Place, now: datetime) -> list[Memory]:
    """Return the latest episodes."""
    user_id, limit, sphere = place.user_id, place.episodes, place.sphere
    latest = partial(finder.knowledge.episodes, user_id, limit=limit, now=now, sphere=sphere)
    return await finder.part(latest)


async def _listed(ask: Callable[[], Awaitable[T | None]]) -> list[T]:
    """Return the result of a call as a list with one item; empty if the result is `None`."""
    found = await ask()
    return [] if found is None else [found]


async def _read_always(
    finder: Finder, place: Place, now: datetime, latest: Sequence[Memory], cache: AlwaysCache | None
) -> Always:
    """Return the memories that every recall of a user reads; cache them if nothing failed."""
    knowledge, part, user_id = finder.knowledge, finder.part, place.user_id
    read = partial(knowledge.list, now=now)
    here = partial(read, user_id, sphere=place.sphere)
    valued = partial(knowledge.most_important, user_id, limit=MAX_READ, categories=LIVED)
    plans = partial(knowledge.plans_near, user_id, limit=MAX_PLANS_READ, ahead=AHEAD)
    core, personas, system, portrait, boundaries, most, near = await asyncio.gather(
        part(partial(here, category=Category.CORE)),
        part(partial(read, PERSONAS, category=Category.SYSTEM, sphere=place.own)),
        part(partial(here, category=Category.SYSTEM)),
        part(partial(_listed, partial(knowledge.portrait, user_id, place.sphere))),
        part(partial(here, kind=Kind.BOUNDARY)),
        part(partial(valued, now=now, sphere=place.sphere)),
        part(partial(plans, now=now, sphere=place.sphere)),
    )
    fadings = [fading(one, knowledge.policy) for one in most]
    always = Always(latest, core, personas, system, portrait, boundaries, most, near, fadings)
    if cache and not finder.errors:
        cache.keep(always)
    return always


def _older(nearest: Sequence[Found], latest: Sequence[Memory]) -> list[Found]:
    """Return the nearest episodes that are relevant and not among the latest."""
    known = {episode.id for episode in latest}
    few = nearest[: len(latest) + MAX_OLDER_EPISODES]
    return [hit for hit in few if hit.relevant and hit.item.id not in known][:MAX_OLDER_EPISODES]


async def _past(
    finder: Finder,
    settings: Settings,
    asked: Asked,
    before: Sequence[Turn],
    known: Sequence[Found],
) -> list[Found]:
    """Return episodes and turns for a question about the past, or turns for another question.

    `known` are the memories found: if they answer the other question, it needs no turns.
    """
    held = {turn.id for turn in before}
    if asks_about_past(asked.text):
        brought = await recollect(finder, settings.window_rule, asked)
        return [hit for hit in brought.found if hit.item.id not in held or brought.includes(hit.at)]
    if not is_question(asked.text) or any(map(_answers, known)):
        return []
    query = _query(asked, MAX_PAST_HITS)
    hits = await finder.search(replace(query, scope=RAW))
    near = [hit for hit in hits if hit.score >= ANSWER_GATE and hit.item.id not in held]
    return [*near, *await _said_later(finder, query, near)]


def _without_repetitions(hits: Sequence[Found], told: Iterable[str]) -> list[Found]:
    """Return the hits without short turns that repeat a memory or an earlier hit.

    A question stays, as its reply may contain more.
    """
    kept, said = list[Found](), list(told)
    for hit in hits:
        turn = hit.item
        if isinstance(turn, Turn) and 0 < len(turn.user) <= MAX_REPEATING:
            if not is_question(turn.user) and any(says_again(turn.user, one) for one in said):
                continue
            said.append(turn.user)
        kept.append(hit)
    return kept


def _query(asked: Asked, limit: int) -> Query:
    zone = asked.persona.zone
    return Query(asked.user_id, asked.text, asked.now, sphere=asked.sphere, limit=limit, zone=zone)


def _answers(hit: Found) -> bool:
    """Return whether a memory answers a question: its words must match, not only cues and names."""
    return hit.relevance >= KNOWN_GATE and hit.by_itself >= KNOWN_GATE


def _near(hit: Found) -> bool:
    return hit.score >= RAW_GATE if isinstance(hit.item, Turn) else hit.relevant


async def recollect(
    finder: Finder, rule: WindowRule, asked: Asked, *, limit: int = MAX_PAST_HITS
) -> Past:
    """Return the talk of the time that a text names; without a time, the talk on its subject."""
    period = await asyncio.to_thread(find_period, asked.text, asked.now, asked.persona.zone)
    query = _query(asked, limit)
    if period is None:
        hits = await finder.search(replace(query, scope=(Scope.EPISODES, Scope.TURNS)))
        found = [hit for hit in hits if _near(hit)]
        return Past(None, None, None, (*found, *await _said_later(finder, query, found)))
    if not period.last:
        past = Past(period, period.start, period.end, ())
        return replace(past, found=tuple(await _told(finder, query, past)))
    span = await finder.knowledge.sessions.previous_talk(
        asked.user_id, asked.session_id, asked.now, rule, asked.sphere
    )
    if span is None:
        return Past(period, None, None, ())
    past = Past(period, span[0], span[1] + INSTANT, ())
    then = replace(query, text=asked.text.replace(period.phrase, " "))
    then = replace(then, since=past.since, until=past.until)
    return replace(past, found=tuple(await _told(finder, then, past)))


async def _said_later(finder: Finder, query: Query, found: Sequence[Found]) -> list[Found]:
    """Return later turns on the subject of the nearest turn, as they may correct it."""
    first = next((hit.item for hit in found if isinstance(hit.item, Turn)), None)
    if first is None:
        return []
    known = {hit.item.id for hit in found}
    later = replace(
        query, text=first.user, since=first.at, limit=len(known) + MAX_SAID_LATER, scope=RAW
    )
    hits = [hit for hit in await finder.search(later) if hit.item.id not in known]
    return [hit for hit in hits if hit.relevance >= SAID_LATER_GATE][:MAX_SAID_LATER]


async def _told(finder: Finder, query: Query, past: Past) -> list[Found]:
    """Return the episodes of a period, in order, and turns on the subject of the question.

    The turns may be of any time, as events are often told some days later. If the period has no
    episode and no turn on the subject, all its turns are returned as well.
    """
    then = replace(query, since=past.since, until=past.until)
    told, hits = await asyncio.gather(
        finder.knowledge.turns_and_episodes_between(then),
        finder.search(replace(query, scope=RAW)),
    )
    episodes = [Found(item, 1.0, 1.0, 0.0) for item in told if isinstance(item, Memory)]
    turns = [hit for hit in hits if _near(hit)]
    if episodes or any(past.includes(hit.at) for hit in turns):
        return [*episodes, *turns]
    known = {hit.item.id for hit in turns}
    whole = [Found(item, 1.0, 1.0, 0.0) for item in told if item.id not in known]
    if not whole:  # episodes and turns are no longer kept: take the memories learnt then
        hits = await finder.search(replace(then, scope=(Scope.MEMORIES,)))
        whole = hits or await finder.knowledge.memories_learned_between(then)
    return [*turns, *whole]


async def look_everywhere(
    knowledge: "KnowledgeBase", rule: WindowRule, asked: Asked, *, limit: int
) -> Past:
    """Return the result of `recollect`; if a text names no time, search memories as well."""
    finder = Finder(knowledge)
    past = await recollect(finder, rule, asked, limit=limit)
    if past.period is None:
        query = Query(asked.user_id, asked.text, asked.now, sphere=asked.sphere)
        query = replace(query, limit=limit, scope=EVERYWHERE)
        hits = await finder.search(query)
        past = replace(past, found=tuple(hit for hit in hits if hit.relevant))
    return replace(past, error="; ".join(finder.errors))
