"""SouffleurMiddleware: memory for an agent of create_agent; and the tool recall_memory."""

from collections import OrderedDict
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
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

from souffleur.errors import SouffleurError
from souffleur.integrations.langchain.access import Access, Talk, Work, kept_id, talk_of
from souffleur.knowledge.search.query import EVERYWHERE, Found, Scope
from souffleur.knowledge.text.plain import single_line
from souffleur.messages import to_turns
from souffleur.recall.compose import Recall
from souffleur.telemetry.log_lines import describe

if TYPE_CHECKING:
    from souffleur.integrations.langchain.access import AnyMemory

MAX_OPEN = 10_000
"""Maximum turns that are remembered while they are answered."""


@dataclass(frozen=True)
class LastTurn:
    """What a user said last, and what was replied so far."""

    id: str
    """The id of the user's message; empty if it has none."""
    user: str
    assistant: str


@dataclass(frozen=True)
class OpenTurn:
    """A turn that is being answered."""

    turn: LastTurn
    recall: Recall


class OpenTurns:
    """The turns that are being answered, one for each session. Thread-safe."""

    def __init__(self) -> None:
        self._open: OrderedDict[Talk, OpenTurn] = OrderedDict()
        self._alone = Lock()

    def find(self, talk: Talk, turn: LastTurn | None) -> OpenTurn | None:
        """Return the open turn of a session if it is this one; `None` stands for any."""
        with self._alone:
            found = self._open.get(talk)
        return found if found and (turn is None or turn.id == found.turn.id) else None

    def begin(self, talk: Talk, turn: LastTurn, recall: Recall) -> None:
        """Note the whisper that a turn is answered with."""
        with self._alone:
            self._open[talk] = OpenTurn(turn, recall)
            self._open.move_to_end(talk)
            if len(self._open) > MAX_OPEN:
                self._open.popitem(last=False)

    def end(self, talk: Talk, turn: LastTurn | None) -> OpenTurn | None:
        """Return what `find` does, and forget it."""
        found = self.find(talk, turn)
        with self._alone:
            if found and self._open.get(talk) is found:
                del self._open[talk]
        return found


def last_turn(messages: Sequence[BaseMessage], called: Collection[str] = ()) -> LastTurn | None:
    """Return what the user said last, with the replies that follow; `None` if nobody said anything.

    Rounds of tools are part of the turn. What was said before and not answered is, too. What others
    said, whom messages name, is among the replies; `called` is what the user is called. Raises
    InputError for a content that cannot be read.

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


def replies(messages: Sequence[BaseMessage]) -> str:
    """Return the latest reply; for a turn whose beginning was summarised away."""
    spoken = (one.text for one in reversed(messages) if isinstance(one, AIMessage) and one.text)
    return next(spoken, "")


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
    """Return whether a middleware wrote a message, such as a summary, in the user's name."""
    return "lc_source" in message.additional_kwargs


_Request = ModelRequest[Any]
_Response = ModelResponse[Any]


class SouffleurMiddleware(AgentMiddleware[Any, Any, Any]):
    """Adds memories to the system prompt of each model call, and observes each turn at its end.

        agent = create_agent(model, tools, middleware=[SouffleurMiddleware(memory)])
        agent.invoke({"messages": [("user", "hi")]}, context=Talk(user_id="u1", session_id="s1"))

    Memories are in no message and in no checkpoint. Rounds of tools are one turn. A memory in
    trouble costs no reply; only a run that names no user raises InputError. Put it first in the
    list, so that it sees what the user said before others shorten or change it.
    """

    def __init__(
        self,
        memory: "AnyMemory",
        *,
        agent_id: str | None = None,
        recall: bool = True,
    ) -> None:
        """Use a memory: a Souffleur or AsyncClient for `ainvoke`, the blocking ones for both.

        `agent_id` is the persona of this agent, unless a run names another. With `recall` the agent
        also gets the tool `recall_memory`, to look for more than was whispered.
        """
        super().__init__()
        self._access = Access(memory)
        self._agent_id = agent_id
        self._open = OpenTurns()
        self.tools: Sequence[BaseTool] = [recall_tool(memory, agent_id=agent_id)] if recall else []

    def wrap_model_call(
        self, request: _Request, handler: Callable[[_Request], _Response]
    ) -> _Response:
        """Call the model with what is remembered. Raises InputError if no user is named."""
        talk = self._talk(request.runtime)
        turn = _read(request.state["messages"], talk)
        found = self._open.find(talk, turn)
        if found is None and turn is not None:
            whispered = self._waited(_recalling(talk, turn))
            self._open.begin(talk, turn, whispered)
        else:
            whispered = found.recall if found else Recall()
        return handler(_whispering(request, whispered))

    async def awrap_model_call(
        self, request: _Request, handler: Callable[[_Request], Awaitable[_Response]]
    ) -> _Response:
        """Call the model with what is remembered. Raises InputError if no user is named."""
        talk = self._talk(request.runtime)
        turn = _read(request.state["messages"], talk)
        found = self._open.find(talk, turn)
        if found is None and turn is not None:
            whispered = await self._reached(_recalling(talk, turn))
            self._open.begin(talk, turn, whispered)
        else:
            whispered = found.recall if found else Recall()
        return await handler(_whispering(request, whispered))

    def after_agent(self, state: Any, runtime: Runtime[Any]) -> None:
        """Store the turn, to be judged in the background."""
        if work := self._observing(state["messages"], runtime):
            self._waited(work)

    async def aafter_agent(self, state: Any, runtime: Runtime[Any]) -> None:
        """Store the turn, to be judged in the background."""
        if work := self._observing(state["messages"], runtime):
            await self._reached(work)

    def _observing(self, messages: Sequence[BaseMessage], runtime: Runtime[Any]) -> Work | None:
        """Return what stores the last turn; `None` if nothing was said."""
        talk = self._talk(runtime)
        turn = _read(messages, talk)
        answered = self._open.end(talk, turn)
        if turn is None:
            if answered is None:
                return None
            turn = LastTurn(answered.turn.id, answered.turn.user, replies(messages))
        said, whisper = turn, answered.recall if answered else None

        def observe(memory: Any) -> Any:
            return memory.observe(
                **talk.ids,
                user=said.user,
                assistant=said.assistant,
                whisper=whisper,
                turn_id=kept_id(said.id) if said.id.strip() else None,
            )

        return observe

    def _talk(self, runtime: Runtime[Any]) -> Talk:
        return talk_of(runtime.context, get_config(), self._agent_id)

    def _waited(self, work: Work) -> Any:
        try:
            return _told(self._access.wait(work))
        except Exception as error:  # noqa: BLE001  a reply must never fail for want of memory
            return _told(Recall(error=describe(error)))

    async def _reached(self, work: Work) -> Any:
        try:
            return _told(await self._access.reach(work))
        except Exception as error:  # noqa: BLE001  a reply must never fail for want of memory
            return _told(Recall(error=describe(error)))


def _read(messages: Sequence[BaseMessage], talk: Talk) -> LastTurn | None:
    try:
        return last_turn(messages, [talk.user_id])
    except SouffleurError as error:
        logger.error("the turn cannot be read: {}", error)
        return None


def _recalling(talk: Talk, turn: LastTurn) -> Work:
    return lambda memory: memory.recall(**talk.ids, text=turn.user or turn.assistant)


def _whispering(request: _Request, recall: Recall) -> _Request:
    if not recall.text:
        return request
    return request.override(system_message=with_whisper(request.system_message, recall.text))


def _told(outcome: Any) -> Any:
    """Return a Recall or Receipt; what is wrong with it is logged."""
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
"""Maximum records that one call returns."""
NOTHING = "Nothing is remembered about that."
NO_TIME = (
    "The time was not understood. Write it as a person would, such as 'last week', 'in May', "
    "'2026-03-14' or '上周', or leave it out."
)
IN_TROUBLE = "The memory cannot be read at the moment."


def recall_tool(memory: "AnyMemory", *, agent_id: str | None = None) -> BaseTool:
    """Return the tool `recall_memory`, for any agent of LangChain or LangGraph.

    User and persona are those of the run (see `Talk`): a model cannot name others.
    """
    access = Access(memory)

    async def arecall_memory(
        query: Words, runtime: Run, scope: Where = "everything", when: When = ""
    ) -> str:
        talk = talk_of(runtime.context, runtime.config, agent_id)
        return str(await access.reach(lambda held: _look(held, talk, query, scope, when)))

    def recall_memory(
        query: Words, runtime: Run, scope: Where = "everything", when: When = ""
    ) -> str:
        talk = talk_of(runtime.context, runtime.config, agent_id)
        return str(access.wait(lambda held: _look(held, talk, query, scope, when)))

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
            return await _then(memory, talk, f"{query} ({when})", scopes, zone)
        found = await memory.search(query, **talk.who, scope=scopes, limit=LIMIT)
        return _list([one for one in found if one.relevant], zone)
    except SouffleurError as error:
        logger.warning("recall_memory: {}", error)
        return IN_TROUBLE


async def _then(memory: Any, talk: Talk, text: str, scopes: Sequence[Scope], zone: ZoneInfo) -> str:
    """Return what is known of the time that a text names."""
    past = await memory.ask(text, **talk.ids, limit=LIMIT)
    if past.period is None:
        return NO_TIME
    return _list([one for one in past.found if one.scope in scopes][:LIMIT], zone)


def _list(found: Sequence[Found], zone: ZoneInfo) -> str:
    """Return one line for each record, with its day."""
    lines = [f"- {_day(one.at, zone)}: {single_line(one.text)}" for one in found]
    return "\n".join(lines) or NOTHING


def _day(at: datetime, zone: ZoneInfo) -> str:
    return at.astimezone(zone).date().isoformat()
