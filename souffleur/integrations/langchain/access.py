"""Access of LangChain's classes to a memory: the ids of a run, and the memory's event loop."""

import asyncio
import inspect
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass
from threading import Event
from typing import TYPE_CHECKING, Any

from souffleur.errors import BlockingError, InputError
from souffleur.faces import BlockingSouffleur
from souffleur.knowledge.identity import check_id
from souffleur.knowledge.operation import derive_id
from souffleur.knowledge.text.plain import is_blank
from souffleur.messages import look_up

if TYPE_CHECKING:
    from souffleur.api import Souffleur
    from souffleur.client import AsyncClient, Client

    AnyMemory = Souffleur | BlockingSouffleur | AsyncClient | Client


@dataclass(frozen=True)
class Talk:
    """A user, a session and a persona. Usable as the `context_schema` of an agent."""

    user_id: str
    session_id: str | None = None
    """The id of the session; `None` means the id of the thread, otherwise "default"."""
    agent_id: str | None = None
    """The id of the persona; `None` means the persona of the agent, otherwise "default"."""

    @property
    def ids(self) -> dict[str, str]:
        """The ids as keyword arguments of Souffleur's methods."""
        return {**self.who, "session_id": self.session_id or "default"}

    @property
    def who(self) -> dict[str, str]:
        """The ids without the session."""
        return {"user_id": self.user_id, "agent_id": self.agent_id or "default"}


def talk_of(context: object, config: Mapping[str, object] | None, agent_id: str | None) -> Talk:
    """Return the ids in the context of a run, otherwise in `configurable`; never ids from a model.

    Raises InputError without a user.

    >>> talk_of({"user_id": "u1"}, {"configurable": {"thread_id": "t1"}}, None)
    Talk(user_id='u1', session_id='t1', agent_id=None)
    """
    configured = (config or {}).get("configurable") or {}

    def named(*names: str) -> object:
        places = ((place, name) for place in (context, configured) for name in names)
        found = (look_up(place, name) for place, name in places if place is not None)
        return next((one for one in found if one is not None), None)

    user_id = named("user_id")
    if user_id is None:
        raise InputError(
            "no user is named, and memories belong to one: run the agent with "
            "context=Talk(user_id=…) and context_schema=Talk, or with "
            "config={'configurable': {'user_id': …, 'thread_id': …}}"
        )
    session_id, persona = named("session_id", "thread_id"), named("agent_id") or agent_id
    return Talk(
        check_id(user_id),
        None if session_id is None else check_id(storable_id(session_id), "session_id"),
        None if persona is None else check_id(persona, "agent_id"),
    )


def storable_id(id: object) -> object:
    """Return a foreign id of a session or a message as an id that can be stored.

    An id that is too long, or has a lone surrogate, is replaced by a digest.

    >>> storable_id("t1"), storable_id("t" * 600)
    ('t1', '8feb2cae-54b2-5f3e-b2c6-be333bbb6b1f')
    """
    if not isinstance(id, str) or is_blank(id):
        return id
    try:
        return check_id(id, "id")
    except InputError:
        return derive_id("id", ascii(id))


LOOP_TIMEOUT = 5.0
"""Seconds after which an event loop counts as blocked; it usually goes on in milliseconds."""
BLOCKED = (
    "a synchronous call cannot wait for a memory of its own event loop: use the asynchronous form "
    "(`ainvoke`, `aget`), or `BlockingSouffleur` or `Client` instead"
)
Work = Callable[[Any], Any]
"""A function of a memory; it may return an awaitable."""


class Access:
    """Does work on a memory in its own event loop, for blocking and for asynchronous callers."""

    def __init__(self, memory: "AnyMemory", timeout: float = LOOP_TIMEOUT) -> None:
        """Create it, or use it first, in the event loop of a Souffleur or an AsyncClient."""
        self.memory: Any = memory
        self._timeout = timeout
        self._blocking = not inspect.iscoroutinefunction(memory.recall)
        self._loop = None if self._blocking else _running_loop()

    async def reach(self, work: Work) -> Any:
        """Do the work for a caller with an event loop, without blocking it."""
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
        """Do the work for a blocking caller. Raises BlockingError if it would never end."""
        if isinstance(self.memory, BlockingSouffleur):
            return self.memory.call(lambda inner: _done(work, inner))
        if self._blocking:
            return _run(_done(work, _Awaited(self.memory)))
        if self._loop is None or self._loop is _running_loop():
            raise BlockingError(BLOCKED)
        waiting = asyncio.run_coroutine_threadsafe(_done(work, self.memory), self._loop)
        turned = Event()
        self._loop.call_soon_threadsafe(turned.set)
        # The loop is blocked if `invoke` runs in it; tools run in other threads.
        if not turned.wait(self._timeout):
            waiting.cancel()
            raise BlockingError(BLOCKED)
        return waiting.result()


class _Awaited:
    """The methods of a Client as coroutines; they return without waiting."""

    def __init__(self, client: "Client") -> None:
        self._client = client

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._client, name)

        async def call(*given: Any, **named: Any) -> Any:
            return method(*given, **named)

        return call


def _run(done: Coroutine[Any, Any, Any]) -> Any:
    """Return the result of a coroutine that never waits, without an event loop."""
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
