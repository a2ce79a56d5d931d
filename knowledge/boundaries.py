"""Boundaries: which memories each of them has not been judged against yet. Pure."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from souffleur.knowledge.identity import SHARED
from souffleur.knowledge.memory import NARRATIVE, Category, Kind, Memory
from souffleur.knowledge.operation import derive_id
from souffleur.knowledge.store.codecs import fingerprint

MAX_MEMORIES = 40
"""Memories in one request."""
MAX_BOUNDARIES = 10
"""Boundaries in one request."""

_NEVER_JUDGED = {*NARRATIVE, Category.SYSTEM}
_MARK_LENGTH = 8


@dataclass(frozen=True)
class BoundaryTask:
    """Boundaries of one user, and memories that none of them has been judged against."""

    boundaries: tuple[Memory, ...]
    """They were told to one persona and lie in one sphere."""
    memories: tuple[Memory, ...]
    """They lie in one sphere."""


def pair_mark(boundary: Memory, memory: Memory) -> str:
    """Return the mark that a boundary keeps of a memory that it was judged against.

    It is another one if either is reworded: then the two are judged again.
    """
    wordings = fingerprint(boundary.content), fingerprint(memory.content)
    return derive_id("guards", memory.id, *wordings)[:_MARK_LENGTH]


def is_judged(boundary: Memory, memory: Memory) -> bool:
    """Return whether a boundary was judged against a memory as both are worded."""
    return pair_mark(boundary, memory) in boundary.judged


def find_tasks(memories: Iterable[Memory]) -> list[BoundaryTask]:
    """Return what must be judged among active memories, each pair in one task."""
    each: defaultdict[str, list[Memory]] = defaultdict(list)
    for memory in memories:
        if memory.category not in _NEVER_JUDGED:
            each[memory.user_id].append(memory)
    return [task for mine in each.values() for task in _tasks_of(mine)]


def _tasks_of(memories: Sequence[Memory]) -> list[BoundaryTask]:
    """Return the tasks of one user; boundaries with the same unjudged memories share one."""
    boundaries = [one for one in memories if one.kind is Kind.BOUNDARY]
    together: defaultdict[tuple[str, ...], list[Memory]] = defaultdict(list)
    for boundary in boundaries:
        unjudged: defaultdict[str, list[str]] = defaultdict(list)
        for memory in memories:
            if _is_unjudged(boundary, memory):
                unjudged[memory.sphere].append(memory.id)
        for ids in unjudged.values():
            together[boundary.agent_id, boundary.sphere, *ids].append(boundary)
    by_id = {memory.id: memory for memory in memories}
    return [
        BoundaryTask(
            tuple(some[at : at + MAX_BOUNDARIES]),
            tuple(by_id[id] for id in ids[start : start + MAX_MEMORIES]),
        )
        for (_, _, *ids), some in together.items()
        for at in range(0, len(some), MAX_BOUNDARIES)
        for start in range(0, len(ids), MAX_MEMORIES)
    ]


def _is_unjudged(boundary: Memory, memory: Memory) -> bool:
    """Return whether both may be whispered in one talk, and were not judged as they are worded."""
    met = memory.sphere == boundary.sphere or SHARED in (memory.sphere, boundary.sphere)
    other = memory.kind is not Kind.BOUNDARY
    return met and other and not is_judged(boundary, memory)
