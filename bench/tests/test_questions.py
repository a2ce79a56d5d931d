"""Three evenings in Chinese, as a real model told them: episodes, portraits, and ten questions."""

import asyncio
import io
import re
from pathlib import Path

import pytest
from rich.console import Console

from bench.questions import Question, Told, read_questions, report, run
from souffleur.agents.model.recording import Player
from souffleur.dialogue import Dialogue, as_recorded, read_dialogue, settings_for
from souffleur.knowledge.memory import MemoryState
from souffleur.settings import Settings
from tests.place import where

EVALS = Path(__file__).parent.parent.parent / "evals"
FILE = EVALS / "dialogues" / "three_evenings.yaml"
RECORDING = EVALS / "recordings" / "three_evenings.jsonl"


@pytest.fixture(scope="module")
def dialogue() -> Dialogue:
    return read_dialogue(FILE)


@pytest.fixture(scope="module")
def player() -> Player:
    return Player(RECORDING)


@pytest.fixture(scope="module")
def told(dialogue: Dialogue, player: Player, tmp_path_factory: pytest.TempPathFactory) -> Told:
    """Replayed once for all tests."""
    folder = tmp_path_factory.mktemp("questions")
    settings = settings_for(dialogue, Settings(**where(folder), **as_recorded(player)))
    return asyncio.run(run(dialogue, read_questions(FILE), settings, player))


def test_it_is_long_and_chinese(dialogue: Dialogue) -> None:
    """The dialogue has three sessions, at least 120 messages, and ten questions."""
    assert len(dialogue.sessions) == 3
    assert 2 * len(dialogue) >= 120
    turns = [turn for session in dialogue.sessions for turn in session.turns]
    assert all(re.search("[\u4e00-\u9fff]", turn.user) for turn in turns)
    assert len(read_questions(FILE)) == 10


def test_all_of_the_recording_is_used(told: Told, player: Player) -> None:
    """No answer is missing, none is left over."""
    lines = RECORDING.read_text(encoding="utf-8").splitlines()
    assert len(set(player.used)) == len(lines) - 1


def test_every_talk_is_told(told: Told) -> None:
    """Each episode has its date, three to five topics and facts; each session at least one."""
    for episode in told.episodes:
        assert re.match(r"\[2026-03-\d\d \d\d:\d\d\] ", episode.content)
        assert 3 <= len(episode.topics) <= 5
        assert len(episode.content) <= 200
    assert {episode.data["session_id"] for episode in told.episodes} == {"s1", "s2", "s3"}


def test_the_portrait_grows(told: Told) -> None:
    """There are two versions at least; the last has the name, the new job, and tells the change."""
    assert len(told.portraits) >= 2
    assert [one.data["version"] for one in told.portraits] == [
        index for index, _ in enumerate(told.portraits, start=1)
    ]
    last = told.portraits[-1]
    assert last.state is MemoryState.ACTIVE
    assert last.data["name"] == "沈知遥"
    assert "汐图" in last.content
    assert last.data["changes"]


def test_what_was_no_fact_is_not_told(told: Told) -> None:
    """Neither the penguins nor the knight of a role play are in a portrait."""
    for portrait in told.portraits:
        assert not re.search("企鹅|女侠|掌柜|神龙", portrait.content)


def test_the_questions_can_be_answered(told: Told) -> None:
    """The block held what was needed, and the replies used it."""
    answerable = [one.question.about for one in told.answers if one.answerable]
    assert len(answerable) == 10
    assert sum(one.answered for one in told.answers) >= 9


def test_what_was_never_said_is_not_made_up(told: Told) -> None:
    """To a question about what was never told, the reply claims nothing."""
    (unknown,) = [one for one in told.answers if one.question.never_said]
    assert re.search("没|不记得|不知道", unknown.reply)


def test_the_report_tells_all(told: Told) -> None:
    """Episodes, portraits, blocks and answers are printed."""
    out = io.StringIO()
    report(told, Console(file=out, width=120))
    for text in ("EPISODE", "PORTRAIT 1", "answerable", "10 of 10"):
        assert text in out.getvalue()


def test_a_question_is_read_strictly() -> None:
    """A misspelt field is an error."""
    with pytest.raises(ValueError, match="expects"):
        Question.model_validate({"at": "2026-03-12T09:05:00+08:00", "ask": "?", "expects": []})
