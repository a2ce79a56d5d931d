"""Where a model answers: the address and the key of its endpoint, from the settings."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote, urlsplit

from pydantic import SecretStr

from souffleur.errors import SettingsError
from souffleur.knowledge.privacy.addresses import api_base, bare_address


@dataclass(frozen=True)
class Address:
    """The endpoint of a model, in the words that an error message may use."""

    url: str
    """The base URL without user name, password and query."""
    model: str
    timeout: float
    """Maximum seconds of a call."""
    secret: SecretStr
    """The API key, so that error messages can leave it out."""


def split_address(base_url: str) -> tuple[str, str, tuple[str, str] | None]:
    """Return the address without login and query; its host; and the login (user name, password).

    The URL of a method, such as …/v1/chat/completions, is shortened to its base. Raises
    SettingsError if it is no web address.

    >>> split_address("https://me:secret@API.openai.com:443/v1?a=b")
    ('https://API.openai.com:443/v1', 'api.openai.com', ('me', 'secret'))
    """
    try:
        parts = urlsplit(base_url)
        if parts.scheme in ("http", "https") and parts.hostname and parts.port != 0:
            login = unquote(parts.username or ""), unquote(parts.password or "")
            return api_base(bare_address(base_url)), parts.hostname, login if any(login) else None
    except ValueError:
        pass
    raise SettingsError(
        f"{bare_address(base_url)!r} is no address of an endpoint: write it like"
        " http://localhost:11434/v1."
    )


def read_key(key: SecretStr) -> SecretStr:
    """Return the key without surrounding white space, or a placeholder for servers without keys.

    Raises SettingsError if no header can carry the key; the error does not repeat it.
    """
    bare = key.get_secret_value().strip() or "not-needed"
    if not (bare.isascii() and bare.isprintable()):
        raise SettingsError(
            "The API key holds characters that no request can carry: copy it again, as it is."
        )
    return SecretStr(bare)


_SET_ELSEWHERE = {
    "max_tokens": "SOUFFLEUR_MAX_TOKENS",
    "model": "SOUFFLEUR_MODEL",
    "response_format": "SOUFFLEUR_ANSWER_FORM",
    "temperature": "SOUFFLEUR_TEMPERATURE",
}
_OURS = frozenset(
    {
        *("function_call", "functions", "tool_choice", "tools"),
        *("messages", "n", "stream", "stream_options"),
    }
)
"""Fields that would change the question, or the number or form of the answers."""


def parse_object(text: str, example: str) -> dict[str, Any]:
    """Return the fields in a JSON object. Raises ValueError, whose text shows the example.

    >>> parse_object('{"think": false}', '{"think": true}')
    {'think': False}
    >>> parse_object("think=false", '{"think": false}')
    Traceback (most recent call last):
    ValueError: must be a JSON object, such as {"think": false}
    """
    try:
        fields = json.loads(text, parse_constant=_no_number)
    except (ValueError, RecursionError):
        fields = None
    if not isinstance(fields, dict):
        raise ValueError(f"must be a JSON object, such as {example}")
    return fields


def check_extra_body(fields: Mapping[str, Any]) -> None:
    """Raise ValueError if Souffleur itself sends one of the fields, or if a value is no JSON.

    >>> check_extra_body({"think": False, "options": {"num_ctx": 16384}})
    >>> check_extra_body({"temperature": 1})
    Traceback (most recent call last):
    ValueError: must not hold 'temperature': set SOUFFLEUR_TEMPERATURE
    """
    for name, value in fields.items():
        if name in _SET_ELSEWHERE:
            raise ValueError(f"must not hold {name!r}: set {_SET_ELSEWHERE[name]}")
        if name in _OURS:
            raise ValueError(f"must not hold {name!r}: Souffleur decides that itself")
        try:
            json.dumps(value, allow_nan=False)
        except (TypeError, ValueError, RecursionError):
            raise ValueError(f"must hold JSON values, and {name!r} is none") from None


def _no_number(name: str) -> float:
    raise ValueError(f"{name} is no JSON")
