"""The known memories that the judge of an exchange sees, and the topics of all."""

import asyncio
from collections import Counter
from collections.abc import Iterable, Sequence

from souffleur.knowledge.identity import knows
from souffleur.knowledge.knowledge_base import KnowledgeBase
from souffleur.knowledge.memory import Kind, Memory
from souffleur.knowledge.operation import Add, Update, Verdict
from souffleur.knowledge.search.query import Found, Query
from souffleur.knowledge.turn import Turn

MOST_SHOWN = 24
"""Maximum known memories in a prompt: found, then any that a change of life could outdate."""
MOST_FOUND = 16
"""Maximum memories of these that are found by searching what was said."""
MOST_VALUED = 200
"""Number of a user's most valuable memories, from which the others and the topics are taken."""
MOST_UNSEEN = 6
"""Maximum memories that are shown when the judge is asked again."""
TOUCHED = 0.6
"""Minimum relevance of a memory that a new sentence may make wrong; lower ones only share words."""
MOST_TOPICS = 30
"""Maximum topics in a prompt, the most used first."""
PASSING_KINDS = frozenset({Kind.MOMENT, Kind.PROMISE, Kind.CONTEXT, Kind.EXPERIENCE})
"""Kinds about past events: a move makes the old address wrong, not the farewell party."""
PAST_KINDS = frozenset({Kind.MOMENT, Kind.EXPERIENCE})
"""Kinds of memories that nothing new makes wrong."""


async def known_around(
    knowledge: KnowledgeBase, turns: Sequence[Turn]
) -> tuple[list[Memory], tuple[str, ...]]:
    """Return the known memories to show for turns, and the user's topics, the most used first.

    Those that were found come first, the best before; then lasting ones, whispered ones before.
    """
    user_id, sphere, now = turns[0].user_id, turns[0].sphere, turns[-1].at
    texts = [text for turn in turns for text in (turn.user, turn.assistant) if text.strip()]
    whispered = dict.fromkeys(id for turn in turns for id in turn.injected)
    most = MOST_SHOWN // 2
    queries = [Query(user_id, one, now, sphere=sphere, limit=most, relevant=True) for one in texts]
    cache = knowledge.cache
    found, valued, reminded = await asyncio.gather(
        _search(knowledge, queries),
        cache.most_valuable(user_id, limit=MOST_VALUED, now=now, sphere=sphere),
        cache.get_many(user_id, list(whispered)),
    )
    rest = [*valued, *(memory for memory in reminded if knows(sphere, memory.sphere))]
    rest.sort(key=lambda one: (one.kind in PASSING_KINDS, one.id not in whispered))
    shown = [*_best((hit for hits in found for hit in hits), MOST_FOUND), *rest]
    topics = Counter(topic for memory in valued for topic in memory.topics[:1])
    return (
        list({memory.id: memory for memory in shown}.values())[:MOST_SHOWN],
        tuple(topic for topic, _ in topics.most_common(MOST_TOPICS)),
    )


async def unseen(knowledge: KnowledgeBase, verdict: Verdict) -> list[Memory]:
    """Return known memories that an ADD or UPDATE may touch and that were not shown.

    They are found by content and cues, and have the kind, and the topic or a name, in common.
    """
    ops = [op for op in verdict.ops if isinstance(op, Add | Update)]
    queries = [
        Query(
            verdict.user_id,
            op.content,
            verdict.at,
            context=" ".join(op.cues),
            sphere=verdict.sphere,
            limit=MOST_SHOWN,
            relevant=True,
        )
        for op in ops
    ]
    found = await _search(knowledge, queries)
    shown = set((verdict.shown or {}).values())
    pairs = ((op, hit) for op, hits in zip(ops, found, strict=True) for hit in hits)
    touched = [hit for op, hit in pairs if hit.relevance >= TOUCHED and _is_alike(op, hit.memory)]
    return _best((hit for hit in touched if hit.memory.id not in shown), MOST_UNSEEN)


async def _search(knowledge: KnowledgeBase, queries: Sequence[Query]) -> list[list[Found]]:
    texts = [text for query in queries for text, _ in query.texts]
    await knowledge.embedder.embed_queries(texts)  # in one request
    return await asyncio.gather(*map(knowledge.cache.search, queries))


def _is_alike(op: Add | Update, memory: Memory) -> bool:
    if (op.kind or memory.kind) != memory.kind or memory.kind in PAST_KINDS:
        return False
    return not {*op.entities, *op.topics}.isdisjoint((*memory.entities, *memory.topics))


def _best(hits: Iterable[Found], limit: int) -> list[Memory]:
    """Return the memories of the best hits, each once."""
    ordered = sorted(hits, key=lambda hit: -hit.score)
    return list({hit.memory.id: hit.memory for hit in ordered}.values())[:limit]
