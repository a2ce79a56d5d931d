"""KnowledgeMonitor: judges after each turn which memories change, and changes them.

The agent is one task (see `task`). An answer is sent back once if it is unusable, or if its content
is nearly known, was not said, or is too long.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType
from typing import Any

from souffleur.agents.brief import clock, list_known, list_pairs, talk, turns_to_judge
from souffleur.agents.fields import by_handle
from souffleur.agents.task import Brief, Context, Task, ask_task
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
from souffleur.knowledge.search.query import Query
from souffleur.knowledge.search.words import split
from souffleur.knowledge.session import talk_began
from souffleur.knowledge.turn import Turn, verdict_id
from souffleur.prompts import render

MOST_SHOWN = 24
"""Maximum known memories in a prompt: whispered, related, then any that a change could outdate."""
EARLIER_SHOWN = 6
"""Maximum messages before the turns that a prompt shows for reference."""
MANY_TURNS = 10
"""Number of turns in a call from which the prompt says that the limit of ops is per turn."""
MOST_LIKELY = 3
"""Maximum memories that a judge may name as needed next."""
LONG = 100
"""Maximum words of a content (characters in scripts without spaces) before it is sent back once.
Otherwise a memory to which every turn adds a detail grows without end."""
PASSING_KINDS = frozenset({Kind.MOMENT, Kind.PROMISE, Kind.CONTEXT, Kind.EXPERIENCE})
"""Kinds about past events: a move makes the old address wrong, not the farewell party."""


@dataclass(frozen=True)
class Judged:
    """An answer of the judge, and its ledger entries."""

    answer: MonitorAnswer
    outcomes: list[LedgerEntry]


@dataclass(frozen=True)
class Exchange:
    """The turns to judge, the messages before them, and the memories that the judge sees."""

    turns: Sequence[Turn]
    """The turns, at least one; all of the same user, persona and session."""
    earlier: Sequence[Said]
    """The messages before the turns, as far as the window holds them."""
    shown: list[Memory]
    """Known memories, in the order of their handles m1, m2, …"""
    brief: Brief

    @property
    def said(self) -> list[Said]:
        """The messages to judge."""
        return [said for turn in self.turns for said in turn.said()]

    @property
    def began(self) -> datetime:
        """When the talk began, as far as its messages are known."""
        return talk_began([*self.earlier, *self.said])


class KnowledgeMonitor:
    """Judges turns."""

    def __init__(self, context: Context) -> None:
        self.context = context

    async def run(self, turns: Sequence[Turn], earlier: Sequence[Said] = ()) -> Judged:
        """Judge consecutive turns of one session in one call, and apply the verdict.

        Raises EndpointError or AnswerError if there was no usable answer; nothing has changed then.
        """
        context, knowledge = self.context, self.context.knowledge
        spoken = "\n".join(turn.user or turn.assistant for turn in turns)
        brief = await context.brief("monitor", turns[0].user_id, turns[0].agent_id, spoken)
        exchange = Exchange(turns, earlier, await _known(knowledge, turns), brief)
        answered = await ask_task(
            context.judge,
            Task(
                "monitor",
                brief.rules,
                brief.language,
                question(exchange),
                MarkedAnswer if context.refuses_special else MonitorAnswer,
                fault=lambda answer: unknown_handles(answer, exchange.shown),
                doubt=lambda answer: _doubt(knowledge, exchange, answer),
            ),
        )
        signed = answered.signed(ActorKind.MONITOR, brief.stamp)
        verdict = to_verdict(exchange, answered.value, signed, keep_both=answered.rounds > 1)
        outcomes = await knowledge.apply(verdict, turns=turns)
        if likely := _likely(answered.value, verdict):
            await knowledge.sessions.note_likely(turns[-1], likely)
        return Judged(answered.value, outcomes)


def question(exchange: Exchange) -> str:
    """Return the question about an exchange."""
    turns, persona, language = exchange.turns, exchange.brief.persona, exchange.brief.language
    whispered = {id for turn in turns for id in turn.injected}
    text = render(
        "exchange",
        language,
        user=persona.user,
        assistant=persona.assistant,
        now=clock(turns[-1].at, persona.zone, language),
        known=list_known(exchange.shown, whispered, persona.zone, language),
        began=clock(exchange.began, persona.zone, language),
        earlier=talk(exchange.earlier[-EARLIER_SHOWN:], persona, language),
        exchange=turns_to_judge(turns, persona, language),
    )
    if len(turns) < MANY_TURNS:
        return text
    return f"{text}\n\n{render('many_turns', language, turns=len(turns), ops=MAX_OPS)}"


async def _doubt(knowledge: KnowledgeBase, exchange: Exchange, answer: MonitorAnswer) -> str:
    """Return the message about content that is nearly known, was not said, or is too long.

    Adds near-duplicate memories to the memories that are shown.
    """
    verdict = to_verdict(exchange, answer)
    near = await knowledge.near_duplicates(verdict)
    shown = exchange.shown
    shown += [memory for memory in near.values() if memory not in shown]
    return doubts(near, verdict, shown, exchange.brief.language)


async def _known(knowledge: KnowledgeBase, turns: Sequence[Turn]) -> list[Memory]:
    """Return memories up to a limit: whispered, related to the turns, and the most valuable."""
    user_id, sphere, now = turns[0].user_id, turns[0].sphere, turns[-1].at
    whispered = [id for turn in turns for id in turn.injected]
    texts = [text for turn in turns for text in (turn.user, turn.assistant) if text.strip()]
    await knowledge.embedder.embed_queries(texts)
    cache = knowledge.cache
    searches = [
        cache.search(Query(user_id, text, now, sphere=sphere, limit=MOST_SHOWN // 2, relevant=True))
        for text in texts
    ]
    known, best, found = await asyncio.gather(
        cache.get_many(user_id, whispered),
        cache.most_valuable(user_id, limit=4 * MOST_SHOWN, now=now, sphere=sphere),
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


def _likely(answer: MonitorAnswer, verdict: Verdict) -> list[str]:
    """Return the ids of the memories that the judge expects to be needed next."""
    shown = verdict.shown or {}
    return [shown[handle] for handle in dict.fromkeys(answer.next) if handle in shown][:MOST_LIKELY]


def unknown_handles(answer: MonitorAnswer, shown: Sequence[Memory]) -> str:
    """Return a line for each handle in the answer that was not shown."""
    known = by_handle(shown)
    unknown = [name for name in handles(answer) if name not in known]
    return "".join(f"- {name} is none of the memories that were shown\n" for name in unknown)


def doubts(
    near: Mapping[int, Memory], verdict: Verdict, shown: Sequence[Memory], language: str
) -> str:
    """Return a message about ops that are nearly known, not said, or too long; may be empty."""
    told = [render("near", language, pairs=list_pairs(near, verdict, shown))] if near else []
    if groundless := _groundless(verdict, shown):
        told.append(render("unfounded", language, problems=groundless))
    texts = [op.content for op in verdict.ops if isinstance(op, Add | Replace)]
    if long := [text for text in texts if sum(map(len, split(text))) > LONG]:
        told.append(render("long", language, contents="\n".join(f"- {text!r}" for text in long)))
    return "\n\n".join(told)


def _groundless(verdict: Verdict, shown: Sequence[Memory]) -> str:
    """Return a line for each op that does not follow from the talk, with the reason."""
    by_id, grounds, lines = {memory.id: memory for memory in shown}, Grounds(verdict), []
    for op in verdict.ops:
        ids = [(verdict.shown or {})[name] for name in named_ids(op)]
        targets = tuple(by_id[id] for id in ids)
        refused = refuse(op, CheckContext(verdict=verdict, targets=targets, grounds=grounds))
        if refused and refused[0] in MENDABLE:
            lines.append(f"- {op.op}: {refused[1]}")
    return "\n".join(lines)


def to_verdict(
    exchange: Exchange,
    answer: MonitorAnswer,
    signed: Mapping[str, Any] = MappingProxyType({"by": Actor(who=ActorKind.MONITOR)}),
    *,
    keep_both: bool = False,
) -> Verdict:
    """Return the verdict of an answer; `signed` holds the judge and the cost.

    With `keep_both`, the judge has seen the near-duplicates and still adds its memories.
    """
    turns, shown, persona = exchange.turns, exchange.shown, exchange.brief.persona
    now, called = turns[-1].at, persona.called
    reading = ParseContext(now=now, zone=persona.zone, speakers=called, keep_both=keep_both)
    return Verdict(
        id=verdict_id(turns),
        user_id=turns[0].user_id,
        agent_id=turns[0].agent_id,
        sphere=turns[0].sphere,
        at=now,
        reason=answer.reason,
        ops=to_ops(answer, reading),
        shown={handle: memory.id for handle, memory in by_handle(shown).items()},
        injected=frozenset(id for turn in turns for id in turn.injected),
        said=tuple(exchange.said),
        earlier=tuple(exchange.earlier[-EARLIER_SHOWN:]),
        known=tuple(memory.content for memory in shown),
        called=called,
        talk_since=exchange.began,
        **signed,
    )
