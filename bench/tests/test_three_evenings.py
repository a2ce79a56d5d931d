"""Three evenings in Chinese, as a real model told them: episodes, portraits, and ten questions.

A question can be answered if all its expectations, which are regular expressions, match in the
block. The questions are beside the dialogue, in three_evenings.questions.yaml.
"""

import asyncio
import re
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
import yaml

from souffleur.agents.model.chat import Message, Request
from souffleur.agents.model.recording import Player
from souffleur.api import Souffleur
from souffleur.demo.dialogue import (
    Dialogue,
    as_recorded,
    clock_for,
    read_dialogue,
    replay,
    settings_for,
)
from souffleur.knowledge.memory import Category, Frozen, Memory, MemoryState
from souffleur.prompts import language_of, render
from souffleur.settings import Settings
from tests.place import where

EVALS = Path(__file__).parent.parent.parent / "evals"
FILE = EVALS / "dialogues" / "three_evenings.yaml"
RECORDING = EVALS / "recordings" / "three_evenings.jsonl"


class Question(Frozen):
    """One question, and what its answer needs; `never_said`: the right answer is not to know."""

    at: datetime
    session: str = "q"
    ask: str
    expect: tuple[str, ...] = ()
    never_said: bool = False
    about: str = ""


QUESTIONS = [
    Question.model_validate(part)
    for part in yaml.safe_load(FILE.with_suffix(".questions.yaml").read_text("utf-8"))["questions"]
]


@dataclass(frozen=True)
class Answered:
    """A question with its block and the reply to it."""

    question: Question
    block: str
    reply: str

    @property
    def answerable(self) -> bool:
        return all(re.search(sought, self.block) for sought in self.question.expect)

    @property
    def answered(self) -> bool:
        return all(re.search(sought, self.reply) for sought in self.question.expect)


@dataclass(frozen=True)
class Told:
    """What was kept of the evenings, oldest first, and the answers."""

    episodes: list[Memory]
    portraits: list[Memory]
    answers: list[Answered]


async def run(dialogue: Dialogue, settings: Settings, chat: Player) -> Told:
    """Replays the dialogue into a fresh store, then asks each question at its time."""
    clock, user_id = clock_for(dialogue), dialogue.user.id
    async with Souffleur.open(settings, chat=chat, clock=clock) as memory:
        async for _ in replay(dialogue, memory, clock):
            pass
        answers = []
        for one in QUESTIONS:
            clock.at = one.at
            await memory.flush()
            given: Any = {"user_id": user_id, "session_id": one.session}
            block = (await memory.recall(**given, text=one.ask, at=one.at)).text
            name = memory.settings.assistant_name
            rules = render("companion", language_of(one.ask), assistant=name, memories=block)
            messages = (Message("system", rules), Message("user", one.ask))
            reply = await chat(Request(messages, "companion"))
            answers.append(Answered(one, block, reply.text))
        episodes = await memory.knowledge.list(user_id, category=Category.EPISODE)
        portraits = await memory.knowledge.portraits(user_id)
        return Told(episodes, portraits[::-1], answers)


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
    return asyncio.run(run(dialogue, settings, player))


def test_it_is_long_and_chinese(dialogue: Dialogue) -> None:
    """The dialogue has three sessions, at least 120 messages, and ten questions."""
    assert len(dialogue.sessions) == 3
    assert 2 * len(dialogue) >= 120
    turns = [turn for session in dialogue.sessions for turn in session.turns]
    assert all(re.search("[\u4e00-\u9fff]", turn.user) for turn in turns)
    assert len(QUESTIONS) == 10


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
