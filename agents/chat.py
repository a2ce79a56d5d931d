"""The seam to a model: what is asked, what comes back, and the one callable between them."""

import hashlib
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

from souffleur.knowledge.breaker import Breaker

Role = Literal["system", "user", "assistant"]

Form = Literal["json_schema", "json_object", "text"]
"""How an answer is demanded: by a strict schema, as any JSON object, or in words alone."""


@dataclass(frozen=True)
class Message:
    """One message of a prompt."""

    role: Role
    content: str


@dataclass(frozen=True)
class Usage:
    """What calls have cost; usages add up.

    >>> Usage(calls=1, input_tokens=900, output_tokens=40) + Usage(calls=1, input_tokens=100)
    Usage(calls=2, input_tokens=1000, cached_tokens=0, output_tokens=40, cost=0.0)
    """

    calls: int = 0
    input_tokens: int = 0
    """Of the whole prompt, cached ones included."""
    cached_tokens: int = 0
    """Those of `input_tokens` that the provider served from its cache."""
    output_tokens: int = 0
    cost: float = 0.0
    """In dollars; 0 where no prices are known."""

    @classmethod
    def of(cls, cost: Mapping[str, float]) -> "Usage":
        """Return what a ledger entry or an error says that calls took (see `Verdict.cost`).

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
    name: str
    """What is asked for, such as `verdict`: letters, digits, `_` and `-`, at most 64."""
    schema: Mapping[str, Any] | None = None
    """A JSON schema; only with the form `json_schema`."""
    form: Form = "text"


@dataclass(frozen=True)
class Reply:
    """One answer of a model, as it came."""

    text: str
    finish: str = "stop"
    """Why the model stopped: `stop`; `length` when it was cut off."""
    usage: Usage = Usage(calls=1)
    model: str = ""
    """The model that says it has answered; not always the one that was asked for."""


Chat = Callable[[Request], Awaitable[Reply]]
"""Asks a model. Raises EndpointError, or AnswerError where what came back is unusable."""


def guarded(chat: Chat, breaker: Breaker) -> Chat:
    """Return a chat that is not asked while the breaker is open. It raises OutageError then."""

    async def asked(request: Request) -> Reply:
        with breaker.attempt():
            return await chat(request)

    return asked


def request_key(request: Request) -> str:
    """The request's identity: 64 hexadecimal digits, the same in every process.

    >>> request_key(Request((Message("user", "茶?"),), "verdict"))[:12]
    '6f3cc8febe1b'
    """
    whole = {
        "messages": [asdict(message) for message in request.messages],
        "name": request.name,
        "form": request.form,
        "schema": None if request.schema is None else dict(request.schema),
    }
    # ASCII escapes also hold half an emoji, which has no UTF-8.
    canonical = json.dumps(whole, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()
