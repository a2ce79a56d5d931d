"""KnowledgeMonitor: after each turn, judge what is worth keeping, then keep it.

START -> gather -> judge -> check -> apply -> END
                     ^--------' once, if it was unusable, nearly known, not said, or too long
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TypedDict

from langgraph.runtime import Runtime

from souffleur.agents.brief import Persona, clock, list_known, list_pairs, talk, turns_to_judge
from souffleur.agents.fields import by_handle
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
from souffleur.agents.verdict import (
    MarkedAnswer,
    MonitorAnswer,
    ParseContext,
    handles,
    to_ops,
)
from souffleur.knowledge.check import MAX_OPS, MENDABLE, CheckContext, named_ids, refuse
from souffleur.knowledge.grounding import Grounds
from souffleur.knowledge.identity import knows
from souffleur.knowledge.knowledge_base import KnowledgeBase
from souffleur.knowledge.memory import Kind, Memory
from souffleur.knowledge.operation import (
    Actor,
    ActorKind,
    Add,
    LedgerEntry,
    Said,
    Update as Replace,
    Verdict,
)
from souffleur.knowledge.search.memories import Query
from souffleur.knowledge.search.words import split
from souffleur.knowledge.session import talk_began
from souffleur.knowledge.turn import Turn, verdict_id
from souffleur.prompts import render

MOST_SHOWN = 24
"""Known memories in a prompt: the whispered, the related, then those a change could make stale."""
EARLIER_SHOWN = 6
"""Messages before the turns that stand in a prompt, for reference."""
MANY_TURNS = 10
"""Turns in one call from which the judge is told that the limit of ops is for each of them."""
MOST_LIKELY = 3
"""Memories that a judge may name as needed next."""
LONG = 100
"""Words, or characters where a script sets no spaces, from above which a content goes back once.
Else a memory to which every turn adds a detail grows without end."""
PASSING_KINDS = frozenset({Kind.MOMENT, Kind.PROMISE, Kind.CONTEXT, Kind.EXPERIENCE})
"""Kinds that tell what was: a move makes the old address wrong, not the farewell party."""


class MonitorState(TypedDict, total=False):
    """One run: some consecutive turns of one session."""

    turns: Sequence[Turn]
    """At least one; all of one user, persona and session."""
    earlier: Sequence[Said]
    """The messages before, as far as the window of the talk holds them."""
    persona: Persona
    language: str
    prompt: str
    """Names and hashes of the prompts that the rules are from."""
    shown: list[Memory]
    """Known memories, in the order of their handles m1, m2, …"""
    messages: list[Message]
    """The conversation with the judge."""
    answer: MonitorAnswer | None
    problem: str
    """Why the judge must answer again; empty: it need not."""
    rounds: int
    usage: Usage
    model: str
    verdict: Verdict
    outcomes: list[LedgerEntry]


async def gather(state: MonitorState, runtime: Runtime[Context]) -> Update:
    """Look up what is known and write the question."""
    context, turns = runtime.context, state["turns"]
    spoken = "\n".join(turn.user or turn.assistant for turn in turns)
    brief = await context.brief("monitor", turns[0].user_id, turns[0].agent_id, spoken)
    persona, language = brief.persona, brief.language
    shown = await _known(context.knowledge, turns)
    whispered = {id for turn in turns for id in turn.injected}
    question = render(
        "exchange",
        language,
        user=persona.user,
        assistant=persona.assistant,
        now=clock(turns[-1].at, persona.zone, language),
        known=list_known(shown, whispered, persona.zone, language),
        began=clock(talk_began(_heard(state)), persona.zone, language),
        earlier=talk(state["earlier"][-EARLIER_SHOWN:], persona, language),
        exchange=turns_to_judge(turns, persona, language),
    )
    if len(turns) >= MANY_TURNS:
        told = render("many_turns", language, turns=len(turns), ops=MAX_OPS)
        question = f"{question}\n\n{told}"
    return {
        "persona": persona,
        "language": language,
        "prompt": brief.stamp,
        "shown": shown,
        **begin(brief.rules, question),
    }


async def judge(state: MonitorState, runtime: Runtime[Context]) -> Update:
    """Ask the model."""
    answer = MarkedAnswer if runtime.context.refuses_special else MonitorAnswer
    return await ask(state, runtime.context.judge, answer, "monitor")


async def check(state: MonitorState, runtime: Runtime[Context]) -> Update:
    """Find what makes an answer unusable or near to what is known; say so to the judge, once."""
    answer, language = state["answer"], state["language"]
    problem = state["problem"] or _unknown_handles(answer, state["shown"])
    if problem or answer is None:
        return settled(state, problem)
    verdict = _verdict(state, answer)
    if state["rounds"] == 1:
        near = await runtime.context.knowledge.near_duplicates(verdict)
        shown = [*state["shown"], *(m for m in near.values() if m not in state["shown"])]
        if doubts := _doubts(near, verdict, shown, language):
            return {"shown": shown, **again(state, doubts)}
    return {"verdict": verdict, "problem": ""}


async def apply(state: MonitorState, runtime: Runtime[Context]) -> Update:
    """Carry the verdict out."""
    knowledge, turns, verdict = runtime.context.knowledge, state["turns"], state["verdict"]
    outcomes = await knowledge.apply(verdict, turns=turns)
    if likely := _likely(state["answer"], verdict):
        await knowledge.sessions.note_likely(turns[-1], likely)
    return {"outcomes": outcomes}


class KnowledgeMonitor:
    """The graph, compiled once."""

    def __init__(self, context: Context) -> None:
        self.graph = compile_rounds(
            "knowledge-monitor",
            MonitorState,
            Context,
            gather=gather,
            ask=judge,
            check=check,
            apply=apply,
        )
        self.context = context

    async def run(self, turns: Sequence[Turn], earlier: Sequence[Said] = ()) -> MonitorState:
        """Judge consecutive turns of one session in one call, and apply what was judged.

        Raises EndpointError or AnswerError where no usable answer was to be had; then nothing
        has changed.
        """
        result = await run_graph(self.graph, {"turns": turns, "earlier": earlier}, self.context)
        done: MonitorState = result
        return done


async def _known(knowledge: KnowledgeBase, turns: Sequence[Turn]) -> list[Memory]:
    """Return whispered memories, those that the turns touch, and the most valuable to a limit."""
    user_id, sphere, now = turns[0].user_id, turns[0].sphere, turns[-1].at
    whispered = [id for turn in turns for id in turn.injected]
    texts = [text for turn in turns for text in (turn.user, turn.assistant) if text.strip()]
    await knowledge.embedder.embed_queries(texts)
    hand = knowledge.at_hand
    searches = [
        hand.search(Query(user_id, text, now, sphere=sphere, limit=MOST_SHOWN // 2, relevant=True))
        for text in texts
    ]
    known, best, found = await asyncio.gather(
        hand.get_many(user_id, whispered),
        hand.most_valuable(user_id, limit=4 * MOST_SHOWN, now=now, sphere=sphere),
        asyncio.gather(*searches),
    )
    chosen = [memory for memory in known if knows(sphere, memory.sphere)]
    chosen += [hit.memory for hits in found for hit in hits]
    shown = list({memory.id: memory for memory in chosen}.values())[:MOST_SHOWN]
    already = {memory.id for memory in shown}
    rest = [memory for memory in best if memory.id not in already]
    lasting_first = sorted(rest, key=lambda memory: memory.kind in PASSING_KINDS)
    filled = {memory.id for memory in lasting_first[: MOST_SHOWN - len(shown)]}
    return shown + [memory for memory in rest if memory.id in filled]


def _said(turns: Sequence[Turn]) -> list[Said]:
    return [said for turn in turns for said in turn.said()]


def _heard(state: MonitorState) -> list[Said]:
    """Return all messages of the talk that are known, the judged ones last."""
    return [*state["earlier"], *_said(state["turns"])]


def _likely(answer: MonitorAnswer | None, verdict: Verdict) -> list[str]:
    """Return the memories that the judge expects to be needed next; handles of none are nothing."""
    shown = verdict.shown or {}
    named = dict.fromkeys(answer.next) if answer else {}
    return [shown[handle] for handle in named if handle in shown][:MOST_LIKELY]


def _unknown_handles(answer: MonitorAnswer | None, shown: Sequence[Memory]) -> str:
    known = by_handle(shown)
    unknown = [name for name in handles(answer) if name not in known] if answer else []
    return "".join(f"- {name} is none of the memories that were shown\n" for name in unknown)


def _doubts(
    near: Mapping[int, Memory], verdict: Verdict, shown: Sequence[Memory], language: str
) -> str:
    """Return what the judge should think over: what is nearly known, not said, or too long."""
    told = [render("near", language, pairs=list_pairs(near, verdict, shown))] if near else []
    if groundless := _groundless(verdict, shown):
        told.append(render("unfounded", language, problems=groundless))
    texts = [op.content for op in verdict.ops if isinstance(op, Add | Replace)]
    if long := [text for text in texts if sum(map(len, split(text))) > LONG]:
        told.append(render("long", language, contents="\n".join(f"- {text!r}" for text in long)))
    return "\n\n".join(told)


def _groundless(verdict: Verdict, shown: Sequence[Memory]) -> str:
    """Return the ops that do not follow from what was said, and why; one per line."""
    by_id, grounds, lines = {memory.id: memory for memory in shown}, Grounds(verdict), []
    for op in verdict.ops:
        ids = [(verdict.shown or {})[name] for name in named_ids(op)]
        targets = tuple(by_id[id] for id in ids)
        refused = refuse(op, CheckContext(verdict=verdict, targets=targets, grounds=grounds))
        if refused and refused[0] in MENDABLE:
            lines.append(f"- {op.op}: {refused[1]}")
    return "\n".join(lines)


def _verdict(state: MonitorState, answer: MonitorAnswer) -> Verdict:
    turns = state["turns"]
    now, persona = turns[-1].at, state["persona"]
    reading = ParseContext(
        now=now,
        zone=persona.zone,
        speakers=persona.called,
        keep_both=state["rounds"] > 1,
    )
    return Verdict(
        id=verdict_id(turns),
        user_id=turns[0].user_id,
        agent_id=turns[0].agent_id,
        sphere=turns[0].sphere,
        by=Actor(who=ActorKind.MONITOR, model=state["model"], prompt=state["prompt"]),
        at=now,
        reason=answer.reason,
        ops=to_ops(answer, reading),
        shown={handle: memory.id for handle, memory in by_handle(state["shown"]).items()},
        injected=frozenset(id for turn in turns for id in turn.injected),
        said=tuple(_said(turns)),
        earlier=tuple(state["earlier"][-EARLIER_SHOWN:]),
        known=tuple(memory.content for memory in state["shown"]),
        called=persona.called,
        talk_since=talk_began(_heard(state)),
        cost=asdict(state["usage"]),
    )
