"""Filters of LangGraph's stores: over values, and over namespaces."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from langgraph.store.base import MatchCondition

from souffleur.errors import QueryError

_COMPARISONS: dict[str, Callable[[float, float], bool]] = {
    "$gt": lambda value, limit: value > limit,
    "$gte": lambda value, limit: value >= limit,
    "$lt": lambda value, limit: value < limit,
    "$lte": lambda value, limit: value <= limit,
}


def matches(value: Any, wanted: Any) -> bool:
    """Return whether a value is what is wanted; a mapping that is wanted may be a part.

    Raises QueryError for an unknown operator.

    >>> matches({"color": "red", "score": 4}, {"color": "red", "score": {"$gt": 3}})
    True
    >>> matches({"tags": ["a", "b"]}, {"tags": ["a"]})
    False
    """
    if isinstance(wanted, Mapping):
        if any(str(key).startswith("$") for key in wanted):
            return all(_holds(value, operator, limit) for operator, limit in wanted.items())
        if not isinstance(value, Mapping):
            return False
        return all(matches(value.get(key), part) for key, part in wanted.items())
    if isinstance(wanted, list | tuple):
        if not isinstance(value, list | tuple) or len(value) != len(wanted):
            return False
        return all(map(matches, value, wanted))
    return bool(value == wanted)


def matches_all(namespace: tuple[str, ...], conditions: Iterable[MatchCondition]) -> bool:
    """Return whether a namespace meets all conditions; "*" stands for any one label.

    >>> matches_all(("a", "b"), [MatchCondition("prefix", ("*", "b"))])
    True
    >>> matches_all(("a", "b"), [MatchCondition("suffix", ("a",))])
    False
    """
    return all(_meets(namespace, condition) for condition in conditions)


def _meets(namespace: tuple[str, ...], condition: MatchCondition) -> bool:
    path = condition.path
    if len(namespace) < len(path):
        return False
    prefix = condition.match_type == "prefix"
    part = namespace[: len(path)] if prefix else namespace[len(namespace) - len(path) :]
    return all(wanted in ("*", one) for one, wanted in zip(part, path, strict=True))


def _holds(value: Any, operator: str, limit: Any) -> bool:
    if operator in ("$eq", "$ne"):
        return bool(value == limit) is (operator == "$eq")
    if operator not in _COMPARISONS:
        known = ", ".join(["$eq", "$ne", *_COMPARISONS])
        raise QueryError(f"{operator!r} is no comparison: choose one of {known}")
    try:
        return _COMPARISONS[operator](float(value), float(limit))
    except (TypeError, ValueError):
        return False
