"""The English dialogue of the demo as a story: its scenes, its ending, and how it is shown."""

import asyncio
import os
import re
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest
from rich.cells import cell_len

from souffleur.agents.model.chat import Usage
from souffleur.agents.model.recording import Player
from souffleur.api import Souffleur
from souffleur.cli.story import StoryPrinter
from souffleur.demo.dialogue import (
    Dialogue,
    ScenePart,
    as_recorded,
    clock_for,
    read_dialogue,
    settings_for,
)
from souffleur.demo.effects import Effect, Event
from souffleur.demo.page import to_html
from souffleur.demo.story import Ending, Meter, Remembered, Scene, tell
from souffleur.demo.words import read_words
from souffleur.settings import Settings
from tests.build import NOW

DEMO = Path(__file__).parent.parent.parent / "souffleur" / "demo"
FOLDER = DEMO / "en"


class Told:
    """The story as it was told."""

    scenes: list[Scene]
    end: Ending
    calls: int

    def scene(self, at: str) -> Scene:
        """The scene of this place."""
        return next(one for one in self.scenes if one.part.at == at)

    def lasting(self) -> str:
        """The core memories, a line each."""
        return "\n".join(one.content for one in self.end.memories if one.lasts)


@pytest.fixture(scope="module")
def dialogue() -> Dialogue:
    return read_dialogue(FOLDER / "dialogue.yaml")


@pytest.fixture(scope="module")
def told(dialogue: Dialogue, tmp_path_factory: pytest.TempPathFactory) -> Told:
    """Told once for all tests."""
    return asyncio.run(_told(dialogue, tmp_path_factory.mktemp("story")))


async def _told(dialogue: Dialogue, folder: Path) -> Told:
    player = Player(FOLDER / "recording.jsonl")
    settings = settings_for(dialogue, Settings(path=folder, **as_recorded(player)))
    told, clock, meter = Told(), clock_for(dialogue), Meter(player)
    async with Souffleur.open(settings, chat=meter, clock=clock) as memory:
        *scenes, end = [part async for part in tell(dialogue, memory, clock, meter)]
    told.scenes = [one for one in scenes if isinstance(one, Scene)]
    assert isinstance(end, Ending)
    told.end, told.calls = end, len(set(player.used))
    return told


def test_it_is_half_a_year_in_english(dialogue: Dialogue) -> None:
    """Some forty turns over half a year, with nights of scheduled runs."""
    turns = [turn for session in dialogue.sessions for turn in session.turns]
    assert len(turns) >= 36
    assert turns[-1].at - turns[0].at >= timedelta(days=180)
    assert not any(re.search("[\u4e00-\u9fff]", turn.user + turn.assistant) for turn in turns)
    assert len(dialogue.nights) >= 2


def test_all_of_the_recording_is_used(told: Told) -> None:
    """The file holds nothing that is not asked for."""
    lines = (FOLDER / "recording.jsonl").read_text(encoding="utf-8").splitlines()
    assert told.calls == len(lines) - 1


def test_the_named_scenes_are_told(told: Told, dialogue: Dialogue) -> None:
    """Each scene of the file, in order, with what it is there to show."""
    assert [one.part for one in told.scenes] == list(dialogue.scenes)
    assert 9 <= len(told.scenes) <= 11
    assert sum(scene.is_night for scene in told.scenes) == 2
    for scene in told.scenes:
        assert scene.shown or scene.whispered or scene.gone, scene.part.title
        assert bool(scene.whispered) == bool(scene.part.whispered), scene.part.title
        assert (scene.gone is None) == (not scene.part.gone), scene.part.title


def test_what_would_hurt_to_forget_is_core_after_one_night(told: Told) -> None:
    """The allergy was told once; it is promoted in the first night, and lasts."""
    first = [one.text for one in told.scene("n1").shown if one.effect is Effect.PROMOTED]
    assert any("peanut" in text for text in first)
    assert "peanut" in told.lasting()
    assert "19 May" in told.lasting()


def test_nothing_false_is_remembered(told: Told) -> None:
    """No joke, lottery, cure, card, other person's diet, old home, or forgotten ex."""
    whole = "\n".join(one.content for one in told.end.memories) + told.end.portrait
    assert not re.search("seal|Inishbofin|lighthouse|cured|4242|Daniel", whole)
    assert not re.search(r"Nora (is|became) (a )?vegan", whole)
    now = [one.content for one in told.end.memories if re.search(r"lives in", one.content)]
    assert now
    assert not any(re.search(r"Nora lives in Bray(?!.*until)", content) for content in now)


def test_the_ex_goes_from_summary_and_portrait_too(told: Told) -> None:
    """With the memory went what told of it; afterwards nothing does."""
    scene = told.scene("s05.4")
    (gone,) = [one for one in scene.shown if one.effect is Effect.FORGOTTEN]
    assert "Daniel" in gone.text
    assert gone.episodes >= 1
    assert scene.gone is not None


def test_a_move_makes_a_memory_out_of_date(told: Told) -> None:
    """The former home is replaced, and told as what was."""
    replaced = [one for one in told.scene("s08.1").shown if one.effect is Effect.REPLACED]
    assert "Bray" in "\n".join(was for one in replaced for was in one.was)


def test_old_evenings_become_one_memory(told: Told) -> None:
    """Dates, names and numbers of four memories are in the one that replaced them."""
    (merged,) = [one for one in told.scene("n3").shown if one.effect is Effect.MERGED]
    assert len(merged.was) >= 3
    for detail in ("4 March 2026", "twelve centimetres", "copper red", "eight evenings", "Aoife"):
        assert detail in merged.text


def test_the_nights_do_all_that_nights_do(told: Told) -> None:
    """They promote, review and keep, let go, and merge."""
    assert {Effect.PROMOTED, Effect.STAYS, Effect.EXPIRED, Effect.MERGED} <= set(told.end.done)
    assert told.end.usage.calls > told.end.turns


BY_HAND = Scene(
    ScenePart(title="一件说过一次的事 told once", at="s1.1", about="她只说了一次。"),
    NOW,
    user="对了，我花生过敏，很严重，小时候为这个进过医院。<b>你</b>推荐吃的要当心，" * 3,
    assistant="记下了。" * 12,
    whispered=("主人住在 Tanjong Pagar 的一间小公寓，" * 3,),
    whispered_of=9,
    shown=(
        Event(Effect.FORGOTTEN, "主人的前任叫周雯。", "主人请求忘掉", episodes=2, portraits=1),
        Event(Effect.NOT_KEPT, why="a joke [bold]only[/]"),
        Event(Effect.REFUSED, "the key", "it holds a secret"),
    ),
    rest=((Effect.STAYS, 3),),
)
END = Ending(
    at=NOW,
    memories=tuple(Remembered(f"memory {n}", n < 2, 1.5) for n in range(30)),
    portrait="A portrait <i>of</i> her.",
    turns=3,
    nights=1,
    changed_nothing=1,
    done={Effect.KEPT: 1, Effect.REFUSED: 1},
    usage=Usage(calls=4, input_tokens=9000, output_tokens=300),
)


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("width", [60, 80, 100, 140])
def test_no_line_is_too_long(language: str, width: int, capsys: pytest.CaptureFixture[str]) -> None:
    """At every width each line fits, and Chinese is wrapped by its characters, not moved."""
    words = read_words(DEMO / language)
    printer = StoryPrinter(words, read_dialogue(DEMO / language / "dialogue.yaml"), width)
    printer.intro()
    printer.scene(BY_HAND, 1)
    printer.ending(END, "claude", "2026-01-03")
    lines = capsys.readouterr().out.splitlines()
    commands = [line for line in lines if "souffleur" in line and line.startswith("  ")]
    assert max(cell_len(line) for line in lines if line not in commands) <= width
    said = next(line for line in lines if "对了，我花生过敏" in line)
    assert cell_len(said) >= width - 3
    assert any("[bold]only[/]" in line for line in lines)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_page_shows_words_as_words(language: str) -> None:
    """All is on the page, and markup in somebody's words is only text."""
    words = read_words(DEMO / language)
    dialogue = read_dialogue(DEMO / language / "dialogue.yaml")
    page = to_html(dialogue, [BY_HAND], END, words, source=("claude", "2026-01-03"))
    assert f'<html lang="{language}">' in page
    for text in (
        "一件说过一次的事",
        "&lt;b&gt;你",
        "memory 29",
        "&lt;i&gt;of",
        "claude",
        words.always,
    ):
        assert text in page
    assert "<b>你" not in page


def test_counts_have_their_nouns() -> None:
    """One is one, and many are many."""
    took = " ".join(read_words(FOLDER).took_of(END, "claude", "2026-01-03"))
    for text in (
        "3 turns judged",
        "1 memory kept",
        "refused 1 change ",
        "4 calls",
        "3,000 and 100",
    ):
        assert text in took


def environment(folder: Path, **others: str) -> dict[str, str]:
    """An environment without key, with settings that must not matter, and `souffleur` on PATH."""
    bare = {key: value for key, value in os.environ.items() if key in {"HOME", "LANG"}}
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    odd = {"SOUFFLEUR_POLICY": "studio", "SOUFFLEUR_ALWAYS_ON_FACTS": "9"}
    return {**bare, **odd, "PATH": path, "TMPDIR": str(folder), "COLUMNS": "100", **others}


COMMAND = [sys.executable, "-P", "-m", "souffleur", "demo"]


def test_a_person_sees_it_in_a_few_screens(tmp_path: Path) -> None:
    """Without key or network it ends with 0, is short, and tells what is remembered, and why."""
    done = subprocess.run(
        COMMAND,
        capture_output=True,
        text=True,
        env=environment(tmp_path),
        timeout=300,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert 90 <= len(lines) <= 150
    assert max(len(line) for line in lines) <= 100
    for text in ("whispered", "because", "made core", "forgot", "merged", "always", "Next"):
        assert text in done.stdout
    assert list(tmp_path.iterdir()) == []
