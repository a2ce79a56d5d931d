"""BoundaryLinker: links boundaries with the memories that they are about, in any words.

The agent is one task (see `task`).
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime

from pydantic import BaseModel, ConfigDict

from souffleur.agents.fields import Handle, Many, Remark, Shown, by_handle, not_shown
from souffleur.agents.task import Context, Task, ask_task
from souffleur.knowledge.boundary_pairs import BoundaryTask, pair_mark
from souffleur.knowledge.identity import reading_sphere
from souffleur.knowledge.memory import Memory
from souffleur.knowledge.operation import (
    ActorKind,
    Guard,
    LedgerEntry,
    Skip,
    Verdict,
    derive_id,
)
from souffleur.knowledge.text.plain import single_line
from souffleur.prompts import render


class SpokenOf(BaseModel):
    """The memories that one boundary speaks of."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    id: Handle
    reason: Remark
    memories: Many[Handle]


class BoundariesAnswer(BaseModel):
    """A whole answer: the argument first."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    reason: Remark
    boundaries: Many[SpokenOf]


class BoundaryLinker:
    """Links boundaries."""

    def __init__(self, context: Context) -> None:
        self.context = context

    async def run(
        self, task: BoundaryTask, *, now: datetime, dry_run: bool = False
    ) -> list[LedgerEntry]:
        """Link boundaries with the memories that they are about; return the ledger entries.

        Skips memories that changed during the call. Raises EndpointError or AnswerError if there
        was no usable answer, ValueError if the memories are of several users; nothing has changed
        then.
        """
        asked = (*task.boundaries, *task.memories)
        if len({memory.user_id for memory in asked}) != 1:
            raise ValueError("boundaries and memories that are judged together are of one user")
        context, one = self.context, asked[0]
        boundaries, shown = by_handle(task.boundaries, "b"), by_handle(task.memories)
        contents = "\n".join(memory.content for memory in asked)
        brief = await context.brief("boundaries", one.user_id, one.agent_id, contents)
        lists = {"boundaries": _list(boundaries), "memories": _list(shown)}
        answered = await ask_task(
            context.judge,
            Task(
                "boundaries",
                brief.rules,
                brief.language,
                render("boundaries_question", brief.language, **lists),
                BoundariesAnswer,
                fault=lambda answer: _faults(answer, boundaries, shown),
                repair="repair_task",
            ),
        )
        held = await context.knowledge.get_many(one.user_id, [memory.id for memory in asked])
        current = {memory.id: memory for memory in held}
        ops = tuple(_guards(answered.value, boundaries, shown, current))
        verdict = Verdict(
            id=derive_id("boundaries", now.isoformat(), *((one.id, one.revision) for one in asked)),
            user_id=one.user_id,
            agent_id=one.agent_id,
            sphere=reading_sphere(one.sphere),
            at=now,
            reason=answered.value.reason,
            ops=ops or (Skip(reason="all were changed meanwhile"),),
            **answered.signed(ActorKind.BOUNDARY_LINKER, brief.stamp),
        )
        return await context.carry_out(verdict, dry_run=dry_run)


def _list(shown: Shown) -> str:
    return "\n".join(f"{handle} {single_line(one.content)}" for handle, one in shown.items())


def _faults(answer: BoundariesAnswer, boundaries: Shown, shown: Shown) -> str:
    """Return a line for each fault that makes the answer unusable."""
    named = Counter(one.id for one in answer.boundaries)
    spoken = {handle for one in answer.boundaries for handle in one.memories}
    found = [
        f"- {handle} is none of the boundaries that were shown"
        for handle in sorted(named.keys() - boundaries)
    ]
    found += not_shown(sorted(spoken), shown)
    found += [f"- {handle} is named more than once" for handle in boundaries if named[handle] > 1]
    found += [f"- {handle} is missing" for handle in boundaries if handle not in named]
    return "\n".join(found)


def _guards(
    answer: BoundariesAnswer, boundaries: Shown, shown: Shown, current: Mapping[str, Memory]
) -> Iterator[Guard]:
    """Yield the operation for each boundary that did not change during the call."""
    judged = [memory for memory in shown.values() if _is_unchanged(memory, current)]
    for named in answer.boundaries:
        boundary = boundaries[named.id]
        if _is_unchanged(boundary, current):
            spoken = {shown[handle].id for handle in named.memories}
            yield _guard(current[boundary.id], judged, spoken, named.reason)


def _is_unchanged(memory: Memory, current: Mapping[str, Memory]) -> bool:
    """Return whether a memory is active and still has the words that were judged."""
    return memory.id in current and current[memory.id].content == memory.content


def _guard(boundary: Memory, judged: Sequence[Memory], spoken: set[str], reason: str) -> Guard:
    linked = tuple(memory.id for memory in judged if memory.id in spoken)
    renewed = {id for memory in judged for id in (memory.id, *memory.supersedes)}
    return Guard(
        target=boundary.id,
        reason=reason,
        memories=linked,
        released=tuple(sorted(boundary.guarded & renewed - {*linked})),
        judged=tuple(pair_mark(boundary, memory) for memory in judged),
    )
