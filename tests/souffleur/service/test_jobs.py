"""The jobs of a store: each run by name, its record, and the schedule within a host."""

import asyncio
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from souffleur.api import Souffleur
from souffleur.cli.run import RunName
from souffleur.demo.dialogue import StageClock
from souffleur.errors import EndpointError, SettingsError
from souffleur.knowledge.memory import Category, Kind
from souffleur.knowledge.operation import ActorKind, Add
from souffleur.knowledge.store.runs import run_log, watermarks
from souffleur.service.jobs import RUNS, jobs_of
from souffleur.service.run import RunLimits, RunOptions
from souffleur.settings import Settings
from tests.build import NOW, days, verdict
from tests.place import where
from tests.scripted import by_name, decided, episode, portrait
from tests.stage import staged
from tests.stores import open_empty

TALK = by_name(episode=episode("Ann told of her dog."), portrait=portrait("Ann.", "A dog.", "-"))


async def records(memory: Souffleur) -> list[Any]:
    """Name, counts and calls of the kept runs, the oldest first."""
    found = await run_log.latest(memory.knowledge.journal, limit=20)
    return [(one.name, one.counts, one.calls) for one in reversed(found)]


def test_the_command_knows_every_run() -> None:
    """What can be scheduled can be done by hand, and the other way round."""
    assert {name.value for name in RunName} == set(RUNS)


async def test_a_store_without_a_model_has_the_jobs_that_need_none(tmp_path: Path) -> None:
    """Decay, purge and the report; a run that must ask says what is missing."""
    async with open_empty(Settings(**where(tmp_path), embedder="hash:64")) as memory:
        assert [job.name for job in jobs_of(memory.parts)] == ["decay", "purge", "report"]
        with pytest.raises(SettingsError, match="SOUFFLEUR_BASE_URL"):
            await memory.run("review")
        with pytest.raises(SettingsError, match="no run is called 'nap'"):
            await memory.run("nap")


async def test_a_run_leaves_a_record(tmp_path: Path) -> None:
    """Its counts and what it cost; none of a dry run, nor of one that found nothing due."""
    async with staged(tmp_path, by_name(review=lambda request: decided(request, "KEEP"))) as s:
        await s.memory.run("decay")
        plan = Add(reason="r", quote="", content="Exam.", kind=Kind.TODO, expires_at=NOW + days(1))
        tea = Add(reason="r", quote="", content="Ann likes tea.")
        await s.knowledge.apply(verdict(plan, tea, who=ActorKind.HOST))
        s.clock.at = NOW + days(40)
        await s.memory.run("decay", RunOptions(s.clock(), dry_run=True))
        assert await records(s.memory) == []
        for name in ("decay", "review"):
            await s.memory.run(name)
            s.clock.at += timedelta(seconds=1)
        assert await records(s.memory) == [("decay", {"ARCHIVE": 1}, 0), ("review", {"KEEP": 1}, 1)]
        report = await s.memory.run("report")
        assert report.data["states"] == {"active": 1, "archived": 1}
        assert (await records(s.memory))[-1][0] == "report"


async def test_a_portrait_that_is_due_is_written_where_nobody_talks(tmp_path: Path) -> None:
    """A month after the first talk; a dry run says why, and a second run finds nothing."""
    async with staged(tmp_path, TALK) as s:
        await s.say("my dog is called Rex", "he is three", "and very fat")
        await s.end()
        assert (await s.memory.run("profile")).due == 0
        s.clock.at += days(31)
        dry = await s.memory.run("profile", RunOptions(s.clock(), dry_run=True))
        assert [(line.op, line.reason) for line in dry.items] == [
            ("PORTRAY", "30 days have passed")
        ]
        assert await s.knowledge.portrait("ann") is None
        report = await s.memory.run("profile")
        assert (report.count("PORTRAY"), report.calls, report.tokens) == (1, 1, 110)
        assert (await s.knowledge.portrait("ann")).content.startswith("Ann.")
        assert (await s.memory.run("profile")).due == 0


async def test_a_portrait_that_fails_is_told_and_stays_due(tmp_path: Path) -> None:
    """The line says why; the record keeps the reason."""
    failing = by_name(episode=episode("Ann told of her dog."), portrait=EndpointError("busy"))
    async with staged(tmp_path, failing) as s:
        await s.say("my dog is called Rex", "he is three", "and very fat")
        await s.end()
        s.clock.at += days(31)
        for _ in range(2):
            assert [line.op for line in (await s.memory.run("profile")).items] == ["FAILED"]
        (latest, *_) = await run_log.latest(s.knowledge.journal, limit=1)
        assert latest.errors == ("EndpointError: busy",)


async def test_old_memories_are_consolidated(tmp_path: Path) -> None:
    """A group of three becomes one; dry it is only told, and a second run finds nothing."""

    def merged(_: Any) -> Any:
        made = {"from": ["m1", "m2", "m3"], "content": "Ann likes green, black and white tea."}
        return {"reason": "one taste", "merged": [made], "left": []}

    async with staged(tmp_path, by_name(consolidate=merged)) as s:
        teas = [f"Ann likes {sort} tea." for sort in ("green", "black", "white")]
        tags: dict[str, Any] = {"topics": ("tea", "drinks")}
        adds = [Add(reason="r", quote="", content=tea, **tags) for tea in teas]
        await s.knowledge.apply(verdict(*adds, who=ActorKind.HOST))
        s.clock.at = NOW + days(91)
        dry = await s.memory.run("consolidate", RunOptions(s.clock(), dry_run=True))
        assert ([line.op for line in dry.items], len(await s.knowledge.list("ann"))) == (
            ["MERGE"],
            3,
        )
        report = await s.memory.run("consolidate")
        assert [line.memory.content for line in report.items] == [
            merged(None)["merged"][0]["content"]
        ]
        assert report.calls == 1
        assert len(await s.knowledge.list("ann")) == 1
        assert (await s.memory.run("consolidate")).due == 0


async def test_a_group_that_fails_does_not_stop_the_others(tmp_path: Path) -> None:
    """Its line says why, and a budget of calls ends the run with a reason."""
    async with staged(tmp_path, by_name(consolidate=EndpointError("busy"))) as s:
        for user in ("ann", "bob"):
            adds = [
                Add(reason="r", quote="", content=f"Likes {sort} tea.", topics=("tea", "drinks"))
                for sort in ("green", "black", "white")
            ]
            await s.knowledge.apply(verdict(*adds, who=ActorKind.HOST, user_id=user, name=user))
        s.clock.at = NOW + days(91)
        report = await s.memory.run("consolidate")
        assert [line.op for line in report.items] == ["FAILED", "FAILED"]
        stopped = await s.memory.run(
            "consolidate", RunOptions(s.clock(), limits=RunLimits(calls=0))
        )
        assert stopped.stopped == "it may make 0 calls"


async def test_a_host_may_run_the_schedule_itself(tmp_path: Path) -> None:
    """`Souffleur.open(schedule=True)` does what is due at its time, and ends with the host."""
    clock = StageClock(NOW)
    async with open_empty(
        Settings(**where(tmp_path), embedder="hash:64"), clock=clock, schedule=True
    ) as memory:
        plan = Add(reason="r", quote="", content="Exam.", kind=Kind.TODO, expires_at=NOW + days(1))
        await memory.knowledge.apply(verdict(plan, who=ActorKind.HOST))
        for _ in range(200):  # the first wake begins the periods
            mark = await watermarks.read(memory.knowledge.journal, "decay")
            if mark.due_at:
                break
            await asyncio.sleep(0.02)
        schedule = memory._service.schedule
        assert schedule is not None
        clock.at = NOW + days(2)
        decay = schedule.begin("decay")
        assert decay is not None
        assert await decay
        assert await memory.knowledge.list("ann", category=Category.FACT) == []
    assert schedule.begin("decay") is None
