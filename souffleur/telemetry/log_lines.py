"""Log lines about errors: they name the user, and contain no word of the talk.

Errors of Souffleur quote neither talk nor memories, except a RecordingError. Any other error may
quote them, so its line has only type and place; text and traceback are logged at level TRACE.
"""

import traceback
from pathlib import Path
from typing import TYPE_CHECKING

from souffleur.errors import RecordingError, SouffleurError
from souffleur.knowledge.text.plain import mend

if TYPE_CHECKING:
    from loguru import Logger


def describe(error: BaseException) -> str:
    """Return an error on one line, without words of the talk.

    >>> from souffleur.errors import NotFoundError
    >>> describe(NotFoundError("there is no turn 7")), describe(OSError(28, "No space left"))
    ('NotFoundError: there is no turn 7', 'OSError: [Errno 28] No space left')
    >>> describe(ValueError("she said: I love tea"))
    'ValueError'
    """
    name = type(error).__name__
    if _is_discreet(error):
        return f"{name}: {error}"
    frames = traceback.extract_tb(error.__traceback__)
    if not frames:
        return name
    last = frames[-1]
    return f"{name} in {last.name}, {Path(last.filename).name}:{last.lineno}"


def error_record(error: BaseException) -> str:
    """Return the text of an error that is stored with the failed turn or run.

    The text of a RecordingError is stored whole, as its talk is a replay.

    >>> error_record(ValueError("she said: I love tea"))
    'ValueError'
    """
    whole = isinstance(error, RecordingError)
    return mend(f"{type(error).__name__}: {error}" if whole else describe(error))


def trace_bug(bound: "Logger", error: BaseException) -> None:
    """Log the text and traceback of an unexpected error at level TRACE."""
    if not _is_discreet(error):
        bound.opt(exception=error).trace("the error in full: {}", error)


def _is_discreet(error: BaseException) -> bool:
    known = isinstance(error, SouffleurError | OSError)
    return known and not isinstance(error, RecordingError)
