"""Calls: the request of each method, and the reading of its answer or error. Sends no request."""

import json
import re
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from enum import StrEnum
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx2
from pydantic import TypeAdapter
from pydantic_core import PydanticSerializationError, to_json, to_jsonable_python

from souffleur import errors
from souffleur.agents.model.response import retry_after
from souffleur.errors import InputError, NotFoundError, RemoteError, SouffleurError
from souffleur.knowledge.identity import check_id
from souffleur.knowledge.memory import Category, Kind, MemoryState
from souffleur.knowledge.operation import Importance, LedgerEntry, is_id
from souffleur.knowledge.search.query import Scope
from souffleur.knowledge.store.backup import BackupManifest
from souffleur.knowledge.store.erasing import Erased
from souffleur.knowledge.store.export import Exported
from souffleur.knowledge.store.transfer import Imported
from souffleur.knowledge.text.plain import mend
from souffleur.lookup import check_limit, pick
from souffleur.messages import Messages, read_messages
from souffleur.participants import Cast
from souffleur.recall.compose import Recall
from souffleur.server.table import ROWS, WHO, Answered, Counted, Page, Row, RunAnswer
from souffleur.service.intake import Receipt, words
from souffleur.service.run import RunOptions, RunResult


def named_error(
    kind: str, message: str, *, status: int | None = None, retry_after: float | None = None
) -> SouffleurError:
    """Return the error with a name; a RemoteError if Souffleur has no error with that name.

    >>> named_error("UndoError", "too late"), named_error("RequestError", "no").status
    (UndoError('too late'), None)
    """
    found = getattr(errors, kind, None)
    ours = found if isinstance(found, type) and issubclass(found, SouffleurError) else RemoteError
    if ours is not RemoteError:
        return ours(message)
    return RemoteError(message, status=status, retry_after=retry_after)


def error_of(status: int, headers: Mapping[str, str], content: bytes) -> SouffleurError:
    """Return the error of an answer; the answer may come from any server."""
    try:
        told = json.loads(content)["error"]
        kind, message = str(told["type"]), str(told["message"])
    except (ValueError, KeyError, TypeError):
        kind, message = "", f"the server answered {status}: is it `souffleur serve`?"
    return named_error(kind, message, status=status, retry_after=retry_after(headers))


MAX_PAGE = 500
"""Number of memories in each request for a page."""
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
    """Return the arguments of a method. Raises Souffleur's errors for invalid arguments.

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
            raise InputError(f"{name} must be a text, not {type(value).__name__}")
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
    back = plain_ids(given["rewound"])
    return checked({**given, "text": words(given["text"], "text"), "rewound": back})


def of_observe(given: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of `observe`, with the texts of its messages and plain ids."""
    whisper = given["whisper"]
    ids = getattr(whisper, "judgeable_ids", whisper)
    said = {name: words(given[name], name) for name in ("user", "assistant")}
    whispered = None if ids is None else list(ids)
    back = plain_ids(given["rewound"])
    return checked({**given, **said, "whisper": whispered, "rewound": back})


def plain_ids(ids: str | Sequence[str]) -> list[str]:
    """Return a list of ids, of which a single one may be given alone."""
    return [ids] if isinstance(ids, str) else list(ids)


def with_turn_id(given: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of `observe` with a turn id, so that a repeated request is one turn."""
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
    """Return messages as JSON objects; the server finds the same turns. Raises InputError.

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
    """Return the arguments of `run`; the callables of its options are not sent."""
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
    """Return the arguments of a method whose user is optional."""
    return checked(given, optional=("user_id",))


def of_backup(given: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of `backup`, with the absolute path of the file."""
    return {"file": str(Path(given["file"]).absolute())}


def of_export(given: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of `export`, with the absolute path of the file."""
    return {**of_backup(given), "of_user": given["user_id"]}


def of_import(given: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of `import_file`, with the absolute path of the file."""
    named = {"source": given["source"], "dry_run": given["dry_run"]}
    return {**of_export(given), "of_agent": given["agent_id"], **named}


def of_retry(given: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of `retry`."""
    return {"of_user": given["user_id"]}


Given = Mapping[str, Any]
"""Arguments of a method, by name."""


@dataclass(frozen=True)
class Call:
    """The HTTP call of a method of Souffleur."""

    verb: str
    path: str
    """The path, with the names of arguments in braces."""
    answers: Any
    """The type of the answer."""
    prepare: Callable[[dict[str, Any]], dict[str, Any]] = checked
    """Returns the arguments to send. Raises the error of an invalid argument."""
    result: Callable[[Any, Given], Any] = lambda answer, given: answer
    """Returns the result of the method from the answer and the arguments."""
    failed: Callable[[str, Given], Any] | None = None
    """Returns the result after an error, for a method that never raises."""
    timeout: Any = httpx2.USE_CLIENT_DEFAULT
    """The time limit in seconds; `None` for a method without a time limit."""

    @cached_property
    def adapter(self) -> TypeAdapter[Any]:
        """The validator of the answer."""
        return TypeAdapter(self.answers)

    @cached_property
    def fields(self) -> frozenset[str]:
        """The fields of the answer, if it is an object. Our server always sends all fields."""
        if is_dataclass(self.answers):
            return frozenset(one.name for one in fields(self.answers))
        return frozenset(getattr(self.answers, "model_fields", ()))


@dataclass(frozen=True)
class Request:
    """A request in the form to send."""

    verb: str
    path: str
    query: dict[str, Any]
    body: bytes | None
    """The body as JSON; `None` without a body."""


def request_of(call: Call, sent: Given) -> Request:
    """Return the request of a call with prepared arguments. Raises InputError if they are no JSON.

    >>> request = request_of(CALLS["edit"], {"memory_id": "7", "user_id": "ann", "content": "Tea."})
    >>> request.verb, request.path, request.query, request.body
    ('PATCH', '/api/memories/7', {'user_id': 'ann'}, b'{"content":"Tea."}')
    """
    in_path = re.findall(r"{(\w+)}", call.path)
    path = call.path.format(**{name: quote(mend(str(sent[name])), safe="") for name in in_path})
    left = {name: value for name, value in sent.items() if name not in in_path}
    if call.verb in ("GET", "DELETE"):
        return Request(call.verb, path, _given(left), None)
    body = {name: value for name, value in left.items() if name not in WHO}
    query = {name: value for name, value in left.items() if name in WHO}
    return Request(call.verb, path, _given(query), _encoded(body))


def _given(arguments: Given) -> dict[str, Any]:
    """Return arguments for a URL, without lone surrogates."""
    return {
        name: mend(value) if isinstance(value, str) else value
        for name, value in arguments.items()
        if value is not None
    }


def _encoded(body: Given) -> bytes:
    r"""Return a body as JSON. Lone surrogates are escaped; the server replaces them.

    >>> _encoded({"text": "a \ud83d"})
    b'{"text": "a \\ud83d"}'
    """
    try:
        return to_json(body)
    except PydanticSerializationError:
        pass
    try:
        return json.dumps(to_jsonable_python(body)).encode()
    except (PydanticSerializationError, ValueError) as error:
        raise InputError(f"this cannot be sent: {error}") from None


def _value(answer: Any, given: Given) -> Any:
    return answer.value


def _to_run_result(answer: RunAnswer, given: Given) -> RunResult:
    kind, _, message = answer.error.partition(": ")
    now, told = answer.now, {name: value for name, value in vars(answer).items() if name != "now"}
    told["error"] = named_error(kind, message) if kind else None
    return RunResult(options=given["options"] or RunOptions(now), **told)


_OTHERWISE: Mapping[str, dict[str, Any]] = {
    "recall": {
        "prepare": of_recall,
        "failed": lambda error, given: Recall(error=error),
        "timeout": 5.0,
    },
    "observe": {
        "prepare": of_observe,
        "failed": lambda error, given: Receipt(
            str(given["turn_id"]), new=False, error=error, durable=False
        ),
    },
    "end_session": {"failed": lambda error, given: False},
    "report": {"prepare": of_anybody},
}
"""Details of the calls of plain methods that are not in the table."""


def call_of(row: Row, **more: Any) -> Call:
    """Return the call of a row of the table; `more` has fields that are not in the table."""
    told: dict[str, Any] = {"timeout": None} if row.long else {}
    if row.answers in (Answered, Counted):
        told["result"] = _value
    return Call(row.verb, row.path, row.answers, **told | more)


def _call(verb: str, path: str, answers: Any, prepare: Any, **more: Any) -> Call:
    return Call(verb, path, answers, prepare=prepare, timeout=None, **more)


_ENTRIES = list[LedgerEntry]
CALLS: Mapping[str, Call] = {
    **{row.name: call_of(row, **_OTHERWISE.get(row.name, {})) for row in ROWS},
    "remember": Call("POST", "/api/memories", _ENTRIES, prepare=of_sentence),
    "extract": _call("POST", "/api/memories/extract", _ENTRIES, of_messages),
    "list": Call("GET", "/api/memories", Page, prepare=of_list),
    "cast": Call("GET", "/api/cast", Cast, prepare=of_anybody),
    "erase_user": _call("DELETE", "/api/users", Erased, checked),
    "retry": Call("POST", "/api/retry", Counted, prepare=of_retry, result=_value),
    "run": _call("POST", "/api/runs/{name}", RunAnswer, of_run, result=_to_run_result),
    "backup": _call("POST", "/api/backup", BackupManifest, of_backup),
    "export": _call("POST", "/api/export-file", Exported, of_export),
    "import_file": _call("POST", "/api/import-file", Imported, of_import),
}
"""The calls by name of the method; `extract` is `remember` with messages."""
