"""Thinking: what a model finds when it looks up the answer to a question."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from souffleur.agents.model.chat import on_behalf_of
from souffleur.agents.thought import Question
from souffleur.knowledge.memory import Memory
from souffleur.knowledge.search.query import Found, Query, Scope
from souffleur.knowledge.session import WindowRule
from souffleur.knowledge.turn import Turn
from souffleur.recall.finder import Asked, Finder
from souffleur.recall.past import Past, look_everywhere
from souffleur.recall.rank import find_guards, is_held_back

if TYPE_CHECKING:  # langgraph takes long to load, and is needed only with a model
    from souffleur.agents.thinker import Thinker
    from souffleur.knowledge.knowledge_base import KnowledgeBase

TOLD = (Scope.MEMORIES, Scope.EPISODES)
MAX_NOTES = 30
"""Maximum records in force, and turns, that a search shows to the model."""
MAX_OVER = 10
"""Maximum records that are over, besides these."""
MAX_TOPICS = 30
"""Maximum topics that the model is told of."""


async def think_over(
    thinker: "Thinker", knowledge: "KnowledgeBase", rule: WindowRule, asked: Asked
) -> Past:
    """Return the answer of a model to a question, with the records that it rests on.

    What a boundary holds back is not shown, unless the question itself raises it.
    """
    user_id, now, sphere = asked.user_id, asked.now, asked.sphere
    known = await knowledge.list(user_id, now=now, sphere=sphere)
    finder, errors = Finder(knowledge), dict[str, None]()

    async def look(words: str) -> Sequence[Found]:
        past = await look_everywhere(knowledge, rule, replace(asked, text=words), limit=MAX_NOTES)
        query = Query(user_id, words, now, sphere=sphere, scope=TOLD, limit=MAX_OVER, over=True)
        over = [hit for hit in await finder.search(query) if hit.relevant]
        errors.update(dict.fromkeys(filter(None, (past.error, *finder.errors))))
        topic = [Found(one, 1.0, 1.0, 0.0) for one in known if _is_about(one, words)]
        hits = [*[*topic, *past.found][:MAX_NOTES], *over]
        held = _held_back([*known, *(one.item for one in hits)], asked)
        return [hit for hit in hits if hit.item.id not in held]

    held = _held_back(known, asked)
    counted = Counter(topic for one in known if one.id not in held for topic in one.topics)
    topics = tuple(topic for topic, _ in counted.most_common(MAX_TOPICS))
    question = Question(user_id, asked.agent_id, asked.text, now, topics)
    with on_behalf_of(user_id):
        thought, found = await thinker.run(question, look)
    return Past(None, None, None, found, "; ".join(errors), thought)


def _held_back(records: Sequence[Memory | Turn], asked: Asked) -> set[str]:
    """Return the ids of the memories that a boundary holds back from a question."""
    memories = [one for one in records if isinstance(one, Memory)]
    guards = find_guards(memories, asked.text, asked.persona.called)
    return {one.id for one in memories if is_held_back(one, guards)}


def _is_about(memory: Memory, words: str) -> bool:
    return words.strip().casefold() in (topic.casefold() for topic in memory.topics)
