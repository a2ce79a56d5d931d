"""CueWriter: memories are given cues, by which they come to mind where their own words do not fit.

START -> gather -> write -> check -> apply -> END
                     ^--------' once, if the answer was unusable
"""

from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from typing import TypedDict

from langgraph.runtime import Runtime
from pydantic import BaseModel, ConfigDict

from souffleur.agents.fields import MAX_CUE_LENGTH, Cues, Handle, Many, Remark, Shown, by_handle
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
from souffleur.knowledge.identity import reading_sphere
from souffleur.knowledge.memory import Memory
from souffleur.knowledge.operation import (
    Actor,
    ActorKind,
    Cue,
    LedgerEntry,
    Op,
    Skip,
    Verdict,
    derive_id,
)
from souffleur.knowledge.text.plain import single_line
from souffleur.prompts import render, stamp


class MemoryCues(BaseModel):
    """The cues of one memory."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    id: Handle
    cues: Cues


class CuesAnswer(BaseModel):
    """A whole answer: the argument first."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    reason: Remark
    memories: Many[MemoryCues]


class CueState(TypedDict, total=False):
    """One run: some memories of one user and one persona."""

    now: datetime
    dry_run: bool
    """Whether to report the result only, and change nothing."""
    language: str
    shown: dict[str, Memory]
    """The memories by their handles m1, m2, …"""
    messages: list[Message]
    answer: CuesAnswer | None
    problem: str
    rounds: int
    usage: Usage
    model: str
    outcomes: list[LedgerEntry]


async def gather(state: CueState, runtime: Runtime[Context]) -> Update:
    """Write the question."""
    shown = state["shown"]
    one = next(iter(shown.values()))
    contents = "\n".join(memory.content for memory in shown.values())
    brief = await runtime.context.brief("cues", one.user_id, one.agent_id, contents)
    question = render("to_cue", brief.language, memories=_list(shown))
    return {"language": brief.language, **begin(brief.rules, question)}


async def write(state: CueState, runtime: Runtime[Context]) -> Update:
    """Ask the model."""
    return await ask(state, runtime.context.judge, CuesAnswer, "cues")


async def check(state: CueState, runtime: Runtime[Context]) -> Update:
    """Find what makes an answer unusable; say so to the model, once."""
    answer = state["answer"]
    problem = state["problem"] or (_faults(answer, state["shown"]) if answer else "")
    return settled(state, problem, "repair_task")


async def apply(state: CueState, runtime: Runtime[Context]) -> Update:
    """Write the cues down, unless a memory was changed while the model thought."""
    knowledge, shown = runtime.context.knowledge, state["shown"]
    one = next(iter(shown.values()))
    current = await knowledge.get_many(one.user_id, [memory.id for memory in shown.values()])
    unchanged = {memory.id for memory in current if memory in shown.values()}
    verdict = _verdict(state, unchanged)
    carry = knowledge.preview if state["dry_run"] else knowledge.apply
    return {"outcomes": await carry(verdict)}


class CueWriter:
    """The graph, compiled once."""

    def __init__(self, context: Context) -> None:
        self.graph = compile_rounds(
            "cue-writer", CueState, Context, gather=gather, ask=write, check=check, apply=apply
        )
        self.context = context

    async def run(
        self, memories: Sequence[Memory], *, now: datetime, dry_run: bool = False
    ) -> list[LedgerEntry]:
        """Give cues to some 25 memories of one user and persona at most; return what became.

        Raises EndpointError or AnswerError if there was no usable answer, ValueError if they are
        of several users or personas; then nothing has changed.
        """
        if len({(memory.user_id, memory.agent_id, memory.sphere) for memory in memories}) != 1:
            raise ValueError("memories that are given cues together are of one user and persona")
        given = {"shown": by_handle(memories), "now": now, "dry_run": dry_run}
        state = await run_graph(self.graph, given, self.context)
        outcomes: list[LedgerEntry] = state["outcomes"]
        return outcomes


def _list(shown: Shown) -> str:
    return "\n".join(
        f"{handle} [{memory.kind}] {single_line(memory.content)}"
        for handle, memory in shown.items()
    )


def _faults(answer: CuesAnswer, shown: Shown) -> str:
    """Return what makes the answer unusable, a line each; empty if nothing does."""
    named = [one.id for one in answer.memories]
    unknown = sorted(set(named) - set(shown))
    without = [one.id for one in answer.memories if not one.cues]
    missing = [handle for handle in shown if handle not in named]
    found = [f"- {handle} is none of the memories that were shown" for handle in unknown]
    found += [f"- {handle} has no cue of at most {MAX_CUE_LENGTH} characters" for handle in without]
    found += [f"- {handle} is missing" for handle in missing]
    return "\n".join(found)


def _verdict(state: CueState, unchanged: set[str]) -> Verdict:
    answer, shown = state["answer"], state["shown"]
    assert answer is not None
    one = next(iter(shown.values()))
    cues = {shown[named.id].id: named.cues for named in answer.memories}
    ops: list[Op] = [
        Cue(target=id, reason=answer.reason, cues=tuple(words))
        for id, words in cues.items()
        if id in unchanged
    ]
    return Verdict(
        id=derive_id("cues", *(part for id in cues for part in (id, state["now"].isoformat()))),
        user_id=one.user_id,
        agent_id=one.agent_id,
        sphere=reading_sphere(one.sphere),
        by=Actor(
            who=ActorKind.CUE_WRITER,
            model=state["model"],
            prompt=stamp("cues", state["language"]),
        ),
        at=state["now"],
        reason=answer.reason,
        ops=tuple(ops) or (Skip(reason="all were changed meanwhile"),),
        cost=asdict(state["usage"]),
    )
