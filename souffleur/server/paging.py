"""Pages of memories. A cursor names the last memory of a page, so later changes move no page."""

from contextlib import suppress
from datetime import UTC, datetime, tzinfo
from typing import Annotated

from fastapi import Query

from souffleur.api import Souffleur
from souffleur.knowledge.memory import Memory
from souffleur.knowledge.search.memories import Position, browse, count
from souffleur.knowledge.search.query import Wanted
from souffleur.server.problems import RequestError
from souffleur.server.table import Page
from souffleur.times import lacks_zone, parse

_TIMES = "2026-11-23, 2026-11-23T10:00:00Z, or seconds or milliseconds since 1970"
Since = Annotated[
    str | None,
    Query(
        description=f"Learned at or after: {_TIMES}; by default in the user's time zone.",
        examples=["2026-11-23"],
    ),
]
Until = Annotated[
    str | None,
    Query(description="Likewise, learned before.", examples=["2026-11-24T10:00:00Z"]),
]
Cursor = Annotated[str | None, Query(description="`next` of the page before.")]
_EARLIEST, _LATEST = datetime(1900, 1, 1, tzinfo=UTC), datetime(2900, 1, 1, tzinfo=UTC)


async def page_of(
    memory: Souffleur, wanted: Wanted, *, limit: int, cursor: str | None, newest_first: bool
) -> Page:
    """Return the page after a cursor. Raises RequestError (422) for an invalid cursor."""
    after = read_cursor(cursor) if cursor else None
    points = memory.knowledge.memories
    found, more = await browse(points, wanted, limit=limit, after=after, newest_first=newest_first)
    following = write_cursor(found[-1]) if more and found else None
    return Page(found, await count(points, wanted), following)


def write_cursor(memory: Memory) -> str:
    """Return the cursor of the page after a memory."""
    return f"{memory.created_at.isoformat()}_{memory.id}"


def read_cursor(cursor: str) -> Position:
    """Return the position of a cursor. Raises RequestError (422) for an invalid cursor."""
    at, _, id = cursor.partition("_")
    with suppress(ValueError):
        moment = datetime.fromisoformat(at)
        if moment.tzinfo is not None:
            return within_reason(moment), id
    raise RequestError(422, "this is no cursor: take it from `next` of the page before")


async def learned(
    memory: Souffleur, user_id: str, *, since: str | None, until: str | None
) -> tuple[datetime | None, datetime | None]:
    """Return the times of `since` and `until`; `None` means no limit.

    A time without a zone is in the user's zone. Raises RequestError (422) for an invalid time.
    """
    bare = lacks_zone(since) or lacks_zone(until)
    zone = (await memory.cast(user_id=user_id)).zone(user_id) if bare else UTC
    return _time("since", since, zone), _time("until", until, zone)


def _time(name: str, text: str | None, zone: tzinfo) -> datetime | None:
    if text is None:
        return None
    with suppress(ValueError):
        if found := parse(text) or parse(float(text)):
            return within_reason(found.replace(tzinfo=found.tzinfo or zone))
    plus = "; a + in an address is written %2B" if " " in text else ""
    raise RequestError(422, f"query.{name}: {text[:40]!r} is no time: write {_TIMES}{plus}")


def within_reason(moment: datetime) -> datetime:
    """Return the nearest time that the store can compare."""
    return min(max(moment, _EARLIEST), _LATEST)
