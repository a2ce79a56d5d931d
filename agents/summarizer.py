"""ConversationSummarizer: talk that has left the window becomes an episode.

START -> gather -> write -> check -> apply -> END
                     ^--------' once, if the answer was unusable or not founded on the talk
"""

import asyncio
from collections.abc import Sequence
from dataclasses import asdict
from typing import TypedDict

from langgraph.runtime import Runtime

from souffleur.agents.brief import NONE, Persona, clock, talk, turns_to_judge
from souffleur.agents.episode import EpisodeAnswer, faults, to_ops, unfounded
from souffleur.agents.model.chat import Message, Usage
from souffleur.agents.rounds import (
    Context,
    Update,
    again,
    ask,
    begin,
    compile_rounds,
    run_graph,
    settled,
)
from souffleur.errors import AnswerError
from souffleur.knowledge.knowledge_base import KnowledgeBase
from souffleur.knowledge.memory import Memory
from souffleur.knowledge.operation import (
    Actor,
    ActorKind,
    Forget,
    LedgerEntry,
    Refusal,
    Verdict,
    derive_id,
)
from souffleur.knowledge.session import MIN_EPISODE_MESSAGES, Segment
from souffleur.knowledge.text.plain import single_line
from souffleur.knowledge.turn import Turn
from souffleur.prompts import render


class SummaryState(TypedDict, total=False):
    """One run: one segment."""

    segment: Segment
    turns: Sequence[Turn]
    """The turns of the segment that are not hidden, oldest first."""
    former: Memory | None
    """The episode written from an earlier version of the segment, if it is in force."""
    persona: Persona
    language: str
    prompt: str
    """Names and hashes of the prompts that the rules are from."""
    messages: list[Message]
    answer: EpisodeAnswer | None
    problem: str
    rounds: int
    usage: Usage
    model: str
    outcomes: list[LedgerEntry]


async def gather(state: SummaryState, runtime: Runtime[Context]) -> Update:
    """Read the talk, and write the question."""
    knowledge, segment, turns = runtime.context.knowledge, state["segment"], state["turns"]
    spoken = "\n".join(turn.user for turn in turns)
    brief = await runtime.context.brief("episode", segment.user_id, segment.agent_id, spoken)
    persona, language = brief.persona, brief.language
    before = await _before(knowledge, segment)
    question = render(
        "stretch",
        language,
        since=clock(segment.since, persona.zone, language),
        until=clock(segment.at, persona.zone, language),
        before=single_line(before.content) if before else NONE[language],
        talk=turns_to_judge(turns, persona, language),
    )
    return {
        "persona": persona,
        "language": language,
        "former": await _former(knowledge, segment),
        "prompt": brief.stamp,
        **begin(brief.rules, question),
    }


async def write(state: SummaryState, runtime: Runtime[Context]) -> Update:
    """Ask the model."""
    return await ask(state, runtime.context.judge, EpisodeAnswer, "episode")


async def check(state: SummaryState, runtime: Runtime[Context]) -> Update:
    """Find what makes the answer unusable, or what nobody said; report it to the model, once."""
    answer, language, first = state["answer"], state["language"], state["rounds"] == 1
    problem = state["problem"] or (
        faults(answer, runtime.context.knowledge.withheld) if answer else ""
    )
    if problem:
        return settled(state, problem)
    if answer and first:
        said = [said for turn in state["turns"] for said in turn.said()]
        talked = talk(said, state["persona"], language)
        alien = await asyncio.to_thread(unfounded, answer, talked)  # long texts take a while
        if alien:
            return again(state, render("unfounded", language, problems=alien))
    return {"problem": ""}


async def apply(state: SummaryState, runtime: Runtime[Context]) -> Update:
    """Write the episode, or nothing if it was small talk."""
    verdict = _verdict(state)
    return {"outcomes": await runtime.context.knowledge.apply(verdict) if verdict.ops else []}


class ConversationSummarizer:
    """The graph, compiled once."""

    def __init__(self, context: Context) -> None:
        self.graph = compile_rounds(
            "conversation-summarizer",
            SummaryState,
            Context,
            gather=gather,
            ask=write,
            check=check,
            apply=apply,
        )
        self.context = context

    async def run(self, segment: Segment) -> str | None:
        """Summarise a segment; return the id of its episode, `None` if it deserves none.

        A segment whose episode is written already costs no call. Raises EndpointError or
        AnswerError if no usable answer was given; then nothing has changed.
        """
        knowledge = self.context.knowledge
        episode_id = derive_id("memory", episode_verdict_id(segment), 0)
        if await knowledge.exists(episode_id):  # a crash came between it and the segment
            return episode_id
        held = await knowledge.sessions.turns(segment)
        turns = [turn for turn in held if not turn.hidden]
        short = sum(turn.messages for turn in turns) < MIN_EPISODE_MESSAGES
        in_part = short or any(turn.expunged for turn in turns)
        if in_part and (former := await _former(knowledge, segment)):
            if any(turn.hidden and not turn.expunged for turn in held):  # forgotten meanwhile
                await knowledge.apply(_withdrawal(former, segment))
                return None
            return former.id  # what is left of its words does not tell it anew
        if short:
            return None
        state = await run_graph(self.graph, {"segment": segment, "turns": turns}, self.context)
        made = [entry for entry in state["outcomes"] if entry.op in {"ADD", "UPDATE"}]
        if made and made[0].refused is Refusal.USELESS and segment.episode_id:
            return segment.episode_id  # summarised again, it says the same
        if made and made[0].refused:
            raise AnswerError(f"the episode was refused: {made[0].detail}")
        return made[0].changes[0].after.id if made else None


def episode_verdict_id(segment: Segment) -> str:
    """Return the id of the verdict on this version of a segment; a second summary has the same."""
    return derive_id("episode", segment.id, segment.version)


async def _before(knowledge: KnowledgeBase, segment: Segment) -> Memory | None:
    """Return the episode of the segment before this one in the same session."""
    earlier = await knowledge.sessions.segments(
        segment.user_id, session_id=segment.session_id, sphere=segment.sphere
    )
    ids = [one.episode_id for one in earlier if one.number < segment.number and one.episode_id]
    found = await knowledge.get_many(segment.user_id, ids[:1])
    return found[0] if found else None


async def _former(knowledge: KnowledgeBase, segment: Segment) -> Memory | None:
    ids = [segment.episode_id] if segment.episode_id else []
    return next(iter(await knowledge.get_many(segment.user_id, ids)), None)


def _withdrawal(former: Memory, segment: Segment) -> Verdict:
    """Return the verdict that forgets an episode of which too little may be told any more."""
    return Verdict(
        id=derive_id("episode withdrawn", segment.id, segment.version),
        user_id=segment.user_id,
        agent_id=segment.agent_id,
        sphere=segment.sphere,
        by=Actor(who=ActorKind.SUMMARIZER),
        at=segment.at,
        ops=(Forget(target=former.id, reason="most of what it was told from is forgotten"),),
    )


def _verdict(state: SummaryState) -> Verdict:
    segment, answer = state["segment"], state["answer"]
    assert answer is not None
    return Verdict(
        id=episode_verdict_id(segment),
        user_id=segment.user_id,
        agent_id=segment.agent_id,
        sphere=segment.sphere,
        by=Actor(
            who=ActorKind.SUMMARIZER,
            model=state["model"],
            prompt=state["prompt"],
        ),
        at=segment.at,
        reason=answer.reason,
        ops=to_ops(answer, segment, state["former"], state["persona"].zone),
        cost=asdict(state["usage"]),
    )
