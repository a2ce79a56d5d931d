"""Rounds: a model is asked, its answer is checked, and once it may be asked again.

START -> gather -> (ask) -> check -> apply -> END
                     ^--------' while there is a problem
"""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from langgraph.graph import END, START, StateGraph
from langsmith import tracing_context
from pydantic import BaseModel

from souffleur.agents.brief import Persona, formerly, persona_of
from souffleur.agents.model.chat import Message, Usage
from souffleur.agents.structured_chat import StructuredChat
from souffleur.errors import AnswerError, EndpointError
from souffleur.knowledge.knowledge_base import KnowledgeBase
from souffleur.knowledge.privacy.redaction import redact_own
from souffleur.prompts import language_of, render, stamp, written_in

if TYPE_CHECKING:
    from langgraph.graph.state import CompiledStateGraph

T = TypeVar("T", bound=BaseModel)

_KEEPS_FROM_TALK = frozenset({"monitor", "episode", "portrait"})
"""Prompts that decide what of a talk is kept; each has a section on special categories."""

MAX_GRAPH_STEPS = 20
"""Maximum nodes of one run; the longest, a review with all searches and a repair, takes eight."""


@dataclass(frozen=True)
class Brief:
    """What a question is written with: the names of the two, a language and the rules."""

    persona: Persona
    language: str
    rules: str
    stamp: str
    """Names and hashes of the prompts that the rules are from."""


@dataclass(frozen=True)
class Context:
    """What the nodes of every graph need besides their state."""

    judge: StructuredChat
    knowledge: KnowledgeBase
    persona: Persona
    """Names, zone and language for users and personas that were not introduced."""
    refuses_special: bool = False
    """Whether what tells of health, belief, politics or sex is not to be kept."""

    async def persona_of(self, user_id: str, agent_id: str) -> Persona:
        """Return the names, zone and language for this user with this persona."""
        return persona_of(self.persona, *await self.knowledge.known.people.find(user_id, agent_id))

    async def brief(self, prompt: str, user_id: str, agent_id: str, spoken: str) -> Brief:
        """Return how to ask about this user's talk with this persona by the rules of a prompt.

        `spoken` decides the language if the user has chosen none.
        """
        persona = await self.persona_of(user_id, agent_id)
        language = language_for(prompt, persona, spoken)
        names = [prompt, *self._sections(prompt)]
        sections = [_section(name, persona, language) for name in names[1:]]
        rules = "\n\n".join((rules_for(prompt, persona, language), *sections))
        return Brief(persona, language, rules, "+".join(stamp(name, language) for name in names))

    def _sections(self, prompt: str) -> tuple[str, ...]:
        """Return the prompts whose text follows the rules of a prompt."""
        asked = self.refuses_special and prompt in _KEEPS_FROM_TALK
        return ("special", f"special_{prompt}") if asked else ()


Update = dict[str, Any]
"""What a node changes in the state.

A round changes `answer` (`None` if it was unusable), `problem` (why to ask again, or empty),
`messages` (the conversation so far), `rounds`, `usage` and `model`.
"""


def language_for(prompt: str, persona: Persona, spoken: str) -> str:
    """Return the language to ask in: the user's or the spoken one, if the prompt exists in it."""
    return written_in(prompt, persona.language or language_of(spoken))


def rules_for(prompt: str, persona: Persona, language: str) -> str:
    """Return the rules of a prompt, with the former names of the two that memories may use."""
    rules = _section(prompt, persona, language)
    return "\n\n".join(filter(None, (rules, formerly(persona, language))))


def _section(prompt: str, persona: Persona, language: str) -> str:
    return render(prompt, language, user=persona.user, assistant=persona.assistant)


def begin(rules: str, question: str) -> Update:
    """Return what the state holds before the first round."""
    messages = [Message("system", rules), Message("user", question)]
    return {"messages": messages, "rounds": 0, "usage": Usage(), "model": ""}


async def ask(state: Any, judge: StructuredChat, answer: type[T], name: str) -> Update:
    """Ask once; an unusable answer is a problem, an endpoint that fails an error.

    The usage of the call is added either way; the error carries the usage of the run so far.
    """
    rounds = state["rounds"] + 1
    try:
        judged = await judge.ask(state["messages"], answer, name=name)
    except EndpointError as error:
        error.usage = asdict(state["usage"] + Usage.of(error.usage))
        raise
    except AnswerError as error:
        said = Message("assistant", error.answer or "(empty)")
        return {
            "answer": None,
            "problem": str(error),
            "messages": [*state["messages"], said],
            "rounds": rounds,
            "usage": state["usage"] + Usage.of(error.usage),
        }
    return {
        "answer": judged.value,
        "problem": "",
        "messages": [*state["messages"], Message("assistant", judged.text)],
        "rounds": rounds,
        "usage": state["usage"] + judged.usage,
        "model": judged.model,
    }


def again(state: Any, question: str) -> Update:
    """Return the change of the state for asking the model once more."""
    return {"messages": [*state["messages"], Message("user", question)], "problem": question}


def settled(state: Any, problem: str, prompt: str = "repair") -> Update:
    """Go on if there is no problem, else ask the model once more.

    `prompt` is the prompt that asks again. Raises AnswerError if the model was asked twice already.
    """
    if not problem:
        return {"problem": ""}
    if state["rounds"] > 1:
        raise unusable(state, problem)
    return again(state, render(prompt, state["language"], problem=problem))


def unusable(state: Any, problem: str) -> AnswerError:
    """Return the error that ends a run whose last answer cannot be used, with the usage.

    Its text is kept and logged: it repeats no secret, and no part of the answers or the material.
    """
    messages = state["messages"]
    private = [one.content for one in messages if one.role == "assistant" or one is messages[1]]
    text = redact_own(problem, private)
    return AnswerError(text, answer=messages[-1].content, usage=asdict(state["usage"]))


async def ask_with_repair(
    judge: StructuredChat,
    rules: str,
    question: str,
    answer: type[T],
    *,
    name: str,
    language: str,
    fault: Callable[[T], str] = lambda _: "",
) -> T:
    """Ask until an answer has no fault, at most twice, without a graph.

    `fault` returns what is wrong with an answer, empty if nothing is. Raises EndpointError,
    and AnswerError if the second answer cannot be used either.
    """
    state: dict[str, Any] = {"language": language, **begin(rules, question)}
    while True:
        state |= await ask(state, judge, answer, name)
        state |= settled(state, state["problem"] or fault(state["answer"]))
        if not state["problem"]:
            usable: T = state["answer"]
            return usable


async def run_graph(
    graph: "CompiledStateGraph[Any, Any, Any, Any]", given: Any, context: Context
) -> Any:
    """Return the state at the end of a run."""
    with tracing_context(enabled=False):  # a host's tracing must not upload private talk
        return await graph.ainvoke(given, {"recursion_limit": MAX_GRAPH_STEPS}, context=context)


def compile_rounds(
    name: str, state: type, context: type, *, gather: Any, ask: Any, check: Any, apply: Any
) -> "CompiledStateGraph[Any, Any, Any, Any]":
    """Return the graph of these nodes, each under its own name."""
    graph: StateGraph[Any, Any, Any, Any] = StateGraph(state, context_schema=context)
    asking = ask.__name__
    for node in (gather, ask, check, apply):
        graph.add_node(node)
    graph.add_edge(START, "gather")
    graph.add_edge("gather", asking)
    graph.add_edge(asking, "check")

    async def route(state: Any) -> str:  # a plain function would be called in a thread
        return asking if state["problem"] else "apply"

    graph.add_conditional_edges("check", route, [asking, "apply"])
    graph.add_edge("apply", END)
    return graph.compile(name=name)
