"""The speaker: the user, session, persona and turn that a request names."""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs, unquote

from souffleur.errors import InputError
from souffleur.knowledge.identity import check_sent_id

Headers = Mapping[str, str]
"""Headers of a request by name in lower case; values may be percent-encoded."""

USER_HEADERS = ("x-souffleur-user", "x-openwebui-user-id")
SESSION_HEADERS = ("x-souffleur-session", "x-openwebui-chat-id")
PERSONA_HEADERS = ("x-souffleur-persona",)
TURN_HEADERS = ("x-souffleur-turn",)
"""Headers with each id; the first header in the request counts."""
USER_FIELDS = ("user_id", "user")
SESSION_FIELDS = ("session_id", "chat_id", "conversation_id", "run_id")
PERSONA_FIELDS = ("persona", "agent_id")
TURN_FIELDS = ("turn_id",)
"""Fields of a request's `metadata`, and parameters of its query, with each id."""
TEMPORARY_CHATS = ("temporary:", "local:")
"""The beginning of the id of a temporary chat, which Open WebUI does not save."""
QUERY_FIELDS = frozenset(USER_FIELDS + SESSION_FIELDS + PERSONA_FIELDS + TURN_FIELDS)
"""Parameters of a query that are not passed to the upstream."""

_UNFILLED = re.compile(r"\{\{.*\}\}")
"""A placeholder that a front end did not fill, for example {{USER_ID}}: it is no id."""

HOW_TO_SAY = (
    "this proxy serves several users, and the request names none: send the header "
    "X-Souffleur-User, or `user` or `metadata.user_id` in the body, or ?user=… in the address"
)


@dataclass(frozen=True)
class Speaker:
    """The user, persona, session and turn of a request."""

    user_id: str
    """The user who speaks."""
    agent_id: str
    """The persona that replies."""
    session_id: str | None
    """The id of the session; `None` if the request has no session."""
    turn_id: str | None
    """The id of the turn; `None` if the request has no turn id."""


Admit = Callable[[str | None, str | None], tuple[str, str | None]]
"""Returns the user and persona of a request, from the user and persona that it names. May raise an
error."""


def usually(usual: str | None) -> Admit:
    """Return a rule for the user named by a request, or otherwise the usual user.

    The rule raises InputError if the request names no user and there is no usual user.
    """

    def admit(user_id: str | None, agent_id: str | None) -> tuple[str, str | None]:
        if found := user_id or usual:
            return found, agent_id
        raise InputError(HOW_TO_SAY)

    return admit


def find_speaker(headers: Headers, body: Mapping[str, Any], query: str, admit: Admit) -> Speaker:
    """Return the speaker of a request: ids from headers, otherwise the body, otherwise the query.

    Raises InputError for an invalid id, and the errors of `admit`.

    >>> find_speaker({"x-souffleur-user": "ann"}, {"user": "bob"}, "", usually(None)).user_id
    'ann'
    >>> find_speaker({}, {"metadata": {"chat_id": "c1"}}, "user=cy", usually(None)).session_id
    'c1'
    """
    given = body.get("metadata")
    metadata = given if isinstance(given, Mapping) else {}
    asked = {name: values[0] for name, values in parse_qs(query).items()}

    def find(names: Iterable[str], fields: Iterable[str], own: str = "") -> str | None:
        said = [unquote(headers[name]) for name in names if name in headers]
        sources = ((body, (own,)), (metadata, fields), (asked, fields))
        said += [str(source.get(name) or "") for source, every in sources for name in every]
        return next((one for one in said if one and not _UNFILLED.search(one)), None)

    user_id, agent_id = admit(
        find(USER_HEADERS, USER_FIELDS, "user"), find(PERSONA_HEADERS, PERSONA_FIELDS)
    )
    session_id = find(SESSION_HEADERS, SESSION_FIELDS) or find_conversation(body)
    turn_id = find(TURN_HEADERS, TURN_FIELDS)
    return Speaker(
        check_sent_id(user_id),
        check_sent_id(agent_id or "default", "agent_id"),
        check_sent_id(session_id, "session_id") if session_id else None,
        check_sent_id(turn_id, "turn_id") if turn_id else None,
    )


def is_incognito(headers: Headers) -> bool:
    """Return whether a request is incognito: by our header, or otherwise by the chat's id.

    The memory is not read and not written for an incognito request.

    >>> is_incognito({"x-openwebui-chat-id": "temporary:a1"})
    True
    >>> is_incognito({"x-openwebui-chat-id": "temporary:a1", "x-souffleur-incognito": "false"})
    False
    >>> is_incognito({"x-souffleur-incognito": "on"})
    True
    """
    asked = headers.get("x-souffleur-incognito", "").strip().lower()
    if asked and not _UNFILLED.search(asked):
        return asked not in ("0", "false", "no", "off")  # any other value means yes
    return headers.get("x-openwebui-chat-id", "").startswith(TEMPORARY_CHATS)


def find_conversation(body: Mapping[str, Any]) -> str | None:
    """Return the id of the conversation of a request to `/responses`."""
    given = body.get("conversation")
    found = given.get("id") if isinstance(given, Mapping) else given
    return found if isinstance(found, str) and found else None
