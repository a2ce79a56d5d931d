"""Past: the answers to a question about the past."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING

from souffleur.agents.thought import Thought
from souffleur.knowledge.memory import Memory, MemoryState
from souffleur.knowledge.search.periods import Period, find_period
from souffleur.knowledge.search.query import (
    EVERYWHERE,
    INSTANT,
    Found,
    Query,
    Scope,
    ranking_key,
)
from souffleur.knowledge.search.questions import (
    asks_about_past,
    asks_for_reply,
    is_question,
)
from souffleur.knowledge.session import WindowRule
from souffleur.knowledge.store.codecs import to_memories
from souffleur.knowledge.text.match import Statement, says_again, statement
from souffleur.knowledge.turn import Turn
from souffleur.recall.finder import Asked, Finder
from souffleur.recall.raw_lines import with_neighbours
from souffleur.settings import Settings

if TYPE_CHECKING:
    from souffleur.knowledge.knowledge_base import KnowledgeBase


MAX_TURNS = 30
"""Maximum raw turns that a question brings, without those beside them."""
MAX_OTHERS = 10
"""Maximum episodes, and maximum memories that are over."""
BEST_GATE = 0.35
"""Minimum score of the best turn, unless the question is about the past and names no time."""
TURN_GATE = 0.2
"""Minimum score of the other turns."""
SAID_LATER_GATE = 0.5
"""Minimum relevance of a later turn to the turn that it may correct."""
MAX_REPEATING = 200
"""Maximum characters of a message that is dropped because it repeats another text."""
MAX_SAID_LATER = 2
"""Maximum later turns on the subject of the nearest turn."""
RAW = (Scope.TURNS,)


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
    thought: Thought | None = None
    """The answer of a model, which rests on the records found; `None` if no model was asked."""

    def includes(self, moment: datetime) -> bool:
        """Return whether a moment is in the time that the question asks about."""
        if self.since is None or self.until is None:
            return False
        return self.since <= moment < self.until


def looks_back(text: str) -> bool:
    """Return whether a message may want what was said: it asks, or speaks of earlier talk.

    No list of words tells which questions do: "What does Tom like?" asks for all that was told.
    """
    return is_question(text) or asks_about_past(text)


async def recall_past(
    finder: Finder,
    settings: Settings,
    asked: Asked,
    before: Sequence[Turn],
    known: Sequence[Memory],
) -> list[Found]:
    """Return episodes, raw turns and memories that are over, for a message that looks back.

    `before` are the turns that the host still has in its context. The former states of what is
    `known` come before the neighbours of turns.
    """
    past = await recollect(finder, settings.window_rule, asked)
    held = {turn.id for turn in before}
    fresh = [hit for hit in past.found if hit.item.id not in held or past.includes(hit.at)]
    fresh += [Found(one, 0.0, 0.0, 0.0) for one in await _former(finder, known)]
    replies, query = asks_for_reply(asked.text), _query(asked, MAX_TURNS)
    lines = await with_neighbours(finder.knowledge, query, fresh, replies=replies)
    shown = [hit for hit in lines if hit.item.id not in held or past.includes(hit.at)]
    return without_repetitions(shown)


async def _former(finder: Finder, known: Sequence[Memory]) -> list[Memory]:
    """Return the former states of memories."""
    former, heirs = list[Memory](), known
    while ids := [id for one in heirs for id in one.supersedes]:
        found = to_memories(await finder.knowledge.memories.get(ids))
        heirs = [one for one in found if one.state is MemoryState.SUPERSEDED]
        former += heirs
    return former


def without_repetitions(hits: Sequence[Found]) -> list[Found]:
    """Return the hits without short turns that repeat an earlier hit.

    A question stays, as its reply may contain more.
    """
    kept, said = list[Found](), list[Statement]()
    for hit in hits:
        turn = hit.item
        if isinstance(turn, Turn) and 0 < len(turn.user) <= MAX_REPEATING:
            new = statement(turn.user)
            if not is_question(turn.user) and any(says_again(new, one) for one in said):
                continue
            said.append(new)
        kept.append(hit)
    return kept


def _query(asked: Asked, limit: int) -> Query:
    zone = asked.persona.zone
    return Query(asked.user_id, asked.text, asked.now, sphere=asked.sphere, limit=limit, zone=zone)


def _near(hits: Sequence[Found], best: float = BEST_GATE) -> list[Found]:
    """Return the turns near enough, if the score of the best of them is at least `best`."""
    meant = any(hit.score >= best for hit in hits)
    return [hit for hit in hits if meant and hit.score >= TURN_GATE]


async def recollect(finder: Finder, rule: WindowRule, asked: Asked) -> Past:
    """Return the talk of the time that a text names; without a time, the talk on its subject."""
    period = await asyncio.to_thread(find_period, asked.text, asked.now, asked.persona.zone)
    query = _query(asked, MAX_TURNS)
    if period is None:
        return Past(None, None, None, tuple(await _on_subject(finder, query)))
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


async def _on_subject(finder: Finder, query: Query) -> list[Found]:
    """Return episodes and turns on the subject of a question, the best first, and what is over.

    A question about now has nothing that is over, and no turn that only such a memory rests on.
    """
    hits, episodes, over = await asyncio.gather(
        finder.search(replace(query, scope=RAW)),
        finder.search(replace(query, scope=(Scope.EPISODES,), over=None, limit=MAX_OTHERS)),
        _over(finder, query),
    )
    if asks_about_past(query.text):
        turns = _near(hits, TURN_GATE)
    else:
        stale = {said.turn_id for hit in over for said in hit.memory.evidence}
        turns, over = [hit for hit in _near(hits) if hit.item.id not in stale], []
    found = [*turns, *over, *(hit for hit in episodes if hit.relevant)]
    return [*sorted(found, key=ranking_key), *await _said_later(finder, query, turns)]


async def _over(finder: Finder, query: Query) -> list[Found]:
    """Return memories on the subject that are over."""
    over = replace(query, over=True, limit=MAX_OTHERS, since=None, until=None)
    return [hit for hit in await finder.search(over) if hit.relevant]


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
    then = replace(query, since=past.since, until=past.until, over=None)
    told, hits, over = await asyncio.gather(
        finder.knowledge.turns_and_episodes_between(then),
        finder.search(replace(query, scope=RAW)),
        _over(finder, query),
    )
    episodes = [Found(item, 1.0, 1.0, 0.0) for item in told if isinstance(item, Memory)]
    turns = _near(hits)
    if episodes or any(past.includes(hit.at) for hit in turns):
        return [*episodes, *over, *turns]
    known = {hit.item.id for hit in turns}
    whole = [Found(item, 1.0, 1.0, 0.0) for item in told if item.id not in known]
    if not whole:  # episodes and turns are no longer kept: take the memories learnt then
        hits = await finder.search(replace(then, scope=(Scope.MEMORIES,)))
        whole = hits or await finder.knowledge.memories_learned_between(then)
    return [*over, *turns, *whole]


async def look_everywhere(
    knowledge: "KnowledgeBase", rule: WindowRule, asked: Asked, *, limit: int
) -> Past:
    """Return the result of `recollect`; if a text names no time, search memories as well."""
    finder = Finder(knowledge)
    past = await recollect(finder, rule, asked)
    if past.period is None:
        over = None if asks_about_past(asked.text) else False
        query = replace(_query(asked, limit), scope=EVERYWHERE, over=over)
        hits = await finder.search(query)
        past = replace(past, found=tuple(hit for hit in hits if hit.relevant))
    return replace(past, found=past.found[:limit], error="; ".join(finder.errors))
