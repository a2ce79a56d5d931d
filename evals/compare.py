"""Comparison of two runs: the metrics that got worse beyond noise.

Draws are made from the scripts that both runs have, and are the same for both. A difference is a
regression if its 95 % interval excludes 0 in the bad direction. A wrong delete or an invented fact
is always a regression if run A does not have the same fault at this place.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from souffleur.evals.metrics import PairedDifference, compare_pairs, metrics_of
from souffleur.evals.result import ErrorType, OpStatus, Run, ScriptResult

ALWAYS_REGRESSIONS = (ErrorType.WRONG_DELETE, ErrorType.INVENTED)
COST_SLACK = 0.1
"""Maximum relative rise in cost that is no regression: a few words in a prompt have a cost."""


@dataclass(frozen=True)
class Difference:
    """One metric of both runs."""

    metric: str
    a: float
    b: float
    low: float
    """The lower end of the 95 % interval of b - a; likewise `high`."""
    high: float
    worse: bool
    """Whether run B is worse beyond noise; likewise `better`."""
    better: bool


@dataclass(frozen=True)
class Comparison:
    """Two runs compared."""

    differences: tuple[Difference, ...]
    """Every metric that both runs have."""
    new_faults: tuple[str, ...]
    """Wrong deletes and invented facts that only B has, and scripts that fail only in B."""
    only_a: tuple[str, ...]
    """Scripts that are only in A; likewise `only_b`."""
    only_b: tuple[str, ...]

    @property
    def regressions(self) -> list[str]:
        """The metrics and faults that got worse; empty if there are no regressions."""
        worse = [
            f"{one.metric}: {one.a:.3f} → {one.b:.3f} ({one.low:+.3f} to {one.high:+.3f})"
            for one in self.differences
            if one.worse
        ]
        return [*self.new_faults, *worse]


def compare(a: Run, b: Run) -> Comparison:
    """Compare run B with run A."""
    whole = {one.name: one for one in a.scripts}
    others = {one.name: one for one in b.scripts}
    both = sorted(whole.keys() & others.keys())
    played = [name for name in both if not (whole[name].failure or others[name].failure)]
    pairs = [(whole[name], others[name]) for name in played]
    counted_a, counted_b = [one.counts for one, _ in pairs], [one.counts for _, one in pairs]
    metrics = metrics_of([*counted_a, *counted_b])
    faults = [fault for name in both for fault in _new_faults(whole[name], others[name])]
    return Comparison(
        differences=tuple(map(_difference, compare_pairs(counted_a, counted_b, metrics))),
        new_faults=tuple(faults),
        only_a=tuple(sorted(whole.keys() - others.keys())),
        only_b=tuple(sorted(others.keys() - whole.keys())),
    )


def _difference(paired: PairedDifference) -> Difference:
    metric = paired.metric
    a, b = round(paired.a, 6), round(paired.b, 6)
    fell, rose = paired.high < 0, paired.low > 0
    worse, better = (fell, rose) if metric.good == "high" else (rose, fell)
    if metric.group in ("cost", "latency"):
        worse = worse and paired.b > paired.a * (1 + COST_SLACK)
    return Difference(metric.name, a, b, paired.low, paired.high, worse, better)


def _new_faults(a: ScriptResult, b: ScriptResult) -> Iterator[str]:
    if b.failure and not a.failure:
        yield f"{b.name}: fails: {b.failure}"
    elif not a.failure:
        yield from (f"{b.name}: {one}" for one in b.troubles if not a.troubles)
    before = Counter((place, nature) for place, nature, _ in _faults(a))
    for place, nature, words in _faults(b):
        if not before[place, nature]:
            yield f"{b.name} {place}: {nature.label}: {words}"
        before[place, nature] -= 1 if before[place, nature] else 0


def _faults(played: ScriptResult) -> Iterator[tuple[str, ErrorType, str]]:
    for step in played.steps:
        for done, mark in zip(step.ops, step.judged.marks, strict=True):
            if mark.standing is OpStatus.WRONG and mark.nature in ALWAYS_REGRESSIONS:
                yield step.place, mark.nature, done.words
