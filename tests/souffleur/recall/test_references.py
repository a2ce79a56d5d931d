"""References: a recall says which memories it holds, if the user or the settings want it."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from souffleur.knowledge.memory import Category, Kind
from souffleur.recall.rendering import Reference, references_to, tell_age
from tests.build import NOW, days, memory
from tests.scripted import SKIP
from tests.stage import staged

ANN: dict[str, Any] = {"user_id": "ann"}
TEA: dict[str, Any] = {**ANN, "text": "some tea?"}


@pytest.mark.parametrize(
    ("language", "told"),
    [
        ("en", ["just now", "2 hours ago", "1 day ago", "3 weeks ago", "2 years ago"]),
        ("zh", ["刚才", "2小时前", "1天前", "3周前", "2年前"]),
        ("ja", ["たった今", "2時間前", "1日前", "3週間前", "2年前"]),
    ],
)
def test_ages(language: str, told: list[str]) -> None:
    """An age is told in its longest whole unit, in the user's language; never a negative one."""
    ages = [timedelta(hours=-3), timedelta(hours=2), days(1.9), days(27), days(731)]
    assert [tell_age(age, language) for age in ages] == told


def test_what_is_referred_to() -> None:
    """Memories and episodes are referred to; the portrait and what a persona is are not."""
    kept = memory("Ann\nlikes tea.", kind=Kind.PREFERENCE, created_at=NOW - days(3))
    told = memory("They met.", category=Category.EPISODE, created_at=NOW - days(3))
    others = [memory("It.", category=one) for one in (Category.SYSTEM, Category.PROFILE)]
    assert references_to([kept, *others, told], NOW, "en") == (
        Reference(kept.id, "Ann likes tea.", "preference", "3 days ago"),
        Reference(told.id, "They met.", "episode", "3 days ago"),
    )


async def test_who_wants_them(tmp_path: Path) -> None:
    """Without a wish there are none; with it those of the text, which stays as it was."""
    async with staged(tmp_path, lambda _: SKIP) as stage:
        memory = stage.memory
        await memory.remember("Ann likes tea.", **ANN)
        plain = await memory.recall(**TEA)
        await memory.set_preferences(**ANN, show_references=True)
        stage.clock.at += days(3)
        shown = await memory.recall(**TEA)
        assert plain.references == ()
        assert [(one.text, one.age) for one in shown.references] == [
            ("Ann likes tea.", "3 days ago")
        ]
        assert tuple(one.id for one in shown.references) == shown.ids
        assert replace(shown, references=()).text == plain.text
        await memory.introduce(**ANN, language="ja")
        assert (await memory.recall(**TEA)).references[0].age == "3日前"


async def test_setting(tmp_path: Path) -> None:
    """The setting shows them to all but those who have chosen not to see them."""
    async with staged(tmp_path, lambda _: SKIP, show_references=True) as stage:
        await stage.memory.remember("Ann likes tea.", **ANN)
        assert (await stage.memory.recall(**TEA)).references
        await stage.memory.set_preferences(**ANN, show_references=False)
        assert not (await stage.memory.recall(**TEA)).references
