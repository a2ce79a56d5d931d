"""The fields by which records are looked up, and their indexes.

Each index costs nine files, and time at each opening. Therefore all fields that are only compared
for equality share one index: the list `labels`, with an element like "kind:fact" for each value.
"""

from collections.abc import Iterable, Mapping
from typing import Any

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
"""Fields whose values become labels of a record."""
LOOKED_UP = frozenset({"turn", "segment", "entry", "draft", "item"})
"""Types of journal records that have labels. Memories have labels but no type."""
LOOKUP_FIELDS = frozenset({"labels", "gone"})
"""Fields that are stored only for lookups and are not part of the record."""
UNCHANGED = "unchanged"
"""The label of a ledger entry that changed no memory."""

INDEXES: dict[str, dict[str, IndexType]] = {
    "memories": {
        "user_id": "tenant",
        "sphere": "keyword",
        "state": "keyword",
        "labels": "keyword",
        "importance": "float",
        "due_at": "datetime",
        "created_at": "datetime",
        "updated_at": "datetime",
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
"""The indexes of each collection of a store, for every engine."""
SERVER_INDEXES: dict[str, dict[str, IndexType]] = {
    "memories": {"revision": "integer", "due_for": "keyword"},
    "journal": {"place": "integer", "hidden": "bool", "verdict_id": "keyword"},
}
"""Additional indexes on a server, as a server in strict mode refuses filters without an index.

Other engines do not need them: the other conditions of these queries select few records.
"""


def label(field: str, value: object) -> str:
    """Return the label for a field and its value.

    >>> label("kind", "fact")
    'kind:fact'
    """
    return f"{field}:{value}"


def has(field: str, value: str) -> Is:
    """Return the condition that a field equals a value, or is a list that contains the value."""
    return Is("labels", label(field, value))


def has_any(field: str, values: Iterable[str]) -> OneOf:
    """Return the condition that a field equals or contains one of the values."""
    return OneOf("labels", tuple(label(field, value) for value in values))


def lookup_fields(record: Mapping[str, object]) -> Payload:
    """Return the additional fields by which a record is looked up.

    These fields are `labels`, the flag `gone` (the words are hidden or expired), and the `state`
    of a ledger entry: `waits` for consent, or `doubt` if it hides records that nobody has judged.

    >>> lookup_fields({"type": "turn", "session_id": "s", "hidden": True, "expunged": False})
    {'labels': ['session_id:s'], 'gone': True}
    >>> lookup_fields({"type": "entry", "turn_ids": ["t"], "memory_ids": [], "waits": True})
    {'labels': ['turn_ids:t', 'unchanged'], 'state': 'waits'}
    >>> doubtful = {"resting": {"doubtful": [{"id": "m", "text": "a"}]}}
    >>> lookup_fields({"type": "entry", "memory_ids": ["m"], "details": doubtful})
    {'labels': ['memory_ids:m'], 'state': 'doubt'}
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
        fields["state"] = "waits" if record.get("waits") else "doubt" if _in_doubt(record) else ""
    return fields


def _in_doubt(entry: Mapping[str, Any]) -> bool:
    """Return whether an entry in force hides doubtful lines, see `forgetting.request.doubts_of`."""
    resting = (entry.get("details") or {}).get("resting") or {}
    return bool(resting.get("doubtful")) and not (entry.get("refused") or entry.get("undone_by"))


def _values(value: object) -> Iterable[object]:
    if isinstance(value, list | tuple):
        return value
    return (value,) if value else ()
