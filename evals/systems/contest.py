"""Contest: what several systems made of the same scripts, measured side by side.

Intervals are of the same bootstrap as the suite's (see `bootstrap`). A difference is of pairs: both
systems are drawn alike, script by script.
"""

import json
from collections.abc import Sequence
from typing import Literal

from pydantic import Field

from souffleur.evals.suite.metrics import Apart, Metric, compare_pairs, count, measured, ratio
from souffleur.evals.suite.result import Measured, Played
from souffleur.evals.systems.marking import TOLD
from souffleur.knowledge.memory import Frozen


class Side(Frozen):
    """One system on all scripts."""

    system: str
    version: str = ""
    tells_ops: bool = False
    scripts: tuple[Played, ...]
    """By name."""
    metrics: dict[str, Measured] = Field(default_factory=dict)
    ops: dict[str, dict[str, float]] = Field(default_factory=dict)
    """Of each op that it told of, or should have: right, wrong, met, missed."""

    @property
    def name(self) -> str:
        """With its version."""
        return f"{self.system} {self.version}".strip()

    @property
    def troubles(self) -> list[str]:
        """Why scripts, or turns of them, failed."""
        return [f"{one.name}: {trouble}" for one in self.scripts for trouble in one.troubles]


class Gap(Frozen):
    """Ours less another's, of one metric."""

    metric: str
    system: str
    """The other one."""
    value: float
    low: float
    """Of the 95 % interval; likewise `high`."""
    high: float
    better: Literal["ours", "theirs", ""]
    """Beyond noise; empty: nobody is."""


class Contest(Frozen):
    """A file of results: ours first."""

    format: Literal[1] = 1
    model: str
    embedder: str
    mode: Literal["recorded", "live"]
    scripts: int
    """How many count: those in which no system failed."""
    sides: tuple[Side, ...]
    gaps: tuple[Gap, ...] = ()

    @property
    def troubles(self) -> list[str]:
        """Why scripts, or turns of them, failed."""
        return [f"{side.system}: {trouble}" for side in self.sides for trouble in side.troubles]


def to_text(contest: Contest) -> str:
    """As JSON: of the same contest always the same."""
    plain = contest.model_dump(mode="json")
    return json.dumps(plain, ensure_ascii=False, indent=1, sort_keys=True) + "\n"


def gathered(
    sides: Sequence[Side],
    *,
    models: Sequence[str],
    embedders: Sequence[str],
    mode: Literal["recorded", "live"],
) -> Contest:
    """One contest of what was played, with its metrics; ours is the first side."""
    failed = {one.name for side in sides for one in side.scripts if one.failure}
    counted = [[one.counts for one in side.scripts if one.name not in failed] for side in sides]
    metrics = [metric for metric in METRICS if _is_told(metric, counted)]
    measured_sides = tuple(
        side.model_copy(update={"metrics": measured(counts, metrics), "ops": _ops(side, counts)})
        for side, counts in zip(sides, counted, strict=True)
    )
    gaps = [
        _gap(side.system, apart)
        for side, counts in zip(sides[1:], counted[1:], strict=True)
        for apart in compare_pairs(counts, counted[0], metrics)
    ]
    return Contest(
        model=", ".join(sorted({one for one in models if one})),
        embedder=", ".join(sorted({one for one in embedders if one})),
        mode=mode,
        scripts=len(counted[0]),
        sides=measured_sides,
        gaps=tuple(gaps),
    )


def _is_told(metric: Metric, counted: Sequence[Sequence[dict[str, float]]]) -> bool:
    """Seconds are there only where somebody was asked."""
    if metric.group != "latency":
        return True
    return any("timed" in counts for side in counted for counts in side)


def _gap(system: str, apart: Apart) -> Gap:
    better: Literal["ours", "theirs", ""] = ""
    if apart.low > 0 or apart.high < 0:
        better = "ours" if (apart.low > 0) == (apart.metric.good == "high") else "theirs"
    return Gap(
        metric=apart.metric.name,
        system=system,
        value=round(apart.b - apart.a, 6),
        low=apart.low,
        high=apart.high,
        better=better,
    )


def _ops(side: Side, counted: Sequence[dict[str, float]]) -> dict[str, dict[str, float]]:
    if not side.tells_ops:
        return {}
    ops: dict[str, dict[str, float]] = {}
    for counts in counted:
        for name, number in counts.items():
            if name.startswith(TOLD):
                op, _, what = name.removeprefix(TOLD).rpartition(".")
                row = ops.setdefault(op, dict.fromkeys(("right", "wrong", "met", "missed"), 0.0))
                row[what] += number
    return dict(sorted(ops.items()))


METRICS: tuple[Metric, ...] = (
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
