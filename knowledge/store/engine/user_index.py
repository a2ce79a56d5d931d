"""The numbers by which points of one user are filtered and ranked in memory, without payloads."""

import math
from array import array
from collections import defaultdict
from collections.abc import Iterable, Iterator, Set
from datetime import datetime
from threading import Lock
from typing import Any

import numpy as np
import numpy.typing as npt

from souffleur.knowledge.store.engine.points import (
    AnyOf,
    Between,
    CollectionSchema,
    Condition,
    Filter,
    Is,
    Listing,
    Missing,
    OneOf,
    Point,
    Scalar,
    Search,
    Sparse,
)

Mask = npt.NDArray[np.bool_]
"""Whether each row matches."""
Numbers = npt.NDArray[np.float32]

COMPARED = frozenset({"keyword", "tenant"})
ORDERED = frozenset({"integer", "float", "datetime"})
SPARE_ROWS = 100
"""Number of dropped rows, beside as many as are in use, from which an index must be made anew."""


class UserIndex:
    """An index of points. A row is never changed: a changed point gets a new row. Thread-safe.

    >>> from souffleur.knowledge.store.engine.points import CollectionSchema
    >>> index = UserIndex(CollectionSchema("m", 2, {"state": "keyword", "rank": "float"}))
    >>> index.put(Point("1", {"state": "on", "rank": 0.5}, dense=(0.0, 1.0)))
    >>> index.put(Point("2", {"state": "off", "rank": 0.7}, dense=(1.0, 0.0)))
    >>> index.search(Search((0.6, 0.8), Filter((Is("state", "on"),))))
    [('1', 0.800000011920929)]
    >>> index.count(Filter((Between("rank", low=0.6),)))
    1
    """

    def __init__(self, schema: CollectionSchema) -> None:
        self._ids: list[str] = []
        self._rows: dict[str, int] = {}
        self._used = _Rows(np.bool_)
        self._equal: dict[str, defaultdict[Scalar, array[int]]] = {
            key: defaultdict(_row_numbers)
            for key, kind in schema.indexes.items()
            if kind in COMPARED
        }
        """The rows by field and value; a list has several values."""
        self._ordered = {
            key: _Rows(np.float64) for key, kind in schema.indexes.items() if kind in ORDERED
        }
        """Each row's number or time in a field."""
        self._masks: dict[Condition, Mask] = {}
        """The rows that meet a condition, until a point changes."""
        self._dense, self._cues = _Vectors(schema.dimension), _Vectors(schema.dimension)
        self._words, self._cue_words = _Words(), _Words()
        self._alone = Lock()

    def __len__(self) -> int:
        return len(self._rows)

    def __contains__(self, id: str) -> bool:
        return id in self._rows

    def __iter__(self) -> Iterator[str]:
        return iter(list(self._rows))

    @property
    def is_worn(self) -> bool:
        """Whether it is mostly dropped rows."""
        return len(self._ids) > 2 * len(self._rows) + SPARE_ROWS

    @property
    def fields(self) -> Set[str]:
        """The fields on which it depends."""
        return self._equal.keys() | self._ordered.keys()

    def knows(self, filter: Filter) -> bool:
        """Return whether it can tell which points match a filter."""
        return all(map(self._knows, (*filter.must, *filter.must_not)))

    def put(self, point: Point) -> None:
        """Insert or replace a point with its vectors."""
        with self._alone:
            self._drop(point.id)
            row = self._rows[point.id] = len(self._ids)
            self._ids.append(point.id)
            self._used.add([True])
            for key, rows in self._equal.items():
                value = point.payload.get(key)
                for one in value if isinstance(value, list) else () if value is None else (value,):
                    rows[one].append(row)
            for key, numbers in self._ordered.items():
                numbers.add([_number(point.payload.get(key))])
            self._dense.add(row, () if point.dense is None else (point.dense,))
            self._cues.add(row, point.cues)
            self._words.add(row, point.lexical)
            self._cue_words.add(row, point.cue_words)

    def drop(self, id: str) -> None:
        """Remove a point, if it is there."""
        with self._alone:
            self._drop(id)

    def count(self, filter: Filter) -> int:
        """Return the number of matching points."""
        with self._alone:
            return int(np.count_nonzero(self._mask(filter)))

    def first(self, listing: Listing) -> list[str]:
        """Return the ids of the first matching points, sorted by the order or else by id."""
        with self._alone:
            rows = np.flatnonzero(self._mask(listing.filter))
            if listing.order is None:
                return sorted(self._ids[row] for row in rows)[: listing.limit]
            numbers = self._ordered[listing.order.key].all[rows]
            rows, numbers = rows[~np.isnan(numbers)], numbers[~np.isnan(numbers)]
            order = np.argsort(-numbers if listing.order.descending else numbers, kind="stable")
            return [self._ids[row] for row in rows[order[: listing.limit]]]

    def search(self, search: Search) -> list[tuple[str, float]]:
        """Return the ids and scores of the nearest points, the highest score first.

        The rarity of terms is counted over all points.
        """
        with self._alone:
            mask, vector = self._mask(search.filter), search.vector
            if isinstance(vector, Sparse):
                words = self._cue_words if search.by_cues else self._words
                scores = words.scores(vector, self._used.all)
                mask = mask & (scores > 0)
            else:
                scores = (self._cues if search.by_cues else self._dense).scores(vector, len(mask))
                mask = mask & (scores > -math.inf)
            rows = np.flatnonzero(mask)
            if len(rows) > search.limit:
                rows = rows[np.argpartition(scores[rows], -search.limit)[-search.limit :]]
            best = rows[np.argsort(-scores[rows], kind="stable")]
            return [(self._ids[row], float(scores[row])) for row in best]

    def _drop(self, id: str) -> None:
        self._masks.clear()
        row = self._rows.pop(id, None)
        if row is not None:
            self._used.all[row] = False
            self._dense.clear(row)
            self._cues.clear(row)

    def _knows(self, condition: Condition) -> bool:
        match condition:
            case AnyOf(conditions):
                return all(map(self._knows, conditions))
            case Between(key):
                return key in self._ordered
        return condition.key in self._equal

    def _mask(self, filter: Filter) -> Mask:
        mask = self._used.all.copy()
        for one in filter.must:
            mask &= self._meets(one)
        for one in filter.must_not:
            mask &= ~self._meets(one)
        return mask

    def _meets(self, condition: Condition) -> Mask:
        """Return the rows that meet a condition; those in use only, or also others."""
        if isinstance(condition, Between):
            return self._are_between(condition)
        if condition not in self._masks:
            self._masks[condition] = self._find(condition)
        return self._masks[condition]

    def _are_between(self, condition: Between) -> Mask:
        numbers = self._ordered[condition.key].all
        low, high = _number(condition.low), _number(condition.high)
        mask: Mask = ~np.isnan(numbers)
        if not math.isnan(low):
            mask &= numbers >= low
        if not math.isnan(high):
            mask &= numbers < high
        return mask

    def _find(self, condition: Condition) -> Mask:
        mask = np.zeros(len(self._ids), np.bool_)
        match condition:
            case Is(key, value):
                self._mark(mask, key, (value,))
            case OneOf(key, values):
                self._mark(mask, key, values)
            case Missing(key):
                self._mark(mask, key, self._equal[key])
                return ~mask
            case AnyOf(conditions):
                for one in conditions:
                    mask |= self._meets(one)
        return mask

    def _mark(self, mask: Mask, key: str, values: Iterable[Scalar]) -> None:
        known = self._equal[key]
        for value in values:
            if value in known:
                mask[np.frombuffer(known[value], np.uint32)] = True


class _Rows:
    """An array that grows: `all` are its elements so far."""

    def __init__(self, type: Any, *shape: int) -> None:
        self._room = np.zeros((0, *shape), type)
        self._size = 0

    @property
    def all(self) -> npt.NDArray[Any]:
        return self._room[: self._size]

    def add(self, more: Any) -> None:
        end = self._size + len(more)
        if end > len(self._room):
            room = np.zeros((8 + end + end // 2, *self._room.shape[1:]), self._room.dtype)
            room[: self._size] = self.all
            self._room = room
        self._room[self._size : end] = more
        self._size = end


class _Vectors:
    """Dense vectors of rows; a row may have several, or none."""

    def __init__(self, dimension: int) -> None:
        self._vectors = _Rows(np.float32, dimension)
        self._of = _Rows(np.uint32)
        """The row of each vector."""

    def add(self, row: int, vectors: Iterable[tuple[float, ...]]) -> None:
        for vector in vectors:
            self._vectors.add([vector])
            self._of.add([row])

    def clear(self, row: int) -> None:
        self._vectors.all[self._of.all == row] = 0.0

    def scores(self, vector: tuple[float, ...], rows: int) -> Numbers:
        """Return the cosine of the nearest vector of each row; minus infinity without vectors."""
        best = np.full(rows, -math.inf, np.float32)
        # Not `@`: the threads of BLAS spin for a while, on a processor that others need.
        near = np.vecdot(self._vectors.all, np.array(vector, np.float32))
        np.maximum.at(best, self._of.all, near)
        return best


class _Words:
    """The terms of rows, with their weights."""

    def __init__(self) -> None:
        self._terms: dict[int, tuple[array[int], array[float]]] = {}
        self._told = _row_numbers()
        """The rows that have terms."""

    def add(self, row: int, words: Sparse | None) -> None:
        if words is None or not words.indices:
            return
        self._told.append(row)
        for term, weight in zip(words.indices, words.values, strict=True):
            rows, weights = self._terms.setdefault(term, (_row_numbers(), array("f")))
            rows.append(row)
            weights.append(weight)

    def scores(self, words: Sparse, used: Mask) -> Numbers:
        """Return the sum of products of each row, with the rarity of terms as Qdrant counts it.

        https://qdrant.tech/documentation/concepts/indexing/#idf-modifier
        """
        scores = np.zeros(len(used), np.float32)
        told = int(np.count_nonzero(used[np.frombuffer(self._told, np.uint32)]))
        for term, weight in zip(words.indices, words.values, strict=True):
            if term not in self._terms:
                continue
            rows, weights = (np.frombuffer(one, one.typecode) for one in self._terms[term])
            now = used[rows]
            having = int(np.count_nonzero(now))
            rarity = math.log1p((told - having + 0.5) / (having + 0.5))
            scores[rows[now]] += weight * rarity * weights[now]
        return scores


def _row_numbers() -> "array[int]":
    return array("I")


def _number(value: object) -> float:
    """Return a number or a time as a number; NaN for anything else."""
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value)
        except ValueError:
            return math.nan
    if isinstance(value, datetime):
        return value.timestamp()
    return float(value) if isinstance(value, int | float) else math.nan
