"""A scripted life: what is learnt, ends and is talked about, step by step; and what must be right.

It is a YAML file, written by hand before anything was measured.
"""

from datetime import date
from pathlib import Path
from typing import Annotated, Any

import yaml
from pydantic import AfterValidator, Field, ValidationError, model_validator

from souffleur.errors import DialogueError
from souffleur.evals.script import occurs
from souffleur.knowledge.memory import Frozen, Kind
from souffleur.knowledge.operation import Importance
from souffleur.knowledge.people import check_zone


class Learnt(Frozen):
    """A memory."""

    id: str
    """Its name within the life."""
    content: str = Field(min_length=1)
    kind: Kind
    importance: Importance = Importance.MEDIUM
    core: bool = False
    until: date | None = None
    """The day on which it ends or happens, if there is one."""


class Talked(Frozen):
    """An episode."""

    line: str = Field(min_length=1)
    facts: tuple[str, ...] = ()
    open: str | None = None
    """What was still open at its end."""


class LifeStep(Frozen):
    """What changes before a portrait."""

    day: date
    learn: tuple[Learnt, ...] = ()
    end: tuple[str, ...] = ()
    """Ids of memories that are over or corrected."""
    told: tuple[Talked, ...] = Field(min_length=1)


class Mention(Frozen):
    """Something that a portrait mentions."""

    about: str
    says: str
    """A pattern."""

    def within(self, text: str) -> bool:
        """Return whether a text mentions it, in whatever case."""
        return occurs(self.says, text)


class Statement(Frozen):
    """Something that a reader of the last portrait would say of the person, or would not."""

    says: str
    holds: bool


class LifeEnd(Frozen):
    """What must be right at the end."""

    says: tuple[Mention, ...] = ()
    never: tuple[Mention, ...] = ()
    statements: tuple[Statement, ...] = ()


class Life(Frozen):
    """A whole file."""

    user: str
    assistant: str
    timezone: Annotated[str, AfterValidator(check_zone)]
    steps: tuple[LifeStep, ...] = Field(min_length=1)
    keep: tuple[Mention, ...] = ()
    """What is known nowhere but in the portrait at some time, and must not be lost then."""
    end: LifeEnd = LifeEnd()

    @model_validator(mode="after")
    def _is_coherent(self) -> "Life":
        if sorted({step.day for step in self.steps}) != [step.day for step in self.steps]:
            raise ValueError("the steps are not in order")
        known: set[str] = set()
        for step in self.steps:
            if unknown := set(step.end) - known:
                raise ValueError(f"{step.day}: no memory has the id {sorted(unknown)[0]!r}")
            new = [one.id for one in step.learn]
            if len({*new, *known}) < len(new) + len(known):
                raise ValueError(f"{step.day}: two memories have the same id")
            known |= set(new)
        return self


def read_life(path: Path) -> Life:
    """Return the life of a YAML file; DialogueError says where it is wrong."""
    try:
        return Life.model_validate(yaml.safe_load(path.read_text(encoding="utf-8")))
    except (OSError, UnicodeError, TypeError, yaml.YAMLError) as error:
        raise DialogueError(f"{path} is no life: {error}") from error
    except ValidationError as error:
        first: Any = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "the file"
        raise DialogueError(f"{path}, at {where}: {first['msg']}") from error
