"""Dialogue files: a user, a persona, and their turns with times."""

from pathlib import Path
from typing import Any, Literal
from zoneinfo import ZoneInfo

from pydantic import AwareDatetime, Field, ValidationError, model_validator

from souffleur.errors import InputError
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


class NightPart(Frozen):
    """Scheduled runs at one moment between two turns."""

    id: str
    at: AwareDatetime
    runs: tuple[str, ...] = Field(min_length=1)
    """Names of runs, in their order."""
    note: str = ""
    """What a reader should notice."""


class ScenePart(Frozen):
    """A turn or a night that is worth showing, and what of it."""

    title: str
    at: str
    """A session and the place in it, as `s01.5`, or the id of a night."""
    about: str = ""
    """What a reader should know, in a sentence."""
    reply: bool = True
    """Whether the reply is shown."""
    whispered: str = ""
    """A regular expression: the whispered lines to show."""
    done: str = ""
    """A regular expression: the changes to show; empty for all."""
    gone: str = ""
    """A regular expression that nothing remembered may match after this turn."""


class Dialogue(Frozen):
    """A whole dialogue file."""

    title: str = ""
    user: UserPart = UserPart()
    assistant: AssistantPart = AssistantPart()
    timezone: str = "UTC"
    sessions: tuple[SessionPart, ...] = Field(min_length=1)
    nights: tuple[NightPart, ...] = ()
    """The only moments at which runs are performed, in order of time."""
    scenes: tuple[ScenePart, ...] = ()
    """What `souffleur demo` shows."""

    @model_validator(mode="after")
    def _runs_forward(self) -> "Dialogue":
        ZoneInfo(self.timezone)
        last = None
        for session in self.sessions:
            for turn in session.turns:
                if last and turn.at <= last:
                    raise ValueError(f"time runs backward at {turn.at.isoformat()}")
                last = turn.at
        if list(self.nights) != sorted(self.nights, key=lambda night: night.at):
            raise ValueError("time runs backward in the nights")
        places = {night.id for night in self.nights} | {
            f"{session.id}.{place}"
            for session in self.sessions
            for place in range(1, len(session.turns) + 1)
        }
        for scene in self.scenes:
            if scene.at not in places:
                raise ValueError(f"the scene {scene.title!r} is at {scene.at!r}, which is nowhere")
        return self

    def __len__(self) -> int:
        return sum(len(session.turns) for session in self.sessions)


def read_dialogue(path: Path) -> Dialogue:
    """Read a dialogue from a YAML file. Raises InputError, which names the faulty place."""
    import yaml

    try:
        raw: Any = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise InputError(f"{path} is not YAML: {error}") from error
    try:
        return Dialogue.model_validate(raw)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "the file"
        raise InputError(f"{path}, at {where}: {first['msg']}") from error
