"""Our chat and embedder as LangChain's chat model and embeddings.

Other systems thus ask the same endpoint through the same interface: counted, recorded, played back.
Tools are described in the system message and called in JSON, because our interface has only
messages and the form of an answer.
"""

import asyncio
import json
import re
import uuid
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, TypeVar

from langchain_core.embeddings import Embeddings
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import Runnable
from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import BaseModel, ConfigDict

from bench.systems import SystemInputs
from souffleur.agents.answers import read_answer
from souffleur.agents.model.chat import Chat, Form, Message, Reply, Request, Role
from souffleur.errors import AnswerError, EndpointError, SouffleurError
from souffleur.knowledge.search.embedder import Embedder
from souffleur.settings import Settings

T = TypeVar("T")

# The random ids of libraries, with hyphens or without.
_RANDOM_ID = re.compile(r"(?<![0-9a-f])[0-9a-f]{8}(-?)(?:[0-9a-f]{4}\1){3}[0-9a-f]{12}(?![0-9a-f])")
# What a library lists in the order of its random ids.
_RANDOM_ID_LIST = re.compile(r"'[0-9a-f-]{32,36}'(?:, '[0-9a-f-]{32,36}')+")
_ROLES: dict[str, Role] = {"system": "system", "ai": "assistant"}


class _ToolCall(BaseModel):
    model_config = ConfigDict(extra="ignore")

    tool: str
    arguments: dict[str, Any]


class _ToolCalls(BaseModel):
    model_config = ConfigDict(extra="ignore")

    calls: list[_ToolCall]


class Aliases:
    """Aliases for random ids, which are the same in every run, by order of appearance.

    Without them no request would be the one that was recorded.
    """

    def __init__(self) -> None:
        self._to: dict[str, str] = {}
        self._back: dict[str, str] = {}

    def hide(self, text: str) -> str:
        """Replace the ids in a text by aliases; sort lists of them."""
        hidden = _RANDOM_ID.sub(lambda found: self._alias(found.group()), text)
        return _RANDOM_ID_LIST.sub(
            lambda found: ", ".join(sorted(found.group().split(", "))), hidden
        )

    def reveal(self, text: str) -> str:
        """Replace the aliases in a text by the ids they stand for."""
        return _RANDOM_ID.sub(lambda found: self._back.get(found.group(), found.group()), text)

    def _alias(self, id: str) -> str:
        if id not in self._to:
            made = uuid.uuid5(uuid.NAMESPACE_OID, str(len(self._to)))
            alias = str(made) if "-" in id else made.hex
            self._to[id], self._back[alias] = alias, id
        return self._to[id]


class LangChainAdapter:
    """One system's access to the endpoint, on the event loop that made it."""

    def __init__(
        self, inputs: SystemInputs, name: str, rewrite: Callable[[str], str] = lambda text: text
    ) -> None:
        """Take the name of its requests, and a function that changes messages before sending."""
        self._chat = patient(inputs.chat, inputs.settings)
        self._name = name
        self._rewrite = rewrite
        self._form: Form = "text" if inputs.settings.answer_form == "text" else "json_object"
        self.loop = asyncio.get_running_loop()
        self._aliases = Aliases()
        self._calls = 0
        self._failure: SouffleurError | None = None
        self.model = AdapterModel(adapter=self)
        self.embeddings = AdapterEmbeddings(inputs.embedder, self.loop)

    def check(self) -> None:
        """Raise what the endpoint raised, or why an answer holds no calls, if a library hid it."""
        failure, self._failure = self._failure, None
        if failure:
            raise failure

    async def ask(
        self, messages: Sequence[BaseMessage], tools: Sequence[Any], choice: str | None
    ) -> AIMessage:
        """Return the answer of the model. Raises what the chat raises."""
        sent = [_plain(message) for message in messages]
        if tools:
            sent = _told_of(tools, choice, sent)
        hidden = [Message(one.role, self._aliases.hide(self._rewrite(one.content))) for one in sent]
        request = Request(tuple(hidden), self._name, None, self._form)
        try:
            reply = await self._chat(request)
        except SouffleurError as error:
            self._failure = self._failure or error
            raise
        text = self._aliases.reveal(reply.text)
        self._calls += 1
        if not tools:
            return AIMessage(text)
        try:
            return _called(text, self._calls)
        except AnswerError as error:
            self._failure = self._failure or error
            return AIMessage(text)


class AdapterModel(BaseChatModel):
    """LangChain's chat model over an adapter."""

    adapter: Any

    @property
    def _llm_type(self) -> str:
        return "souffleur"

    def bind_tools(
        self, tools: Sequence[Any], *, tool_choice: str | None = None, **kwargs: Any
    ) -> Runnable[Any, AIMessage]:
        """Return the model with these tools bound."""
        told = [convert_to_openai_tool(tool) for tool in tools]
        return self.bind(tools=told, tool_choice=tool_choice, **kwargs)

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: Any = None,
        **kwargs: Any,
    ) -> ChatResult:
        tools, choice = kwargs.get("tools") or (), kwargs.get("tool_choice")
        return _result(_result_of(self.adapter.ask(messages, tools, choice), self.adapter.loop))

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: Any = None,
        **kwargs: Any,
    ) -> ChatResult:
        tools, choice = kwargs.get("tools") or (), kwargs.get("tool_choice")
        return _result(await self.adapter.ask(messages, tools, choice))


class AdapterEmbeddings(Embeddings):
    """LangChain's embeddings over our embedder; calls from other threads wait for the loop."""

    def __init__(self, embedder: Embedder, loop: asyncio.AbstractEventLoop) -> None:
        self._embedder = embedder
        self._loop = loop

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Return one vector for each text."""
        return _result_of(self.aembed_documents(texts), self._loop)

    def embed_query(self, text: str) -> list[float]:
        """Return the vector of a query."""
        return _result_of(self.aembed_query(text), self._loop)

    async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
        """Return one vector for each text."""
        return [list(row) for row in await self._embedder.embed(texts)]

    async def aembed_query(self, text: str) -> list[float]:
        """Return the vector of a query."""
        (row,) = await self._embedder.embed_queries([text])
        return list(row)


def _result_of(work: Coroutine[Any, Any, T], loop: asyncio.AbstractEventLoop) -> T:
    """Return the result of work that is done on a loop; another thread than the loop's waits."""
    return asyncio.run_coroutine_threadsafe(work, loop).result()


def _plain(message: BaseMessage) -> Message:
    text = str(message.text)
    if isinstance(message, ToolMessage):
        return Message("user", f"Result of the call {message.tool_call_id}: {text}")
    if isinstance(message, AIMessage) and message.tool_calls:
        calls = [
            {"id": call["id"], "tool": call["name"], "arguments": call["args"]}
            for call in message.tool_calls
        ]
        text = json.dumps({"calls": calls}, ensure_ascii=False, default=str)
    return Message(_ROLES.get(message.type, "user"), text)


def _told_of(tools: Sequence[Any], choice: str | None, messages: list[Message]) -> list[Message]:
    """Return the messages, with the tools described in the system message."""
    functions = [tool["function"] for tool in tools]
    rule = {None: "No call is needed.", "auto": "No call is needed.", "any": "Call at least one."}
    told = (
        'Answer by calling tools, as one JSON object and nothing around it: {"calls": [{"tool": '
        '"NAME", "arguments": {…}}]}. Several calls may stand in it. '
        f"{rule.get(choice, f'Call {choice}.')}\n\n<tools>\n"
        + "\n".join(json.dumps(one, ensure_ascii=False) for one in functions)
        + "\n</tools>"
    )
    if messages and messages[0].role == "system":
        return [Message("system", f"{messages[0].content}\n\n{told}"), *messages[1:]]
    return [Message("system", told), *messages]


def _called(text: str, number: int) -> AIMessage:
    """Return the calls in an answer. Raises AnswerError if none can be read."""
    found = read_answer(text, _ToolCalls, lines=False).calls
    calls = [
        {"name": one.tool, "args": one.arguments, "id": f"call_{number}_{index}"}
        for index, one in enumerate(found)
    ]
    return AIMessage("", tool_calls=calls)


def _result(message: AIMessage) -> ChatResult:
    return ChatResult(generations=[ChatGeneration(message=message)])


def patient(chat: Chat, settings: Settings) -> Chat:
    """Return a chat that asks another one again, after a pause, if that may help."""

    async def asked(request: Request) -> Reply:
        for attempt in range(1, settings.tries):
            try:
                return await chat(request)
            except EndpointError as error:
                if not error.retryable:
                    raise
                pause = settings.retry_pause * 2 ** (attempt - 1)
                await asyncio.sleep(max(pause, error.retry_after or 0))
        return await chat(request)

    return asked
