"""Gathering: the candidates for a whisper."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from souffleur.agents.brief import formerly
from souffleur.knowledge.identity import knows, own_sphere
from souffleur.knowledge.memory import Memory
from souffleur.knowledge.search.query import Found, Query
from souffleur.knowledge.search.questions import asks_about_past
from souffleur.knowledge.session import CONTEXT_MESSAGES
from souffleur.knowledge.turn import Turn
from souffleur.prompts import spoken_in
from souffleur.recall.always import LIVED, Always, Place, read_always
from souffleur.recall.bearing import find_bearing
from souffleur.recall.compose import Candidates, Recall, RenderOptions, compose
from souffleur.recall.finder import Asked, Finder
from souffleur.recall.past import looks_back, recall_past
from souffleur.recall.rank import find_guards, is_held_back, rank
from souffleur.recall.rendering import Count
from souffleur.settings import Settings

if TYPE_CHECKING:
    from souffleur.knowledge.knowledge_base import KnowledgeBase

T = TypeVar("T")

MAX_NEAREST = 40
"""Maximum memories near a message that are ranked."""
MAX_TOPICS = 3
"""Number of the best hits of whose topics a question brings all."""
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
    finder = Finder(knowledge, settings.recall_timeout * EMBEDDER_SHARE, asked.unsaid)
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
        former=persona.former_users,
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
    read, called, now = await _read(finder, settings, asked), asked.persona.called, asked.now
    always, due = read.always, read.always.plans
    pool = [*always.important, *always.boundaries, *due, *read.likely]
    pool += [hit.memory for hit in read.hits]
    guards = find_guards([*always.core, *pool], asked.text, called)

    def allowed(memories: Iterable[Memory]) -> list[Memory]:
        return [one for one in memories if not is_held_back(one, guards)]

    hits = [hit for hit in read.hits if not is_held_back(hit.memory, guards)]
    values = {hit.memory.id: hit.effective for hit in hits}
    values |= always.values(now, finder.knowledge.policy)
    known = [one for one in allowed(pool) if one.category in LIVED]
    past: list[Found] = []
    core, told = allowed(always.core), list[Memory]()
    if back := looks_back(asked.text):
        if asks_about_past(asked.text):
            told = [*core, *rank(known, hits, values)]
        past = await finder.part(partial(recall_past, finder, settings, asked, read.before, told))
        past += _of_their_topics(hits, known)
        past = _unguarded(past, [*always.core, *pool], asked.text, called)
    persona = [one for one in (*always.personas, *always.system) if one.agent_id == asked.agent_id]
    return Candidates(
        core=[*persona, *core],
        portrait=always.portrait,
        known=rank(known, (), values),
        nearest=rank(known, hits, values, likely=[one.id for one in read.likely]),
        talks=read.talks,
        due=allowed(due),
        bearing=find_bearing(asked.text, hits, called),
        found=[hit for hit in hits if hit.relevant],
        past=past,
        looks_back=back,
    )


def _unguarded(
    past: Sequence[Found], known: Sequence[Memory], text: str, called: Iterable[str]
) -> list[Found]:
    """Return what answers a question, without what a boundary holds back."""
    told = [hit.item for hit in past if isinstance(hit.item, Memory)]
    guards = find_guards([*known, *told], text, called)
    return [hit for hit in past if guards.get(hit.item.id) != []]


def _of_their_topics(hits: Sequence[Found], known: Sequence[Memory]) -> list[Found]:
    """Return all memories of the topics of the best hits."""
    best = [hit.memory for hit in hits[:MAX_TOPICS] if hit.relevant]
    topics = {topic for one in best for topic in one.topics[:1]}
    return [Found(one, 0.0, 0.0, 0.0) for one in known if topics.intersection(one.topics[:1])]


@dataclass(frozen=True)
class _Read:
    """What is read for a whisper."""

    before: Sequence[Turn]
    """The turns before the message."""
    always: Always
    """What is read for any message."""
    talks: Sequence[Memory]
    """The latest episodes, newest first."""
    hits: Sequence[Found]
    """The memories nearest to the message, best first."""
    likely: Sequence[Memory]
    """Memories that the judge of the earlier turns expects to be needed."""


async def _read(finder: Finder, settings: Settings, asked: Asked) -> _Read:
    """Read all that a whisper may need, but for the answers to a question."""
    knowledge, user_id, now = finder.knowledge, asked.user_id, asked.now
    sphere, part = asked.sphere, finder.part
    find = partial(knowledge.sessions.find, user_id, asked.session_id, sphere)
    session = next(iter(await part(partial(_listed, find))), None)
    before = await part(partial(knowledge.sessions.held, session))
    context = _context(before)
    await finder.prepare(asked.text, context)
    place = Place(user_id, sphere, own_sphere(asked.agent_id))
    newest = partial(knowledge.episodes, limit=settings.whisper.talks, now=now, sphere=sphere)
    likely = session.likely(now) if session else ()
    # Asked at once, as a store on a server answers side by side.
    always, talks, hits, expected = await asyncio.gather(
        read_always(finder, place, now),
        part(partial(newest, user_id)),
        part(partial(finder.search, _called_for(asked, context))),
        part(partial(knowledge.get_many, user_id, likely)),
    )
    likely_here = [one for one in expected if knows(sphere, one.sphere)]
    return _Read(before, always, talks, hits, likely_here)


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
