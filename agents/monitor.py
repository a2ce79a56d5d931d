"""KnowledgeMonitor: judges after each turn which memories change, and changes them.

The agent is one task (see `task`). An answer is sent back once if it is unusable, or if its content
is nearly known, touches what was not shown (see `second_look`), was not said, or is too long.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from types import MappingProxyType
from typing import Any

from souffleur.agents.brief import (
    NONE,
    clock,
    list_known,
    list_pairs,
    talk,
    turns_to_judge,
)
from souffleur.agents.fields import by_handle, not_shown
from souffleur.agents.known import known_around, unseen
from souffleur.agents.model.chat import Usage
from souffleur.agents.second_look import look_again
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
from souffleur.knowledge.memory import Memory, Speaker
from souffleur.knowledge.operation import (
    Actor,
    ActorKind,
    Add,
    LedgerEntry,
    Said,
    Update as Replace,
    Verdict,
)
from souffleur.knowledge.privacy.hidden_words import conceal
from souffleur.knowledge.search.words import split
from souffleur.knowledge.session import talk_began
from souffleur.knowledge.text.match import find_quote
from souffleur.knowledge.turn import Turn, verdict_id
from souffleur.prompts import render

EARLIER_SHOWN = 6
"""Maximum messages before the turns that a prompt shows for reference."""
MANY_TURNS = 10
"""Number of turns in a call from which the prompt says that the limit of ops is per turn."""
MOST_LIKELY = 3
"""Maximum memories that a judge may name as needed next."""
MOST_SESSIONS = 1000
"""Maximum sessions whose hidden words are remembered; the oldest are dropped."""
LONG = 100
"""Maximum words of a content (characters in scripts without spaces) before it is sent back once.
Otherwise a memory to which every turn adds a detail grows without end."""


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
    topics: tuple[str, ...]
    """Topics of the user's memories, the most used first."""
    brief: Brief

    @property
    def said(self) -> list[Said]:
        """The messages to judge."""
        return [said for turn in self.turns for said in turn.said()]

    @property
    def whispered(self) -> set[str]:
        """The ids of the memories that the companion was reminded of."""
        return {id for turn in self.turns for id in turn.injected}

    @property
    def began(self) -> datetime:
        """When the talk began, as far as its messages are known."""
        return talk_began([*self.earlier, *self.said])


class KnowledgeMonitor:
    """Judges turns."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self._hidden: dict[tuple[str, str, str], tuple[str, ...]] = {}

    async def run(
        self, turns: Sequence[Turn], earlier: Sequence[Said] = (), *, dry_run: bool = False
    ) -> Judged:
        """Judge consecutive turns of one session in one call, and apply the verdict.

        With `dry_run` nothing is changed: the entries say what would be done. Raises EndpointError
        or AnswerError if there was no usable answer; nothing has changed then.
        """
        context, knowledge = self.context, self.context.knowledge
        spoken = "\n".join(turn.user or turn.assistant for turn in turns)
        brief = await context.brief("monitor", turns[0].user_id, turns[0].agent_id, spoken)
        shown, topics = await known_around(knowledge, turns)
        exchange, looks = Exchange(turns, earlier, shown, topics, brief), list[Usage]()
        answered = await ask_task(
            context.judge,
            Task(
                "monitor",
                brief.rules,
                brief.language,
                question(exchange),
                MarkedAnswer if context.refuses_special else MonitorAnswer,
                fault=lambda answer: unknown_handles(answer, exchange.shown),
                doubt=lambda answer: _doubt(context, exchange, answer, looks),
            ),
        )
        answered = replace(answered, usage=sum(looks, answered.usage))
        signed = answered.signed(ActorKind.MONITOR, brief.stamp)
        signed |= {"learned_at": context.learned_at}
        verdict = to_verdict(exchange, answered.value, signed, keep_both=answered.rounds > 1)
        verdict = self._with_hidden(verdict, turns[0])
        if dry_run:
            return Judged(answered.value, await knowledge.writer.plan(verdict, turns))
        outcomes = await knowledge.apply(verdict, turns=turns)
        if likely := _likely(answered.value, verdict):
            await knowledge.sessions.note_likely(turns[-1], likely)
        if name := _address(answered.value, verdict):
            await self._introduce(turns[-1], name)
        return Judged(answered.value, outcomes)

    def _with_hidden(self, verdict: Verdict, first: Turn) -> Verdict:
        """Return a verdict that also hides the words hidden earlier in the session.

        They are kept in memory only, as the store must not hold them.
        """
        session = first.user_id, first.session_id, first.sphere
        before = self._hidden.pop(session, ())
        hidden = tuple(dict.fromkeys((*before, *conceal(verdict).hidden)))
        if hidden:
            self._hidden[session] = hidden
        if len(self._hidden) > MOST_SESSIONS:
            self._hidden.pop(next(iter(self._hidden)))
        return verdict.model_copy(update={"hidden": hidden})

    async def _introduce(self, turn: Turn, name: str) -> None:
        """Introduce a user by the name that they asked for, unless changes wait for consent."""
        knowledge, usual = self.context.knowledge, self.context.persona.user
        if knowledge.writer.asks_first(await knowledge.choices.find(turn.user_id)):
            return
        await knowledge.journal.calling(
            lambda: knowledge.people.introduce(turn.user_id, now=turn.at, called=usual, title=name)
        )


def question(exchange: Exchange) -> str:
    """Return the question about an exchange."""
    turns, persona, language = exchange.turns, exchange.brief.persona, exchange.brief.language
    text = render(
        "exchange",
        language,
        user=persona.user,
        assistant=persona.assistant,
        now=clock(turns[-1].at, persona.zone, language),
        known=list_known(exchange.shown, exchange.whispered, persona.zone, language),
        topics=" · ".join(exchange.topics) or NONE[language],
        began=clock(exchange.began, persona.zone, language),
        earlier=talk(exchange.earlier[-EARLIER_SHOWN:], persona, language),
        exchange=turns_to_judge(turns, persona, language),
    )
    if len(turns) < MANY_TURNS:
        return text
    return f"{text}\n\n{render('many_turns', language, turns=len(turns), ops=MAX_OPS)}"


async def _doubt(
    context: Context, exchange: Exchange, answer: MonitorAnswer, looks: list[Usage]
) -> str:
    """Return the message about ops that touch unseen memories, were not said, or are too long.

    Adds the touched memories to those that are shown, and the cost of finding them to `looks`.
    """
    verdict, shown, brief = to_verdict(exchange, answer), exchange.shown, exchange.brief
    near = await context.knowledge.near_duplicates(verdict)
    noted = [op.content for op in verdict.ops if isinstance(op, Add | Replace)]
    unshown = await unseen(context.knowledge, verdict)
    seen = await look_again(context.judge, noted, unshown, brief, verdict.at)
    looks.append(seen.usage)
    first, ids = len(shown), {memory.id for memory in shown}
    touched = {one.id: one for one in (*near.values(), *seen.touched)}
    shown += [memory for id, memory in touched.items() if id not in ids]
    told = [doubts(near, verdict, shown, brief.language)]
    lines = list_known(shown, exchange.whispered, brief.persona.zone, brief.language).split("\n")
    if len(shown) > first:
        told.append(render("unseen", brief.language, memories="\n".join(lines[first:])))
    return "\n\n".join(filter(None, told))


def _likely(answer: MonitorAnswer, verdict: Verdict) -> list[str]:
    """Return the ids of the memories that the judge expects to be needed next."""
    shown = verdict.shown or {}
    return [shown[handle] for handle in dict.fromkeys(answer.next) if handle in shown][:MOST_LIKELY]


def _address(answer: MonitorAnswer, verdict: Verdict) -> str | None:
    """Return the name by which the user asks to be called; `None` if the user did not say it."""
    name, told = answer.address, [one for one in verdict.said if one.speaker is Speaker.USER]
    return name if name and any(find_quote(name, one.text) for one in told) else None


def unknown_handles(answer: MonitorAnswer, shown: Sequence[Memory]) -> str:
    """Return a line for each handle in the answer that was not shown."""
    return "".join(f"{line}\n" for line in not_shown(handles(answer), by_handle(shown)))


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
    reading = ParseContext(
        now=now,
        zone=persona.zone,
        speakers=called,
        topics=exchange.topics,
        keep_both=keep_both,
    )
    return Verdict(
        id=verdict_id(turns),
        user_id=turns[0].user_id,
        agent_id=turns[0].agent_id,
        sphere=turns[0].sphere,
        at=now,
        reason=answer.reason,
        ops=to_ops(answer, reading),
        shown={handle: memory.id for handle, memory in by_handle(shown).items()},
        injected=frozenset(exchange.whispered),
        said=tuple(exchange.said),
        earlier=tuple(exchange.earlier[-EARLIER_SHOWN:]),
        known=tuple(memory.content for memory in shown),
        called=called,
        hidden=tuple(answer.hide),
        talk_since=exchange.began,
        **signed,
    )
