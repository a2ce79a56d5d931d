"""SouffleurMiddleware: memory for an agent of create_agent; and the tool recall_memory."""

from collections import OrderedDict
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING, Annotated, Any, Literal
from zoneinfo import ZoneInfo

from langchain.agents.middleware import AgentMiddleware, ModelRequest, ModelResponse
from langchain.tools import ToolRuntime
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage
from langchain_core.tools import BaseTool, StructuredTool
from langgraph.config import get_config
from langgraph.runtime import Runtime
from loguru import logger
from pydantic import Field

from souffleur.errors import BlockingError, SouffleurError
from souffleur.integrations.langchain.access import Access, Talk, Work, storable_id, talk_of
from souffleur.knowledge.search.query import EVERYWHERE, Found, Scope
from souffleur.knowledge.text.plain import single_line
from souffleur.messages import to_turns
from souffleur.recall.compose import Recall
from souffleur.telemetry.log_lines import describe

if TYPE_CHECKING:
    from souffleur.integrations.langchain.access import AnyMemory

MAX_OPEN = 10_000
"""Maximum number of turns without a reply that are remembered."""


@dataclass(frozen=True)
class LastTurn:
    """The last text of a user, and the replies so far."""

    id: str
    """The id of the user's message; empty if it has no id."""
    user: str
    assistant: str


class OpenTurns:
    """The turns without a whole reply, one for each session, and their whispers. Thread-safe."""

    def __init__(self) -> None:
        self._open: OrderedDict[Talk, tuple[LastTurn, Recall]] = OrderedDict()
        self._lock = Lock()

    def find(self, talk: Talk, turn: LastTurn | None) -> tuple[LastTurn, Recall] | None:
        """Return the open turn of a session if its id is that of `turn`; `None` accepts any."""
        with self._lock:
            found = self._open.get(talk)
        return found if found and (turn is None or turn.id == found[0].id) else None

    def begin(self, talk: Talk, turn: LastTurn, recall: Recall) -> None:
        """Remember a turn and its whisper."""
        with self._lock:
            self._open[talk] = turn, recall
            self._open.move_to_end(talk)
            if len(self._open) > MAX_OPEN:
                self._open.popitem(last=False)

    def end(self, talk: Talk, turn: LastTurn | None) -> tuple[LastTurn, Recall] | None:
        """Return the result of `find`, and remove that turn."""
        found = self.find(talk, turn)
        with self._lock:
            if found and self._open.get(talk) is found:
                del self._open[talk]
        return found


def last_turn(messages: Sequence[BaseMessage], called: Collection[str] = ()) -> LastTurn | None:
    """Return the last text of the user, with the replies that follow; `None` if there is no text.

    Rounds of tools and earlier messages without a reply are part of the turn. Messages with the
    name of another person are among the replies; `called` has the names of the user. Raises
    InputError for an unreadable content.

    >>> said = [HumanMessage("hi"), AIMessage("ho"), HumanMessage("so?", id="7"), AIMessage("yes")]
    >>> last_turn(said)
    LastTurn(id='7', user='so?', assistant='yes')
    """
    said = [one for one in messages if not _is_summary(one)]
    start, id = None, ""
    for index in range(len(said) - 1, -1, -1):
        if isinstance(said[index], HumanMessage):
            start, id = index, id or said[index].id or ""
        elif start is not None and isinstance(said[index], AIMessage) and said[index].text.strip():
            break
    if start is None:
        return None
    earlier = [one.name or "" for one in said[:start] if isinstance(one, HumanMessage)]
    talk = [one for one in said[start:] if isinstance(one, HumanMessage | AIMessage)]
    turns = to_turns(talk, called, earlier=earlier)
    return LastTurn(id, turns[0].user, turns[0].assistant) if turns else None


def latest_reply(messages: Sequence[BaseMessage]) -> str:
    """Return the latest reply, for a turn with a summary instead of its beginning."""
    texts = (one.text for one in reversed(messages) if isinstance(one, AIMessage) and one.text)
    return next(texts, "")


def with_whisper(system: SystemMessage | None, text: str) -> SystemMessage:
    r"""Return the system message with the whisper at its end.

    >>> with_whisper(SystemMessage("Be kind."), "Ann likes tea.").content
    'Be kind.\n\nAnn likes tea.'
    """
    if system is None:
        return SystemMessage(text)
    content: Any = system.content
    if isinstance(content, str):
        whole: Any = f"{content}\n\n{text}" if content else text
    else:
        whole = [*content, {"type": "text", "text": text}]
    return system.model_copy(update={"content": whole})


def _is_summary(message: BaseMessage) -> bool:
    """Return whether a middleware wrote a user message, for example a summary."""
    return "lc_source" in message.additional_kwargs


_Request = ModelRequest[Any]
_Response = ModelResponse[Any]


class SouffleurMiddleware(AgentMiddleware[Any, Any, Any]):
    """Adds memories to the system prompt of each model call, and observes each turn at its end.

        agent = create_agent(model, tools, middleware=[SouffleurMiddleware(memory)])
        agent.invoke({"messages": [("user", "hi")]}, context=Talk(user_id="u1", session_id="s1"))

    Memories are in no message and in no checkpoint. Rounds of tools are one turn. An error of the
    memory is logged, and the agent replies without it; only a run without a user raises InputError,
    and `invoke` in the event loop of the memory BlockingError.
    Put it first in the list, so that it reads the user's messages before others change them.
    """

    def __init__(
        self,
        memory: "AnyMemory",
        *,
        agent_id: str | None = None,
        recall: bool = True,
    ) -> None:
        """Use a memory: a Souffleur or AsyncClient for `ainvoke`, or a blocking memory.

        Blocking memories are BlockingSouffleur and Client, for `invoke` and `ainvoke`. `agent_id`
        is the persona of this agent, if a run names no other persona. With `recall`, the agent also
        has the tool `recall_memory`, to look for more memories.
        """
        super().__init__()
        self._access = Access(memory)
        self._agent_id = agent_id
        self._open = OpenTurns()
        self.tools: Sequence[BaseTool] = [recall_tool(memory, agent_id=agent_id)] if recall else []

    def wrap_model_call(
        self, request: _Request, handler: Callable[[_Request], _Response]
    ) -> _Response:
        """Call the model with memories. Raises InputError if no user is named."""
        talk, turn, recall = self._opened(request)
        if turn and recall is None:
            recall = self._wait(_recalling(talk, turn))
            self._open.begin(talk, turn, recall)
        return handler(_with_memories(request, recall))

    async def awrap_model_call(
        self, request: _Request, handler: Callable[[_Request], Awaitable[_Response]]
    ) -> _Response:
        """Call the model with memories. Raises InputError if no user is named."""
        talk, turn, recall = self._opened(request)
        if turn and recall is None:
            recall = await self._reach(_recalling(talk, turn))
            self._open.begin(talk, turn, recall)
        return await handler(_with_memories(request, recall))

    def after_agent(self, state: Any, runtime: Runtime[Any]) -> None:
        """Store the turn, to be judged in the background."""
        if work := self._observing(state["messages"], runtime):
            self._wait(work)

    async def aafter_agent(self, state: Any, runtime: Runtime[Any]) -> None:
        """Store the turn, to be judged in the background."""
        if work := self._observing(state["messages"], runtime):
            await self._reach(work)

    def _observing(self, messages: Sequence[BaseMessage], runtime: Runtime[Any]) -> Work | None:
        """Return the work that stores the last turn; `None` without a turn."""
        talk, turn = self._turn(messages, runtime)
        opened = self._open.end(talk, turn)
        if turn is None:
            if opened is None:
                return None
            turn = LastTurn(opened[0].id, opened[0].user, latest_reply(messages))
        said = turn
        return lambda memory: memory.observe(
            **talk.ids,
            user=said.user,
            assistant=said.assistant,
            whisper=opened[1] if opened else None,
            turn_id=storable_id(said.id) if said.id.strip() else None,
        )

    def _opened(self, request: _Request) -> tuple[Talk, LastTurn | None, Recall | None]:
        """Return the last turn of a request, and its whisper if it has one already."""
        talk, turn = self._turn(request.state["messages"], request.runtime)
        found = self._open.find(talk, turn)
        return talk, turn, found[1] if found else None

    def _turn(
        self, messages: Sequence[BaseMessage], runtime: Runtime[Any]
    ) -> tuple[Talk, LastTurn | None]:
        talk = talk_of(runtime.context, get_config(), self._agent_id)
        try:
            return talk, last_turn(messages, [talk.user_id])
        except SouffleurError as error:
            logger.error("the turn cannot be read: {}", error)
            return talk, None

    def _wait(self, work: Work) -> Any:
        try:
            return _logged(self._access.wait(work))
        except BlockingError:  # the agent is called in a way that never has its memory
            raise
        except Exception as error:  # noqa: BLE001  the agent replies without its memory
            return _logged(Recall(error=describe(error)))

    async def _reach(self, work: Work) -> Any:
        try:
            return _logged(await self._access.reach(work))
        except Exception as error:  # noqa: BLE001  the agent replies without its memory
            return _logged(Recall(error=describe(error)))


def _recalling(talk: Talk, turn: LastTurn) -> Work:
    return lambda memory: memory.recall(**talk.ids, text=turn.user or turn.assistant)


def _with_memories(request: _Request, recall: Recall | None) -> _Request:
    if recall is None or not recall.text:
        return request
    return request.override(system_message=with_whisper(request.system_message, recall.text))


def _logged(outcome: Any) -> Any:
    """Return a Recall or Receipt; its error is logged."""
    if outcome.error:
        logger.warning("memory: {}", outcome.error)
    return outcome


Words = Annotated[str, Field(description="What to look for, in a few words.")]
Where = Annotated[
    Literal["memories", "episodes", "turns", "everything"],
    Field(
        description="memories: facts about the user; episodes: summaries of past talks; "
        "turns: what was said, word for word; everything: all of these."
    ),
]
When = Annotated[
    str,
    Field(description="A time in words, such as 'last week' or '2026-03'; empty for any time."),
]
Run = ToolRuntime[Any, Any]

LIMIT = 8
"""Maximum number of records that one call returns."""
NOTHING = "Nothing is remembered about that."
NO_TIME = (
    "The time was not understood. Write it as a person would, such as 'last week', 'in May', "
    "'2026-03-14' or '上周', or leave it out."
)
IN_TROUBLE = "The memory cannot be read at the moment."


def recall_tool(memory: "AnyMemory", *, agent_id: str | None = None) -> BaseTool:
    """Return the tool `recall_memory`, for any agent of LangChain or LangGraph.

    User and persona come from the run (see `Talk`); a model cannot name other ids.
    """
    access = Access(memory)

    def looking(runtime: Run, query: str, scope: Where, when: str) -> Work:
        talk = talk_of(runtime.context, runtime.config, agent_id)
        return lambda opened: _look(opened, talk, query, scope, when)

    async def arecall_memory(
        query: Words, runtime: Run, scope: Where = "everything", when: When = ""
    ) -> str:
        return str(await access.reach(looking(runtime, query, scope, when)))

    def recall_memory(
        query: Words, runtime: Run, scope: Where = "everything", when: When = ""
    ) -> str:
        return str(access.wait(looking(runtime, query, scope, when)))

    return StructuredTool.from_function(
        recall_memory,
        arecall_memory,
        name="recall_memory",
        description="Look up what this user told you before, or what you talked about at some "
        "time. Use it when the user refers to something that you do not know.",
    )


async def _look(memory: Any, talk: Talk, query: str, scope: Where, when: str) -> str:
    try:
        zone = (await memory.cast(**talk.who)).zone(talk.user_id)
        scopes = EVERYWHERE if scope == "everything" else (Scope(scope),)
        if when.strip():
            past = await memory.ask(f"{query} ({when})", **talk.ids, limit=LIMIT)
            found = [one for one in past.found if one.scope in scopes]
            return NO_TIME if past.period is None else _list(found[:LIMIT], zone)
        found = await memory.search(query, **talk.who, scope=scopes, limit=LIMIT)
        return _list([one for one in found if one.relevant], zone)
    except SouffleurError as error:
        logger.warning("recall_memory: {}", error)
        return IN_TROUBLE


def _list(found: Sequence[Found], zone: ZoneInfo) -> str:
    """Return a line for each record, with its day."""
    lines = [f"- {one.at.astimezone(zone).date()}: {single_line(one.text)}" for one in found]
    return "\n".join(lines) or NOTHING
