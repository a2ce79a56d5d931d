"""CueWriter: gives memories cues, the situations in which they should come to mind.

The agent is one task (see `task`).
"""

from collections.abc import Sequence
from datetime import datetime

from pydantic import BaseModel, ConfigDict

from souffleur.agents.fields import (
    MAX_CUE_LENGTH,
    Cues,
    Handle,
    Many,
    Remark,
    Shown,
    by_handle,
    not_shown,
)
from souffleur.agents.task import Context, Task, ask_task
from souffleur.knowledge.identity import reading_sphere
from souffleur.knowledge.memory import Memory
from souffleur.knowledge.operation import (
    ActorKind,
    Cue,
    LedgerEntry,
    Skip,
    Verdict,
    derive_id,
)
from souffleur.knowledge.text.plain import single_line
from souffleur.prompts import render


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


class CueWriter:
    """Writes cues."""

    def __init__(self, context: Context) -> None:
        self.context = context

    async def run(
        self, memories: Sequence[Memory], *, now: datetime, dry_run: bool = False
    ) -> list[LedgerEntry]:
        """Give cues to at most about 25 memories of one user and persona; return ledger entries.

        Skips memories that changed during the call. Raises EndpointError or AnswerError if there
        was no usable answer, ValueError if the memories belong to several users or personas;
        nothing has changed then.
        """
        if len({(memory.user_id, memory.agent_id, memory.sphere) for memory in memories}) != 1:
            raise ValueError("memories that are given cues together are of one user and persona")
        context, shown, one = self.context, by_handle(memories), memories[0]
        contents = "\n".join(memory.content for memory in memories)
        brief = await context.brief("cues", one.user_id, one.agent_id, contents)
        answered = await ask_task(
            context.judge,
            Task(
                "cues",
                brief.rules,
                brief.language,
                render("to_cue", brief.language, memories=_list(shown)),
                CuesAnswer,
                fault=lambda answer: _faults(answer, shown),
                repair="repair_task",
            ),
        )
        ids = [memory.id for memory in memories]
        current = await context.knowledge.get_many(one.user_id, ids)
        unchanged = {memory.id for memory in current if memory in memories}
        reason = answered.value.reason
        cues = {shown[named.id].id: tuple(named.cues) for named in answered.value.memories}
        ops = [Cue(target=id, reason=reason, cues=cues[id]) for id in cues if id in unchanged]
        verdict = Verdict(
            id=derive_id("cues", *(part for id in cues for part in (id, now.isoformat()))),
            user_id=one.user_id,
            agent_id=one.agent_id,
            sphere=reading_sphere(one.sphere),
            at=now,
            reason=reason,
            ops=tuple(ops) or (Skip(reason="all were changed meanwhile"),),
            **answered.signed(ActorKind.CUE_WRITER, brief.stamp),
        )
        return await context.carry_out(verdict, dry_run=dry_run)


def _list(shown: Shown) -> str:
    return "\n".join(
        f"{handle} [{memory.kind}] {single_line(memory.content)}"
        for handle, memory in shown.items()
    )


def _faults(answer: CuesAnswer, shown: Shown) -> str:
    """Return a line for each fault that makes the answer unusable."""
    named = [one.id for one in answer.memories]
    without = [one.id for one in answer.memories if not one.cues]
    missing = [handle for handle in shown if handle not in named]
    found = not_shown(sorted(set(named)), shown)
    found += [f"- {handle} has no cue of at most {MAX_CUE_LENGTH} characters" for handle in without]
    found += [f"- {handle} is missing" for handle in missing]
    return "\n".join(found)
