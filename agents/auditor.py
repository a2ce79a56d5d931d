"""Auditor: reads all memories of a person together, and mends what no longer holds.

The agent is one task (see `task`). An answer that loses or invents a detail is sent back once; what
is invented all the same is refused by code (see `check`).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict

from souffleur.agents.brief import NONE, clock, known_line
from souffleur.agents.fields import Handle, Many, NewWords, Remark, Shown, by_handle, in_capitals
from souffleur.agents.task import Answered, Brief, Context, Task, ask_task
from souffleur.knowledge.identity import reading_sphere
from souffleur.knowledge.memory import NOT_LEARNED, Memory
from souffleur.knowledge.operation import (
    ActorKind,
    Close,
    Delete,
    LedgerEntry,
    Merge,
    Op,
    Skip,
    Update,
    Verdict,
    derive_id,
)
from souffleur.knowledge.portrait_rule import PortraitStatus
from souffleur.knowledge.search.periods import open_matter
from souffleur.knowledge.text.details import missing
from souffleur.knowledge.text.plain import single_line
from souffleur.prompts import render

AUDIT_PERIOD = timedelta(days=7)
"""Time after which memories are read again if there are new ones."""
MAX_READ = 300
"""Maximum memories in a request."""
MAX_OPEN = 20
"""Maximum episodes with an open matter in a request."""


class Finding(BaseModel):
    """A change of memories that do not fit together: the argument first."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    reason: Remark
    op: Annotated[Literal["UPDATE", "DELETE", "MERGE"], BeforeValidator(in_capitals)]
    memories: list[Handle]
    """The memory that changes, then those that it rests on; for MERGE, all that become one."""
    content: NewWords = None
    """The new words; none for DELETE."""

    @property
    def changed(self) -> list[str]:
        """The handles of the memories that change."""
        return self.memories if self.op == "MERGE" else self.memories[:1]


class AuditAnswer(BaseModel):
    """A whole answer: the argument first."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    reason: Remark
    findings: Many[Finding] = []
    closed: Many[Handle] = []
    """The handles of the episodes whose open matter is over."""


@dataclass(frozen=True)
class Reading:
    """What an audit reads of a person in one sphere."""

    memories: Shown
    episodes: Shown
    """Episodes with an open matter."""
    brief: Brief
    now: datetime

    def line(self, memory: Memory) -> str:
        """Return a memory as the model sees it."""
        return known_line(memory, self.brief.persona.zone)

    def of(self, handles: Sequence[str]) -> list[Memory]:
        """Return the memories with these handles, each once."""
        return [self.memories[handle] for handle in dict.fromkeys(handles)]

    def grounds(self, finding: Finding) -> tuple[str, ...]:
        """Return the texts that a finding may rest on: its memories, with their quotes."""
        named = self.of(finding.memories)
        quotes = (item.quote for one in named for item in one.evidence)
        return (*map(self.line, named), *quotes)


def is_due(memories: Sequence[Memory], status: PortraitStatus, now: datetime) -> bool:
    """Return whether there are new memories, and none were read together for a week."""
    made = [one.created_at for one in memories]
    if not made or (status.audited_at and max(made) <= status.audited_at):
        return False
    return now - (status.audited_at or min(made)) >= AUDIT_PERIOD


def is_read(memory: Memory) -> bool:
    """Return whether an audit reads a memory: no episodes, portraits and definitions."""
    return memory.category not in NOT_LEARNED


def select(memories: Sequence[Memory], since: datetime | None) -> list[Memory]:
    """Return the memories to read, by topic; of too many, those of topics with news come first."""
    fresh = {_topic(one) for one in memories if since is None or one.created_at > since}
    ordered = sorted(memories, key=lambda one: (_topic(one) not in fresh, -one.importance))
    return sorted(ordered[:MAX_READ], key=lambda one: (_topic(one), one.created_at, one.id))


class Auditor:
    """Reads all memories of a person in a sphere, and changes what no longer holds."""

    def __init__(self, context: Context) -> None:
        self.context = context

    async def run(
        self, user_id: str, sphere: str, *, now: datetime, dry_run: bool = False
    ) -> list[LedgerEntry]:
        """Read what is known of a user in a sphere in one call; return the ledger entries.

        If nothing must change, the entry is a SKIP. Memories that changed during the call are left
        alone. Raises EndpointError or AnswerError if there was no usable answer; nothing has
        changed then.
        """
        knowledge, sessions = self.context.knowledge, self.context.knowledge.sessions
        status = await sessions.portrait_status(user_id, sphere)
        known = [one for one in await knowledge.list(user_id, now=now) if one.sphere == sphere]
        memories = list(filter(is_read, known))
        if not memories:
            return []
        spoken = "\n".join(one.content for one in memories)
        brief = await self.context.brief("audit", user_id, memories[-1].agent_id, spoken)
        opened = [one for one in known if open_matter(one, now)][-MAX_OPEN:]
        read = by_handle(select(memories, status.audited_at))
        reading = Reading(read, by_handle(opened, "e"), brief, now)
        answered = await ask_task(self.context.judge, _task(reading))
        ids = [one.id for one in (*memories, *opened)]
        current = {one.id: one for one in await knowledge.get_many(user_id, ids)}
        entries: list[LedgerEntry] = []
        for verdict in _verdicts(answered, reading, memories[-1], current):
            entries += await self.context.carry_out(verdict, dry_run=dry_run)
        if not dry_run:
            status = await sessions.portrait_status(user_id, sphere)
            await sessions.save_portrait_status(status.model_copy(update={"audited_at": now}))
        return entries


def _topic(memory: Memory) -> str:
    return next(iter(memory.topics), "")


def _task(reading: Reading) -> Task[AuditAnswer]:
    language, zone = reading.brief.language, reading.brief.persona.zone
    question = render(
        "to_audit",
        language,
        now=clock(reading.now, zone, language),
        memories="\n".join(_by_topic(reading)),
        open="\n".join(_open_matters(reading)) or NONE[language],
    )
    return Task(
        "audit",
        reading.brief.rules,
        language,
        question,
        AuditAnswer,
        fault=lambda answer: _faults(answer, reading),
        doubt=lambda answer: _doubt(answer, reading),
        repair="repair_task",
    )


def _by_topic(reading: Reading) -> Iterator[str]:
    topic = ""
    for handle, memory in reading.memories.items():
        if _topic(memory) != topic:
            topic = _topic(memory)
            yield f"### {topic}"
        yield f"{handle} {reading.line(memory)}"


def _open_matters(reading: Reading) -> Iterator[str]:
    for handle, episode in reading.episodes.items():
        yield f"{handle} {single_line(str(episode.data['unresolved']))} ({episode.content})"


def _faults(answer: AuditAnswer, reading: Reading) -> str:
    """Return a line for each fault that makes the answer unusable."""
    named = {handle for one in answer.findings for handle in one.memories}
    unknown = (named - reading.memories.keys()) | (set(answer.closed) - reading.episodes.keys())
    found = [f"{handle} is none of those that were shown" for handle in sorted(unknown)]
    for one in answer.findings:
        least = 1 if one.op == "UPDATE" else 2
        if len(set(one.memories)) < least:
            found.append(f"{one.op} names at least {least} of the memories")
        if not one.content and one.op != "DELETE":
            found.append(f"{one.op} of {', '.join(one.memories)} has no content")
    return "\n".join(f"- {fault}" for fault in found)


async def _doubt(answer: AuditAnswer, reading: Reading) -> str:
    """Return the message about details that the new words lose or invent."""
    problems = [line for one in answer.findings for line in _unfaithful(one, reading)]
    language = reading.brief.language
    return render("unfaithful", language, problems="\n".join(problems)) if problems else ""


def _unfaithful(finding: Finding, reading: Reading) -> Iterator[str]:
    if finding.op == "DELETE" or finding.content is None:
        return
    where = ", ".join(finding.memories)
    called = "\n".join(reading.brief.persona.called)
    changed = "\n".join(one.content for one in reading.of(finding.changed))
    rest = "\n".join(one.content for one in reading.of(finding.memories[len(finding.changed) :]))
    names = [name for one in reading.of(finding.memories) for name in one.entities]
    known = "\n".join((called, *reading.grounds(finding)))
    for detail in missing(finding.content, known, names):
        yield f"- {where}: {detail.text!r} is in none of these memories"
    for detail in missing(changed, f"{called}\n{finding.content}\n{rest}", names):
        yield f"- {where}: {detail.text!r} is lost"


def _verdicts(
    answered: Answered[AuditAnswer], reading: Reading, latest: Memory, current: Mapping[str, Memory]
) -> Iterator[Verdict]:
    """Yield a verdict for each change, as each rests on its own memories; the first has the cost.

    Leaves out changes that rest on a memory that was changed during the call.
    """
    answer, signed = answered.value, answered.signed(ActorKind.AUDITOR, reading.brief.stamp)

    def stands(memory: Memory) -> bool:
        now = current.get(memory.id)
        return now is not None and (now.state, now.content) == (memory.state, memory.content)

    findings = (one for one in answer.findings if all(map(stands, reading.of(one.memories))))
    every = [(_op(one, reading), reading.grounds(one)) for one in findings]
    over = (reading.episodes[handle] for handle in dict.fromkeys(answer.closed))
    every += [(Close(target=one.id, reason=answer.reason), ()) for one in over if stands(one)]
    for place, (op, known) in enumerate(every or [(Skip(reason=answer.reason), ())]):
        yield Verdict(
            id=derive_id("audit", latest.user_id, latest.sphere, reading.now.isoformat(), place),
            user_id=latest.user_id,
            agent_id=latest.agent_id,
            sphere=reading_sphere(latest.sphere),
            at=reading.now,
            reason=answer.reason,
            ops=(op,),
            known=known,
            called=reading.brief.persona.called,
            **(signed | ({"cost": {}} if place else {})),
        )


def _op(finding: Finding, reading: Reading) -> Op:
    first, *_ = named = reading.of(finding.memories)
    reason = finding.reason
    match finding.op:
        case "UPDATE":
            content, cues = finding.content, first.cues
            return Update(target=first.id, reason=reason, quote="", content=content, cues=cues)
        case "DELETE":
            return Delete(target=first.id, reason=reason, quote="")
        case "MERGE":
            targets = tuple(one.id for one in named)
            return Merge(targets=targets, reason=reason, content=finding.content)
