"""HaluMem's eval judge, and the metrics computed from its marks.

The metrics are those of the paper (Chen et al., HaluMem: Evaluating Hallucinations in Memory
Systems of Agents, https://arxiv.org/abs/2511.03506) and its code (`aggregate_eval_results` in
https://github.com/MemTensor/HaluMem/blob/main/eval/evaluation.py), there with the suffix "(all)":
what could not be marked stays in the denominator.

The judge is asked the same as the paper's (`eval/eval_tools.py`), in other words: their licence (CC
BY-NC-ND) forbids shipping theirs. They make one request for each point; here one request carries a
batch of one session.
"""

import asyncio
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from typing import Generic, Literal, TypeVar

from pydantic import BaseModel, ConfigDict

from souffleur.agents.brief import NONE
from souffleur.agents.structured_chat import StructuredChat
from souffleur.agents.task import Task, ask_task
from souffleur.errors import AnswerError
from souffleur.knowledge.memory import Frozen
from souffleur.prompts import Language, language_of, render

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


MARK_BATCH = 15
"""Points or memories in one request: an answer of some 1,000 tokens."""
UPDATE_BATCH = 5
"""Updates in one request, each with ten memories."""
PARALLEL_REQUESTS = 6
"""Concurrent requests."""


class _Mark(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")

    number: int
    reason: str


class CoverMark(_Mark):
    """The degree to which memories cover a point."""

    score: Score


class TruthMark(_Mark):
    """Whether a memory is true."""

    score: Score
    included: bool


class UpdateMark(_Mark):
    """Whether a memory was updated."""

    result: Change


M = TypeVar("M", bound=_Mark)
T = TypeVar("T")


class Marks(BaseModel, Generic[M]):
    """An answer of the eval judge."""

    marks: list[M]


@dataclass(frozen=True)
class SessionResult:
    """A session, and the memories it left."""

    session: str
    user: str
    """The name of the person in the points."""
    talk: str
    points: tuple[Point, ...]
    written: tuple[str, ...]
    """Contents of the memories added and updated during the session, in order."""
    found: dict[int, tuple[str, ...]]
    """The search results after the session for each updating point, by index of the point."""

    @property
    def updates(self) -> list[int]:
        """Indices of the points that are marked as updates.

        As in the paper's code, a point without search results counts among those to be covered.
        """
        return [index for index, texts in sorted(self.found.items()) if texts]

    @property
    def others(self) -> list[Point]:
        """The points that are marked by the memories written."""
        updates = set(self.updates)
        return [point for index, point in enumerate(self.points) if index not in updates]

    @property
    def language(self) -> Language:
        """The language of the prompts."""
        return language_of(self.talk)


@dataclass(frozen=True)
class SessionMarks:
    """The marks of all sessions."""

    covered: tuple[Covered, ...]
    extracted: tuple[Extracted, ...]
    updated: tuple[Updated, ...]


class Marker:
    """The eval judge: sends a few requests concurrently."""

    def __init__(self, judge: StructuredChat) -> None:
        self._judge = judge
        self._slots = asyncio.Semaphore(PARALLEL_REQUESTS)

    async def mark(self, results: Sequence[SessionResult]) -> SessionMarks:
        """Return the marks of all sessions; what was not marked after asking twice has none.

        Raises EndpointError, RecordingError.
        """
        covered = await asyncio.gather(*map(self._cover, results))
        extracted = await asyncio.gather(*map(self._truth, results))
        updated = await asyncio.gather(*map(self._update, results))
        return SessionMarks(
            tuple(mark for each in covered for mark in each),
            tuple(mark for each in extracted for mark in each),
            tuple(mark for each in updated for mark in each),
        )

    async def _cover(self, result: SessionResult) -> list[Covered]:
        points, session = result.others, result.session
        if not result.written:  # it is not asked either in the paper's code
            return [Covered(session=session, point=point, score=0) for point in points]
        memories = "\n".join(f"- {text}" for text in result.written)

        def question(batch: Sequence[Point]) -> str:
            holes = {"memories": memories, "points": _numbered([one.content for one in batch])}
            return render("halumem_integrity_question", result.language, **holes)

        parts = [(question(batch), len(batch)) for batch in batches(points, MARK_BATCH)]
        marks = await self._ask_all("halumem_integrity", result, parts, Marks[CoverMark])
        return [
            Covered(session=session, point=point, score=mark and mark.score, reason=_why(mark))
            for point, mark in zip(points, marks, strict=True)
        ]

    async def _truth(self, result: SessionResult) -> list[Extracted]:
        wanted = [f"- {point.content}" for point in result.points if point.wanted]
        points = "\n".join(wanted) or NONE[result.language]

        def question(batch: Sequence[str]) -> str:
            holes = {"talk": result.talk, "points": points, "memories": _numbered(batch)}
            return render("halumem_accuracy_question", result.language, **holes)

        parts = [(question(batch), len(batch)) for batch in batches(result.written, MARK_BATCH)]
        marks = await self._ask_all("halumem_accuracy", result, parts, Marks[TruthMark])
        return [
            Extracted(
                session=result.session,
                content=content,
                score=mark and mark.score,
                included=mark is not None and mark.included,
                reason=_why(mark),
            )
            for content, mark in zip(result.written, marks, strict=True)
        ]

    async def _update(self, result: SessionResult) -> list[Updated]:
        indices = result.updates

        def question(batch: Sequence[int]) -> str:
            cases = (_case(result, index, number) for number, index in enumerate(batch, start=1))
            return "\n\n".join(cases)

        parts = [(question(batch), len(batch)) for batch in batches(indices, UPDATE_BATCH)]
        marks = await self._ask_all("halumem_update", result, parts, Marks[UpdateMark])
        return [
            Updated(
                session=result.session,
                point=result.points[index],
                found=result.found[index],
                result=mark and mark.result,
                reason=_why(mark),
            )
            for index, mark in zip(indices, marks, strict=True)
        ]

    async def _ask_all(
        self,
        name: str,
        result: SessionResult,
        parts: Sequence[tuple[str, int]],
        answer: type[Marks[M]],
    ) -> list[M | None]:
        """Return the marks of all parts in order; a part is a question and a number of things."""
        asked = await asyncio.gather(*(self._ask(name, result, *part, answer) for part in parts))
        return [mark for marks in asked for mark in marks]

    async def _ask(
        self, name: str, result: SessionResult, question: str, count: int, answer: type[Marks[M]]
    ) -> list[M | None]:
        """Return a mark for each thing of one part; ask once more if some are missing."""
        rules = render(name, result.language, user=result.user)
        marks: dict[int, M] = {}

        def missing(given: Marks[M]) -> str:
            for mark in given.marks:
                marks.setdefault(mark.number, mark)
            left = [number for number in range(1, count + 1) if number not in marks]
            return f"marks are missing: {left}" if left else ""

        async with self._slots:
            with suppress(AnswerError):  # what is missing twice has no mark
                await ask_task(
                    self._judge, Task(name, rules, result.language, question, answer, fault=missing)
                )
        return [marks.get(number) for number in range(1, count + 1)]


def batches(things: Sequence[T], size: int) -> list[Sequence[T]]:
    """Split into as few batches as possible, all of about the same size.

    >>> [len(part) for part in batches(range(31), 15)], batches([], 15)
    ([10, 10, 11], [])
    """
    parts = -(-len(things) // size)
    cuts = [index * len(things) // parts for index in range(parts + 1)] if parts else []
    return [things[start:end] for start, end in pairwise(cuts)]


def _case(result: SessionResult, index: int, number: int) -> str:
    point = result.points[index]
    return render(
        "halumem_update_case",
        result.language,
        number=number,
        target=point.content,
        originals="\n".join(f"- {text}" for text in point.originals),
        memories="\n".join(f"- {text}" for text in result.found[index]),
    )


def _numbered(texts: Sequence[str]) -> str:
    return "\n".join(f"{number}. {text}" for number, text in enumerate(texts, start=1))


def _why(mark: _Mark | None) -> str:
    return mark.reason if mark else ""
