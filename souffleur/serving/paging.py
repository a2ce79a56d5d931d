"""Pages of memories: a cursor names the last one seen, so that changes meanwhile move nothing."""

from collections.abc import Iterable
from contextlib import suppress
from datetime import datetime

from souffleur.knowledge.memory import Memory
from souffleur.serving.problems import RequestError
from souffleur.serving.schemas import Page

_Place = tuple[datetime, str]


def page(memories: Iterable[Memory], *, limit: int, cursor: str | None, newest_first: bool) -> Page:
    """Return the page after a cursor. Raises RequestError (422) for what is no cursor."""
    every = sorted(memories, key=_place, reverse=newest_first)
    after = _read(cursor) if cursor else None
    left = [one for one in every if after is None or _follows(_place(one), after, newest_first)]
    more = len(left) > limit
    return Page(left[:limit], len(every), _write(left[limit - 1]) if more else None)


def within(
    memories: Iterable[Memory], since: datetime | None, until: datetime | None
) -> list[Memory]:
    """Return the memories learned at or after `since` and before `until`."""
    return [
        one
        for one in memories
        if (since is None or one.created_at >= since) and (until is None or one.created_at < until)
    ]


def _place(memory: Memory) -> _Place:
    return memory.created_at, memory.id


def _follows(place: _Place, after: _Place, newest_first: bool) -> bool:
    return place < after if newest_first else place > after


def _write(memory: Memory) -> str:
    return f"{memory.created_at.isoformat()}_{memory.id}"


def _read(cursor: str) -> _Place:
    at, _, id = cursor.partition("_")
    with suppress(ValueError):
        moment = datetime.fromisoformat(at)
        if moment.tzinfo is not None:
            return moment, id
    raise RequestError(422, "this is no cursor: take it from `next` of the page before")
