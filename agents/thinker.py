"""Thinker: answers a question by searching in rounds, from the notes that it finds.

START -> look -> think -> END
          ^       |  ^
          |       |  '-- once, if the answer is unusable
          '-------'      at most three searches; the first one is for the question itself
"""

from typing import TYPE_CHECKING, Any, TypedDict

from langgraph.graph import END, START, StateGraph
from langgraph.runtime import Runtime

from souffleur.agents.brief import NONE, Persona, clock
from souffleur.agents.model.chat import Message, Usage
from souffleur.agents.task import Context, Update, again, ask_once, run_graph, unusable
from souffleur.agents.thought import (
    Action,
    LastStep,
    Look,
    Question,
    Step,
    Thought,
    fault,
    list_notes,
)
from souffleur.knowledge.search.query import Found
from souffleur.knowledge.text.plain import single_line
from souffleur.prompts import render

if TYPE_CHECKING:
    from langgraph.graph.state import CompiledStateGraph

MAX_SEARCHES = 3
"""Maximum searches for a question, the first one included."""


class ThinkState(TypedDict, total=False):
    """The state of a run, which answers one question."""

    question: Question
    look: Look
    persona: Persona
    language: str
    messages: list[Message]
    answer: Step | None
    """The last step of the model; `None` before the first, or if it could not be read."""
    problem: str
    repaired: bool
    searches: int
    notes: dict[str, Found]
    """All records that were shown, by their ids in the conversation: n1, n2, …"""
    rounds: int
    usage: Usage
    model: str


async def look(state: ThinkState) -> Update:
    """Search for the question, or for the words that the model gave; show what is new."""
    question, step, notes = state["question"], state["answer"], state["notes"]
    words = question.text if step is None else step.query or ""
    seen = {hit.item.id for hit in notes.values()}
    found = {hit.item.id: hit for hit in await state["look"](words) if hit.item.id not in seen}
    fresh = {f"n{place}": hit for place, hit in enumerate(found.values(), start=len(notes) + 1)}
    searches, language, persona = state["searches"] + 1, state["language"], state["persona"]
    told = render(
        "think_found" if step else "think_question",
        language,
        now=clock(question.now, persona.zone, language),
        topics=" · ".join(question.topics) or NONE[language],
        query=single_line(words),
        notes=list_notes(fresh, persona, question.now, language),
        left=MAX_SEARCHES - searches,
    )
    messages = [*state["messages"], Message("user", told)]
    return {"messages": messages, "notes": notes | fresh, "searches": searches}


async def think(state: ThinkState, runtime: Runtime[Context]) -> Update:
    """Ask the model; an unusable answer is sent back once. Raises AnswerError after that."""
    expected = Step if state["searches"] < MAX_SEARCHES else LastStep
    update = await ask_once(state, runtime.context.judge, expected, "think")
    problem = update["problem"] or fault(update["answer"])
    if not problem:
        return update
    if state["repaired"]:
        raise unusable(update["messages"], update["usage"], problem)
    asked = render("repair_task", state["language"], problem=problem)
    return {**update, **again({**state, **update}, asked), "repaired": True}


async def route(state: ThinkState) -> str:
    """Return the next node: think while there is a problem, look if more is to be searched."""
    if state["problem"]:
        return "think"
    step = state["answer"]
    return "look" if step and step.action is Action.SEARCH else END


class Thinker:
    """The graph, compiled once."""

    def __init__(self, context: Context) -> None:
        graph: StateGraph[Any, Any, Any, Any] = StateGraph(ThinkState, context_schema=Context)
        graph.add_node(look)
        graph.add_node(think)
        graph.add_edge(START, "look")
        graph.add_edge("look", "think")
        graph.add_conditional_edges("think", route, ["think", "look", END])
        self.graph: CompiledStateGraph[Any, Any, Any, Any] = graph.compile(
            name="thinker", checkpointer=False
        )
        self.context = context

    async def run(self, question: Question, look: Look) -> tuple[Thought, tuple[Found, ...]]:
        """Return the answer to a question, and the records that it rests on.

        Raises EndpointError; AnswerError if there was no usable answer.
        """
        told = (question.user_id, question.agent_id, question.text)
        brief = await self.context.brief("think", *told)
        start: Update = {"question": question, "look": look, "notes": {}, "searches": 0}
        start |= {"persona": brief.persona, "language": brief.language, "repaired": False}
        start |= {"messages": [Message("system", brief.rules)], "answer": None}
        start |= {"rounds": 0, "usage": Usage(), "model": ""}
        state = await run_graph(self.graph, start, self.context)
        return _conclude(state["answer"], state["notes"], state["rounds"], state["usage"])


def _conclude(
    step: Step, notes: dict[str, Found], rounds: int, usage: Usage
) -> tuple[Thought, tuple[Found, ...]]:
    """Return the answer with its records; without a record that was shown, it is not known."""
    ids = dict.fromkeys(step.ids) if step.action is Action.ANSWER else {}
    rests_on = tuple(notes[id] for id in ids if id in notes)
    answer = step.answer if rests_on and step.answer else ""
    return Thought(answer, bool(answer), rounds, usage), rests_on
