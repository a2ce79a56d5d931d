"""Policies: how fast each category of memory decays, as data. Three are included.

`companion` (the default) uses importances from 0 to 3; `studio` and `everbot` from 0 to 1. A host
that adds a category only needs to add a `DecayRule` for it.
"""

import math
from typing import Literal

from pydantic import Field

from souffleur.knowledge.memory import Category, Frozen, Kind
from souffleur.knowledge.operation import Importance


class DecayRule(Frozen):
    """The decay of a category. Values are effective values, times are in days."""

    rate: float = Field(default=1.0, gt=0, le=1)
    """The factor per day after the grace period; 1 means no decay."""
    grace_days: float = Field(default=0.0, ge=0)
    """Days after each reinforcement before decay starts."""
    review_below: float | None = None
    """The value below which a reviewer is asked."""
    archive_below: float | None = None
    """The value below which it is archived."""
    forget_below: float | None = None
    """The value below which it is forgotten; with `review_below`, only if no review is possible."""
    at_most_days: float | None = None
    """The age at which it is forgotten, with any value."""


class Reinforcement(Frozen):
    """The effect of use on the value of a memory."""

    way: Literal["add", "approach", "count"]
    """How the value grows.

    add: v + step, up to `ceiling`; approach: v + (1 - v) x step; count: only `uses` grows.
    """
    step: float = 0.0
    ceiling: float = math.inf


class Policy(Frozen):
    """One scale of importance, with the rules for decay, reinforcement and review."""

    name: str
    """`companion`, `studio` or `everbot`."""
    rules: dict[str, DecayRule]
    """The rules by category; a category without a rule follows `fact`."""
    initial: dict[Importance, float]
    """The importance of a new memory, by the judge's label."""
    initial_by_kind: dict[Kind, float] = Field(default_factory=dict)
    """The importance of a new memory of these kinds, with any label of the judge."""
    reinforcement: Reinforcement
    """How use changes the value."""
    use_weight: float = 0.0
    """The weight of use: the value is multiplied by 1 + use_weight x ln(1 + uses)."""
    promote_at: float | None = None
    """The value from which a reviewer is asked about promotion."""
    promote_high_at: float | None = None
    """The value from which a memory without any review is due for promotion.

    Until then the memory does not fall below its category's `review_below`.
    """
    core_value: float
    """The importance set by PROMOTE."""
    lasting_at: float | None = None
    """The importance from which a memory never decays."""
    keep_value: float
    """The importance set by KEEP in a decay review."""
    keep_grace_days: float = 365.0
    """The maximum grace period; each KEEP lengthens it up to here."""
    ask_again_above: float = 0.6
    """The rise in value after which promotion is reviewed again after a KEEP."""
    ask_again_days: float = 30.0
    """The days after which promotion is reviewed again after a KEEP, even without a rise.

    For an older memory, it is as long again as it has been known.
    """

    def rule(self, category: str) -> DecayRule:
        """Return the rule that a category follows.

        >>> COMPANION.rule("episode").rate, COMPANION.rule("recipe").rate
        (0.8, 0.95)
        """
        return self.rules.get(category) or self.rules[Category.FACT]


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
    promote_high_at=1.5,
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
