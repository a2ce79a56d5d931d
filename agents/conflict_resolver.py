"""ConflictResolver: compares two memories that cannot both be true, and ends the outdated memory.

The agent is one task (see `task`).
"""

from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any, Literal
from zoneinfo import ZoneInfo

from pydantic import BaseModel, BeforeValidator, ConfigDict

from souffleur.agents.brief import clock
from souffleur.agents.fields import Handle, Many, Remark, Shown, Since, by_handle, starts
from souffleur.agents.task import Answered, Brief, Context, Task, ask_task
from souffleur.knowledge.knowledge_base import KnowledgeBase
from souffleur.knowledge.memory import Category, Memory, MemoryState, Speaker
from souffleur.knowledge.operation import (
    ActorKind,
    Contradict,
    LedgerEntry,
    Op,
    Skip,
    Verdict,
)
from souffleur.knowledge.pairs import ConflictSet, conflict_entry_id, conflict_verdict_id
from souffleur.knowledge.store.codecs import fingerprint
from souffleur.knowledge.text.plain import single_line
from souffleur.prompts import render

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
        """Return the judgement of the first memory and this memory; requires no `faults`."""
        return next(said for said in self.pairs if handle in said.pair)


def list_rivals(shown: Shown, zone: ZoneInfo) -> str:
    """List each memory on a line, and its quotation on the line below."""
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
    """List the pairs to judge, a line for each."""
    return "\n".join(f"- {FIRST}, {handle}" for handle in shown if handle != FIRST)


def faults(answer: RulingAnswer, shown: Shown) -> str:
    """Return the faults that make the answer unusable, a line for each; empty if it is usable."""
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

    The model names the memory that is true now. Code ends the other memory only if the named memory
    is later or better grounded, and the other is neither core nor confirmed.
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
    """Return whether a memory may end in favour of a memory that a model considers true now."""
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


class ConflictResolver:
    """Settles conflicts."""

    def __init__(self, context: Context) -> None:
        self.context = context

    async def run(
        self, rivals: ConflictSet, *, now: datetime, dry_run: bool = False
    ) -> list[LedgerEntry]:
        """Judge a memory and its conflict set in one call; return the ledger entry of each pair.

        The entry is a CONTRADICT if the two exclude each other, otherwise a SKIP. There is no entry
        if a memory was reworded or ended during the call. Pairs that were judged before in the same
        words are not judged again, even if that entry was undone: their former entries come first.
        The usage of the call is the `cost` of the first new entry.

        Raises EndpointError or AnswerError if there was no usable answer, ValueError if the
        memories belong to several users or personas; nothing has changed then.
        """
        one, knowledge = rivals.memory, self.context.knowledge
        everyone = (one, *rivals.others)
        if len({(memory.user_id, memory.agent_id, memory.sphere) for memory in everyone}) != 1:
            raise ValueError("rivals are of one user and one persona: see `find_conflict_sets`")
        ids = [conflict_entry_id(one, other) for other in rivals.others]
        decided = await knowledge.settled_entries(ids)  # also finishes verdicts after a crash
        ruled = {outcome.verdict_id for outcome in decided}
        left = [other for other in rivals.others if conflict_verdict_id(one, other) not in ruled]
        current = await _as_they_are(knowledge, by_handle((one, *left)))
        if FIRST not in current or len(current) < 2:
            return decided
        shown = by_handle(current.values())
        contents = "\n".join(memory.content for memory in shown.values())
        brief = await self.context.brief("arbitrate", one.user_id, one.agent_id, contents)
        answered = await ask_task(self.context.judge, _task(brief, shown, now))
        return decided + await self._rule(answered, brief, shown, now, dry_run)

    async def _rule(
        self,
        answered: Answered[RulingAnswer],
        brief: Brief,
        shown: Shown,
        now: datetime,
        dry_run: bool,
    ) -> list[LedgerEntry]:
        """Apply the verdict on each pair; skips a pair if a memory was reworded or ended meanwhile.

        Each pair has its own verdict, since a memory may exclude several others.
        """
        signed = answered.signed(ActorKind.ARBITER, brief.stamp)
        outcomes: list[LedgerEntry] = []
        ended: set[str] = set()
        for handle in list(shown)[1:]:
            asked = {name: shown[name] for name in (FIRST, handle)}
            pair = await _as_they_are(self.context.knowledge, asked)
            if len(pair) < 2 or ended & {memory.id for memory in pair.values()}:
                continue
            one, other = pair.values()
            verdict = Verdict(
                id=conflict_verdict_id(one, other),
                user_id=one.user_id,
                agent_id=one.agent_id,
                at=now,
                ops=(to_op(answered.value.of(handle), pair, now, brief.persona.zone),),
                **(signed | ({"cost": {}} if outcomes else {})),
            )
            done = await self.context.carry_out(verdict, dry_run=dry_run)
            changed = [change.after for outcome in done for change in outcome.changes]
            ended |= {memory.id for memory in changed if memory.state is not MemoryState.ACTIVE}
            outcomes += done
        return outcomes


def _task(brief: Brief, shown: Shown, now: datetime) -> Task[RulingAnswer]:
    zone, language = brief.persona.zone, brief.language
    return Task(
        "arbitrate",
        brief.rules,
        language,
        render(
            "rivals",
            language,
            now=clock(now, zone, language),
            memories=list_rivals(shown, zone),
            pairs=list_asked(shown),
        ),
        RulingAnswer,
        fault=lambda answer: faults(answer, shown),
        repair="repair_task",
    )


async def _as_they_are(knowledge: KnowledgeBase, shown: Shown) -> dict[str, Memory]:
    """Return the current versions of these memories that are active and have the same words."""
    memories = list(shown.values())
    ids = [memory.id for memory in memories]
    current = {memory.id: memory for memory in await knowledge.get_many(memories[0].user_id, ids)}
    return {
        handle: current[memory.id]
        for handle, memory in shown.items()
        if memory.id in current
        and fingerprint(current[memory.id].content) == fingerprint(memory.content)
    }
