"""The methods of `Souffleur` for programs without an event loop, and over HTTP.

Each is made from the method in `api`, and has its signature, types and help text. A new method of
`Souffleur` is added here in three lines, and to `server/routes` and `client/calls.py`.
"""

from collections.abc import Awaitable, Callable, Coroutine
from contextlib import AbstractAsyncContextManager
from functools import update_wrapper
from inspect import signature
from types import TracebackType
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Protocol, TypeVar

from souffleur.api import Souffleur
from souffleur.errors import BlockingError
from souffleur.loops import LoopThread
from souffleur.recall.compose import Recall
from souffleur.settings import Settings
from souffleur.times import Clock

if TYPE_CHECKING:
    from souffleur.agents.model.chat import Chat
    from souffleur.knowledge.search.embedder import Embedder

P = ParamSpec("P")
R = TypeVar("R")


class _Calls(Protocol):
    def _call(self, method: str, /, **given: Any) -> Any: ...


class _Awaits(Protocol):
    async def _call(self, method: str, /, **given: Any) -> Any: ...


def waits(
    method: Callable[Concatenate[Souffleur, P], Awaitable[R]],
) -> Callable[Concatenate["BlockingSouffleur", P], R]:
    """Return the method for a BlockingSouffleur: it waits for the result."""

    def call(self: "BlockingSouffleur", /, *args: P.args, **named: P.kwargs) -> R:
        return self._thread.call(method, self._inner, *args, **named)

    return update_wrapper(call, method)


def passes(
    method: Callable[Concatenate[Souffleur, P], R],
) -> Callable[Concatenate["BlockingSouffleur", P], R]:
    """Return the method for a BlockingSouffleur, if it does not wait in `Souffleur` either."""

    def call(self: "BlockingSouffleur", /, *args: P.args, **named: P.kwargs) -> R:
        return method(self._inner, *args, **named)

    return update_wrapper(call, method)


def recalls(
    method: Callable[Concatenate[Souffleur, P], Awaitable[Recall]],
) -> Callable[Concatenate["BlockingSouffleur", P], Recall]:
    """Return `recall` for a BlockingSouffleur: it never raises, even if the memory is closed."""
    waiting = waits(method)

    def call(self: "BlockingSouffleur", /, *args: P.args, **named: P.kwargs) -> Recall:
        try:
            return waiting(self, *args, **named)
        except BlockingError as error:
            return Recall(error=str(error))

    return update_wrapper(call, method)


def sends(
    method: Callable[Concatenate[Souffleur, P], Awaitable[R]],
) -> Callable[Concatenate[_Calls, P], R]:
    """Return the method for a client: it sends its arguments, and waits for the answer."""

    def call(self: _Calls, /, *args: P.args, **named: P.kwargs) -> R:
        found: R = self._call(method.__name__, **_arguments(method, *args, **named))
        return found

    return update_wrapper(call, method)


def sends_plain(
    method: Callable[Concatenate[Souffleur, P], R],
) -> Callable[Concatenate[_Calls, P], R]:
    """Return a method as `sends` does, of one that does not wait in `Souffleur`."""

    def call(self: _Calls, /, *args: P.args, **named: P.kwargs) -> R:
        found: R = self._call(method.__name__, **_arguments(method, *args, **named))
        return found

    return update_wrapper(call, method)


def asends(
    method: Callable[Concatenate[Souffleur, P], Awaitable[R]],
) -> Callable[Concatenate[_Awaits, P], Coroutine[Any, Any, R]]:
    """Return the method for a client with an event loop: it sends its arguments when awaited."""

    async def call(self: _Awaits, /, *args: P.args, **named: P.kwargs) -> R:
        found: R = await self._call(method.__name__, **_arguments(method, *args, **named))
        return found

    return update_wrapper(call, method)


def asends_plain(
    method: Callable[Concatenate[Souffleur, P], R],
) -> Callable[Concatenate[_Awaits, P], Coroutine[Any, Any, R]]:
    """Return a method as `asends` does, of one that does not wait in `Souffleur`."""

    async def call(self: _Awaits, /, *args: P.args, **named: P.kwargs) -> R:
        found: R = await self._call(method.__name__, **_arguments(method, *args, **named))
        return found

    return update_wrapper(call, method)


def _arguments(method: Callable[..., Any], *args: Any, **named: Any) -> dict[str, Any]:
    """Return all arguments of a call by name. Raises TypeError for one that there is not.

    >>> _arguments(Souffleur.get, "m1", user_id="ann")
    {'memory_id': 'm1', 'user_id': 'ann'}
    """
    bound = signature(method).bind(None, *args, **named)
    bound.apply_defaults()
    del bound.arguments["self"]
    return dict(bound.arguments)


class Methods(_Calls):
    """The methods of `Souffleur` over HTTP."""

    recall = sends(Souffleur.recall)
    observe = sends_plain(Souffleur.observe)
    end_session = sends_plain(Souffleur.end_session)
    health = sends(Souffleur.health)
    remember = sends(Souffleur.remember)
    record_skill = sends(Souffleur.record_skill)
    ask = sends(Souffleur.ask)
    introduce = sends(Souffleur.introduce)
    preferences = sends(Souffleur.preferences)
    set_preferences = sends(Souffleur.set_preferences)
    introduce_persona = sends(Souffleur.introduce_persona)
    define = sends(Souffleur.define)
    share = sends(Souffleur.share)
    users = sends(Souffleur.users)
    report = sends(Souffleur.report)
    cast = sends(Souffleur.cast)
    write_portrait = sends(Souffleur.write_portrait)
    run = sends(Souffleur.run)
    forget = sends(Souffleur.forget)
    proposals = sends(Souffleur.proposals)
    confirm = sends(Souffleur.confirm)
    reject = sends(Souffleur.reject)
    confirm_all = sends(Souffleur.confirm_all)
    reject_all = sends(Souffleur.reject_all)
    pin = sends(Souffleur.pin)
    retry = sends(Souffleur.retry)
    backup = sends(Souffleur.backup)
    export = sends(Souffleur.export)
    import_file = sends(Souffleur.import_file)
    edit = sends(Souffleur.edit)
    restore_memory = sends(Souffleur.restore_memory)
    erase_user = sends(Souffleur.erase_user)
    erase_turn = sends(Souffleur.erase_turn)
    preview_topic = sends(Souffleur.preview_topic)
    forget_topic = sends(Souffleur.forget_topic)
    erase_memory = sends(Souffleur.erase_memory)
    compact = sends(Souffleur.compact)
    flush = sends(Souffleur.flush)
    search = sends(Souffleur.search)
    get = sends(Souffleur.get)
    history = sends(Souffleur.history)
    ledger = sends(Souffleur.ledger)
    notices = sends(Souffleur.notices)
    undo = sends(Souffleur.undo)
    stats = sends(Souffleur.stats)
    episodes = sends(Souffleur.episodes)
    portrait = sends(Souffleur.portrait)
    list = sends(Souffleur.list)


class AsyncMethods(_Awaits):
    """The methods of `Souffleur` over HTTP, each of which is awaited."""

    recall = asends(Souffleur.recall)
    observe = asends_plain(Souffleur.observe)
    end_session = asends_plain(Souffleur.end_session)
    health = asends(Souffleur.health)
    remember = asends(Souffleur.remember)
    record_skill = asends(Souffleur.record_skill)
    ask = asends(Souffleur.ask)
    introduce = asends(Souffleur.introduce)
    preferences = asends(Souffleur.preferences)
    set_preferences = asends(Souffleur.set_preferences)
    introduce_persona = asends(Souffleur.introduce_persona)
    define = asends(Souffleur.define)
    share = asends(Souffleur.share)
    users = asends(Souffleur.users)
    report = asends(Souffleur.report)
    cast = asends(Souffleur.cast)
    write_portrait = asends(Souffleur.write_portrait)
    run = asends(Souffleur.run)
    forget = asends(Souffleur.forget)
    proposals = asends(Souffleur.proposals)
    confirm = asends(Souffleur.confirm)
    reject = asends(Souffleur.reject)
    confirm_all = asends(Souffleur.confirm_all)
    reject_all = asends(Souffleur.reject_all)
    pin = asends(Souffleur.pin)
    retry = asends(Souffleur.retry)
    backup = asends(Souffleur.backup)
    export = asends(Souffleur.export)
    import_file = asends(Souffleur.import_file)
    edit = asends(Souffleur.edit)
    restore_memory = asends(Souffleur.restore_memory)
    erase_user = asends(Souffleur.erase_user)
    erase_turn = asends(Souffleur.erase_turn)
    preview_topic = asends(Souffleur.preview_topic)
    forget_topic = asends(Souffleur.forget_topic)
    erase_memory = asends(Souffleur.erase_memory)
    compact = asends(Souffleur.compact)
    flush = asends(Souffleur.flush)
    search = asends(Souffleur.search)
    get = asends(Souffleur.get)
    history = asends(Souffleur.history)
    ledger = asends(Souffleur.ledger)
    notices = asends(Souffleur.notices)
    undo = asends(Souffleur.undo)
    stats = asends(Souffleur.stats)
    episodes = asends(Souffleur.episodes)
    portrait = asends(Souffleur.portrait)
    list = asends(Souffleur.list)


class BlockingSouffleur:
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
        **overrides: Any,
    ) -> "BlockingSouffleur":
        """Open the store as `Souffleur.open` does, and return when all is open.

        Use it with `with`, or close it yourself. Raises the errors of `Souffleur.open`.
        """
        return cls(Souffleur.open(settings, chat=chat, clock=clock, embedder=embedder, **overrides))

    recall = recalls(Souffleur.recall)
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

    def close(self) -> None:
        """Judge while `Souffleur.seconds_left`, then close everything. Idempotent."""
        self._thread.close()

    def __enter__(self) -> "BlockingSouffleur":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
