"""Situations: a small life, a message, and what must come to mind for the reply to it.

A situation is a YAML file. What must come was written by hand, before anything was measured.
"""

from datetime import date
from pathlib import Path
from typing import Annotated, Any

import yaml
from pydantic import AfterValidator, AwareDatetime, Field, ValidationError, model_validator

from souffleur.errors import DialogueError
from souffleur.evals.script import Patterns
from souffleur.knowledge.memory import Frozen, Kind
from souffleur.knowledge.operation import Importance
from souffleur.knowledge.people import Language, check_zone
from souffleur.knowledge.search.words import terms

FOLDER = Path(__file__).parents[1] / "data" / "situations"


class LifeMemory(Frozen):
    """Something known of the user."""

    id: str
    """Its name within the situation."""
    content: str = Field(min_length=1)
    kind: Kind
    importance: Importance
    at: AwareDatetime
    """When it was learnt."""
    until: date | None = None
    """The day on which it ends or happens, if there is one."""
    core: bool = False


class SaidBefore(Frozen):
    """An exchange that is kept word for word."""

    at: AwareDatetime
    user: str
    assistant: str = ""


class Situation(Frozen):
    """A whole file."""

    name: str
    """The file's name, without .yaml."""
    language: Language
    timezone: Annotated[str, AfterValidator(check_zone)]
    now: AwareDatetime
    """When the message is sent."""
    user: str
    assistant: str
    topic: str
    """What kind of link there is between the message and what must come."""
    memories: tuple[LifeMemory, ...]
    said: tuple[SaidBefore, ...] = ()
    """Earlier talk."""
    talk: tuple[SaidBefore, ...] = ()
    """This talk, before the message."""
    message: str = Field(min_length=1)
    must_come: tuple[str, ...] = ()
    must_not_come: tuple[str, ...] = ()
    must_say: Patterns = ()
    """Patterns that must be in what is whispered."""
    must_not_say: Patterns = ()
    """Patterns that must not be in it."""
    why: str = ""

    @model_validator(mode="after")
    def _is_coherent(self) -> "Situation":
        ids = [memory.id for memory in self.memories]
        if len(set(ids)) < len(ids):
            raise ValueError("two memories have the same id")
        if unknown := {*self.must_come, *self.must_not_come} - set(ids):
            raise ValueError(f"no memory has the id {sorted(unknown)[0]!r}")
        if not (self.must_come or self.must_say or self.must_not_come or self.must_not_say):
            raise ValueError("nothing must come, and nothing must not")
        moments = [one.at for one in self.memories] + [one.at for one in (*self.said, *self.talk)]
        if max(moments) > self.now:
            raise ValueError("something is known only after the message")
        return self

    def shares_words(self) -> bool:
        """Return whether the message has a word in common with a memory that must come."""
        said = set(terms(self.message))
        needed = (one.content for one in self.memories if one.id in self.must_come)
        return any(said & set(terms(content)) for content in needed)


def read_situation(path: Path) -> Situation:
    """Return the situation of a YAML file; DialogueError says where it is wrong."""
    try:
        raw: Any = yaml.safe_load(path.read_text(encoding="utf-8"))
        return Situation.model_validate({**raw, "name": path.stem})
    except (OSError, UnicodeError, TypeError, yaml.YAMLError) as error:
        raise DialogueError(f"{path} is no situation: {error}") from error
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "the file"
        said = first["msg"].removeprefix("Value error, ")
        raise DialogueError(f"{path}, at {where}: {said}") from error


def read_situations(folder: Path = FOLDER, only: str = "*") -> list[Situation]:
    """Return the situations in a folder and its folders, by name. Raises DialogueError."""
    files = sorted(folder.rglob("*.yaml"))
    found = [read_situation(file) for file in files if file.match(f"{only}.yaml")]
    if not found:
        raise DialogueError(f"no situation in {folder} has a name such as {only!r}")
    return found
