"""Pairing: finds the whisper that a reply was written with."""

from collections import OrderedDict
from collections.abc import Iterable
from itertools import islice
from threading import Lock

from souffleur.knowledge.operation import is_id
from souffleur.recall.compose import Recall

MAX_SESSIONS = 10_000
"""Maximum sessions whose latest whisper is remembered."""
MAX_WHISPERED_IDS = 1000
"""Maximum memories of one whisper that are noted with a turn."""

Whisper = Recall | Iterable[str] | None
"""A recall or its `judgeable_ids`; `None` means the latest recall of the session."""
Ids = tuple[str, ...]


class Pairing:
    """Remembers the latest whisper of each session, for hosts that do not pass it on.

    Thread-safe.
    """

    def __init__(self, max_sessions: int = MAX_SESSIONS) -> None:
        """If more than `max_sessions` are remembered, the oldest is dropped."""
        self._latest: OrderedDict[tuple[str, str], Ids] = OrderedDict()
        self._max_sessions = max_sessions
        self._alone = Lock()

    def note(self, user_id: str, session_id: str, recall: Recall) -> None:
        """Remember the latest whisper of a session."""
        with self._alone:
            self._latest[user_id, session_id] = recall.judgeable_ids
            self._latest.move_to_end((user_id, session_id))
            if len(self._latest) > self._max_sessions:
                self._latest.popitem(last=False)

    def take(self, user_id: str, session_id: str, whisper: Whisper = None) -> tuple[Ids, str]:
        """Return the ids of the whisper that a turn was written with, and a warning about it.

        The latest whisper of a session is used once: by the turn that names it, or by the first
        turn that names none.
        """
        ids, odd = read_whisper(whisper)
        with self._alone:
            latest = self._latest.get((user_id, session_id))
            if ids is None or ids == latest:
                self._latest.pop((user_id, session_id), None)
        return (latest or ()) if ids is None else ids, odd


def read_whisper(whisper: object) -> tuple[Ids | None, str]:
    """Return the ids of a whisper, and a warning about it; `None` if there is no whisper.

    >>> read_whisper(None), read_whisper([]), read_whisper(["tea"])
    ((None, ''), ((), ''), ((), '`whisper` holds 1 that is no id of a memory: left out'))
    """
    if whisper is None:
        return None, ""
    named = whisper.judgeable_ids if isinstance(whisper, Recall) else whisper
    if isinstance(named, str | bytes) or not isinstance(named, Iterable):
        what = type(named).__name__
        return None, f"`whisper` must be a Recall or its ids, not {what}: the latest one was taken"
    try:
        given = list(islice(named, MAX_WHISPERED_IDS + 1))
    except Exception as error:  # noqa: BLE001  a turn must not be lost for what a host gives
        why = type(error).__name__
        return None, f"`whisper` cannot be read ({why}): the latest one was taken"
    ids = [id for id in given[:MAX_WHISPERED_IDS] if isinstance(id, str) and is_id(id)]
    odd = len(given[:MAX_WHISPERED_IDS]) - len(ids)
    errors = [f"`whisper` holds {odd} that is no id of a memory: left out"] if odd else []
    if len(given) > MAX_WHISPERED_IDS:
        errors.append(f"`whisper` holds more than {MAX_WHISPERED_IDS} ids: the first were taken")
    return tuple(dict.fromkeys(ids)), "; ".join(errors)
