"""MemoryReviewer: thinks, searches, and decides on up to ten memories that are due.

START -> gather -> think -> decide -> END
                    ^  |
                    |  v
                   search              at most three rounds; an unusable answer is sent back once,
                                       and a memory that is not decided on is kept
"""

import asyncio
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, TypedDict

from langgraph.graph import END, START, StateGraph
from langgraph.runtime import Runtime
from pydantic import BaseModel, BeforeValidator, ConfigDict

from souffleur.agents.brief import NONE, Persona, both_said, clock
from souffleur.agents.fields import (
    MAX_REMARK_LENGTH,
    Handle,
    Many,
    NewWords,
    Note,
    Remark,
    Shown,
    by_handle,
    in_capitals,
    shorten,
)
from souffleur.agents.model.chat import Message, Usage
from souffleur.agents.task import (
    Brief,
    Context,
    Update,
    again,
    ask_once,
    begin,
    run_graph,
    unusable,
)
from souffleur.knowledge.decay import has_faded
from souffleur.knowledge.identity import reading_sphere
from souffleur.knowledge.memory import Due, Memory
from souffleur.knowledge.operation import (
    Actor,
    ActorKind,
    Delete,
    Keep,
    Promote,
    Update as Replace,
    Verdict,
    derive_id,
)
from souffleur.knowledge.policy import Policy
from souffleur.knowledge.search.query import EVERYWHERE, Found, Query, Scope
from souffleur.knowledge.text.plain import single_line
from souffleur.knowledge.turn import Turn
from souffleur.prompts import render

if TYPE_CHECKING:
    from langgraph.graph.state import CompiledStateGraph


MAX_TOGETHER = 10
"""Maximum memories in a review."""
MAX_REVIEW_ROUNDS = 3
"""Maximum number of rounds in which a reviewer thinks about them."""
MAX_RELATED = 3
"""Maximum related memories that are shown for each memory."""
MAX_HITS = 6
"""Maximum hits of a search."""
UNDECIDED = "no decision: it stays"
MARKS = {Due.PROMOTION: "core?", Due.REVIEW: "stay?"}
"""The question on a memory, as the model sees it."""


def review_id(memory: Memory) -> str:
    """Return the id of the verdict on this revision of a memory, the same for a second review."""
    return derive_id("review", memory.id, memory.revision)


class Action(StrEnum):
    """What a reviewer may decide."""

    PROMOTE = "PROMOTE"
    KEEP = "KEEP"
    UPDATE = "UPDATE"
    DELETE = "DELETE"


class DecisionAnswer(BaseModel):
    """The decision on one memory, the reason first."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    id: Handle
    reason: Remark
    action: Annotated[Action, BeforeValidator(in_capitals)]
    content: NewWords = None
    """The new words, for UPDATE."""


class ReviewAnswer(BaseModel):
    """The answer of one round: the argument first, then words to look for, or decisions."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    reason: Remark
    query: Note = None
    decisions: Many[DecisionAnswer] = []


class ReviewState(TypedDict, total=False):
    """The state of a run, which reviews memories of one user, persona and sphere."""

    shown: Shown
    now: datetime
    brief: Brief
    due: dict[str, Due]
    """The question on each memory: promotion or keeping."""
    material: list[str]
    """The texts that the model saw besides the memories."""
    messages: list[Message]
    answer: ReviewAnswer | None
    problem: str
    rounds: int
    searches: int
    repaired: bool
    trail: tuple[str, ...]
    """Reasons and searches so far, for the ledger."""
    usage: Usage
    model: str


@dataclass(frozen=True)
class Decision:
    """The result of a review of a memory; it is not carried out yet."""

    memory: Memory
    verdict: Verdict

    @property
    def op(self) -> Any:
        """PROMOTE, KEEP, UPDATE or DELETE."""
        return self.verdict.ops[0]


async def gather(state: ReviewState, runtime: Runtime[Context]) -> Update:
    """Look up related memories, and write the question."""
    shown, now, knowledge = state["shown"], state["now"], runtime.context.knowledge
    one, *_ = shown.values()
    spoken = "\n".join(memory.content for memory in shown.values())
    brief = await runtime.context.brief("review", one.user_id, one.agent_id, spoken)
    due = {handle: _question(memory, now, knowledge.policy) for handle, memory in shown.items()}
    texts = (memory.content for memory in shown.values())
    # Each search also finds the memory itself.
    asked = (_query(one, text, now, limit=MAX_RELATED + 1) for text in texts)
    hits = await asyncio.gather(*map(knowledge.search, asked))
    related = list(_lines([hit for found in hits for hit in found], shown, brief.persona))
    question = render(
        "to_review",
        brief.language,
        now=clock(now, brief.persona.zone, brief.language),
        memories="\n".join(_memories(shown, due, brief.persona)),
        related="\n".join(related) or NONE[brief.language],
    )
    start: Update = {"brief": brief, "due": due, "material": related}
    start |= {"searches": 0, "repaired": False, "trail": ()}
    return {**start, **begin(brief.rules, question)}


async def think(state: ReviewState, runtime: Runtime[Context]) -> Update:
    """Ask the model; an unusable answer is sent back once."""
    update = await ask_once(state, runtime.context.judge, ReviewAnswer, "review")
    problem = update["problem"] or _faults(update["answer"], state)
    if not problem or (state["repaired"] and update["answer"]):
        return {**update, "problem": ""}  # a faulty decision decides nothing
    if state["repaired"]:
        raise unusable(update["messages"], update["usage"], problem)
    question = render("repair_task", state["brief"].language, problem=problem)
    return {**update, **again({**state, **update}, question), "repaired": True}


async def search(state: ReviewState, runtime: Runtime[Context]) -> Update:
    """Search memories, episodes and raw turns for the words that the reviewer gave."""
    answer, brief, shown = state["answer"], state["brief"], state["shown"]
    assert answer is not None
    words = answer.query or ""
    one, *_ = shown.values()
    query = _query(one, words, state["now"], limit=MAX_HITS + len(shown))
    query = replace(query, scope=EVERYWHERE, zone=brief.persona.zone)
    hits = await runtime.context.knowledge.search(query)
    lines = list(_lines([hit for hit in hits if hit.relevant], shown, brief.persona))[:MAX_HITS]
    searches = state["searches"] + 1
    left = MAX_REVIEW_ROUNDS - 1 - searches
    language = brief.language
    more = render("rounds_left", language, count=left) if left else render("last_round", language)
    found = "\n".join(lines) or NONE[language]
    told = render("looked_up", language, query=single_line(words), found=found, left=more)
    step = shorten(f"{answer.reason} | SEARCH {words} | {len(lines)}", MAX_REMARK_LENGTH)
    return {
        "messages": [*state["messages"], Message("user", told)],
        "material": [*state["material"], *lines],
        "searches": searches,
        "trail": (*state["trail"], step),
    }


async def decide(state: ReviewState) -> Update:
    """End the run; there is nothing left to ask."""
    return {"problem": ""}


async def route(state: ReviewState) -> str:
    """Return the next node: think while there is a problem, else search or decide."""
    if state["problem"]:
        return "think"
    answer, left = state["answer"], MAX_REVIEW_ROUNDS - 1 - state["searches"]
    return "search" if answer and answer.query and left > 0 else "decide"


class MemoryReviewer:
    """The graph, compiled once."""

    def __init__(self, context: Context) -> None:
        graph: StateGraph[Any, Any, Any, Any] = StateGraph(ReviewState, context_schema=Context)
        for node in (gather, think, search, decide):
            graph.add_node(node)
        graph.add_edge(START, "gather")
        graph.add_edge("gather", "think")
        graph.add_conditional_edges("think", route, ["think", "search", "decide"])
        graph.add_edge("search", "think")
        graph.add_edge("decide", END)
        self.graph: CompiledStateGraph[Any, Any, Any, Any] = graph.compile(
            name="memory-reviewer", checkpointer=False
        )
        self.context = context

    async def run(self, memories: Sequence[Memory], now: datetime) -> list[Decision]:
        """Decide on memories that are due, of one user, persona and sphere; changes nothing.

        What the model does not decide on is kept; the usage is the cost of the first decision.
        Raises EndpointError; AnswerError if there was no usable answer.
        """
        given: Update = {"shown": by_handle(memories), "now": now}
        state = await run_graph(self.graph, given, self.context)
        said = {one.id: one for one in state["answer"].decisions if not _fault(one, state)}
        costs = (asdict(state["usage"]), *[{}] * (len(memories) - 1))
        return [
            Decision(memory, _verdict(memory, said.get(handle), state, cost))
            for (handle, memory), cost in zip(state["shown"].items(), costs, strict=True)
        ]


def _question(memory: Memory, now: datetime, policy: Policy) -> Due:
    """Return the question to ask: keeping, if a memory due for promotion has faded."""
    worth = memory.due_for is Due.PROMOTION and not has_faded(memory, now, policy)
    return Due.PROMOTION if worth else Due.REVIEW


def _query(one: Memory, text: str, now: datetime, *, limit: int) -> Query:
    return Query(one.user_id, text, now, sphere=reading_sphere(one.sphere), limit=limit)


def _faults(answer: ReviewAnswer, state: ReviewState) -> str:
    """Return a line for each fault of an answer; empty if it is usable."""
    found = [fault for one in answer.decisions if (fault := _fault(one, state))]
    times = Counter(one.id for one in answer.decisions)
    found += [f"{handle}: is decided on twice" for handle, count in times.items() if count > 1]
    if not answer.query and not answer.decisions:
        found.append("decisions: are missing")
    return "\n".join(f"- {fault}" for fault in found)


def _fault(one: DecisionAnswer, state: ReviewState) -> str:
    """Return why a decision cannot be carried out; empty if it can."""
    if one.id not in state["shown"]:
        return f"{one.id}: is none of the memories that were shown"
    if one.action is Action.PROMOTE and state["due"][one.id] is not Due.PROMOTION:
        return f"{one.id}: only KEEP, UPDATE or DELETE is asked for"
    if one.action is Action.UPDATE and not one.content:
        return f"{one.id}: UPDATE has no content"
    return ""


def _verdict(
    memory: Memory, said: DecisionAnswer | None, state: ReviewState, cost: dict[str, float]
) -> Verdict:
    brief = state["brief"]
    op = _op(memory, said, state["trail"])
    quotes = (item.quote for item in memory.evidence)
    shown = (_line(one, brief.persona) for one in state["shown"].values())
    return Verdict(
        id=review_id(memory),
        user_id=memory.user_id,
        agent_id=memory.agent_id,
        sphere=memory.sphere,
        by=Actor(who=ActorKind.REVIEWER, model=state["model"], prompt=brief.stamp),
        at=state["now"],
        reason=op.reason,
        ops=(op,),
        known=(*shown, *state["material"], *quotes),
        called=brief.persona.called,
        cost=cost,
    )


def _op(
    memory: Memory, said: DecisionAnswer | None, trail: tuple[str, ...]
) -> Promote | Keep | Replace | Delete:
    """Return the operation of a decision; `trail` holds the earlier reasons and searches."""
    if said is None:
        return Keep(target=memory.id, reason=UNDECIDED, trail=trail)
    about: dict[str, Any] = {"target": memory.id, "reason": said.reason}
    match said.action:
        case Action.PROMOTE:
            return Promote(**about, trail=trail)
        case Action.DELETE:
            return Delete(**about, quote="", trail=trail)
        case Action.UPDATE:
            return Replace(**about, quote="", content=said.content, cues=memory.cues)
        case _:
            return Keep(**about, trail=trail)


def _memories(shown: Shown, due: dict[str, Due], persona: Persona) -> Iterator[str]:
    """Yield each memory on a line: the question, its use, and the words it rests on."""
    for handle, memory in shown.items():
        used = memory.last_used_at
        uses = f"{memory.uses}x" + (f", {used.astimezone(persona.zone):%Y-%m-%d}" if used else "")
        quote = f' "{single_line(memory.evidence[0].quote)}"' if memory.evidence else ""
        yield f"{handle} ({MARKS[due[handle]]} {uses}) {_line(memory, persona)}{quote}"


def _line(memory: Memory, persona: Persona) -> str:
    day = f"{memory.created_at.astimezone(persona.zone):%Y-%m-%d}"
    return f"[{memory.kind}, {day}] {single_line(memory.content)}"


def _lines(hits: Sequence[Found], shown: Shown, persona: Persona) -> Iterator[str]:
    """Yield each hit on a line, once, without the memories that are reviewed."""
    known = {memory.id for memory in shown.values()}
    for item in {hit.item.id: hit for hit in hits}.values():
        if item.item.id in known:
            continue
        if isinstance(item.item, Turn):
            day = f"{item.at.astimezone(persona.zone):%Y-%m-%d}"
            yield f"- [{Scope.TURNS[:-1]}, {day}] {both_said(item.item, persona)}"
        else:
            yield f"- {_line(item.item, persona)}"
