"""Consolidator: merges old, little-used memories and expiring episodes into fewer memories.

The agent is one task (see `task`). An answer that loses or invents a detail is unusable.
"""

import re
from collections import Counter
from collections.abc import Sequence, Set as AbstractSet
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from pydantic import BaseModel, ConfigDict, Field

from souffleur.agents.brief import clock
from souffleur.agents.fields import Many, Remark, Shown, by_handle
from souffleur.agents.task import Brief, Context, Task, ask_task
from souffleur.knowledge import decay
from souffleur.knowledge.identity import reading_sphere
from souffleur.knowledge.memory import Category, Kind, Memory
from souffleur.knowledge.operation import (
    ActorKind,
    Importance,
    LedgerEntry,
    Merge,
    Op,
    Skip,
    Verdict,
    derive_id,
    entry_id,
)
from souffleur.knowledge.policy import Policy
from souffleur.knowledge.privacy.groups import NEVER_KEPT, Group
from souffleur.knowledge.privacy.secrets import find_secret
from souffleur.knowledge.store.codecs import fingerprint
from souffleur.knowledge.text.details import missing
from souffleur.knowledge.text.plain import is_blank, single_line
from souffleur.prompts import render

MAX_MERGED = 3
"""Maximum number of memories that are made from a group."""
MAX_MERGED_LENGTH = 600
"""Maximum characters of a merged memory."""

_STAMP = re.compile(r"\A\[\d{4}-\d\d-\d\d \d\d:\d\d\]\s*+")
"""The time stamp before an episode; its links and evidence keep it."""


class Merged(BaseModel):
    """One memory made from several."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    sources: list[str] = Field(alias="from")
    """The handles of the memories that are merged into it."""
    content: str

    @property
    def text(self) -> str:
        """The content on one line."""
        return single_line(self.content)


class MergingAnswer(BaseModel):
    """A whole answer: the argument first."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    reason: Remark
    merged: Many[Merged]
    left: Many[str] = []
    """Handles of memories that should stay as they are."""

    @property
    def taken(self) -> set[str]:
        """The handles of all memories that are merged; the other memories stay."""
        return {handle for one in self.merged for handle in one.sources}


def list_memories(shown: Shown, zone: ZoneInfo) -> str:
    """List each memory on a line, and each fact of an episode below it."""
    lines = []
    for handle, memory in shown.items():
        first, *facts = _tell(memory)
        lines.append(f"{handle} [{memory.kind}, {_day(memory, zone)}] {first}")
        lines += [f"   - {fact}" for fact in facts]
    return "\n".join(lines)


def faults(answer: MergingAnswer, shown: Shown, withheld: AbstractSet[Group] = NEVER_KEPT) -> str:
    """Return the faults that make the answer unusable, a line for each; empty if it is usable.

    The answer may hold no sensitive data of the `withheld` groups.
    """
    found = _handle_faults(answer, shown)
    if len(answer.merged) > MAX_MERGED:
        found.append(f"merged: at most {MAX_MERGED} (there are {len(answer.merged)})")
    if not answer.merged and set(answer.left) != set(shown):
        found.append("merged: may be empty only if all memories are left")
    for one in answer.merged:
        where = f"merged from {', '.join(one.sources)}"
        if len(set(one.sources)) < 2:
            found.append(f"{where}: a memory is made from two or more")
        if is_blank(one.text):
            found.append(f"{where}: content is empty")
        if len(one.text) > MAX_MERGED_LENGTH:
            found.append(f"{where}: content is longer than {MAX_MERGED_LENGTH} characters")
        if secret := find_secret(one.text, withheld):
            found.append(f"{where}: it holds {secret}: leave it out")
    return "\n".join(f"- {fault}" for fault in found)


def unfaithful(answer: MergingAnswer, shown: Shown, zone: ZoneInfo, known: str = "") -> str:
    """Return names, numbers and dates that the merging lost or invented, a line for each.

    A detail is not lost if another merged memory or a remaining memory has it. `known` holds the
    names of user and persona, which may be added or left out. The answer must be free of `faults`.
    """
    names = tuple(dict.fromkeys(name for memory in shown.values() for name in memory.entities))
    stays = [_material(memory) for handle, memory in shown.items() if handle not in answer.taken]
    held = "\n".join((known, *(one.text for one in answer.merged), *stays))
    found = []
    for one in answer.merged:
        sources = [shown[handle] for handle in one.sources]
        where = f"merged from {', '.join(one.sources)}"
        lost = missing("\n".join(map(_material, sources)), held, names)
        dated = (f"{_day(memory, zone)}\n" + "\n".join(_tell(memory)) for memory in sources)
        alien = missing(one.text, "\n".join((known, *dated)), names)
        found += [f"{where}: {detail.text!r} is lost, put it back" for detail in lost]
        found += [f"{where}: {detail.text!r} is in none of these memories" for detail in alien]
    return "\n".join(f"- {fault}" for fault in found)


def to_ops(answer: MergingAnswer, shown: Shown, now: datetime, policy: Policy) -> tuple[Op, ...]:
    """Return the operations for an answer; a SKIP if all memories stay as they are."""
    merges = [
        _merge(one, [shown[handle] for handle in one.sources], answer.reason, now, policy)
        for one in answer.merged
    ]
    return tuple(merges) or (Skip(reason=answer.reason),)


def _merge(
    one: Merged, sources: Sequence[Memory], reason: str, now: datetime, policy: Policy
) -> Merge:
    fields: dict[str, Any] = {
        "targets": tuple(memory.id for memory in sources),
        "reason": reason,
        "content": one.text,
        "importance": _importance(sources, now, policy),
    }
    if any(memory.category is Category.EPISODE for memory in sources):  # no episode, no expiry
        fields |= {"category": Category.FACT, "kind": Kind.MOMENT}
    return Merge(**fields)


def _importance(sources: Sequence[Memory], now: datetime, policy: Policy) -> float | None:
    """Return the initial value of the merged memory; `None` means the value of the best source.

    Old memories have faded: with their value, the new memory would be due for review at once.
    """
    least = policy.initial[Importance.LOW]
    best = max(decay.effective(memory, now, policy) for memory in sources)
    return least if best < least else None


def _handle_faults(answer: MergingAnswer, shown: Shown) -> list[str]:
    times = Counter([*(name for one in answer.merged for name in one.sources), *answer.left])
    unknown = [f"{name} is not among the memories" for name in times if name not in shown]
    return unknown + [f"{name} is named twice" for name, count in times.items() if count > 1]


def _tell(memory: Memory) -> list[str]:
    """Return the text of a memory; for an episode, with its facts and open matters."""
    if memory.category is not Category.EPISODE:
        return [single_line(memory.content)]
    facts = [*memory.data.get("key_facts", ()), memory.data.get("unresolved") or ""]
    return [single_line(str(text)) for text in (memory.content, *facts) if text]


def _material(memory: Memory) -> str:
    """Return the details that must not be lost from a memory."""
    lines = _tell(memory)
    if memory.category is Category.EPISODE:
        lines[0] = _STAMP.sub("", lines[0])
    return "\n".join(lines)


def _day(memory: Memory, zone: ZoneInfo) -> str:
    return f"{memory.created_at.astimezone(zone):%Y-%m-%d}"


class Consolidator:
    """Merges groups of memories."""

    def __init__(self, context: Context) -> None:
        self.context = context

    async def run(
        self, group: Sequence[Memory], *, now: datetime, dry_run: bool = False
    ) -> list[LedgerEntry]:
        """Merge a group from `grouping.find_groups` into fewer memories; return ledger entries.

        The entry is a SKIP if the model leaves all memories as they are. There is no entry if a
        memory was changed or used during the call. A group that was judged before in the same words
        needs no call, even if that entry was undone.

        Raises EndpointError or AnswerError if there was no usable answer, ValueError if the
        memories belong to several users or personas; nothing has changed then.
        """
        if len({(memory.user_id, memory.agent_id, memory.sphere) for memory in group}) != 1:
            raise ValueError("a group is of one user and one persona: see `grouping.find_groups`")
        context, knowledge, one = self.context, self.context.knowledge, group[0]
        verdict_id = consolidation_id(group)
        entries = [entry_id(verdict_id, index) for index in range(MAX_MERGED)]
        if decided := await knowledge.settled_entries(entries):  # also finishes after a crash
            return decided
        contents = "\n".join(memory.content for memory in group)
        brief = await context.brief("consolidate", one.user_id, one.agent_id, contents)
        shown = by_handle(group)
        answered = await ask_task(context.judge, self._task(brief, shown, now))
        current = await knowledge.get_many(one.user_id, [memory.id for memory in group])
        if _revisions(current) != _revisions(group):
            return []
        verdict = Verdict(
            id=verdict_id,
            user_id=one.user_id,
            agent_id=one.agent_id,
            sphere=reading_sphere(one.sphere),
            at=now,
            reason=answered.value.reason,
            ops=to_ops(answered.value, shown, now, knowledge.policy),
            **answered.signed(ActorKind.CONSOLIDATOR, brief.stamp),
        )
        return await context.carry_out(verdict, dry_run=dry_run)

    def _task(self, brief: Brief, shown: Shown, now: datetime) -> Task[MergingAnswer]:
        zone, called = brief.persona.zone, "\n".join(brief.persona.called)
        withheld = self.context.knowledge.withheld
        time = clock(now, zone, brief.language)
        return Task(
            "consolidate",
            brief.rules,
            brief.language,
            render("group", brief.language, now=time, memories=list_memories(shown, zone)),
            MergingAnswer,
            fault=lambda answer: (
                faults(answer, shown, withheld) or unfaithful(answer, shown, zone, called)
            ),
            slow=True,
            repair="repair_task",
        )


def consolidation_id(group: Sequence[Memory]) -> str:
    """Return the id of the verdict on these memories in their current words, in any order."""
    worded = sorted((memory.id, fingerprint(memory.content)) for memory in group)
    return derive_id("consolidate", *(part for pair in worded for part in pair))


def _revisions(memories: Sequence[Memory]) -> list[tuple[str, int]]:
    return sorted((memory.id, memory.revision) for memory in memories)
