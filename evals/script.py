"""Scripts: small dialogues, each with a single subject, and the expected results of every turn.

A script is a YAML file. Its sessions are dialogues, turn by turn, or runs of the background jobs;
its expectations were written by hand. Patterns are Python regular expressions, case-insensitive.
"""

import re
from collections.abc import Iterator
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    AwareDatetime,
    BeforeValidator,
    Discriminator,
    Field,
    Tag,
    ValidationError,
    model_validator,
)

from souffleur.demo.dialogue import (
    AssistantPart,
    Dialogue,
    Exchange,
    SessionPart,
    UserPart,
    fault,
    read_yaml,
)
from souffleur.errors import InputError
from souffleur.knowledge.memory import Category, Frozen, Kind
from souffleur.knowledge.operation import Importance
from souffleur.knowledge.people import Zone


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


def occurs(pattern: str, text: str) -> bool:
    """Return whether a pattern occurs in a text, in upper or lower case.

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
    """Return a list as it is, and any other value as a list with this value."""
    return value if isinstance(value, list | tuple) else [value]


_NO_OP = "say that nothing may happen by leaving `expect` out: a turn without it allows no op"
_WRITING = frozenset({Op.ADD, Op.UPDATE, Op.MERGE})
"""The ops that write a new content."""
_CHANGING = frozenset(Op) - {Op.ADD}
"""The ops that have an old content."""


def _ops(value: Any) -> Any:
    """Return a list of ops; explains what a script says instead of SKIP."""
    given = as_list(value)
    if "SKIP" in given:
        raise ValueError(_NO_OP)
    return given


Pattern = Annotated[str, Field(min_length=1), AfterValidator(_compiles)]
Patterns = Annotated[tuple[Pattern, ...], BeforeValidator(as_list)]
"""A pattern, or a list of patterns."""


class Expectation(Frozen):
    """An op that must, may or must not happen, about a single atomic fact."""

    op: Annotated[tuple[Op, ...], BeforeValidator(_ops), Field(min_length=1)]
    """Accepted ops; any of them meets the expectation."""
    pattern: Patterns = ()
    """Patterns that must all match the new content."""
    says: str = ""
    """A sentence that the new content must entail, which the LLM judge decides."""
    of: Patterns = ()
    """Patterns; each of them must match an old content."""
    kind: Annotated[tuple[Kind, ...], BeforeValidator(as_list)] = ()
    """Accepted kinds of the new memory; counted separately."""
    details: Patterns = ()
    """Patterns that the new content must retain; counted separately."""
    keeps: Patterns = ()
    """Patterns of the old content that the new content must retain; counted with the details."""
    about: str = ""
    why: str = ""

    @model_validator(mode="after")
    def _has_effect(self) -> "Expectation":
        """Refuse patterns that no op of this expectation could ever match."""
        needed = {"of": _CHANGING, "keeps": _CHANGING & _WRITING, "details": _WRITING}
        for name, ops in needed.items():
            if getattr(self, name) and not ops & {*self.op}:
                what = "has no old content" if name == "of" else "writes no content"
                raise ValueError(
                    f"`{name}` has no effect: {'/'.join(self.op)} {what}; use `pattern` for the "
                    "new content"
                )
        return self

    @property
    def label(self) -> str:
        """The name of this expectation in a list of misses."""
        sought = self.about or self.says or " & ".join((*self.of, *self.pattern)) or "anything"
        return f"{'/'.join(self.op)} {sought}"


class RecallPart(Frozen):
    """The texts that the whispered block must contain, and those that it must not contain."""

    brings: Patterns = ()
    lacks: Patterns = ()


class RunName(StrEnum):
    """The jobs that a script can run."""

    REVIEW = "review"
    DECAY = "decay"
    CONSOLIDATE = "consolidate"
    AUDIT = "audit"


class Known(Frozen):
    """A memory that exists before the first turn."""

    content: str = Field(min_length=1)
    kind: Kind = Kind.FACT
    category: Category | None = None
    """The category; `None` means the usual category of the kind."""
    at: AwareDatetime
    importance: Importance = Importance.MEDIUM
    value: float | None = Field(default=None, ge=0)
    """The value as a number, instead of `importance`."""
    uses: int = Field(default=0, ge=0)
    last_used: AwareDatetime | None = None
    expires_at: AwareDatetime | None = None
    entities: tuple[str, ...] = ()
    topics: tuple[str, ...] = ()


class ScriptTurn(Exchange):
    """A turn, and its expected results; if no op is expected, no op may happen."""

    expect: tuple[Expectation, ...] = ()
    may: tuple[Expectation, ...] = ()
    never: tuple[Expectation, ...] = ()
    recall: RecallPart = RecallPart()
    answer: dict[str, Any] | str | None = None
    """The monitor's answer, written by hand; `None` means that a model is asked."""


class TalkPart(Frozen):
    """A dialogue."""

    id: str
    turns: tuple[ScriptTurn, ...] = Field(min_length=1)

    @property
    def at(self) -> datetime:
        """The time of its first turn."""
        return self.turns[0].at


class RunPart(Frozen):
    """A run of a background job."""

    run: RunName
    at: AwareDatetime
    note: str = ""
    expect: tuple[Expectation, ...] = ()
    may: tuple[Expectation, ...] = ()
    never: tuple[Expectation, ...] = ()


class Ask(RecallPart):
    """A message after all sessions, which gets no reply: only the whispered block counts."""

    at: AwareDatetime
    text: str = Field(min_length=1)
    about: str = ""


class Hold(Frozen):
    """An active memory that must exist at the end."""

    pattern: Patterns = Field(min_length=1)
    once: bool = False
    """Whether there must be exactly one such memory."""
    about: str = ""


class End(Frozen):
    """The memories that the store must have, and must not have, at the end."""

    holds: tuple[Hold, ...] = ()
    lacks: Patterns = ()


def _session_kind(raw: Any) -> str:
    is_run = "run" in raw if isinstance(raw, dict) else isinstance(raw, RunPart)
    return "run" if is_run else "talk"


Part = Annotated[
    Annotated[TalkPart, Tag("talk")] | Annotated[RunPart, Tag("run")], Discriminator(_session_kind)
]


class Script(Frozen):
    """A whole script file."""

    name: str
    """The name of the file, without .yaml."""
    title: str = ""
    about: str = Field(pattern=r"^[a-z0-9_-]+$")
    """The subject of the script, as a slug."""
    user: UserPart = UserPart()
    assistant: AssistantPart = AssistantPart()
    timezone: Zone = "UTC"
    special: Literal["keep", "refuse"] = "keep"
    """Whether special data are kept or refused when the script is played."""
    known: tuple[Known, ...] = ()
    sessions: tuple[Part, ...] = Field(min_length=1)
    asks: tuple[Ask, ...] = ()
    end: End = End()

    @model_validator(mode="after")
    def _is_coherent(self) -> "Script":
        last: datetime | None = None
        for moment in self._moments():
            if last and moment < last:
                raise ValueError(f"time runs backward at {moment.isoformat()}")
            last = moment
        for known in self.known:
            if known.at > self.sessions[0].at:
                raise ValueError(f"{known.content!r} is known only after the first turn")
        ids = [part.id for part in self.sessions if isinstance(part, TalkPart)]
        if len(set(ids)) < len(ids):
            raise ValueError("two sessions have the same id")
        return self

    def _moments(self) -> Iterator[datetime]:
        for part in self.sessions:
            turns = part.turns if isinstance(part, TalkPart) else (part,)
            yield from (turn.at for turn in turns)
        yield from (ask.at for ask in self.asks)

    @property
    def answers_itself(self) -> bool:
        """Whether every turn has an answer, so that no model and no recording are needed."""
        talks = [part for part in self.sessions if isinstance(part, TalkPart)]
        answers = [turn.answer for talk in talks for turn in talk.turns]
        return bool(answers) and None not in answers

    def dialogue(self, talk: TalkPart) -> Dialogue:
        """Return one session as a dialogue that can be replayed."""
        turns = tuple(
            Exchange(at=turn.at, user=turn.user, assistant=turn.assistant) for turn in talk.turns
        )
        return Dialogue(
            title=self.title,
            user=self.user,
            assistant=self.assistant,
            timezone=self.timezone,
            sessions=(SessionPart(id=talk.id, turns=turns),),
        )


def read_script(path: Path) -> Script:
    """Read the script of a YAML file. Raises InputError, which names the faulty place."""
    raw = read_yaml(path)
    if not isinstance(raw, dict):
        raise InputError(f"{path} is no script: it holds no fields")
    try:
        return Script.model_validate({**raw, "name": path.stem})
    except ValidationError as error:
        raise fault(error, path) from error


def find_scripts(folder: Path, only: str = "*") -> list[Path]:
    """Return the script files of a folder whose names match a glob, sorted by name.

    A dialogue that has neither `about` nor `end` is not a script.
    Raises InputError if no file matches.
    """
    files = sorted(file for file in folder.glob("*.yaml") if file.match(f"{only}.yaml"))
    scripts = [file for file in files if _EXPECTS.search(file.read_text("utf-8", "replace"))]
    if not scripts:
        raise InputError(f"no script in {folder} has a name such as {only!r}")
    return scripts


_EXPECTS = re.compile(r"^(about|end):", re.MULTILINE)
