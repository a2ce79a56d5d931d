"""The methods of `Souffleur` for programs without an event loop, and over HTTP.

Each is made from the method in `api`, and has its signature, types and help text. A new method of
`Souffleur` is added here in two lines, and to `server/table.py` in a third.
"""

from collections.abc import Awaitable, Callable, Coroutine
from contextlib import AbstractAsyncContextManager
from functools import update_wrapper
from inspect import iscoroutinefunction, signature
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Protocol, TypeVar, Unpack

from souffleur.api import Souffleur
from souffleur.errors import BlockingError
from souffleur.loops import LoopThread
from souffleur.recall.compose import Recall
from souffleur.settings import Settings
from souffleur.times import Clock

if TYPE_CHECKING:
    from souffleur.agents.model.chat import Chat
    from souffleur.knowledge.search.embedder import Embedder
    from souffleur.overrides import Overrides

P = ParamSpec("P")
R = TypeVar("R")


class _Calls(Protocol):
    def _call(self, method: str, /, **given: Any) -> Any: ...


class _Awaits(Protocol):
    async def _call(self, method: str, /, **given: Any) -> Any: ...


def waits(
    method: Callable[Concatenate[Souffleur, P], Awaitable[R]],
) -> Callable[Concatenate[_Calls, P], R]:
    """Return the method for programs without an event loop: it waits for the result."""
    return passes(method)  # type: ignore[arg-type]  # `_call` has awaited what it returns


def passes(method: Callable[Concatenate[Souffleur, P], R]) -> Callable[Concatenate[_Calls, P], R]:
    """Return a method as `waits` does, from a `Souffleur` method that is not a coroutine."""

    def call(self: _Calls, /, *args: P.args, **named: P.kwargs) -> R:
        found: R = self._call(method.__name__, **_arguments(method, *args, **named))
        return found

    return update_wrapper(call, method)


def awaits(
    method: Callable[Concatenate[Souffleur, P], Awaitable[R]],
) -> Callable[Concatenate[_Awaits, P], Coroutine[Any, Any, R]]:
    """Return the method for a client with an event loop: it sends its arguments when awaited."""
    return awaits_plain(method)  # type: ignore[arg-type]  # `_call` has awaited what it returns


def awaits_plain(
    method: Callable[Concatenate[Souffleur, P], R],
) -> Callable[Concatenate[_Awaits, P], Coroutine[Any, Any, R]]:
    """Return a method as `awaits` does, from a `Souffleur` method that is not a coroutine."""

    async def call(self: _Awaits, /, *args: P.args, **named: P.kwargs) -> R:
        found: R = await self._call(method.__name__, **_arguments(method, *args, **named))
        return found

    return update_wrapper(call, method)


def _arguments(method: Callable[..., Any], *args: Any, **named: Any) -> dict[str, Any]:
    """Return all arguments of a call by name. Raises TypeError for an unknown argument.

    >>> _arguments(Souffleur.get, "m1", user_id="ann")
    {'memory_id': 'm1', 'user_id': 'ann'}
    """
    bound = signature(method).bind(None, *args, **named)
    bound.apply_defaults()
    del bound.arguments["self"]
    return dict(bound.arguments)


class Methods(_Calls):
    """The methods of `Souffleur`, each of which waits for its result."""

    recall = waits(Souffleur.recall)
    observe = passes(Souffleur.observe)
    end_session = passes(Souffleur.end_session)
    health = waits(Souffleur.health)
    remember = waits(Souffleur.remember)
    record_skill = waits(Souffleur.record_skill)
    ask = waits(Souffleur.ask)
    introduce = waits(Souffleur.introduce)
    preferences = waits(Souffleur.preferences)
    set_preferences = waits(Souffleur.set_preferences)
    introduce_persona = waits(Souffleur.introduce_persona)
    define = waits(Souffleur.define)
    share = waits(Souffleur.share)
    users = waits(Souffleur.users)
    report = waits(Souffleur.report)
    cast = waits(Souffleur.cast)
    write_portrait = waits(Souffleur.write_portrait)
    run = waits(Souffleur.run)
    forget = waits(Souffleur.forget)
    proposals = waits(Souffleur.proposals)
    confirm = waits(Souffleur.confirm)
    reject = waits(Souffleur.reject)
    confirm_all = waits(Souffleur.confirm_all)
    reject_all = waits(Souffleur.reject_all)
    pin = waits(Souffleur.pin)
    retry = waits(Souffleur.retry)
    backup = waits(Souffleur.backup)
    export = waits(Souffleur.export)
    import_file = waits(Souffleur.import_file)
    edit = waits(Souffleur.edit)
    restore_memory = waits(Souffleur.restore_memory)
    erase_user = waits(Souffleur.erase_user)
    erase_turn = waits(Souffleur.erase_turn)
    preview_topic = waits(Souffleur.preview_topic)
    forget_topic = waits(Souffleur.forget_topic)
    erase_memory = waits(Souffleur.erase_memory)
    compact = waits(Souffleur.compact)
    flush = waits(Souffleur.flush)
    search = waits(Souffleur.search)
    get = waits(Souffleur.get)
    history = waits(Souffleur.history)
    ledger = waits(Souffleur.ledger)
    notices = waits(Souffleur.notices)
    undo = waits(Souffleur.undo)
    stats = waits(Souffleur.stats)
    episodes = waits(Souffleur.episodes)
    portrait = waits(Souffleur.portrait)
    list = waits(Souffleur.list)


class AsyncMethods(_Awaits):
    """The methods of `Souffleur` over HTTP, each of which is awaited."""

    recall = awaits(Souffleur.recall)
    observe = awaits_plain(Souffleur.observe)
    end_session = awaits_plain(Souffleur.end_session)
    health = awaits(Souffleur.health)
    remember = awaits(Souffleur.remember)
    record_skill = awaits(Souffleur.record_skill)
    ask = awaits(Souffleur.ask)
    introduce = awaits(Souffleur.introduce)
    preferences = awaits(Souffleur.preferences)
    set_preferences = awaits(Souffleur.set_preferences)
    introduce_persona = awaits(Souffleur.introduce_persona)
    define = awaits(Souffleur.define)
    share = awaits(Souffleur.share)
    users = awaits(Souffleur.users)
    report = awaits(Souffleur.report)
    cast = awaits(Souffleur.cast)
    write_portrait = awaits(Souffleur.write_portrait)
    run = awaits(Souffleur.run)
    forget = awaits(Souffleur.forget)
    proposals = awaits(Souffleur.proposals)
    confirm = awaits(Souffleur.confirm)
    reject = awaits(Souffleur.reject)
    confirm_all = awaits(Souffleur.confirm_all)
    reject_all = awaits(Souffleur.reject_all)
    pin = awaits(Souffleur.pin)
    retry = awaits(Souffleur.retry)
    backup = awaits(Souffleur.backup)
    export = awaits(Souffleur.export)
    import_file = awaits(Souffleur.import_file)
    edit = awaits(Souffleur.edit)
    restore_memory = awaits(Souffleur.restore_memory)
    erase_user = awaits(Souffleur.erase_user)
    erase_turn = awaits(Souffleur.erase_turn)
    preview_topic = awaits(Souffleur.preview_topic)
    forget_topic = awaits(Souffleur.forget_topic)
    erase_memory = awaits(Souffleur.erase_memory)
    compact = awaits(Souffleur.compact)
    flush = awaits(Souffleur.flush)
    search = awaits(Souffleur.search)
    get = awaits(Souffleur.get)
    history = awaits(Souffleur.history)
    ledger = awaits(Souffleur.ledger)
    notices = awaits(Souffleur.notices)
    undo = awaits(Souffleur.undo)
    stats = awaits(Souffleur.stats)
    episodes = awaits(Souffleur.episodes)
    portrait = awaits(Souffleur.portrait)
    list = awaits(Souffleur.list)


class BlockingSouffleur(Methods):
    """Memory for a companion whose host has no event loop: Flask, Gradio, a script.

        with BlockingSouffleur.open() as memory:
            whisper = memory.recall(user_id="u1", session_id="s1", text=message)
            reply = my_model(system=persona + whisper.text, user=message)
            memory.observe(user_id="u1", session_id="s1", user=message, assistant=reply)

    One event loop in a thread does the work; any thread may call. Each call waits, so a call from
    within an event loop blocks that loop: use `Souffleur.open` there. Once closed, or in a forked
    child, methods raise BlockingError; `recall` and `observe` still never raise.
    """

    def __init__(self, opening: AbstractAsyncContextManager[Souffleur, Any]) -> None:
        """Wait until the memory is open; `open` is the usual way."""
        self._thread = LoopThread(opening)
        self._inner = self._thread.held
        self.settings: Settings = self._inner.settings
        """The settings in force."""
        self.clock: Clock = self._inner.clock
        """Returns the time."""

    @classmethod
    def open(
        cls,
        settings: Settings | None = None,
        *,
        chat: "Chat | None" = None,
        clock: Clock | None = None,
        embedder: "Embedder | str | None" = None,
        **overrides: Unpack["Overrides"],
    ) -> "BlockingSouffleur":
        """Open the store as `Souffleur.open` does, and return when all is open.

        Use it with `with`, or close it yourself. Raises the errors of `Souffleur.open`.
        """
        return cls(Souffleur.open(settings, chat=chat, clock=clock, embedder=embedder, **overrides))

    @property
    def error(self) -> str:
        """As `Souffleur.error`."""
        return self._inner.error

    @property
    def has_model(self) -> bool:
        """As `Souffleur.has_model`."""
        return self._inner.has_model

    def call(self, work: Callable[[Souffleur], Awaitable[R]]) -> R:
        """Do work on the Souffleur inside, in its event loop, and return the result.

        For what has no blocking form: `memory.call(lambda inner: inner.knowledge.list("ann"))`.
        """
        return self._thread.call(work, self._inner)

    def _call(self, method: str, /, **given: Any) -> Any:
        work = getattr(Souffleur, method)
        if not iscoroutinefunction(work):
            return work(self._inner, **given)
        try:
            return self._thread.call(work, self._inner, **given)
        except BlockingError as error:
            if method != "recall":
                raise
            return Recall(error=str(error))

    def close(self) -> None:
        """Judge while `Souffleur.seconds_left`, then close everything. Idempotent."""
        self._thread.close()

    def __enter__(self) -> "BlockingSouffleur":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()
