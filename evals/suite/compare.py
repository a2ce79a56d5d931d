"""Comparison of two runs: what got worse beyond noise.

Both runs are drawn alike, script by script, from those that both have: a difference whose 95 %
interval excludes 0 in the bad direction is a regression. A wrong delete or an invented fact is one
wherever there was none.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from souffleur.evals.suite.bootstrap import draws, interval, ones
from souffleur.evals.suite.metrics import Metric, metrics_of, sums
from souffleur.evals.suite.result import Nature, Played, Run, Standing

NEVER_NEW = (Nature.WRONG_DELETE, Nature.INVENTED)
SLACK = 0.1
"""What costs a tenth more is no regression: a few words in a prompt cost something everywhere."""


@dataclass(frozen=True)
class Difference:
    """One metric of both runs."""

    metric: str
    a: float
    b: float
    low: float
    """Of the difference b - a; likewise `high`."""
    high: float
    worse: bool
    """Beyond noise."""
    better: bool


@dataclass(frozen=True)
class Comparison:
    """Two runs beside each other."""

    differences: tuple[Difference, ...]
    """Of every metric that both have."""
    new_faults: tuple[str, ...]
    """Wrong deletes and invented facts that A did not have, and scripts that fail only in B."""
    only_a: tuple[str, ...]
    """Scripts that B does not have; likewise `only_b`."""
    only_b: tuple[str, ...]

    @property
    def regressions(self) -> list[str]:
        """What got worse; empty: nothing did."""
        worse = [
            f"{one.metric}: {one.a:.3f} → {one.b:.3f} ({one.low:+.3f} to {one.high:+.3f})"
            for one in self.differences
            if one.worse
        ]
        return [*self.new_faults, *worse]


def compare(a: Run, b: Run) -> Comparison:
    """How B differs from A."""
    whole = {one.name: one for one in a.scripts}
    others = {one.name: one for one in b.scripts}
    both = sorted(whole.keys() & others.keys())
    played = [name for name in both if not (whole[name].failure or others[name].failure)]
    pairs = [(whole[name], others[name]) for name in played]
    faults = [fault for name in both for fault in _new_faults(whole[name], others[name])]
    return Comparison(
        differences=tuple(_differences(pairs)),
        new_faults=tuple(faults),
        only_a=tuple(sorted(whole.keys() - others.keys())),
        only_b=tuple(sorted(others.keys() - whole.keys())),
    )


def _differences(pairs: Sequence[tuple[Played, Played]]) -> Iterator[Difference]:
    if not pairs:
        return
    counted_a, counted_b = [one.counts for one, _ in pairs], [one.counts for _, one in pairs]
    once, drawn = ones(len(pairs)), draws(len(pairs))
    for metric in metrics_of([*counted_a, *counted_b]):
        a = float(metric.of(sums(counted_a, once))[0])
        b = float(metric.of(sums(counted_b, once))[0])
        apart = metric.of(sums(counted_b, drawn)) - metric.of(sums(counted_a, drawn))
        low, high = interval(apart)
        if a == a and b == b and low is not None and high is not None:  # NaN: nothing to measure
            yield _difference(metric, a, b, low, high)


def _difference(metric: Metric, a: float, b: float, low: float, high: float) -> Difference:
    fell, rose = high < 0, low > 0
    worse, better = (fell, rose) if metric.good == "high" else (rose, fell)
    if metric.group in ("cost", "latency"):
        worse = worse and b > a * (1 + SLACK)
    return Difference(metric.name, round(a, 6), round(b, 6), low, high, worse, better)


def _new_faults(a: Played, b: Played) -> Iterator[str]:
    if b.failure and not a.failure:
        yield f"{b.name}: fails: {b.failure}"
    elif not a.failure:
        yield from (f"{b.name}: {one}" for one in b.troubles if not a.troubles)
    before = Counter((place, nature) for place, nature, _ in _faults(a))
    for place, nature, words in _faults(b):
        if not before[place, nature]:
            yield f"{b.name} {place}: {nature}: {words}"
        before[place, nature] -= 1 if before[place, nature] else 0


def _faults(played: Played) -> Iterator[tuple[str, Nature, str]]:
    for step in played.steps:
        for done, mark in zip(step.ops, step.judged.marks, strict=True):
            if mark.standing is Standing.WRONG and mark.nature in NEVER_NEW:
                yield step.place, mark.nature, done.words
