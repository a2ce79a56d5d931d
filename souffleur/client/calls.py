"""Calls: which request each method sends, and how its answer is read. Sends nothing itself."""

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
from souffleur.client.run_results import to_result
from souffleur.errors import MessageError
from souffleur.knowledge.forgetting.topic import TopicPreview
from souffleur.knowledge.memory import Memory
from souffleur.knowledge.operation import LedgerEntry, Recorded
from souffleur.knowledge.people import Person, PersonaCard
from souffleur.knowledge.preferences import Preferences
from souffleur.knowledge.search.memories import Found
from souffleur.knowledge.store.backup_file import BackupManifest
from souffleur.knowledge.store.erasing import Erased
from souffleur.knowledge.store.export import Exported
from souffleur.knowledge.store.importing import Imported
from souffleur.knowledge.store.introductions import UserSummary
from souffleur.knowledge.store.topics import Forgotten
from souffleur.knowledge.text.plain import mend
from souffleur.lookup import Stats
from souffleur.notices import Notice
from souffleur.recall.compose import Recall
from souffleur.recall.gather import Past
from souffleur.report.quality import Quality
from souffleur.server.schemas import Answered, Counted, Page, RunAnswer
from souffleur.service.health import Health
from souffleur.service.intake import Receipt

Given = Mapping[str, Any]
"""Arguments of a method, by name."""

_WHO = ("user_id", "agent_id")
"""Arguments that say whose memories are meant: always part of the query."""


@dataclass(frozen=True)
class Call:
    """How a method of Souffleur is called over HTTP."""

    verb: str
    path: str
    """With the names of arguments in braces."""
    answers: Any
    """The type of the answer."""
    prepare: Callable[[dict[str, Any]], dict[str, Any]] = arguments.checked
    """Returns the arguments as they are sent. Raises what is wrong with them."""
    result: Callable[[Any, Given], Any] = lambda answer, given: answer
    """Returns what the method returns, of the answer and the arguments."""
    failed: Callable[[str, Given], Any] | None = None
    """Returns what a method that never raises returns for an error."""
    timeout: Any = httpx2.USE_CLIENT_DEFAULT
    """The time limit in seconds; `None` if it may take any time, as what asks a model may."""

    @cached_property
    def adapter(self) -> TypeAdapter[Any]:
        """What reads the answer."""
        return TypeAdapter(self.answers)

    @cached_property
    def fields(self) -> frozenset[str]:
        """The fields of the answer, if it is one object: our server leaves none of them out."""
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


def request_of(call: Call, sent: Mapping[str, Any]) -> Request:
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
    body = {name: value for name, value in left.items() if name not in _WHO}
    query = {name: value for name, value in left.items() if name in _WHO}
    return Request(call.verb, path, _given(query), _encoded(body))


def _given(arguments: Given) -> dict[str, Any]:
    """Return what is part of an address, which can hold no half of a character."""
    return {
        name: mend(value) if isinstance(value, str) else value
        for name, value in arguments.items()
        if value is not None
    }


def _encoded(body: Given) -> bytes:
    r"""Return JSON; halves of characters are escaped, as the server knows what to do with them.

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


def _value(answer: Answered | Counted, given: Given) -> Any:
    return answer.value


CALLS = {
    "recall": Call(
        "POST",
        "/api/recall",
        Recall,
        prepare=arguments.of_recall,
        failed=lambda error, given: Recall(error=error),
        timeout=5.0,
    ),
    "observe": Call(
        "POST",
        "/api/turns",
        Receipt,
        prepare=arguments.of_observe,
        failed=lambda error, given: Receipt(
            str(given["turn_id"]), new=False, error=error, durable=False
        ),
    ),
    "end_session": Call(
        "POST", "/api/sessions/end", Answered, result=_value, failed=lambda error, given: False
    ),
    "health": Call("GET", "/api/health", Health),
    "remember": Call("POST", "/api/memories", list[LedgerEntry], prepare=arguments.of_sentence),
    "extract": Call(
        "POST",
        "/api/memories/extract",
        list[LedgerEntry],
        prepare=arguments.of_messages,
        timeout=None,
    ),
    "record_skill": Call("POST", "/api/memories/skills", LedgerEntry),
    "ask": Call("POST", "/api/ask", Past),
    "introduce": Call("PUT", "/api/person", Person),
    "preferences": Call("GET", "/api/preferences", Preferences),
    "set_preferences": Call("PATCH", "/api/preferences", Preferences),
    "introduce_persona": Call("PUT", "/api/personas", PersonaCard),
    "define": Call("PUT", "/api/personas/definition", list[LedgerEntry]),
    "share": Call("POST", "/api/memories/{memory_id}/share", LedgerEntry),
    "users": Call("GET", "/api/users", list[UserSummary]),
    "cast": Call("GET", "/api/cast", Cast, prepare=arguments.of_anybody),
    "write_portrait": Call("POST", "/api/profile", Memory, timeout=None),
    "run": Call(
        "POST",
        "/api/runs/{name}",
        RunAnswer,
        prepare=arguments.of_run,
        result=to_result,
        timeout=None,
    ),
    "forget": Call("POST", "/api/memories/forget", list[LedgerEntry]),
    "proposals": Call("GET", "/api/pending", list[LedgerEntry]),
    "confirm": Call("POST", "/api/pending/{id}/confirm", LedgerEntry),
    "confirm_all": Call("POST", "/api/pending/confirm", list[LedgerEntry]),
    "reject_all": Call("POST", "/api/pending/reject", list[LedgerEntry]),
    "reject": Call("POST", "/api/pending/{id}/reject", LedgerEntry),
    "retry": Call("POST", "/api/retry", Counted, prepare=arguments.of_retry, result=_value),
    "edit": Call("PATCH", "/api/memories/{memory_id}", LedgerEntry),
    "pin": Call("POST", "/api/memories/{memory_id}/pin", LedgerEntry),
    "restore_memory": Call("POST", "/api/memories/{memory_id}/restore", LedgerEntry),
    "backup": Call(
        "POST", "/api/backup", BackupManifest, prepare=arguments.of_backup, timeout=None
    ),
    "export": Call("POST", "/api/export-file", Exported, prepare=arguments.of_export, timeout=None),
    "import_file": Call(
        "POST", "/api/import-file", Imported, prepare=arguments.of_import, timeout=None
    ),
    "report": Call("GET", "/api/report", Quality, prepare=arguments.of_anybody, timeout=None),
    "erase_user": Call("DELETE", "/api/users", Erased, timeout=None),
    "preview_topic": Call("POST", "/api/forget/preview", TopicPreview),
    "forget_topic": Call("POST", "/api/forget", Forgotten, timeout=None),
    "erase_memory": Call("POST", "/api/memories/{memory_id}/erase", Forgotten, timeout=None),
    "compact": Call("POST", "/api/compact", list[str], timeout=None),
    "erase_turn": Call("DELETE", "/api/turns", Erased, timeout=None),
    "flush": Call("POST", "/api/flush", Answered, result=_value, timeout=None),
    "search": Call("POST", "/api/memories/search", list[Found]),
    "get": Call("GET", "/api/memories/{memory_id}", Memory),
    "history": Call("GET", "/api/memories/{memory_id}/history", list[LedgerEntry]),
    "ledger": Call("GET", "/api/ledger", list[Recorded]),
    "notices": Call("GET", "/api/notices", list[Notice]),
    "undo": Call("POST", "/api/ledger/{entry_id}/undo", LedgerEntry),
    "stats": Call("GET", "/api/memories/stats", Stats),
    "episodes": Call("GET", "/api/episodes", list[Memory]),
    "portrait": Call("GET", "/api/profile", Memory | None),
    "list": Call("GET", "/api/memories", Page, prepare=arguments.of_list),
}
"""The methods by name; `extract` is `remember` with messages."""
