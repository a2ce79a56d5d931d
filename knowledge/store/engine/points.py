"""The types of the interface to Qdrant: points, conditions, filters, queries and hits."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import Any, Literal, NamedTuple

Payload = dict[str, Any]
"""JSON-like data. Datetimes are ISO 8601 strings in UTC; ids are UUID strings."""

Scalar = str | int | bool

IndexType = Literal["keyword", "tenant", "integer", "float", "datetime", "bool"]


@dataclass(frozen=True)
class CollectionSchema:
    """The name, dimension and indexes with which a collection is created."""

    name: str
    dimension: int
    """The dimension of the dense vectors."""
    indexes: Mapping[str, IndexType] = field(default_factory=dict)
    """Payload fields for filters and orders. A `tenant` field is a keyword in every query."""
    cues: bool = False
    """Whether the points can have cues."""


@dataclass(frozen=True)
class Sparse:
    """A sparse vector: distinct term ids and their weights, of equal length."""

    indices: tuple[int, ...] = ()
    values: tuple[float, ...] = ()


@dataclass(frozen=True)
class Point:
    """A payload with its vectors, stored under an id. A point may have no vectors."""

    id: str
    """A UUID."""
    payload: Payload
    dense: tuple[float, ...] | None = None
    """The dense vector: of unit length, with the collection's dimension."""
    lexical: Sparse | None = None
    cues: tuple[tuple[float, ...], ...] = ()
    """Dense vectors of other texts by which the point is found, if the schema has cues."""
    cue_words: Sparse | None = None
    records: dict[type, Any] | None = field(default=None, compare=False, repr=False)
    """The records that `reading.read` has decoded, by type; `None` if it must not keep them."""


def bare(id: str, payload: Payload, records: dict[type, Any] | None = None) -> Point:
    """Return a point without vectors, in a quarter of the time of a normal construction.

    >>> bare("1", {}) == Point("1", {})
    True
    """
    point = object.__new__(Point)
    point.__dict__.update(id=id, payload=payload, records=records)
    return point


@dataclass(frozen=True)
class Is:
    """A condition that the field equals the value, or is a list that contains the value."""

    key: str
    value: Scalar


@dataclass(frozen=True)
class OneOf:
    """A condition that the field equals or contains one of the values; false without values."""

    key: str
    values: tuple[str, ...]


@dataclass(frozen=True)
class Between:
    """A condition that low <= field < high, for numbers or aware datetimes.

    It is false if the field is missing.
    """

    key: str
    low: float | datetime | None = None
    high: float | datetime | None = None


@dataclass(frozen=True)
class Missing:
    """A condition that the field is absent, null or an empty list."""

    key: str


@dataclass(frozen=True)
class AnyOf:
    """A condition that at least one of the conditions is true."""

    conditions: tuple["Condition", ...]


Condition = Is | OneOf | Between | Missing | AnyOf


@dataclass(frozen=True)
class Filter:
    """A filter of points: all conditions in `must` are true, all in `must_not` are false."""

    must: tuple[Condition, ...] = ()
    must_not: tuple[Condition, ...] = ()

    @cached_property
    def by_owner(self) -> tuple[str, "Filter"]:
        """The user whose points the filter selects, and the filter without this condition.

        The user is "" if the filter does not select a single user.

        >>> Filter((Is("type", "turn"), Is("user_id", "ann"))).by_owner
        ('ann', Filter(must=(Is(key='type', value='turn'),), must_not=()))
        >>> Filter((Is("user_id", ""),)).by_owner
        ('', Filter(must=(Is(key='user_id', value=''),), must_not=()))
        """
        for place, one in enumerate(self.must):
            match one:
                case Is("user_id", str() as owner) if owner:
                    rest = (*self.must[:place], *self.must[place + 1 :])
                    return owner, Filter(rest, self.must_not)
        return "", self


@dataclass(frozen=True)
class Order:
    """A sort order by an indexed field."""

    key: str
    descending: bool = False


class Hit(NamedTuple):
    """A point found by a query."""

    point: Point
    score: float
    """The cosine for dense queries; the sum of idf-weighted term products for sparse queries."""


@dataclass(frozen=True)
class Search:
    """A nearest-neighbour query by a dense or sparse vector."""

    vector: tuple[float, ...] | Sparse
    filter: Filter
    limit: int = 20
    idf_within: Filter | None = None
    """For sparse queries: the points of one user, over which the rarity of terms is counted."""
    by_cues: bool = False
    """Whether to compare with the cues of points. The nearest cue of each point counts."""
    fields: tuple[str, ...] | None = None
    """The payload fields to return; `None` means all fields."""


@dataclass(frozen=True)
class Listing:
    """A query without a vector: the first points, sorted by `order` or else by id.

    It skips points without the field of the order.
    """

    filter: Filter
    limit: int
    order: Order | None = None
    fields: tuple[str, ...] | None = None
    """As in `Search`."""


def can_match(filter: Filter, payload: Payload) -> bool:
    """Return whether a payload may match. Ranges count as matching, as only the engine tests them.

    >>> common = AnyOf((Missing("sphere"), OneOf("sphere", ("", "*"))))
    >>> here = Filter((common,), (Is("state", "off"),))
    >>> can_match(here, {}), can_match(here, {"sphere": "@mo"}), can_match(here, {"state": "off"})
    (True, False, False)
    >>> can_match(Filter((Between("rank", low=1.0),)), {"rank": 0.0})
    True
    """
    return all(_holds(one, payload) is not False for one in filter.must) and not any(
        _holds(one, payload) for one in filter.must_not
    )


def _holds(condition: Condition, payload: Payload) -> bool | None:
    """Return whether a payload meets a condition; `None` if only the engine knows."""
    match condition:
        case Is(key, str() as value):
            return _has_any(payload.get(key), (value,))
        case OneOf(key, values):
            return _has_any(payload.get(key), values)
        case Missing(key):
            return payload.get(key) in (None, [])
        case AnyOf(conditions):
            each = [_holds(one, payload) for one in conditions]
            return True if True in each else None if None in each else False
    return None


def _has_any(field: object, values: Sequence[str]) -> bool:
    return any(one in values for one in (field if isinstance(field, list | tuple) else (field,)))
