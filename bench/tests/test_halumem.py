"""HaluMem: its file, its metrics by hand, its eval judge, and a run of two sessions."""

import asyncio
import io
import json
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from bench.halumem import Result, as_json, halumem, report, run
from bench.sets.halumem_file import User, choose, read_halumem, read_users
from bench.sets.halumem_marks import (
    MARK_BATCH,
    Change,
    Covered,
    Extracted,
    Marker,
    Point,
    Rate,
    Score,
    SessionMarks,
    SessionResult,
    Updated,
    measure,
)
from souffleur.agents.model.chat import Request
from souffleur.agents.model.recording import Recorder
from souffleur.agents.structured_chat import StructuredChat
from souffleur.errors import InputError, SettingsError
from souffleur.settings import default_settings
from tests.build import NOW
from tests.scripted import SKIP, Answer, Scripted, add, answer, by_name, episode, portrait, update

KEPT = Point(content="Ann lives in Bonn.", kind="Persona Memory", source="system", importance=0.5)
FALSE = Point(content="Ann lives in Rome.", kind="Persona Memory", source="interference")
MOVED = Point(
    content="Ann moved from Bonn to Kiel.",
    kind="Event Memory",
    source="secondary",
    is_update=True,
    originals=("Ann lives in Bonn.",),
)


def point(content: str, **fields: Any) -> dict[str, Any]:
    """A memory point as the file writes it."""
    base = {"memory_type": "Persona Memory", "memory_source": "secondary", "is_update": "False"}
    return {
        **base,
        "memory_content": content,
        "importance": 0.75,
        "original_memories": [],
        **fields,
    }


def talk(day: int, *pairs: tuple[str, str]) -> list[dict[str, str]]:
    """A dialogue as the file writes it, ten minutes between two turns."""
    said = []
    for index, pair in enumerate(pairs):
        for role, text in zip(("user", "assistant"), pair, strict=True):
            time = f"Sep {day:02d}, 2025, 09:{10 * index:02d}:00"
            said.append({"role": role, "content": text, "timestamp": time})
    return said


RAW: dict[str, Any] = {
    "uuid": "u-1",
    "persona_info": "[Recorded on Sep 01, 2025] Name: Ann Lee; Gender: Female;",
    "sessions": [
        {
            "dialogue": talk(
                1,
                ("I live in Bonn.", "I heard that you love opera."),
                ("I keep two cats.", "How lovely!"),
            ),
            "memory_points": [
                point("Ann Lee lives in Bonn."),
                point("Ann Lee has two cats."),
                point("Ann Lee loves opera.", memory_source="interference", importance=1.0),
            ],
        },
        {
            "dialogue": talk(
                8, ("I moved to Kiel today.", "To the sea!"), ("Yes.", "Tell me about it.")
            ),
            "memory_points": [
                point(
                    "Ann Lee moved from Bonn to Kiel.",
                    is_update="True",
                    original_memories=["Ann Lee lives in Bonn."],
                    memory_type="Event Memory",
                ),
                point("Ann Lee is glad.", is_update="True"),
            ],
        },
    ],
}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A HaluMem file with one user and two sessions."""
    path = tmp_path / "halumem.jsonl"
    path.write_text(json.dumps(RAW), encoding="utf-8")
    return path


def judge_turn(request: Request) -> Answer:
    """Keeps Bonn and the cats, adds a thing nobody said, and updates Bonn to Kiel."""
    said = request.messages[1].content.rpartition("## The exchange to judge")[2]
    if "live in Bonn" in said:
        return answer(add("The user lives in Bonn.", "I live in Bonn"))
    if "two cats" in said:
        invented = add("The user is a vet.", "I am a vet")
        return answer(add("The user keeps two cats.", "I keep two cats"), invented)
    if "moved to Kiel" in said:
        known = request.messages[1].content
        (handle,) = re.findall(r"(m\d+)\*? \[[^\]]*\] The user lives in Bonn", known)
        content = "The user moved from Bonn to Kiel on 8 September 2025."
        return answer(update(handle, content, "I moved to Kiel today"))
    return SKIP


def numbers(text: str) -> list[int]:
    """Of the things to mark, which stand at the end of the question."""
    return [int(number) for number in re.findall(r"^(\d+)\. ", text.rpartition("## ")[2], re.M)]


def cover(request: Request) -> Answer:
    """All of what is not false; a part of what makes glad."""
    text = request.messages[1].content
    lines = re.findall(r"^(\d+)\. (.+)$", text.rpartition("## Points")[2], re.M)
    score = {"Bonn": 2, "cats": 2, "opera": 0, "glad": 1}
    return {
        "marks": [
            {"number": int(number), "reason": "so", "score": score[key]}
            for number, line in lines
            for key in score
            if key in line
        ]
    }


def truth(request: Request) -> Answer:
    """All is so; cats are not among the points' kinds."""
    text = request.messages[1].content.rpartition("## ")[2]
    lines = re.findall(r"^(\d+)\. (.+)$", text, re.M)
    return {
        "marks": [
            {"number": int(n), "reason": "so", "score": 2, "included": "cats" not in line}
            for n, line in lines
        ]
    }


CORRECT = {"marks": [{"number": 1, "reason": "both towns", "result": "correct"}]}
SCRIPT = by_name(
    monitor=judge_turn,
    episode=episode("They talked of towns and cats."),
    portrait=portrait("The user keeps two cats.", "The user moved to Kiel.", "They talk of it."),
    halumem_integrity=cover,
    halumem_accuracy=truth,
    halumem_update=CORRECT,
)


def covered(score: Score | None, what: Point = KEPT) -> Covered:
    """A mark of a point."""
    return Covered(session="S1", point=what, score=score)


def extracted(score: Score | None, included: bool = True) -> Extracted:
    """A mark of a memory."""
    return Extracted(session="S1", content="", score=score, included=included)


def updated(result: Change | None) -> Updated:
    """A mark of an update."""
    return Updated(session="S1", point=MOVED, found=("x",), result=result)


def test_the_file_is_read_as_it_is(file: Path) -> None:
    """Messages become turns, and points know what they replace and whether they are wanted."""
    (user,) = read_users(file)
    first, second = user.parts
    assert (user.id, user.name) == ("u-1", "Ann Lee")
    assert [turn.user for turn in first.said.turns] == ["I live in Bonn.", "I keep two cats."]
    assert first.said.turns[1].at.isoformat() == "2025-09-01T09:10:00+00:00"
    assert [point.wanted for point in first.points] == [True, True, False]
    assert [point.is_update for point in (*first.points, *second.points)] == [False] * 3 + [
        True
    ] * 2
    assert [point.updates for point in second.points] == [True, False]
    assert second.points[0].originals == ("Ann Lee lives in Bonn.",)
    assert len(choose(file, 0, 1).parts) == 1


def test_both_readings_hold_the_same_messages(file: Path) -> None:
    """Turns to be replayed hold the same messages as the docs in which evidence is sought."""
    (user,), (conversation,) = read_users(file), read_halumem(file)
    turns = [turn for session in user.dialogue.sessions for turn in session.turns]
    said = [text for turn in turns for text in (turn.user, turn.assistant)]
    assert [doc.text for doc in conversation.docs] == said
    assert conversation.conv_id == user.dialogue.user.id == "u-1"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda raw: raw.pop("uuid"), "no field 'uuid'"),
        (lambda raw: raw["sessions"][0]["dialogue"].pop(), "not of this set"),
        (lambda raw: raw["sessions"][0]["dialogue"].reverse(), "the user's and the assistant's"),
        (lambda raw: raw["sessions"].reverse(), "time runs backward"),
        (lambda raw: raw.update(sessions=[]), "not of this set"),
    ],
)
def test_a_file_of_something_else_says_so(
    tmp_path: Path, change: Callable[[dict[str, Any]], object], message: str
) -> None:
    """The error names the line, what is wrong and what to give."""
    raw = json.loads(json.dumps(RAW))
    change(raw)
    path = tmp_path / "x.jsonl"
    path.write_text(json.dumps(raw), encoding="utf-8")
    with pytest.raises(InputError, match=rf"(?s)line 1.*HaluMem.*{message}|{message}"):
        read_users(path)


def test_a_user_or_session_that_is_not_there(file: Path) -> None:
    """Numbers out of range are errors that say the range."""
    with pytest.raises(InputError, match="1 users"):
        choose(file, 1, None)
    with pytest.raises(InputError, match="at least 1"):
        choose(file, 0, 0)


def test_integrity_by_hand() -> None:
    """Recall counts whole points, weighted recall halves and weighs; false points are apart."""
    heavy = KEPT.model_copy(update={"importance": 1.5})
    marks = [covered(2), covered(1, heavy), covered(0), covered(None)]
    marks += [covered(0, FALSE), covered(1, FALSE), covered(2, FALSE), covered(0, FALSE)]
    found = measure(marks, [], [])
    assert found["recall"] == Rate(value=1 / 4, of=4, unmarked=1)
    assert found["weighted recall"].value == pytest.approx((0.5 + 0.5 * 1.5) / (0.5 * 3 + 1.5))
    assert found["partly covered"].value == 1 / 4
    assert found["omitted"].value == 1 / 4
    assert found["false memory resistance"] == Rate(value=2 / 4, of=4)


def test_accuracy_by_hand() -> None:
    """All that was written counts; the target only what is of the points' kinds."""
    marks = [extracted(2), extracted(1), extracted(0, included=False), extracted(None, False)]
    found = measure([covered(2), covered(0)], marks, [])
    assert found["accuracy"] == Rate(value=1.5 / 4, of=4, unmarked=1)
    assert found["target precision"] == Rate(value=1.5 / 2, of=2)
    assert found["extraction F1"].value == pytest.approx(2 * 0.75 * 0.5 / 1.25)


def test_updates_by_hand() -> None:
    """Shares of all updates; what has no mark is in none of them."""
    results: list[Change | None] = ["correct", "correct", "hallucination", "omission", None]
    marks = [covered(2), covered(2, FALSE)]
    found = measure(marks, [], [updated(result) for result in results])
    assert found["update correct"] == Rate(value=2 / 5, of=5, unmarked=1)
    assert found["update hallucination"].value == 1 / 5
    assert found["update omission"].value == 1 / 5
    assert found["update other"].value == 0
    assert found["right: Event Memory"].value == 2 / 5
    assert found["right: Persona Memory"] == Rate(value=1.0, of=1)


def test_of_nothing_there_is_no_rate() -> None:
    """No division by zero: what has nothing to measure has no value."""
    assert measure([], [], [])["recall"] == Rate(value=None, of=0)
    assert measure([], [], [])["extraction F1"].value is None
    assert measure([covered(2)], [extracted(2, False)], [])["extraction F1"].value is None


def session_result(**fields: Any) -> SessionResult:
    """A session with one kept point."""
    base: dict[str, Any] = {"session": "S1", "user": "Ann", "talk": "user: hi", "points": (KEPT,)}
    return SessionResult(**{**base, "written": ("The user lives in Bonn.",), "found": {}, **fields})


async def marked(chat: Scripted, *session_results: SessionResult) -> SessionMarks:
    """The marks of a scripted eval judge."""
    return await Marker(StructuredChat(chat)).mark(session_results)


async def test_where_nothing_was_written_nothing_is_asked() -> None:
    """Every point is an omission then, and no request is spent."""
    chat = Scripted([])
    found = await marked(chat, session_result(written=(), points=(KEPT, FALSE)))
    assert [mark.score for mark in found.covered] == [0, 0]
    assert (found.extracted, found.updated, chat.requests) == ((), (), [])


async def test_an_update_for_which_nothing_is_found_is_one_to_be_covered() -> None:
    """As in the paper's code: only what the store finds something for is marked as an update."""
    chat = Scripted(by_name(halumem_update=CORRECT, halumem_accuracy=truth))
    both = session_result(
        points=(MOVED, MOVED), found={0: (), 1: ("The user lives in Kiel.",)}, written=()
    )
    found = await marked(chat, both)
    assert [mark.point for mark in found.covered] == [MOVED]
    assert [(mark.result, mark.found) for mark in found.updated] == [
        ("correct", ("The user lives in Kiel.",))
    ]


async def test_many_points_go_in_few_requests_and_come_back_in_order() -> None:
    """Batches are of about one size; a mark is its own point's, whatever order they come in."""
    points = tuple(
        KEPT.model_copy(update={"content": f"Point {n}."}) for n in range(MARK_BATCH + 2)
    )

    def backward(request: Request) -> Answer:
        text = request.messages[1].content
        lines = re.findall(r"^(\d+)\. Point (\d+)\.$", text, re.M)
        marks = [{"number": int(n), "reason": point, "score": int(point) % 3} for n, point in lines]
        return {"marks": marks[::-1]}

    chat = Scripted(by_name(halumem_integrity=backward, halumem_accuracy=truth))
    found = await marked(chat, session_result(points=points))
    assert [mark.reason for mark in found.covered] == [str(n) for n in range(MARK_BATCH + 2)]
    assert [mark.score for mark in found.covered] == [n % 3 for n in range(MARK_BATCH + 2)]
    sizes = [len(numbers(one.messages[1].content)) for one in chat.requests]
    assert sorted(sizes) == [1, 8, 9]


async def test_a_missing_mark_is_asked_for_once_more() -> None:
    """What is not marked then either stays without a mark, and the rest keeps its own."""
    answers = iter(
        [
            {"marks": [{"number": 2, "reason": "first", "score": 0}]},
            {"marks": [{"number": 1, "reason": "then", "score": 1}]},
        ]
    )
    chat = Scripted(by_name(halumem_integrity=lambda _: next(answers), halumem_accuracy=truth))
    found = await marked(chat, session_result(points=(KEPT, KEPT, KEPT)))
    assert [(mark.score, mark.reason) for mark in found.covered] == [
        (1, "then"),
        (0, "first"),
        (None, ""),
    ]
    asked = [one for one in chat.requests if one.name == "halumem_integrity"]
    assert len(asked) == 2
    assert "missing: [1, 3]" in asked[1].messages[-1].content


async def test_an_answer_of_another_form_leaves_no_marks() -> None:
    """After a second try the batch is unmarked; nothing is raised."""
    chat = Scripted(by_name(halumem_integrity="no JSON", halumem_accuracy={"marks": "none"}))
    found = await marked(chat, session_result())
    assert [mark.score for mark in found.covered] == [None]
    assert [(mark.score, mark.included) for mark in found.extracted] == [(None, False)]
    assert Counter(one.name for one in chat.requests) == {
        "halumem_integrity": 2,
        "halumem_accuracy": 2,
    }


async def test_the_eval_judge_is_not_told_which_points_are_false() -> None:
    """False points stand among the others where coverage is asked, and not as references."""
    chat = Scripted(by_name(halumem_integrity=cover, halumem_accuracy=truth))
    await marked(chat, session_result(points=(KEPT, FALSE)))
    questions = {one.name: one.messages[1].content for one in chat.requests}
    assert "2. Ann lives in Rome." in questions["halumem_integrity"]
    assert "interference" not in questions["halumem_integrity"]
    assert "Rome" not in questions["halumem_accuracy"]
    assert "- Ann lives in Bonn." in questions["halumem_accuracy"]


async def play(user: User, folder: Path, chat: Any, **fields: Any) -> Result:
    """A run in a folder."""
    settings = default_settings().model_copy(update={"path": folder, "tries": 1, **fields})
    return await run(user, settings, chat)


async def test_a_run_of_two_sessions(file: Path, tmp_path: Path) -> None:
    """What the monitor wrote in each session is marked, and what the store finds for updates."""
    user, chat = choose(file, 0, None), Scripted(SCRIPT)
    result = await play(user, tmp_path / "store", chat)
    assert [(mark.session, mark.content) for mark in result.marked.extracted] == [
        ("S1", "The user lives in Bonn."),
        ("S1", "The user keeps two cats."),
        ("S2", "The user moved from Bonn to Kiel on 8 September 2025."),
    ]
    (moved,) = result.marked.updated
    assert "The user moved from Bonn to Kiel on 8 September 2025." in moved.found
    assert "The user lives in Bonn." not in moved.found
    assert [(mark.session, mark.score) for mark in result.marked.covered] == [
        ("S1", 2),
        ("S1", 2),
        ("S1", 0),
        ("S2", 1),
    ]
    values = {name: rate.value for name, rate in result.metrics.items()}
    assert values["recall"] == 2 / 3
    assert values["weighted recall"] == pytest.approx(2.5 / 3)
    assert (values["accuracy"], values["false memory resistance"]) == (1, 1)
    assert (values["update correct"], result.troubles) == (1, ())
    assert (result.sessions, result.turns) == (2, 4)


async def test_talk_from_elsewhere_is_replayed_and_not_marked(file: Path, tmp_path: Path) -> None:
    """A generated session goes through the memory, and counts in no metric."""
    user, chat = choose(file, 0, 1), Scripted(SCRIPT)
    elsewhere = replace(user, parts=tuple(replace(part, scored=False) for part in user.parts))
    result = await play(elsewhere, tmp_path / "store", chat)
    assert Counter(one.name for one in chat.requests)["monitor"] == 2
    assert result.marked == SessionMarks((), (), ())


def test_generated_talk_leaves_no_points(tmp_path: Path) -> None:
    """The file marks it; its points, if any, are not to be left."""
    raw = json.loads(json.dumps(RAW))
    raw["sessions"][0]["is_generated_qa_session"] = True
    path = tmp_path / "halumem.jsonl"
    path.write_text(json.dumps(raw), encoding="utf-8")
    first, second = choose(path, 0, None).parts
    assert (first.scored, first.points, second.scored) == (False, (), True)


async def test_a_turn_that_could_not_be_judged_is_told(file: Path, tmp_path: Path) -> None:
    """The run goes on, and says which turn and why."""
    script = by_name(monitor="no JSON", halumem_integrity=cover, halumem_update=CORRECT)
    result = await play(choose(file, 0, 1), tmp_path / "store", Scripted(script))
    assert len(result.troubles) == 2
    assert "S1 at 2025-09-01 09:00" in result.troubles[0]
    assert "AnswerError" in result.troubles[0]


async def test_a_recording_gives_the_same_again(
    file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Played back by the command, offline, to the letter; in a table as well."""
    recording = tmp_path / "answers.jsonl"
    recorder = Recorder(Scripted(SCRIPT), recording, model="scripted", now=NOW)
    live = await play(choose(file, 0, None), tmp_path / "store", recorder, model="scripted")
    await asyncio.to_thread(halumem, file, recorded=recording, to_json=True)
    assert capsys.readouterr().out == as_json(live) + "\n"
    out = io.StringIO()
    report(live, Console(file=out, width=140))
    for text in ("false memory resistance", "part of a point", "Ann Lee is glad.", "4 monitor"):
        assert text in out.getvalue()


def test_a_run_without_a_model_says_what_to_set(file: Path) -> None:
    """Likewise a file that cannot be read."""
    with pytest.raises(SettingsError, match="SOUFFLEUR_BASE_URL"):
        halumem(file)
    with pytest.raises(InputError, match="HaluMem"):
        halumem(file.with_name("none.jsonl"))
