"""Schemas of mem0's interface: the bodies of requests, and memories and changes in answers."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from souffleur.api import Souffleur
from souffleur.errors import NotFoundError
from souffleur.integrations.mem0.filters import check_depth, is_met
from souffleur.knowledge.memory import Category, Memory, MemoryState
from souffleur.knowledge.operation import LedgerEntry
from souffleur.knowledge.store.items import Item, Place
from souffleur.knowledge.text.plain import mend
from souffleur.server.problems import RequestError

FOLDER = "mem0"
FIELDS = ("metadata", "run_id", "app_id")
Own = Mapping[str, Any]
"""The own fields of mem0 (`FIELDS`), which are stored as a record beside each memory."""


async def find_own(memory: Souffleur, memories: Iterable[Memory]) -> dict[str, Own]:
    """Return the own fields of memories by id; fields of imported records are repaired."""
    places = {_place(one.user_id, one.id): one.id for one in memories}
    found = await memory.knowledge.items.get(list(places))
    own: dict[str, Own] = {id: {} for id in places.values()}
    return own | {places[place]: _repaired(item.value) for place, item in found.items()}


async def keep_own(
    memory: Souffleur, user_id: str, memory_ids: Iterable[str], fields: Mapping[str, Any]
) -> None:
    """Store own fields of memories; missing fields and other keys of metadata stay."""
    new = {name: fields[name] for name in FIELDS if fields.get(name)}
    places = [_place(user_id, one) for one in memory_ids]
    if not new or not places:
        return
    items, now = memory.knowledge.items, memory.clock()
    known = await items.get(places)
    changed = []
    for place in places:
        old = _repaired(known[place].value) if place in known else {}
        metadata = {**old.get("metadata", {}), **new.get("metadata", {})}
        changed.append(
            Item(
                namespace=place[0],
                key=place[1],
                value={**old, **new, "metadata": metadata},
                user_id=user_id,
                created_at=known[place].created_at if place in known else now,
                updated_at=now,
            )
        )
    await items.put(changed)


def _repaired(value: Own) -> dict[str, Any]:
    """Return stored fields of the right types and without lone surrogates.

    >>> _repaired({"metadata": "tea", "run_id": "r1"})
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
"""The persona and session of requests without one."""
EVENTS = {"ADD": "ADD", "UPDATE": "UPDATE", "DELETE": "DELETE"}
EVENTS |= {"EDIT": "UPDATE", "FORGET": "DELETE"}
"""mem0's names of ops; other ops change no words."""


def check_whole(given: Any) -> Any:
    r"""Return a value. Raises ValueError for a lone surrogate, which JSON in UTF-8 cannot have.

    >>> check_whole({"a": "🍵"})
    {'a': '🍵'}
    """
    try:
        json.dumps(given, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise ValueError("half a character (a lone surrogate) is no text: send it whole") from None
    return given


def check_kept(filters: dict[str, Any] | None) -> dict[str, Any] | None:
    """Return the filters of an add. Raises ValueError for fields that cannot be stored.

    >>> check_kept({"run_id": "r1", "metadata": {"n": 2}})
    {'run_id': 'r1', 'metadata': {'n': 2}}
    """
    for name in ("agent_id", "run_id", "app_id", "metadata"):
        kind = dict if name == "metadata" else str
        if not isinstance((filters or {}).get(name), kind | None):
            raise ValueError(f"{name} must be {'an object' if kind is dict else 'a text'}")
    return filters


Nested = Annotated[dict[str, Any], AfterValidator(check_depth), AfterValidator(check_whole)]
"""A JSON object from the caller."""
OwnText = Annotated[str, AfterValidator(check_whole)]
"""A text from the caller."""


class Body(BaseModel):
    """The body of a request; unknown fields are ignored."""

    model_config = ConfigDict(extra="ignore")


class Named(Body):
    """A body that may name a user, a persona and a session."""

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
    """A search."""

    query: str
    top_k: int | None = Field(default=None, ge=0)
    limit: int | None = Field(default=None, ge=0)
    threshold: float | None = None
    metadata: Nested | None = None
    categories: list[str] | None = None


class ListBody(Named):
    """A filter of a list of memories."""

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


IGNORED = frozenset({"expiration_date", "timestamp"})
"""Fields of an update that have no effect."""


class BatchItem(UpdateBody):
    """One memory of a batch."""

    memory_id: str


class BatchBody(Body):
    """Several memories at once."""

    memories: list[BatchItem] = Field(max_length=1000)


def show(memory: Memory, own: Own, score: float | None = None) -> dict[str, Any]:
    """Return a memory in mem0's format."""
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
    """Return the results of an `add`: an object for each memory added, replaced or removed."""
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
    """Return a ledger entry of a memory in mem0's format."""
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
        "created_at": mine.after.created_at.isoformat(),
        "updated_at": entry.at.isoformat(),
    }


def written(entry: LedgerEntry) -> Memory:
    """Return the memory with the words that a ledger entry wrote."""
    return next((one.after for one in entry.changes if one.before is None), entry.changes[0].after)


HIDDEN = (Category.EPISODE, Category.PROFILE)
"""Categories that mem0 does not have: all its memories are sentences."""


async def find_one(memory: Souffleur, user_id: str, memory_id: str) -> Memory:
    """Return a memory. Raises NotFoundError, also if it was deleted."""
    found = await memory.get(memory_id, user_id=user_id)
    if found.state is MemoryState.FORGOTTEN:
        raise NotFoundError(f"the memory {memory_id!r} was deleted: its history shows it")
    return found


async def show_one(memory: Souffleur, user_id: str, memory_id: str) -> dict[str, Any]:
    """Return a memory in mem0's format. Raises NotFoundError."""
    found = await find_one(memory, user_id, memory_id)
    return show(found, (await find_own(memory, [found]))[found.id])


async def change(
    memory: Souffleur, user_id: str, memory_id: str, body: UpdateBody
) -> dict[str, Any]:
    """Change the words or the metadata of a memory, and return it.

    Raises RequestError (400) for an empty change, NotFoundError.
    """
    text = body.text if body.text is not None else body.data
    if text is None and body.metadata is None and not body.model_fields_set & IGNORED:
        raise RequestError(400, "say what to change: text, metadata or both")
    await find_one(memory, user_id, memory_id)
    if text is not None:
        await memory.edit(memory_id, text, user_id=user_id)
    if body.metadata is not None:
        await keep_own(memory, user_id, [memory_id], {"metadata": body.metadata})
    return await show_one(memory, user_id, memory_id)


async def find_all(memory: Souffleur, user_id: str, body: ListBody) -> list[dict[str, Any]]:
    """Return the memories that meet a body, newest first."""
    found = await memory.list(user_id=user_id, state=MemoryState.ACTIVE)
    return await choose(memory, [(one, None) for one in reversed(found)], body)


async def choose(
    memory: Souffleur,
    found: Sequence[tuple[Memory, float | None]],
    body: ListBody | SearchBody,
) -> list[dict[str, Any]]:
    """Return the memories that meet a body, with their scores, in mem0's format.

    Raises RequestError (400) for an invalid filter.
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
    for part in asked:  # an invalid filter is refused, also for a user without memories
        is_met(part, {})
    return [one for one in lines if all(is_met(part, one) for part in asked)]
