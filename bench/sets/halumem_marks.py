"""The eval judge of HaluMem: marks for points covered, memories written and updates, in batches.

It is asked the same as the paper's judge (`eval/eval_tools.py` of
https://github.com/MemTensor/HaluMem), in other words: their licence (CC BY-NC-ND) forbids shipping
theirs. They make one request for each point; here one request carries a batch of one session.
"""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from typing import Generic, TypeVar

from pydantic import BaseModel, ConfigDict

from bench.sets.halumem_scores import Change, Covered, Extracted, Point, Score, Updated
from souffleur.agents.brief import NONE
from souffleur.agents.structured_chat import StructuredChat
from souffleur.agents.task import Task, ask_task
from souffleur.errors import AnswerError
from souffleur.prompts import Language, language_of, render

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
    """How far memories cover a point."""

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


@dataclass(frozen=True)
class _Part:
    """A request about several things, numbered from 1."""

    question: str
    count: int


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
        parts = []
        for batch in batches(points, MARK_BATCH):
            holes = {"memories": memories, "points": _numbered([one.content for one in batch])}
            question = render("halumem_integrity_question", result.language, **holes)
            parts.append(_Part(question, len(batch)))
        marks = await self._ask_all("halumem_integrity", result, parts, Marks[CoverMark])
        return [
            Covered(session=session, point=point, score=mark and mark.score, reason=_why(mark))
            for point, mark in zip(points, marks, strict=True)
        ]

    async def _truth(self, result: SessionResult) -> list[Extracted]:
        wanted = [f"- {point.content}" for point in result.points if point.wanted]
        points = "\n".join(wanted) or NONE[result.language]
        parts = []
        for batch in batches(result.written, MARK_BATCH):
            holes = {"talk": result.talk, "points": points, "memories": _numbered(batch)}
            question = render("halumem_accuracy_question", result.language, **holes)
            parts.append(_Part(question, len(batch)))
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
        parts = []
        for batch in batches(indices, UPDATE_BATCH):
            cases = [_case(result, index, number) for number, index in enumerate(batch, start=1)]
            parts.append(_Part("\n\n".join(cases), len(batch)))
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
        parts: Sequence[_Part],
        answer: type[Marks[M]],
    ) -> list[M | None]:
        """Return the marks of all parts in order."""
        asked = await asyncio.gather(*(self._ask(name, result, part, answer) for part in parts))
        return [
            marks.get(number)
            for part, marks in zip(parts, asked, strict=True)
            for number in range(1, part.count + 1)
        ]

    async def _ask(
        self, name: str, result: SessionResult, part: _Part, answer: type[Marks[M]]
    ) -> dict[int, M]:
        """Return the marks of one part by number; ask once more if some are missing."""
        rules = render(name, result.language, user=result.user)
        marks: dict[int, M] = {}

        def missing(given: Marks[M]) -> str:
            for mark in given.marks:
                marks.setdefault(mark.number, mark)
            left = [number for number in range(1, part.count + 1) if number not in marks]
            return f"marks are missing: {left}" if left else ""

        async with self._slots:
            with suppress(AnswerError):  # what is missing twice has no mark
                await ask_task(
                    self._judge,
                    Task(name, rules, result.language, part.question, answer, fault=missing),
                )
        return marks


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
