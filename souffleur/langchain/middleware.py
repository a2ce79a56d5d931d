"""SouffleurMiddleware: memory for an agent of LangChain's `create_agent`."""

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any

from langchain.agents.middleware import AgentMiddleware, ModelRequest, ModelResponse
from langchain_core.messages import BaseMessage
from langchain_core.tools import BaseTool
from langgraph.config import get_config
from langgraph.runtime import Runtime
from loguru import logger

from souffleur.errors import SouffleurError
from souffleur.langchain.access import Access, Work
from souffleur.langchain.recalling import recall_tool
from souffleur.langchain.talk import Talk, kept_id, talk_of
from souffleur.langchain.turns import LastTurn, OpenTurns, last_turn, replies, with_whisper
from souffleur.telemetry.log_lines import describe
from souffleur.whispering.whisper import Recall

if TYPE_CHECKING:
    from souffleur.langchain.access import AnyMemory

_Request = ModelRequest[Any]
_Response = ModelResponse[Any]


class SouffleurMiddleware(AgentMiddleware[Any, Any, Any]):
    """Adds memories to the system prompt of each model call, and observes each turn at its end.

        agent = create_agent(model, tools, middleware=[SouffleurMiddleware(memory)])
        agent.invoke({"messages": [("user", "hi")]}, context=Talk(user_id="u1", session_id="s1"))

    Memories are in no message and in no checkpoint. Rounds of tools are one turn. A memory in
    trouble costs no reply; only a run that names no user raises IdentityError. Put it first in the
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
        """Call the model with what is remembered. Raises IdentityError if no user is named."""
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
        """Call the model with what is remembered. Raises IdentityError if no user is named."""
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
