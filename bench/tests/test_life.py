"""Scripted lives: what a file may say, how its portraits are written, and what counts as lost."""

from datetime import date
from pathlib import Path
from typing import Any

import pytest
import yaml

from bench.hand_written import read_yaml
from bench.portraits import (
    Life,
    Mention,
    Statement,
    Written,
    find_lost,
    find_wrong,
    write_portraits,
)
from souffleur.agents.model.chat import Request
from souffleur.agents.structured_chat import StructuredChat
from souffleur.errors import InputError
from tests.scripted import Answer, Scripted, by_name, portrait

LIFE: dict[str, Any] = {
    "user": "Femi",
    "assistant": "Mara",
    "timezone": "Europe/London",
    "steps": [
        {
            "day": "2025-01-05",
            "learn": [{"id": "home", "kind": "fact", "content": "Femi lives in Hull."}],
            "told": [{"line": "Femi told of Uppsala.", "facts": ["He paints."]}],
        },
        {
            "day": "2025-02-05",
            "learn": [{"id": "home2", "kind": "fact", "content": "Femi lives in Goole."}],
            "end": ["home"],
            "told": [{"line": "Femi moved.", "open": "whether he stays"}],
        },
    ],
    "keep": [{"about": "where he studied", "says": "Uppsala"}],
}
HULL = portrait("Femi lives in Hull.", "He was in Uppsala.", "He paints.")
GOOLE = portrait("Femi lives in Goole.", "He was in Uppsala.", "He paints.")
POOR = portrait("Femi lives in Goole.", "He sings.", "He paints.")


def life(**fields: Any) -> Life:
    """The life above, with other fields."""
    return Life.model_validate({**LIFE, **fields})


async def write(*answers: Answer) -> tuple[list[Written], Scripted]:
    """The portraits of the life above over scripted answers."""
    chat = Scripted(answers)
    return await write_portraits(life(), chat, "json_schema"), chat


@pytest.mark.parametrize(
    ("fields", "fault"),
    [
        ({"steps": []}, "steps"),
        ({"steps": LIFE["steps"][::-1]}, "not in order"),
        ({"steps": LIFE["steps"][1:]}, "no memory has the id 'home'"),
        ({"steps": [{**LIFE["steps"][0], "learn": LIFE["steps"][0]["learn"] * 2}]}, "same id"),
        ({"timezone": "Hull"}, "timezone"),
        ({"seasons": 4}, "seasons"),
    ],
)
def test_a_faulty_file_is_refused(tmp_path: Path, fields: dict[str, Any], fault: str) -> None:
    """The error says where it is wrong."""
    file = tmp_path / "life.yaml"
    file.write_text(yaml.safe_dump({**LIFE, **fields}))
    with pytest.raises(InputError, match=fault):
        read_yaml(file, Life)


def test_a_file_that_is_none_is_refused(tmp_path: Path) -> None:
    """A file that is missing, or is no YAML, is refused."""
    with pytest.raises(InputError, match="holds no Life"):
        read_yaml(tmp_path / "none.yaml", Life)
    (tmp_path / "torn.yaml").write_text("{")
    with pytest.raises(InputError, match="holds no Life"):
        read_yaml(tmp_path / "torn.yaml", Life)


async def test_each_portrait_is_written_from_the_former() -> None:
    """With what was learnt since, without what ended, and with what only the former one knows."""
    written, chat = await write(HULL, GOOLE)
    assert [one.day for one in written] == [date(2025, 1, 5), date(2025, 2, 5)]
    assert written[1].text.startswith("Femi lives in Goole.")
    assert [one.asked_again for one in written] == [(), ()]
    first, second = (request.messages[1].content for request in chat.requests)
    assert "Femi told of Uppsala." in first
    assert "He paints." in first
    before, _, since = second.partition("## What is remembered")
    assert "- Uppsala" in before
    assert "Femi lives in Goole." in since
    assert "whether he stays" in since
    assert "Hull" not in since
    assert "told of Uppsala" not in since


async def test_what_was_asked_again_is_noted() -> None:
    """What is lost all the same is noted with the portrait; without an answer there is none."""
    written, _ = await write(HULL, POOR, GOOLE)
    assert "Uppsala" in written[1].asked_again[0]
    assert written[1].error == ""
    written, _ = await write(HULL, POOR, POOR)
    assert (written[1].error, written[1].dropped) == ("", ("Uppsala",))
    written, _ = await write("no", "no", POOR)
    assert (written[0].text, written[1].text.split(".")[0]) == ("", "Femi lives in Goole")


@pytest.mark.parametrize(
    ("text", "held", "dropped", "lost"),
    [
        ("He sings.", "", (), ["where he studied"]),
        ("He was in Uppsala.", "", (), []),
        ("He sings.", "Femi studied in Uppsala.", (), []),
        ("He sings.", "", ("Uppsala",), []),
    ],
)
def test_what_is_lost(text: str, held: str, dropped: tuple[str, ...], lost: list[str]) -> None:
    """It was in the former portrait, and is in nothing now; what was never told is not lost."""

    def version(text: str, held: str = "", dropped: tuple[str, ...] = ()) -> Written:
        return Written(date(2025, 1, 5), text, dropped, (), "", held)

    told, never = version("He was in Uppsala."), version("He paints.")
    now = version(text, held, dropped)
    assert [about for _, about in find_lost(life(), [told, now])] == lost
    assert find_lost(life(), [never, now]) == []


async def test_a_reader_judges_statements() -> None:
    """Each is asked about alone; those come back on which the reader thinks otherwise."""
    right, wrong = Statement(says="He paints.", holds=True), Statement(says="He sings.", holds=True)

    def says(request: Request) -> Answer:
        return {"reason": "r", "says": "paints" in request.messages[1].content.split("##")[-1]}

    chat = StructuredChat(Scripted(by_name(referee=says)))
    assert await find_wrong(life(), (right, wrong), "Femi draws.", chat) == [wrong]


def test_a_mention_is_found_in_any_case() -> None:
    """A mention is a pattern, and is found in upper and lower case."""
    assert Mention(about="home", says="\\bhull\\b").within("in Hull.")
    assert not Mention(about="home", says="\\bhull\\b").within("in Hullavington")
