"""Consolidator: old, little-used memories and expiring episodes become fewer.

START -> gather -> write -> check -> apply -> END
                     ^--------' once, if the answer was unusable, lost a detail or invented one
"""

import asyncio
from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from typing import TypedDict

from langgraph.runtime import Runtime

from souffleur.agents.chat import Message, Usage
from souffleur.agents.exchange import Persona, clock
from souffleur.agents.handles import by_handle
from souffleur.agents.merging import (
    MAX_MERGED,
    MergingAnswer,
    faults,
    list_memories,
    to_ops,
    unfaithful,
)
from souffleur.agents.rounds import (
    Context,
    Update,
    ask,
    begin,
    compile_rounds,
    run_graph,
    settled,
)
from souffleur.knowledge.identity import reading_sphere
from souffleur.knowledge.knowledge_base import KnowledgeBase
from souffleur.knowledge.memory import Memory
from souffleur.knowledge.memory_codec import fingerprint
from souffleur.knowledge.operation import (
    Actor,
    ActorKind,
    LedgerEntry,
    Verdict,
    derive_id,
    entry_id,
)
from souffleur.prompts import render, stamp


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
