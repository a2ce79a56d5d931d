"""The former ranking, until the recordings are made anew."""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from types import MappingProxyType

from souffleur.knowledge import decay
from souffleur.knowledge.boundary_pairs import is_judged
from souffleur.knowledge.memory import Kind, Memory
from souffleur.knowledge.operation import Importance
from souffleur.knowledge.policy import Policy
from souffleur.knowledge.search.query import Found
from souffleur.knowledge.search.words import is_spaced, terms

IMPORTANCE_WEIGHT = 0.3
"""Weight of a memory's importance, from 0 to 1; relevance has the weight 1."""
VALUE_WEIGHT = 0.1
"""Weight of the share of a memory's value that has not faded, from 0 to 1."""
DUE_WEIGHT = 0.3
"""Added for a plan or promise that is due in these days."""
IN_FORCE_WEIGHT = 0.2
"""Added for a boundary, or a circumstance in force."""
MOVING_WEIGHT = 0.1
"""Added for aims, experiences, likes and requests: unlike plain facts, they affect other talk."""
LIKELY_WEIGHT = 0.3
"""Added for a memory that the judge of the earlier turns expects to be needed."""
_CALLED = re.compile("([\u30a1-\u30fc\u4e00-\u9fff]{1,4})(?:さん|ちゃん|くん|君|様)")
"""A Japanese name with its title; a name may be a single character."""
_PUT_IN = re.compile(
    r"\b(?:never|unless|until|again|always|without|first|mention|bring|brought|raise|speak|spoken"
    r"|start|begin|begun|allow|heard|remind|question|subject|topic|people|anyone|anybody|nobody"
    r"|herself|himself|themselves|oneself)(?:s|d|ed|ing|ning)?\b"
    "|除非|主[动動]|自己|提起|提及|提到|再提|别提|不[许許准準愿願爱愛喜]|喜[欢歡]|[讨討][厌厭]|[问問]起|[谈談]起"
    "|[话話][题題]|[别別]人|任何|自分",
    re.IGNORECASE,
)
"""Words that boundaries are phrased with; they say nothing about the subject."""
_HIRAGANA = re.compile("[\u3041-\u309f]")
IN_FORCE = frozenset({Kind.BOUNDARY, Kind.CONTEXT})
PLAIN = frozenset({Kind.FACT, Kind.RELATIONSHIP, Kind.CONTEXT})
Guards = dict[str, list[str]]
"""For the id of each memory that a boundary speaks of: the boundaries that the message raises. The
list is empty if the message raises no boundary of this memory."""
NONE_KNOWN: Mapping[str, float] = MappingProxyType({})
PLANS = frozenset({Kind.TODO, Kind.PROMISE, Kind.GOAL, Kind.DECISION})
MIN_TELLING_LENGTH = 5
"""Minimum letters of a word that can name a subject."""
MAX_SHARING = 5
"""A word or name can name a subject if no more memories than this share it."""


def rank(
    memories: Iterable[Memory],
    hits: Mapping[str, Found],
    values: Mapping[str, float] = NONE_KNOWN,
    *,
    guards: Guards,
    likely: Collection[str] = (),
    now: datetime,
    policy: Policy,
) -> list[Memory]:
    """Return memories by their worth for a reply, best first.

    `hits` are the results of a search for the message at `now`, by id. `values` are known values of
    other memories at that time, by id. `likely` are ids that the judge expects to be needed. A
    memory that a boundary speaks of is left out, unless the message itself raises it. Then its
    boundary is ranked at least as high: see `find_guards`.
    """
    each = {memory.id: memory for memory in memories}
    worth: dict[str, float] = {}
    these_days = decay.near_expiries(now)
    low, high = policy.initial[Importance.LOW], policy.initial[Importance.HIGH]
    for id, memory in each.items():
        if guards and is_held_back(memory, guards):
            continue
        found, value = hits.get(id), values.get(id)
        if found:
            value = found.effective
        elif value is None:
            value = decay.effective(memory, now, policy)
        importance = _within_one((memory.importance - low) / (high - low))
        share = _within_one(value / policy.core_value)
        standing = IMPORTANCE_WEIGHT * importance + VALUE_WEIGHT * share
        called = (found.relevance if found else 0.0) + LIKELY_WEIGHT * (id in likely)
        worth[id] = called + _with_kind(standing, memory, these_days)
    for id in guards.keys() & worth.keys():
        for guard in worth.keys() & guards.get(id, ()):
            worth[guard] = max(worth[guard], worth[id])
    order = sorted((-round(much, 6), each[id].created_at, id) for id, much in worth.items())
    return [each[id] for _, _, id in order]


def _within_one(share: float) -> float:
    return 1.0 if share > 1.0 else share if share > 0.0 else 0.0


def is_held_back(memory: Memory, guards: Guards) -> bool:
    """Return whether a boundary speaks of a memory that the message does not raise."""
    return guards.get(memory.id) == []


def find_guards(memories: Sequence[Memory], text: str) -> Guards:
    """Return, by memory, the boundaries that speak of the memory and of the message `text`.

    A boundary speaks of the memories that it is linked with. Until a link is judged, it also speaks
    of a memory that shares a name or a rare word with it. It speaks of the message if the message
    contains this name or word. For a linked memory, a rare word or name of the boundary is enough,
    or any word of the boundary or name of the memory, if no unlinked memory has it.
    The list is empty if boundaries speak of the memory, but not of the message.
    """
    boundaries = [one for one in memories if one.kind is Kind.BOUNDARY]
    if not boundaries:
        return {}
    others = [one for one in memories if one.kind is not Kind.BOUNDARY]
    labels = {memory.id: _labels(memory) for memory in memories}
    shared = Counter(label for mine in labels.values() for label in mine)
    telling = {label for label, count in shared.items() if count <= MAX_SHARING}
    raised = {*terms(text), *(found[1] for found in _CALLED.finditer(text))}
    guards: Guards = {}
    for boundary in boundaries:
        linked = {one.id for one in others if _is_linked(boundary, one)}
        elsewhere = set().union(*(labels[one.id] for one in others if one.id not in linked))
        mine = labels[boundary.id]
        for memory in others:
            words = mine & labels[memory.id] & telling
            if memory.id in linked:
                words = (mine & telling) | ((mine | _names(memory)) - elsewhere)
            elif not words or is_judged(boundary, memory):
                continue
            found = guards.setdefault(memory.id, [])
            found += [boundary.id] if words & raised else []
    return guards


def _is_linked(boundary: Memory, memory: Memory) -> bool:
    """Return whether a boundary is linked with a memory, or with a memory that it supersedes."""
    return not boundary.guarded.isdisjoint((memory.id, *memory.supersedes))


def _with_kind(standing: float, memory: Memory, these_days: tuple[datetime, datetime]) -> float:
    """Return the worth of a memory for any message: `standing` plus the addition for its kind."""
    kind, end, (low, high) = memory.kind, memory.expires_at, these_days
    if kind in PLANS and end is not None and low <= end < high:
        standing += DUE_WEIGHT
    if kind in IN_FORCE:
        standing += IN_FORCE_WEIGHT
    return standing if kind in PLAIN else standing + MOVING_WEIGHT


def _labels(memory: Memory) -> set[str]:
    said = terms(_PUT_IN.sub(" ", memory.content))
    return {*filter(_is_telling, said), *_names(memory)}


def _names(memory: Memory) -> set[str]:
    named = (term for name in memory.entities for term in terms(name))
    return {*named, *(found[1] for found in _CALLED.finditer(memory.content))}


def _is_telling(term: str) -> bool:
    """Return whether a term can name a subject: it is not a number, particle or ending."""
    if is_spaced(term):
        return len(term) >= MIN_TELLING_LENGTH and term.isalpha()
    return len(term) > 1 and not _HIRAGANA.search(term)
