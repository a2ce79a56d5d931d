"""The memory of a point and how it fades, found out once while the point stays as it is."""

from collections.abc import Iterable
from functools import partial
from typing import NamedTuple

from souffleur.knowledge import decay
from souffleur.knowledge.engine.collection import Point
from souffleur.knowledge.memory import Memory
from souffleur.knowledge.memory_codec import to_memory
from souffleur.knowledge.policy import Policy
from souffleur.knowledge.reading import read_each


class FadingMemory(NamedTuple):
    """A memory, and how it fades under a policy."""

    memory: Memory
    fading: decay.Fading
    policy: Policy


def to_fading(points: Iterable[Point], policy: Policy) -> list[FadingMemory]:
    """Return the memories of points, without those that cannot be read, and how they fade."""
    return read_each(points, partial(_fading, policy))


def _fading(policy: Policy, point: Point) -> FadingMemory:
    kept: FadingMemory | None = point.records.get(FadingMemory) if point.records else None
    if kept is not None and kept.policy is policy:
        return kept
    memory = to_memory(point)
    found = FadingMemory(memory, decay.fading(memory, policy), policy)
    if point.records and Memory in point.records:
        point.records[FadingMemory] = found
    return found
