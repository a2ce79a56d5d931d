"""The table of routes: the HTTP call and the allowed callers of each plain method of Souffleur.

The server makes a route from each row (`table_routes.py`), the clients make a call
(`client/calls.py`). Arguments, their types and the answer come from the method's signature. Any
other method has a route in `hand_routes.py` and a call in `client/calls.py`.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from inspect import Parameter, signature
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from souffleur.api import Souffleur
from souffleur.inspection import StoreInspection
from souffleur.knowledge.forgetting.topic import TopicPreview
from souffleur.knowledge.identity import MAX_ID_LENGTH
from souffleur.knowledge.memory import Memory
from souffleur.knowledge.operation import LedgerEntry
from souffleur.knowledge.search.query import Scope
from souffleur.knowledge.store.erasing import Erased
from souffleur.knowledge.store.topics import Forgotten
from souffleur.lookup import MAX_LIMIT
from souffleur.messages import Content
from souffleur.notices import Notice
from souffleur.report.quality import Quality
from souffleur.server.tokens import Role
from souffleur.service.intake import Whisper
from souffleur.service.run import RunItem
from souffleur.times import Moment


class Body(BaseModel):
    """The body of a request; unknown fields are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)


@dataclass(frozen=True)
class Page:
    """A page of a user's memories."""

    items: list[Memory]
    """The memories."""
    total: int
    """The number of memories on all pages."""
    next: str | None
    """The `cursor` of the next page; `None` if this is the last."""


@dataclass(frozen=True)
class RunAnswer:
    """The result of a run."""

    name: str
    """The name of the run."""
    now: datetime
    """The time of the run."""
    due: int
    """Number of memories that were due when the run began."""
    items: list[RunItem]
    """The changes, memory by memory."""
    calls: int
    """Number of calls of the model."""
    tokens: int
    """Number of tokens, of prompts and answers."""
    cost: float
    """The cost in dollars."""
    stopped: str
    """Why the run ended early; empty if it did all its work."""
    outages: int
    """Number of failures in a row that were caused by an outage."""
    error: str
    """The error that ended the run, as `Name: message`; empty without an error."""
    data: dict[str, Any]
    """The numbers of a run that counts, for example `report`."""


@dataclass(frozen=True)
class Answered:
    """A yes or no."""

    value: bool
    """True for yes."""


@dataclass(frozen=True)
class Counted:
    """A number."""

    value: int
    """The number."""


@dataclass(frozen=True)
class Alive:
    """The server answers."""

    status: Literal["ok"] = "ok"
    """Always `ok`."""


@dataclass(frozen=True)
class Ready:
    """Whether the server can do its work; why not is told to admins alone."""

    ready: bool
    """Whether turns can be judged, found and stored just now."""


ADMINS = frozenset({Role.ADMIN})
OWNERS = ADMINS | {Role.USER}
"""Admins, and the user of the memories."""
TALKERS = OWNERS | {Role.PERSONA}
"""The owners, and a persona that talks with the user."""
WHO = ("user_id", "agent_id")
"""Arguments with the user and persona of the memories; they are always in the query."""

Id = Annotated[str, Field(max_length=MAX_ID_LENGTH)]
SENT_AS: Mapping[Any, Any] = {
    Moment | None: datetime | str | float | None,
    Whisper: list[str] | None,
    Sequence[str]: list[str],
    Scope | str | Sequence[Scope | str]: Scope | list[Scope],
}
"""The JSON types of arguments that have fewer types in JSON than in Python."""
_ID = {"max_length": MAX_ID_LENGTH}
_CONTENT = {
    "description": "A text, content parts, or a message that holds either (docs/python.md).",
    "examples": ["What was my cat called?"],
}
ARGUMENTS: Mapping[str, Mapping[str, Any]] = {
    "session_id": _ID,
    "turn_id": {**_ID, "examples": ["msg-17"]},
    "user": _CONTENT,
    "assistant": _CONTENT,
    "at": {
        "description": "ISO 8601, or seconds or milliseconds since 1970; default: now.",
        "examples": ["2026-01-03"],
    },
    "after": {"ge": 0, "le": 1 << 62, "description": "`seq` of the last one known."},
    "limit": {"ge": 1, "le": MAX_LIMIT},
    "seconds": {"ge": 0, "le": 86_400, "examples": [10]},
    "whisper": {"description": "The `judgeable_ids` of the recall; default: the latest recall."},
    "text": {"examples": ["What was my cat called?"]},
    "reason": {"examples": ["it was right after all"]},
    "query": {"examples": ["the blue car"]},
    "topic": {"examples": ["Tom"]},
    "ids": {"description": "Ids of records in the preview; no others go."},
    "content": {"examples": ["Ann is allergic to walnuts."]},
    "title": {"examples": ["Ann"]},
    "timezone": {"examples": ["Asia/Tokyo"]},
    "name": {"examples": ["Luna"]},
    "what": {"examples": [["Luna is an astronomer."]]},
    "workflow": {"examples": [["run the tests", "tag it", "publish"]]},
    "outcome": {"examples": ["It took ten minutes."]},
}
"""Limits, descriptions and examples of arguments, by name."""
_LATER = {"TopicPreview": TopicPreview, "Erased": Erased, "Forgotten": Forgotten}
_LATER |= {"Notice": Notice, "Quality": Quality, "LedgerEntry": LedgerEntry}
"""The types that signatures name in quotation marks."""


@dataclass(frozen=True)
class Row:
    """The HTTP call of a method, and its allowed callers."""

    verb: str
    path: str
    """The path, with the names of arguments in braces. Other arguments are in the query for GET and
    DELETE, and in the body for other verbs."""
    method: Callable[..., Any]
    may: frozenset[Role]
    """The roles that may call the method. Owners name a user, talkers also a persona."""
    tag: str
    """The section of the OpenAPI document."""
    long: bool = False
    """Whether the call has no time limit, because it asks a model or rewrites the store."""
    needs_model: bool = False
    """Whether the answer is 503 while no model is configured."""
    of: Callable[[Souffleur], Any] = lambda memory: memory
    """Returns the object with the method."""

    @property
    def name(self) -> str:
        """The name of the route: the name of the method, or `inspect`."""
        return "inspect" if self.of is StoreInspection else self.method.__name__

    @cached_property
    def arguments(self) -> Mapping[str, Parameter]:
        """The arguments of the method by name, with their types."""
        found = signature(self.method, eval_str=True, locals=_LATER).parameters
        return {name: one for name, one in found.items() if name != "self"}

    @cached_property
    def answers(self) -> Any:
        """The type of the JSON answer; yes, no and a number are in an object."""
        found = signature(self.method, eval_str=True, locals=_LATER).return_annotation
        return {bool: Answered, int: Counted}.get(found, found)

    def in_path(self) -> list[str]:
        """Return the names of the arguments in the path."""
        return re.findall(r"{(\w+)}", self.path)

    def sent(self) -> dict[str, Parameter]:
        """Return the arguments in the query or the body, with their types in JSON."""
        apart = {*WHO, *self.in_path()}
        return {name: _sent(one) for name, one in self.arguments.items() if name not in apart}


def _sent(argument: Parameter) -> Parameter:
    kind = SENT_AS.get(argument.annotation, argument.annotation)
    if kind is Content and argument.default is Parameter.empty:
        argument = argument.replace(default="")  # a message may be empty in `observe`
    return argument.replace(annotation=list[Id] if argument.name in ("ids", "rewound") else kind)


_M = "/api/memories"
ROWS = (
    Row("POST", "/api/recall", Souffleur.recall, TALKERS, "talk"),
    Row("POST", "/api/turns", Souffleur.observe, TALKERS, "talk"),
    Row("DELETE", "/api/turns", Souffleur.erase_turn, OWNERS, "talk", long=True),
    Row("POST", "/api/sessions/end", Souffleur.end_session, TALKERS, "talk"),
    Row("POST", "/api/ask", Souffleur.ask, TALKERS, "talk", long=True),
    Row("GET", "/api/episodes", Souffleur.episodes, TALKERS, "talk"),
    Row("POST", f"{_M}/skills", Souffleur.record_skill, TALKERS, "memories"),
    Row("POST", f"{_M}/search", Souffleur.search, TALKERS, "memories"),
    Row("GET", f"{_M}/stats", Souffleur.stats, OWNERS, "memories"),
    Row("POST", f"{_M}/forget", Souffleur.forget, OWNERS, "memories"),
    Row("GET", _M + "/{memory_id}", Souffleur.get, OWNERS, "memories"),
    Row("PATCH", _M + "/{memory_id}", Souffleur.edit, OWNERS, "memories"),
    Row("POST", _M + "/{memory_id}/restore", Souffleur.restore_memory, OWNERS, "memories"),
    Row("POST", _M + "/{memory_id}/pin", Souffleur.pin, OWNERS, "memories"),
    Row("POST", _M + "/{memory_id}/share", Souffleur.share, OWNERS, "memories"),
    Row("GET", _M + "/{memory_id}/history", Souffleur.history, OWNERS, "memories"),
    Row("GET", "/api/ledger", Souffleur.ledger, OWNERS, "changes"),
    Row("GET", "/api/notices", Souffleur.notices, OWNERS, "changes"),
    Row("POST", "/api/ledger/{entry_id}/undo", Souffleur.undo, OWNERS, "changes"),
    Row("GET", "/api/pending", Souffleur.proposals, OWNERS, "changes"),
    Row("POST", "/api/pending/confirm", Souffleur.confirm_all, OWNERS, "changes"),
    Row("POST", "/api/pending/reject", Souffleur.reject_all, OWNERS, "changes"),
    Row("POST", "/api/pending/{id}/confirm", Souffleur.confirm, OWNERS, "changes"),
    Row("POST", "/api/pending/{id}/reject", Souffleur.reject, OWNERS, "changes"),
    Row("GET", "/api/users", Souffleur.users, ADMINS, "people"),
    Row("PUT", "/api/person", Souffleur.introduce, OWNERS, "people"),
    Row("GET", "/api/preferences", Souffleur.preferences, TALKERS, "people"),
    Row("PATCH", "/api/preferences", Souffleur.set_preferences, OWNERS, "people"),
    Row("PUT", "/api/personas", Souffleur.introduce_persona, ADMINS, "people"),
    Row("PUT", "/api/personas/definition", Souffleur.define, ADMINS, "people"),
    Row("GET", "/api/profile", Souffleur.portrait, TALKERS, "people"),
    Row(
        "POST",
        "/api/profile",
        Souffleur.write_portrait,
        TALKERS,
        "people",
        long=True,
        needs_model=True,
    ),
    Row("POST", "/api/forget/preview", Souffleur.preview_topic, OWNERS, "removal"),
    Row("POST", "/api/forget", Souffleur.forget_topic, OWNERS, "removal", long=True),
    Row("POST", _M + "/{memory_id}/erase", Souffleur.erase_memory, OWNERS, "removal", long=True),
    Row("POST", "/api/compact", Souffleur.compact, ADMINS, "removal", long=True),
    Row("GET", "/api/health", Souffleur.health, ADMINS, "store"),
    Row("GET", "/api/report", Souffleur.report, ADMINS, "store", long=True),
    Row("POST", "/api/flush", Souffleur.flush, ADMINS, "store", long=True),
)
"""All plain methods. If two paths match a request, the first counts."""


def _inspection(path: str, method: Callable[..., Any], *, long: bool = False) -> Row:
    path = f"/api/inspection/{path}"
    return Row("GET", path, method, ADMINS, "owner", long, of=StoreInspection)


INSPECTION = (
    _inspection("error", StoreInspection.error),
    _inspection("turns", StoreInspection.turns),
    _inspection("turns/{turn_id}/entries", StoreInspection.entries),
    _inspection("reasons", StoreInspection.reasons),
    _inspection("segments", StoreInspection.segments),
    _inspection("page", StoreInspection.page, long=True),
    _inspection("jobs", StoreInspection.jobs),
)
"""Methods for commands on this machine; only the owner's socket serves them."""
BY_HAND: Mapping[frozenset[Role], Sequence[str]] = {
    TALKERS: ("alive", "cast", "list", "ready", "remember"),
    OWNERS: (
        *("erase_user", "events", "export", "import_file", "person"),
        # routes of the user's page
        *("cards", "figures", "home", "learning", "me", "names", "questions"),
        *("turn", "turns", "why"),
        # routes of mem0's interface
        *("known_users", "ping"),
    ),
    ADMINS: (
        *("backup", "export_to_path", "import_export", "import_from_path", "inspect", "metrics"),
        *("personas", "retry", "run"),
    ),
}
"""The allowed callers of the routes in `hand_routes.py` and others, by route name."""
METHODS: Mapping[str, frozenset[Role]] = {
    **{row.name: row.may for row in ROWS},
    **{name: may for may, names in BY_HAND.items() for name in names},
}
"""The allowed callers of each method: of Souffleur's methods and of the server's own."""
