"""A store that no run looks at is told about, once, and no other store."""

import asyncio
import logging
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from souffleur.agents.model.chat import Request
from souffleur.api import Souffleur
from souffleur.knowledge.memory import Kind
from souffleur.knowledge.operation import ActorKind, Add
from souffleur.knowledge.store.runs import run_log
from souffleur.report.report import Status, health
from souffleur.service.rule_runs import NEGLECTED_AFTER, find_neglect
from souffleur.settings import Settings
from tests.build import NOW, days, open_base, verdict
from tests.command import Run, on_disk
from tests.place import in_folder, where
from tests.scripted import SKIP, Answer, add, answer, by_name, episode, portrait
from tests.stage import staged
from tests.stores import empty_base

PLAN = Add(reason="r", quote="", content="Exam.", kind=Kind.TODO, expires_at=NOW + days(1))
TOLD = verdict(PLAN, who=ActorKind.HOST)
LATE = NOW + days(1) + NEGLECTED_AFTER + timedelta(minutes=1)
"""When the plan has been over for two days."""


@in_folder
async def test_it_is_told_at_opening(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Once it was due for two days, by each opening until a run was there, or a host knows."""

    async def opened(now: datetime, **fields: Any) -> Souffleur:
        chosen = Settings(**where(tmp_path), embedder="hash:64", judge=False, **fields)
        return await Souffleur.open(chosen, clock=lambda: now)

    def warnings() -> list[str]:
        found = [one.getMessage() for one in caplog.records if one.levelno == logging.WARNING]
        caplog.clear()
        return found

    memory = await opened(NOW)
    await memory.knowledge.apply(TOLD)
    await memory.close()
    assert warnings() == []
    await (await opened(LATE)).close()
    (told,) = warnings()
    assert "1 memory has long been due, the first for 8 days" in told
    assert "schedule=True (SOUFFLEUR_SCHEDULE=true)" in told
    assert "`souffleur run decay` by cron" in told  # and no review, which needs a model
    memory = await opened(LATE, schedule=False)
    assert warnings() == []
    await memory.run("decay")
    await memory.close()
    await (await opened(LATE)).close()
    assert warnings() == []


async def test_when_it_is_neglect(tmp_path: Path) -> None:
    """Only a run of the last eight days that would have looked counts; a server is looked at."""
    base = await empty_base(tmp_path, dimension=16)
    await base.apply(TOLD)

    async def neglected(**fields: Any) -> tuple[str, ...]:
        found = await find_neglect(base, Settings(**fields), LATE, has_model=True)
        return found.runs if found else ()

    async def ran(name: str, ago: float) -> None:
        at = LATE - days(ago)
        await run_log.keep(base.journal, run_log.RunRecord(name=name, began=at, ended=at, due=1))

    assert await neglected() == ("decay",)
    assert await neglected(qdrant_url="http://localhost:6333") == ()
    assert await neglected(schedule=False) == ()
    await ran("decay", 9)
    await ran("review", 1)
    assert await neglected() == ("decay",)
    await ran("decay", 1)
    assert await neglected() == ()
    await base.close()


@in_folder
@on_disk
def test_the_doctor_says_it(run: Run, tmp_path: Path) -> None:
    """The doctor warns in the same words, until a run was there."""

    async def tell() -> None:
        base = await open_base(tmp_path / "store", dimension=64)
        await base.apply(TOLD)
        await base.close()

    asyncio.run(tell())
    assert "schedule=True" in run("doctor")[1]
    assert run("run", "decay")[0] == 0
    assert "schedule=True" not in run("doctor")[1]


async def test_what_was_said_long_ago_is_not_neglected(tmp_path: Path) -> None:
    """An old chat that is imported today waits, fades and expires from today on; nobody warns."""

    def judge(request: Request) -> Answer:
        exam = add("Ann has an exam tomorrow.", "exam tomorrow", kind="todo", until="2024-10-09")
        return answer(exam) if "exam tomorrow" in request.messages[-1].content else SKIP

    talk = episode("Ann talked about tea.")
    calm = portrait("Ann drinks tea.", "She has a cat.", "She draws.")
    async with staged(tmp_path, by_name(monitor=judge, episode=talk, portrait=calm)) as stage:
        long_ago, memory = stage.clock.at - days(452), stage.memory
        for line in ("tea?", "sencha! And an exam tomorrow"):
            memory.observe(user_id="ann", session_id="s1", user=line, assistant="ok", at=long_ago)
        assert health(await memory.report()) == (Status.OK, [])
        assert (await memory.health()).waiting_since == stage.clock.at
        await stage.end()
        (told,) = await stage.episodes()
        assert told.due_at == told.expires_at == stage.clock.at + days(14)
        report = await memory.report()
        assert health(report) == (Status.OK, [])
        assert report.never_recalled == report.stale == ()
        now, base = stage.clock.at, stage.knowledge
        assert await find_neglect(base, memory.settings, now, has_model=True) is None
        (over,) = (await memory.run("decay")).items
        assert over.memory.content == "Ann has an exam tomorrow."
