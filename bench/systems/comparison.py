"""Comparison: the results of several systems on the same scripts, measured side by side.

Intervals come from the same bootstrap as the suite's (see `bootstrap`). Differences are paired:
both systems are drawn alike, script by script.
"""

import json
from collections.abc import Sequence
from typing import Literal

from pydantic import Field

from bench.systems.script_runner import TOLD_PREFIX
from souffleur.evals.metrics import (
    Metric,
    PairedDifference,
    compare_pairs,
    count,
    measured,
    ratio,
)
from souffleur.evals.result import Measured, ScriptResult
from souffleur.knowledge.memory import Frozen


class SystemResult(Frozen):
    """The results of one system on all scripts."""

    system: str
    version: str = ""
    tells_ops: bool = False
    scripts: tuple[ScriptResult, ...]
    """The scripts, sorted by name."""
    metrics: dict[str, Measured] = Field(default_factory=dict)
    ops: dict[str, dict[str, float]] = Field(default_factory=dict)
    """Counts of right, wrong, met and missed, for each op that it reported or should have."""

    @property
    def name(self) -> str:
        """The name with the version."""
        return f"{self.system} {self.version}".strip()

    @property
    def troubles(self) -> list[str]:
        """Why scripts, or turns of them, failed."""
        return [f"{one.name}: {trouble}" for one in self.scripts for trouble in one.troubles]


class SystemDifference(Frozen):
    """The difference of one metric: ours minus another system's."""

    metric: str
    system: str
    """The other system."""
    value: float
    low: float
    """The lower end of the 95 % interval; likewise `high`."""
    high: float
    better: Literal["ours", "theirs", ""]
    """Which one is better beyond noise; empty if neither is."""


class SystemComparison(Frozen):
    """A file of results; ours comes first."""

    format: Literal[1] = 1
    model: str
    embedder: str
    mode: Literal["recorded", "live"]
    scripts: int
    """The number of scripts that count: those in which no system failed."""
    sides: tuple[SystemResult, ...]
    gaps: tuple[SystemDifference, ...] = ()

    @property
    def troubles(self) -> list[str]:
        """Why scripts, or turns of them, failed."""
        return [
            f"{result.system}: {trouble}" for result in self.sides for trouble in result.troubles
        ]


def to_text(comparison: SystemComparison) -> str:
    """Return the comparison as JSON; the same comparison always gives the same text."""
    plain = comparison.model_dump(mode="json")
    return json.dumps(plain, ensure_ascii=False, indent=1, sort_keys=True) + "\n"


def compare_systems(
    sides: Sequence[SystemResult],
    *,
    models: Sequence[str],
    embedders: Sequence[str],
    mode: Literal["recorded", "live"],
) -> SystemComparison:
    """Compare what was played and compute the metrics; the first side must be ours."""
    failed = {one.name for result in sides for one in result.scripts if one.failure}
    counted = [[one.counts for one in result.scripts if one.name not in failed] for result in sides]
    metrics = [metric for metric in SYSTEM_METRICS if _is_told(metric, counted)]
    measured_sides = tuple(
        result.model_copy(
            update={"metrics": measured(counts, metrics), "ops": _ops(result, counts)}
        )
        for result, counts in zip(sides, counted, strict=True)
    )
    gaps = [
        _difference(result.system, paired)
        for result, counts in zip(sides[1:], counted[1:], strict=True)
        for paired in compare_pairs(counts, counted[0], metrics)
    ]
    return SystemComparison(
        model=", ".join(sorted({one for one in models if one})),
        embedder=", ".join(sorted({one for one in embedders if one})),
        mode=mode,
        scripts=len(counted[0]),
        sides=measured_sides,
        gaps=tuple(gaps),
    )


def _is_told(metric: Metric, counted: Sequence[Sequence[dict[str, float]]]) -> bool:
    """Tell whether a metric applies: seconds are only known if a model was asked."""
    if metric.group != "latency":
        return True
    return any("timed" in counts for result in counted for counts in result)


def _difference(system: str, paired: PairedDifference) -> SystemDifference:
    better: Literal["ours", "theirs", ""] = ""
    if paired.low > 0 or paired.high < 0:
        better = "ours" if (paired.low > 0) == (paired.metric.good == "high") else "theirs"
    return SystemDifference(
        metric=paired.metric.name,
        system=system,
        value=round(paired.b - paired.a, 6),
        low=paired.low,
        high=paired.high,
        better=better,
    )


def _ops(result: SystemResult, counted: Sequence[dict[str, float]]) -> dict[str, dict[str, float]]:
    if not result.tells_ops:
        return {}
    ops: dict[str, dict[str, float]] = {}
    for counts in counted:
        for name, number in counts.items():
            if name.startswith(TOLD_PREFIX):
                op, _, what = name.removeprefix(TOLD_PREFIX).rpartition(".")
                row = ops.setdefault(op, dict.fromkeys(("right", "wrong", "met", "missed"), 0.0))
                row[what] += number
    return dict(sorted(ops.items()))


SYSTEM_METRICS: tuple[Metric, ...] = (
    ratio("holds at the end", "details", "holds.right", "holds.all", about="once, where so asked"),
    ratio("lacks at the end", "details", "gone.right", "gone.all"),
    ratio("learned at its turn", "details", "learned.right", "learned.all"),
    count("breaches", "breaches", about="written, and never to be"),
    count("held twice", "held_twice", about="of what there is to be once"),
    count("near-duplicates", "near", about="at the end, by cosine"),
    ratio("recall brings", "recall", "brings.hit", "brings.all"),
    ratio("recall lacks", "recall", "lacks.kept", "lacks.all"),
    ratio("written per turn", "cost", "wrote", "turns", good="low"),
    ratio("memories at the end", "cost", "memories", "scripts", good="low"),
    ratio("calls per turn", "cost", "calls", "turns", good="low"),
    ratio("tokens in per turn", "cost", "tokens.in", "turns", good="low"),
    ratio("tokens out per turn", "cost", "tokens.out", "turns", good="low"),
    ratio("dollars per turn", "cost", "cost", "turns", good="low"),
    ratio("model seconds per turn", "latency", "seconds", "turns", good="low"),
)
