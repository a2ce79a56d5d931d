"""Policies: how fast what fades, as data. Three are shipped, one per way of counting.

`companion` (default) counts importance from 0 to 3; `studio` and `everbot` from 0 to 1.
A host that adds a category adds a `Rule` for it, nothing else.
"""

import math
from typing import Literal

from pydantic import Field

from souffleur.knowledge.memory import Category, Frozen, Kind
from souffleur.knowledge.operation import Importance


class DecayRule(Frozen):
    """How one category lives. Values are effective values, times are days."""

    rate: float = Field(default=1.0, gt=0, le=1)
    """Factor per day once the grace is over; 1 never fades."""
    grace_days: float = Field(default=0.0, ge=0)
    """Rest after each reinforcement before fading starts."""
    review_below: float | None = None
    """A reviewer is asked when the value falls below."""
    archive_below: float | None = None
    forget_below: float | None = None
    """Forgotten below: at once, or, with `review_below`, only if review was not possible."""
    at_most_days: float | None = None
    """Gone at this age, whatever its value."""


class Reinforcement(Frozen):
    """What use does to a value."""

    way: Literal["add", "approach", "count"]
    """add: v + step, up to `ceiling`; approach: v + (1 - v) x step; count: only `uses` grows."""
    step: float = 0.0
    ceiling: float = math.inf


class Policy(Frozen):
    """One way of counting."""

    name: str
    rules: dict[str, DecayRule]
    """By category; a category that is not here follows `fact`."""
    initial: dict[Importance, float]
    """What a new memory starts with."""
    initial_by_kind: dict[Kind, float] = Field(default_factory=dict)
    """Overrides the judge's label."""
    reinforcement: Reinforcement
    use_weight: float = 0.0
    """The value grows by 1 + use_weight x ln(1 + uses)."""
    promote_at: float | None = None
    """A reviewer is asked about promotion from this value on."""
    core_value: float
    """Importance given by PROMOTE."""
    lasting_at: float | None = None
    """From this importance on nothing fades."""
    keep_value: float
    """Importance given by KEEP in a decay review."""
    keep_grace_days: float = 90.0
    """KEEP doubles the grace up to here."""
    ask_again_above: float = 0.6
    """After KEEP in a promotion review: asked again when the value rose by this much …"""
    ask_again_days: float = 30.0
    """… or this much later."""

    def rule(self, category: str) -> DecayRule:
        """The rule a category follows.

        >>> COMPANION.rule("episode").rate, COMPANION.rule("recipe").rate
        (0.8, 0.95)
        """
        return self.rules.get(category, self.rules[Category.FACT])


FOREVER = DecayRule()

COMPANION = Policy(
    name="companion",
    rules={
        Category.SYSTEM: FOREVER,
        Category.CORE: FOREVER,
        Category.PROFILE: FOREVER,
        Category.FACT: DecayRule(rate=0.95, grace_days=7, review_below=0.5, forget_below=0.3),
        Category.EPISODE: DecayRule(rate=0.8, grace_days=7, at_most_days=14),
        Category.SKILL: DecayRule(rate=0.99, grace_days=30, review_below=0.5, forget_below=0.2),
    },
    initial={Importance.LOW: 0.7, Importance.MEDIUM: 1.0, Importance.HIGH: 1.5},
    reinforcement=Reinforcement(way="add", step=0.3, ceiling=2.9),
    promote_at=2.5,
    core_value=3.0,
    lasting_at=3.0,
    keep_value=0.5,
)

_STUDIO = DecayRule(rate=math.exp(-0.01), forget_below=0.1)

STUDIO = Policy(
    name="studio",
    rules={
        Category.SYSTEM: FOREVER,
        Category.CORE: FOREVER,
        Category.PROFILE: FOREVER,
        Category.FACT: _STUDIO,
        Category.EPISODE: _STUDIO.model_copy(update={"at_most_days": 30.0}),
        Category.SKILL: _STUDIO,
    },
    initial={Importance.LOW: 0.4, Importance.MEDIUM: 0.7, Importance.HIGH: 0.9},
    initial_by_kind={
        Kind.PREFERENCE: 0.9,
        Kind.FACT: 0.8,
        Kind.LESSON: 0.85,
        Kind.GOAL: 0.7,
        Kind.CONTEXT: 0.4,
    },
    reinforcement=Reinforcement(way="count"),
    use_weight=1.0,
    core_value=1.0,
    keep_value=0.5,
)

_EVERBOT = DecayRule(rate=0.99, grace_days=7, archive_below=0.2, forget_below=0.05)

EVERBOT = Policy(
    name="everbot",
    rules={
        Category.SYSTEM: FOREVER,
        Category.CORE: FOREVER,
        Category.PROFILE: FOREVER,
        Category.FACT: _EVERBOT,
        Category.EPISODE: _EVERBOT,
        Category.SKILL: _EVERBOT,
    },
    initial={Importance.LOW: 0.4, Importance.MEDIUM: 0.6, Importance.HIGH: 0.8},
    reinforcement=Reinforcement(way="approach", step=0.2),
    core_value=1.0,
    keep_value=0.5,
)

POLICIES = {policy.name: policy for policy in (COMPANION, STUDIO, EVERBOT)}
