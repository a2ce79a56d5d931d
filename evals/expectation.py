"""Expectations: what must, may or must not follow from a turn or run, as patterns over contents."""

import re
from enum import StrEnum
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field

from souffleur.knowledge.memory import Frozen, Kind


class Op(StrEnum):
    """The ops that an expectation can name."""

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


def occurs(pattern: str, text: str) -> bool:
    """Return whether a pattern occurs in a text, in whatever case.

    >>> occurs("docker|podman", "The user prefers Podman."), occurs("^tea", "green tea")
    (True, False)
    """
    return re.search(pattern, text, re.IGNORECASE) is not None


def _compiles(pattern: str) -> str:
    try:
        re.compile(pattern)
    except re.error as error:
        raise ValueError(f"{pattern!r} is no regular expression: {error}") from None
    return pattern


def as_list(value: Any) -> Any:
    """Return a list as it is, and any other value as a list of one."""
    return value if isinstance(value, list | tuple) else [value]


Pattern = Annotated[str, Field(min_length=1), AfterValidator(_compiles)]
Patterns = Annotated[tuple[Pattern, ...], BeforeValidator(as_list)]
"""One pattern, or a list of them."""


class Expectation(Frozen):
    """One op that must, may or must not happen, as one atomic fact."""

    op: Annotated[tuple[Op, ...], BeforeValidator(as_list), Field(min_length=1)]
    """Accepted ops; any of them meets the expectation."""
    pattern: Patterns = ()
    """Patterns that must all match the new content."""
    says: str = ""
    """A sentence that the new content must entail, which the LLM judge decides."""
    of: Patterns = ()
    """Patterns of which each must match an old content."""
    kind: Annotated[tuple[Kind, ...], BeforeValidator(as_list)] = ()
    """Accepted kinds of the new memory; counted separately."""
    details: Patterns = ()
    """Patterns that the new content must retain; counted separately."""
    keeps: Patterns = ()
    """Patterns of the old content that the new one must retain; counted with the details."""
    about: str = ""
    why: str = ""

    @property
    def label(self) -> str:
        """The name of this expectation in a list of misses."""
        sought = self.about or self.says or " & ".join((*self.of, *self.pattern)) or "anything"
        return f"{'/'.join(self.op)} {sought}"


class RecallPart(Frozen):
    """What the whispered block must contain, and what it must not."""

    brings: Patterns = ()
    lacks: Patterns = ()
