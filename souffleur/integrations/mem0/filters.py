"""Filters of mem0: the conditions of `filters` on a memory in mem0's format."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, date, datetime, time
from typing import Any

from souffleur.server.problems import RequestError
from souffleur.times import parse

DATED = frozenset({"created_at", "updated_at", "expiration_date"})
"""Fields of a memory with a day or a time."""


def read_span(value: object) -> tuple[datetime, datetime]:
    """Return the first and last moment of a day or a time, in UTC if it has no zone.

    Raises RequestError (400).

    >>> [str(one) for one in read_span("2026-11-23")]
    ['2026-11-23 00:00:00+00:00', '2026-11-23 23:59:59.999999+00:00']
    """
    with suppress(ValueError):
        if isinstance(value, str):
            day = date.fromisoformat(value.strip())
            return datetime.combine(day, time.min, UTC), datetime.combine(day, time.max, UTC)
    found = parse(value)
    if found is None:
        raise RequestError(
            400, f"{str(value)[:40]!r} is no date: write '2026-11-23' or '2026-11-23T10:00:00Z'"
        )
    at = found if found.utcoffset() is not None else found.replace(tzinfo=UTC)
    return at, at


def meets_dates(held: str | None, wanted: Mapping[str, Any]) -> bool:
    """Return whether a day or time meets comparisons. Raises RequestError (400) for no date.

    >>> meets_dates("2026-11-23T09:30:00+00:00", {"gt": "2026-11-22", "lte": "2026-11-23"})
    True
    """
    at = None if held is None else read_span(held)[0]
    met = [_meets_date(at, op, value) for op, value in wanted.items()]  # each is checked
    return all(met)


def _meets_date(at: datetime | None, op: str, wanted: Any) -> bool:
    spans = [read_span(one) for one in _each(wanted)]
    if at is None or not spans:
        return False
    first, last = spans[0]
    within = any(start <= at <= end for start, end in spans)
    return {
        "gt": at > last,
        "gte": at >= first,
        "lt": at < first,
        "lte": at <= last,
        "ne": not within,
        "nin": not within,
    }.get(op, within)


Shown = Mapping[str, Any]
"""A memory in mem0's format."""

ANY = "*"
"""The value that any field meets, if it is not null."""
ONE_USER = "ask for one user at a time: filters={'user_id': '…'}"
_TEXT = "keywords"
"""The name of the words of a memory in a filter."""
_COMPARED: Mapping[str, Callable[[Any, Any], bool]] = {
    "eq": lambda held, wanted: held == wanted,
    "ne": lambda held, wanted: held != wanted,
    "gt": lambda held, wanted: held > wanted,
    "gte": lambda held, wanted: held >= wanted,
    "lt": lambda held, wanted: held < wanted,
    "lte": lambda held, wanted: held <= wanted,
    "in": lambda held, wanted: any(one in wanted for one in _each(held)),
    "nin": lambda held, wanted: not any(one in wanted for one in _each(held)),
    "contains": lambda held, wanted: wanted in held,
    "icontains": lambda held, wanted: str(wanted).lower() in str(held).lower(),
}


MAX_DEPTH = 20
"""Maximum depth of objects and lists in filters and metadata."""


def check_depth(filters: Any) -> Any:
    """Return a filter or metadata. Raises ValueError if it is nested too deep.

    >>> check_depth({"AND": [{"user_id": "ann"}]})
    {'AND': [{'user_id': 'ann'}]}
    """
    if _is_deep(filters, MAX_DEPTH):
        raise ValueError(f"at most {MAX_DEPTH} levels may be nested")
    return filters


def _is_deep(filters: Any, levels: int) -> bool:
    inner = filters.values() if isinstance(filters, Mapping) else filters
    if not isinstance(filters, Mapping | list):
        return False
    return levels == 0 or any(_is_deep(one, levels - 1) for one in inner)


def user_in(filters: Any) -> str | None:
    """Return the user that a filter names; `None` without a user.

    Alternatives beside the user are conditions on that user's memories. Raises RequestError (400)
    if the filter could mean several users, or excludes a user.

    >>> user_in({"AND": [{"user_id": "ann"}, {"categories": {"contains": "fact"}}]})
    'ann'
    >>> user_in({"OR": [{"user_id": "ann"}, {"agent_id": "luna"}]})
    'ann'
    """
    named = set(_users(filters))
    if len(named) > 1 or ANY in named or (named and _is_user_denied(filters)):
        raise RequestError(400, ONE_USER)
    return next(iter(named), None)


def is_met(filters: Any, shown: Shown) -> bool:
    """Return whether a memory meets a filter. Raises RequestError (400) for an invalid one.

    >>> is_met({"OR": [{"run_id": "r1"}, {"metadata": {"n": 2}}]}, {"metadata": {"n": 2}})
    True
    """
    if not isinstance(filters, Mapping):
        raise RequestError(400, "a filter is an object such as {'user_id': 'ann'}")
    met = [_is_one_met(key, wanted, shown) for key, wanted in filters.items()]  # each is checked
    return all(met)


def _is_one_met(key: str, wanted: Any, shown: Shown) -> bool:
    if key in ("AND", "OR", "NOT"):
        parts = [is_met(part, shown) for part in _parts(wanted)]
        return {"AND": all(parts), "OR": any(parts), "NOT": not any(parts)}[key]
    if key == "metadata" and wanted != ANY:
        if not isinstance(wanted, Mapping):
            raise RequestError(400, "metadata in a filter is an object: {'metadata': {'k': 'v'}}")
        held = shown.get("metadata") or {}
        met = [_fits(held.get(name), value) for name, value in wanted.items()]
        return all(met)
    held = shown.get("memory" if key == _TEXT else key)
    if key in DATED and wanted is not None and wanted != ANY:
        return _is_dated(held, wanted)
    return _fits(held, wanted)


def _is_dated(held: Any, wanted: Any) -> bool:
    if not isinstance(wanted, Mapping):
        return meets_dates(held, {"eq": wanted})
    _check_ops(wanted)
    as_text = {op: value for op, value in wanted.items() if op in ("contains", "icontains")}
    compared = {op: value for op, value in wanted.items() if op not in as_text}
    return meets_dates(held, compared) and (not as_text or _fits(held, as_text))


def _fits(held: Any, wanted: Any) -> bool:
    if wanted == ANY:
        return held is not None
    if not isinstance(wanted, Mapping):
        return bool(held == wanted or (isinstance(held, list) and wanted in held))
    _check_ops(wanted)
    try:
        return held is not None and all(_COMPARED[op](held, w) for op, w in wanted.items())
    except TypeError:  # for example, a text and a number
        return False


def _check_ops(wanted: Any) -> None:
    unknown = wanted.keys() - _COMPARED.keys() if isinstance(wanted, Mapping) else ()
    if unknown:
        known = ", ".join(_COMPARED)
        raise RequestError(400, f"a filter knows no {sorted(unknown)[0]!r}: use one of {known}")


def _users(filters: Any) -> Iterable[str]:
    """Yield the users in a filter and its parts. Raises RequestError (400)."""
    if not isinstance(filters, Mapping):
        return
    for key, wanted in filters.items():
        if key in ("AND", "OR", "NOT"):
            for part in _parts(wanted):
                yield from _users(part)
        elif key == "user_id":
            yield from _users_of(wanted)


def _is_user_denied(filters: Any) -> bool:
    """Return whether a filter excludes a user, so that it means all others."""
    if not isinstance(filters, Mapping):
        return False
    denied = any(any(True for _ in _users(part)) for part in _parts(filters.get("NOT", ())))
    joined = (*_parts(filters.get("AND", ())), *_parts(filters.get("OR", ())))
    return denied or any(_is_user_denied(part) for part in joined)


def _users_of(wanted: Any) -> Sequence[str]:
    """Return the users of a condition. Raises RequestError (400) unless it names its users."""
    op, value = "eq", wanted
    if isinstance(wanted, Mapping) and len(wanted) == 1:
        ((op, value),) = wanted.items()
    named = [value] if op == "eq" else value
    if op not in ("eq", "in") or not isinstance(named, list) or not named:
        raise RequestError(400, ONE_USER)
    if not all(isinstance(one, str) and one for one in named):
        raise RequestError(400, ONE_USER)
    return named


def _parts(wanted: Any) -> Sequence[Any]:
    return wanted if isinstance(wanted, list | tuple) else [wanted]


def _each(held: Any) -> Sequence[Any]:
    return held if isinstance(held, list | tuple) else [held]
