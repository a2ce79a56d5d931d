"""Concessions: the parts of a request that an endpoint refuses, and their replacements.

Each part has several ways, the best first. If a refusal names a part, its next way is tried; that
way is remembered once the endpoint has answered.
"""

import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeVar

from souffleur.agents.model.chat import Form
from souffleur.errors import AnswerError, EndpointError

T = TypeVar("T")

FORM_LADDER: tuple[Form, ...] = ("json_schema", "json_object", "text")
Limit = Literal["max_tokens", "max_completion_tokens"]

_STATUSES = {200, 400, 404, 422, 500, 501}
"""Statuses of refusals: aggregators answer 200 with an error, failing templates answer 500."""


@dataclass(frozen=True)
class Manner:
    """How an endpoint is asked: the way for each part."""

    form: Form = "text"
    temperature: bool = False
    """Whether a temperature is sent."""
    limit: Limit | None = None
    """The name under which the token limit is sent."""
    system: bool = False
    """Whether rules are a message of their own; if not, they begin the user's message."""


@dataclass(frozen=True)
class _Part:
    ways: tuple[Any, ...]
    named: re.Pattern[str]
    """Matches a refusal of the part."""


def _part(*ways: Any, named: str) -> _Part:
    return _Part(ways, re.compile(named, re.IGNORECASE | re.DOTALL))


_PARTS = {
    "form": _part(
        *FORM_LADDER,
        named=r"response.?format|json.?(schema|object|mode)|structured.?output|schema|grammar"
        r"|guided|\bformat\b",
    ),
    "temperature": _part(True, False, named="temperature"),
    "limit": _part(
        "max_tokens",
        "max_completion_tokens",
        None,
        # A limit or a prompt that is too high or too long says nothing about the field's name.
        named=r"\A(?!.*(?:too (?:large|long|many|big|high)|context|exceed))"
        r".*max_(?:completion_|output_)?tokens",
    ),
    "system": _part(
        True,
        False,
        named=r"system['\"`]?.?(role|message|prompt|instruction)|role\W{1,4}system"
        r"|(role|support).{0,40}\Wsystem\b|developer.?(role|message|instruction)"
        r"|roles?.{0,20}must.{0,20}alternate|only.{0,20}user.{0,40}assistant",
    ),
}
"""The parts, by the field of `Manner`."""


def refuses(part: str, status: int | None, said: str) -> bool:
    """Return whether an endpoint with this answer refuses a part of the request.

    >>> refuses("form", 500, "failed to parse grammar"), refuses("system", 400, "no such model")
    (True, False)
    """
    return status in _STATUSES and bool(_PARTS[part].named.search(said))


class Asker:
    """Asks an endpoint in the best manner that it is known to accept."""

    def __init__(self, manner: Manner) -> None:
        self.manner = manner
        """The manner of the next request."""

    async def ask(self, question: Callable[[Manner], Awaitable[T]]) -> T:
        """Return the answer to a question; asks again while a refusal leads to a further way.

        Raises the errors of the question: EndpointError also if the last way is refused.
        """
        manner = self.manner
        while True:
            try:
                answer = await question(manner)
            except EndpointError as error:
                less = _less(manner, error)
                if less is None:
                    raise
                manner = _least(less, self.manner)  # other calls may have learned more in between
            except AnswerError:  # the endpoint has accepted the request
                self.manner = _least(manner, self.manner)
                raise
            else:
                self.manner = _least(manner, self.manner)
                return answer


def _less(manner: Manner, error: EndpointError) -> Manner | None:
    """Return the manner without the part that an error names; `None` if it names no sent part."""
    for name, part in _PARTS.items():
        place = part.ways.index(getattr(manner, name)) + 1
        if place < len(part.ways) and refuses(name, error.status, str(error)):
            return replace(manner, **{name: part.ways[place]})
    return None


def _least(one: Manner, other: Manner) -> Manner:
    """Return for each part the later of the two ways."""
    both = {name: (getattr(one, name), getattr(other, name)) for name in _PARTS}
    return Manner(**{name: max(two, key=_PARTS[name].ways.index) for name, two in both.items()})
