"""ProfileWriter: writes the next portrait of a user from the former portrait and later records.

The agent is one task (see `task`). An answer that loses or invents a detail, or is too long, is
sent back once; what a second answer loses is noted, and what is too long is cut at its end.
"""

import asyncio
from collections.abc import Sequence, Set as AbstractSet
from dataclasses import dataclass, field
from datetime import datetime
from itertools import accumulate
from typing import Any

from pydantic import BaseModel, ConfigDict

from souffleur.agents.brief import NONE, clock
from souffleur.agents.fields import Many, Note, Remark
from souffleur.agents.task import Brief, Context, Task, ask_task
from souffleur.errors import AnswerError
from souffleur.knowledge.forgetting.subject import Subject, SubjectFinder
from souffleur.knowledge.identity import COMMON, agent_of
from souffleur.knowledge.knowledge_base import KnowledgeBase
from souffleur.knowledge.memory import Category, Kind, Memory, MemoryState
from souffleur.knowledge.operation import (
    PURGED,
    ActorKind,
    Add,
    Importance,
    Op,
    Refusal,
    Update,
    Verdict,
    derive_id,
)
from souffleur.knowledge.portrait_rule import (
    forgotten_in,
    without_forgotten,
    without_outdated,
)
from souffleur.knowledge.privacy.groups import NEVER_KEPT, Group
from souffleur.knowledge.privacy.secrets import find_secret
from souffleur.knowledge.search.words import is_spaced, split
from souffleur.knowledge.text import counting
from souffleur.knowledge.text.details import Detail, missing
from souffleur.knowledge.text.plain import is_blank, single_line
from souffleur.knowledge.text.sentences import sentences
from souffleur.prompts import render

MAX_KNOWN_MEMORIES = 40
"""Maximum memories for a portrait: core memories first, then the most valuable."""
MAX_EPISODES = 10
MAX_PORTRAIT_LENGTH = 1800
"""Maximum characters of a portrait."""
PARAGRAPHS = range(3, 6)


class Dropped(BaseModel):
    """A detail of the former portrait that no longer holds."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    detail: Remark
    why: Remark


class PortraitAnswer(BaseModel):
    """A whole answer: the argument first."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    reason: Remark
    name: Note = None
    occupation: Note = None
    paragraphs: list[str]
    changes: Many[Remark] = []
    dropped: Many[Dropped] = []

    @property
    def text(self) -> str:
        """The narrative."""
        return "\n\n".join(" ".join(paragraph.split()) for paragraph in self.paragraphs)

    @property
    def words(self) -> str:
        """All texts of the answer that would be stored."""
        dropped = [words for one in self.dropped for words in (one.detail, one.why)]
        return "\n".join(
            (self.text, self.name or "", self.occupation or "", *self.changes, *dropped)
        )


@dataclass(frozen=True)
class Sources:
    """The texts that a portrait is written from."""

    former: Memory | None
    """The current version, or else the latest in any state; forgotten details are cut from it."""
    material: str
    """Memories and new episodes, as the model sees them."""
    names: tuple[str, ...]
    """Names known from memories."""
    until: datetime
    """When the newest episode ended."""
    versions: int = 0
    """Number of versions so far, including undone versions."""
    elsewhere: str = ""
    """Contents of all current memories and episodes, and of memories that are over or corrected. A
    portrait may leave out details that stand here."""

    forgotten: SubjectFinder = field(default_factory=lambda: SubjectFinder(Subject()))
    """Finds details of the former portrait that are forgotten."""


def faults(
    answer: PortraitAnswer, sources: Sources, withheld: AbstractSet[Group] = NEVER_KEPT
) -> str:
    """Return the faults that make the answer unusable, a line for each; empty if it is usable.

    The answer may hold no sensitive data of the `withheld` groups.
    """
    found = []
    if len(answer.paragraphs) not in PARAGRAPHS:
        found.append(f"paragraphs: must be three to five (there are {len(answer.paragraphs)})")
    if any(map(is_blank, answer.paragraphs)):
        found.append("paragraphs: one is empty")
    if secret := find_secret(answer.words, withheld):
        found.append(f"it holds {secret}: leave it out")
    found += [
        f"it tells what is not to be told, leave it out: {line!r}"
        for paragraph in answer.paragraphs
        for line in sources.forgotten.lines(paragraph)
    ]
    return "\n".join(f"- {fault}" for fault in found)


def known_alone(sources: Sources) -> list[str]:
    """Return the names, numbers and dates that only the former portrait holds."""
    return [one.text for one in _gone(sources, "")]


def lost(answer: PortraitAnswer, sources: Sources) -> list[str]:
    """Return the names, numbers and dates of the former portrait that nothing would hold any more.

    A count or an age is not lost if it follows from known records.
    """
    dropped = [one.detail for one in answer.dropped]
    kept = (answer.text, answer.name or "", answer.occupation or "")
    gone = _gone(sources, "\n".join((*kept, *dropped)))
    left = [one for one in gone if not any(_is_part(words, one) for words in dropped)]
    return [one.text for one in left]


def unfounded(answer: PortraitAnswer, sources: Sources) -> list[str]:
    """Return names and numbers of the portrait that no source has.

    Dates, counts and ages may follow from the sources.
    """
    known = "\n".join((sources.former.content if sources.former else "", sources.material))
    alien = counting.unfounded(answer.text, known, sources.names, on=sources.until.date())
    return [one.text for one in alien]


def shortened(text: str) -> str:
    """Return a text without its last sentences that are over the limit of a portrait.

    >>> len(shortened("She bakes. " * 200)) <= MAX_PORTRAIT_LENGTH, shortened("She bakes.")
    (True, 'She bakes.')
    """
    lengths = accumulate(len(one) for one in sentences(text))
    fits = max((one for one in lengths if one <= MAX_PORTRAIT_LENGTH + 1), default=0)
    return text[:fits].strip()


def to_op(answer: PortraitAnswer, sources: Sources) -> Op:
    """Return the operation that writes the next version."""
    former = sources.former
    cut, told = sources.forgotten.cut, sources.forgotten.finds_or_may_find
    text = shortened(answer.text)
    whole = answer.model_copy(update={"paragraphs": text.split("\n\n")})
    left_out = [Dropped(detail=one, why="left out") for one in lost(whole, sources)]
    dropped = [
        one for one in (*answer.dropped, *left_out) if not (told(one.detail) or told(one.why))
    ]
    fields: dict[str, Any] = {
        "reason": reason_of(answer, sources),
        "quote": "",
        "content": text,
        "kind": Kind.FACT,
        "importance": Importance.HIGH,
        "data": {
            "version": sources.versions + 1,
            "name": cut(answer.name or "") or None,
            "occupation": cut(answer.occupation or "") or None,
            "changes": [one for one in answer.changes if not told(one)],
            "dropped": [one.model_dump() for one in dropped],
            "until": sources.until.isoformat(),
        },
    }
    if former and former.state in {MemoryState.ACTIVE, MemoryState.PENDING}:
        return Update(target=former.id, **fields)
    return Add(category=Category.PROFILE, **fields)


def reason_of(answer: PortraitAnswer, sources: Sources) -> str:
    """Return the reason without the sentences that may tell something forgotten."""
    told = sources.forgotten.finds_or_may_find
    return "".join(one for one in sentences(answer.reason) if not told(one)).strip()


def _gone(sources: Sources, kept: str) -> list[Detail]:
    """Return the details of the former portrait that neither the kept text nor a memory has."""
    former, names = sources.former, sources.names
    if former is None:
        return []
    on, known = former.created_at.date(), f"{kept}\n{sources.elsewhere}"
    return [
        one
        for one in missing(former.content, known, names)
        if not counting.follows(one, former.content, known, names, on=on)
    ]


def _is_part(words: str, detail: Detail) -> bool:
    """Return whether whole words are part of a detail, as `Roux` of `Ann Roux`; letters are not."""
    part, whole = _tokens(words), _tokens(detail.text)
    says = len(part) > 1 or (len(part) == 1 and is_spaced(part[0]))
    return says and any(whole[at : at + len(part)] == part for at in range(len(whole)))


def _tokens(text: str) -> list[str]:
    return [token for run in split(text) for token in run]


class ProfileWriter:
    """Writes portraits."""

    def __init__(self, context: Context) -> None:
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

        `former` is the current version, or else the latest; `episodes` are the later episodes,
        oldest first; `versions` is the highest version number so far; `sphere` is the common
        sphere, or that of a persona with `knows="own"`. Raises EndpointError or AnswerError if
        there was no usable answer; nothing has changed then.
        """
        knowledge = self.context.knowledge
        known = await _known(knowledge, user_id, now, sphere)
        episodes = episodes[-MAX_EPISODES:]
        lines = "\n".join(f"- [{memory.kind}] {single_line(memory.content)}" for memory in known)
        summaries = "\n\n".join(map(_tell, episodes))
        agent_id = agent_of(sphere) or _latest_agent(former, episodes)
        brief = await self.context.brief("portrait", user_id, agent_id, f"{lines}\n{summaries}")
        reader = SubjectFinder(forgotten_in(former, brief.persona.called))
        held = await _held(knowledge, user_id, sphere)
        sources = Sources(
            former=without_outdated(without_forgotten(former, reader), held) if former else None,
            forgotten=reader,
            material=f"{lines}\n\n{summaries}",
            names=tuple(dict.fromkeys(name for memory in known for name in memory.entities)),
            versions=versions,
            elsewhere="\n".join(map(_all_of, held)),
            until=max((episode.created_at for episode in episodes), default=now),
        )
        portrait = sources.former and _present(sources.former)
        alone = _listed(await asyncio.to_thread(known_alone, sources))
        question = render(
            "sources",
            brief.language,
            now=clock(now, brief.persona.zone, brief.language),
            portrait=portrait or render("cold_start", brief.language),
            alone="\n\n" + render("alone", brief.language, details=alone) if alone else "",
            known=lines or NONE[brief.language],
            episodes=summaries or NONE[brief.language],
        )
        answer, signed = await self._ask(brief, question, sources)
        # With the revision in the id, a new version after an undo gets another id.
        after = (former.id, former.revision) if former else ("",)
        verdict = Verdict(
            id=derive_id("portrait", user_id, *after, *filter(None, [sphere])),
            user_id=user_id,
            agent_id=agent_of(sphere) or "default",
            sphere=sphere,
            at=now,
            reason=f"{why}; {reason_of(answer, sources)}",
            ops=(await asyncio.to_thread(to_op, answer, sources),),
            **signed,
        )
        return await self._apply(verdict, former)

    async def _ask(
        self, brief: Brief, question: str, sources: Sources
    ) -> tuple[PortraitAnswer, dict[str, Any]]:
        """Return the usable answer, and the verdict fields about the judge and the cost."""
        language, withheld = brief.language, self.context.knowledge.withheld

        async def doubt(answer: PortraitAnswer) -> str:
            if len(answer.text) > MAX_PORTRAIT_LENGTH:
                return render("too_long", language, limit=MAX_PORTRAIT_LENGTH)
            if gone := await asyncio.to_thread(lost, answer, sources):
                return render("lost", language, details=_listed(gone))
            alien = await asyncio.to_thread(unfounded, answer, sources)
            return render("unfounded", language, problems=_listed(alien)) if alien else ""

        answered = await ask_task(
            self.context.judge,
            Task(
                "portrait",
                brief.rules,
                language,
                question,
                PortraitAnswer,
                fault=lambda answer: faults(answer, sources, withheld),
                doubt=doubt,
                repair="repair_task",
            ),
        )
        return answered.value, answered.signed(ActorKind.PROFILE_WRITER, brief.stamp)

    async def _apply(self, verdict: Verdict, former: Memory | None) -> Memory:
        (written,) = await self.context.knowledge.apply(verdict)
        if written.details == PURGED:  # this version was written before, and then erased
            anew = derive_id("portrait", verdict.id, verdict.at.isoformat())
            verdict = verdict.model_copy(update={"id": anew})
            (written,) = await self.context.knowledge.apply(verdict)
        if written.refused is Refusal.USELESS and former:  # the portrait still says everything
            return former
        if written.refused:
            raise AnswerError(f"the portrait was refused: {written.detail}")
        return written.changes[0].after


def _latest_agent(former: Memory | None, episodes: Sequence[Memory]) -> str:
    """Return the persona of the user's latest talk, according to the episodes."""
    latest = [*filter(None, [former]), *episodes][-1:]
    return latest[0].agent_id if latest else "default"


async def _held(knowledge: KnowledgeBase, user_id: str, sphere: str) -> list[Memory]:
    """Return the memories and episodes that may hold the details that leave the portrait.

    Memories that are over or corrected are included, as they explain why a detail leaves.
    """
    kept = (MemoryState.ACTIVE, MemoryState.SUPERSEDED)
    held = await knowledge.list(user_id, states=kept, sphere=sphere)
    return [memory for memory in held if memory.category is not Category.PROFILE]


async def _known(
    knowledge: KnowledgeBase, user_id: str, now: datetime, sphere: str
) -> list[Memory]:
    core = await knowledge.list(user_id, category=Category.CORE, now=now, sphere=sphere)
    best = await knowledge.most_valuable(user_id, limit=MAX_KNOWN_MEMORIES, now=now, sphere=sphere)
    every = {memory.id: memory for memory in (*core, *best)}
    return sorted(list(every.values())[:MAX_KNOWN_MEMORIES], key=lambda m: (m.created_at, m.id))


def _listed(lines: Sequence[str]) -> str:
    return "\n".join(f"- {one}" for one in lines)


def _tell(episode: Memory) -> str:
    facts = [f"- {single_line(str(fact))}" for fact in episode.data.get("key_facts", ())]
    unresolved = episode.data.get("unresolved")
    still_open = [f"- ? {single_line(str(unresolved))}"] if unresolved else []
    return "\n".join([single_line(episode.content), *facts, *still_open])


def _all_of(memory: Memory) -> str:
    """Return all texts of a memory or episode."""
    return "\n".join((memory.searchable, str(memory.data.get("unresolved") or "")))


def _present(portrait: Memory) -> str:
    named = (portrait.data.get(key) for key in ("name", "occupation"))
    head = [single_line(str(name)) for name in named if name]
    return "\n\n".join([*([" / ".join(head)] if head else []), portrait.content])
