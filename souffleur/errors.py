"""All errors that Souffleur raises on purpose.

A host needs the ten errors that `souffleur` exports; a handler of `StoreError` or `EndpointError`
also catches their subclasses.

SouffleurError
├── SettingsError          a setting is missing or invalid
├── InputError             an id, a message, a query or a dialogue is invalid
├── FileError              a backup, an export, a mirror or a chat cannot be read or written
├── NotFoundError          no memory, turn or ledger entry has that id
├── MemoryOffError         the user wants nothing to be stored now
├── UndoError              the change cannot be undone in the present state
├── StoreError             Qdrant refused, or could not be reached
│   ├── StoreBusyError     the path is in use by another process
│   ├── LeaseLostError     another process judges this user now
│   ├── StoreMismatchError the data were written by another schema, embedder or dimension
│   └── UnreadableError    a record of the store is invalid
├── EndpointError          the model's endpoint failed: network, status, time-out
│   └── OutageError        an endpoint that fails was not asked: it is tried only at times
│       └── BudgetError    the day's budget is used up
├── EmbedderError          the embedder failed, or returned rows that do not fit the request
├── AnswerError            the model answered, but not in the requested form
├── PromptError            a prompt is missing, or was rendered without a value that it needs
├── RecordingError         no recorded answer fits this request: it was recorded for other words
├── BlockingError          a blocking memory is closed, was forked, or is called by its own thread
└── RemoteError            the server of a client cannot be reached, or refuses
"""

from collections.abc import Mapping


class SouffleurError(Exception):
    """Base of all errors below; its text is one sentence that says what to do."""


class SettingsError(SouffleurError):
    """A setting is missing or invalid."""


class StoreError(SouffleurError):
    """Qdrant refused, or could not be reached."""


class StoreBusyError(StoreError):
    """The path is in use by another process."""


class LeaseLostError(StoreError):
    """Another process judges this user now; decisions made here are not valid."""


class StoreMismatchError(StoreError):
    """The data were written by another schema, embedder or dimension."""


class UnreadableError(StoreError):
    """A record of the store is invalid; the other records can still be read."""


class InputError(SouffleurError):
    """An id, a message, a query or a dialogue is invalid."""


class FileError(SouffleurError):
    """A file of Souffleur or of another program cannot be read or written."""


class NotFoundError(SouffleurError):
    """No memory, turn or ledger entry has that id."""


class MemoryOffError(SouffleurError):
    """The user wants nothing to be stored now: see `Souffleur.preferences`."""


class UndoError(SouffleurError):
    """The change cannot be undone in the present state."""


class EmbedderError(SouffleurError):
    """The embedder failed, or returned rows that do not fit the request."""

    def __init__(self, message: str, *, outage: bool = True, slow: bool = False) -> None:
        super().__init__(message)
        self.outage = outage
        """Whether any other text would fail as well."""
        self.slow = slow
        """Whether it was a time-out."""


class PromptError(SouffleurError):
    """A prompt is missing, or was rendered without a value that it needs."""


class EndpointError(SouffleurError):
    """The model's endpoint failed: network, status, time-out."""

    def __init__(
        self,
        message: str,
        *,
        status: int | None = None,
        retryable: bool = True,
        retry_after: float | None = None,
        outage: bool | None = None,
        slow: bool = False,
        usage: Mapping[str, float] | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        """The HTTP status, if there was one."""
        self.retryable = retryable
        """`False` if asking again cannot help, as with a wrong key or an unknown model."""
        self.retry_after = retry_after
        """Seconds that the endpoint asked us to wait."""
        self.outage = is_outage_status(status) if outage is None else outage
        """Whether the endpoint fails or its settings are wrong, so that any other request would
        fail too; `False` if only this request was refused. By default derived from the status."""
        self.slow = slow
        """Whether it was a time-out."""
        self.usage = dict(usage or {})
        """Usage of the earlier calls that got an answer, as in `Verdict.cost`."""


class OutageError(EndpointError):
    """An endpoint that fails was not asked: it is tried only at times."""


class BudgetError(OutageError):
    """The day's budget is used up: no model is asked before midnight UTC."""


def is_outage(error: Exception) -> bool:
    """Return whether the error is an outage: any other request would fail as well."""
    return isinstance(error, EndpointError | EmbedderError) and error.outage


class AnswerError(SouffleurError):
    """The model answered, but not in the requested form."""

    def __init__(
        self, message: str, *, answer: str = "", usage: Mapping[str, float] | None = None
    ) -> None:
        super().__init__(message)
        self.answer = answer
        """The unchanged text of the answer; only its beginning if the answer is far too long."""
        self.usage = dict(usage or {})
        """Usage of the calls for this answer, as in `Verdict.cost`; it is in no ledger entry."""


class RecordingError(SouffleurError):
    """No recorded answer fits this request: it was recorded for other words."""


class BlockingError(SouffleurError):
    """A blocking memory is closed, was forked, or is called by its own thread."""


class RemoteError(SouffleurError):
    """The server of a client cannot be reached, or refuses."""

    def __init__(
        self, message: str, *, status: int | None = None, retry_after: float | None = None
    ) -> None:
        super().__init__(message)
        self.status = status
        """The HTTP status; `None` if there was no answer."""
        self.retry_after = retry_after
        """Seconds that the server asked us to wait."""


_OUTAGE_STATUSES = frozenset({401, 402, 403, 404, 408, 409, 425, 429})


def add_usage(spent: Mapping[str, float], error: Exception) -> dict[str, float]:
    """Return what was spent, with the usage of a failed try added.

    >>> add_usage({"calls": 1}, AnswerError("no JSON", usage={"calls": 2, "cost": 0.5}))
    {'calls': 3, 'cost': 0.5}
    """
    usage = error.usage if isinstance(error, EndpointError | AnswerError) else {}
    return {**spent, **{key: spent.get(key, 0) + value for key, value in usage.items()}}


def is_outage_status(status: int | None) -> bool:
    """Return whether a status is a fault of the endpoint, not of the request; `None`: no answer."""
    return status is None or status in _OUTAGE_STATUSES or 300 <= status < 400 or status >= 500


def to_install(extra: str) -> str:
    """Return how to install an extra. Nothing is published yet, so it is installed from a clone.

    >>> to_install("serve")
    "run `pip install '.[serve]'` in a clone of Souffleur"
    """
    return f"run `pip install '.[{extra}]'` in a clone of Souffleur"


def joined(*errors: str) -> str:
    """Return all errors as a single text, in which no error is repeated.

    >>> joined("The disk is full", "", "no judge; The disk is full")
    'The disk is full; no judge'
    """
    return "; ".join(dict.fromkeys(one for text in errors if text for one in text.split("; ")))
