"""The watches that the settings ask for."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from souffleur.errors import SettingsError
from souffleur.knowledge.watching import UNWATCHED, Note, Watch, What, Work

if TYPE_CHECKING:
    from souffleur.settings import Settings
    from souffleur.telemetry.metrics import Metrics
    from souffleur.times import TimeSource


def make_metrics(settings: "Settings", times: "TimeSource") -> "Metrics | None":
    """Return the metrics, if the settings ask for them.

    Raises SettingsError if their package is missing.
    """
    if not settings.metrics:
        return None
    try:
        from souffleur.telemetry.metrics import Metrics
    except ImportError as error:
        raise _missing("metrics", error) from error
    return Metrics(times)


def make_watch(settings: "Settings", metrics: "Metrics | None") -> Watch:
    """Return what watches the work: nothing, the metrics, traces, or both.

    Raises SettingsError if the package for traces is missing.
    """
    watches: list[Watch] = [metrics.measures] if metrics else []
    if settings.traces != "off":
        try:
            from opentelemetry.trace import get_tracer

            from souffleur.telemetry.spans import Spans
        except ImportError as error:
            raise _missing("traces", error) from error
        watches.append(Spans(get_tracer("souffleur"), content=settings.traces == "content"))
    if len(watches) < 2:
        return watches[0] if watches else UNWATCHED
    return Together(watches)


class Together:
    """A `Watch` of several."""

    def __init__(self, watches: Sequence[Watch]) -> None:
        self._watches = watches

    @contextmanager
    def __call__(self, what: What, **about: Note) -> Iterator["_All"]:
        """Have all of them watch what is done within this context."""
        with ExitStack() as stack:
            yield _All([stack.enter_context(watch(what, **about)) for watch in self._watches])


class _All:
    def __init__(self, works: Sequence[Work]) -> None:
        self._works = works

    def note(self, **about: Note) -> None:
        """Note it with each."""
        for work in self._works:
            work.note(**about)


def _missing(what: str, error: ImportError) -> SettingsError:
    return SettingsError(
        f"The {what} need a package that is not installed ({error.name}): run "
        "`pip install 'souffleur[telemetry]'`, or turn them off."
    )
