"""Shapes: memories and changes as mem0's interface shows them, and the bodies that it sends."""

import json
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from souffleur.knowledge.memory import Memory, MemoryState
from souffleur.knowledge.operation import LedgerEntry
from souffleur.serving.mem0.filters import check_depth

DEFAULT = "default"
"""The persona and session where mem0 names none."""
EVENTS = {
    "ADD": "ADD",
    "UPDATE": "UPDATE",
    "EDIT": "UPDATE",
    "DELETE": "DELETE",
    "FORGET": "DELETE",
}
"""The ops that mem0 has a name for; others change no words."""


def check_whole(given: Any) -> Any:
    r"""Return it. Raises ValueError for half a character, which no answer could show again.

    >>> check_whole({"a": "🍵"})
    {'a': '🍵'}
    """
    try:
        json.dumps(given, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise ValueError("half a character (a lone surrogate) is no text: send it whole") from None
    return given


def check_kept(filters: dict[str, Any] | None) -> dict[str, Any] | None:
    """Return the filters of an add. Raises ValueError for what cannot be kept beside a memory.

    >>> check_kept({"run_id": "r1", "metadata": {"n": 2}})
    {'run_id': 'r1', 'metadata': {'n': 2}}
    """
    for name in ("agent_id", "run_id", "app_id", "metadata"):
        kind = dict if name == "metadata" else str
        if not isinstance((filters or {}).get(name), kind | None):
            raise ValueError(f"{name} must be {'an object' if kind is dict else 'a text'}")
    return filters


Nested = Annotated[dict[str, Any], AfterValidator(check_depth), AfterValidator(check_whole)]
"""An object of the caller's own."""
OwnText = Annotated[str, AfterValidator(check_whole)]
"""A text of the caller's own."""
Own = Mapping[str, Any]
"""What mem0 keeps beside a memory and we do not: `metadata`, `run_id`, `app_id`."""


class Body(BaseModel):
    """What mem0's client sends; fields that mean nothing here are let pass."""

    model_config = ConfigDict(extra="ignore")


class Named(Body):
    """Whose memories are meant."""

    user_id: str | None = None
    agent_id: str | None = None
    run_id: OwnText | None = None
    app_id: OwnText | None = None
    filters: Nested | None = Field(default=None, examples=[{"user_id": "ann"}])


class AddBody(Named):
    """Messages to remember."""

    filters: Annotated[Nested | None, AfterValidator(check_kept)] = None
    messages: list[dict[str, Any]] | dict[str, Any] | str
    metadata: Nested | None = None
    infer: bool | None = None
    timestamp: float | str | None = None


class SearchBody(Named):
    """What to look for."""

    query: str
    top_k: int | None = Field(default=None, ge=0)
    limit: int | None = Field(default=None, ge=0)
    threshold: float | None = None
    metadata: Nested | None = None
    categories: list[str] | None = None


class ListBody(Named):
    """Which memories to list."""

    categories: list[str] | None = None
    start_date: str | None = None
    end_date: str | None = None


class UpdateBody(Body):
    """New words or new metadata of a memory."""

    text: str | None = None
    data: str | None = None
    metadata: Nested | None = None
    expiration_date: str | None = None
    timestamp: float | str | None = None


LET_PASS = frozenset({"expiration_date", "timestamp"})
"""What an update may say without effect."""


class BatchItem(UpdateBody):
    """One memory of a batch."""

    memory_id: str


class BatchBody(Body):
    """Several memories at once."""

    memories: list[BatchItem] = Field(max_length=1000)


def show(memory: Memory, own: Own, score: float | None = None) -> dict[str, Any]:
    """Return a memory as mem0 shows it."""
    said = memory.evidence[0] if memory.evidence else None
    shown = {
        "id": memory.id,
        "memory": memory.content,
        "user_id": memory.user_id,
        "agent_id": None if memory.agent_id == DEFAULT else memory.agent_id,
        "app_id": own.get("app_id"),
        "run_id": own.get("run_id") or (said and said.session_id) or None,
        "metadata": own.get("metadata") or {},
        "categories": list(dict.fromkeys((memory.category, memory.kind, *memory.topics))),
        "created_at": memory.created_at.isoformat(),
        "updated_at": memory.updated_at.isoformat(),
        "expiration_date": memory.expires_at and memory.expires_at.date().isoformat(),
    }
    return shown if score is None else {**shown, "score": score}


def show_results(entries: Iterable[LedgerEntry]) -> list[dict[str, Any]]:
    """Return what an `add` has done: a line for each memory that was added, replaced or removed."""
    lines = []
    for entry in entries:
        event = EVENTS.get(entry.op)
        if event is None or entry.refused or entry.waits or not entry.changes:
            continue
        memory = entry.changes[0].after if event == "DELETE" else written(entry)
        line = {"id": memory.id, "memory": memory.content, "event": event}
        old = [one.before for one in entry.changes if one.before]
        lines.append(
            {**line, "previous_memory": old[0].content} if old and event != "ADD" else line
        )
    return lines


def show_history(entry: LedgerEntry, memory_id: str) -> dict[str, Any]:
    """Return one change of a memory."""
    mine = next(one for one in entry.changes if one.after.id == memory_id)
    gone = mine.after.state is MemoryState.FORGOTTEN
    return {
        "id": entry.id,
        "memory_id": memory_id,
        "old_memory": mine.before and mine.before.content,
        "new_memory": None if gone else mine.after.content,
        "event": EVENTS.get(entry.op, entry.op),
        "user_id": entry.user_id,
        "reason": entry.reason,
        "is_deleted": gone,
        "created_at": _iso(mine.after.created_at),
        "updated_at": _iso(entry.at),
    }


def written(entry: LedgerEntry) -> Memory:
    """Return the memory that holds the words that an entry has written."""
    return next((one.after for one in entry.changes if one.before is None), entry.changes[0].after)


def _iso(moment: datetime) -> str:
    return moment.isoformat()
