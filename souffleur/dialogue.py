"""Dialogue files: a user, a persona, and their turns with times."""

from pathlib import Path
from typing import Any, Literal
from zoneinfo import ZoneInfo

from pydantic import AwareDatetime, Field, ValidationError, model_validator

from souffleur.errors import DialogueError
from souffleur.knowledge.memory import Frozen


class UserPart(Frozen):
    """The user."""

    id: str = "user"
    title: str = "the user"
    """The user's display name in memories."""
    language: Literal["en", "zh"] | None = None
    """The language of the prompts; `None` means the language that is spoken."""


class AssistantPart(Frozen):
    """The persona."""

    id: str = "default"
    name: str = "the assistant"


class Exchange(Frozen):
    """One turn as it was said."""

    at: AwareDatetime
    user: str = ""
    assistant: str = ""
    note: str = ""
    """What a reader should notice."""


class SessionPart(Frozen):
    """A session: consecutive turns."""

    id: str
    turns: tuple[Exchange, ...] = Field(min_length=1)


class Dialogue(Frozen):
    """A whole dialogue file."""

    title: str = ""
    user: UserPart = UserPart()
    assistant: AssistantPart = AssistantPart()
    timezone: str = "UTC"
    sessions: tuple[SessionPart, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _runs_forward(self) -> "Dialogue":
        ZoneInfo(self.timezone)
        last = None
        for session in self.sessions:
            for turn in session.turns:
                if last and turn.at <= last:
                    raise ValueError(f"time runs backward at {turn.at.isoformat()}")
                last = turn.at
        return self

    def __len__(self) -> int:
        return sum(len(session.turns) for session in self.sessions)


def read_dialogue(path: Path) -> Dialogue:
    """Read a dialogue from a YAML file. Raises DialogueError, which names the faulty place."""
    import yaml

    try:
        raw: Any = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise DialogueError(f"{path} cannot be read: {error.strerror or error}") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise DialogueError(f"{path} is not YAML: {error}") from error
    try:
        return Dialogue.model_validate(raw)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "the file"
        raise DialogueError(f"{path}, at {where}: {first['msg']}") from error
