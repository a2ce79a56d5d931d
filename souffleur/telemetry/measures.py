"""Measures: counts and times what is watched, for Prometheus."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Histogram

from souffleur.knowledge.watching import Note, What

QUICK = (0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.003, 0.005, 0.008, 0.012, 0.02, 0.04, 0.08, 0.15)
"""Upper bounds in seconds for what waits for the store alone."""
MODERATE = (*QUICK, 0.3, 0.6, 1.0, 2.5, 5.0)
"""Upper bounds in seconds for what may wait for an embedder."""
SLOW = (0.01, 0.05, 0.1, 0.25, 0.5, 1.0, 2.0, 3.0, 5.0, 8.0, 12.0, 20.0, 30.0, 60.0, 120.0, 300.0)
"""Upper bounds in seconds for what waits for a model."""

Notes = dict[str, Note]


class _Noted:
    """Holds the notes about one piece of work."""

    def __init__(self, about: Notes) -> None:
        self.about = about

    def note(self, **about: Note) -> None:
        """Add notes."""
        self.about.update(about)


class Measures:
    """A `Watch`. No user, session or text becomes a label, so their number is bounded."""

    def __init__(self, registry: CollectorRegistry, steady: Callable[[], float]) -> None:
        """`steady` returns seconds that never jump."""
        self._steady = steady
        self._seconds = _histograms(registry)
        self._counters = _counters(registry)
        self._count: dict[str, Callable[[Notes, str], None]] = {
            "recall": self._recalled,
            "observe": self._observed,
            "judge": self._judged,
            "chat": self._asked,
            "apply": self._applied,
            "run": self._ran,
        }

    @contextmanager
    def __call__(self, what: What, **about: Note) -> Iterator[_Noted]:
        """Measure what is done within this context."""
        noted, error, began = _Noted(about), "", self._steady()
        try:
            yield noted
        except BaseException as raised:
            error = type(raised).__name__
            raise
        finally:
            took = max(0.0, self._steady() - began)
            self._time(what, noted.about, took)
            if count := self._count.get(what):
                count(noted.about, error)

    def _time(self, what: str, about: Notes, took: float) -> None:
        seconds = self._seconds.get(what)
        if what == "engine" and seconds:
            seconds.labels(_text(about, "collection"), _text(about, "call")).observe(took)
        elif what == "chat" and seconds:
            seconds.labels(_text(about, "prompt")).observe(took)
        elif seconds:
            seconds.observe(took)

    def _recalled(self, about: Notes, error: str) -> None:
        self._counters["recalls"].labels("error" if error or about.get("error") else "ok").inc()

    def _observed(self, about: Notes, error: str) -> None:
        if about.get("durable") is False:
            self._counters["turns_late"].inc()
        if about.get("new"):
            self._counters["turns_observed"].inc()

    def _judged(self, about: Notes, error: str) -> None:
        turns = _number(about, "turns")
        if error:
            self._counters["judgements_failed"].labels(error).inc()
        else:
            self._counters["turns_judged"].inc(turns)

    def _asked(self, about: Notes, error: str) -> None:
        model, prompt = _text(about, "model"), _text(about, "prompt")
        self._counters["model_calls"].labels(model, prompt, error or "ok").inc()
        cached = _number(about, "cached_tokens")
        tokens = {"input": _number(about, "input_tokens") - cached, "cached": cached}
        tokens["output"] = _number(about, "output_tokens")
        for kind, number in tokens.items():
            self._counters["model_tokens"].labels(model, kind).inc(max(0.0, number))
        self._counters["model_cost"].labels(model).inc(_number(about, "cost"))

    def _applied(self, about: Notes, error: str) -> None:
        for op in _each(about, "done"):
            self._counters["operations"].labels(op, _text(about, "by")).inc()
        for reason in _each(about, "refused"):
            self._counters["refusals"].labels(reason).inc()

    def _ran(self, about: Notes, error: str) -> None:
        self._counters["runs"].labels(_text(about, "name"), error or "ok").inc()


def _histograms(registry: CollectorRegistry) -> dict[str, Histogram]:
    def of(name: str, text: str, bounds: tuple[float, ...], *labels: str) -> Histogram:
        return Histogram(f"souffleur_{name}", text, labels, buckets=bounds, registry=registry)

    return {
        "recall": of("recall_seconds", "Time of recall", MODERATE),
        "observe": of("observe_seconds", "Time of observe", QUICK),
        "judge": of("judgement_seconds", "Time to judge turns, with the model's", SLOW),
        "tell": of("telling_seconds", "Time to write episodes and portraits, if any", SLOW),
        "chat": of("model_call_seconds", "Time of a call of the model", SLOW, "prompt"),
        "embed": of("embedding_seconds", "Time of a request to the embedder", MODERATE),
        "engine": of("engine_seconds", "Time of a call of Qdrant", QUICK, "collection", "call"),
    }


def _counters(registry: CollectorRegistry) -> dict[str, Counter]:
    def of(name: str, text: str, *labels: str) -> Counter:
        return Counter(f"souffleur_{name}", text, labels, registry=registry)

    return {
        "recalls": of("recalls", "Calls of recall, by whether an error was told", "result"),
        "turns_observed": of("turns_observed", "New turns, and new versions of turns"),
        "turns_late": of("turns_late", "Turns that could not be stored at once"),
        "turns_judged": of("turns_judged", "Turns judged"),
        "judgements_failed": of("judgements_failed", "Attempts to judge that failed", "error"),
        "operations": of("operations", "Changes carried out, by op and by whom", "op", "by"),
        "refusals": of("refusals", "Changes refused, by reason", "reason"),
        "model_calls": of("model_calls", "Calls of the model", "model", "prompt", "result"),
        "model_tokens": of("model_tokens", "Tokens: input, cached input, output", "model", "kind"),
        "model_cost": of("model_cost_dollars", "Cost of the model by the set prices", "model"),
        "runs": of("runs", "Runs of what is due", "name", "result"),
    }


def _text(about: Notes, name: str) -> str:
    value = about.get(name)
    return value if isinstance(value, str) else ""


def _number(about: Notes, name: str) -> float:
    value: Any = about.get(name)
    return float(value) if isinstance(value, int | float) else 0.0


def _each(about: Notes, name: str) -> list[str]:
    value = about.get(name)
    return [str(one) for one in value] if isinstance(value, tuple | list) else []
