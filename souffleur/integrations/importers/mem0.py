"""mem0: the memories of its `get_all` and its server, each imported as one ADD."""

import asyncio
import json
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from souffleur.errors import FileError, InputError
from souffleur.integrations.importers.chats import MAX_NAME, Unread, fields_of, listed, read_json
from souffleur.knowledge.identity import check_id
from souffleur.knowledge.knowledge_base import KnowledgeBase
from souffleur.knowledge.operation import (
    Actor,
    ActorKind,
    Add,
    Verdict,
    derive_id,
    entry_id,
)
from souffleur.knowledge.people import sphere_of
from souffleur.knowledge.store.transfer import Imported
from souffleur.times import moment

_LISTS = ("results", "memories")
"""The keys of the list of memories in an object."""
BARE = "it has no id or no memory"
ODD = "blank, too long, or with a field that cannot be read"


async def import_mem0(
    knowledge: KnowledgeBase, file: Path, *, user_id: str | None, dry_run: bool, now: datetime
) -> Imported:
    """Import each memory that was not imported before, by rules and without a model.

    With `user_id`, memories of other users are skipped, and memories without a user are imported
    for that user. Raises FileError for any other file; then nothing is written.
    """
    new: Counter[str] = Counter()
    known: Counter[str] = Counter()
    skipped: Counter[str] = Counter()
    unread: list[Unread] = []
    for number, record in enumerate(await asyncio.to_thread(_records, file), 1):
        verdict = _verdict(record, user_id, now)
        if isinstance(verdict, str):
            skipped[f"memory: {verdict}"] += 1
            if verdict in (BARE, ODD):
                id = fields_of(record).get("id")
                name = f"memory {number}" + (f" {str(id)[:MAX_NAME]!r}" if id else "")
                unread.append(Unread("memory", name, verdict))
        elif await knowledge.journal.get_entries([entry_id(verdict.id, 0)]):
            known["memory"] += 1
        elif (await knowledge.choices.find(verdict.user_id)).keeps_out:
            skipped["memory: of a user who wants none"] += 1
        elif dry_run:
            new["memory"] += 1
        else:
            _, card = await knowledge.people.find(verdict.user_id, verdict.agent_id)
            (entry,) = await knowledge.apply(verdict.model_copy(update={"sphere": sphere_of(card)}))
            if entry.refused:
                skipped[f"memory: {entry.refused}"] += 1
            else:
                new["memory"] += 1
    counts = {"new": dict(new), "known": dict(known), "skipped": dict(sorted(skipped.items()))}
    return Imported(source="mem0", dry_run=dry_run, unread=listed(unread), **counts)


def _records(file: Path) -> Sequence[Any]:
    try:
        found = read_json(file.read_bytes().decode("utf-8-sig"))
    except json.JSONDecodeError as error:
        raise FileError(f"{file}, line {error.lineno}: this is no JSON") from None
    except (ValueError, RecursionError):
        raise FileError(f"{file} is no JSON in UTF-8") from None
    if isinstance(found, dict):
        found = next((found[name] for name in _LISTS if name in found), None)
    if not isinstance(found, list):
        raise FileError(f"{file} holds no list of memories: write what get_all returns")
    if found and not any(map(_is_memory, found)):
        raise FileError(f"{file} holds no memory with an id: write what get_all returns")
    return found


def _is_memory(record: object) -> bool:
    return {"id", "memory"} <= fields_of(record).keys()


def _verdict(record: Any, user_id: str | None, now: datetime) -> Verdict | str:
    """Return the verdict that adds a memory of mem0, or the reason why it is skipped."""
    if not _is_memory(record):
        return BARE
    whose = record.get("user_id") or user_id
    if whose is None:
        return "it names no user: say whose it is"
    if user_id not in (None, whose):
        return "of another user"
    try:
        until = _time(record.get("expiration_date"), now)
        if until and until <= now:
            return "expired"
        since = _since(record.get("created_at"), now)
        metadata, topics = record.get("metadata"), record.get("categories") or ()
        topics = (topics,) if isinstance(topics, str) else topics
        add = Add(
            reason="imported from mem0",
            quote="",
            content=record["memory"],
            topics=tuple(topics),
            valid_from=min(since, now) if since else None,
            expires_at=until,
            data={"metadata": metadata} if metadata else {},
        )
        add.model_dump_json()  # raises for values that the ledger cannot store
        return Verdict(
            id=derive_id("import", "mem0", whose, record["id"]),
            user_id=whose,
            agent_id=check_id(record.get("agent_id") or "default", "agent_id"),
            by=Actor(who=ActorKind.IMPORT),
            at=now,
            ops=(add,),
        )
    except (ValueError, InputError, TypeError):
        return ODD


def _since(value: object, now: datetime) -> datetime | None:
    """Return the time from which a memory is valid; `None` if it is missing or unreadable."""
    try:
        return _time(value, now)
    except InputError:
        return None


def _time(value: object, now: datetime) -> datetime | None:
    return None if value is None else moment(value, now=now, zone=UTC).astimezone(UTC)
