"""Arguments of methods as they are sent: checked as Souffleur checks them, and plain."""

import uuid
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Any

from souffleur.errors import MessageError, NotFoundError
from souffleur.knowledge.identity import check_id
from souffleur.knowledge.memory import Category, Kind, MemoryState
from souffleur.knowledge.operation import Importance, is_id
from souffleur.knowledge.search.memories import Scope
from souffleur.lookup import check_limit, pick
from souffleur.messages import Messages, read_messages
from souffleur.service.intake import words
from souffleur.service.run import RunOptions

MAX_PAGE = 500
"""Memories asked for at a time."""
_ENUMS: dict[str, type[StrEnum]] = {
    "kind": Kind,
    "category": Category,
    "state": MemoryState,
    "importance": Importance,
}
_WHO = ("user_id", "session_id", "agent_id")
_TEXTS = ("text", "query", "content", "topic")
_IDS = ("memory_id", "entry_id", "id")


def checked(given: dict[str, Any], optional: Sequence[str] = ("agent_id",)) -> dict[str, Any]:
    """Return the arguments of a method. Raises what Souffleur raises for invalid ones.

    >>> checked({"user_id": "ann", "limit": 3, "state": None})
    {'user_id': 'ann', 'limit': 3, 'state': None}
    """
    sent = dict(given)
    for name, value in given.items():
        if name in _WHO and not (value is None and name in optional):
            check_id(value, name)
        elif name in _IDS and not is_id(value):
            raise NotFoundError(f"there is nothing with the id {value!r}")
        elif name in _TEXTS and not isinstance(value, str):
            raise MessageError(f"{name} must be a text, not {type(value).__name__}")
        elif name in _ENUMS and value is not None:
            sent[name] = pick(value, _ENUMS[name], name)
        elif name == "limit":
            check_limit(value)
        elif name == "scope":
            scopes = [value] if isinstance(value, str) else value
            sent[name] = [pick(one, Scope, "scope") for one in scopes]
    return sent


def of_recall(given: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of `recall`, with the text of its message."""
    return checked({**given, "text": words(given["text"], "text")})


def of_observe(given: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of `observe`, with the texts of its messages and plain ids."""
    whisper = given["whisper"]
    ids = getattr(whisper, "judgeable_ids", whisper)
    said = {name: words(given[name], name) for name in ("user", "assistant")}
    rewound = given["rewound"]
    back = [rewound] if isinstance(rewound, str) else list(rewound)
    whispered = None if ids is None else list(ids)
    return checked({**given, **said, "whisper": whispered, "rewound": back})


def with_turn_id(given: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of `observe` with an id, so that sending them twice is one turn."""
    return {**given, "turn_id": given["turn_id"] or uuid.uuid4().hex}


def of_sentence(given: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of `remember` with a sentence."""
    kept = {name: value for name, value in given.items() if name != "what"}
    return checked({**kept, "content": given["what"]})


def of_messages(given: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of `remember` with messages."""
    kept = {name: given[name] for name in ("user_id", "agent_id", "session_id", "at")}
    return checked({**kept, "messages": plain_messages(given["what"])})


def plain_messages(messages: Messages) -> list[dict[str, Any]]:
    """Return messages of which the server makes the same turns. Raises MessageError.

    >>> plain_messages([("user", "hi"), ("assistant", "ho")])
    [{'role': 'user', 'content': 'hi'}, {'role': 'assistant', 'content': 'ho'}]
    """
    return [
        {
            "role": one.role,
            "content": one.text,
            **({"at": one.at} if one.at else {}),
            **({"name": one.name} if one.name else {}),
        }
        for one in read_messages(messages)
    ]


def of_list(given: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of `list` for its first page."""
    sent = checked(given)
    return {**sent, "state": sent["state"] or "any", "limit": MAX_PAGE}


def of_run(given: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of `run`; what its options call is not sent."""
    options: RunOptions | None = given["options"]
    if options is None:
        return {"name": given["name"]}
    limits = options.limits
    return {
        "name": given["name"],
        "of_user": options.user_id,
        "now": options.now,
        "dry_run": options.dry_run,
        "memories": limits.memories,
        "calls": limits.calls,
        "deletions": limits.deletions,
        "parallel": limits.parallel,
    }


def of_anybody(given: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of a method that may be about everybody."""
    return checked(given, optional=("user_id",))


def of_backup(given: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of `backup`, with the file as the server finds it."""
    return {"file": str(Path(given["file"]).absolute())}


def of_export(given: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of `export`, with the file as the server finds it."""
    return {**of_backup(given), "of_user": given["user_id"]}


def of_import(given: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of `import_file`, with the file as the server finds it."""
    named = {"source": given["source"], "dry_run": given["dry_run"]}
    return {**of_export(given), "of_agent": given["agent_id"], **named}


def of_retry(given: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of `retry`."""
    return {"of_user": given["user_id"]}
