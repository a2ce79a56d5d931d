"""Task: asks a model, checks its answer, and may ask once more.

START -> ask -> check -> END
          ^--------' once, if the answer is unusable or raises a doubt

Every agent except the reviewer and the thinker is a task. The agent's own code writes the question
before, and applies the answer afterwards.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, Generic, TypedDict, TypeVar

from langgraph.graph import END, START, StateGraph
from langsmith import tracing_context
from pydantic import BaseModel

from souffleur.agents.brief import Persona, formerly, persona_of
from souffleur.agents.model.chat import Message, Usage
from souffleur.agents.structured_chat import StructuredChat
from souffleur.errors import AnswerError, EndpointError
from souffleur.knowledge.knowledge_base import KnowledgeBase
from souffleur.knowledge.operation import Actor, ActorKind, LedgerEntry, Verdict
from souffleur.knowledge.privacy.redaction import redact_own
from souffleur.prompts import language_of, render, stamp, written_in

T = TypeVar("T", bound=BaseModel)

_PROMPTS_THAT_KEEP = frozenset({"monitor", "episode", "portrait"})
"""Prompts that decide which parts of a talk are kept; each has a section on special categories."""
MAX_GRAPH_STEPS = 20
"""Maximum nodes of a run; the longest, a review with all searches and a repair, takes eight."""


@dataclass(frozen=True)
class Brief:
    """The names of user and persona, and the language and rules of a question."""

    persona: Persona
    language: str
    rules: str
    stamp: str
    """Names and hashes of the prompts that the rules come from."""


@dataclass(frozen=True)
class Context:
    """The model, the memories and the settings that all agents share."""

    judge: StructuredChat
    knowledge: KnowledgeBase
    persona: Persona
    """Names, zone and language for users and personas that were not introduced."""
    refuses_special: bool = False
    """Whether content about health, belief, politics or sex is refused."""
    clock: Callable[[], datetime] | None = None
    """Returns the time, from which new memories fade; `None` means the time when it was said."""

    @property
    def learned_at(self) -> datetime | None:
        """The present time, if there is a clock."""
        return self.clock() if self.clock else None

    async def persona_of(self, user_id: str, agent_id: str) -> Persona:
        """Return the names, zone and language for this user with this persona."""
        return persona_of(
            self.persona, *await self.knowledge.current.people.find(user_id, agent_id)
        )

    async def brief(self, prompt: str, user_id: str, agent_id: str, spoken: str) -> Brief:
        """Return how to ask about this user's talk with this persona, by the rules of a prompt.

        If the user has chosen no language, the language of `spoken` is used.
        """
        persona = await self.persona_of(user_id, agent_id)
        language = written_in(prompt, persona.language or language_of(spoken))
        special = self.refuses_special and prompt in _PROMPTS_THAT_KEEP
        names = (prompt, "special", f"special_{prompt}") if special else (prompt,)
        sections = [_section(name, persona, language) for name in names[1:]]
        rules = "\n\n".join((rules_for(prompt, persona, language), *sections))
        return Brief(persona, language, rules, "+".join(stamp(name, language) for name in names))

    async def carry_out(self, verdict: Verdict, *, dry_run: bool) -> list[LedgerEntry]:
        """Apply a verdict and return its ledger entries; if `dry_run`, change nothing."""
        knowledge = self.knowledge
        return await (knowledge.writer.plan if dry_run else knowledge.apply)(verdict)


def rules_for(prompt: str, persona: Persona, language: str) -> str:
    """Return the rules of a prompt, with the former names that memories may use."""
    rules = _section(prompt, persona, language)
    return "\n\n".join(filter(None, (rules, formerly(persona, language))))


def _section(prompt: str, persona: Persona, language: str) -> str:
    return render(prompt, language, user=persona.user, assistant=persona.assistant)


async def _no_doubt(_: Any) -> str:
    return ""


@dataclass(frozen=True)
class Task(Generic[T]):
    """A question to a model, and the checks of its answer."""

    name: str
    """The name of the answer in the request."""
    rules: str
    """The system message."""
    language: str
    """The language of the prompts."""
    question: str
    answer: type[T]
    fault: Callable[[T], str] = lambda _: ""
    """Returns why an answer is unusable; empty if it is usable."""
    slow: bool = False
    """Whether `fault` compares long texts and therefore runs in a thread."""
    doubt: Callable[[T], Awaitable[str]] = _no_doubt
    """Returns a message about a usable answer, so that the model thinks again; empty if there is no
    doubt. It is called for the first answer only."""
    repair: str = "repair"
    """The prompt that asks again after an unusable answer."""


@dataclass(frozen=True)
class Answered(Generic[T]):
    """A usable answer, and the messages and usage that it took."""

    value: T
    messages: Sequence[Message]
    """The whole conversation with the model."""
    rounds: int
    """How often the model was asked: 1 or 2."""
    usage: Usage
    model: str

    def signed(self, who: ActorKind, prompt: str) -> dict[str, Any]:
        """Return the fields of a verdict about its judge, the prompt and the cost."""
        by = Actor(who=who, model=self.model, prompt=prompt)
        return {"by": by, "cost": asdict(self.usage)}


Update = dict[str, Any]
"""The fields of the state that a node changes."""


class TaskState(TypedDict, total=False):
    """The state of a run."""

    judge: StructuredChat
    task: Task[Any]
    messages: list[Message]
    """The conversation with the model so far."""
    answer: Any
    """The last answer; `None` if it could not be read."""
    problem: str
    """Why the model must answer again; empty if it need not."""
    rounds: int
    usage: Usage
    model: str


def begin(rules: str, question: str) -> Update:
    """Return the state before the first round."""
    messages = [Message("system", rules), Message("user", question)]
    return {"messages": messages, "rounds": 0, "usage": Usage(), "model": ""}


async def ask(state: TaskState) -> Update:
    """Ask the model."""
    task = state["task"]
    return await ask_once(state, state["judge"], task.answer, task.name)


async def check(state: TaskState) -> Update:
    """Check an answer for faults, and the first answer for doubts; send it back once.

    Raises AnswerError if the second answer is unusable as well.
    """
    task, answer, first = state["task"], state["answer"], state["rounds"] == 1
    problem = state["problem"]
    if not problem and task.slow:
        problem = await asyncio.to_thread(task.fault, answer)
    elif not problem:
        problem = task.fault(answer)
    if problem and not first:
        raise unusable(state["messages"], state["usage"], problem)
    if problem:
        return again(state, render(task.repair, task.language, problem=problem))
    doubt = await task.doubt(answer) if first else ""
    return again(state, doubt) if doubt else {"problem": ""}


async def route(state: TaskState) -> str:  # LangGraph calls a plain function in a thread
    """Return the next node: ask while there is a problem."""
    return "ask" if state["problem"] else END


_builder: StateGraph[Any, Any, Any, Any] = StateGraph(TaskState)
_builder.add_node(ask)
_builder.add_node(check)
_builder.add_edge(START, "ask")
_builder.add_edge("ask", "check")
_builder.add_conditional_edges("check", route, ["ask", END])
GRAPH = _builder.compile(name="task", checkpointer=False)  # not that of a host's own graph
"""The graph of all tasks."""


async def ask_task(judge: StructuredChat, task: Task[T]) -> Answered[T]:
    """Return the usable answer to a task.

    Raises EndpointError; AnswerError if the second answer is unusable as well.
    """
    given = {"judge": judge, "task": task, **begin(task.rules, task.question)}
    done = await run_graph(GRAPH, given)
    return Answered(done["answer"], done["messages"], done["rounds"], done["usage"], done["model"])


async def run_graph(graph: Any, given: Update, context: Context | None = None) -> Any:
    """Run a LangGraph graph, and return its last state."""
    with tracing_context(enabled=False):  # a host's tracing must not upload private talk
        return await graph.ainvoke(given, {"recursion_limit": MAX_GRAPH_STEPS}, context=context)


async def ask_once(state: Any, judge: StructuredChat, answer: type[T], name: str) -> Update:
    """Ask once; an unusable answer becomes a problem in the state. Raises EndpointError.

    The usage of the call is added in both cases; an error holds the usage of the run so far.
    """
    usage, rounds = state["usage"], state["rounds"] + 1
    try:
        judged = await judge.ask(state["messages"], answer, name=name)
    except EndpointError as error:
        error.usage = asdict(usage + Usage.of(error.usage))
        raise
    except AnswerError as error:
        usage, said = usage + Usage.of(error.usage), error.answer or "(empty)"
        update: Update = {"answer": None, "problem": str(error)}
    else:
        usage, said = usage + judged.usage, judged.text
        update = {"answer": judged.value, "problem": "", "model": judged.model}
    messages = [*state["messages"], Message("assistant", said)]
    return {**update, "messages": messages, "rounds": rounds, "usage": usage}


def again(state: Any, question: str) -> Update:
    """Return the change of the state that asks the model again."""
    return {"messages": [*state["messages"], Message("user", question)], "problem": question}


def unusable(messages: Sequence[Message], usage: Usage, problem: str) -> AnswerError:
    """Return the error that ends a run after an unusable last answer, with the usage.

    Its text is kept and logged, so it repeats no secret and no part of the answers or the material.
    """
    private = [one.content for one in messages if one.role == "assistant" or one is messages[1]]
    text = redact_own(problem, private)
    return AnswerError(text, answer=messages[-1].content, usage=asdict(usage))
