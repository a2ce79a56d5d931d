"""The page of a report: the numbers and memories of a store, as one self-contained file."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, tzinfo
from functools import cache
from itertools import pairwise
from zoneinfo import ZoneInfo

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

from souffleur.knowledge.decay import effective
from souffleur.knowledge.knowledge_base import KnowledgeBase
from souffleur.knowledge.memory import Category, Memory, MemoryState
from souffleur.knowledge.operation import LedgerEntry
from souffleur.knowledge.policy import COMPANION, Policy
from souffleur.report import report
from souffleur.report.phrases import count, duration
from souffleur.report.quality import BIN, DAY, Quality
from souffleur.times import to_minute


def render(package: str, template: str, **data: object) -> str:
    """Return the page of a template of `package`; it may include the templates of this package."""
    return _environment(package).get_template(template).render(data)


@cache
def _environment(package: str) -> Environment:
    environment = Environment(
        loader=ChoiceLoader([PackageLoader(package), PackageLoader("souffleur.report")]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["grouped"] = "{:,}".format
    return environment


MAX_CURRENT = 200
"""Maximum number of active and pending memories that are shown."""
MAX_FORMER = 50
"""Maximum number of replaced or archived memories that are shown."""

_CURRENT = (MemoryState.ACTIVE, MemoryState.PENDING)
_FORMER = (MemoryState.SUPERSEDED, MemoryState.ARCHIVED)


@dataclass(frozen=True)
class Event:
    """A ledger entry of one memory."""

    entry: LedgerEntry
    others: tuple[tuple[str, str], ...]
    """Former words of the memory and words of other changed memories, each after its relation."""


@dataclass(frozen=True)
class Remembered:
    """One memory, with its value and its history."""

    memory: Memory
    value: float
    """The effective value at the time of the report."""
    events: tuple[Event, ...]
    """Its ledger entries, oldest first."""

    @property
    def label(self) -> str:
        """The kind of a fact or skill; the category of any other memory."""
        plain = self.memory.category in (Category.FACT, Category.SKILL)
        return str(self.memory.kind if plain else self.memory.category)


@dataclass(frozen=True)
class Memories:
    """The memories of a user, or of all users, for a page."""

    policy: Policy = COMPANION
    current: tuple[Remembered, ...] = ()
    """The most valuable active and pending memories."""
    current_count: int = 0
    former: tuple[Remembered, ...] = ()
    """The latest replaced and archived memories; forgotten memories are left out."""
    former_count: int = 0


async def read_memories(
    knowledge: KnowledgeBase, now: datetime, *, user_id: str | None = None
) -> Memories:
    """Read the memories for a page; `user_id=None` means all users. Raises StoreError."""
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
    """Yield the values of a policy with their meaning, the highest first.

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
    found: dict[str, str] = {}
    for change in entry.changes:
        if change.after.id != memory.id:
            found[change.after.content] = _relation(memory, change.after.id)
        elif change.before is not None:
            found[change.before.content] = "formerly"
    return tuple((how, words) for words, how in found.items() if words != memory.content)


def _relation(memory: Memory, other: str) -> str:
    if other in memory.supersedes:
        return "instead of"
    return "replaced by" if other == memory.superseded_by else "together with"


@dataclass(frozen=True)
class Column:
    """One column of a chart."""

    count: int
    span: str
    """The range of values or times that the column counts."""
    label: str
    """The label below the column; may be empty."""


def to_html(
    quality: Quality, memories: Memories | None = None, *, title: str, zone: ZoneInfo
) -> str:
    """Return a page that needs no script, file or network; its times are in `zone`."""
    state, findings = report.health(quality)
    return render(
        "souffleur.report",
        "report.html",
        title=title,
        q=quality,
        memories=memories or Memories(),
        legend=legend,
        zone=zone,
        state=state,
        findings=findings,
        importance=by_importance(quality.importance),
        due=by_day(quality.due_by_day, quality.at, zone),
        time=lambda moment: to_minute(moment, zone),
        split_commands=split_commands,
        count=count,
        duration=duration,
        outcome=report.outcome,
        spent=report.spent,
        MAX_ROWS=report.MAX_ROWS,
    )


def by_importance(counts: Sequence[int]) -> list[Column]:
    """Return a column for each bin of the histogram; the last bin has no upper limit.

    >>> [(one.span, one.label) for one in by_importance([4, 1, 2])]
    [('0 to 0.25', '0'), ('0.25 to 0.5', '0.25'), ('0.5 and more', '0.5+')]
    """
    lows = [f"{index * BIN:g}" for index in range(len(counts))]
    spans = [*(f"{low} to {high}" for low, high in pairwise(lows)), f"{lows[-1]} and more"]
    labels = [*lows[:-1], f"{lows[-1]}+"]
    return [Column(*one) for one in zip(counts, spans, labels, strict=True)]


def by_day(counts: Sequence[int], start: datetime, zone: tzinfo) -> list[Column]:
    """Return a column for each 24 hours from `start` on; every fifth has a label.

    >>> from datetime import UTC
    >>> days = by_day([0, 0, 7], datetime(2026, 1, 3, 23, tzinfo=UTC), UTC)
    >>> [one.label for one in days], days[2].span
    (['', '', '01-05'], '24 hours from 2026-01-05 23:00')
    """
    begins = [start + index * DAY for index in range(len(counts))]
    return [
        Column(
            count,
            span=f"24 hours from {to_minute(begin, zone)}",
            label=f"{begin.astimezone(zone):%m-%d}" if index % 5 == 2 else "",
        )
        for index, (count, begin) in enumerate(zip(counts, begins, strict=True))
    ]


def split_commands(finding: str) -> list[str]:
    """Split a finding into the text between commands and, at odd indices, the commands.

    >>> split_commands("do `this` or `that`, a ` alone")
    ['do ', 'this', ' or ', 'that', ', a ` alone']
    """
    return re.split("`([^`]+)`", finding)
