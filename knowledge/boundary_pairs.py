"""Boundary tasks: boundaries, and memories that they were not judged against in these words."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from souffleur.knowledge.identity import SHARED
from souffleur.knowledge.memory import NOT_LEARNED, Kind, Memory
from souffleur.knowledge.operation import derive_id
from souffleur.knowledge.store.codecs import fingerprint

MAX_MEMORIES = 100
"""Maximum memories in one request."""
MAX_BOUNDARIES = 20
"""Maximum boundaries in one request."""

_MARK_LENGTH = 8


@dataclass(frozen=True)
class BoundaryTask:
    """Boundaries of a user, and memories that at least one of them was not judged against."""

    boundaries: tuple[Memory, ...]
    """Boundaries that one persona learned, in one sphere."""
    memories: tuple[Memory, ...]
    """Memories in one sphere."""


def pair_mark(boundary: Memory, memory: Memory) -> str:
    """Return the mark that a boundary keeps of a memory that it was judged against.

    Rewording either changes the mark, so that the two are judged again.
    """
    wordings = fingerprint(boundary.content), fingerprint(memory.content)
    return derive_id("guards", memory.id, *wordings)[:_MARK_LENGTH]


def is_judged(boundary: Memory, memory: Memory) -> bool:
    """Return whether a boundary was judged against a memory as both are worded."""
    return pair_mark(boundary, memory) in boundary.judged


def find_boundary_tasks(memories: Iterable[Memory]) -> list[BoundaryTask]:
    """Return the tasks among active memories; each unjudged pair is in one task.

    The boundaries of a user that lack a judgement share a task, with the memories that one of them
    was not judged against. In it, pairs that were judged before may be judged again.
    """
    together: defaultdict[tuple[str, ...], list[tuple[Memory, Memory]]] = defaultdict(list)
    known = [memory for memory in memories if memory.category not in NOT_LEARNED]
    for boundary in (one for one in known if one.kind is Kind.BOUNDARY):
        for memory in known:
            if memory.user_id == boundary.user_id and _is_unjudged(boundary, memory):
                place = (memory.user_id, boundary.agent_id, boundary.sphere, memory.sphere)
                together[place].append((boundary, memory))
    return [task for pairs in together.values() for task in _split(pairs)]


def _split(pairs: Sequence[tuple[Memory, Memory]]) -> Iterator[BoundaryTask]:
    boundaries = list({boundary.id: boundary for boundary, _ in pairs}.values())
    memories = list({memory.id: memory for _, memory in pairs}.values())
    for at in range(0, len(boundaries), MAX_BOUNDARIES):
        some = tuple(boundaries[at : at + MAX_BOUNDARIES])
        for start in range(0, len(memories), MAX_MEMORIES):
            yield BoundaryTask(some, tuple(memories[start : start + MAX_MEMORIES]))


def _is_unjudged(boundary: Memory, memory: Memory) -> bool:
    """Return whether both may be whispered in one talk, and this wording was not judged."""
    met = memory.sphere == boundary.sphere or SHARED in (memory.sphere, boundary.sphere)
    other = memory.kind is not Kind.BOUNDARY
    return met and other and not is_judged(boundary, memory)
