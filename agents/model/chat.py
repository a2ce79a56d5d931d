"""The interface to a model: a request, a reply, and a callable that turns one into the other."""

import hashlib
import json
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import asdict, dataclass
from typing import Any, Literal

from souffleur.knowledge.network.breaker import Breaker

_user_id: ContextVar[str] = ContextVar("user_id", default="")


@contextmanager
def on_behalf_of(user_id: str) -> Iterator[None]:
    """Count the work within this context, and in tasks that begin in it, as done for a user.

    >>> with on_behalf_of("ann"):
    ...     asking_user()
    'ann'
    >>> asking_user()
    ''
    """
    token = _user_id.set(user_id)
    try:
        yield
    finally:
        _user_id.reset(token)


def asking_user() -> str:
    """Return the user for whom this task works; empty if there is no user."""
    return _user_id.get()


Role = Literal["system", "user", "assistant"]

Form = Literal["json_schema", "json_object", "text"]
"""How the form of an answer is demanded: strict schema, any JSON object, or only words."""


@dataclass(frozen=True)
class Message:
    """One message of a prompt."""

    role: Role
    """The role of the author."""
    content: str
    """The text."""


@dataclass(frozen=True)
class Usage:
    """The cost of model calls; usages can be added.

    >>> Usage(calls=1, input_tokens=900, output_tokens=40) + Usage(calls=1, input_tokens=100)
    Usage(calls=2, input_tokens=1000, cached_tokens=0, output_tokens=40, cost=0.0)
    """

    calls: int = 0
    """Number of requests."""
    input_tokens: int = 0
    """Tokens of the whole prompt, including cached ones."""
    cached_tokens: int = 0
    """The part of `input_tokens` that the provider served from its cache."""
    output_tokens: int = 0
    """Tokens of the answers."""
    cost: float = 0.0
    """Dollars; 0 if no prices are configured."""

    @classmethod
    def of(cls, cost: Mapping[str, float]) -> "Usage":
        """Return the usage noted in a ledger entry or an error (see `Verdict.cost`).

        >>> Usage.of({"calls": 1, "cost": 0.5})
        Usage(calls=1, input_tokens=0, cached_tokens=0, output_tokens=0, cost=0.5)
        """
        names = ("calls", "input_tokens", "cached_tokens", "output_tokens")
        calls, taken, cached, given = (int(cost.get(name, 0)) for name in names)
        return cls(calls, taken, cached, given, cost.get("cost", 0.0))

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            self.calls + other.calls,
            self.input_tokens + other.input_tokens,
            self.cached_tokens + other.cached_tokens,
            self.output_tokens + other.output_tokens,
            self.cost + other.cost,
        )


@dataclass(frozen=True)
class Request:
    """One question to a model."""

    messages: tuple[Message, ...]
    """The prompt, in order."""
    name: str
    """A name for the answer, such as `verdict`: letters, digits, `_` and `-`, at most 64."""
    schema: Mapping[str, Any] | None = None
    """The JSON schema of the answer; only used with the form `json_schema`."""
    form: Form = "text"
    """How the form of the answer is demanded."""


@dataclass(frozen=True)
class Reply:
    """An answer of a model, unchanged."""

    text: str
    """The answer."""
    finish: str = "stop"
    """Why the model stopped: `stop`, or `length` if it was cut off."""
    usage: Usage = Usage(calls=1)
    """The cost of the call."""
    model: str = ""
    """The model named in the response; it may differ from the requested model."""


Chat = Callable[[Request], Awaitable[Reply]]
"""Asks a model. Raises EndpointError, or AnswerError if the response is unusable."""


def guarded(chat: Chat, breaker: Breaker) -> Chat:
    """Return a chat that raises OutageError, without asking, while the breaker is open."""

    async def asked(request: Request) -> Reply:
        with breaker.attempt():
            return await chat(request)

    return asked


def request_key(request: Request) -> str:
    """Return the identity of a request: 64 hexadecimal digits, the same in every process.

    >>> request_key(Request((Message("user", "茶?"),), "verdict"))[:12]
    '6f3cc8febe1b'
    """
    whole = {
        "messages": [asdict(message) for message in request.messages],
        "name": request.name,
        "form": request.form,
        "schema": None if request.schema is None else dict(request.schema),
    }
    # ASCII escapes also hold lone surrogates, which UTF-8 cannot.
    canonical = json.dumps(whole, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()
