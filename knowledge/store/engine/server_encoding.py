"""Conversion of points, filters and queries to the types of qdrant-client."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from qdrant_client import models

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
    Search,
    Sparse,
)
from souffleur.knowledge.store.engine.vectors import CUE_WORDS, CUES, DENSE, LEXICAL, vector_name

SCHEMAS: dict[IndexType, models.PayloadSchemaType] = {
    "keyword": models.PayloadSchemaType.KEYWORD,
    "tenant": models.PayloadSchemaType.KEYWORD,
    "integer": models.PayloadSchemaType.INTEGER,
    "float": models.PayloadSchemaType.FLOAT,
    "datetime": models.PayloadSchemaType.DATETIME,
    "bool": models.PayloadSchemaType.BOOL,
}


_NEAREST = models.MultiVectorConfig(comparator=models.MultiVectorComparator.MAX_SIM)
"""The score of a point is the score of the cue that is nearest to the query."""


def encode_dense(schema: CollectionSchema) -> dict[str, models.VectorParams]:
    """Return the parameters of the dense vectors of a new collection, by name."""
    size, cosine = schema.dimension, models.Distance.COSINE
    vectors = {DENSE: models.VectorParams(size=size, distance=cosine)}
    if schema.cues:
        vectors[CUES] = models.VectorParams(size=size, distance=cosine, multivector_config=_NEAREST)
    return vectors


def encode_words(schema: CollectionSchema) -> dict[str, models.SparseVectorParams]:
    """Return the parameters of the sparse vectors of a new collection, by name."""
    names = (LEXICAL, CUE_WORDS) if schema.cues else (LEXICAL,)
    return {name: models.SparseVectorParams(modifier=models.Modifier.IDF) for name in names}


def encode_named(schema: CollectionSchema) -> dict[str, models.DenseVectorNameConfig]:
    """Return the parameters of dense vectors for a collection that has lost them, by name."""
    size, cosine = schema.dimension, models.Distance.COSINE
    named = {DENSE: models.DenseVectorConfig(size=size, distance=cosine)}
    if schema.cues:
        named[CUES] = models.DenseVectorConfig(
            size=size, distance=cosine, multivector_config=_NEAREST
        )
    return {name: models.DenseVectorNameConfig(dense=one) for name, one in named.items()}


def encode_index(kind: IndexType) -> models.PayloadSchemaType | models.KeywordIndexParams:
    """Return the index of a payload field. A server stores the points of a tenant together."""
    if kind == "tenant":
        return models.KeywordIndexParams(type=models.KeywordIndexType.KEYWORD, is_tenant=True)
    return SCHEMAS[kind]


def encode_swap(revisions: Mapping[str, int | None]) -> models.Filter:
    """Return the filter of the stored points to replace; see `Collection.swap_now`."""

    def one(id: str, revision: int | None) -> models.Filter:
        must: list[models.Condition] = [models.HasIdCondition(has_id=[id])]
        if revision is not None:
            is_it = encode_condition(Is("revision", revision))
            has_none = encode_condition(Missing("revision"))
            must.append(models.Filter(should=[is_it] if revision else [is_it, has_none]))
        return models.Filter(must=must)

    return models.Filter(should=[one(id, revision) for id, revision in revisions.items()])


def encode_point(point: Point) -> models.PointStruct:
    """Return the client's point."""
    return models.PointStruct(id=point.id, vector=encode_vectors(point), payload=point.payload)


def encode_vectors(point: Point) -> dict[str, models.Vector]:
    """Return the vectors of a point by name."""
    vectors: dict[str, models.Vector] = {}
    if point.dense is not None:
        vectors[DENSE] = list(point.dense)
    if point.lexical is not None:
        vectors[LEXICAL] = encode_sparse(point.lexical)
    if point.cues:
        vectors[CUES] = [list(cue) for cue in point.cues]
    if point.cue_words is not None:
        vectors[CUE_WORDS] = encode_sparse(point.cue_words)
    return vectors


def encode_sparse(sparse: Sparse) -> models.SparseVector:
    """Return the client's sparse vector."""
    return models.SparseVector(indices=list(sparse.indices), values=list(sparse.values))


def encode_vector(search: Search) -> models.SparseVector | list[float] | list[list[float]]:
    """Return the vector of a query. For cues it is a list of vectors, as local mode requires."""
    if isinstance(search.vector, Sparse):
        return encode_sparse(search.vector)
    return [list(search.vector)] if search.by_cues else list(search.vector)


def encode_query(query: Search | Listing) -> models.QueryRequest:
    """Return the client's query."""
    return encode_search(query) if isinstance(query, Search) else encode_listing(query)


def encode_listing(listing: Listing) -> models.QueryRequest:
    """Return the client's query without a vector."""
    order = listing.order
    return models.QueryRequest(
        query=models.OrderByQuery(order_by=encode_order(order)) if order else None,
        filter=encode_filter(listing.filter),
        limit=listing.limit,
        with_payload=encode_fields(listing.fields),
    )


def encode_fields(fields: Sequence[str] | None) -> bool | list[str]:
    """Return the client's selection of payload fields; `None` means all fields."""
    return True if fields is None else list(fields) or False


def encode_search(search: Search) -> models.QueryRequest:
    """Return the client's nearest-neighbour query."""
    within = search.idf_within
    idf = models.IdfCorpusParams(corpus=encode_filter(within)) if within else None
    return models.QueryRequest(
        query=encode_vector(search),
        using=vector_name(search),
        filter=encode_filter(search.filter),
        limit=search.limit,
        with_payload=encode_fields(search.fields),
        params=models.SearchParams(idf=idf),
    )


def encode_order(order: Order) -> models.OrderBy:
    """Return the client's order."""
    direction = models.Direction.DESC if order.descending else models.Direction.ASC
    return models.OrderBy(key=order.key, direction=direction)


def encode_filter(filter: Filter) -> models.Filter:
    """Return the client's filter."""
    return models.Filter(
        must=[encode_condition(condition) for condition in filter.must],
        must_not=[encode_condition(condition) for condition in filter.must_not],
    )


def encode_condition(condition: Condition) -> models.Condition:
    """Return the client's condition."""
    match condition:
        case Is(key, value):
            return models.FieldCondition(key=key, match=models.MatchValue(value=value))
        case OneOf(key, values):
            return models.FieldCondition(key=key, match=models.MatchAny(any=list(values)))
        case Between(key, None, None):
            return models.FieldCondition(key=key, is_empty=False)
        case Between(key, low, high):
            return models.FieldCondition(key=key, range=encode_range(low, high))
        case Missing(key):
            return models.FieldCondition(key=key, is_empty=True)
        case AnyOf(()):
            # The server treats `should` and `min_should` without conditions as no filter.
            return models.HasIdCondition(has_id=[])
        case AnyOf(conditions):
            encoded = [encode_condition(condition) for condition in conditions]
            return models.Filter(min_should=models.MinShould(conditions=encoded, min_count=1))


def encode_range(
    low: float | datetime | None, high: float | datetime | None
) -> models.RangeInterface:
    """Return the client's half-open range."""
    if isinstance(low, datetime) or isinstance(high, datetime):
        return models.DatetimeRange(gte=low, lt=high)
    return models.Range(gte=low, lt=high)
