"""People and personas: each with a title, a time zone, a language and a name of their own."""

from collections.abc import AsyncIterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from souffleur.agents.model.chat import Request
from souffleur.errors import InputError, SettingsError
from souffleur.knowledge.knowledge_base import KnowledgeBase
from souffleur.knowledge.people import person_id
from souffleur.knowledge.policy import COMPANION
from souffleur.knowledge.search.embedder import make_embedder
from souffleur.knowledge.store.repair import find_broken
from souffleur.knowledge.store.transfer import copy_store
from tests.build import NOW, days, keep, open_base
from tests.command import Run, data
from tests.place import located
from tests.scripted import SKIP, add, answer, episode
from tests.stage import Stage, staged

TALK = "So tired today, the deadline of the whole report is tomorrow at noon."


@pytest.fixture
async def stage(tmp_path: Path) -> AsyncIterator[Stage]:
    """A runtime whose model keeps nothing."""
    async with staged(tmp_path, lambda _: SKIP, language="en") as stage:
        yield stage


def asked(stage: Stage) -> str:
    """All that the model was shown last."""
    return "\n".join(message.content for message in stage.chat.requests[-1].messages)


async def test_the_judge_is_told_the_name_and_the_time_of_each_user(stage: Stage) -> None:
    """Two users in two zones: each question has its user's title, clock and language."""
    await stage.memory.introduce(user_id="ann", title="Annie", timezone="America/New_York")
    await stage.memory.introduce(
        user_id="ming", title="主人", timezone="Asia/Shanghai", language="zh"
    )
    await stage.memory.introduce_persona(agent_id="luna", name="Luna")
    stage.memory.observe(user_id="ann", agent_id="luna", user=TALK, assistant="Rest.")
    await stage.memory.flush()
    told = asked(stage)
    assert "Annie: So tired" in told
    assert "Luna: Rest." in told
    assert "2026-01-03 05:00 Saturday (America/New_York)" in told
    stage.memory.observe(user_id="ming", user="今天好累", assistant="早点睡")
    await stage.memory.flush()
    told = asked(stage)
    assert "主人：今天好累" in told
    assert "Mo：早点睡" in told
    assert "2026-01-03 18:00 星期六 (Asia/Shanghai)" in told


async def test_who_is_not_introduced_is_as_the_settings_say(stage: Stage) -> None:
    """An introduction of one user changes no word of what is asked about another."""
    await stage.say(TALK)
    before = stage.chat.requests[-1].messages
    await stage.memory.introduce(user_id="ming", title="主人", timezone="Asia/Tokyo")
    await stage.memory.introduce_persona(agent_id="luna", name="Luna")
    stage.clock.at = NOW
    await stage.say(TALK, session="s2")
    assert stage.chat.requests[-1].messages == before


async def test_an_introduction_can_be_made_piece_by_piece(stage: Stage) -> None:
    """What is not given stays, each change is a version, and the same again is none."""
    await stage.memory.introduce(user_id="ann", title="Annie")
    stage.clock.at = NOW + days(1)
    person = await stage.memory.introduce(user_id="ann", timezone="Asia/Tokyo")
    assert (person.title, person.timezone, person.version) == ("Annie", "Asia/Tokyo", 2)
    assert [one.since for one in person.earlier] == [NOW]
    assert await stage.memory.introduce(user_id="ann", timezone="Asia/Tokyo") == person


async def test_former_titles_are_known(stage: Stage) -> None:
    """After a new title old memories stand as they were, and judge and whisper know whose."""
    kept = await keep(stage.knowledge, "Ann likes green tea.")
    await stage.memory.introduce(user_id="ann", title="Captain")
    await stage.memory.introduce(user_id="ann", title="Admiral")
    assert (await stage.knowledge.get(kept.id, user_id="ann")).content == "Ann likes green tea."
    whisper = await stage.memory.recall(user_id="ann", text="green tea?")
    line = "Older memories also call Admiral by former names: Ann / Captain."
    assert line in whisper.text
    await stage.say(TALK)
    assert line in asked(stage)


async def test_a_title_from_the_start_has_no_former_ones(stage: Stage) -> None:
    """Who is introduced before anything is remembered was never called otherwise."""
    assert (await stage.memory.introduce(user_id="ann", title="Captain")).former == ()
    await stage.say(TALK)
    assert "former" not in asked(stage)


async def test_a_time_without_a_zone_is_the_users(stage: Stage) -> None:
    """What is observed at noon was said at the user's noon."""
    await stage.memory.introduce(user_id="ann", timezone="Asia/Tokyo")
    noon = datetime(2026, 1, 3, 12)  # noqa: DTZ001  a host may leave it out
    stage.memory.observe(user_id="ann", turn_id="t1", user=TALK, at=noon)
    await stage.memory.flush()
    (turn,) = await stage.knowledge.journal.turns(user_id="ann")
    assert turn.at.isoformat() == "2026-01-03T12:00:00+09:00"


async def test_a_japanese_user_is_whispered_of_in_japanese(stage: Stage) -> None:
    """Headings are in the language of the introduction, whatever is spoken; the judge's are not."""
    await keep(stage.knowledge, "美咲は緑茶が好き。")
    await stage.memory.introduce(user_id="ann", title="美咲", language="ja")
    whisper = await stage.memory.recall(user_id="ann", text="green tea? 緑茶")
    assert "## 美咲について覚えていること" in whisper.text
    assert "### 今に関わること" in whisper.text
    await stage.say("緑茶がおいしい")
    assert "美咲: 緑茶がおいしい" in asked(stage)


async def test_who_speaks_japanese_is_whispered_of_in_japanese(tmp_path: Path) -> None:
    """Without any introduction or setting, kana are enough."""
    async with staged(tmp_path, lambda _: SKIP) as stage:
        await keep(stage.knowledge, "Annは緑茶が好き。")
        whisper = await stage.memory.recall(user_id="ann", text="緑茶はどこ")
        assert "について覚えていること" in whisper.text
        assert "What you remember" in (await stage.memory.recall(user_id="ann", text="tea")).text


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"title": " "}, "title: must not be blank"),
        ({"title": "Ann\nMo"}, "title: must be one line"),
        ({"title": "A" * 61}, "title: must have at most 60 characters"),
        ({"title": "\ud83d"}, "title: holds half of a character"),
        ({"timezone": "Mars/Base"}, "timezone: there is no time zone 'Mars/Base'"),
        ({"title": 7}, "title: Input should be a valid string"),
        ({"timezone": "../UTC"}, "timezone: there is no time zone"),
        ({"language": "tlh"}, "language: Input should be 'en', 'zh' or 'ja'"),
    ],
)
async def test_what_cannot_be_right_is_refused(
    base: KnowledgeBase, fields: dict[str, Any], why: str
) -> None:
    """The error names the field and what to do, and nothing is kept."""
    with pytest.raises(SettingsError, match=why):
        base.people.introduce("ann", now=NOW, **fields)
    assert await base.people.find("ann", "default") == (None, None)


async def test_only_ids_are_introduced(base: KnowledgeBase) -> None:
    """A blank id is nobody's, and nobody's title is kept."""
    with pytest.raises(InputError):
        base.people.introduce(" ", now=NOW, title="Ann")
    with pytest.raises(InputError):
        base.people.introduce_persona("", now=NOW, name="Mo")


async def test_introductions_are_migrated_and_can_be_read(tmp_path: Path) -> None:
    """A copy of the store has them, and repair finds nothing wrong with either kind."""
    old = await open_base(tmp_path / "old")
    await keep(old)
    old.people.introduce("ann", now=NOW, title="Annie", timezone="Asia/Tokyo")
    old.people.introduce("ann", now=NOW, title="Captain")
    old.people.introduce_persona("luna", now=NOW, name="Luna")
    assert await find_broken(old) == []
    introduced = await old.people.everybody()
    await old.close()
    places = located(tmp_path / "old"), located(tmp_path / "new")
    await copy_store(*places, make_embedder("hash:64"), COMPANION)
    new = await open_base(tmp_path / "new", dimension=64)
    assert await new.people.everybody() == introduced
    assert introduced.people["ann"].former == ("Annie",)
    await new.close()


async def test_an_introduction_that_cannot_be_read_hides_nobody(stage: Stage) -> None:
    """The user is then called as the settings say, and repair names the record."""
    await stage.memory.introduce(user_id="ann", title="Captain")
    collection = stage.knowledge.journal.collection
    await collection.merge_payload([person_id("ann")], {"timezone": "Mars/Base"})
    await keep(stage.knowledge)
    assert "Ann" in (await stage.memory.recall(user_id="ann", text="green tea?")).text
    assert len(await find_broken(stage.knowledge)) == 1


def test_people_and_personas_on_the_command_line(run: Run) -> None:
    """Both are set and shown, and from then on times are the person's."""
    run("remember", "Ann likes green tea.", "--user", "ann")
    (ann,) = data(
        run, "user", "people", "--user", "ann", "--title", "Annie", "--timezone", "Asia/Tokyo"
    )
    assert (ann["title"], ann["timezone"], ann["language"]) == ("Annie", "Asia/Tokyo", None)
    (luna,) = data(run, "user", "personas", "--agent", "luna", "--name", "Luna")
    assert luna["name"] == "Luna"
    shown = run("user", "people")[1]
    assert "Annie" in shown
    assert "the user" in shown  # its former title
    assert "Luna" in run("user", "personas")[1]
    (memory,) = data(run, "list", "--user", "ann")
    assert "(Asia/Tokyo)" in run("show", memory["id"][:8])[1]
    assert run("user", "people", "--title", "Annie")[0] == 2
    assert run("user", "people", "--user", "ann", "--timezone", "Mars/Base")[0] == 2


async def test_dates_in_episodes_are_the_users(tmp_path: Path) -> None:
    """An episode begins with the user's own clock, and so does what the model is shown."""

    def script(request: Request) -> dict[str, Any]:
        return episode("Annie was tired.") if request.name == "episode" else SKIP

    async with staged(tmp_path, script, language="en") as stage:
        await stage.memory.introduce(user_id="ann", title="Annie", timezone="Asia/Tokyo")
        await stage.say(TALK, "Good night.")
        await stage.end()
        (told,) = await stage.episodes()
        assert told.content == "[2026-01-03 19:00] Annie was tired."
        assert "Began: 2026-01-03 19:00 Saturday (Asia/Tokyo)" in asked(stage)


async def test_former_titles_are_no_entities(tmp_path: Path) -> None:
    """As an entity a former title says as little as the present one."""
    kept = answer(add("Captain is tired.", "So tired", entities=["Ann", "captain", "Tom"]))
    async with staged(tmp_path, [kept], language="en") as stage:
        await keep(stage.knowledge)
        await stage.memory.introduce(user_id="ann", title="Captain")
        await stage.say(TALK)
        (_, tired) = await stage.knowledge.list("ann")
        assert tired.entities == ("Tom",)
