"""Schemas: the bodies of requests, and of answers that are no data of Souffleur's own."""

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from souffleur.integrations.importers.arriving import ImportSource
from souffleur.knowledge.identity import MAX_ID_LENGTH
from souffleur.knowledge.memory import Kind, Memory
from souffleur.knowledge.operation import Importance, LedgerEntry
from souffleur.knowledge.people import Knows, Language
from souffleur.knowledge.search.memories import Scope
from souffleur.knowledge.turn import MAX_MESSAGE_LENGTH
from souffleur.lookup import MAX_LIMIT
from souffleur.service.run import RunItem, RunLimits

Id = Annotated[str, Field(max_length=MAX_ID_LENGTH)]
At = Annotated[
    datetime | str | float | None,
    Field(
        description="ISO 8601, or seconds or milliseconds since 1970; default: now.",
        examples=["2026-01-03"],
    ),
]
Message = Annotated[
    Any,
    Field(
        description="A text, content parts, or a message that holds either (docs/messages.md).",
        examples=["What was my cat called?"],
    ),
]


class Body(BaseModel):
    """What a request says; nothing else may be in it."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class RecallBody(Body):
    """A message, before its reply."""

    text: Message = ""
    session_id: Id = "default"
    at: At = None
    incognito: bool = False


class ObserveBody(Body):
    """A turn that was said."""

    user: Message = ""
    assistant: Message = ""
    session_id: Id = "default"
    whisper: list[str] | None = None
    """The `judgeable_ids` of the recall; `None` means the latest one of the session."""
    turn_id: Id | None = None
    at: At = None
    incognito: bool = False
    rewound: list[Id] = []
    """Turns of the session that the talk went back over: what they brought is undone."""


class SessionBody(Body):
    """A session."""

    session_id: Id = "default"


class RememberBody(Body):
    """A sentence to remember as it is."""

    content: str = Field(examples=["Ann is allergic to peanuts."])
    session_id: Id = "default"
    kind: Kind = Kind.FACT
    importance: Importance = Importance.HIGH
    reason: str = "told to remember"
    at: At = None


class ExtractBody(Body):
    """Messages to be judged now."""

    messages: list[Any] = Field(
        examples=[[{"role": "user", "content": "I moved to Kyoto."}]],
        description="Messages of OpenAI or LangChain, or pairs of role and text.",
    )
    session_id: Id = "default"
    at: At = None


class SkillBody(Body):
    """How something was done."""

    name: str = Field(examples=["Release"])
    workflow: list[str] = Field(examples=[["run the tests", "tag it", "publish"]])
    outcome: str = Field(default="", examples=["It took ten minutes."])


class SearchBody(Body):
    """What to look for."""

    text: str = Field(examples=["tea"])
    scope: Scope | list[Scope] = Scope.MEMORIES
    limit: int = Field(default=10, ge=1, le=MAX_LIMIT)
    at: At = None


class AskBody(Body):
    """A question about the past."""

    text: str = Field(examples=["What did we talk about last week?"])
    session_id: Id = "default"
    limit: int = Field(default=8, ge=1, le=MAX_LIMIT)
    at: At = None


class ForgetBody(Body):
    """What to forget."""

    query: str = Field(examples=["the blue car"])
    reason: str = "told to forget"
    at: At = None
    dry_run: bool = False


class CardsBody(Body):
    """What to look for among the cards; it is no part of an address, which servers log."""

    text: str = Field(min_length=1, max_length=MAX_MESSAGE_LENGTH, examples=["tea"])


class TopicPreviewBody(Body):
    """A topic that may be forgotten."""

    topic: str = Field(examples=["Tom"])
    at: At = None


class TopicBody(TopicPreviewBody):
    """What is chosen of the preview of a topic."""

    ids: list[Id] = Field(description="Ids of records in the preview; no others go.")


class EraseBody(Body):
    """How a memory is erased."""

    turns: bool = False
    """Whether the raw turns that it rests on go as well."""


class EditBody(Body):
    """The words of a memory as they should be."""

    content: str = Field(examples=["Ann is allergic to walnuts."])


class ReasonBody(Body):
    """Why something is done."""

    reason: str | None = Field(default=None, examples=["it was right after all"])


class PersonBody(Body):
    """A user; what is left out stays as it is."""

    title: str | None = Field(default=None, examples=["Ann"])
    timezone: str | None = Field(default=None, examples=["Asia/Tokyo"])
    language: Language | None = None


class PreferencesBody(Body):
    """What a user wants; what is left out stays as it is."""

    memory: bool | None = None
    auto_extract: bool | None = None
    show_references: bool | None = None
    incognito: bool | None = None


class PersonaBody(Body):
    """A persona; what is left out stays as it is."""

    name: str | None = Field(default=None, examples=["Luna"])
    knows: Knows | None = None


class DefinitionBody(Body):
    """What a persona is."""

    what: list[str] = Field(examples=[["Luna is an astronomer."]])


class RunBody(Body):
    """What a run may do and cost."""

    of_user: Id | None = None
    """Only this user's memories; `None` means everybody's."""
    now: At = None
    """The time of the run; `None` means now."""
    memories: int = Field(default=RunLimits.memories, ge=1)
    calls: int = Field(default=RunLimits.calls, ge=1)
    deletions: int | None = Field(default=None, ge=0)
    parallel: int = Field(default=RunLimits.parallel, ge=1, le=64)
    dry_run: bool = False


class FlushBody(Body):
    """How long to wait."""

    seconds: float | None = Field(default=None, ge=0, le=86_400, examples=[10])


class BackupBody(Body):
    """Where a backup is written."""

    file: str = Field(examples=["/backups/monday.zip"])
    """An absolute path on the machine of the server."""


class ExportBody(Body):
    """Where an export goes, and whose it is."""

    file: str
    of_user: Id | None = None


class ImportBody(Body):
    """What is imported."""

    file: str
    of_user: Id | None = None
    of_agent: Id = "default"
    source: ImportSource = ImportSource.AUTO
    dry_run: bool = False


class RetryBody(Body):
    """Whose turns are judged again."""

    of_user: Id | None = None
    """`None` means everybody's."""


@dataclass(frozen=True)
class Page:
    """A page of a user's memories."""

    items: list[Memory]
    """The memories."""
    total: int
    """The number on all pages."""
    next: str | None
    """The `cursor` of the next page; `None` if this is the last."""


@dataclass(frozen=True)
class RunAnswer:
    """What a run did."""

    name: str
    """The name of the run."""
    now: datetime
    """The time of the run."""
    due: int
    """Number of memories that were due when it began."""
    items: list[RunItem]
    """What it did, memory by memory."""
    calls: int
    """Number of calls of the model."""
    tokens: int
    """Number of tokens, of prompts and answers."""
    cost: float
    """Dollars."""
    stopped: str
    """Why it ended before everything was done; empty if everything is."""
    outages: int
    """Number of failures in a row that were caused by an outage."""
    error: str
    """What ended it, as `Name: message`; empty if nothing did."""
    data: dict[str, Any]
    """Numbers from a run that counts."""


@dataclass(frozen=True)
class Answered:
    """A yes or no."""

    value: bool
    """Whether it is so."""


@dataclass(frozen=True)
class Counted:
    """A number."""

    value: int
    """How many."""


@dataclass(frozen=True)
class Alive:
    """The server answers."""

    status: Literal["ok"] = "ok"
    """Always this."""


Entries = list[LedgerEntry]
