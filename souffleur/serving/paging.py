"""Pages of memories: a cursor names the last one seen, so that changes meanwhile move nothing."""

from collections.abc import Iterable
from contextlib import suppress
from datetime import datetime

from souffleur.knowledge.finding.browsing import Place, follows, place
from souffleur.knowledge.memory import Memory
from souffleur.serving.problems import RequestError
from souffleur.serving.schemas import Page


def page(memories: Iterable[Memory], *, limit: int, cursor: str | None, newest_first: bool) -> Page:
    """Return the page after a cursor. Raises RequestError (422) for what is no cursor."""
    every = sorted(memories, key=place, reverse=newest_first)
    after = read_cursor(cursor) if cursor else None
    left = [one for one in every if after is None or follows(place(one), after, newest_first)]
    more = len(left) > limit
    return Page(left[:limit], len(every), write_cursor(left[limit - 1]) if more else None)


def within(
    memories: Iterable[Memory], since: datetime | None, until: datetime | None
) -> list[Memory]:
    """Return the memories learned at or after `since` and before `until`."""
    return [
        one
        for one in memories
        if (since is None or one.created_at >= since) and (until is None or one.created_at < until)
    ]


def write_cursor(memory: Memory) -> str:
    """Return the cursor of the page after a memory."""
    return f"{memory.created_at.isoformat()}_{memory.id}"


def read_cursor(cursor: str) -> Place:
    """Return the place that a cursor names. Raises RequestError (422) for what is no cursor."""
    at, _, id = cursor.partition("_")
    with suppress(ValueError):
        moment = datetime.fromisoformat(at)
        if moment.tzinfo is not None:
            return moment, id
    raise RequestError(422, "this is no cursor: take it from `next` of the page before")
