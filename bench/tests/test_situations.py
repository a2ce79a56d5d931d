"""Situations: what a file may say, what counts as come to mind, and the shipped ones."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from bench.situations import (
    CameToMind,
    Helps,
    Marked,
    Situation,
    mark_bearing,
    play,
    read_situation,
    read_situations,
    summarize,
)
from souffleur.agents.structured_chat import StructuredChat
from souffleur.errors import InputError
from souffleur.recall.compose import Recall
from souffleur.settings import Settings
from tests.scripted import SKIP, Scripted, by_name

LIFE: dict[str, Any] = {
    "language": "en",
    "timezone": "Europe/London",
    "now": "2026-05-14T20:10:00+01:00",
    "user": "Femi",
    "assistant": "Mara",
    "topic": "change",
    "memories": [
        {
            "id": "job",
            "content": "Femi was let go from Halden on 2026-05-02.",
            "kind": "experience",
            "importance": "high",
            "at": "2026-05-02T21:14:00+01:00",
        },
        {
            "id": "tea",
            "content": "Femi drinks black tea.",
            "kind": "preference",
            "importance": "low",
            "at": "2026-04-02T21:14:00+01:00",
        },
    ],
    "said": [
        {
            "at": "2026-05-10T20:00:00+01:00",
            "user": "the van comes at 14:15 on the 20th",
            "assistant": "Noted.",
        }
    ],
    "message": "Bad day. Third rejection.",
    "must_come": ["job"],
}
SETTINGS = Settings(embedder="hash:512")


def situation(**fields: Any) -> Situation:
    """The life above, with other fields."""
    return Situation.model_validate({**LIFE, "name": "femi", **fields})


def write(folder: Path, **fields: Any) -> Path:
    """The same in a file."""
    path = folder / "femi.yaml"
    path.write_text(yaml.safe_dump({**LIFE, **fields}, allow_unicode=True), encoding="utf-8")
    return path


def test_a_file_is_read(tmp_path: Path) -> None:
    """A situation has the name of its file."""
    assert read_situation(write(tmp_path)) == situation()
    assert read_situations(tmp_path) == [situation()]


@pytest.mark.parametrize(
    ("fields", "fault"),
    [
        ({"must_come": ["ex"]}, "no memory has the id 'ex'"),
        ({"memories": [LIFE["memories"][0]] * 2}, "two memories have the same id"),
        ({"must_come": []}, "nothing must come"),
        ({"now": "2026-05-01T00:00:00+01:00"}, "known only after the message"),
        ({"timezone": "Mars/Base"}, "no time zone"),
        ({"must_say": ["("]}, "must_say"),
        ({"mood": "sad"}, "mood"),
    ],
)
def test_a_file_that_cannot_be_meant_is_refused(
    tmp_path: Path, fields: dict[str, Any], fault: str
) -> None:
    """The error names the file and what is wrong."""
    with pytest.raises(InputError, match=rf"femi\.yaml.*{fault}"):
        read_situation(write(tmp_path, **fields))


def test_a_folder_without_situations_is_refused(tmp_path: Path) -> None:
    """Nothing measured is no figure."""
    with pytest.raises(InputError, match="no situation"):
        read_situations(tmp_path)


def test_a_shared_word_is_noticed() -> None:
    """The hard ones share none with what must come."""
    assert not situation().shares_words()
    assert situation(message="I was let go!").shares_words()


async def test_what_comes_to_mind_is_told() -> None:
    """Memories are told by the names of the situation; what must come and does not is missing."""
    came = await play(situation(message="what came of Halden?"), SETTINGS)
    assert "job" in came.names
    assert (came.missing, came.violations, came.due) == ((), (), 1)
    wanted = {"must_say": ["on the moon"], "must_not_come": ["job"], "must_not_say": ["Halden"]}
    other = await play(situation(message="what came of Halden?", **wanted), SETTINGS)
    assert other.missing == ("on the moon",)
    assert other.violations == ("job", "Halden")


async def test_earlier_talk_comes_to_mind() -> None:
    """What was said word for word, and not summarised, answers a question."""
    came = await play(situation(message="when did I say the van comes?"), SETTINGS)
    assert came.said == (0,)
    assert "14:15" in came.whisper.text


async def test_memories_have_the_cues_that_a_model_wrote() -> None:
    """It is shown the memories and never the message; without help they have none."""
    cues = [{"id": "m1", "cues": ["another rejection"]}, {"id": "m2", "cues": ["thirsty"]}]
    script = by_name(cues={"reason": "r", "memories": cues})
    many = [
        {**LIFE["memories"][1], "id": f"x{index}", "content": f"Femi owns cup {index}."}
        for index in range(20)
    ]
    one = situation(memories=[*LIFE["memories"], *many])
    rest = [{"id": f"m{index}", "cues": ["cups"]} for index in range(3, 23)]
    script = by_name(cues={"reason": "r", "memories": [*cues, *rest]})
    chat = Scripted(script)
    assert "job" in (await play(one, SETTINGS, chat=chat)).names
    assert not any("rejection" in message.content for message in chat.requests[0].messages)
    bare = await play(one, SETTINGS, chat=Scripted([]), helps=Helps(cues=False, next=False))
    assert bare.whisper.found == ()


async def test_boundaries_are_linked_with_what_they_speak_of() -> None:
    """What is not raised is not whispered, though no word is shared; without help it is."""
    quiet = {"id": "quiet", "content": "Femi wants no word of the office.", "kind": "boundary"}
    life = [*LIFE["memories"], {**LIFE["memories"][1], **quiet}]
    cues = [{"id": f"m{index}", "cues": ["rejection"]} for index in (1, 2, 3)]
    named = [{"id": "b1", "reason": "r", "memories": ["m2"]}]
    script = by_name(
        cues={"reason": "r", "memories": cues}, boundaries={"reason": "r", "boundaries": named}
    )
    chat = Scripted(script)
    one = situation(memories=life)
    assert "job" not in (await play(one, SETTINGS, chat=chat)).names
    assert [request.name for request in chat.requests] == ["cues", "boundaries"]
    bare = await play(one, SETTINGS, chat=Scripted([]), helps=Helps(cues=False, next=False))
    assert "job" in bare.names


async def test_the_talk_before_is_judged() -> None:
    """What its judge expects is kept in mind; without help it is only part of the talk."""
    talk = [{"at": "2026-05-14T20:07:00+01:00", "user": "what a day", "assistant": "Tell me."}]
    chat = Scripted(by_name(monitor=SKIP))
    await play(situation(talk=talk), SETTINGS, chat=chat, helps=Helps(cues=False))
    assert [request.name for request in chat.requests] == ["monitor"]
    await play(situation(talk=talk), SETTINGS, chat=Scripted([]), helps=Helps(False, False))


async def test_a_model_marks_what_bears() -> None:
    """It sees all that is known and said and the message, and nothing of what was whispered."""
    chat = Scripted([{"reason": "r", "bears": ["M1 ", "s1"]}])
    assert await mark_bearing(situation(), StructuredChat(chat)) == {"m1", "s1"}
    question = chat.requests[0].messages[1].content
    assert all(part in question for part in ("let go", "black tea", "14:15", "Third rejection"))


def test_the_figures() -> None:
    """Shares of what must come and of what bears; what must come bears anyway."""
    one = situation(must_not_come=["tea"])
    good = Marked(CameToMind(one, Recall(tokens=10), ("job",), ()), frozenset({"m1"}))
    bad = Marked(CameToMind(one, Recall(tokens=30), ("tea",), (0,)), frozenset({"s1"}))
    assert summarize([good, bad]) == {
        "situations": 2,
        "due": 2,
        "came": 0.5,
        "violations": 1,
        "lines": 1.5,
        "precision": 0.667,
        "tokens": 20,
    }


def test_the_shipped_situations() -> None:
    """At least 80 in three languages, each a life of 15 to 40 memories; half share no word."""
    found = read_situations()
    assert len(found) >= 80
    assert {one.language for one in found} == {"en", "zh", "ja"}
    assert all(15 <= len(one.memories) <= 40 for one in found)
    assert sum(not one.shares_words() for one in found) >= len(found) / 2
