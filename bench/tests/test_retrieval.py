"""The measurement of how raw turns are found, on a talk made up for it."""

import io
import json
from datetime import timedelta
from pathlib import Path

import pytest
from rich.console import Console

from bench.retrieval import (
    QuestionRanks,
    SearchPath,
    as_json,
    compute_figures,
    compute_spread,
    exchanges,
    group_by_category,
    report,
    retrieval,
    run,
    take_half,
    turn_of,
)
from bench.sets.conversation import Conversation, Doc, Question
from souffleur.errors import InputError
from souffleur.knowledge.search.embedder import make_embedder
from tests.build import NOW

ASKED = [
    QuestionRanks("1", "one", (1,), 0.01, "a"),
    QuestionRanks("2", "one", (6, None), 0.03, "a", timed=True),
    QuestionRanks("3", "two", (12,), 0.02, "b"),
    QuestionRanks("4", "two", (None,), 0.02, "b"),
]


def talk(conv_id: str = "c1") -> Conversation:
    """Three sessions, with a question to a message, one to a session and one without evidence."""
    lines = [
        ("a", "Ann", "I adopted a grey kitten yesterday."),
        ("a", "Bob", "How lovely!"),
        ("b", "Ann", "The train to Lyon was late."),
        ("b", "Bob", "Mine broke down near Dijon."),
        ("c", "Ann", "I bake bread on Sundays."),
    ]
    docs = [
        Doc(f"d{index}", session, NOW + timedelta(days=ord(session)), speaker, text)
        for index, (session, speaker, text) in enumerate(lines)
    ]
    questions = [
        Question("q1", "Which kitten did Ann adopt?", "fact", "grey", ("d0",)),
        Question(
            "q2", "Whose train broke down near Dijon?", "session", "Bob's", ("b",), by_session=True
        ),
        Question("q3", "What is never told?", "fact", "", ()),
    ]
    return Conversation(conv_id, tuple(docs), tuple(questions))


def test_the_figures_by_hand() -> None:
    """Recall is the share of the evidence within the depth, MRR counts the first ten ranks."""
    found = {name: round(figure.mean, 2) for name, figure in compute_figures(ASKED).items()}
    assert found == {
        "R@5": 25.0,
        "R@10": 37.5,
        "R@20": 62.5,
        "MRR@10": round(100 * 7 / 24, 2),
        "all found": 50.0,
    }


def test_categories_come_before_the_whole() -> None:
    """Each question is in its category and in the whole, and also among those that name a time."""
    found = group_by_category(ASKED)
    assert {name: [one.id for one in some] for name, some in found.items()} == {
        "one": ["1", "2"],
        "two": ["3", "4"],
        "names a time": ["2"],
        "all": ["1", "2", "3", "4"],
    }


def test_the_spread_is_over_conversations() -> None:
    """Each conversation has a recall of its own."""
    assert compute_spread(ASKED) == {"a": 75.0, "b": 0.0}


async def test_what_was_said_is_asked_for_in_a_store() -> None:
    """Evidence is found by its message or its session, in each conversation its own."""
    asked = await run([talk(), talk("c2")], make_embedder("hash:128"))
    assert [(one.id, one.ranks) for one in asked] == [("q1", (1,)), ("q2", (1,))] * 2
    assert all(one.seconds > 0 for one in asked)


async def test_a_message_is_not_taken_for_the_session_of_its_number() -> None:
    """Evidence that is a message is not found with anything of the session called the same."""
    docs = (
        Doc("1", "2", NOW, "user", "The kitten is grey."),
        Doc("2", "3", NOW + timedelta(days=1), "user", "It rained in Lyon."),
    )
    question = Question("q", "the grey kitten?", "fact", "", ("2",))
    session = Question("s", "the grey kitten?", "fact", "", ("2",), by_session=True)
    asked = await run([Conversation("c", docs, (question, session))], make_embedder("hash:128"))
    assert [one.ranks for one in asked] == [(2,), (1,)]


async def test_what_a_reply_is_given_is_measured_too() -> None:
    """A question about the past brings what was said; what is asked of nobody brings nothing."""
    base = talk()
    idle = Question("q4", "A kitten is a young cat.", "fact", "", ("d0",))
    conversation = Conversation(base.conv_id, base.docs, (base.questions[0], idle))
    asked = await run([conversation], make_embedder("hash:128"), path=SearchPath.RECALL)
    assert [one.ranks for one in asked] == [(1,), (None,)]


async def test_an_exchange_counts_for_the_evidence_in_both_its_messages() -> None:
    """The user's message and the reply to it are one turn, unless each is handed over alone."""
    docs = (
        Doc("1", "s", NOW, "user", "Which tea shall I buy?"),
        Doc("2", "s", None, "assistant", "Take gyokuro from Uji."),
        Doc("3", "s", None, "user", "It rained in Lyon."),
    )
    question = Question("q", "gyokuro from Uji?", "fact", "", ("1", "2"))
    conversation = Conversation("c", docs, (question,))
    embedder = make_embedder("hash:128")
    (joint,) = await run([conversation], embedder)
    (alone,) = await run([conversation], embedder, messages=True)
    assert joint.ranks == (1, 1)
    assert alone.ranks != joint.ranks
    assert alone.ranks[1] == 1


def test_only_a_reply_is_joined_to_a_message() -> None:
    """Not to another reply, not across sessions, and never to somebody with a name."""
    said = [
        ("s", "assistant"),
        ("s", "user"),
        ("s", "assistant"),
        ("s", "assistant"),
        ("s", "user"),
        ("t", "assistant"),
        ("t", "Ann"),
        ("t", "assistant"),
    ]
    docs = [Doc(str(at), session, None, who, "Tea!") for at, (session, who) in enumerate(said)]
    parts = [[doc.id for doc in part] for part in exchanges(docs)]
    assert parts == [["0"], ["1", "2"], ["3"], ["4"], ["5"], ["6"], ["7"]]


def test_who_speaks_is_told_as_a_host_tells_it() -> None:
    """A side of the turn for user and assistant; a name before the words of others."""
    said = {
        speaker: turn_of([Doc("d", "s", None, speaker, "Tea!")], "u", NOW)
        for speaker in ("user", "assistant", "Ann", "")
    }
    assert {speaker: (turn.user, turn.assistant) for speaker, turn in said.items()} == {
        "user": ("Tea!", ""),
        "assistant": ("", "Tea!"),
        "Ann": ("Ann: Tea!", ""),
        "": ("Tea!", ""),
    }


def test_halves_share_nothing() -> None:
    """Every other conversation, or every other question of the only one."""
    several = [talk(name) for name in "abc"]
    assert [[one.conv_id for one in take_half(several, half)] for half in (0, 1)] == [
        ["a", "c"],
        ["b"],
    ]
    halves = [take_half([talk()], half)[0].questions for half in (0, 1)]
    assert [[one.id for one in half] for half in halves] == [["q1", "q3"], ["q2"]]


def test_the_report_and_the_json_tell_the_same() -> None:
    """A line a category; the median time of a search."""
    out = io.StringIO()
    report(ASKED, Console(file=out, width=120))
    assert "37.5 (0.0-75.0)" in out.getvalue()
    assert "20.0 ms" in out.getvalue()
    found = json.loads(as_json(ASKED))
    assert found["all"]["n"] == 4
    assert found["conversations"] == {"a": 75.0, "b": 0.0}
    assert "0.0 to 75.0" in out.getvalue()
    assert found["all"]["R@10"] == {"mean": 37.5, "low": 0.0, "high": 75.0}


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It reads a set from its path, and says in one line what is wrong."""
    path = tmp_path / "set.jsonl"
    doc = {"id": "1", "session": 1, "time": None, "speaker": "user", "text": "I drink tea."}
    query = {"qid": "q", "query": "tea?", "category": "x", "answer": "", "evidence": ["1"]}
    raw = {"conv_id": "c", "docs": [doc], "queries": [query]}
    path.write_text(json.dumps(raw), encoding="utf-8")
    retrieval("beam", path, embedder="hash:128", to_json=True)
    assert json.loads(capsys.readouterr().out)["all"]["R@5"]["mean"] == 100.0
    raw["queries"] = [{**query, "evidence": []}]
    path.write_text(json.dumps(raw), encoding="utf-8")
    with pytest.raises(InputError, match="nothing to measure"):
        retrieval("beam", path)
    with pytest.raises(InputError, match="cannot be read"):
        retrieval("beam", tmp_path / "none.jsonl")
