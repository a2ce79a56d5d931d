"""Consolidator: old, little-used memories and expiring episodes become fewer.

START -> gather -> write -> check -> apply -> END
                     ^--------' once, if the answer was unusable, lost a detail or invented one
"""

import asyncio
import re
from collections import Counter
from collections.abc import Sequence, Set as AbstractSet
from dataclasses import asdict
from datetime import datetime
from typing import Any, TypedDict
from zoneinfo import ZoneInfo

from langgraph.runtime import Runtime
from pydantic import BaseModel, ConfigDict, Field

from souffleur.agents.brief import Persona, clock
from souffleur.agents.fields import Many, Remark, Shown, by_handle
from souffleur.agents.model.chat import Message, Usage
from souffleur.agents.rounds import (
    Context,
    Update,
    ask,
    begin,
    compile_rounds,
    run_graph,
    settled,
)
from souffleur.knowledge import decay
from souffleur.knowledge.identity import reading_sphere
from souffleur.knowledge.knowledge_base import KnowledgeBase
from souffleur.knowledge.memory import Category, Kind, Memory
from souffleur.knowledge.operation import (
    Actor,
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
from souffleur.knowledge.privacy.handling import NEVER_KEPT, Group
from souffleur.knowledge.privacy.secrets import find_secret
from souffleur.knowledge.store.codecs import fingerprint
from souffleur.knowledge.text.details import missing
from souffleur.knowledge.text.plain import is_blank, single_line
from souffleur.prompts import render, stamp

MAX_MERGED = 3
"""Maximum number of memories that a group may become."""
MAX_MERGED_LENGTH = 600
"""Maximum characters of a merged memory."""

_STAMP = re.compile(r"\A\[\d{4}-\d\d-\d\d \d\d:\d\d\]\s*+")
"""The time stamp before an episode, which its links and evidence keep."""


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
        """The handles of all memories that are merged; the rest stays."""
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
    """Return what makes the answer unusable, one fault per line; empty if nothing does.

    It may hold no sensitive data of the `withheld` groups.
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
    """Return names, numbers and dates that the merging lost or invented, one per line.

    What stands in another merged memory, or in one that stays, is not lost. `known` is how the
    two are called, which may come and go. The answer must be free of `faults`.
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
    """Return the operations for an answer; a SKIP if everything is left as it is."""
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
    if any(memory.category is Category.EPISODE for memory in sources):  # no talk, and no end
        fields |= {"category": Category.FACT, "kind": Kind.MOMENT}
    return Merge(**fields)


def _importance(sources: Sequence[Memory], now: datetime, policy: Policy) -> float | None:
    """Return the initial value of the merged memory; `None` means the value of the best.

    Old memories have faded: with their value it would be due for review the day it is written.
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


class MergeState(TypedDict, total=False):
    """One run: one group, of one user and one persona."""

    now: datetime
    dry_run: bool
    """Whether to report the result only, and change nothing."""
    persona: Persona
    language: str
    shown: dict[str, Memory]
    """The group by its handles m1, m2, …, oldest first."""
    messages: list[Message]
    answer: MergingAnswer | None
    problem: str
    rounds: int
    usage: Usage
    model: str
    outcomes: list[LedgerEntry]


async def gather(state: MergeState, runtime: Runtime[Context]) -> Update:
    """Write the question."""
    shown = state["shown"]
    one = next(iter(shown.values()))
    contents = "\n".join(memory.content for memory in shown.values())
    brief = await runtime.context.brief("consolidate", one.user_id, one.agent_id, contents)
    persona, language = brief.persona, brief.language
    question = render(
        "group",
        language,
        now=clock(state["now"], persona.zone, language),
        memories=list_memories(shown, persona.zone),
    )
    return {"persona": persona, "language": language, **begin(brief.rules, question)}


async def write(state: MergeState, runtime: Runtime[Context]) -> Update:
    """Ask the model."""
    return await ask(state, runtime.context.judge, MergingAnswer, "consolidate")


async def check(state: MergeState, runtime: Runtime[Context]) -> Update:
    """Find what is unusable, lost or invented; report it to the model, once."""
    answer, shown, persona = state["answer"], state["shown"], state["persona"]
    problem = state["problem"] or (
        faults(answer, shown, runtime.context.knowledge.withheld) if answer else ""
    )
    if answer and not problem:  # long texts take a while
        called = "\n".join(persona.called)
        problem = await asyncio.to_thread(unfaithful, answer, shown, persona.zone, called)
    return settled(state, problem, "repair_task")


async def apply(state: MergeState, runtime: Runtime[Context]) -> Update:
    """Merge, unless one of the memories was changed or used while the model thought."""
    knowledge, group = runtime.context.knowledge, list(state["shown"].values())
    current = await knowledge.get_many(group[0].user_id, [memory.id for memory in group])
    if _revisions(current) != _revisions(group):
        return {"outcomes": []}
    verdict = _verdict(state, knowledge)
    carry = knowledge.preview if state["dry_run"] else knowledge.apply
    return {"outcomes": await carry(verdict)}


class Consolidator:
    """The graph, compiled once."""

    def __init__(self, context: Context) -> None:
        self.graph = compile_rounds(
            "consolidator", MergeState, Context, gather=gather, ask=write, check=check, apply=apply
        )
        self.context = context

    async def run(
        self, group: Sequence[Memory], *, now: datetime, dry_run: bool = False
    ) -> list[LedgerEntry]:
        """Make fewer memories of a group that `grouping.find_groups` found; return ledger entries.

        A SKIP if the model prefers to leave all as they are; no entry if one of them was changed
        meanwhile. A group that was decided on before, in the same words, costs no call, even if
        that was undone.
        Raises EndpointError or AnswerError if no usable answer was given, ValueError for memories
        of several users or personas; then nothing has changed.
        """
        if len({(memory.user_id, memory.agent_id, memory.sphere) for memory in group}) != 1:
            raise ValueError("a group is of one user and one persona: see `grouping.find_groups`")
        if decided := await self._decided(group):
            return decided
        given = {"shown": by_handle(group), "now": now, "dry_run": dry_run}
        state = await run_graph(self.graph, given, self.context)
        outcomes: list[LedgerEntry] = state["outcomes"]
        return outcomes

    async def _decided(self, group: Sequence[Memory]) -> list[LedgerEntry]:
        """Return the entries of an earlier verdict on the same; finish it if a crash cut it off."""
        verdict = consolidation_id(group)
        entries = [entry_id(verdict, index) for index in range(MAX_MERGED)]
        return await self.context.knowledge.settled_entries(entries)


def consolidation_id(group: Sequence[Memory]) -> str:
    """Return the id of the verdict on these memories in their present words, in any order."""
    worded = sorted((memory.id, fingerprint(memory.content)) for memory in group)
    return derive_id("consolidate", *(part for pair in worded for part in pair))


def _revisions(memories: Sequence[Memory]) -> list[tuple[str, int]]:
    return sorted((memory.id, memory.revision) for memory in memories)


def _verdict(state: MergeState, knowledge: KnowledgeBase) -> Verdict:
    answer, group = state["answer"], list(state["shown"].values())
    assert answer is not None
    prompt = stamp("consolidate", state["language"])
    return Verdict(
        id=consolidation_id(group),
        user_id=group[0].user_id,
        agent_id=group[0].agent_id,
        sphere=reading_sphere(group[0].sphere),
        by=Actor(who=ActorKind.CONSOLIDATOR, model=state["model"], prompt=prompt),
        at=state["now"],
        reason=answer.reason,
        ops=to_ops(answer, state["shown"], state["now"], knowledge.policy),
        cost=asdict(state["usage"]),
    )
