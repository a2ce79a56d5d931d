"""Errors of clients: those of Souffleur by their names, as the server tells them."""

import json
from collections.abc import Mapping

from souffleur import errors
from souffleur.agents.model.response import retry_after
from souffleur.errors import RemoteError, SouffleurError


def named_error(
    kind: str, message: str, *, status: int | None = None, retry_after: float | None = None
) -> SouffleurError:
    """Return the error of that name; a RemoteError if Souffleur has none.

    >>> named_error("UndoError", "too late"), named_error("RequestError", "no").status
    (UndoError('too late'), None)
    """
    found = getattr(errors, kind, None)
    ours = found if isinstance(found, type) and issubclass(found, SouffleurError) else RemoteError
    if ours is not RemoteError:
        return ours(message)
    return RemoteError(message, status=status, retry_after=retry_after)


def error_of(status: int, headers: Mapping[str, str], content: bytes) -> SouffleurError:
    """Return the error that an answer tells of; of whatever it is that answers."""
    try:
        told = json.loads(content)["error"]
        kind, message = str(told["type"]), str(told["message"])
    except (ValueError, KeyError, TypeError):
        kind, message = "", f"the server answered {status}: is it `souffleur serve`?"
    return named_error(kind, message, status=status, retry_after=retry_after(headers))
