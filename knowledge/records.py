"""How a memory lies in Qdrant: its point, its payload and the indexes over it."""

import hashlib

from souffleur.knowledge.collection import IndexType, Point
from souffleur.knowledge.lexical import encode_document
from souffleur.knowledge.memory import Memory
from souffleur.knowledge.wording import fold

INDEXES: dict[str, IndexType] = {
    "user_id": "tenant",
    "agent_id": "keyword",
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
    """Equal for texts that say the same but for width, case, spacing and punctuation."""
    return hashlib.sha256(fold(text).encode()).hexdigest()[:32]


def to_point(memory: Memory, dense: tuple[float, ...]) -> Point:
    """The point of a memory; `dense` is the embedding of its `searchable` text."""
    payload = memory.model_dump(mode="json")
    payload["fingerprint"] = fingerprint(memory.content)
    return Point(memory.id, payload, dense, encode_document(memory.searchable))


def to_memory(point: Point) -> Memory:
    """The memory of a point."""
    return Memory.model_validate({k: v for k, v in point.payload.items() if k not in _DERIVED})
