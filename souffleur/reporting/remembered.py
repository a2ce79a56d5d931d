"""The memories on the page of a report: what each is worth now, and how it came to be."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from souffleur.knowledge.decay import effective
from souffleur.knowledge.knowledge_base import KnowledgeBase
from souffleur.knowledge.memory import Category, Memory, MemoryState
from souffleur.knowledge.operation import LedgerEntry
from souffleur.knowledge.policy import COMPANION, Policy

MAX_CURRENT = 200
"""Maximum number of memories in use that are shown."""
MAX_FORMER = 50
"""Maximum number of replaced or archived memories that are shown."""

_CURRENT = (MemoryState.ACTIVE, MemoryState.PENDING)
_FORMER = (MemoryState.SUPERSEDED, MemoryState.ARCHIVED)


@dataclass(frozen=True)
class Event:
    """A ledger entry, as far as it concerns one memory."""

    entry: LedgerEntry
    others: tuple[tuple[str, str], ...]
    """How other words stand to those of the memory, and these words: what it said before, and what
    other memories that the op changed say."""


@dataclass(frozen=True)
class Remembered:
    """One memory, with its value and its history."""

    memory: Memory
    value: float
    """The effective value at the time of the report."""
    events: tuple[Event, ...]
    """What happened to it, oldest first."""

    @property
    def label(self) -> str:
        """The kind of a fact or skill, the category of all else."""
        plain = self.memory.category in (Category.FACT, Category.SKILL)
        return str(self.memory.kind if plain else self.memory.category)


@dataclass(frozen=True)
class Memories:
    """The memories of a user, or of all users, for a page."""

    policy: Policy = COMPANION
    current: tuple[Remembered, ...] = ()
    """The most valuable ones that are in use or wait for the user's consent."""
    current_count: int = 0
    former: tuple[Remembered, ...] = ()
    """Those that were replaced or archived, the latest first; none that was forgotten."""
    former_count: int = 0


async def read_memories(
    knowledge: KnowledgeBase, now: datetime, *, user_id: str | None = None
) -> Memories:
    """Read the memories for a page; nothing is written. Raises StoreError.

    `user_id=None` means all users. What was forgotten is left out, as its words are not for others.
    """
    policy = knowledge.policy
    current = await knowledge.list(user_id, states=_CURRENT)
    current.sort(key=lambda one: (-effective(one, now, policy), one.id))
    former = await knowledge.list(user_id, states=_FORMER)
    former.sort(key=lambda one: one.updated_at, reverse=True)
    return Memories(
        policy=policy,
        current=await _with_history(knowledge, current[:MAX_CURRENT], now),
        current_count=len(current),
        former=await _with_history(knowledge, former[:MAX_FORMER], now),
        former_count=len(former),
    )


def legend(policy: Policy) -> Iterator[tuple[str, str]]:
    """Yield what values mean under a policy, the highest first.

    >>> for value, meaning in legend(COMPANION):
    ...     print(f"{value}: {meaning}")
    3 and more: core; never fades
    2.5 and more: a review decides whether it becomes core
    0.7, 1, 1.5: new, of low, medium or high importance
    from 1.5 on, if new: the first review decides whether it becomes core
    below 0.5: a review decides whether it stays
    below 0.3: it goes, if no review was possible
    """
    rule = policy.rule(Category.FACT)
    if policy.lasting_at is not None:
        yield f"{policy.lasting_at:g} and more", "core; never fades"
    if policy.promote_at is not None:
        yield f"{policy.promote_at:g} and more", "a review decides whether it becomes core"
    starts = ", ".join(f"{value:g}" for value in policy.initial.values())
    yield starts, "new, of low, medium or high importance"
    if policy.promote_high_at is not None:
        asked = "the first review decides whether it becomes core"
        yield f"from {policy.promote_high_at:g} on, if new", asked
    if rule.review_below is not None:
        yield f"below {rule.review_below:g}", "a review decides whether it stays"
    if rule.archive_below is not None:
        yield f"below {rule.archive_below:g}", "it is archived"
    if rule.forget_below is not None:
        unless = ", if no review was possible" if rule.review_below is not None else ""
        yield f"below {rule.forget_below:g}", f"it goes{unless}"


async def _with_history(
    knowledge: KnowledgeBase, memories: Sequence[Memory], now: datetime
) -> tuple[Remembered, ...]:
    found = []
    for one in memories:
        entries = await knowledge.journal.entries(one.user_id, memory_id=one.id)
        events = tuple(Event(entry, _others(entry, one)) for entry in entries)
        found.append(Remembered(one, effective(one, now, knowledge.policy), events))
    return tuple(found)


def _others(entry: LedgerEntry, memory: Memory) -> tuple[tuple[str, str], ...]:
    told: dict[str, str] = {}
    for change in entry.changes:
        if change.after.id != memory.id:
            told[change.after.content] = _relation(memory, change.after.id)
        elif change.before is not None:
            told[change.before.content] = "formerly"
    return tuple((how, words) for words, how in told.items() if words != memory.content)


def _relation(memory: Memory, other: str) -> str:
    if other in memory.supersedes:
        return "instead of"
    return "replaced by" if other == memory.superseded_by else "together with"
