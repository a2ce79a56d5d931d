"""ConversationSummarizer: writes an episode from turns that have left the window.

The agent is one task (see `task`). An answer with names that nobody said is sent back once.
"""

import asyncio
from collections.abc import Sequence, Set as AbstractSet
from typing import Any
from zoneinfo import ZoneInfo

from pydantic import BaseModel, ConfigDict

from souffleur.agents.brief import NONE, clock, talk, turns_to_judge
from souffleur.agents.fields import Cues, Many, Names, Note, Remark
from souffleur.agents.task import Brief, Context, Task, ask_task
from souffleur.errors import AnswerError
from souffleur.knowledge.knowledge_base import KnowledgeBase
from souffleur.knowledge.memory import Category, Kind, Memory
from souffleur.knowledge.operation import (
    Actor,
    ActorKind,
    Add,
    Forget,
    LedgerEntry,
    Op,
    Refusal,
    Update,
    Verdict,
    derive_id,
)
from souffleur.knowledge.privacy.groups import NEVER_KEPT, Group
from souffleur.knowledge.privacy.secrets import find_secret
from souffleur.knowledge.session import MIN_EPISODE_MESSAGES, Segment
from souffleur.knowledge.text import counting
from souffleur.knowledge.text.plain import is_blank, single_line
from souffleur.knowledge.turn import Turn
from souffleur.prompts import render

MAX_FIELD_LENGTH = 400
"""Maximum characters of the summary of an episode, and of each of its facts."""
MAX_FACTS = 8
MADE = frozenset({"ADD", "UPDATE"})
"""Ops that write an episode."""
TOPICS = range(3, 6)


class EpisodeAnswer(BaseModel):
    """A whole answer: the argument first."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    reason: Remark
    small_talk: bool
    line: str = ""
    topics: Names = []
    intent: Remark = ""
    tone: Remark = ""
    key_facts: Many[str] = []
    unresolved: Note = None
    cues: Cues = []


def faults(answer: EpisodeAnswer, withheld: AbstractSet[Group] = NEVER_KEPT) -> str:
    """Return the faults that make the answer unusable, a line for each; empty if it is usable.

    The answer may hold no sensitive data of the `withheld` groups.
    """
    if answer.small_talk:
        return ""
    texts = (
        *(answer.line, answer.intent, answer.tone, answer.unresolved or ""),
        *answer.key_facts,
        *answer.topics,
    )
    secrets = {secret for text in texts if (secret := find_secret(text, withheld))}
    found = [f"it holds {secret}: leave it out" for secret in sorted(secrets)]
    if is_blank(answer.line):
        found.append("line: is empty, and it is no small talk")
    if len(answer.line) > MAX_FIELD_LENGTH:
        found.append(f"line: is longer than {MAX_FIELD_LENGTH} characters")
    if any(map(is_blank, answer.key_facts)):
        found.append("key_facts: one is empty")
    if any(len(fact) > MAX_FIELD_LENGTH for fact in answer.key_facts):
        found.append(f"key_facts: one is longer than {MAX_FIELD_LENGTH} characters")
    if len(answer.topics) not in TOPICS:
        found.append(f"topics: must be three to five (there are {len(answer.topics)})")
    return "\n".join(f"- {fault}" for fault in found)


def unfounded(answer: EpisodeAnswer, said: str, called: Sequence[str] = ()) -> str:
    """Return names and numbers of the answer that are not in the talk.

    Dates and counts may follow from the talk. `called` are the names of the speakers.
    """
    text = "\n".join((answer.line, *answer.key_facts, answer.unresolved or ""))
    return "\n".join(f"- {one.text}" for one in counting.unfounded(text, said, called))


def to_ops(
    answer: EpisodeAnswer, segment: Segment, former: Memory | None, zone: ZoneInfo
) -> tuple[Op, ...]:
    """Return the operation for an answer; no operation for small talk.

    `former` is the episode that was written from an earlier version of the segment.
    """
    if answer.small_talk:
        return (Forget(target=former.id, reason=answer.reason),) if former else ()
    fields: dict[str, Any] = {
        "reason": answer.reason,
        "quote": "",
        "content": f"[{segment.since.astimezone(zone):%Y-%m-%d %H:%M}] {single_line(answer.line)}",
        "kind": Kind.MOMENT,
        "topics": tuple(answer.topics),
        "cues": tuple(answer.cues),
        "valid_from": segment.since,
        "data": {
            "segment_id": segment.id,
            "session_id": segment.session_id,
            "messages": segment.messages,
            "intent": answer.intent,
            "tone": answer.tone,
            "key_facts": [single_line(fact) for fact in answer.key_facts[:MAX_FACTS]],
            "unresolved": answer.unresolved,
        },
    }
    if former:
        return (Update(target=former.id, **fields),)
    return (Add(category=Category.EPISODE, **fields),)


class ConversationSummarizer:
    """Writes episodes."""

    def __init__(self, context: Context) -> None:
        self.context = context

    async def run(self, segment: Segment) -> str | None:
        """Summarise a segment; return the id of its episode, `None` if it is not worth an episode.

        A segment that already has its episode needs no call. Raises EndpointError or AnswerError if
        there was no usable answer; nothing has changed then.
        """
        knowledge = self.context.knowledge
        episode_id = derive_id("memory", episode_verdict_id(segment), 0)
        if await knowledge.memories.get([episode_id]):  # a crash came between the two writes
            return episode_id
        held = await knowledge.sessions.turns(segment)
        turns = [turn for turn in held if not turn.hidden]
        short = sum(turn.messages for turn in turns) < MIN_EPISODE_MESSAGES
        in_part = short or any(turn.expunged for turn in turns)
        if in_part and (former := await _former(knowledge, segment)):
            if any(turn.hidden and not turn.expunged for turn in held):  # forgotten meanwhile
                await knowledge.apply(_withdrawal(former, segment))
                return None
            return former.id  # too few turns are left to write the episode again
        if short:
            return None
        made = [entry for entry in await self._write(segment, turns) if entry.op in MADE]
        if not made:
            return None
        if made[0].refused is Refusal.USELESS and segment.episode_id:
            return segment.episode_id  # the new summary says the same
        if made[0].refused:
            raise AnswerError(f"the episode was refused: {made[0].detail}")
        return made[0].changes[0].after.id

    async def _write(self, segment: Segment, turns: Sequence[Turn]) -> list[LedgerEntry]:
        """Write the episode; for small talk, no ledger entry or a FORGET of the former episode."""
        context, knowledge = self.context, self.context.knowledge
        spoken = "\n".join(turn.user for turn in turns)
        brief = await context.brief("episode", segment.user_id, segment.agent_id, spoken)
        before = await _before(knowledge, segment)
        former = await _former(knowledge, segment)

        async def doubt(answer: EpisodeAnswer) -> str:
            said = [said for turn in turns for said in turn.said()]
            day = clock(segment.since, brief.persona.zone, brief.language)
            talked = f"{day}\n{talk(said, brief.persona, brief.language)}"
            called = brief.persona.called
            alien = await asyncio.to_thread(unfounded, answer, talked, called)  # texts may be long
            return alien and render("unfounded", brief.language, problems=alien)

        answered = await ask_task(
            context.judge,
            Task(
                "episode",
                brief.rules,
                brief.language,
                question(segment, turns, before, brief),
                EpisodeAnswer,
                fault=lambda answer: faults(answer, knowledge.withheld),
                doubt=doubt,
            ),
        )
        ops = to_ops(answered.value, segment, former, brief.persona.zone)
        verdict = Verdict(
            id=episode_verdict_id(segment),
            user_id=segment.user_id,
            agent_id=segment.agent_id,
            sphere=segment.sphere,
            at=segment.at,
            learned_at=context.learned_at,
            reason=answered.value.reason,
            ops=ops,
            **answered.signed(ActorKind.SUMMARIZER, brief.stamp),
        )
        return await knowledge.apply(verdict) if ops else []


def question(segment: Segment, turns: Sequence[Turn], before: Memory | None, brief: Brief) -> str:
    """Return the question about a segment; `before` is the episode before it."""
    persona, language = brief.persona, brief.language
    return render(
        "stretch",
        language,
        since=clock(segment.since, persona.zone, language),
        until=clock(segment.at, persona.zone, language),
        before=single_line(before.content) if before else NONE[language],
        talk=turns_to_judge(turns, persona, language),
    )


def episode_verdict_id(segment: Segment) -> str:
    """Return the id of the verdict on this version of a segment, the same for a second summary."""
    return derive_id("episode", segment.id, segment.version)


async def _before(knowledge: KnowledgeBase, segment: Segment) -> Memory | None:
    """Return the episode of the previous segment in the same session."""
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
    """Return the verdict that forgets an episode because too few of its turns are left."""
    return Verdict(
        id=derive_id("episode withdrawn", segment.id, segment.version),
        user_id=segment.user_id,
        agent_id=segment.agent_id,
        sphere=segment.sphere,
        by=Actor(who=ActorKind.SUMMARIZER),
        at=segment.at,
        ops=(Forget(target=former.id, reason="most of what it was told from is forgotten"),),
    )
