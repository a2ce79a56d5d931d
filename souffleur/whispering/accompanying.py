"""What goes with a message: what it calls for, then what a friend has in mind unasked. Pure."""

import math
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime, timedelta

from souffleur.knowledge import decay
from souffleur.knowledge.finding.search import Found
from souffleur.knowledge.language.lexical import is_spaced, terms
from souffleur.knowledge.memory import Kind, Memory
from souffleur.knowledge.policy import Policy

IMPORTANCE_WEIGHT = 0.2
"""Weight of a memory's value now, from 0 to 1, against its relevance to the message."""
NEW_WEIGHT = 0.1
"""What is added to it for a memory that was just learnt."""
NEW = timedelta(days=30)
"""How long what has changed a life goes on colouring what is said; fading by e in that time."""
IN_FORCE_WEIGHT = 0.1
"""Weight of being a boundary, a circumstance in force, or a plan or promise that falls due."""
LIKELY_WEIGHT = 0.3
"""Weight of being expected by the judge of the turns before."""
_HIRAGANA = re.compile("[\u3041-\u309f]")
STANDING = frozenset({Kind.BOUNDARY, Kind.CONTEXT})
PLANS = frozenset({Kind.TODO, Kind.PROMISE, Kind.GOAL, Kind.DECISION})
MIN_TELLING_LENGTH = 5
"""Letters of a word that two memories share because they are about the same."""
MIN_CUED = 3
"""Letters of such a word among the cues of a boundary, which name what it is about."""
MAX_SHARING = 5
"""Memories with a word or name in common; a word that more share says nothing."""


def rank(
    memories: Iterable[Memory],
    hits: Mapping[str, Found],
    text: str,
    *,
    likely: Collection[str] = (),
    now: datetime,
    policy: Policy,
) -> list[Memory]:
    """Return memories by how much they are worth for a reply, best first.

    `hits` is what a search for the message `text` found, by id; `likely` are ids that the judge
    expects to be needed. A memory that a boundary speaks of is left out unless the message itself
    raises it, and comes with its boundary.
    """
    each = {memory.id: memory for memory in memories}
    guards = find_guards(list(each.values()), text)
    worth: dict[str, float] = {}
    for memory in each.values():
        if guards.get(memory.id) != []:
            found = hits.get(memory.id)
            relevance = found.relevance if found else 0.0
            expected = LIKELY_WEIGHT * (memory.id in likely)
            worth[memory.id] = relevance + expected + _standing(memory, now, policy)
    for id in list(worth):
        for guard in guards.get(id, ()):
            worth[guard] = max(worth[guard], worth[id])
    order = sorted(worth, key=lambda id: (-round(worth[id], 6), each[id].created_at, id))
    return [each[id] for id in order]


def find_guards(memories: Sequence[Memory], text: str) -> dict[str, list[str]]:
    """Return the boundaries that speak of a memory and of a message, by the memory's id.

    A boundary speaks of what shares a name with it, or a word of its own or of its cues that hardly
    any other memory has. The list is empty if a boundary speaks of the memory, and none of them of
    the message.
    """
    boundaries = [one for one in memories if one.kind is Kind.BOUNDARY]
    if not boundaries:
        return {}
    words = {memory.id: _words(memory) for memory in memories}
    shared = Counter(word for mine in words.values() for word in mine)
    telling = {word for word, count in shared.items() if count <= MAX_SHARING}
    raised = set(terms(text))
    guards: dict[str, list[str]] = {}
    for boundary in boundaries:
        spoken = _spoken_of(boundary) & telling
        for memory in (one for one in memories if one.kind is not Kind.BOUNDARY):
            if both := spoken & words[memory.id]:
                found = guards.setdefault(memory.id, [])
                found += [boundary.id] if both & raised else []
    return guards


def _standing(memory: Memory, now: datetime, policy: Policy) -> float:
    """Return the worth of a memory whatever is said: its value, more if it is new or in force."""
    value = min(1.0, decay.effective(memory, now, policy) / policy.core_value)
    newness = math.exp(-max(0.0, (now - memory.created_at) / NEW))
    return value * (IMPORTANCE_WEIGHT + NEW_WEIGHT * newness) + IN_FORCE_WEIGHT * _is_in_force(
        memory, now
    )


def _is_in_force(memory: Memory, now: datetime) -> bool:
    """Return whether it is a boundary or circumstance, or falls due in these days."""
    if memory.kind in STANDING:
        return True
    low, high = decay.near_expiries(now)
    end = memory.expires_at
    return memory.kind in PLANS and end is not None and low <= end < high


def _words(memory: Memory) -> set[str]:
    return {*terms(memory.content), *_names(memory)}


def _spoken_of(boundary: Memory) -> set[str]:
    """Return the words by which a boundary is known to speak of something."""
    own = {term for term in terms(boundary.content) if _is_telling(term, MIN_TELLING_LENGTH)}
    cued = {term for cue in boundary.cues for term in terms(cue) if _is_telling(term, MIN_CUED)}
    return own | cued | _names(boundary)


def _names(memory: Memory) -> set[str]:
    return {term for name in memory.entities for term in terms(name)}


def _is_telling(term: str, min_length: int) -> bool:
    """Return whether a term can tell what a memory is about: no number, particle or ending."""
    if is_spaced(term):
        return len(term) >= min_length and term.isalpha()
    return len(term) > 1 and not _HIRAGANA.search(term)
