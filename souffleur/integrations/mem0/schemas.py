"""Shapes: memories and changes as mem0's interface shows them, and the bodies that it sends."""

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from souffleur.api import Souffleur
from souffleur.errors import NotFoundError
from souffleur.integrations.mem0.filters import check_depth, is_met
from souffleur.knowledge.memory import Category, Memory, Memory as OneMemory, MemoryState
from souffleur.knowledge.operation import LedgerEntry
from souffleur.knowledge.store.items import Item, Place
from souffleur.knowledge.text.plain import mend
from souffleur.server.problems import RequestError

FOLDER = "mem0"
FIELDS = ("metadata", "run_id", "app_id")


async def find_own(memory: Souffleur, memories: Iterable[Memory]) -> dict[str, Mapping[str, Any]]:
    """Return the own fields of memories, by their ids; what an import brought is made whole."""
    places = {_place(one.user_id, one.id): one.id for one in memories}
    found = await memory.knowledge.items.get(list(places))
    own: dict[str, Mapping[str, Any]] = {id: {} for id in places.values()}
    return own | {places[place]: _readable(item.value) for place, item in found.items()}


async def keep_own(
    memory: Souffleur, user_id: str, memory_ids: Iterable[str], fields: Mapping[str, Any]
) -> None:
    """Keep fields beside memories; those that are empty stay, as do other keys of metadata."""
    new = {name: fields[name] for name in FIELDS if fields.get(name)}
    places = [_place(user_id, one) for one in memory_ids]
    if not new or not places:
        return
    items, now = memory.knowledge.items, memory.clock()
    known = await items.get(places)
    old = {place: _readable(item.value) for place, item in known.items()}
    await items.put(
        [
            Item(
                namespace=place[0],
                key=place[1],
                value=_merged(old.get(place, {}), new),
                user_id=user_id,
                created_at=known[place].created_at if place in known else now,
                updated_at=now,
            )
            for place in places
        ]
    )


def _merged(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    metadata = {**old.get("metadata", {}), **new.get("metadata", {})}
    return {**old, **new, "metadata": metadata}


def _readable(value: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is kept, each as its kind and without halves of characters: not all was checked.

    >>> _readable({"metadata": "tea", "run_id": "r1"})
    {'metadata': {}, 'run_id': 'r1'}
    """
    whole: dict[str, Any] = _mended(value)
    metadata = whole.get("metadata")
    return {**whole, "metadata": metadata if isinstance(metadata, dict) else {}}


def _mended(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {_mended(key): _mended(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_mended(one) for one in value]
    return mend(value) if isinstance(value, str) else value


def _place(user_id: str, memory_id: str) -> Place:
    return (user_id, FOLDER), memory_id


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


HIDDEN = (Category.EPISODE, Category.PROFILE)
"""What mem0 does not know: it has sentences only."""


async def find_one(memory: Souffleur, user_id: str, memory_id: str) -> OneMemory:
    """Return a memory that was not deleted. Raises NotFoundError."""
    found = await memory.get(memory_id, user_id=user_id)
    if found.state is MemoryState.FORGOTTEN:
        raise NotFoundError(f"the memory {memory_id!r} was deleted: its history shows it")
    return found


async def show_one(memory: Souffleur, user_id: str, memory_id: str) -> dict[str, Any]:
    """Return a memory as mem0 shows it. Raises NotFoundError."""
    found = await find_one(memory, user_id, memory_id)
    return show(found, (await find_own(memory, [found]))[found.id])


async def change(
    memory: Souffleur, user_id: str, memory_id: str, body: UpdateBody
) -> dict[str, Any]:
    """Change the words or the metadata of a memory, and return it.

    Raises RequestError (400) if nothing is said, NotFoundError.
    """
    text = body.text if body.text is not None else body.data
    if text is None and body.metadata is None and not body.model_fields_set & LET_PASS:
        raise RequestError(400, "say what to change: text, metadata or both")
    await find_one(memory, user_id, memory_id)
    if text is not None:
        await memory.edit(memory_id, text, user_id=user_id)
    if body.metadata is not None:
        await keep_own(memory, user_id, [memory_id], {"metadata": body.metadata})
    return await show_one(memory, user_id, memory_id)


async def find_all(memory: Souffleur, user_id: str, body: ListBody) -> list[dict[str, Any]]:
    """Return the memories that a body asks for, newest first."""
    found = await memory.list(user_id=user_id, state=MemoryState.ACTIVE)
    return await choose(memory, [(one, None) for one in reversed(found)], body)


async def choose(
    memory: Souffleur,
    found: Sequence[tuple[OneMemory, float | None]],
    body: ListBody | SearchBody,
) -> list[dict[str, Any]]:
    """Return the memories, each with its score, that meet what a body asks for.

    Raises RequestError (400) for what is no filter.
    """
    kept = [(one, score) for one, score in found if one.category not in HIDDEN]
    own = await find_own(memory, [one for one, _ in kept])
    lines = [show(one, own[one.id], score) for one, score in kept]
    asked: list[Any] = [body.filters or {}]
    asked.append(body.model_dump(include={"agent_id", "run_id", "app_id"}, exclude_none=True))
    if isinstance(body, SearchBody) and body.metadata:
        asked.append({"metadata": body.metadata})
    if isinstance(body, ListBody):
        dates = {"gte": body.start_date, "lte": body.end_date}
        asked.append({"created_at": {op: day for op, day in dates.items() if day}})
    if body.categories:
        asked.append({"categories": {"in": body.categories}})
    for part in asked:  # what is no filter is refused, also of a user without memories
        is_met(part, {})
    return [one for one in lines if all(is_met(part, one) for part in asked)]
