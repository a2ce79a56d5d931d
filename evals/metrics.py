"""Metrics: rates made from counts, each with a bootstrap interval over scripts.

A metric is the ratio of sums, not the mean of ratios: a script with more turns weighs more.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from souffleur.evals.bootstrap import draws, interval, ones, rounded
from souffleur.evals.result import ErrorType, Measured, ScriptResult
from souffleur.evals.script import Op

if TYPE_CHECKING:
    from souffleur.evals.bootstrap import Array

SKIP = "SKIP"
OP_NAMES = (*(str(op) for op in Op), SKIP)

Sums = Mapping[str, "Array"]
"""Counts by name: an array with one number for each draw."""
Good = Literal["high", "low"]
Group = Literal["ops", "errors", "updates", "details", "recall", "cost", "latency"]


@dataclass(frozen=True)
class Metric:
    """A metric, and the direction in which it is good."""

    name: str
    group: Group
    of: "Callable[[Sums], Array]"
    good: Good = "high"
    about: str = ""


@dataclass(frozen=True)
class PairedDifference:
    """A metric of two runs with the same draws, and the interval of B - A."""

    metric: Metric
    a: float
    b: float
    low: float
    high: float


def measure(scripts: Sequence[ScriptResult]) -> dict[str, Measured]:
    """Return every metric that these scripts have data for; failed scripts are left out."""
    counted = [one.counts for one in scripts if not one.failure]
    return measured(counted, metrics_of(counted))


def measured(
    counted: Sequence[Mapping[str, float]], metrics: Sequence[Metric]
) -> dict[str, Measured]:
    """Return the metrics that have data, by name."""
    if not counted:
        return {}
    once, drawn = sums(counted, ones(len(counted))), sums(counted, draws(len(counted)))
    found: dict[str, Measured] = {}
    for metric in metrics:
        if (value := rounded(metric.of(once)[0])) is not None:
            low, high = interval(metric.of(drawn))
            found[metric.name] = Measured(value=value, low=low, high=high)
    return found


def compare_pairs(
    a: Sequence[Mapping[str, float]],
    b: Sequence[Mapping[str, float]],
    metrics: Sequence[Metric],
) -> Iterator[PairedDifference]:
    """Yield the paired difference of each metric that has data in both runs."""
    if not a:
        return
    once, drawn = ones(len(a)), draws(len(a))
    once_a, once_b, drawn_a, drawn_b = sums(a, once), sums(b, once), sums(a, drawn), sums(b, drawn)
    for metric in metrics:
        value_a, value_b = float(metric.of(once_a)[0]), float(metric.of(once_b)[0])
        low, high = interval(metric.of(drawn_b) - metric.of(drawn_a))
        blank = math.isnan(value_a) or math.isnan(value_b)
        if not blank and low is not None and high is not None:
            yield PairedDifference(metric, value_a, value_b, low, high)


def metrics_of(counted: Sequence[Mapping[str, float]]) -> list[Metric]:
    """Return all metrics, including the metrics of the ops and requests that were counted."""
    names = {name for counts in counted for name in counts}
    ops = [op for op in OP_NAMES if any(name.startswith(f"{op}.") for name in names)]
    requests = sorted(name.removeprefix("timed.") for name in names if name.startswith("timed."))
    return [
        *_rates(OP_NAMES[:-1], "all"),
        *(metric for op in ops for metric in _rates((op,), op)),
        *FIXED_METRICS,
        *(_latency(request) for request in requests),
    ]


def sums(counted: Sequence[Mapping[str, float]], drawn: "Array") -> Sums:
    """Return the sums of each count in each draw, by name; 0 for names that were never counted."""
    import numpy as np

    names = sorted({name for counts in counted for name in counts})
    table = np.array([[counts.get(name, 0.0) for name in names] for counts in counted])
    added = drawn @ table if names else np.zeros((len(drawn), 0))
    return _Sums(dict(zip(names, added.T, strict=True)), len(drawn))


class _Sums(dict[str, Any]):
    def __init__(self, known: Mapping[str, Any], length: int) -> None:
        super().__init__(known)
        self._length = length

    def __missing__(self, name: str) -> Any:
        import numpy as np

        return np.zeros(self._length)


def _over(part: "Array", whole: "Array") -> "Array":
    import numpy as np

    over: Array = np.divide(part, whole, out=np.full(len(part), np.nan), where=whole > 0)
    return over


def _add(sums: Sums, ops: Sequence[str], what: str) -> "Array":
    added: Array = sum((sums[f"{op}.{what}"] for op in ops), start=sums["nothing"])
    return added


def _rates(ops: Sequence[str], name: str) -> list[Metric]:
    def precision(sums: Sums) -> "Array":
        right = _add(sums, ops, "right")
        return _over(right, right + _add(sums, ops, "wrong"))

    def recall(sums: Sums) -> "Array":
        met = _add(sums, ops, "met")
        return _over(met, met + _add(sums, ops, "missed"))

    def f1(sums: Sums) -> "Array":
        right, wrong = _add(sums, ops, "right"), _add(sums, ops, "wrong")
        met, missed = _add(sums, ops, "met"), _add(sums, ops, "missed")
        import numpy as np

        # An op that was never done has no precision, but an F1 of 0 if it was expected.
        p = np.nan_to_num(_over(right, right + wrong))
        r = np.nan_to_num(_over(met, met + missed))
        both = np.divide(2 * p * r, p + r, out=np.zeros(len(p)), where=p + r > 0)
        return np.where(right + wrong + met + missed > 0, both, np.nan)

    return [
        Metric(f"{name} precision", "ops", precision),
        Metric(f"{name} recall", "ops", recall),
        Metric(f"{name} F1", "ops", f1),
    ]


def _share(
    name: str, group: Group, part: str, *others: str, about: str = "", good: Good = "high"
) -> Metric:
    """Return the metric of the first count over the sum of all these counts."""

    def of(sums: Sums) -> "Array":
        whole: Array = sum((sums[other] for other in others), start=sums[part])
        return _over(sums[part], whole)

    return Metric(name, group, of, good, about)


def ratio(
    name: str, group: Group, part: str, whole: str, *, about: str = "", good: Good = "high"
) -> Metric:
    """Return the metric of a count over another count."""
    return Metric(name, group, lambda sums: _over(sums[part], sums[whole]), good, about)


def count(name: str, *parts: str, about: str = "") -> Metric:
    """Return a metric that counts errors; lower is better."""

    def of(sums: Sums) -> "Array":
        added: Array = sum((sums[part] for part in parts), start=sums["nothing"])
        return added

    return Metric(name, "errors", of, "low", about)


def _latency(request: str) -> Metric:
    return ratio(
        f"{request} seconds", "latency", f"seconds.{request}", f"timed.{request}", good="low"
    )


_UPDATE_COUNTS = ("update.correct", "update.hallucinated", "update.omitted")

FIXED_METRICS: tuple[Metric, ...] = (
    count("wrong deletes", f"nature.{ErrorType.WRONG_DELETE}", about="let go, and not to be"),
    count("invented", f"nature.{ErrorType.INVENTED}", about="not supported by what was said"),
    count("noise", f"nature.{ErrorType.NOISE}", about="said, but not worth keeping"),
    count("unforeseen", f"nature.{ErrorType.UNFORESEEN}", about="worth keeping; not in the script"),
    count("misfiled", f"nature.{ErrorType.MISFILED}", about="another op was due"),
    count("duplicates", f"nature.{ErrorType.DUPLICATE}", "held_twice", about="known already"),
    count("breaches", "breaches", about="what must never happen"),
    _share("update correct", "updates", *_UPDATE_COUNTS, about="of the updates that were due"),
    _share("update hallucinated", "updates", *_UPDATE_COUNTS[1:], _UPDATE_COUNTS[0], good="low"),
    _share("update omitted", "updates", *_UPDATE_COUNTS[2:], *_UPDATE_COUNTS[:2], good="low"),
    ratio("detail retention", "details", "details.kept", "details.all"),
    ratio("kind accuracy", "details", "kind.right", "kind.all"),
    _share("boost correct", "details", "BOOST.right", "BOOST.wrong", "BOOST.missed"),
    ratio("end state", "details", "end.right", "end.all"),
    ratio("recall hit rate", "recall", "brings.hit", "brings.all"),
    ratio("recall lacks kept", "recall", "lacks.kept", "lacks.all"),
    ratio("recall MRR", "recall", "rank.sum", "rank.all", about="of what the message calls for"),
    ratio("calls per turn", "cost", "calls", "turns", good="low"),
    ratio("tokens in per turn", "cost", "tokens.in", "turns", good="low"),
    ratio("tokens out per turn", "cost", "tokens.out", "turns", good="low"),
    ratio("dollars per turn", "cost", "cost", "turns", good="low"),
)
