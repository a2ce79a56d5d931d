"""HaluMem's metrics, computed from the marks of an eval judge: pure.

As in the paper (Chen et al., HaluMem: Evaluating Hallucinations in Memory Systems of Agents,
https://arxiv.org/abs/2511.03506) and its code (`aggregate_eval_results` in
https://github.com/MemTensor/HaluMem/blob/main/eval/evaluation.py), there with the suffix "(all)":
what could not be marked stays in the denominator.
"""

from collections.abc import Iterable, Sequence
from typing import Literal

from souffleur.knowledge.memory import Frozen

INTERFERENCE = "interference"
"""Source of a point that only the assistant mentioned, or nobody: it must not be written."""

Score = Literal[0, 1, 2]
"""2 for all of it, 1 for a part, 0 for nothing."""
Change = Literal["correct", "hallucination", "omission", "other"]


class Point(Frozen):
    """A memory that a session should leave, or must not leave."""

    content: str
    kind: str
    """Persona Memory, Event Memory or Relationship Memory."""
    source: str
    importance: float = 1.0
    is_update: bool = False
    originals: tuple[str, ...] = ()
    """Contents of the memories that it replaces."""

    @property
    def wanted(self) -> bool:
        """Whether it should be written."""
        return self.source != INTERFERENCE

    @property
    def updates(self) -> bool:
        """Whether it replaces a memory."""
        return self.is_update and bool(self.originals)


class Covered(Frozen):
    """A point, and how far the memories written in its session cover it."""

    session: str
    point: Point
    score: Score | None
    """The mark; `None` if the judge gave no usable one. Likewise in the other marks."""
    reason: str = ""


class Extracted(Frozen):
    """A memory that was written, and whether it is true."""

    session: str
    content: str
    score: Score | None
    included: bool = False
    """Whether the session's points contain information of its kinds, true or not."""
    reason: str = ""


class Updated(Frozen):
    """An updating point, and what the store held for it after its session."""

    session: str
    point: Point
    found: tuple[str, ...]
    result: Change | None
    reason: str = ""


class Rate(Frozen):
    """A share, the number of cases, and the number of those without a mark."""

    value: float | None
    """The share; `None` if there are no cases."""
    of: int
    unmarked: int = 0


def measure(
    covered: Sequence[Covered], extracted: Sequence[Extracted], updated: Sequence[Updated]
) -> dict[str, Rate]:
    """Return all metrics by name."""
    return {
        **_integrity([one for one in covered if one.point.wanted]),
        **_accuracy(extracted),
        "false memory resistance": _share(
            [(one.score, one.score == 0) for one in covered if not one.point.wanted]
        ),
        "extraction F1": _f1(covered, extracted),
        **{
            f"update {name}": _share([(one.result, one.result == name) for one in updated])
            for name in ("correct", "hallucination", "omission", "other")
        },
        **_by_kind(covered, updated),
    }


def harmonic(precision: float | None, recall: float | None) -> float | None:
    """Return the harmonic mean (F1); `None` if either value is `None`.

    >>> harmonic(0.5, 1.0), harmonic(0.0, 0.0), harmonic(None, 1.0)
    (0.6666666666666666, 0.0, None)
    """
    if precision is None or recall is None:
        return None
    both = precision + recall
    return 2 * precision * recall / both if both else 0.0


def _integrity(covered: Sequence[Covered]) -> dict[str, Rate]:
    """Return recall, which counts full coverage, and weighted recall, where a part counts half."""
    whole = sum(one.point.importance for one in covered)
    kept = sum(0.5 * (one.score or 0) * one.point.importance for one in covered)
    recall = _share([(one.score, one.score == 2) for one in covered])
    return {
        "recall": recall,
        "weighted recall": recall.model_copy(update={"value": kept / whole if whole else None}),
        "partly covered": _share([(one.score, one.score == 1) for one in covered]),
        "omitted": _share([(one.score, one.score == 0) for one in covered]),
    }


def _accuracy(extracted: Sequence[Extracted]) -> dict[str, Rate]:
    """Return the accuracy of all memories written, and of those whose kinds the points have."""
    target = [one for one in extracted if one.included]
    return {"accuracy": _mean(extracted), "target precision": _mean(target)}


def _f1(covered: Sequence[Covered], extracted: Sequence[Extracted]) -> Rate:
    wanted = [one for one in covered if one.point.wanted]
    recall, precision = _integrity(wanted)["recall"], _accuracy(extracted)["target precision"]
    return Rate(
        value=harmonic(precision.value, recall.value),
        of=recall.of + precision.of,
        unmarked=recall.unmarked + precision.unmarked,
    )


def _by_kind(covered: Sequence[Covered], updated: Sequence[Updated]) -> dict[str, Rate]:
    """Return the paper's type-wise accuracy: points fully covered or correctly updated."""
    right: dict[str, list[tuple[object, bool]]] = {}
    for one in (one for one in covered if one.point.wanted):
        right.setdefault(one.point.kind, []).append((one.score, one.score == 2))
    for other in updated:
        result = (other.result, other.result == "correct")
        right.setdefault(other.point.kind, []).append(result)
    return {f"right: {kind}": _share(right[kind]) for kind in sorted(right)}


def _mean(extracted: Sequence[Extracted]) -> Rate:
    scores = [one.score for one in extracted]
    kept = sum(0.5 * (score or 0) for score in scores)
    return Rate(
        value=kept / len(scores) if scores else None, of=len(scores), unmarked=scores.count(None)
    )


def _share(marks: Iterable[tuple[object, bool]]) -> Rate:
    """Return the share of marks that count; each comes as (mark, whether it counts)."""
    pairs = list(marks)
    return Rate(
        value=sum(counts for _, counts in pairs) / len(pairs) if pairs else None,
        of=len(pairs),
        unmarked=sum(mark is None for mark, _ in pairs),
    )
