"""Repair: finds unreadable records and moves them from the store to a file."""

import asyncio
import json
import os
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from souffleur.errors import UnreadableError
from souffleur.knowledge.knowledge_base import KnowledgeBase
from souffleur.knowledge.memory import MemoryState
from souffleur.knowledge.operation import (
    Actor,
    ActorKind,
    LedgerEntry,
    Restore,
    Verdict,
    derive_id,
    is_id,
)
from souffleur.knowledge.people import to_person, to_persona
from souffleur.knowledge.preferences import to_preferences
from souffleur.knowledge.store.codecs import (
    to_entry,
    to_memories,
    to_memory,
    to_portrait_status,
    to_segment,
    to_session,
    to_turn,
)
from souffleur.knowledge.store.engine.collection import Collection, Filter, Point, read_pages
from souffleur.knowledge.store.items import to_item
from souffleur.knowledge.store.processes.arrivals import to_arrivals
from souffleur.knowledge.store.processes.leases import to_user_lease
from souffleur.knowledge.store.runs import run_log, spending, watermarks
from souffleur.knowledge.store.topics import to_order

_READERS: dict[str, Callable[[Point], object]] = {
    "turn": to_turn,
    "session": to_session,
    "segment": to_segment,
    "upkeep": to_portrait_status,
    "person": to_person,
    "persona": to_persona,
    "preferences": to_preferences,
    "entry": to_entry,
    "item": to_item,
    "run": run_log.to_record,
    "watermark": watermarks.to_watermark,
    "lease": watermarks.to_lease,
    "spending": spending.to_spending,
    "arrivals": to_arrivals,
    "user lease": to_user_lease,
    "draft": to_entry,
    "removal": to_order,
    "meta": lambda point: point.payload["made_with"],
}
"""The reader of each type of record in the journal."""


@dataclass(frozen=True)
class Broken:
    """An unreadable record."""

    collection: str
    """The name of its collection: memories or journal."""
    point: Point
    why: str


def why_unreadable(collection: str, point: Point) -> str:
    """Return why a point is unreadable as a record of its collection; empty if it is readable."""
    try:
        record_of(collection, point)
    except UnreadableError as error:
        return str(error)
    return ""


def record_of(collection: str, point: Point) -> object:
    """Return the record of a point: a memory, a turn, an entry, … Raises UnreadableError."""
    if collection == "memories":
        return to_memory(point)
    try:
        return _READERS[point.payload["type"]](point)
    except (KeyError, TypeError):
        what = f"the record {point.id} of the {collection} is of no known type"
        raise UnreadableError(what) from None


async def find_broken(knowledge: KnowledgeBase) -> list[Broken]:
    """Return all unreadable records. Reads the whole store."""
    return [
        Broken(collection.schema.name, point, why)
        async for collection, point in _each(knowledge)
        if (why := why_unreadable(collection.schema.name, point))
    ]


async def take_out(
    knowledge: KnowledgeBase, broken: Sequence[Broken], file: Path, *, now: datetime
) -> list[LedgerEntry]:
    """Move records to a file of JSON lines; return the entries of restored former versions.

    The file is synced to disk before anything is deleted. Versions that a lost memory had replaced
    are restored. Raises OSError if the file cannot be written; then nothing has changed.
    """
    if not broken:
        return []
    await asyncio.to_thread(_write, broken, file)
    stores = {one.schema.name: one for one in (knowledge.memories, knowledge.journal.collection)}
    for name, collection in stores.items():
        await collection.delete([one.point.id for one in broken if one.collection == name])
    lost = [one.point for one in broken if one.collection == "memories"]
    return [entry for point in lost for entry in await _restored(knowledge, point, now)]


async def _restored(knowledge: KnowledgeBase, lost: Point, now: datetime) -> list[LedgerEntry]:
    named = lost.payload.get("supersedes")
    ids = [id for id in named if is_id(id)] if isinstance(named, list) else []
    done: list[LedgerEntry] = []
    for memory in to_memories(await knowledge.memories.get(ids)):
        if memory.superseded_by != lost.id or memory.state is not MemoryState.SUPERSEDED:
            continue
        reason = "the version that replaced it could not be read"
        verdict = Verdict(
            id=derive_id("repair", memory.id, memory.revision),
            user_id=memory.user_id,
            agent_id=memory.agent_id,
            by=Actor(who=ActorKind.HOST),
            at=now,
            ops=(Restore(target=memory.id, reason=reason),),
        )
        done += await knowledge.apply(verdict)
    return done


async def _each(knowledge: KnowledgeBase) -> AsyncIterator[tuple[Collection, Point]]:
    for collection in (knowledge.memories, knowledge.journal.collection):
        async for page in read_pages(collection, Filter()):
            for point in page:
                yield collection, point


def _write(broken: Sequence[Broken], file: Path) -> None:
    with file.open("x", encoding="utf-8") as lines:
        for one in broken:
            lines.write(json.dumps(_line(one), ensure_ascii=False) + "\n")
        lines.flush()
        os.fsync(lines.fileno())


def _line(one: Broken) -> dict[str, Any]:
    return {
        "collection": one.collection,
        "id": one.point.id,
        "why": one.why,
        "payload": one.point.payload,
    }
