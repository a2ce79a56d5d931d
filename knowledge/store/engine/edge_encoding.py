"""Conversion of points, filters and queries to the types of Qdrant Edge."""

from collections.abc import Callable, Collection, Sequence
from datetime import datetime
from functools import lru_cache

import numpy as np
import qdrant_edge as qdrant

from souffleur.knowledge.store.engine.collection import (
    AnyOf,
    Between,
    CollectionSchema,
    Condition,
    Filter,
    IndexType,
    Is,
    Listing,
    Missing,
    OneOf,
    Order,
    Point,
    Scalar,
    Search,
    Sparse,
)
from souffleur.knowledge.store.engine.vectors import CUE_WORDS, CUES, DENSE, LEXICAL, vector_name

NEVER = 10**9
"""Segment size in KB from which the engine builds an index graph. No segment is that large, so a
search compares all vectors."""
CANDIDATES = 160
"""Minimum number of points that a dense search selects by codes and then compares by vectors."""
SEARCH_THREADS = 1
"""Number of engine threads that read a collection. The engine reads segments in parallel, and a
collection has one segment: more threads would only delay the event loop."""
OVERSAMPLING = 4.0
"""A dense search selects this many times its limit by codes, if that exceeds `CANDIDATES`."""

SCHEMAS: dict[IndexType, qdrant.PayloadSchemaType] = {
    "keyword": qdrant.PayloadSchemaType.Keyword,
    "tenant": qdrant.PayloadSchemaType.Keyword,
    "integer": qdrant.PayloadSchemaType.Integer,
    "float": qdrant.PayloadSchemaType.Float,
    "datetime": qdrant.PayloadSchemaType.Datetime,
    "bool": qdrant.PayloadSchemaType.Bool,
}

INDEXES: dict[IndexType, qdrant.KeywordIndexParams | qdrant.IntegerIndexParams] = {
    "tenant": qdrant.KeywordIndexParams(is_tenant=True),
    "integer": qdrant.IntegerIndexParams(lookup=False, range=True),
}
"""Indexes with special parameters. Integer fields hold sequence numbers, and queries filter them by
range only; without the lookup index, a turn takes a tenth less of the engine's memory."""

NEAREST = qdrant.MultiVectorConfig(qdrant.MultiVectorComparator.MaxSim)
"""The score of a point is the score of the cue that is nearest to the query."""
CODES = qdrant.TurboQuantQuantizationConfig(bits=qdrant.TurboQuantBitSize.Bits4)
"""Codes of dense vectors, an eighth of their size, also in segments that are open for writes. The
error of their cosines is about 0.01, so the best points are compared again by their vectors."""

COLD = qdrant.Memory.Cold
"""The engine reads files on demand. Otherwise, opening would read their whole reserved size."""


def encode_config(
    schema: CollectionSchema, stored: Collection[str] | None = None
) -> qdrant.EdgeConfig:
    """Return the engine's configuration. It needs the log, as only the log locks the folder.

    `stored` names the vectors of an existing collection; `None` means a new collection.
    """
    dense = {}
    if stored is None or DENSE in stored:
        dense[DENSE] = qdrant.EdgeVectorParams(
            schema.dimension, qdrant.Distance.Cosine, quantization_config=CODES, memory=COLD
        )
    sparse = {LEXICAL: qdrant.EdgeSparseVectorParams(modifier=qdrant.Modifier.Idf, memory=COLD)}
    if schema.cues and (stored is None or CUES in stored):
        dense[CUES] = qdrant.EdgeVectorParams(
            schema.dimension, qdrant.Distance.Cosine, multivector_config=NEAREST, memory=COLD
        )
    if schema.cues and (stored is None or CUE_WORDS in stored):
        sparse[CUE_WORDS] = qdrant.EdgeSparseVectorParams(modifier=qdrant.Modifier.Idf, memory=COLD)
    return qdrant.EdgeConfig(
        vectors=dense,
        sparse_vectors=sparse,
        optimizers=qdrant.EdgeOptimizersConfig(indexing_threshold=NEVER),
        max_search_threads=SEARCH_THREADS,
        wal_enabled=True,
        payload_memory=COLD,
    )


def encode_index(key: str, kind: IndexType) -> qdrant.UpdateOperation:
    """Return the operation that indexes a payload field."""
    return qdrant.UpdateOperation.create_field_index(key, INDEXES.get(kind) or SCHEMAS[kind])


def encode_upsert(points: Sequence[Point]) -> qdrant.UpdateOperation:
    """Return the operation that inserts or replaces points."""
    return qdrant.UpdateOperation.upsert_points([encode_point(point) for point in points])


def encode_vectors(points: Sequence[Point]) -> qdrant.UpdateOperation:
    """Return the operation that sets the vectors of points."""
    return qdrant.UpdateOperation.update_vectors(
        [qdrant.PointVectors(point.id, _named_vectors(point)) for point in points]
    )


def encode_point(point: Point) -> qdrant.Point:
    """Return the engine's point."""
    return qdrant.Point(point.id, _named_vectors(point), point.payload)


def _named_vectors(point: Point) -> dict[str, "qdrant.NamedVector"]:
    vectors: dict[str, qdrant.NamedVector] = {}
    if point.dense is not None:
        vectors[DENSE] = list(point.dense)
    if point.lexical is not None:
        vectors[LEXICAL] = encode_sparse(point.lexical)
    if point.cues:
        vectors[CUES] = [list(cue) for cue in point.cues]
    if point.cue_words is not None:
        vectors[CUE_WORDS] = encode_sparse(point.cue_words)
    return vectors


def encode_sparse(sparse: Sparse) -> qdrant.SparseVector:
    """Return the engine's sparse vector."""
    return qdrant.SparseVector(list(sparse.indices), list(sparse.values))


def encode_searches(searches: Sequence[Search]) -> list[qdrant.QueryRequest]:
    """Return the engine's queries; a filter that several queries share is encoded once."""
    filters: dict[int, qdrant.Filter] = {}

    def encode(filter: Filter) -> qdrant.Filter:
        if id(filter) not in filters:
            filters[id(filter)] = encode_filter(filter)
        return filters[id(filter)]

    return [_encode_search(search, encode) for search in searches]


def _encode_search(
    search: Search, encode: Callable[[Filter], qdrant.Filter]
) -> qdrant.QueryRequest:
    vector = search.vector
    wanted = encode_sparse(vector) if isinstance(vector, Sparse) else list(vector)
    query = qdrant.Query.Nearest(wanted, using=vector_name(search))
    within = search.idf_within
    idf = qdrant.IdfParams(corpus=encode(within)) if within else None
    return qdrant.QueryRequest(
        limit=search.limit,
        query=query,
        with_payload=encode_fields(search.fields),
        filter=encode(search.filter),
        params=qdrant.SearchParams(idf=idf, quantization=_encode_precision(search)),
    )


def _encode_precision(search: Search) -> qdrant.QuantizationSearchParams | None:
    """Return the engine's parameters of a dense search by codes; `None` for a sparse search."""
    if isinstance(search.vector, Sparse):
        return None
    oversampling = max(OVERSAMPLING, CANDIDATES / search.limit)
    return qdrant.QuantizationSearchParams(rescore=True, oversampling=oversampling)


def encode_listing(
    listing: Listing, *, after: str | None = None, vectors: bool = False
) -> qdrant.ScrollRequest:
    """Return the engine's query without a vector; its results start at the id `after`."""
    return qdrant.ScrollRequest(
        offset=after,
        limit=listing.limit,
        filter=encode_filter(listing.filter),
        with_payload=encode_fields(listing.fields),
        with_vector=vectors,
        order_by=encode_order(listing.order) if listing.order else None,
    )


def encode_fields(fields: Sequence[str] | None) -> bool | list[str]:
    """Return the engine's selection of payload fields; `None` means all fields."""
    return True if fields is None else list(fields) or False


def encode_order(order: Order) -> qdrant.OrderBy:
    """Return the engine's order."""
    direction = qdrant.Direction.Desc if order.descending else qdrant.Direction.Asc
    return qdrant.OrderBy(order.key, direction)


def encode_filter(filter: Filter) -> qdrant.Filter:
    """Return the engine's filter."""
    return qdrant.Filter(
        must=[_encode_often(condition) for condition in filter.must],
        must_not=[_encode_often(condition) for condition in filter.must_not],
    )


def _encode_often(condition: Condition) -> "qdrant.ConditionType":
    """Return the engine's condition; conditions that many queries share are encoded once."""
    match condition:
        case AnyOf() | OneOf() | Is(_, str()):  # as cache keys, True and 1 would be equal
            return _encode_once(condition)
    return encode_condition(condition)


def encode_condition(condition: Condition) -> "qdrant.ConditionType":
    """Return the engine's condition."""
    match condition:
        case Is(key, value):
            return qdrant.FieldCondition(key, match=encode_value(value))
        case OneOf(key, values):
            return qdrant.FieldCondition(key, match=qdrant.MatchAny(list(values)))
        case Between(key, None, None):
            return qdrant.FieldCondition(key, is_empty=False)
        case Between(key, low, high):
            return qdrant.FieldCondition(key, range=encode_range(low, high))
        case Missing(key):
            return qdrant.FieldCondition(key, is_empty=True)
        case AnyOf(conditions):
            # Without conditions, `should` would match everything, and `min_should` nothing.
            encoded = [encode_condition(condition) for condition in conditions]
            return qdrant.Filter(min_should=qdrant.MinShould(encoded, 1))


_encode_once = lru_cache(maxsize=1024)(encode_condition)


def encode_value(value: Scalar) -> qdrant.MatchValue:
    """Return the engine's equality test. The binding reads `True` as 1, but NumPy's as a bool."""
    if isinstance(value, bool):
        return qdrant.MatchValue(np.bool_(value))  # type: ignore[arg-type]
    return qdrant.MatchValue(value)


def encode_range(low: float | datetime | None, high: float | datetime | None) -> "qdrant.RangeType":
    """Return the engine's half-open range."""
    if isinstance(low, datetime) or isinstance(high, datetime):
        return qdrant.RangeDateTime(gte=encode_time(low), lt=encode_time(high))
    return qdrant.RangeFloat(gte=low, lt=high)


def encode_time(bound: float | datetime | None) -> str | None:
    """Return a datetime in ISO 8601 with its offset; the engine compares instants."""
    return bound.isoformat() if isinstance(bound, datetime) else None
