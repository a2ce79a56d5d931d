"""The page of results: tables, plots, and each dialogue with its turns, ops, misses and prompts."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from souffleur.evals.metrics import Metric, metrics_of
from souffleur.evals.result import (
    Mark,
    Measured,
    OpRecord,
    OpStatus,
    ResultFile,
    Run,
    ScriptResult,
    Step,
    interval,
    number,
)
from souffleur.report.page import render
from souffleur.report.phrases import count

HEADLINES = (
    *("all precision", "all recall", "wrong deletes", "invented", "breaches", "noise"),
    *("duplicates", "update correct", "detail retention", "recall hit rate"),
)
COUNT_METRICS = {"wrong deletes", "invented", "breaches", "noise", "duplicates"}
UNRATED = ("cost", "latency")
"""Groups of metrics that have no best value."""
GROUP_HEADINGS = {
    "ops": "Ops: precision is of what was done, recall of what was expected",
    "errors": "Errors: how many there were",
    "updates": "Updates, as HaluMem scores them",
    "details": "What was written, and what is there at the end",
    "recall": "What was whispered",
    "cost": "What it cost, without the LLM judge",
    "latency": "How long the model took",
}
UNMEASURED = Measured(value=None)


@dataclass(frozen=True)
class Row:
    """A metric, with the models side by side."""

    metric: Metric
    measured: tuple[Measured, ...]
    """The values, one for each run."""
    highest: float
    """The value at the right end of the row's plots."""


def to_html(saved: ResultFile, *, title: str = "Souffleur: evals") -> str:
    """Return a page that needs no script, file or network."""
    return render(
        "souffleur.evals",
        "evals.html",
        title=title,
        runs=saved.runs,
        tables=tables(saved.runs),
        headlines=headlines,
        shortfalls=shortfalls,
        count_faults=count_faults,
        count=count,
        faults=faults,
        marked=marked,
        misses=misses,
        number=number,
        interval=interval,
        place=place,
    )


def headlines(run: Run) -> dict[str, str]:
    """Return the most important numbers of a run."""
    values = {name: run.metrics.get(name, UNMEASURED).value for name in HEADLINES}
    return {name: number(one, counted=name in COUNT_METRICS) for name, one in values.items()}


def shortfalls(run: Run) -> tuple[int, dict[str, str]]:
    """Return how many metrics have their best value, and the interval of each other metric."""
    rated = [
        metric
        for metric in metrics_of([one.counts for one in run.scripts])
        if metric.group not in UNRATED and metric.name in run.metrics
    ]
    short = {
        metric.name: interval(run.metrics[metric.name], counted=metric.group == "errors")
        for metric in rated
        if run.metrics[metric.name].value != (1.0 if metric.good == "high" else 0.0)
    }
    return len(rated) - len(short), short


def tables(runs: Sequence[Run]) -> dict[str, list[Row]]:
    """Return the metrics of all runs, by the heading of their group."""
    known = metrics_of([one.counts for run in runs for one in run.scripts])
    found = {}
    for group, heading in GROUP_HEADINGS.items():
        measured = {
            metric: tuple(run.metrics.get(metric.name, UNMEASURED) for run in runs)
            for metric in known
            if metric.group == group and any(metric.name in run.metrics for run in runs)
        }
        if measured:
            every = [one for some in measured.values() for one in some]
            found[heading] = [
                Row(metric, own, _scale(group, every if group == "errors" else own))
                for metric, own in measured.items()
            ]
    return found


def _scale(group: str, shown: Sequence[Measured]) -> float:
    """Return the right end of a group's plots: 1 for rates, else the highest value."""
    if group not in ("errors", "cost", "latency"):
        return 1.0
    return max(max(one.high or 0.0, one.value or 0.0) for one in shown)


def place(value: float, highest: float) -> str:
    """Return the position of a value on a plot from 0 to `highest`, with room for its dot.

    >>> place(0, 1), place(1, 2), place(9, 2), place(0, 0)
    ('3.00%', '50.00%', '97.00%', '3.00%')
    """
    return f"{3 + 94 * max(0.0, min(value / (highest or 1.0), 1.0)):.2f}%"


def marked(step: Step) -> list[tuple[OpRecord, Mark]]:
    """Return the marked ops of a step, each with its mark."""
    return list(zip(step.ops, step.judged.marks, strict=False))


def misses(step: Step) -> list[tuple[str, str]]:
    """Return each miss of a step: a word for its kind, and the expectation that was missed."""
    judged = step.judged
    kinds = {
        "missed": judged.missed,
        "never": judged.breaches,
        "detail lost": judged.lost,
        "kind": judged.misnamed,
        "recall": judged.recall,
        "failed": tuple(filter(None, (step.trouble, step.untold))),
    }
    return [(kind, one) for kind, found in kinds.items() for one in found]


def count_faults(run: Run) -> dict[str, int]:
    """Return the number of faults of each kind in a run, the most frequent first."""
    return dict(Counter(kind for one in run.scripts for kind in faults(one)).most_common())


def faults(one: ScriptResult) -> Iterator[str]:
    """Yield the kind of each fault of a script."""
    if one.failure:
        yield "failed"
    for step in one.steps:
        judged = step.judged
        for done, mark in marked(step):
            if mark.standing is OpStatus.WRONG:
                yield f"{done.op}: {mark.nature.label or 'wrong'}"
        yield from (f"{label.split()[0]} missed" for label in judged.missed)
        yield from ("detail lost" for _ in judged.lost)
        yield from ("wrong kind" for _ in judged.misnamed)
        yield from ("recall" for _ in judged.recall)
        yield from ("unanswered" for one_of in (step.trouble, step.untold) if one_of)
    yield from ("end state" for _ in one.end)
