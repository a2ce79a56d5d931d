"""Grouping: how many waiting turns of a session are judged in one call of the model."""

import itertools
from collections.abc import Sequence

from souffleur.knowledge.talk.turn import Turn

USUAL_TURNS_PER_CALL = 5
"""Maximum turns in one call while little waits."""


def turns_per_call(own: int, rounds: int, most: int, usual: int = USUAL_TURNS_PER_CALL) -> int:
    """Return the maximum number of turns in the next call for a user: more, the more waits.

    `own` is the number of turns of the session that wait, `rounds` how many calls others are
    ahead of the user's next one, `most` the maximum that the settings allow.

    >>> [turns_per_call(own, 0, 20) for own in (1, 9, 10, 20, 999)]
    [5, 5, 10, 20, 20]
    >>> [turns_per_call(8, rounds, 20) for rounds in (0, 1, 2, 99)]
    [5, 10, 15, 20]
    >>> turns_per_call(999, 99, 1)
    1
    """
    behind = max(own // usual, 1 + rounds)
    return min(usual * behind, most)


def alike(turns: Sequence[Turn]) -> list[Turn]:
    """Return the first turn and those directly after it that can be judged with it."""
    first = turns[0]
    if first.tries or first.version:
        return [first]
    there = _whereabouts(first)
    return list(itertools.takewhile(lambda turn: _whereabouts(turn) == there, turns))


def _whereabouts(turn: Turn) -> tuple[object, ...]:
    return turn.user_id, turn.session_id, turn.agent_id, turn.tries, turn.version
