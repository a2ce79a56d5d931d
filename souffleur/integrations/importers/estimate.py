"""Estimates: how often a model is asked about chats that are told again, and at what cost.

From what was measured: prompts in a talk of 82 turns that leaves 24 memories to show, answers as
in docs/sizing.md. Rather too many than too few. Reviews and the other runs come on top.
"""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

from souffleur.integrations.importers.chats import ChatTurn
from souffleur.knowledge.portrait_rule import EPISODES_PER_PORTRAIT
from souffleur.knowledge.session import (
    SegmentState,
    Session,
    WindowEntry,
    WindowRule,
    append_turn,
    close_window,
)
from souffleur.knowledge.turn import shorten
from souffleur.recall.rendering import Count
from souffleur.service.judging import USUAL_TURNS_PER_CALL, turns_per_call
from souffleur.settings import Settings

JUDGED = 3_200
"""Tokens of a call that judges, beside what was said in the turns: rules, known memories."""
SUMMARISED = 1_100
"""Tokens of a call that writes an episode, beside what was said."""
PORTRAYED = 2_800
"""Tokens of a call that writes a portrait."""
ANSWERED = 179
"""Tokens of answers for a turn, in all calls."""
_MILLION = 1e6


@dataclass(frozen=True)
class Estimate:
    """About what it takes to judge and summarise turns."""

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    dollars: float = 0.0
    """By `price_in` and `price_out`; 0 if they are not set."""
    days: int = 0
    """Days within the budgets that are set; 0 if none is."""


def estimate(turns: Sequence[ChatTurn], settings: Settings, count: Count) -> Estimate:
    """Return about what it takes to judge new turns of one user, in this order."""
    if not turns:
        return Estimate()
    judging = _count_judging(turns, settings)
    episodes = _count_episodes(turns, settings.window_rule)
    words = sum(count(_clipped(turn)) for turn in turns)
    portraits = bool(episodes) + episodes // EPISODES_PER_PORTRAIT
    taken = 2 * words + judging * JUDGED + episodes * SUMMARISED + portraits * PORTRAYED
    given = len(turns) * ANSWERED
    dollars = (taken * settings.price_in + given * settings.price_out) / _MILLION
    calls = judging + episodes + portraits
    return Estimate(calls, taken, given, dollars, _count_days(calls, dollars, settings))


def _clipped(turn: ChatTurn) -> str:
    return "\n".join(shorten(text) for text in (turn.user, turn.assistant))


def _count_judging(turns: Sequence[ChatTurn], settings: Settings) -> int:
    """Return how many calls judge the turns, as `DueTurns` groups what waits."""
    usual = max(USUAL_TURNS_PER_CALL, settings.judge_every)
    most, calls = max(settings.turns_per_call, settings.judge_every), 0
    for _, group in itertools.groupby(turns, key=lambda turn: turn.session_id):
        left = sum(1 for _ in group)
        while left > 0:
            left -= turns_per_call(min(left, most), 0, most, usual)
            calls += 1
    return calls


def _count_episodes(turns: Sequence[ChatTurn], rule: WindowRule) -> int:
    """Return how many episodes the sessions of the turns become."""
    sessions: dict[str, Session] = {}
    episodes = 0
    for number, turn in enumerate(turns):
        new = Session(
            id=turn.session_id, user_id="-", session_id=turn.session_id, since=turn.at, at=turn.at
        )
        entry = WindowEntry(id=str(number), at=turn.at, messages=1 + bool(turn.assistant))
        session, left = append_turn(sessions.get(turn.session_id, new), entry, rule)
        sessions[turn.session_id] = session
        episodes += sum(one.state is SegmentState.WAITING for one in left)
    ends = [one for session in sessions.values() for one in close_window(session)[1]]
    return episodes + sum(one.state is SegmentState.WAITING for one in ends)


def _count_days(calls: int, dollars: float, settings: Settings) -> int:
    budgets = [
        (calls, settings.calls_per_day),
        (calls, settings.user_calls_per_day),
        (dollars, settings.dollars_per_day),
        (dollars, settings.user_dollars_per_day),
    ]
    return max((math.ceil(need / most) for need, most in budgets if most is not None), default=0)
