"""Decay that is provably right: every way it went wrong elsewhere, on a clock moved by hand."""

import asyncio
import tempfile
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from hypothesis import Phase, given, settings, strategies as st

from souffleur.agents.brief import Persona
from souffleur.agents.reviewer import MemoryReviewer
from souffleur.agents.structured_chat import StructuredChat
from souffleur.agents.task import Context
from souffleur.api import Souffleur
from souffleur.knowledge import decay
from souffleur.knowledge.knowledge_base import KnowledgeBase
from souffleur.knowledge.memory import Category, Kind, Memory, MemoryState
from souffleur.knowledge.policy import EVERBOT, Policy
from souffleur.knowledge.search.query import EVERYWHERE, Query
from souffleur.knowledge.store.codecs import to_point
from souffleur.parts import Parts
from souffleur.service.model_runs import run_review
from souffleur.service.rule_runs import run_decay
from souffleur.service.run import RunLimits, RunOptions
from souffleur.settings import Settings
from souffleur.times import from_clock
from tests.build import NOW, days, memory
from tests.scripted import Scripted, decided
from tests.stores import empty_base

Work = Callable[[KnowledgeBase], Awaitable[None]]

EXAMPLES = (Phase.explicit, Phase.generate)
"""Each example opens a store: to shrink one takes minutes."""

ages = st.floats(0, 60)
values = st.sampled_from([0.3, 0.7, 1.0, 1.5, 2.4, 2.6, 3.0])
shapes = st.lists(
    st.tuples(
        values,
        ages,
        st.sampled_from([Category.FACT, Category.SKILL, Category.EPISODE, Category.CORE]),
    ),
    min_size=1,
    max_size=8,
)


def over(folder: str, work: Work, policy: Policy | None = None) -> None:
    """Do some work on a store in a folder."""

    async def opened() -> None:
        base = await empty_base(Path(folder), *([policy] if policy else []), dimension=64)
        try:
            await work(base)
        finally:
            await base.close()

    asyncio.run(opened())


async def hold(base: KnowledgeBase, memories: list[Memory]) -> None:
    """Put memories there as they are."""
    await base.memories.put([to_point(one, (1.0, *[0.0] * 63)) for one in memories])


def made(shapes: list[tuple[float, float, Category]]) -> list[Memory]:
    """Memories of these values, ages and categories."""
    return [
        memory(
            f"Ann likes thing {index}.",
            importance=value,
            category=category,
            anchor_at=NOW - days(age),
            created_at=NOW - days(age),
            expires_at=decay.gone_at(category, NOW - days(age), _companion()),
        )
        for index, (value, age, category) in enumerate(shapes)
    ]


def _companion() -> Policy:
    from souffleur.knowledge.policy import COMPANION

    return COMPANION


def keeper(base: KnowledgeBase) -> MemoryReviewer:
    """A reviewer that keeps everything."""
    answer = {"reason": "r", "action": "KEEP", "query": None}
    judge = StructuredChat(Scripted(lambda _: answer))
    return MemoryReviewer(Context(judge, base, Persona(user="Ann")))


async def everything(base: KnowledgeBase) -> list[Memory]:
    return await base.list(None, states=tuple(MemoryState))


async def both(base: KnowledgeBase, now: datetime) -> None:
    """A run of each kind: what was kept may be over all the same."""
    await run_review(base, keeper(base), RunOptions(now))
    await run_decay(base, RunOptions(now))


@settings(max_examples=8, phases=EXAMPLES)
@given(shapes, st.floats(0, 90))
def test_run_twice_is_run_once(shapes: list[tuple[float, float, Category]], later: float) -> None:
    """A second run at the same moment changes nothing."""

    async def work(base: KnowledgeBase) -> None:
        await hold(base, made(shapes))
        await both(base, NOW + days(later))
        after = await everything(base)
        await both(base, NOW + days(later))
        assert await everything(base) == after

    with tempfile.TemporaryDirectory() as folder:
        over(folder, work)


@settings(max_examples=3, phases=EXAMPLES)
@given(shapes)
def test_sixty_runs_a_minute_apart_are_one_an_hour_later(
    shapes: list[tuple[float, float, Category]],
) -> None:
    """However often it runs, the same memories are left, with the same value at the end."""
    left = []
    for minutes in (range(1, 61), (60,)):

        async def work(base: KnowledgeBase, minutes: Any = minutes) -> None:
            await hold(base, made(shapes))
            for minute in minutes:
                await run_decay(base, RunOptions(NOW + timedelta(minutes=minute)))
            end = NOW + timedelta(minutes=60)
            kept = await base.list("ann")
            left.append([(one.id, decay.effective(one, end, base.policy)) for one in kept])

        with tempfile.TemporaryDirectory() as folder:
            over(folder, work)
    assert left[0] == left[1]


def test_a_base_value_is_never_overwritten_by_time() -> None:
    """After a year of daily runs, what is still there has its first importance and anchor."""

    async def work(base: KnowledgeBase) -> None:
        kept = made([(1.5, 0, Category.SKILL), (3.0, 0, Category.FACT), (1.0, 0, Category.CORE)])
        await hold(base, kept)
        for day in range(1, 366, 3):
            await run_decay(base, RunOptions(NOW + days(day)))
        assert [(one.importance, one.anchor_at) for one in await base.list("ann")] == [
            (one.importance, one.anchor_at) for one in sorted(kept, key=lambda one: one.id)
        ]

    with tempfile.TemporaryDirectory() as folder:
        over(folder, work)


def test_core_and_three_and_more_are_untouched_after_ten_years() -> None:
    """Ten years of runs and reviews that would delete everything leave them as they were."""

    async def work(base: KnowledgeBase) -> None:
        chat = Scripted(lambda request: decided(request, "DELETE"))
        reaper = MemoryReviewer(Context(StructuredChat(chat), base, Persona(user="Ann")))
        lasting = made([(0.3, 0, Category.CORE), (3.0, 0, Category.FACT), (9.0, 0, Category.SKILL)])
        passing = made([(0.3, 0, Category.FACT)] * 3)
        renamed = [one.model_copy(update={"id": one.id[:-1] + "0"}) for one in passing]
        await hold(base, [*lasting, *renamed])
        for month in range(0, 3660, 30):
            await run_decay(base, RunOptions(NOW + days(month)))
            await run_review(
                base, reaper, RunOptions(NOW + days(month), limits=RunLimits(deletions=99))
            )
        kept = {one.id: one for one in await base.list("ann")}
        assert kept == {one.id: one for one in lasting}

    with tempfile.TemporaryDirectory() as folder:
        over(folder, work)


def test_reading_makes_nothing_younger() -> None:
    """Neither recall nor search nor a list nor being whispered changes age, value or due time."""

    async def work(base: KnowledgeBase) -> None:
        await hold(base, made([(1.0, 20, Category.FACT), (2.4, 3, Category.SKILL)]))
        before = [one.model_copy(update={"recalls": 0}) for one in await everything(base)]
        runtime = Souffleur(Parts(base, times=from_clock(lambda: NOW)), Settings())
        for day in range(5):
            at = NOW + days(day)
            whisper = await runtime.recall(user_id="ann", text="what does Ann like?", at=at)
            await base.note_recalled(whisper.ids)
            await base.search(Query("ann", "things", at, scope=EVERYWHERE))
            await base.list("ann")
        after = await everything(base)
        assert [one.model_copy(update={"recalls": 0}) for one in after] == before
        assert any(one.recalls for one in after)

    with tempfile.TemporaryDirectory() as folder:
        over(folder, work)


def test_a_run_reaches_every_due_memory() -> None:
    """Of three hundred, over several pages, none is left behind, the oldest included."""

    async def work(base: KnowledgeBase) -> None:
        plans = [
            memory(f"Ann plans thing {n}.", kind=Kind.TODO, expires_at=NOW + days(n / 300))
            for n in range(300)
        ]
        await hold(base, plans)
        report = await run_decay(base, RunOptions(NOW + days(1)))
        assert report.count("ARCHIVE") == 300
        assert {one.state for one in await everything(base)} == {MemoryState.ARCHIVED}

    with tempfile.TemporaryDirectory() as folder:
        over(folder, work)


def test_ranking_and_pruning_have_one_score() -> None:
    """What search calls its effective value is what the due time was computed from."""

    async def work(base: KnowledgeBase) -> None:
        (one,) = made([(1.0, 0, Category.FACT)])
        await hold(base, [one])
        assert one.due_at is not None
        for moment, below in ((one.due_at - days(0.01), False), (one.due_at + days(0.01), True)):
            (found,) = await base.search(Query("ann", "Ann likes thing 0", moment))
            assert found.effective == decay.effective(one, moment, base.policy)
            assert (found.effective < 0.5) is below

    with tempfile.TemporaryDirectory() as folder:
        over(folder, work)


def test_a_memory_that_archives_comes_to_every_state() -> None:
    """By time alone, a policy that archives takes a memory out of every read path."""

    async def work(base: KnowledgeBase) -> None:
        one = memory("Ann likes thing 0.", policy=EVERBOT, importance=0.4)
        await hold(base, [one])
        assert one.due_at is not None
        await run_decay(base, RunOptions(one.due_at))
        assert (await base.get(one.id, user_id=None)).state is MemoryState.ARCHIVED
        query = Query("ann", "thing 0", one.due_at, scope=EVERYWHERE)
        assert await base.search(query) == []
        assert await base.list("ann") == []
        assert await base.most_valuable("ann", limit=9, now=one.due_at) == []

    with tempfile.TemporaryDirectory() as folder:
        over(folder, work, EVERBOT)
