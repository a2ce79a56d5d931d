"""The Chinese dialogue of the demo, and its recording: what becomes of each thing told."""

import asyncio
import re
from datetime import timedelta
from pathlib import Path

import pytest

from souffleur.agents.model.recording import Player
from souffleur.api import Souffleur
from souffleur.demo.dialogue import (
    Dialogue,
    Played,
    as_recorded,
    clock_for,
    read_dialogue,
    replay,
    settings_for,
)
from souffleur.knowledge.memory import NARRATIVE, Category, Memory, MemoryState
from souffleur.knowledge.operation import ActorKind, LedgerEntry
from souffleur.knowledge.turn import TurnState
from souffleur.settings import Settings

FOLDER = Path(__file__).parent.parent.parent / "souffleur" / "demo" / "zh"


@pytest.fixture(scope="module")
def dialogue() -> Dialogue:
    return read_dialogue(FOLDER / "dialogue.yaml")


class Told:
    """The demo as it was replayed."""

    turns: list[Played]
    memories: list[Memory]
    entries: list[LedgerEntry]
    used: int

    def active(self, pattern: str) -> list[str]:
        """Contents of active memories that match, but for episodes and portraits."""
        found = [
            one.content
            for one in self.memories
            if one.state is MemoryState.ACTIVE and one.category not in NARRATIVE
        ]
        return [content for content in found if re.search(pattern, content)]

    def turn(self, note: str) -> Played:
        """The first turn whose note holds this."""
        return next(turn for turn in self.turns if note in turn.exchange.note)


@pytest.fixture(scope="module")
def told(dialogue: Dialogue, tmp_path_factory: pytest.TempPathFactory) -> Told:
    """Replayed once for all tests."""
    return asyncio.run(play(dialogue, tmp_path_factory.mktemp("demo")))


async def play(dialogue: Dialogue, folder: Path) -> Told:
    """The demo into a folder."""
    player = Player(FOLDER / "recording.jsonl")
    settings = settings_for(dialogue, Settings(path=folder, **as_recorded(player)))
    told = Told()
    clock = clock_for(dialogue)
    async with Souffleur.open(settings, chat=player, clock=clock) as memory:
        told.turns = [turn async for turn in replay(dialogue, memory, clock)]
        told.memories = await memory.knowledge.list(dialogue.user.id, states=tuple(MemoryState))
        told.entries = await memory.knowledge.journal.entries(dialogue.user.id)
    told.used = len(set(player.used))
    return told


def test_it_is_long_and_bilingual(dialogue: Dialogue) -> None:
    """It has at least 40 turns over at least four weeks, in Chinese and English."""
    turns = [turn for session in dialogue.sessions for turn in session.turns]
    assert len(turns) == len(dialogue) >= 40
    assert turns[-1].at - turns[0].at >= timedelta(weeks=4)
    chinese = [turn for turn in turns if re.search("[\u4e00-\u9fff]", turn.user)]
    assert len(chinese) >= 20
    assert len(turns) - len(chinese) >= 15


def test_every_turn_has_a_recorded_answer(told: Told, dialogue: Dialogue) -> None:
    """No turn failed, none is stale, and the file holds nothing that is not used."""
    assert {turn.turn.state for turn in told.turns} == {TurnState.JUDGED}
    lines = (FOLDER / "recording.jsonl").read_text(encoding="utf-8").splitlines()
    assert told.used == len(lines) - 1


def test_all_ops_occur(told: Told) -> None:
    """A person sees each op at least once, most with a quote."""
    assert {"ADD", "UPDATE", "BOOST", "DELETE", "SKIP"} <= {entry.op for entry in told.entries}
    judged = [entry for entry in told.entries if entry.by.who is ActorKind.MONITOR]
    grounded = [e for e in judged if e.op in {"ADD", "UPDATE", "DELETE"} and not e.refused]
    assert all(entry.quote and entry.reason for entry in grounded)


def test_a_correction_replaces(told: Told) -> None:
    """There is one birthday, the right one."""
    birthdays = told.active("生日是|birthday is")
    assert len(birthdays) == 1
    assert "3月16日" in birthdays[0]


def test_what_is_no_fact_is_not_kept(told: Told) -> None:
    """Jokes, play, hypotheticals, other people's diets and pasted commands left no memory."""
    assert told.active("火星|间谍|彩票|京都|Tanaka|田中|女仆|DELETE") == []
    for note in ("joke:", "hypothetical:", "role play:", "injection attempt"):
        changed = [entry.op for entry in told.turn(note).outcomes if entry.changes]
        assert "DELETE" not in changed
        assert "ADD" not in changed
    assert not told.active("(主人|user)[^,，。]{0,12}(素食|vegetarian)")


def test_secrets_are_nowhere(told: Told) -> None:
    """Neither key nor door code is in a memory or in the ledger."""
    whole = "".join(one.model_dump_json() for one in [*told.memories, *told.entries])
    assert "sk-test" not in whole
    assert "4471" not in whole


def test_what_was_to_be_forgotten_is_not_whispered(told: Told, dialogue: Dialogue) -> None:
    """After the request nothing active, and no whisper, names the one to be forgotten."""
    place = told.turns.index(told.turn("explicit ask to forget"))
    assert told.active("周雯") == []
    assert any("周雯" in one.content for one in told.memories if one.state is MemoryState.FORGOTTEN)
    assert all("周雯" not in turn.whisper.text for turn in told.turns[place + 1 :])
    in_force = [one for one in told.memories if one.state is MemoryState.ACTIVE]
    assert all("周雯" not in one.model_dump_json() for one in in_force)


def test_an_old_taste_is_history(told: Told) -> None:
    """The coffee that was given up is superseded, not beside the tea."""
    (changed,) = [one for one in told.turn("coffee -> tea").outcomes if one.op == "UPDATE"]
    now, before = (change.after for change in changed.changes)
    assert ("戒了咖啡" in now.content, bool(told.active("龙井"))) == (True, True)
    assert ("flat white" in before.content, before.state) == (True, MemoryState.SUPERSEDED)


def test_a_move_changes_the_commute_too(told: Told) -> None:
    """After the move neither the old home nor the old way to work is told as of now."""
    assert not told.active("住在 Woodlands")
    assert not told.active("^主人从 Woodlands(?!.*2026年2月13日为止)")
    assert told.active("Tiong Bahru")


def test_a_memory_was_at_hand_when_it_shaped_a_reply(told: Told) -> None:
    """The allergy before the food, the nerves before "别这么绷着"."""
    assert "花生" in told.turn("peanut allergy from s01 in a food").whisper.text
    assert "Halden Labs" in told.turn("reply indirectly").whisper.text


def test_talks_are_told_and_the_person_is_known(told: Told, dialogue: Dialogue) -> None:
    """Most sessions leave an episode; the portrait has grown, and tells the new home and job."""
    episodes = [one for one in told.memories if one.category is Category.EPISODE]
    assert len({one.data["session_id"] for one in episodes}) >= len(dialogue.sessions) - 2
    portraits = [one for one in told.memories if one.category is Category.PROFILE]
    assert len(portraits) >= 2
    (last,) = [one for one in portraits if one.state is MemoryState.ACTIVE]
    assert last.data["name"] == "林哲"
    for known in ("Tiong Bahru", "Halden Labs", "年糕", "花生", "龙井"):
        assert known in last.content
    assert not re.search("火星|间谍|彩票|女仆|Tanaka", last.content)
