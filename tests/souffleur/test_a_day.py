"""A day of one bot: three people in three zones and languages, and two personas."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from souffleur.agents.model.chat import Request
from tests.build import days
from tests.scripted import SKIP, Answer, add, answer, by_name, episode
from tests.stage import Stage, staged

EVENING = datetime(2026, 1, 3, 15, 30, tzinfo=UTC)
MO, LUNA = "mo", "luna"
"""Mo knows what anybody is told but Luna; Luna what she is told herself."""


@dataclass(frozen=True)
class Guest:
    """One of the three, what they say, and what is right for them."""

    user_id: str
    title: str
    timezone: str
    language: Any
    said: dict[str, str]
    """By persona."""
    kept: dict[str, str]
    """The memory that each of these becomes."""
    heading: str
    clock: str
    """As the judge is to be shown it."""
    told_at: str
    """As the episode is to begin."""
    question: str
    since: datetime | None
    """When the day before began, if the question is understood as one about a time."""


GUESTS = (
    Guest(
        "ming",
        "主人",
        "Asia/Shanghai",
        "zh",
        {MO: "我对花生过敏", LUNA: "我偷偷在学吉他"},
        {MO: "主人对花生过敏。", LUNA: "主人在偷偷学吉他。"},
        "## 你记得的关于主人的事",
        "2026-01-03 23:30 星期六 (Asia/Shanghai)",
        "[2026-01-03 23:30]",
        "昨天我们聊了什么？",
        datetime(2026, 1, 2, 16, tzinfo=UTC),
    ),
    Guest(
        "ann",
        "Annie",
        "America/New_York",
        "en",
        {MO: "I am allergic to peanuts", LUNA: "I secretly learn the cello"},
        {MO: "Annie is allergic to peanuts.", LUNA: "Annie secretly learns the cello."},
        "## What you remember about Annie",
        "2026-01-03 10:30 Saturday (America/New_York)",
        "[2026-01-03 10:30]",
        "What did we talk about yesterday?",
        datetime(2026, 1, 3, 5, tzinfo=UTC),
    ),
    Guest(
        "misaki",
        "美咲",
        "Asia/Tokyo",
        "ja",
        {MO: "そばアレルギーがあるの", LUNA: "こっそりピアノを習っている"},
        {MO: "美咲はそばアレルギーがある。", LUNA: "美咲はこっそりピアノを習っている。"},
        "## 美咲について覚えていること",
        "2026-01-04 00:30 Sunday (Asia/Tokyo)",
        "[2026-01-04 00:30]",
        "アレルギーとピアノのことを覚えている？",
        None,
    ),
)


def script(request: Request) -> Answer:
    """Keep what is said in one memory, and tell it in one episode."""
    question = request.messages[1].content
    exchange = question.rpartition("\n## ")[2]
    for guest in GUESTS:
        for agent_id, line in guest.said.items():
            kept = guest.kept[agent_id]
            if request.name == "monitor" and line in exchange:
                return answer(add(kept, line, importance="high"))
            if request.name == "episode" and line in question:
                return episode(kept)
    return by_name(monitor=SKIP)(request)


@pytest.fixture
async def day(tmp_path: Path) -> AsyncIterator[Stage]:
    """The evening on which each of the three told each of the two something."""
    async with staged(tmp_path, script) as stage:
        memory = stage.memory
        stage.clock.at = EVENING
        for guest in GUESTS:
            await memory.introduce(
                user_id=guest.user_id,
                title=guest.title,
                timezone=guest.timezone,
                language=guest.language,
            )
        await memory.introduce_persona(agent_id=MO, name="Mo")
        await memory.introduce_persona(agent_id=LUNA, name="Luna", knows="own")
        await memory.define(agent_id=LUNA, what=["Luna is a ship's cat."])
        for guest in GUESTS:
            for agent_id in (MO, LUNA):
                here: dict[str, Any] = {
                    "user_id": guest.user_id,
                    "agent_id": agent_id,
                    "session_id": "s1",
                }
                stage.clock.at = EVENING
                memory.observe(**here, user=guest.said[agent_id], assistant="…!")
                stage.clock.at += timedelta(seconds=5)
                memory.observe(**here, user="ok", assistant="ok")
                await memory.flush()
                memory.end_session(**here)
                await memory.flush()
        yield stage


async def test_the_judge_is_shown_who_talks_and_when(day: Stage) -> None:
    """By title, name and clock of the two; and never what the other persona was told."""
    for guest in GUESTS:
        for agent_id, name in ((MO, "Mo"), (LUNA, "Luna")):
            other = guest.kept[LUNA if agent_id == MO else MO]
            asked = [one.messages[1].content for one in day.asked("monitor")]
            (first, *_) = [one for one in asked if guest.said[agent_id] in one]
            assert guest.clock in first
            exchange = first.rpartition("\n## ")[2].replace("：", ": ")
            assert f"{guest.title}: {guest.said[agent_id]}" in exchange
            assert f"{name}: …!" in exchange
            shown = [one for one in asked if guest.kept[agent_id] in one]
            assert not [one for one in shown if other in one]


async def test_each_is_whispered_of_in_their_language_and_by_their_title(day: Stage) -> None:
    """A heading each, in it what this persona knows, and nothing of the others."""
    for guest in GUESTS:
        for agent_id, other in ((MO, LUNA), (LUNA, MO)):
            whisper = await day.memory.recall(
                user_id=guest.user_id, agent_id=agent_id, session_id="s2", text=guest.question
            )
            assert whisper.text.startswith(guest.heading)
            assert guest.kept[agent_id] in whisper.text
            assert guest.kept[other] not in whisper.text
            assert ("Luna is a ship's cat." in whisper.text) == (agent_id == LUNA)
            strangers = [one for one in GUESTS if one is not guest]
            assert not [one for one in strangers if one.title in whisper.text]


async def test_episodes_begin_by_the_clock_of_each(day: Stage) -> None:
    """Two for each of the three: one that Mo tells of, and one that only Luna knows."""
    for guest in GUESTS:
        for agent_id, sphere in ((MO, ""), (LUNA, "@luna")):
            (told,) = await day.knowledge.episodes(
                guest.user_id, limit=5, now=day.clock.at, sphere=sphere
            )
            assert told.content == f"{guest.told_at} {guest.kept[agent_id]}"


async def test_yesterday_is_the_day_before_where_each_lives(day: Stage) -> None:
    """Asked a day later, each persona answers from what it was told on that day."""
    day.clock.at = EVENING + days(1)
    for guest in GUESTS:
        for agent_id, other in ((MO, LUNA), (LUNA, MO)):
            past = await day.memory.ask(
                guest.question, user_id=guest.user_id, agent_id=agent_id, session_id="s2"
            )
            assert past.since == guest.since
            found = "\n".join(hit.text for hit in past.found)
            assert guest.kept[agent_id] in found
            assert guest.kept[other] not in found
            assert guest.said[other] not in found


async def test_a_new_title_is_used_from_then_on(day: Stage) -> None:
    """Memories stay as they are, and the whisper says whose they are."""
    await day.memory.introduce(user_id="ann", title="Captain")
    whisper = await day.memory.recall(user_id="ann", agent_id=MO, text="peanuts")
    assert whisper.text.startswith("## What you remember about Captain")
    assert "former names: Annie" in whisper.text
    assert "Annie is allergic to peanuts." in whisper.text
