"""ConflictResolver: of two memories that exclude each other now, the one that no longer holds ends.

START -> gather -> judge -> check -> apply -> END
                     ^--------' once, if the answer was unusable
"""

from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from typing import TypedDict

from langgraph.runtime import Runtime

from souffleur.agents.chat import Message, Usage
from souffleur.agents.conflict_answer import (
    FIRST,
    RulingAnswer,
    faults,
    list_asked,
    list_rivals,
    to_op,
)
from souffleur.agents.exchange import Persona, clock
from souffleur.agents.handles import by_handle
from souffleur.agents.rounds import (
    Context,
    Update,
    ask,
    begin,
    compile_rounds,
    run_graph,
    settled,
)
from souffleur.knowledge.knowledge_base import KnowledgeBase
from souffleur.knowledge.memory import Memory, MemoryState
from souffleur.knowledge.memory_codec import fingerprint
from souffleur.knowledge.operation import Actor, ActorKind, LedgerEntry, Op, Verdict
from souffleur.knowledge.upkeep.conflict_sets import (
    ConflictSet,
    conflict_entry_id,
    conflict_verdict_id,
)
from souffleur.prompts import render, stamp


class ConflictState(TypedDict, total=False):
    """One run: one memory and its rivals."""

    now: datetime
    dry_run: bool
    """Whether to report the result only, and change nothing."""
    persona: Persona
    language: str
    shown: dict[str, Memory]
    """The memory as m1, its rivals as m2, m3, …"""
    messages: list[Message]
    answer: RulingAnswer | None
    problem: str
    rounds: int
    usage: Usage
    model: str
    outcomes: list[LedgerEntry]


async def gather(state: ConflictState, runtime: Runtime[Context]) -> Update:
    """Write the question."""
    shown = state["shown"]
    one = next(iter(shown.values()))
    contents = "\n".join(memory.content for memory in shown.values())
    brief = await runtime.context.brief("arbitrate", one.user_id, one.agent_id, contents)
    persona, language = brief.persona, brief.language
    question = render(
        "rivals",
        language,
        now=clock(state["now"], persona.zone, language),
        memories=list_rivals(shown, persona.zone),
        pairs=list_asked(shown),
    )
    return {"persona": persona, "language": language, **begin(brief.rules, question)}


async def judge(state: ConflictState, runtime: Runtime[Context]) -> Update:
    """Ask the model."""
    return await ask(state, runtime.context.judge, RulingAnswer, "arbitrate")


async def check(state: ConflictState, runtime: Runtime[Context]) -> Update:
    """Find what makes the answer unusable; report it to the model, once."""
    answer = state["answer"]
    problem = state["problem"] or (faults(answer, state["shown"]) if answer else "")
    return settled(state, problem, "repair_task")


async def apply(state: ConflictState, runtime: Runtime[Context]) -> Update:
    """Rule on each pair in its present state; not if one was reworded or ended meanwhile.

    Each pair has its own verdict, since one memory may exclude several.
    """
    knowledge, shown, answer = runtime.context.knowledge, state["shown"], state["answer"]
    assert answer is not None
    carry = knowledge.preview if state["dry_run"] else knowledge.apply
    outcomes: list[LedgerEntry] = []
    ended: set[str] = set()
    for handle in list(shown)[1:]:
        asked = {name: shown[name] for name in (FIRST, handle)}
        pair = await _as_they_are(knowledge, asked)
        if len(pair) < 2 or ended & {memory.id for memory in pair.values()}:
            continue
        op = to_op(answer.of(handle), pair, state["now"], state["persona"].zone)
        cost = {} if outcomes else asdict(state["usage"])
        done = await carry(_verdict(state, list(pair.values()), op, cost))
        changed = [change.after for outcome in done for change in outcome.changes]
        ended |= {memory.id for memory in changed if memory.state is not MemoryState.ACTIVE}
        outcomes += done
    return {"outcomes": outcomes}


class ConflictResolver:
    """The graph, compiled once."""

    def __init__(self, context: Context) -> None:
        self.graph = compile_rounds(
            "arbiter", ConflictState, Context, gather=gather, ask=judge, check=check, apply=apply
        )
        self.context = context

    async def run(
        self, rivals: ConflictSet, *, now: datetime, dry_run: bool = False
    ) -> list[LedgerEntry]:
        """Judge a memory and its conflict set in one call; return the ledger entry of each pair.

        A CONTRADICT if the two exclude each other, a SKIP if they do not; no entry if one was
        reworded or ended meanwhile. Pairs that were ruled on before, in the same words, are not
        asked about again, even if that was undone: their former entries come first. The usage of
        the call is the `cost` of the first new entry.
        Raises EndpointError or AnswerError if no usable answer was given, ValueError for memories
        of several users or personas; then nothing has changed.
        """
        everyone = (rivals.memory, *rivals.others)
        if len({(memory.user_id, memory.agent_id, memory.sphere) for memory in everyone}) != 1:
            raise ValueError("rivals are of one user and one persona: see `find_conflict_sets`")
        decided = await self._decided(rivals)
        ruled = {outcome.verdict_id for outcome in decided}
        left = [
            one for one in rivals.others if conflict_verdict_id(rivals.memory, one) not in ruled
        ]
        asked = by_handle((rivals.memory, *left))
        current = await _as_they_are(self.context.knowledge, asked)
        if FIRST not in current or len(current) < 2:
            return decided
        given = {"shown": by_handle(current.values()), "now": now, "dry_run": dry_run}
        state = await run_graph(self.graph, given, self.context)
        outcomes: list[LedgerEntry] = state["outcomes"]
        return decided + outcomes

    async def _decided(self, rivals: ConflictSet) -> list[LedgerEntry]:
        """Return the entries of earlier verdicts on these; finish what a crash cut off."""
        entries = [conflict_entry_id(rivals.memory, other) for other in rivals.others]
        return await self.context.knowledge.settled_entries(entries)


async def _as_they_are(knowledge: KnowledgeBase, shown: dict[str, Memory]) -> dict[str, Memory]:
    """Return the present versions of these memories that are active and in the same words."""
    memories = list(shown.values())
    ids = [memory.id for memory in memories]
    current = {memory.id: memory for memory in await knowledge.get_many(memories[0].user_id, ids)}
    return {
        handle: current[memory.id]
        for handle, memory in shown.items()
        if memory.id in current
        and fingerprint(current[memory.id].content) == fingerprint(memory.content)
    }


def _verdict(
    state: ConflictState, pair: Sequence[Memory], op: Op, cost: dict[str, float]
) -> Verdict:
    prompt = stamp("arbitrate", state["language"])
    return Verdict(
        id=conflict_verdict_id(*pair),
        user_id=pair[0].user_id,
        agent_id=pair[0].agent_id,
        by=Actor(who=ActorKind.ARBITER, model=state["model"], prompt=prompt),
        at=state["now"],
        ops=(op,),
        cost=cost,
    )
