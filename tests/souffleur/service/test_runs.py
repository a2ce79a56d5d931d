"""Runs over what is due: what they do, what they may cost, and what they read."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from souffleur.agents.brief import Persona
from souffleur.agents.model.chat import Reply, Request
from souffleur.agents.reviewer import MemoryReviewer
from souffleur.agents.structured_chat import StructuredChat
from souffleur.agents.task import Context
from souffleur.errors import EndpointError, SettingsError, StoreError
from souffleur.knowledge.knowledge_base import KnowledgeBase
from souffleur.knowledge.memory import Category, Due, Kind, Memory, MemoryState
from souffleur.knowledge.operation import ActorKind, Add, Boost, Importance
from souffleur.knowledge.policy import EVERBOT
from souffleur.knowledge.store.codecs import to_point
from souffleur.knowledge.store.engine.collection import Filter
from souffleur.service.model_runs import run_review
from souffleur.service.rule_runs import run_decay
from souffleur.service.run import RunItem, RunLimits, RunOptions, RunResult
from tests.build import NOW, days, memory, verdict
from tests.counted import Counted
from tests.faults.test_store_outage import Unsteady
from tests.scripted import Script, Scripted, decided
from tests.stores import empty_base

LATER = NOW + days(40)
"""When every plain fact of NOW is due for review."""


@asynccontextmanager
async def base_of(folder: Path) -> AsyncIterator[KnowledgeBase]:
    base = await empty_base(folder, dimension=64)
    yield base
    await base.close()


async def know(base: KnowledgeBase, *contents: str, user_id: str = "ann", **fields: Any) -> None:
    """Facts told by the host at NOW."""
    adds = [Add(reason="r", quote="", content=content, **fields) for content in contents]
    name = (user_id, *contents)
    await base.apply(verdict(*adds, who=ActorKind.HOST, name=name, user_id=user_id))


def reviewer(base: KnowledgeBase, script: Script) -> MemoryReviewer:
    return MemoryReviewer(Context(StructuredChat(Scripted(script)), base, Persona(user="Ann")))


def always(action: str) -> Script:
    return lambda request: decided(request, action)


def ops(report: RunResult) -> list[str]:
    return [line.op for line in report.items]


async def test_what_is_over_is_let_go_by_rule(tmp_path: Path) -> None:
    """A plan a week after its day, an episode after a fortnight; facts wait for a reviewer."""
    async with base_of(tmp_path) as base:
        await know(base, "Ann has an exam.", kind=Kind.TODO, expires_at=NOW + days(8))
        await know(base, "[2026-01-03 10:00] Tea.", category=Category.EPISODE, kind=Kind.MOMENT)
        await know(base, "Ann likes tea.")
        assert ops(await run_decay(base, RunOptions(NOW + days(7)))) == []
        report = await run_decay(base, RunOptions(LATER))
        assert sorted(ops(report)) == ["ARCHIVE", "ARCHIVE"]
        assert report.due == 2
        assert [one.content for one in await base.list("ann")] == ["Ann likes tea."]
        assert ops(await run_decay(base, RunOptions(LATER))) == []  # run twice is run once
        _, entry = await base.history(report.items[0].memory.id, user_id=None)
        assert (entry.by.who, entry.op) == (ActorKind.SCHEDULE, "ARCHIVE")


async def test_without_a_reviewer_faded_facts_go_at_the_last_threshold(tmp_path: Path) -> None:
    """Below 0.5 they wait; below 0.3 nobody will be asked, and they are forgotten."""
    async with base_of(tmp_path) as base:
        await know(base, "Ann likes tea.")
        early = await run_decay(base, RunOptions(NOW + days(22)), has_reviewer=False)
        assert ops(early) == ["WAITS"]
        late = await run_decay(base, RunOptions(NOW + days(32)), has_reviewer=False)
        assert ops(late) == ["FORGET"]


def test_the_time_of_a_run_has_a_zone() -> None:
    """A time without one is told before anything is done."""
    with pytest.raises(SettingsError, match="has no time zone: give"):
        RunOptions(NOW.replace(tzinfo=None))


async def test_a_dry_run_changes_nothing(tmp_path: Path) -> None:
    """It says what would be done, and why; the store is as it was."""
    async with base_of(tmp_path) as base:
        await know(base, "Ann has an exam.", kind=Kind.TODO, expires_at=NOW + days(8))
        await know(base, "Ann likes tea.", "Ann likes milk.")
        before = await base.list("ann")
        decayed = await run_decay(base, RunOptions(LATER, dry_run=True))
        reviewed = await run_review(
            base, reviewer(base, always("DELETE")), RunOptions(LATER, dry_run=True)
        )
        assert (ops(decayed), ops(reviewed)) == (["ARCHIVE"], ["DELETE", "DELETE"])
        assert reviewed.items[0].reason == "because"
        assert await base.list("ann") == before


async def test_kept_memories_are_asked_about_less_and_less(tmp_path: Path) -> None:
    """After KEEP the rest before the next question is four times as long, up to a year."""
    async with base_of(tmp_path) as base:
        await know(base, "Ann likes tea.")
        now, grace = LATER, []
        for _ in range(3):
            await run_review(base, reviewer(base, always("KEEP")), RunOptions(now))
            (one,) = await base.list("ann")
            grace.append(one.grace_days)
            assert one.due_at is not None
            assert one.due_at > now
            now = one.due_at
        assert grace == [28.0, 112.0, 365.0]


async def test_what_would_hurt_to_forget_is_core_after_one_night(tmp_path: Path) -> None:
    """Told once as important, it is asked about in the first run; a plan and the rest are not."""
    async with base_of(tmp_path) as base:
        high = {"importance": Importance.HIGH}
        await know(base, "Ann is allergic to nuts.", **high)
        await know(base, "Ann has an exam.", kind=Kind.TODO, expires_at=NOW + days(8), **high)
        await know(base, "Ann likes tea.")
        tonight = RunOptions(NOW + days(0.5))
        (item,) = (await run_review(base, reviewer(base, always("PROMOTE")), tonight)).items
        assert (item.op, item.memory.content) == ("PROMOTE", "Ann is allergic to nuts.")
        core = [one.content for one in await base.list("ann") if one.category is Category.CORE]
        assert core == ["Ann is allergic to nuts."]
        assert ops(await run_review(base, reviewer(base, always("KEEP")), tonight)) == []


async def test_a_refused_promotion_is_not_asked_again_the_next_night(tmp_path: Path) -> None:
    """Kept, it fades and is reviewed as any other: after 28 days and a half."""
    async with base_of(tmp_path) as base:
        await know(base, "Ann's paper is due.", importance=Importance.HIGH)
        kept = await run_review(base, reviewer(base, always("KEEP")), RunOptions(NOW))
        assert ops(kept) == ["KEEP"]
        (one,) = await base.list("ann")
        assert one.due_for is Due.REVIEW
        for day in (1, 28):
            again = await run_review(
                base, reviewer(base, always("KEEP")), RunOptions(NOW + days(day))
            )
            assert ops(again) == []
        late = await run_review(base, reviewer(base, always("DELETE")), RunOptions(NOW + days(29)))
        assert ops(late) == ["DELETE"]


async def test_a_promoted_memory_is_core_and_never_due(tmp_path: Path) -> None:
    """Used often enough it is asked about once, and then fades no more."""
    async with base_of(tmp_path) as base:
        await know(base, "Ann likes tea.")
        (one,) = await base.list("ann")
        for count in range(6):
            await base.apply(
                verdict(Boost(target=one.id, reason="r"), who=ActorKind.HOST, name=count)
            )
        report = await run_review(base, reviewer(base, always("PROMOTE")), RunOptions(NOW))
        assert ops(report) == ["PROMOTE"]
        (core,) = await base.list("ann", category=Category.CORE)
        assert (core.importance, core.due_at) == (3.0, None)
        assert (
            await run_review(base, reviewer(base, always("DELETE")), RunOptions(NOW + days(3650)))
        ).due == 0


async def test_no_run_deletes_more_than_its_share(tmp_path: Path) -> None:
    """Of eight it deletes five and keeps the others for the next run; a limit may say fewer."""
    async with base_of(tmp_path) as base:
        await know(base, *(f"Ann likes tea {n}." for n in range(8)))
        report = await run_review(base, reviewer(base, always("DELETE")), RunOptions(LATER))
        assert (report.count("DELETE"), report.count("WAITS")) == (5, 3)
        assert len(await base.list("ann")) == 3
        limits = RunLimits(deletions=1)
        report = await run_review(
            base, reviewer(base, always("DELETE")), RunOptions(LATER, limits=limits)
        )
        assert (report.count("DELETE"), report.count("WAITS")) == (1, 2)


@pytest.mark.parametrize(
    ("looked_at", "limit", "most"),
    [(0, None, 5), (25, None, 5), (29, None, 5), (30, None, 6), (100, None, 20), (100, 1, 1)],
)
def test_a_model_may_delete_a_fifth(looked_at: int, limit: int | None, most: int) -> None:
    """It may delete a fifth of what it decides, or five if that is more, or what the limit says."""
    report = RunResult("review", RunOptions(NOW, limits=RunLimits(deletions=limit)))
    assert report.max_deletions(looked_at) == most


async def test_a_cap_counts_what_is_archived(tmp_path: Path) -> None:
    """Of three that are to be archived two are, if a run may let go two; the other waits."""
    base = await empty_base(tmp_path, EVERBOT, dimension=64)
    await know(base, *(f"Ann likes tea {n}." for n in range(3)))
    options = RunOptions(NOW + days(150), limits=RunLimits(deletions=2))
    assert ops(await run_decay(base, options)) == ["ARCHIVE", "ARCHIVE", "WAITS"]
    await base.close()


@pytest.mark.parametrize(
    ("limits", "stop", "stopped"),
    [
        (RunLimits(calls=2), lambda: False, "it may make 2 calls"),
        (RunLimits(memories=2), lambda: False, "it may look at 2 of 25"),
        (RunLimits(), lambda: True, "it was asked to stop"),
    ],
)
async def test_a_run_that_was_stopped_goes_on_later(
    tmp_path: Path, limits: RunLimits, stop: Callable[[], bool], stopped: str
) -> None:
    """It says why it ended; the next run does the rest, and nothing is asked about twice."""
    async with base_of(tmp_path) as base:
        await know(base, *(f"Ann likes tea {n}." for n in range(25)))
        first = await run_review(
            base, reviewer(base, always("KEEP")), RunOptions(LATER, limits=limits, stop=stop)
        )
        assert first.stopped == stopped
        rest = await run_review(base, reviewer(base, always("KEEP")), RunOptions(LATER))
        assert (len(first.items) + len(rest.items), rest.stopped) == (25, "")
        asked = [line.memory.id for line in (*first.items, *rest.items)]
        assert len(set(asked)) == 25


async def test_a_failure_leaves_it_due(tmp_path: Path) -> None:
    """Those that could not be asked about are told, the others are done, and they come up again."""

    def script(request: Request) -> Any:
        if "tea 1." in request.messages[1].content.partition("## Related")[0]:
            return EndpointError("busy")
        return decided(request, "KEEP")

    async with base_of(tmp_path) as base:
        await know(base, *(f"Ann likes tea {n}." for n in range(12)))
        report = await run_review(base, reviewer(base, script), RunOptions(LATER))
        (failed, *kept) = sorted(ops(report))
        assert (failed, set(kept)) == ("FAILED", {"KEEP"})
        assert await base.count_due(LATER, [Due.REVIEW]) == 12 - len(kept)


async def test_what_is_due_of_a_person_is_asked_about_together(tmp_path: Path) -> None:
    """Ten in a call; users and personas are never mixed."""
    async with base_of(tmp_path) as base:
        await know(base, *(f"Ann likes tea {n}." for n in range(12)))
        await know(base, "Bob likes milk.", user_id="bob")
        chat = Scripted(always("KEEP"))
        agent = MemoryReviewer(Context(StructuredChat(chat), base, Persona()))
        report = await run_review(base, agent, RunOptions(LATER))
        assert (ops(report), report.calls) == (["KEEP"] * 13, 3)
        lines = [one.messages[1].content.count("(stay?") for one in chat.requests]
        assert sorted(lines) == [1, 2, 10]


async def test_an_outage_ends_a_run(tmp_path: Path) -> None:
    """Three calls for those that are due are in vain; all stay due, and the record says why.

    What the calls before have cost is counted.
    """
    async with base_of(tmp_path) as base:
        await know(base, *(f"Ann likes tea {n}." for n in range(30)))
        down = reviewer(base, lambda _: EndpointError("busy", usage={"calls": 1, "cost": 0.5}))
        report = await run_review(base, down, RunOptions(LATER))
        assert (ops(report), report.stopped) == (["FAILED"] * 3, "busy")
        assert (report.calls, report.cost) == (3, 1.5)
        assert isinstance(report.error, EndpointError)
        assert report.record(LATER).stopped == "busy"
        assert await base.count_due(LATER, [Due.REVIEW]) == 30


async def test_a_store_out_of_reach_ends_a_run_for_all(tmp_path: Path) -> None:
    """Nobody's memories are changed after it failed for one, and what was done is told."""
    async with base_of(tmp_path) as base:
        for user in ("ann", "bob", "cleo"):
            await know(base, *(f"Likes tea {n}." for n in range(50)), user_id=user)
        memories = Unsteady(base.memories)
        shaky = KnowledgeBase(memories, base.journal, base.embedder, base.policy)
        asked = 0

        def script(request: Request) -> Any:
            nonlocal asked
            asked += 1
            memories.refusals = 99 if asked >= 4 else 0
            return decided(request, "KEEP")

        report = await run_review(shaky, reviewer(shaky, script), RunOptions(LATER))
        assert isinstance(report.error, StoreError)
        assert "out of reach" in report.stopped
        left = asked
        await asyncio.sleep(0.05)
        assert asked == left < 15


def test_a_record_of_a_run_holds_no_words() -> None:
    """Why something failed is kept, without the answer that a fault may quote; five at most."""
    report = RunResult("review", RunOptions(NOW))
    why = ["AnswerError: 'Ann loves Bob' is lost", *(f"EndpointError: {n}" for n in range(6))]
    report.items = [RunItem(memory(), "FAILED", one) for one in why]
    kept = report.record(NOW)
    assert kept.errors == ("AnswerError", *why[1:5])
    assert kept.counts == {"FAILED": 7}


async def test_what_was_used_meanwhile_is_not_deleted(tmp_path: Path) -> None:
    """A memory that changed while it was thought about is left alone."""
    async with base_of(tmp_path) as base:
        await know(base, "Ann likes tea.")
        (one,) = await base.list("ann")

        async def chat(request: Request) -> Reply:
            boost = Boost(target=one.id, reason="r")
            await base.apply(verdict(boost, who=ActorKind.HOST, name="meanwhile"))
            return await Scripted(always("DELETE"))(request)

        writer = MemoryReviewer(Context(StructuredChat(chat), base, Persona(user="Ann")))
        assert ops(await run_review(base, writer, RunOptions(LATER))) == ["CHANGED"]
        assert (await base.get(one.id, user_id=None)).state is MemoryState.ACTIVE


async def test_users_are_reviewed_side_by_side(tmp_path: Path) -> None:
    """One waiting for its model holds up no other, and a run may be of one user."""
    async with base_of(tmp_path) as base:
        for user in ("ann", "bob"):
            await know(base, "Likes tea.", user_id=user)
        both = asyncio.Barrier(2)

        async def chat(request: Request) -> Reply:
            await both.wait()  # neither comes through alone
            return await Scripted(always("KEEP"))(request)

        writer = MemoryReviewer(Context(StructuredChat(chat), base, Persona(user="Ann")))
        assert len((await run_review(base, writer, RunOptions(LATER))).items) == 2
        keeper = reviewer(base, always("KEEP"))
        mine = await run_review(base, keeper, RunOptions(LATER + days(99), user_id="bob"))
        assert {line.memory.user_id for line in mine.items} == {"bob"}


@pytest.mark.parametrize(
    "size", [1_000, pytest.param(100_000, marks=pytest.mark.soak)], ids=["1000", "100000"]
)
async def test_a_run_reads_what_is_due_and_little_else(tmp_path: Path, size: int) -> None:
    """With a hundred due, a small multiple of a hundred points is read, however many there are."""
    async with base_of(tmp_path) as base:
        due = [_one(place, expires_at=NOW + days(1)) for place in range(100)]
        rest = [_one(place) for place in range(100, size)]
        for start in range(0, size, 1000):
            page = [*due, *rest][start : start + 1000]
            await base.memories.put([to_point(one, (1.0, *[0.0] * 63)) for one in page])
        assert await base.memories.count(Filter()) == size
        counted = Counted(base.memories)
        watched = KnowledgeBase(counted, base.journal, base.embedder, base.policy)
        report = await run_decay(watched, RunOptions(NOW + days(2)))
        assert report.count("ARCHIVE") == 100
        assert counted.read <= 700


def _one(place: int, **fields: Any) -> Memory:
    return memory(f"Ann likes thing {place}.", **fields)
