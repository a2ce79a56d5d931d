"""What the arbiter may answer, what is wrong with it, and the operation each pair becomes."""

from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any, Literal
from zoneinfo import ZoneInfo

from pydantic import BaseModel, BeforeValidator, ConfigDict

from souffleur.agents.fields import Handle, Many, Remark, Since, starts
from souffleur.agents.handles import Shown
from souffleur.knowledge.language.plain_text import single_line
from souffleur.knowledge.memory import Category, Memory, Speaker
from souffleur.knowledge.operation import Contradict, Op, Skip

FIRST = "m1"
"""The handle of the memory that all others are compared with."""
UNCLEAR = "unclear"


def _yes_or_no(value: Any) -> Any:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return value.strip().casefold() if isinstance(value, str) else value


def _or_unclear(value: Any) -> Any:
    return UNCLEAR if value is None else value


class PairAnswer(BaseModel):
    """The judgement of two memories: the argument first."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    pair: list[Handle]
    reason: Remark
    exclude: Annotated[Literal["yes", "no"], BeforeValidator(_yes_or_no)]
    """Whether the two cannot both be true now."""
    holds: Annotated[Handle, BeforeValidator(_or_unclear)] = UNCLEAR
    """The handle of the one that is true now, or `unclear`."""
    since: Since = None
    """The day since which it is true, if the memories say so."""


class RulingAnswer(BaseModel):
    """A whole answer: each pair once."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    pairs: Many[PairAnswer]

    def of(self, handle: str) -> PairAnswer:
        """Return the judgement of the first memory and this one; requires no `faults`."""
        return next(said for said in self.pairs if handle in said.pair)


def list_rivals(shown: Shown, zone: ZoneInfo) -> str:
    """List each memory on a line, and the quotation that it rests on below it."""
    lines = []
    for handle, memory in shown.items():
        created, start = memory.created_at.astimezone(zone), memory.valid_from
        marks = [str(memory.kind), f"{created:%Y-%m-%d}"]
        if start and start.astimezone(zone).date() != created.date():
            marks.append(f"since {start.astimezone(zone):%Y-%m-%d}")
        marks += ["verified"] if memory.verified else []
        lines.append(f"{handle} [{', '.join(marks)}] {single_line(memory.content)}")
        lines += [f"   - {single_line(item.quote)}" for item in memory.evidence[:1] if item.quote]
    return "\n".join(lines)


def list_asked(shown: Shown) -> str:
    """List the pairs to judge, one per line."""
    return "\n".join(f"- {FIRST}, {handle}" for handle in shown if handle != FIRST)


def faults(answer: RulingAnswer, shown: Shown) -> str:
    """Return what makes the answer unusable, one fault per line; empty if nothing does."""
    asked = [frozenset((FIRST, handle)) for handle in shown if handle != FIRST]
    times = Counter(frozenset(said.pair) for said in answer.pairs)
    found = [f"pair {_named(pair)}: is not asked for" for pair in times if pair not in asked]
    found += [f"pair {_named(pair)}: is judged twice" for pair in asked if times[pair] > 1]
    found += [f"pair {_named(pair)}: is missing" for pair in asked if not times[pair]]
    found += [
        f"pair {_named(said.pair)}: holds must be one of the two, or {UNCLEAR}"
        for said in answer.pairs
        if said.exclude == "yes" and said.holds not in {*said.pair, UNCLEAR}
    ]
    return "\n".join(f"- {fault}" for fault in found)


def to_op(said: PairAnswer, pair: Shown, now: datetime, zone: ZoneInfo) -> Op:
    """Return the operation for the answer on a pair.

    The model names what holds; code settles it only if that is the later or the better grounded
    of the two, and neither a core nor a confirmed memory would end.
    """
    if said.exclude == "no":
        return Skip(reason=said.reason)
    one, other = pair
    holds = said.holds if said.holds in pair else one
    stays, ends = pair[holds], pair[other if holds == one else one]
    if said.holds == UNCLEAR or not may_end(ends, stays):
        return Contradict(stays=stays.id, ends=ends.id, reason=said.reason)
    since = starts(said.since, zone)
    return Contradict(
        stays=stays.id,
        ends=ends.id,
        reason=said.reason,
        until=since if since and since <= now else None,
        settled=True,
    )


def may_end(memory: Memory, other: Memory) -> bool:
    """Return whether a memory may end in favour of one that a model considers true now."""
    if memory.category is Category.CORE or memory.verified:
        return False
    return _age(other) > _age(memory) or grounding(other) > grounding(memory)


def grounding(memory: Memory) -> int:
    """Return how well a memory is grounded: 2 confirmed by the user, 1 user's own words, 0 less."""
    if memory.verified:
        return 2
    return int(any(item.speaker is Speaker.USER for item in memory.evidence))


def _age(memory: Memory) -> tuple[datetime, datetime]:
    return memory.valid_from or memory.created_at, memory.created_at


def _named(pair: Sequence[str] | frozenset[str]) -> str:
    return " and ".join(sorted(pair)) or "of nothing"
