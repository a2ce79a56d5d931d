"""Log lines about errors: the user is bound to them, and they hold no word of the talk.

The text of our own errors quotes no talk and no memory, except that of a recording. Any other may,
so its line tells its type and where it was raised; its text and traceback are a further line of
level TRACE, which only a host that sets this level sees.
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


def tell(error: BaseException) -> str:
    """Return an error as it is kept with what failed: that of a recording whole, as it is replayed.

    >>> tell(ValueError("she said: I love tea"))
    'ValueError'
    """
    whole = isinstance(error, RecordingError)
    return mend(f"{type(error).__name__}: {error}" if whole else describe(error))


def trace_bug(bound: "Logger", error: BaseException) -> None:
    """Log the text and traceback of an unexpected error, for whoever wants to see all."""
    if not _is_discreet(error):
        bound.opt(exception=error).trace("the error in full: {}", error)


def _is_discreet(error: BaseException) -> bool:
    known = isinstance(error, SouffleurError | OSError)
    return known and not isinstance(error, RecordingError)
