"""The fields by which records are looked up, and their indexes.

Each index costs nine files, and time at each opening. So values that are only compared for equality
share one index: the list `labels`, with an element such as "kind:fact" for each of them.
"""

from collections.abc import Iterable, Mapping

from souffleur.knowledge.store.engine.collection import IndexType, Is, OneOf, Payload

LABELLED = (
    "agent_id",
    "category",
    "entities",
    "fingerprint",
    "folders",
    "kind",
    "memory_ids",
    "session_id",
    "turn_ids",
)
"""Fields whose values are among the labels of a record."""
LOOKED_UP = frozenset({"turn", "segment", "entry", "draft", "item"})
"""Types of records in the journal that have labels; memories have labels and no type."""
LOOKUP_FIELDS = frozenset({"labels", "gone"})
"""Fields that are no part of a record itself."""
UNCHANGED = "unchanged"
"""The label of an entry of the ledger that changed no memory."""

INDEXES: dict[str, dict[str, IndexType]] = {
    "memories": {
        "user_id": "tenant",
        "sphere": "keyword",
        "state": "keyword",
        "labels": "keyword",
        "importance": "float",
        "due_at": "datetime",
        "created_at": "datetime",
        "valid_from": "datetime",
        "valid_until": "datetime",
        "expires_at": "datetime",
    },
    "journal": {
        "user_id": "tenant",
        "sphere": "keyword",
        "type": "keyword",
        "state": "keyword",
        "labels": "keyword",
        "seq": "integer",
        "at": "datetime",
        "applied": "bool",
        "embedded": "bool",
        "gone": "bool",
    },
}
"""All collections of a store, each with the indexes that every engine needs."""
SERVER_INDEXES: dict[str, dict[str, IndexType]] = {
    "memories": {"revision": "integer", "due_for": "keyword"},
    "journal": {"place": "integer", "hidden": "bool", "verdict_id": "keyword"},
}
"""Indexes of fields that are asked for beside others which leave few records.

A server in strict mode refuses to filter by a field without an index.
"""


def label(field: str, value: object) -> str:
    """Return the label of a value of a field.

    >>> label("kind", "fact")
    'kind:fact'
    """
    return f"{field}:{value}"


def has(field: str, value: str) -> Is:
    """Return the condition that a field equals a value, or is a list that contains it."""
    return Is("labels", label(field, value))


def has_any(field: str, values: Iterable[str]) -> OneOf:
    """Return the condition that a field equals or contains one of the values."""
    return OneOf("labels", tuple(label(field, value) for value in values))


def lookup_fields(record: Mapping[str, object]) -> Payload:
    """Return the fields by which a record is looked up, besides its own.

    These are `labels`, `gone` for a record whose words are hidden or expired, and the `state` of
    an entry of the ledger.

    >>> lookup_fields({"type": "turn", "session_id": "s", "hidden": True, "expunged": False})
    {'labels': ['session_id:s'], 'gone': True}
    >>> lookup_fields({"type": "entry", "turn_ids": ["t"], "memory_ids": [], "waits": True})
    {'labels': ['turn_ids:t', 'unchanged'], 'state': 'waits'}
    >>> lookup_fields({"type": "session", "session_id": "s"})
    {}
    """
    type = record.get("type")
    if type is not None and type not in LOOKED_UP:
        return {}
    fields: Payload = {
        "labels": [label(name, one) for name in LABELLED for one in _values(record.get(name))]
    }
    if "expunged" in record:
        fields["gone"] = bool(record.get("hidden") or record["expunged"])
    if type in {"entry", "draft"}:
        fields["labels"] += () if record.get("memory_ids") else (UNCHANGED,)
        fields["state"] = "waits" if record.get("waits") else ""
    return fields


def _values(value: object) -> Iterable[object]:
    if isinstance(value, list | tuple):
        return value
    return (value,) if value else ()
