"""The roles of messages: who says what, and what the system asks at the end."""

from collections.abc import Mapping, Sequence
from itertools import takewhile
from typing import Any

from souffleur.messages import readable_content
from souffleur.proxy.injection import SYSTEM_ROLES


def last_said(messages: Sequence[Any]) -> Any:
    """Return the last message that is not the system's; `None` if there is none."""
    others = (one for one in reversed(messages) if role_of(one) not in ("", *SYSTEM_ROLES))
    return next(others, None)


def is_reply(message: Any) -> bool:
    """Return whether a message is a reply, and not the call of a tool."""
    return role_of(message) == "assistant" and not message.get("tool_calls")


def role_of(message: Any) -> str:
    """Return the role of a message; of what has none, such as the call of a tool, its type.

    >>> role_of({"role": "user"}), role_of({"type": "function_call"}), role_of(None)
    ('user', 'function_call', '')
    """
    if not isinstance(message, Mapping):
        return ""
    role = message.get("role") or message.get("type")
    return role if isinstance(role, str) else ""


def asked_at_the_end(messages: Sequence[Any]) -> tuple[str, ...]:
    """Return what the system says after all that was said, the latest first.

    >>> said = {"role": "user", "content": "hi"}
    >>> asked_at_the_end([said, {"role": "system", "content": "Go on."}])
    ('Go on.',)
    """
    last = takewhile(lambda one: role_of(one) in SYSTEM_ROLES, reversed(messages))
    return tuple(readable_content(one) for one in last)
