"""Public sets are read onto one form; the files here are made up."""

import gzip
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from bench.sets.conversation import Conversation
from bench.sets.registry import SETS, read_set
from souffleur.errors import InputError


def write(path: Path, *rows: Any) -> Path:
    """The rows as a file of lines, gzipped where its name says so."""
    data = "\n".join(json.dumps(row, ensure_ascii=False) for row in rows).encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


def unified(time: str | None, session: Any = 1, **query: Any) -> dict[str, Any]:
    """A conversation of one message and one question."""
    doc = {"id": "D1:1", "session": session, "time": time, "speaker": "Ann", "text": "Tea!"}
    asked = {"qid": "q1", "query": "What?", "category": "single", "answer": "tea"}
    return {"conv_id": "c1", "docs": [doc], "queries": [{**asked, "evidence": ["D1:1"], **query}]}


def only(found: list[Conversation]) -> Conversation:
    """The one conversation there is."""
    (one,) = found
    return one


@pytest.mark.parametrize(
    ("name", "time", "at"),
    [
        ("locomo", "1:56 pm on 8 May, 2023", datetime(2023, 5, 8, 13, 56, tzinfo=UTC)),
        ("beam", "March-15-2024", datetime(2024, 3, 15, tzinfo=UTC)),
        ("beam", None, None),
        ("longmemeval", "2023-05-20T06:13:00", datetime(2023, 5, 20, 6, 13, tzinfo=UTC)),
        ("longmemeval", "2023/05/30 (Tue) 20:42", datetime(2023, 5, 30, 20, 42, tzinfo=UTC)),
        ("madial", "2023-12-25", datetime(2023, 12, 25, tzinfo=UTC)),
        ("memdaily", "2024年04月01日 周一 08:30", datetime(2024, 4, 1, 8, 30, tzinfo=UTC)),
    ],
)
@pytest.mark.parametrize("file", ["set.jsonl", "set.jsonl.gz"])
def test_the_unified_sets(
    tmp_path: Path, name: str, time: str | None, at: datetime | None, file: str
) -> None:
    """Every field arrives, and each set's way of writing times is understood."""
    found = only(read_set(name, write(tmp_path / file, unified(time))))
    (doc,), (question,) = found.docs, found.questions
    assert found.conv_id == "c1"
    assert (doc.id, doc.session, doc.at, doc.speaker, doc.text) == ("D1:1", "1", at, "Ann", "Tea!")
    assert (question.id, question.text, question.category) == ("q1", "What?", "single")
    assert (question.answer, question.evidence, question.before) == ("tea", ("D1:1",), ())


def test_a_set_without_sessions(tmp_path: Path) -> None:
    """MemDaily's messages of a day are one talk; MADial's memories stand each alone."""
    daily = unified("2024年04月01日 周一 08:30", session=None)
    assert only(read_set("memdaily", write(tmp_path / "a.jsonl", daily))).docs[0].session == (
        "2024-04-01"
    )
    alone = unified("2023-12-25", session=None)
    assert only(read_set("madial", write(tmp_path / "b.jsonl", alone))).docs[0].session == (
        "alone D1:1"
    )


def test_what_came_before_and_evidence_by_session(tmp_path: Path) -> None:
    """The history ends with the question itself; sessions stand in where no message is named."""
    raw = unified(None, history=["<BOD>", "hi", "hello", "What?"], evidence=[])
    raw["queries"][0]["evidence_sessions"] = ["1"]
    (question,) = only(read_set("madial", write(tmp_path / "a.jsonl", raw))).questions
    assert question.before == ("hi", "hello")
    assert question.evidence == ("1",)


def test_halumem_evidence_is_traced_to_sessions(tmp_path: Path) -> None:
    """A question's evidence is a memory; it stands where a session left that memory."""
    stamp = "Sep 04, 2025, 09:05:32"
    said = [{"role": "user", "content": "I drink tea.", "timestamp": stamp}]
    asked = {
        "question": "What does she drink?",
        "answer": "tea",
        "question_type": "Basic",
        "evidence": [{"memory_content": "She drinks tea"}, {"memory_content": "nowhere"}],
    }
    point = {
        "memory_content": "She drinks tea",
        "memory_type": "Persona Memory",
        "memory_source": "secondary",
        "importance": 0.5,
        "is_update": "False",
        "original_memories": [],
    }
    sessions = [
        {"dialogue": said, "memory_points": [point], "questions": [asked]},
        {"dialogue": said, "memory_points": [], "questions": [asked]},
        {"dialogue": said, "memory_points": [point]},
    ]
    path = write(tmp_path / "h.jsonl", {"uuid": "u1", "sessions": sessions})
    found = only(read_set("halumem", path))
    assert [(doc.id, doc.session, doc.speaker) for doc in found.docs] == [
        ("S1:0", "S1", "user"),
        ("S2:0", "S2", "user"),
        ("S3:0", "S3", "user"),
    ]
    assert found.docs[0].at == datetime(2025, 9, 4, 9, 5, 32, tzinfo=UTC)
    assert [(one.id, one.evidence) for one in found.questions] == [
        ("S1:q1", ("S1",)),
        ("S2:q1", ("S1",)),
    ]


@pytest.mark.parametrize("name", SETS)
def test_a_missing_file_says_what_to_give(tmp_path: Path, name: str) -> None:
    """The error names the path and the kind of file."""
    with pytest.raises(InputError, match=r"nothing\.json.* cannot be read: give a"):
        read_set(name, tmp_path / "nothing.jsonl")


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize(
    "rows", [("not JSON {",), ({"conv_id": "c1"},), ([1, 2],)], ids=["text", "fields", "list"]
)
def test_a_file_of_something_else(tmp_path: Path, name: str, rows: tuple[Any, ...]) -> None:
    """It is told as such, not as a traceback of the reader."""
    text = rows[0] if isinstance(rows[0], str) else json.dumps(rows[0])
    for file in ("x.jsonl", "x_questions.jsonl"):
        (tmp_path / file).write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match="give a"):
        read_set(name, tmp_path / "x.jsonl")


def test_a_time_written_otherwise(tmp_path: Path) -> None:
    """A set under another's name is told by its times, with the line."""
    path = write(tmp_path / "x.jsonl", unified("2023-12-25"))
    with pytest.raises(InputError, match=r"line 1 is not of this set.*2023-12-25"):
        read_set("locomo", path)


def test_a_broken_archive(tmp_path: Path) -> None:
    """Half a gzip file cannot be read, and the error says so."""
    path = write(tmp_path / "x.jsonl.gz", unified(None))
    path.write_bytes(path.read_bytes()[:-12])
    with pytest.raises(InputError, match="cannot be read"):
        read_set("beam", path)


def test_an_unknown_name_and_an_empty_file(tmp_path: Path) -> None:
    """The names that there are are listed; a file without talk is no set."""
    with pytest.raises(InputError, match="write one of locomo, beam"):
        read_set("squad", tmp_path)
    with pytest.raises(InputError, match="holds no conversation"):
        read_set("beam", write(tmp_path / "empty.jsonl"))
