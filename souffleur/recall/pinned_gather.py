"""The former way to gather, until the recordings are made anew."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from souffleur.agents.brief import formerly
from souffleur.knowledge.identity import knows, own_sphere
from souffleur.knowledge.memory import Memory
from souffleur.knowledge.search.query import Found, Query, Scope
from souffleur.knowledge.search.questions import asks_about_past
from souffleur.knowledge.turn import Turn
from souffleur.prompts import spoken_in
from souffleur.recall.always import LIVED, MAX_UNASKED, Place, read_always
from souffleur.recall.compose import Recall
from souffleur.recall.finder import Asked, Finder
from souffleur.recall.past import recall_past, without_repetitions
from souffleur.recall.pinned_compose import OLD, Candidates, compose
from souffleur.recall.pinned_rank import find_guards, is_held_back, rank
from souffleur.recall.rendering import Count, RenderOptions
from souffleur.settings import Settings

if TYPE_CHECKING:
    from souffleur.knowledge.knowledge_base import KnowledgeBase

T = TypeVar("T")

MAX_NEAREST = 40
"""Maximum memories near a message that are ranked."""
CONTEXT_MESSAGES = 3
"""Number of earlier messages that a recall looks at."""
MAX_OLDER_EPISODES = 2
"""Maximum older episodes, besides the latest episodes, that a message may bring."""
MAX_BEARING = 8
"""Maximum memories that are listed as bearing on the message."""
EMBEDDER_SHARE = 0.25
"""Maximum share of `recall_timeout` that a recall waits for the embedder."""


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
        now=asked.now,
        message=asked.text,
        formerly=formerly(persona, language),
    )
    error = "; ".join(finder.errors)
    return compose(
        candidates,
        budget=OLD,
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
    place = Place(user_id, sphere, own_sphere(asked.agent_id))
    newest = partial(knowledge.episodes, limit=OLD.latest, now=now, sphere=sphere)
    latest = await part(partial(newest, user_id))
    nearest = _called_for(asked, context)
    # Asked at once, as a store on a server answers side by side.
    calls: list[Awaitable[list[Any]]] = [part(partial(finder.search, nearest))]
    if latest or not OLD.latest:
        episodes = OLD.latest + MAX_OLDER_EPISODES
        older = replace(nearest, scope=(Scope.EPISODES,), limit=episodes)
        calls.append(part(partial(finder.search, older)))
    if likely:
        calls.append(part(partial(knowledge.get_many, user_id, likely)))
    always, *brought = await asyncio.gather(read_always(finder, place, now), *calls)
    answers = iter(brought)
    hits = next(answers)
    others = next(answers) if latest or not OLD.latest else []
    expected: list[Memory] = next(answers, [])
    core, boundaries = always.core, always.boundaries
    near, valued = always.plans, always.valued(now, policy)
    values = {memory.id: value for memory, value in valued}
    found = [*hits, *_older(others, latest)]
    likely_now = (one for one in expected if knows(sphere, one.sphere))
    unasked = [*near, *likely_now, *(memory for memory, _ in valued[:MAX_UNASKED])]
    definitions = (*always.personas, *always.system)
    what_it_is = [one for one in definitions if one.agent_id == asked.agent_id]
    called = {hit.item.id: hit for hit in found}
    known: tuple[Memory, ...] = ()
    pool = [*(hit.memory for hit in found), *unasked, *boundaries, *known]
    guards = find_guards([*core, *pool], asked.text)
    ranked = rank(pool, called, values, guards=guards, likely=likely, now=now, policy=policy)
    past = await finder.part(partial(recall_past, finder, settings, asked, before, found))
    related = _within_limits(ranked, called)
    core = [one for one in core if not is_held_back(one, guards)]
    told = () if asks_about_past(asked.text) else (one.content for one in (*core, *related))
    bearing = {*(id for id, hit in called.items() if hit.relevant), *likely}
    bearing |= {one.id for one in near}
    return Candidates(
        core=[*what_it_is, *core],
        portrait=always.portrait,
        episodes=latest,
        found=[hit for hit in found if hit.relevant],
        related=related,
        known=[one for one in ranked if known and one.category in LIVED],
        bearing=[one for one in ranked if one.id in bearing][:MAX_BEARING],
        past=without_repetitions(past, told),
    )


def _within_limits(ranked: Sequence[Memory], hits: Mapping[str, Found]) -> list[Memory]:
    """Return the matching and the unasked memories, each group up to its limit."""
    rooms = {True: OLD.matching, False: OLD.unasked}
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


async def _listed(ask: Callable[[], Awaitable[T | None]]) -> list[T]:
    """Return the result of a call as a list with one item; empty if the result is `None`."""
    found = await ask()
    return [] if found is None else [found]


def _older(nearest: Sequence[Found], latest: Sequence[Memory]) -> list[Found]:
    """Return the nearest episodes that are relevant and not among the latest."""
    known = {episode.id for episode in latest}
    few = nearest[: len(latest) + MAX_OLDER_EPISODES]
    return [hit for hit in few if hit.relevant and hit.item.id not in known][:MAX_OLDER_EPISODES]
