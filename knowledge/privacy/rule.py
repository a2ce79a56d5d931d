"""A rule: how one kind of secret is told."""

from collections.abc import Callable
from dataclasses import dataclass

from souffleur.knowledge.privacy.surroundings import Surroundings

Check = Callable[[str], bool]
"""Tells of what was found whether it may be one."""


@dataclass(frozen=True)
class Rule:
    """How one kind of secret is told."""

    kind: str
    """The name of the kind, in words."""
    example: str
    """A message that tells one; what is masked by this rule stands between ⟦ and ⟧. It is empty for
    keys that those who scan commits would take for real ones."""
    value: str
    """The pattern of the secret; its groups are what is masked."""
    near: Surroundings | None = None
    """What stands around it; `None` if the pattern itself says that."""
    check: Check | None = None
    """What else must be true of it."""
