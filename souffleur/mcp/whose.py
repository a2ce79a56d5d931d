"""Whose memories a call of a tool is about: fixed, said by the caller, or found in the request."""

import inspect
from collections.abc import Awaitable, Callable, Mapping
from typing import Annotated, Any, NamedTuple

from loguru import logger
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError
from pydantic import Field

from souffleur.errors import SouffleurError
from souffleur.knowledge.identity import check_id
from souffleur.telemetry.log_lines import describe, trace_bug


class Who(NamedTuple):
    """A user, and a persona."""

    user_id: str
    agent_id: str | None = None
    """The persona, which limits what can be known; `None` means all that is known of the user."""


Resolve = Callable[[Context[Any, Any], str | None], Who]
"""From a request, and the user that the call names, to whose memories are meant."""
Method = Callable[..., Awaitable[Any]]

_FAILED = "the memory failed at this call, its log says where: go on without it"
_SAID = Annotated[str, Field(description="The id of the user whose memories are meant.")]
_MAYBE_SAID = Annotated[
    str | None,
    Field(description="The id of the user whose memories are meant; omit it for your own."),
]


class Whose:
    """How the tools of a server find out whose memories are meant."""

    def __init__(self, resolve: Resolve, argument: Any = None, default: Any = None) -> None:
        """`argument` is the type of the tools' argument `user_id`; `None` means they have none."""
        self._resolve = resolve
        self._argument = argument
        self._default = default

    def bind(self, method: Method) -> Method:
        """Return a method, whose first argument is a Who, as the function of a tool.

        Errors of Souffleur become errors that the calling model reads.
        """

        async def call(context: Context[Any, Any], **given: Any) -> Any:
            named = given.pop("user_id", None)
            try:
                return await method(self._resolve(context, named), **given)
            except SouffleurError as error:
                raise ToolError(str(error)) from error
            except Exception as error:  # noqa: BLE001  its text may quote what was said
                logger.error("a tool failed: {}", describe(error))
                trace_bug(logger, error)
                raise ToolError(_FAILED) from None

        signature = inspect.signature(method, eval_str=True)
        _, *own = signature.parameters.values()
        kind = inspect.Parameter.KEYWORD_ONLY
        parameters = [inspect.Parameter("context", kind, annotation=Context[Any, Any])]
        if self._argument is not None:
            said: dict[str, Any] = {"annotation": self._argument, "default": self._default}
            parameters.append(inspect.Parameter("user_id", kind, **said))
        parameters += [one.replace(kind=kind) for one in own]
        described: Any = call
        described.__name__ = getattr(method, "__name__", "")
        described.__doc__ = inspect.getdoc(method)
        described.__signature__ = signature.replace(parameters=parameters)
        described.__annotations__ = _annotations(parameters, signature.return_annotation)
        return call


def fixed(user_id: str, agent_id: str | None) -> Whose:
    """Return the way of a server for one user. Raises IdentityError."""
    who = _who(user_id, agent_id)
    return Whose(lambda context, named: who)


def said(agent_id: str | None) -> Whose:
    """Return the way of a server whose callers name the user."""
    empty = inspect.Parameter.empty
    return Whose(lambda context, named: _who(named, agent_id), argument=_SAID, default=empty)


def resolved(resolve: Resolve) -> Whose:
    """Return the way of a server that finds the user in the request; a caller may name one."""
    return Whose(resolve, argument=_MAYBE_SAID)


def _who(user_id: object, agent_id: str | None) -> Who:
    return Who(check_id(user_id), None if agent_id is None else check_id(agent_id, "agent_id"))


def _annotations(parameters: list[inspect.Parameter], result: Any) -> Mapping[str, Any]:
    return {**{one.name: one.annotation for one in parameters}, "return": result}
