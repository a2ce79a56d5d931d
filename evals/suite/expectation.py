"""Expectations: what must, may or must not come of a turn or a run, as patterns over contents."""

import re
from enum import StrEnum
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field

from souffleur.knowledge.memory import Frozen, Kind


class Op(StrEnum):
    """What an expectation can be about."""

    ADD = "ADD"
    UPDATE = "UPDATE"
    BOOST = "BOOST"
    DELETE = "DELETE"
    PROMOTE = "PROMOTE"
    KEEP = "KEEP"
    FORGET = "FORGET"
    ARCHIVE = "ARCHIVE"
    MERGE = "MERGE"
    CONTRADICT = "CONTRADICT"


def found(pattern: str, text: str) -> bool:
    """Whether a pattern occurs in a text.

    >>> found("docker|podman", "The user prefers Podman."), found("^tea", "green tea")
    (True, False)
    """
    return re.search(pattern, text, re.IGNORECASE) is not None


def _compiles(pattern: str) -> str:
    try:
        re.compile(pattern)
    except re.error as error:
        raise ValueError(f"{pattern!r} is no regular expression: {error}") from None
    return pattern


def several(value: Any) -> Any:
    """A list of one for one."""
    return value if isinstance(value, list | tuple) else [value]


Pattern = Annotated[str, Field(min_length=1), AfterValidator(_compiles)]
Patterns = Annotated[tuple[Pattern, ...], BeforeValidator(several)]
"""One, or a list."""


class Expectation(Frozen):
    """One op that must, may or must not happen, as one atomic fact."""

    op: Annotated[tuple[Op, ...], BeforeValidator(several), Field(min_length=1)]
    """Any of these."""
    pattern: Patterns = ()
    """All of these stand in the new content."""
    says: str = ""
    """What the new content says, in the opinion of a model; where no pattern can tell."""
    of: Patterns = ()
    """Each of these stands in an old content."""
    kind: Annotated[tuple[Kind, ...], BeforeValidator(several)] = ()
    """The kinds that are right; counted apart."""
    details: Patterns = ()
    """What the new content must retain; counted apart."""
    keeps: Patterns = ()
    """What the new content must retain of the old one; counted with the details."""
    about: str = ""
    why: str = ""

    @property
    def label(self) -> str:
        """How a list of misses calls it."""
        sought = self.about or self.says or " & ".join((*self.of, *self.pattern)) or "anything"
        return f"{'/'.join(self.op)} {sought}"


class RecallPart(Frozen):
    """What the whispered block must hold, and what it must not."""

    brings: Patterns = ()
    lacks: Patterns = ()
