"""A conversation in batches: the same exchanges in one go for every system."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from itertools import pairwise

from souffleur.dialogue import Dialogue, Exchange, SessionPart


@dataclass(frozen=True)
class Batch:
    """Consecutive exchanges of one session."""

    session_id: str
    turns: tuple[Exchange, ...]
    is_last: bool = False
    """Whether the session ends with it."""


def batches(dialogue: Dialogue, size: int, idle: timedelta | None) -> Iterator[Batch]:
    """Yield batches of at most `size` exchanges; 0 puts no limit.

    A batch crosses no end of a session, and no silence that ends one.
    """
    for session in dialogue.sessions:
        parts = list(_parts(session, size, idle))
        for part in parts:
            yield Batch(session.id, part, is_last=part is parts[-1])


def _parts(
    session: SessionPart, size: int, idle: timedelta | None
) -> Iterator[tuple[Exchange, ...]]:
    """Yield the exchanges of a session, cut at silences and at `size`."""
    pairs = enumerate(pairwise(session.turns), start=1)
    gaps = [index for index, (one, two) in pairs if idle and two.at - one.at >= idle]
    for start, end in pairwise((0, *gaps, len(session.turns))):
        step = size or end - start
        for first in range(start, end, step):
            yield session.turns[first : min(first + step, end)]
