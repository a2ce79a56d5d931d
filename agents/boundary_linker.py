"""BoundaryLinker: boundaries are linked with the memories that they speak of, whatever the words.

START -> gather -> judge -> check -> apply -> END
                     ^--------' once, if the answer was unusable
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import TypedDict

from langgraph.runtime import Runtime
from pydantic import BaseModel, ConfigDict

from souffleur.agents.fields import Handle, Many, Remark, Shown, by_handle
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
from souffleur.knowledge.boundaries import BoundaryTask, pair_mark
from souffleur.knowledge.identity import reading_sphere
from souffleur.knowledge.memory import Memory
from souffleur.knowledge.operation import (
    Actor,
    ActorKind,
    Guard,
    LedgerEntry,
    Op,
    Skip,
    Verdict,
    derive_id,
)
from souffleur.knowledge.text.plain import single_line
from souffleur.prompts import render, stamp


class SpokenOf(BaseModel):
    """What one boundary speaks of."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    id: Handle
    reason: Remark
    memories: Many[Handle]


class BoundariesAnswer(BaseModel):
    """A whole answer: the argument first."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    reason: Remark
    boundaries: Many[SpokenOf]


class LinkState(TypedDict, total=False):
    """One run: some boundaries and memories of one user."""

    now: datetime
    dry_run: bool
    """Whether to report the result only, and change nothing."""
    language: str
    boundaries: dict[str, Memory]
    """The boundaries by their handles b1, b2, …"""
    shown: dict[str, Memory]
    """The memories by their handles m1, m2, …"""
    messages: list[Message]
    answer: BoundariesAnswer | None
    problem: str
    rounds: int
    usage: Usage
    model: str
    outcomes: list[LedgerEntry]


async def gather(state: LinkState, runtime: Runtime[Context]) -> Update:
    """Write the question."""
    boundaries, shown = state["boundaries"], state["shown"]
    one = boundaries["b1"]
    contents = "\n".join(memory.content for memory in (*boundaries.values(), *shown.values()))
    brief = await runtime.context.brief("boundaries", one.user_id, one.agent_id, contents)
    question = render(
        "boundaries_question", brief.language, boundaries=_list(boundaries), memories=_list(shown)
    )
    return {"language": brief.language, **begin(brief.rules, question)}


async def judge(state: LinkState, runtime: Runtime[Context]) -> Update:
    """Ask the model."""
    return await ask(state, runtime.context.judge, BoundariesAnswer, "boundaries")


async def check(state: LinkState, runtime: Runtime[Context]) -> Update:
    """Find what makes an answer unusable; say so to the model, once."""
    answer = state["answer"]
    problem = state["problem"]
    if answer and not problem:
        problem = _faults(answer, state["boundaries"], state["shown"])
    return settled(state, problem, "repair_task")


async def apply(state: LinkState, runtime: Runtime[Context]) -> Update:
    """Write the links down, except of what was changed while the model thought."""
    knowledge, asked = runtime.context.knowledge, state["boundaries"] | state["shown"]
    ids = [memory.id for memory in asked.values()]
    current = await knowledge.get_many(asked["b1"].user_id, ids)
    verdict = _verdict(state, {memory.id: memory for memory in current})
    carry = knowledge.preview if state["dry_run"] else knowledge.apply
    return {"outcomes": await carry(verdict)}


class BoundaryLinker:
    """The graph, compiled once."""

    def __init__(self, context: Context) -> None:
        self.graph = compile_rounds(
            "boundary-linker",
            LinkState,
            Context,
            gather=gather,
            ask=judge,
            check=check,
            apply=apply,
        )
        self.context = context

    async def run(
        self, task: BoundaryTask, *, now: datetime, dry_run: bool = False
    ) -> list[LedgerEntry]:
        """Link boundaries with those of the memories that they speak of; return what became.

        Raises EndpointError or AnswerError if there was no usable answer, ValueError if they are
        of several users; then nothing has changed.
        """
        if len({memory.user_id for memory in (*task.boundaries, *task.memories)}) != 1:
            raise ValueError("boundaries and memories that are judged together are of one user")
        given = {
            "boundaries": by_handle(task.boundaries, "b"),
            "shown": by_handle(task.memories),
            "now": now,
            "dry_run": dry_run,
        }
        state = await run_graph(self.graph, given, self.context)
        outcomes: list[LedgerEntry] = state["outcomes"]
        return outcomes


def _list(shown: Shown) -> str:
    return "\n".join(f"{handle} {single_line(one.content)}" for handle, one in shown.items())


def _faults(answer: BoundariesAnswer, boundaries: Shown, shown: Shown) -> str:
    """Return what makes the answer unusable, a line each; empty if nothing does."""
    named = Counter(one.id for one in answer.boundaries)
    spoken = {handle for one in answer.boundaries for handle in one.memories}
    found = [
        f"- {handle} is none of the boundaries that were shown"
        for handle in sorted(named.keys() - boundaries)
    ]
    found += [
        f"- {handle} is none of the memories that were shown"
        for handle in sorted(spoken - shown.keys())
    ]
    found += [f"- {handle} is named more than once" for handle in boundaries if named[handle] > 1]
    found += [f"- {handle} is missing" for handle in boundaries if handle not in named]
    return "\n".join(found)


def _verdict(state: LinkState, current: Mapping[str, Memory]) -> Verdict:
    answer, boundaries, shown = state["answer"], state["boundaries"], state["shown"]
    assert answer is not None
    one = boundaries["b1"]
    asked = [(memory.id, memory.revision) for memory in (*boundaries.values(), *shown.values())]
    ops: list[Op] = []
    for named in answer.boundaries:
        boundary = boundaries[named.id]
        if _is_unchanged(boundary, current):
            judged = [memory for memory in shown.values() if _is_unchanged(memory, current)]
            spoken = {shown[handle].id for handle in named.memories}
            ops.append(_guard(current[boundary.id], judged, spoken, named.reason))
    return Verdict(
        id=derive_id("boundaries", state["now"].isoformat(), *asked),
        user_id=one.user_id,
        agent_id=one.agent_id,
        sphere=reading_sphere(one.sphere),
        by=Actor(
            who=ActorKind.BOUNDARY_LINKER,
            model=state["model"],
            prompt=stamp("boundaries", state["language"]),
        ),
        at=state["now"],
        reason=answer.reason,
        ops=tuple(ops) or (Skip(reason="all were changed meanwhile"),),
        cost=asdict(state["usage"]),
    )


def _is_unchanged(memory: Memory, current: Mapping[str, Memory]) -> bool:
    """Return whether a memory is active and says the same: that is all that was judged."""
    return memory.id in current and current[memory.id].content == memory.content


def _guard(boundary: Memory, judged: Sequence[Memory], spoken: set[str], reason: str) -> Guard:
    linked = tuple(memory.id for memory in judged if memory.id in spoken)
    renewed = {id for memory in judged for id in (memory.id, *memory.supersedes)}
    return Guard(
        target=boundary.id,
        reason=reason,
        memories=linked,
        released=tuple(sorted(boundary.guarded & renewed - {*linked})),
        judged=tuple(pair_mark(boundary, memory) for memory in judged),
    )
