"""How memories decay: the current value, the next due time, and the effect of use.

    effective(m, now) = m.importance x rate ^ max(0, days(now - m.anchor_at) - m.grace_days)

The value of an important memory without a review stops at the threshold of review, so that it does
not fade for lack of a reviewer. Nothing is written as time passes, so a run that is late, early,
repeated or missed changes no value. Ranking, review and pruning all use this one function.
"""

import math
from collections.abc import Iterable
from datetime import datetime, timedelta

from souffleur.knowledge.memory import Category, Due, Kind, Memory, MemoryState
from souffleur.knowledge.operation import Importance
from souffleur.knowledge.policy import Policy

NEAR = timedelta(days=3)
"""Maximum time between now and the start of a plan's day, before and after, for a near plan."""
PLAN_FOLLOW_UP = timedelta(days=7)
"""Time that a plan is kept after its day, so that the companion can ask how it went."""

KEEP_FACTOR = 4.0
"""By how much a KEEP lengthens the grace period of a memory that had faded."""

_LASTING = frozenset({Category.SYSTEM, Category.CORE, Category.PROFILE})


def never_fades(memory: Memory, policy: Policy) -> bool:
    """Return whether a memory never fades: it is system, core, profile or important enough."""
    return memory.category in _LASTING or (
        policy.lasting_at is not None and memory.importance >= policy.lasting_at
    )


def awaits_reviewer(memory: Memory, policy: Policy) -> bool:
    """Return whether a memory must be reviewed, as it is important and was never reviewed.

    False for a memory that never fades, that expires, or whose category has no review.
    """
    return (
        policy.promote_high_at is not None
        and memory.asked_at is None
        and memory.expires_at is None
        and policy.rule(memory.category).review_below is not None
        and not never_fades(memory, policy)
        and base_value(memory, policy) >= policy.promote_high_at
    )


def base_value(memory: Memory, policy: Policy) -> float:
    """Return the value of a memory at its anchor, before any decay."""
    if not memory.uses:
        return memory.importance
    return memory.importance * (1 + policy.use_weight * math.log1p(memory.uses))


def effective(memory: Memory, now: datetime, policy: Policy) -> float:
    """Return the value of a memory at `now`, 0 or more, in the policy's unit."""
    base = base_value(memory, policy)
    late = (now - memory.anchor_at).total_seconds() / 86400 - memory.grace_days
    if late <= 0 or never_fades(memory, policy):
        return base
    faded = base * math.pow(policy.rule(memory.category).rate, late)
    return max(faded, _floor(memory, policy))


def by_age(memories: Iterable[Memory]) -> list[Memory]:
    """Return memories by the time of learning, the oldest first; ties by id."""
    return sorted(memories, key=lambda one: (one.created_at, one.id))


def falls_below_at(memory: Memory, below: float, policy: Policy) -> datetime | None:
    """Return when the value of a memory falls below a threshold; `None` if it never does.

    The closed form solved for time: anchor + grace + ln(below / base value) / ln(rate) days.
    """
    rate = policy.rule(memory.category).rate
    start = base_value(memory, policy)
    if start < below:
        return memory.anchor_at
    if rate == 1 or below <= _floor(memory, policy) or never_fades(memory, policy):
        return None
    days = memory.grace_days + math.log(below / start) / math.log(rate)
    return _later(memory.anchor_at, days)


def due(memory: Memory, policy: Policy) -> tuple[datetime, Due] | None:
    """Return the next thing that must happen to a memory, and when; `None` for no such thing.

    Nothing is due before the memory was learned: a plan of an imported chat may long be over.
    """
    rule = policy.rule(memory.category)
    if memory.state is MemoryState.ARCHIVED and rule.archive_below and rule.forget_below:
        gone = falls_below_at(memory, rule.forget_below, policy)
        return (gone, Due.FORGET) if gone else None
    if memory.state is not MemoryState.ACTIVE:
        return None
    candidates: list[tuple[datetime | None, Due]] = [(memory.expires_at, Due.EXPIRE)]
    if not never_fades(memory, policy):
        if memory.expires_at is None:  # a memory that expires cannot become core
            candidates.append((_promotion(memory, policy), Due.PROMOTION))
        if rule.at_most_days is not None and memory.expires_at is None:
            candidates.append((_later(memory.created_at, rule.at_most_days), Due.FORGET))
        if rule.review_below is not None:
            candidates.append((falls_below_at(memory, rule.review_below, policy), Due.REVIEW))
        elif rule.archive_below is not None:
            candidates.append((falls_below_at(memory, rule.archive_below, policy), Due.ARCHIVE))
        elif rule.forget_below is not None:
            candidates.append((falls_below_at(memory, rule.forget_below, policy), Due.FORGET))
    known = [(max(when, memory.anchor_at), what) for when, what in candidates if when is not None]
    return min(known, default=None)


def scheduled(memory: Memory, policy: Policy) -> Memory:
    """Return the memory with `due_at` and `due_for` computed from its other fields."""
    when, what = due(memory, policy) or (None, None)
    return memory.model_copy(update={"due_at": when, "due_for": what})


def initial_importance(kind: Kind, label: Importance, policy: Policy) -> float:
    """Return the importance with which a new memory starts."""
    return policy.initial_by_kind.get(kind, policy.initial[label])


def boosted(memory: Memory, now: datetime, policy: Policy) -> Memory:
    """Return the memory after it shaped a reply; its value never decreases."""
    value = effective(memory, now, policy)
    reinforcement = policy.reinforcement
    update: dict[str, object] = {"uses": memory.uses + 1, "last_used_at": now}
    if not never_fades(memory, policy):
        update["anchor_at"] = now
        if awaits_reviewer(memory, policy):
            value = base_value(memory, policy)  # kept until a reviewer has decided
        if reinforcement.way == "add":
            raised = min(value + reinforcement.step, reinforcement.ceiling)
            update["importance"] = max(value, raised)
        elif reinforcement.way == "approach":
            update["importance"] = value + max(0.0, 1 - value) * reinforcement.step
    return memory.model_copy(update=update)


def kept(memory: Memory, now: datetime, policy: Policy) -> Memory:
    """Return the memory after a review decided KEEP on every question that was due."""
    if memory.due_for is Due.PROMOTION:
        value = effective(memory, now, policy)
        memory = memory.model_copy(update={"asked_at": now, "asked_value": value})
        if not has_faded(memory, now, policy):
            return memory
    grace = min(max(memory.grace_days, 1.0) * KEEP_FACTOR, policy.keep_grace_days)
    return memory.model_copy(
        update={
            "importance": max(policy.keep_value, effective(memory, now, policy)),
            "anchor_at": now,
            "grace_days": max(grace, memory.grace_days),
        }
    )


def has_faded(memory: Memory, now: datetime, policy: Policy) -> bool:
    """Return whether the value is below the review threshold, even if another question is due."""
    below = policy.rule(memory.category).review_below
    return below is not None and effective(memory, now, policy) < below


def promoted(memory: Memory, now: datetime, policy: Policy) -> Memory:
    """Return the memory after a review decided PROMOTE: core, without decay or end."""
    core = {"category": Category.CORE, "importance": policy.core_value, "expires_at": None}
    return memory.model_copy(update={**core, "anchor_at": now})


def gone_at(category: Category, born: datetime, policy: Policy) -> datetime | None:
    """Return when a memory of this category expires by age alone; `None` if it never does."""
    days = policy.rule(category).at_most_days
    return None if days is None else _later(born, days)


def plan_expiry(day: datetime) -> datetime:
    """Return when a plan expires whose day starts at `day`.

    >>> from datetime import timezone
    >>> str(plan_expiry(datetime(2026, 1, 14, tzinfo=timezone.utc)))
    '2026-01-22 00:00:00+00:00'
    """
    return day + timedelta(days=1) + PLAN_FOLLOW_UP


def plan_day(expiry: datetime) -> datetime:
    """Return when the day of a plan begins that expires at `expiry`.

    >>> from datetime import timezone
    >>> str(plan_day(plan_expiry(datetime(2026, 1, 14, tzinfo=timezone.utc))))
    '2026-01-14 00:00:00+00:00'
    """
    return expiry - PLAN_FOLLOW_UP - timedelta(days=1)


def near_expiries(now: datetime) -> tuple[datetime, datetime]:
    """Return the first (inclusive) and last (exclusive) expiry of plans for the days near `now`.

    >>> from datetime import timezone
    >>> [str(day.date()) for day in near_expiries(datetime(2026, 1, 14, tzinfo=timezone.utc))]
    ['2026-01-19', '2026-01-25']
    """
    return plan_expiry(now - NEAR), plan_expiry(now + NEAR)


def _floor(memory: Memory, policy: Policy) -> float:
    """Return the value below which a memory does not fall; 0 if there is no limit."""
    below = policy.rule(memory.category).review_below or 0.0
    return below if awaits_reviewer(memory, policy) else 0.0


def _promotion(memory: Memory, policy: Policy) -> datetime | None:
    if awaits_reviewer(memory, policy):
        return memory.anchor_at
    if policy.promote_at is None or base_value(memory, policy) < policy.promote_at:
        return None
    if memory.asked_at is None or memory.asked_value is None:
        return memory.anchor_at
    used_since = memory.anchor_at > memory.asked_at  # else the base is older than the review
    if used_since and base_value(memory, policy) >= memory.asked_value + policy.ask_again_above:
        return memory.anchor_at
    known_for = (memory.asked_at - memory.created_at) / timedelta(days=1)
    again = _later(memory.asked_at, max(policy.ask_again_days, known_for))
    return again if effective(memory, again, policy) >= policy.promote_at else None


def _later(moment: datetime, days: float) -> datetime:
    """Return `moment` plus days; the latest possible moment if that is beyond the calendar."""
    try:
        return moment + timedelta(days=days)
    except OverflowError:
        return datetime.max.replace(tzinfo=moment.tzinfo)
