"""Functions for both engines: the vectors of points, their dimension, and reading points back."""

from collections.abc import Iterable, Iterator
from typing import Any, Protocol

from souffleur.errors import StoreMismatchError
from souffleur.knowledge.store.engine.collection import CollectionSchema, Point, Search, Sparse
from souffleur.knowledge.store.engine.points import bare
from souffleur.knowledge.text.plain import single_line

DENSE = "dense"
LEXICAL = "lexical"
CUES = "cues"
CUE_WORDS = "cue_words"


class Record(Protocol):
    """A point in the form of either engine."""

    @property
    def id(self) -> Any:
        """The id of the point."""
        ...

    @property
    def payload(self) -> dict[str, Any] | None:
        """The payload, if the query requested it."""
        ...

    @property
    def vector(self) -> Any:
        """The vectors by name, if the query requested them."""
        ...


def to_point(record: Record) -> Point:
    """Return the point of a record. Its vectors have the stored precision."""
    vectors = record.vector
    if not vectors:
        return bare(str(record.id), record.payload or {})
    dense = vectors.get(DENSE)
    return Point(
        id=str(record.id),
        payload=record.payload or {},
        dense=None if dense is None else tuple(dense),
        lexical=_to_sparse(vectors.get(LEXICAL)),
        cues=tuple(map(tuple, vectors.get(CUES) or ())),
        cue_words=_to_sparse(vectors.get(CUE_WORDS)),
    )


def vector_name(search: Search) -> str:
    """Return the name of the vectors that a search compares.

    >>> from souffleur.knowledge.store.engine.collection import Filter
    >>> vector_name(Search(Sparse(), Filter(), by_cues=True))
    'cue_words'
    """
    if isinstance(search.vector, Sparse):
        return CUE_WORDS if search.by_cues else LEXICAL
    return CUES if search.by_cues else DENSE


def dense_vectors(points: Iterable[Point]) -> Iterator[tuple[float, ...]]:
    """Yield all dense vectors of points, including the vectors of cues."""
    for point in points:
        yield from (point.dense,) if point.dense is not None else ()
        yield from point.cues


def check_stored(schema: CollectionSchema, stored: int, location: str) -> None:
    """Raise StoreMismatchError unless the stored dimension is the schema's.

    >>> check_stored(CollectionSchema("memories", 384), 384, "/data")
    """
    if stored != schema.dimension:
        raise StoreMismatchError(
            f"The collection '{schema.name}' at '{location}' holds vectors of {stored} dimensions, "
            f"and the embedder makes {schema.dimension}: set SOUFFLEUR_EMBEDDER to the embedder "
            "the store was made with, or embed it anew with `souffleur store reembed`."
        )


def check_given(
    schema: CollectionSchema, vectors: Iterable[tuple[float, ...] | Sparse | None]
) -> None:
    """Raise StoreMismatchError unless all dense vectors have the schema's dimension.

    >>> check_given(CollectionSchema("memories", 2), [(0.6, 0.8), None])
    """
    for vector in vectors:
        if isinstance(vector, tuple) and len(vector) != schema.dimension:
            raise StoreMismatchError(
                f"The collection '{schema.name}' takes vectors of {schema.dimension} dimensions "
                f"and was given one of {len(vector)}: set SOUFFLEUR_EMBEDDER to the embedder the "
                "store was made with."
            )


def _to_sparse(vector: Any) -> Sparse | None:
    return None if vector is None else Sparse(tuple(vector.indices), tuple(vector.values))


def writing(point: Point) -> tuple[Any, Any]:
    """Return the revision and the writer of a point; together they identify a write."""
    return point.payload.get("revision"), point.payload.get("written_by")


def one_line(error: BaseException) -> str:
    r"""Return the text of an engine's error on one line, of limited length.

    >>> one_line(ValueError("no such\n  point"))
    'no such point'
    """
    return single_line(str(error) or repr(error))[:300]
