"""Pages of memories: a cursor names the last one seen, so that changes meanwhile move nothing."""

from contextlib import suppress
from datetime import UTC, datetime

from souffleur.knowledge.finding.browsing import Place, Wanted, browse, count
from souffleur.knowledge.memory import Memory
from souffleur.runtime import Souffleur
from souffleur.serving.problems import RequestError
from souffleur.serving.schemas import Page

_EARLIEST, _LATEST = datetime(1900, 1, 1, tzinfo=UTC), datetime(2900, 1, 1, tzinfo=UTC)


async def page_of(
    memory: Souffleur, wanted: Wanted, *, limit: int, cursor: str | None, newest_first: bool
) -> Page:
    """Return the page after a cursor. Raises RequestError (422) for what is no cursor."""
    after = read_cursor(cursor) if cursor else None
    points = memory.knowledge.memories
    found, more = await browse(points, wanted, limit=limit, after=after, newest_first=newest_first)
    following = write_cursor(found[-1]) if more and found else None
    return Page(found, await count(points, wanted), following)


def write_cursor(memory: Memory) -> str:
    """Return the cursor of the page after a memory."""
    return f"{memory.created_at.isoformat()}_{memory.id}"


def read_cursor(cursor: str) -> Place:
    """Return the place that a cursor names. Raises RequestError (422) for what is no cursor."""
    at, _, id = cursor.partition("_")
    with suppress(ValueError):
        moment = datetime.fromisoformat(at)
        if moment.tzinfo is not None:
            return within_reason(moment), id
    raise RequestError(422, "this is no cursor: take it from `next` of the page before")


def within_reason(moment: datetime) -> datetime:
    """Return a time that the store can compare, the nearest one to what was asked for."""
    return min(max(moment, _EARLIEST), _LATEST)
