"""How a memory is stored in Qdrant: its point, its payload and the indexes over it."""

import hashlib
from collections.abc import Iterable

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
    "topics": "keyword",
    "supersedes": "keyword",
    "importance": "float",
    "revision": "integer",
    "due_for": "keyword",
    "due_at": "datetime",
    "created_at": "datetime",
    "valid_from": "datetime",
    "valid_until": "datetime",
    "expires_at": "datetime",
}

_DERIVED = frozenset({"fingerprint"})


def fingerprint(text: str) -> str:
    """Return a hash that ignores differences in width, case, spacing and punctuation."""
    return hashlib.sha256(normalize_text(text).encode()).hexdigest()[:32]


def to_point(memory: Memory, dense: tuple[float, ...]) -> Point:
    """Return the point of a memory; `dense` is the embedding of its `searchable` text."""
    payload = memory.model_dump(mode="json")
    payload["fingerprint"] = fingerprint(memory.content)
    return Point(memory.id, payload, dense, encode_document(memory.searchable))


def to_memory(point: Point) -> Memory:
    """Return the memory of a point. Raises UnreadableError."""
    return read(point, Memory, derived=_DERIVED)


def to_memories(points: Iterable[Point]) -> list[Memory]:
    """Return the memories of the points; those that cannot be read are logged and left out."""
    return read_each(points, to_memory)
