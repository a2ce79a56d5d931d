"""Access of LangChain's classes to a memory: whose it is, and the event loop that it runs in."""

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
    """The user."""
    session_id: str | None = None
    """The session; `None` means the thread, or else "default"."""
    agent_id: str | None = None
    """The persona; `None` means that of the agent, or else "default"."""

    @property
    def ids(self) -> dict[str, str]:
        """The ids as Souffleur's methods take them."""
        return {**self.who, "session_id": self.session_id or "default"}

    @property
    def who(self) -> dict[str, str]:
        """The ids without the session."""
        return {"user_id": self.user_id, "agent_id": self.agent_id or "default"}


def talk_of(context: object, config: Mapping[str, object] | None, agent_id: str | None) -> Talk:
    """Return who talks: by the context of a run, else by `configurable`; never by a model.

    Raises InputError if neither names a user.

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
        None if session_id is None else check_id(kept_id(session_id), "session_id"),
        None if persona is None else check_id(persona, "agent_id"),
    )


def kept_id(id: object) -> object:
    """Return the id of a session or a message, which others made, as one that can be stored.

    What is too long, or holds half of a character, is replaced by a digest.

    >>> kept_id("t1"), kept_id("t" * 600)
    ('t1', '8feb2cae-54b2-5f3e-b2c6-be333bbb6b1f')
    """
    if not isinstance(id, str) or is_blank(id):
        return id
    try:
        return check_id(id, "id")
    except InputError:
        return derive_id("id", ascii(id))


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
