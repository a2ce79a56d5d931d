"""How a memory is stored in Qdrant: its point, its payload and the indexes over it."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence

from souffleur.knowledge.engine.collection import IndexType, Point
from souffleur.knowledge.language.lexical import encode_document
from souffleur.knowledge.language.text_match import normalize_text
from souffleur.knowledge.memory import Memory
from souffleur.knowledge.reading import read, read_each

INDEXES: dict[str, IndexType] = {
    "user_id": "tenant",
    "agent_id": "keyword",
    "sphere": "keyword",
    "state": "keyword",
    "category": "keyword",
    "kind": "keyword",
    "fingerprint": "keyword",
    "entities": "keyword",
    "importance": "float",
    "revision": "integer",
    "due_for": "keyword",
    "due_at": "datetime",
    "created_at": "datetime",
    "valid_from": "datetime",
    "valid_until": "datetime",
    "expires_at": "datetime",
}

Vector = tuple[float, ...]

_DERIVED = frozenset({"fingerprint"})


def fingerprint(text: str) -> str:
    """Return a hash that ignores differences in width, case, spacing and punctuation."""
    return hashlib.sha256(normalize_text(text).encode()).hexdigest()[:32]


def to_point(memory: Memory, dense: Vector, cues: Sequence[Vector] = ()) -> Point:
    """Return the point of a memory; `dense` embeds its `searchable` text, `cues` its cues."""
    payload = memory.model_dump(mode="json")
    payload["fingerprint"] = fingerprint(memory.content)
    return Point(
        memory.id,
        payload,
        dense,
        encode_document(memory.searchable),
        cues=tuple(cues),
        cue_words=encode_document("\n".join(memory.cues)) if memory.cues else None,
    )


def embedded_point(memory: Memory, vectors: Mapping[str, Vector]) -> Point:
    """Return the point of a memory; `vectors` has the embedding of each of its `embedded` texts."""
    dense, *cues = (vectors[text] for text in memory.embedded)
    return to_point(memory, dense, cues)


def to_memory(point: Point) -> Memory:
    """Return the memory of a point. Raises UnreadableError."""
    return read(point, Memory, derived=_DERIVED)


def to_memories(points: Iterable[Point]) -> list[Memory]:
    """Return the memories of the points; those that cannot be read are logged and left out."""
    return read_each(points, to_memory)
