"""Calls: the request of each method, and how its answer is read. Sends nothing itself."""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from functools import cached_property
from typing import Any
from urllib.parse import quote

import httpx2
from pydantic import TypeAdapter
from pydantic_core import PydanticSerializationError, to_json, to_jsonable_python

from souffleur.cast import Cast
from souffleur.client import arguments
from souffleur.client.errors import named_error
from souffleur.errors import MessageError
from souffleur.knowledge.operation import LedgerEntry
from souffleur.knowledge.store.backup_file import BackupManifest
from souffleur.knowledge.store.export import Exported
from souffleur.knowledge.store.importing import Imported
from souffleur.knowledge.text.plain import mend
from souffleur.recall.compose import Recall
from souffleur.server.schemas import Answered, Counted, Page, RunAnswer
from souffleur.server.table import ROWS, WHO
from souffleur.service.intake import Receipt
from souffleur.service.run import RunOptions, RunResult

Given = Mapping[str, Any]
"""Arguments of a method, by name."""


@dataclass(frozen=True)
class Call:
    """How a method of Souffleur is called over HTTP."""

    verb: str
    path: str
    """With the names of arguments in braces."""
    answers: Any
    """The type of the answer."""
    prepare: Callable[[dict[str, Any]], dict[str, Any]] = arguments.checked
    """Returns the arguments as they are sent. Raises the error of an invalid argument."""
    result: Callable[[Any, Given], Any] = lambda answer, given: answer
    """Returns the method's result, from the answer and the arguments."""
    failed: Callable[[str, Given], Any] | None = None
    """Returns the result after an error, for a method that never raises."""
    timeout: Any = httpx2.USE_CLIENT_DEFAULT
    """The time limit in seconds; `None` for a method that may take any time."""

    @cached_property
    def adapter(self) -> TypeAdapter[Any]:
        """The reader of the answer."""
        return TypeAdapter(self.answers)

    @cached_property
    def fields(self) -> frozenset[str]:
        """The fields of the answer, if it is one object: our server always sends all of them."""
        if is_dataclass(self.answers):
            return frozenset(one.name for one in fields(self.answers))
        return frozenset(getattr(self.answers, "model_fields", ()))


@dataclass(frozen=True)
class Request:
    """A request, ready to be sent."""

    verb: str
    path: str
    query: dict[str, Any]
    body: bytes | None
    """JSON."""


def request_of(call: Call, sent: Given) -> Request:
    """Return the request of a call with prepared arguments. Raises MessageError for odd ones.

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
    """Return arguments for an address, which can hold no half of a character."""
    return {
        name: mend(value) if isinstance(value, str) else value
        for name, value in arguments.items()
        if value is not None
    }


def _encoded(body: Given) -> bytes:
    r"""Return JSON; halves of characters are escaped, and the server replaces them.

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
        raise MessageError(f"this cannot be sent: {error}") from None


def _value(answer: Any, given: Given) -> Any:
    return answer.value


def _to_run_result(answer: RunAnswer, given: Given) -> RunResult:
    kind, _, message = answer.error.partition(": ")
    now, told = answer.now, {name: value for name, value in vars(answer).items() if name != "now"}
    told["error"] = named_error(kind, message) if kind else None
    return RunResult(options=given["options"] or RunOptions(now), **told)


_OTHERWISE: Mapping[str, dict[str, Any]] = {
    "recall": {
        "prepare": arguments.of_recall,
        "failed": lambda error, given: Recall(error=error),
        "timeout": 5.0,
    },
    "observe": {
        "prepare": arguments.of_observe,
        "failed": lambda error, given: Receipt(
            str(given["turn_id"]), new=False, error=error, durable=False
        ),
    },
    "end_session": {"failed": lambda error, given: False},
    "report": {"prepare": arguments.of_anybody},
}
"""What the table does not say of a plain method's call."""


def _plain_calls() -> dict[str, Call]:
    calls = {}
    for row in ROWS:
        more: dict[str, Any] = {"timeout": None} if row.long else {}
        if row.answers in (Answered, Counted):
            more["result"] = _value
        more |= _OTHERWISE.get(row.name, {})
        calls[row.name] = Call(row.verb, row.path, row.answers, **more)
    return calls


def _call(verb: str, path: str, answers: Any, prepare: Any, **more: Any) -> Call:
    return Call(verb, path, answers, prepare=prepare, timeout=None, **more)


_ENTRIES = list[LedgerEntry]
CALLS: Mapping[str, Call] = {
    **_plain_calls(),
    "remember": Call("POST", "/api/memories", _ENTRIES, prepare=arguments.of_sentence),
    "extract": _call("POST", "/api/memories/extract", _ENTRIES, arguments.of_messages),
    "list": Call("GET", "/api/memories", Page, prepare=arguments.of_list),
    "cast": Call("GET", "/api/cast", Cast, prepare=arguments.of_anybody),
    "retry": Call("POST", "/api/retry", Counted, prepare=arguments.of_retry, result=_value),
    "run": _call("POST", "/api/runs/{name}", RunAnswer, arguments.of_run, result=_to_run_result),
    "backup": _call("POST", "/api/backup", BackupManifest, arguments.of_backup),
    "export": _call("POST", "/api/export-file", Exported, arguments.of_export),
    "import_file": _call("POST", "/api/import-file", Imported, arguments.of_import),
}
"""The methods by name; `extract` is `remember` with messages."""
