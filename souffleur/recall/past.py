"""Past: the answers to a question about the past."""

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING

from souffleur.agents.thought import Thought
from souffleur.knowledge.memory import Memory
from souffleur.knowledge.search.periods import Period, find_period
from souffleur.knowledge.search.query import EVERYWHERE, INSTANT, Found, Query, Scope
from souffleur.knowledge.search.questions import asks_about_past, is_question
from souffleur.knowledge.session import WindowRule
from souffleur.knowledge.text.match import says_again
from souffleur.knowledge.turn import Turn
from souffleur.recall.finder import Asked, Finder
from souffleur.settings import Settings

if TYPE_CHECKING:
    from souffleur.knowledge.knowledge_base import KnowledgeBase


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
RAW = (Scope.TURNS,)
MAX_PAST_HITS = 10
"""Maximum episodes, and maximum raw turns, for a question; `WhisperBudget.past` may hold fewer."""


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


async def recall_past(
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


def without_repetitions(hits: Sequence[Found], told: Iterable[str]) -> list[Found]:
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
