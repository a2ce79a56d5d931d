"""`recall_memory`: a tool with which an agent looks for what it was told."""

import asyncio
import inspect
from collections.abc import Callable, Coroutine, Sequence
from datetime import datetime
from threading import Event
from typing import TYPE_CHECKING, Annotated, Any, Literal
from zoneinfo import ZoneInfo

from langchain.tools import ToolRuntime
from langchain_core.tools import BaseTool, StructuredTool
from loguru import logger
from pydantic import Field

from souffleur.errors import BlockingError, SouffleurError
from souffleur.faces import BlockingSouffleur
from souffleur.integrations.langchain.talk import Talk, talk_of
from souffleur.knowledge.search.query import EVERYWHERE, Found, Scope
from souffleur.knowledge.text.plain import single_line

if TYPE_CHECKING:
    from souffleur.api import Souffleur
    from souffleur.client import AsyncClient, Client

    AnyMemory = Souffleur | BlockingSouffleur | AsyncClient | Client


PATIENCE = 5.0
"""Seconds; usually a loop goes on after some milliseconds."""
BLOCKED = (
    "a synchronous call cannot wait for a memory of its own event loop: use the asynchronous form "
    "(`ainvoke`, `aget`), or `BlockingSouffleur` or `Client` instead"
)
Work = Callable[[Any], Any]
"""What to do with a Souffleur; may return an awaitable."""


class Access:
    """Does work on a memory, in its own event loop, whichever way a host calls."""

    def __init__(self, memory: "AnyMemory", patience: float = PATIENCE) -> None:
        """Make it, or use it first, in the event loop of a Souffleur or an AsyncClient.

        `patience`: seconds after which an event loop that does not go on counts as blocked.
        """
        self.memory: Any = memory
        self._patience = patience
        self._blocking = not inspect.iscoroutinefunction(memory.recall)
        self._loop = None if self._blocking else _running_loop()

    async def reach(self, work: Work) -> Any:
        """Do the work for a caller with an event loop, which is never blocked."""
        if self._blocking:
            return await asyncio.to_thread(self.wait, work)
        here = asyncio.get_running_loop()
        self._loop = self._loop or here
        if self._loop is here:
            return await _done(work, self.memory)
        return await asyncio.wrap_future(
            asyncio.run_coroutine_threadsafe(_done(work, self.memory), self._loop)
        )

    def wait(self, work: Work) -> Any:
        """Do the work for a caller without one, and wait. Raises BlockingError if it never ends."""
        if isinstance(self.memory, BlockingSouffleur):
            return self.memory.call(lambda inner: _done(work, inner))
        if self._blocking:
            return _driven(_done(work, _Awaited(self.memory)))
        if self._loop is None or self._loop is _running_loop():
            raise BlockingError(BLOCKED)
        waiting = asyncio.run_coroutine_threadsafe(_done(work, self.memory), self._loop)
        turned = Event()
        self._loop.call_soon_threadsafe(turned.set)
        # It is blocked if `invoke` runs in that loop: tools run in threads beside it.
        if not turned.wait(self._patience):
            waiting.cancel()
            raise BlockingError(BLOCKED)
        return waiting.result()


class _Awaited:
    """The methods of a Client, to be awaited; they have their results before."""

    def __init__(self, client: "Client") -> None:
        self._client = client

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._client, name)

        async def call(*given: Any, **named: Any) -> Any:
            return method(*given, **named)

        return call


def _driven(done: Coroutine[Any, Any, Any]) -> Any:
    """Return the result of a coroutine that waits for nothing, so that it needs no event loop."""
    try:
        done.send(None)
    except StopIteration as end:
        return end.value
    raise BlockingError("this work waits for an event loop, which a Client has not")


async def _done(work: Work, memory: Any) -> Any:
    found = work(memory)
    return await found if inspect.isawaitable(found) else found


def _running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


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
