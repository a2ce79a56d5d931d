"""Dates: the days and times with which mem0's filters compare when a memory was learned."""

from collections.abc import Mapping
from datetime import UTC, date, datetime, time
from typing import Any, NamedTuple

from souffleur.moments import parse
from souffleur.serving.problems import RequestError

DATED = frozenset({"created_at", "updated_at", "expiration_date"})
"""The fields of a memory that hold a day or a time."""


class Span(NamedTuple):
    """The first and the last moment of what a day or a time means; for a time, both are it."""

    first: datetime
    last: datetime


def read_span(value: object) -> Span:
    """Return what a day or a time means; UTC if it names no zone.

    Raises RequestError (400).

    >>> [str(one) for one in read_span("2026-11-23")]
    ['2026-11-23 00:00:00+00:00', '2026-11-23 23:59:59.999999+00:00']
    """
    if isinstance(value, str) and (day := _day(value)):
        return day
    found = parse(value)
    if found is None:
        raise RequestError(
            400, f"{str(value)[:40]!r} is no date: write '2026-11-23' or '2026-11-23T10:00:00Z'"
        )
    at = found if found.utcoffset() is not None else found.replace(tzinfo=UTC)
    return Span(at, at)


def is_dated_so(held: str | None, wanted: Mapping[str, Any]) -> bool:
    """Return whether a day or time meets comparisons. Raises RequestError (400) for no date.

    >>> is_dated_so("2026-11-23T09:30:00+00:00", {"gt": "2026-11-22", "lte": "2026-11-23"})
    True
    """
    at = None if held is None else read_span(held).first
    met = [_is_met(at, op, value) for op, value in wanted.items()]  # each is checked
    return all(met)


def _is_met(at: datetime | None, op: str, wanted: Any) -> bool:
    spans = [read_span(one) for one in (wanted if isinstance(wanted, list) else [wanted])]
    if at is None or not spans:
        return False
    first, last = spans[0]
    within = any(one.first <= at <= one.last for one in spans)
    return {
        "gt": at > last,
        "gte": at >= first,
        "lt": at < first,
        "lte": at <= last,
        "ne": not within,
        "nin": not within,
    }.get(op, within)


def _day(text: str) -> Span | None:
    try:
        day = date.fromisoformat(text.strip())
    except ValueError:
        return None
    return Span(datetime.combine(day, time.min, UTC), datetime.combine(day, time.max, UTC))
