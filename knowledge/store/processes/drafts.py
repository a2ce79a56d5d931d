"""Drafts: ledger entries of a verdict that is not decided on yet, on a store of several processes.

A verdict holds from the moment the user's lease names it (see `user_leases`). Before that its
entries are drafts, which nobody reads. A judge replaces drafts that a former holder of the lease
left behind, and never those of a later one. Who has no lease goes on after a crash by writing the
same entry again, such as the receipt of a removal.
"""

from datetime import datetime, timedelta
from typing import Any
from uuid import uuid4

from souffleur.errors import LeaseLostError, StoreError
from souffleur.knowledge.store.engine.collection import (
    Collection,
    Filter,
    Is,
    Payload,
    Point,
    read_all,
)
from souffleur.knowledge.store.processes.leases import fence_of

DRAFT = "draft"
ABANDONED = timedelta(minutes=10)
"""Age of a draft that nobody will decide on any more."""


async def write_drafts(
    collection: Collection, user_id: str, payloads: dict[str, Payload], at: datetime
) -> None:
    """Write the entries of one verdict, by their ids, as drafts; `at` is the verdict's time.

    Raises LeaseLostError if another process judges the user, StoreError if another is writing the
    same verdict.
    """
    fence = fence_of(user_id)
    number = fence.number if fence else 0
    found = {point.id: point.payload for point in await collection.get(list(payloads))}
    revisions: dict[str, int | None] = {}
    for id, there in found.items():
        if _may_replace(there, payloads[id], number, at):
            revisions[id] = there["revision"]
    highest = max((there.get("revision") or 0 for there in found.values()), default=0)
    derived = {"type": DRAFT, "fence": number, "revision": highest + 1, "written_by": str(uuid4())}
    drafts = [Point(id, {**payload, **derived}) for id, payload in payloads.items()]
    if await collection.swap(drafts, revisions) == payloads.keys():
        return
    if fence:
        fence.lost()
        raise LeaseLostError(f"another process judges {user_id!r} now")
    raise StoreError("another process is writing the same verdict: try again in ten minutes")


async def read_verdict(collection: Collection, verdict_id: str) -> list[Point]:
    """Return the entries of a verdict that is decided on, by position, drafts or not."""
    found = await read_all(collection, Filter((Is("verdict_id", verdict_id),)))
    entries = [point for point in found if point.payload.get("type") in (DRAFT, "entry")]
    entries.sort(key=_position)
    whole = entries[: entries[0].payload["of"]] if entries else []
    by = whole[0].payload.get("written_by") if whole else None
    return [point for point in whole if point.payload.get("written_by") == by]


async def drop_drafts(collection: Collection, user_id: str, below: int) -> None:
    """Delete the drafts of a user that former holders of the lease left behind."""
    wanted = Filter((Is("type", DRAFT), Is("user_id", user_id)))
    left = await read_all(collection, wanted)
    gone = [point.id for point in left if 0 < int(point.payload.get("fence") or 0) < below]
    await collection.delete(gone)


def _may_replace(there: Payload, payload: Payload, fence: int, at: datetime) -> bool:
    if there.get("type") != DRAFT:
        return False
    if fence:
        return int(there.get("fence") or 0) < fence
    return _is_same(there, payload) or datetime.fromisoformat(there["at"]) < at - ABANDONED


def _is_same(there: Payload, payload: Payload) -> bool:
    """Return whether a draft is all of its verdict, and what would be written anyway."""
    content = {key: value for key, value in payload.items() if key != "type"}
    return payload["of"] == 1 and all(there.get(key) == one for key, one in content.items())


def _position(point: Point) -> Any:
    return point.payload.get("position", 0)
