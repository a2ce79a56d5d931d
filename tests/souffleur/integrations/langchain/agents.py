"""A chat model of LangChain that answers by a list and keeps what it was asked."""

from collections.abc import Callable, Sequence
from typing import Any

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import Runnable
from langchain_core.tools import BaseTool
from pydantic import Field


class ScriptedModel(BaseChatModel):
    """Answers in order; what it is asked is in `asked`."""

    answers: list[AIMessage]
    asked: list[list[BaseMessage]] = Field(default_factory=list)

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(
        self, tools: Sequence[dict[str, Any] | type | Callable[..., Any] | BaseTool], **_: Any
    ) -> Runnable[Any, AIMessage]:
        """Tools make no difference to it."""
        return self

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **_: Any,
    ) -> ChatResult:
        self.asked.append(messages)
        answer = self.answers[len(self.asked) - 1]
        return ChatResult(generations=[ChatGeneration(message=answer)])

    @property
    def systems(self) -> list[str]:
        """The system prompts so far; an empty string for a call without one."""
        firsts = [messages[0] for messages in self.asked]
        return [one.text if one.type == "system" else "" for one in firsts]


def scripted(*answers: str | AIMessage) -> ScriptedModel:
    """A model with these answers."""
    made = [AIMessage(one) if isinstance(one, str) else one for one in answers]
    return ScriptedModel(answers=made)


def calls(name: str, **args: Any) -> AIMessage:
    """An answer that calls a tool."""
    return AIMessage("", tool_calls=[{"name": name, "args": args, "id": "call-1"}])
