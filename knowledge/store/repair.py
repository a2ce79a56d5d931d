"""Repair: finds unreadable records and moves them from the store to a file."""

import asyncio
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

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
from souffleur.knowledge.store.codecs import to_memories
from souffleur.knowledge.store.engine.collection import Filter, Point
from souffleur.knowledge.store.records import walk, why_unreadable


@dataclass(frozen=True)
class Broken:
    """An unreadable record."""

    collection: str
    """The name of the record's collection: memories or journal."""
    point: Point
    why: str


async def find_broken(knowledge: KnowledgeBase) -> list[Broken]:
    """Read the whole store, and return all unreadable records. Raises StoreError."""
    found: dict[str, Broken] = {}
    collections = (knowledge.memories, knowledge.journal.collection)
    async for part in walk(collections, knowledge.journal, Filter()):
        for id in part.again:
            found.pop(id, None)
        for point in part.points:
            if why := why_unreadable(part.collection, point):
                found[point.id] = Broken(part.collection, point, why)
    return list(found.values())


async def take_out(
    knowledge: KnowledgeBase, broken: Sequence[Broken], file: Path, *, now: datetime
) -> list[LedgerEntry]:
    """Move records to a new file of JSON lines; return the ledger entries of restored versions.

    The file is synced to the disk before records are deleted. Memories that an unreadable memory
    had replaced are restored. Raises OSError if the file cannot be written; then the store is
    unchanged.
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


def _write(broken: Sequence[Broken], file: Path) -> None:
    with file.open("x", encoding="utf-8") as lines:
        for one in broken:
            about = {"collection": one.collection, "id": one.point.id, "why": one.why}
            line = {**about, "payload": one.point.payload}
            lines.write(json.dumps(line, ensure_ascii=False) + "\n")
        lines.flush()
        os.fsync(lines.fileno())
