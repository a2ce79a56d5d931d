"""Log lines: each has its user, and no line quotes the talk."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from loguru import logger

from souffleur.agents.model.chat import Reply, Request
from souffleur.agents.model.recording import Player
from souffleur.demo.dialogue import as_recorded, clock_for, read_dialogue, replay, settings_for
from souffleur.errors import AnswerError
from souffleur.knowledge.memory import MemoryState
from souffleur.settings import Settings
from tests.scripted import by_name
from tests.stage import staged
from tests.stores import open_empty

DEMO = Path(__file__).parents[3] / "souffleur/demo/en"
RUN = 15
"""Consecutive characters in common with what was said that count as a quotation."""


class Indiscreet:
    """A recorded model that fails at every other judgement, with the prompt in its error."""

    def __init__(self, player: Player) -> None:
        self._player = player
        self._calls = 0

    async def __call__(self, request: Request) -> Reply:
        """Fail, or answer as recorded; a second question in a call is answered as the first."""
        told = "\n".join(message.content for message in request.messages[1:])
        if request.name != "monitor":
            return await self._player(request)
        self._calls += 1
        if self._calls % 6 == 1:
            raise ValueError(f"cannot handle {told}")
        if self._calls % 6 == 3:
            raise AnswerError(f"this is no answer: {told}", answer=told)
        if self._calls % 6 == 5:
            return Reply(f'{{"reason": "{told}", "ops": [')
        return await self._player(replace(request, messages=request.messages[:2]))


@pytest.fixture
def lines() -> Iterator[list[Any]]:
    """What a host's sink gets, with values of variables in tracebacks, as is loguru's default."""
    kept: list[Any] = []
    logger.enable("souffleur")
    sink = logger.add(kept.append, level="DEBUG", diagnose=True, backtrace=True)
    yield kept
    logger.remove(sink)
    logger.disable("souffleur")


def quoted(lines: list[Any], words: list[str]) -> list[str]:
    """The lines that quote any of these words."""
    runs = {text[at : at + RUN] for text in words for at in range(len(text) - RUN + 1)}
    shown = [f"{line} {line.record['extra']}" for line in lines]
    return [
        one for one in shown if any(one[at : at + RUN] in runs for at in range(len(one) - RUN + 1))
    ]


async def test_no_line_of_a_dialogue_quotes_it(tmp_path: Path, lines: list[Any]) -> None:
    """However the model fails, no line holds words of users, replies, prompts or memories."""
    whole, player = read_dialogue(DEMO / "dialogue.yaml"), Player(DEMO / "recording.jsonl")
    sessions = whole.sessions[:2]
    nights = [night for night in whole.nights if night.at <= sessions[-1].turns[-1].at]
    dialogue = whole.model_copy(update={"sessions": sessions, "nights": nights})
    usual = Settings(path=tmp_path, retry_pause=0.0, **as_recorded(player))
    settings, clock = settings_for(dialogue, usual), clock_for(dialogue)
    async with open_empty(settings, chat=Indiscreet(player), clock=clock) as memory:
        turns = [played.turn async for played in replay(dialogue, memory, clock)]
        everything = tuple(MemoryState)
        known = await memory.knowledge.list(dialogue.user.id, states=everything)
    said = [text for turn in turns for text in (turn.user, turn.assistant)]
    assert len(lines) >= len(turns) / 3
    assert quoted(lines, [*said, *(one.content for one in known)]) == []
    unjudged = [line.record["extra"] for line in lines if "turn not judged" in str(line)]
    assert unjudged
    ids = {(turn.user_id, turn.session_id, turn.turn_id) for turn in turns}
    assert {(one["user"], one["session"], one["turn"]) for one in unjudged} <= ids
    warnings = [line.record for line in lines if line.record["level"].no >= 30]
    assert [one["message"] for one in warnings if "user" not in one["extra"]] == []


async def test_no_line_of_a_narrator_quotes_the_talk(tmp_path: Path, lines: list[Any]) -> None:
    """An episode that fails is logged with its user, without the talk."""

    def failing(request: Request) -> Exception:
        return KeyError("\n".join(message.content for message in request.messages))

    words = ["I like green tea from the valley", "So do all prompters"]
    async with staged(tmp_path, by_name(episode=failing), tries=1, window=4) as stage:
        for _ in range(4):
            await stage.say(words[0], reply=words[1])
    assert quoted(lines, words) == []
    failed = [line.record["extra"] for line in lines if "summarised" in str(line)]
    assert {one["user"] for one in failed} == {"ann"}


async def test_who_asks_for_all_sees_all(tmp_path: Path) -> None:
    """A sink of level TRACE has the error's own text and traceback."""
    kept: list[str] = []
    logger.enable("souffleur")
    sink = logger.add(kept.append, level="TRACE", format="{level}|{message}")
    try:
        failing = by_name(monitor=ValueError("cannot handle: I like green tea"))
        async with staged(tmp_path, failing, tries=1) as stage:
            await stage.say("I like green tea")
    finally:
        logger.remove(sink)
        logger.disable("souffleur")
    assert [line.split("|")[0] for line in kept if "green tea" in line] == ["TRACE"]
    assert any("`souffleur list --failed`): ValueError in " in line for line in kept)


async def test_a_recall_that_lacks_something_says_whose(tmp_path: Path, lines: list[Any]) -> None:
    """What goes wrong within a recall is bound to the user and the session."""
    async with staged(tmp_path, by_name()) as stage:
        await stage.say("I like green tea")
        damaged = await stage.knowledge.journal.turns(user_id="ann")
        await stage.knowledge.journal.collection.merge_payload([damaged[0].id], {"version": "?"})
        await stage.memory.recall(user_id="ann", session_id="s1", text="What did we talk about?")
    unread = [line.record["extra"] for line in lines if "cannot be read" in str(line)]
    assert unread
    assert {(one.get("user"), one.get("session")) for one in unread} == {("ann", "s1")}
