"""MemoryReviewer: thinks, searches, and decides whether a memory is promoted, kept or deleted.

START -> gather -> think -> decide -> END
                    ^  |
                    |  v
                   search              at most three rounds; an unusable answer is sent back once,
                                       and a memory is kept if the last round does not decide
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypedDict

from langgraph.graph import END, START, StateGraph
from langgraph.runtime import Runtime
from pydantic import BaseModel, BeforeValidator, ConfigDict

from souffleur.agents.brief import NONE, Persona, clock
from souffleur.agents.fields import MAX_REMARK_LENGTH, Note, Remark, shorten
from souffleur.agents.model.chat import Message, Usage
from souffleur.agents.task import Context, Update, again, ask_once, begin, run_graph, unusable
from souffleur.knowledge.decay import has_faded
from souffleur.knowledge.identity import reading_sphere
from souffleur.knowledge.memory import Due, Memory
from souffleur.knowledge.operation import (
    Actor,
    ActorKind,
    Delete,
    Keep,
    Promote,
    Verdict,
    derive_id,
)
from souffleur.knowledge.policy import Policy
from souffleur.knowledge.search.query import EVERYWHERE, Found, Query, Scope
from souffleur.knowledge.text.plain import single_line
from souffleur.knowledge.turn import Turn
from souffleur.prompts import render, stamp

if TYPE_CHECKING:
    from langgraph.graph.state import CompiledStateGraph


MAX_REVIEW_ROUNDS = 3
"""Maximum number of rounds in which a reviewer thinks about one memory."""


def review_id(memory: Memory) -> str:
    """Return the id of the verdict on this revision of a memory, the same for a second review."""
    return derive_id("review", memory.id, memory.revision)


class Action(StrEnum):
    """What a reviewer may do next."""

    SEARCH = "SEARCH"
    PROMOTE = "PROMOTE"
    KEEP = "KEEP"
    DELETE = "DELETE"


UNDECIDED = f"no decision within {MAX_REVIEW_ROUNDS} rounds: it stays"


def _capitals(value: Any) -> Any:
    return value.strip().strip("[]【】").upper() if isinstance(value, str) else value


class ReviewAnswer(BaseModel):
    """The answer of one round, the reason first; on a promotion every action is allowed."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    reason: Remark
    action: Annotated[Action, BeforeValidator(_capitals)]
    query: Note = None


class DecayAnswer(ReviewAnswer):
    """The answer on a faded memory, which cannot be promoted."""

    action: Annotated[
        Literal[Action.SEARCH, Action.KEEP, Action.DELETE], BeforeValidator(_capitals)
    ]


class LastPromotionAnswer(ReviewAnswer):
    """The answer of the last round on a promotion, in which nothing can be looked up."""

    action: Annotated[
        Literal[Action.PROMOTE, Action.KEEP, Action.DELETE], BeforeValidator(_capitals)
    ]


class LastDecayAnswer(ReviewAnswer):
    """The answer of the last round on a faded memory: neither search nor promotion."""

    action: Annotated[Literal[Action.KEEP, Action.DELETE], BeforeValidator(_capitals)]


def answer_type(question: Due, round_: int) -> type[ReviewAnswer]:
    """Return the type of the answer to a question; its schema offers the actions of this round.

    >>> answer_type(Due.PROMOTION, 1).__name__, answer_type(Due.REVIEW, MAX_REVIEW_ROUNDS).__name__
    ('ReviewAnswer', 'LastDecayAnswer')
    """
    if question is Due.PROMOTION:
        return ReviewAnswer if round_ < MAX_REVIEW_ROUNDS else LastPromotionAnswer
    return DecayAnswer if round_ < MAX_REVIEW_ROUNDS else LastDecayAnswer


def fault(answer: ReviewAnswer) -> str:
    """Return the faults that make the answer unusable; empty if there are no faults."""
    if answer.action is Action.SEARCH and not answer.query:
        return "query: is missing; say what to look for"
    return ""


def to_op(answer: ReviewAnswer, target: str, trail: tuple[str, ...]) -> Promote | Keep | Delete:
    """Return the operation of a decision; `trail` holds the earlier reasons and searches."""
    match answer.action:
        case Action.PROMOTE:
            return Promote(target=target, reason=answer.reason, trail=trail)
        case Action.KEEP:
            return Keep(target=target, reason=answer.reason, trail=trail)
        case Action.DELETE:
            return Delete(target=target, reason=answer.reason, quote="", trail=trail)
        case _:
            raise TypeError(f"{answer.action} decides nothing")


RULES = {Due.PROMOTION: "promote", Due.REVIEW: "decay"}
"""The prompt for each question."""
MAX_RELATED = 5
MAX_HITS = 6
"""Maximum hits of a search."""


class ReviewState(TypedDict, total=False):
    """The state of a run, which reviews one memory."""

    memory: Memory
    now: datetime
    persona: Persona
    language: str
    due: Due
    """The question to decide: promotion or keeping."""
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
    """The result of a review; it is not carried out yet."""

    memory: Memory
    verdict: Verdict

    @property
    def op(self) -> Any:
        """PROMOTE, KEEP or DELETE."""
        return self.verdict.ops[0]


async def gather(state: ReviewState, runtime: Runtime[Context]) -> Update:
    """Look up related memories, and write the question."""
    memory = state["memory"]
    question_due = _question(memory, state["now"], runtime.context.knowledge.policy)
    brief = await runtime.context.brief(
        RULES[question_due], memory.user_id, memory.agent_id, memory.content
    )
    persona, language = brief.persona, brief.language
    sphere = reading_sphere(memory.sphere)
    limit = MAX_RELATED + 1  # the search also finds the memory itself
    query = Query(memory.user_id, memory.content, state["now"], sphere=sphere, limit=limit)
    hits = await runtime.context.knowledge.search(query)
    related = [hit for hit in hits if hit.item.id != memory.id][:MAX_RELATED]
    question = render(
        "review",
        language,
        now=clock(state["now"], persona.zone, language),
        memory=f"[{memory.kind}] {single_line(memory.content)}",
        life=_life(memory, persona, language),
        related=_list(related, persona, language),
    )
    start: Update = {"persona": persona, "language": language, "due": question_due}
    start |= {"searches": 0, "repaired": False, "trail": ()}
    return {**start, **begin(brief.rules, question)}


async def think(state: ReviewState, runtime: Runtime[Context]) -> Update:
    """Ask the model; an unusable answer is sent back once."""
    round_ = state["searches"] + 1
    expected = answer_type(state["due"], round_)
    update = await ask_once(state, runtime.context.judge, expected, "review")
    problem = update["problem"] or fault(update["answer"])
    if not problem:
        return update
    if not state["repaired"]:
        question = render("repair_review", state["language"], problem=problem)
        return {**update, **again({**state, **update}, question), "repaired": True}
    if round_ < MAX_REVIEW_ROUNDS:
        raise unusable(update["messages"], update["usage"], problem)
    step = shorten(f"{update['messages'][-1].content} | {problem}", MAX_REMARK_LENGTH)
    kept = ReviewAnswer(reason=UNDECIDED, action=Action.KEEP)
    return {**update, "answer": kept, "problem": "", "trail": (*state["trail"], step)}


async def search(state: ReviewState, runtime: Runtime[Context]) -> Update:
    """Search memories, episodes and raw turns for the words that the reviewer gave."""
    answer, memory, language = state["answer"], state["memory"], state["language"]
    assert answer is not None
    assert answer.query is not None
    query = Query(
        memory.user_id,
        answer.query,
        state["now"],
        sphere=reading_sphere(memory.sphere),
        limit=MAX_HITS + 1,
        scope=EVERYWHERE,
        zone=state["persona"].zone,
    )
    hits = await runtime.context.knowledge.search(query)
    found = [hit for hit in hits if hit.item.id != memory.id and hit.relevant][:MAX_HITS]
    searches = state["searches"] + 1
    left = MAX_REVIEW_ROUNDS - 1 - searches
    more = render("rounds_left", language, count=left) if left else render("last_round", language)
    answered = render(
        "looked_up",
        language,
        query=single_line(answer.query),
        found=_list(found, state["persona"], language),
        left=more,
    )
    ids = ", ".join(hit.item.id for hit in found) or "nothing"
    step = shorten(f"{answer.reason} | SEARCH {answer.query} | {ids}", MAX_REMARK_LENGTH)
    return {
        "messages": [*state["messages"], Message("user", answered)],
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
    answer = state["answer"]
    return "search" if answer and answer.action is Action.SEARCH else "decide"


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

    async def run(self, memory: Memory, now: datetime) -> Decision:
        """Decide about a memory that is due; changes nothing.

        If the model decides nothing within its rounds, the memory is kept; the trail holds its
        answers. Raises EndpointError; AnswerError if there was no usable answer before that.
        """
        state = await run_graph(self.graph, {"memory": memory, "now": now}, self.context)
        prompt = stamp(RULES[state["due"]], state["language"])
        verdict = Verdict(
            id=review_id(memory),
            user_id=memory.user_id,
            agent_id=memory.agent_id,
            sphere=memory.sphere,
            by=Actor(who=ActorKind.REVIEWER, model=state["model"], prompt=prompt),
            at=now,
            reason=state["answer"].reason,
            ops=(to_op(state["answer"], memory.id, state["trail"]),),
            cost=asdict(state["usage"]),
        )
        return Decision(memory, verdict)


def _question(memory: Memory, now: datetime, policy: Policy) -> Due:
    """Return the question to ask: keeping, if a memory due for promotion has faded."""
    worth = memory.due_for is Due.PROMOTION and not has_faded(memory, now, policy)
    return Due.PROMOTION if worth else Due.REVIEW


def _life(memory: Memory, persona: Persona, language: str) -> str:
    used = memory.last_used_at
    return render(
        "life",
        language,
        created=f"{memory.created_at.astimezone(persona.zone):%Y-%m-%d}",
        uses=memory.uses,
        used=f"{used.astimezone(persona.zone):%Y-%m-%d}" if used else NONE[language],
        quote=single_line(memory.evidence[0].quote) if memory.evidence else NONE[language],
    )


def _list(hits: Sequence[Found], persona: Persona, language: str) -> str:
    lines = []
    for hit in hits:
        day = f"{hit.at.astimezone(persona.zone):%Y-%m-%d}"
        if isinstance(hit.item, Turn):
            both = ((persona.user, hit.item.user), (persona.assistant, hit.item.assistant))
            said = " / ".join(f"{name}: {single_line(text)}" for name, text in both if text)
            lines.append(f"- [{Scope.TURNS[:-1]}, {day}] {said}")
        else:
            lines.append(f"- [{hit.item.kind}, {day}] {single_line(hit.text)}")
    return "\n".join(lines) or NONE[language]
