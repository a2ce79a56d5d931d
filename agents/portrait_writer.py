"""ProfileWriter: the next portrait of a user, from the former one and what has come since.

START -> gather -> write -> check -> apply -> END
                     ^--------' once, if the answer was unusable, lost a detail or invented one
"""

import asyncio
from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from typing import TypedDict

from langgraph.runtime import Runtime

from souffleur.agents.brief import NONE, clock
from souffleur.agents.model.chat import Message, Usage
from souffleur.agents.portrait_answer import (
    PortraitAnswer,
    Sources,
    faults,
    known_alone,
    lost,
    reason_of,
    to_op,
    unfounded,
)
from souffleur.agents.rounds import (
    Context,
    Update,
    again,
    ask,
    begin,
    compile_rounds,
    run_graph,
    settled,
    unusable,
)
from souffleur.errors import AnswerError
from souffleur.knowledge.forgetting.subject import Reader
from souffleur.knowledge.identity import COMMON, agent_of
from souffleur.knowledge.knowledge_base import KnowledgeBase
from souffleur.knowledge.memory import Category, Memory, MemoryState
from souffleur.knowledge.operation import (
    PURGED,
    Actor,
    ActorKind,
    LedgerEntry,
    Refusal,
    Verdict,
    derive_id,
)
from souffleur.knowledge.portrait_rule import forgotten_in, without_forgotten
from souffleur.knowledge.text.plain import single_line
from souffleur.prompts import render

MAX_KNOWN_MEMORIES = 40
"""Maximum memories a portrait is written from: the core, then the most valuable."""
MAX_EPISODES = 10


class PortraitState(TypedDict, total=False):
    """One run: one user."""

    user_id: str
    sphere: str
    """The sphere of a persona that knows only its own, or the common one."""
    former: Memory | None
    """The version in force; if none is, the latest in whatever state."""
    episodes: Sequence[Memory]
    """Episodes since the former version, oldest first."""
    versions: int
    """The highest number of a version so far."""
    why: str
    now: datetime
    language: str
    prompt: str
    """Names and hashes of the prompts that the rules are from."""
    sources: Sources
    messages: list[Message]
    answer: PortraitAnswer | None
    problem: str
    rounds: int
    usage: Usage
    model: str
    outcomes: list[LedgerEntry]


async def gather(state: PortraitState, runtime: Runtime[Context]) -> Update:
    """Read what is known, and write the question."""
    knowledge = runtime.context.knowledge
    known = await _known(knowledge, state)
    episodes = state["episodes"][-MAX_EPISODES:]
    lines = "\n".join(f"- [{memory.kind}] {single_line(memory.content)}" for memory in known)
    summaries = "\n\n".join(map(_tell, episodes))
    spoken = f"{lines}\n{summaries}"
    brief = await runtime.context.brief("portrait", state["user_id"], _latest_agent(state), spoken)
    language = brief.language
    reader = Reader(forgotten_in(state["former"], brief.persona.called))
    former = without_forgotten(state["former"], reader) if state["former"] else None
    sources = Sources(
        former=former,
        forgotten=reader,
        material=f"{lines}\n\n{summaries}",
        names=tuple(dict.fromkeys(name for memory in known for name in memory.entities)),
        versions=state["versions"],
        elsewhere="\n".join(map(_all_of, await _held(knowledge, state))),
        until=max((episode.created_at for episode in episodes), default=state["now"]),
    )
    alone = "\n".join(f"- {one}" for one in await asyncio.to_thread(known_alone, sources))
    question = render(
        "sources",
        language,
        now=clock(state["now"], brief.persona.zone, language),
        portrait=(former and _present(former)) or render("cold_start", language),
        alone="\n\n" + render("alone", language, details=alone) if alone else "",
        known=lines or NONE[language],
        episodes=summaries or NONE[language],
        without="",
    )
    return {
        "language": language,
        "sources": sources,
        "prompt": brief.stamp,
        **begin(brief.rules, question),
    }


async def write(state: PortraitState, runtime: Runtime[Context]) -> Update:
    """Ask the model."""
    return await ask(state, runtime.context.judge, PortraitAnswer, "portrait")


async def check(state: PortraitState, runtime: Runtime[Context]) -> Update:
    """Find what is unusable, lost or invented; say so to the model, once."""
    answer, sources, language = state["answer"], state["sources"], state["language"]
    problem = state["problem"] or (
        faults(answer, sources, runtime.context.knowledge.withheld) if answer else ""
    )
    gone = await asyncio.to_thread(lost, answer, sources) if answer and not problem else ""
    if problem:
        return settled(state, problem, "repair_task")
    if state["rounds"] > 1:
        if gone:
            raise unusable(state, f"lost without a reason:\n{gone}")
        return {"problem": ""}
    if gone:
        return again(state, render("lost", language, details=gone))
    alien = await asyncio.to_thread(unfounded, answer, sources) if answer else ""
    if alien:
        return again(state, render("unfounded", language, problems=alien))
    return {"problem": ""}


async def apply(state: PortraitState, runtime: Runtime[Context]) -> Update:
    """Write the next version."""
    verdict, knowledge = _verdict(state), runtime.context.knowledge
    outcomes = await knowledge.apply(verdict)
    if outcomes[0].details == PURGED:  # such a version was written before, and erased
        anew = derive_id("portrait", verdict.id, state["now"].isoformat())
        outcomes = await knowledge.apply(verdict.model_copy(update={"id": anew}))
    return {"outcomes": outcomes}


class ProfileWriter:
    """The graph, compiled once."""

    def __init__(self, context: Context) -> None:
        self.graph = compile_rounds(
            "profile-writer",
            PortraitState,
            Context,
            gather=gather,
            ask=write,
            check=check,
            apply=apply,
        )
        self.context = context

    async def run(
        self,
        user_id: str,
        former: Memory | None,
        episodes: Sequence[Memory],
        *,
        why: str,
        now: datetime,
        versions: int,
        sphere: str = COMMON,
    ) -> Memory:
        """Write the next version of a portrait, and return it.

        `former` is the version in force, or else the latest; `episodes` are those since then;
        `versions` is the highest number of a version so far. Raises EndpointError or AnswerError
        if no usable answer was to be had; then nothing has changed.
        """
        given: PortraitState = {"user_id": user_id, "former": former, "episodes": episodes}
        given |= {"versions": versions, "why": why, "now": now, "sphere": sphere}
        state = await run_graph(self.graph, given, self.context)
        (written,) = state["outcomes"]
        if written.refused is Refusal.USELESS and former:  # it still says all there is to say
            return former
        if written.refused:
            raise AnswerError(f"the portrait was refused: {written.detail}")
        version: Memory = written.changes[0].after
        return version


def _latest_agent(state: PortraitState) -> str:
    """Return the persona that talked with the user last, according to the episodes."""
    if own := agent_of(state["sphere"]):
        return own
    latest = [*filter(None, [state["former"]]), *state["episodes"]][-1:]
    return latest[0].agent_id if latest else "default"


async def _held(knowledge: KnowledgeBase, state: PortraitState) -> list[Memory]:
    """Return the memories and episodes that may hold what leaves the portrait.

    Those that are over or corrected are among them: why their details leave is known.
    """
    kept = (MemoryState.ACTIVE, MemoryState.SUPERSEDED)
    held = await knowledge.list(state["user_id"], states=kept, sphere=state["sphere"])
    return [memory for memory in held if memory.category is not Category.PROFILE]


async def _known(knowledge: KnowledgeBase, state: PortraitState) -> list[Memory]:
    user_id, now, sphere = state["user_id"], state["now"], state["sphere"]
    core = await knowledge.list(user_id, category=Category.CORE, now=now, sphere=sphere)
    best = await knowledge.most_valuable(user_id, limit=MAX_KNOWN_MEMORIES, now=now, sphere=sphere)
    every = {memory.id: memory for memory in (*core, *best)}
    return sorted(list(every.values())[:MAX_KNOWN_MEMORIES], key=lambda m: (m.created_at, m.id))


def _tell(episode: Memory) -> str:
    facts = [f"- {single_line(str(fact))}" for fact in episode.data.get("key_facts", ())]
    unresolved = episode.data.get("unresolved")
    still_open = [f"- ? {single_line(str(unresolved))}"] if unresolved else []
    return "\n".join([single_line(episode.content), *facts, *still_open])


def _all_of(memory: Memory) -> str:
    """Return all that a memory or episode says."""
    return "\n".join((memory.searchable, str(memory.data.get("unresolved") or "")))


def _present(portrait: Memory) -> str:
    named = (portrait.data.get(key) for key in ("name", "occupation"))
    head = [single_line(str(name)) for name in named if name]
    return "\n\n".join([*([" / ".join(head)] if head else []), portrait.content])


def _verdict(state: PortraitState) -> Verdict:
    answer, sources = state["answer"], state["sources"]
    assert answer is not None
    op = to_op(answer, sources)
    # As it is now: a version that was taken back does not stand for the next one.
    after = (sources.former.id, sources.former.revision) if sources.former else ("",)
    return Verdict(
        id=derive_id("portrait", state["user_id"], *after, *filter(None, [state["sphere"]])),
        user_id=state["user_id"],
        agent_id=agent_of(state["sphere"]) or "default",
        sphere=state["sphere"],
        by=Actor(
            who=ActorKind.PROFILE_WRITER,
            model=state["model"],
            prompt=state["prompt"],
        ),
        at=state["now"],
        reason=f"{state['why']}; {reason_of(answer, sources)}",
        ops=(op,),
        cost=asdict(state["usage"]),
    )
