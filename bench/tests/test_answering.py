"""Public sets end to end: what is drawn, replayed, asked, graded and counted, and what it costs."""

import asyncio
import io
import json
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st
from rich.console import Console

from bench.answering import AnswerSetup, answering, run
from bench.sets.asking import (
    GradedAnswer,
    SystemAnswers,
    accuracy,
    as_json,
    differences,
    report,
)
from bench.sets.conversation import (
    MESSAGE_GAP,
    UNDATED_START,
    Conversation,
    Doc,
    Question,
    Sample,
    draw,
    to_dialogue,
)
from bench.systems.side_by_side import OURS
from souffleur.agents.model.chat import Message, Request, Usage
from souffleur.agents.model.recording import Recorder
from souffleur.errors import InputError, RecordingError, SettingsError
from souffleur.settings import default_settings
from tests.build import NOW
from tests.scripted import SKIP, Answer, Scripted, add, answer, by_name, episode, portrait
from tests.stub import Body, Stub, say

AT = datetime(2026, 1, 3, 10, 0, tzinfo=UTC)
TEA = Question("q1", "Which tea does Ann like?", "single", "Oolong", ("d1",))
TRAP = Question("q2", "Which wine does Ann like?", "adversarial", "Merlot", ())
CONVERSATION = Conversation(
    "ann-bob",
    (
        Doc("d1", "1", AT, "Ann", "I like oolong tea."),
        Doc("d2", "1", AT, "Bob", "Good taste!"),
        Doc("d3", "1", AT, "Ann", "See you."),
    ),
    (TEA, TRAP),
)


def conversations(count: int, questions: int = 3) -> list[Conversation]:
    """Conversations with as conversations questions each."""
    return [
        replace(
            CONVERSATION,
            conv_id=f"c{index}",
            questions=tuple(replace(TEA, id=f"c{index}q{q}") for q in range(questions)),
        )
        for index in range(count)
    ]


def ids(drawn: list[Sample]) -> list[str]:
    """Of the questions."""
    return [question.id for one in drawn for question in one.questions]


def judge_turn(request: Request) -> Answer:
    """Keeps the tea."""
    said = request.messages[1].content.rpartition("## The exchange to judge")[2]
    if "oolong" in said:
        return answer(add("Ann likes oolong tea.", "I like oolong tea"))
    return SKIP


def reply(request: Request) -> Answer:
    """Says what stands in the block."""
    rules, asked = (message.content for message in request.messages)
    return "Oolong." if "tea" in asked and "oolong" in rules else "I do not know."


def grade(request: Request) -> Answer:
    """Compares as the rule says, as far as these answers go."""
    _, gold, given = re.split(r"^## .*$", request.messages[1].content, flags=re.M)[1:]
    return {
        "grades": [
            {
                "answer": letter,
                "reason": "compared",
                "right": gold.strip() == said.strip(".")
                or ("Nothing is known" in gold and "do not know" in said),
            }
            for letter, said in re.findall(r"^([A-Z]): (.*)$", given, flags=re.M)
        ]
    }


SCRIPT = by_name(
    monitor=judge_turn,
    episode=episode("They talked about tea."),
    portrait=portrait("Ann likes tea.", "It is oolong.", "Bob knows."),
    answer=reply,
    grade=grade,
)


def setup(
    set_name: str = "locomo", systems: tuple[str, ...] = (OURS,), **fields: Any
) -> AnswerSetup:
    """The settings of a run."""
    fresh = {"tries": 1, **fields}
    return AnswerSetup(default_settings().model_copy(update=fresh), set_name, systems)


async def ours(drawn: list[Sample], folder: Path, chat: Any, **fields: Any) -> SystemAnswers:
    """What ours answers."""
    (found,) = await run(drawn, setup(**fields), chat, folder)
    return found


def test_the_same_seed_draws_the_same() -> None:
    """By chance, in order, none twice, and at most as conversations as are to be had."""
    whole = conversations(20)
    drawn = [draw(whole, max_conversations=5, max_questions=6, seed=seed) for seed in (1, 1, 2)]
    assert ids(drawn[0]) == ids(drawn[1]) != ids(drawn[2])
    for one in drawn:
        assert len(set(ids(one))) == 6
        assert len(one) <= 5
        assert all(part.questions for part in one)
    everything = draw(whole, max_conversations=None, max_questions=99, seed=1)
    assert ids(everything) == [question.id for one in whole for question in one.questions]


def test_every_category_is_drawn_alike() -> None:
    """Each has as many, as far as it has them; a label that is known to be wrong is not drawn."""
    kinds = ("many",) * 30 + ("some",) * 10 + ("few",) * 2
    questions = [replace(TEA, id=f"{n}", category=kind) for n, kind in enumerate(kinds)]
    wrong = replace(TEA, id="wrong", category="few", fault="HALLUCINATION")
    whole = [replace(CONVERSATION, questions=(*questions, wrong))]
    for seed in range(20):
        (one,) = draw(whole, max_conversations=None, max_questions=14, seed=seed)
        assert Counter(q.category for q in one.questions) == {"many": 6, "some": 6, "few": 2}
        assert "wrong" not in ids([one])
    silent = [replace(CONVERSATION, questions=(wrong,))]
    assert draw(silent, max_conversations=None, max_questions=None, seed=0) == []


def test_conversations_can_be_named() -> None:
    """They come in the order of the set; a name that is not there is an error."""
    whole = conversations(5)
    drawn = draw(whole, named=["c3", "c1"], max_conversations=None, max_questions=None, seed=0)
    assert [one.conversation.conv_id for one in drawn] == ["c1", "c3"]
    with pytest.raises(InputError, match="no conversation c9"):
        draw(whole, named=["c9"], max_conversations=None, max_questions=None, seed=0)


def test_what_is_not_asked_about_is_not_replayed() -> None:
    """A conversation without a question, or of which none is drawn, is left out."""
    silent = replace(CONVERSATION, questions=())
    drawn = draw([silent, *conversations(3)], max_conversations=None, max_questions=1, seed=0)
    assert [len(one.questions) for one in drawn] == [1]
    assert draw([silent], max_conversations=None, max_questions=None, seed=0) == []


def test_named_speakers_stand_on_the_users_side() -> None:
    """Two messages a turn, each with its name; the second of two in a row begins another."""
    (session,) = to_dialogue(CONVERSATION).sessions
    assert [turn.user for turn in session.turns] == [
        "Ann: I like oolong tea.\nBob: Good taste!",
        "Ann: See you.",
    ]
    assert [turn.assistant for turn in session.turns] == ["", ""]


def test_user_and_assistant_stand_on_their_own_sides() -> None:
    """An assistant that begins, or goes on, has turns of its own."""
    speakers = ("assistant", "user", "assistant", "assistant", "user")
    docs = [Doc(str(n), "1", AT, speaker, f"m{n}") for n, speaker in enumerate(speakers)]
    (session,) = to_dialogue(replace(CONVERSATION, docs=tuple(docs))).sessions
    said = [(turn.user, turn.assistant) for turn in session.turns]
    assert said == [("", "m0"), ("m1", "m2"), ("", "m3"), ("m4", "")]


def test_sessions_stand_by_their_time_and_talk_without_one_is_dated() -> None:
    """A set that names no times keeps its order, a minute a turn."""
    late, early = (
        Doc("l", "late", AT + timedelta(days=1), "", "late"),
        Doc("e", "early", AT, "", "early"),
    )
    dialogue = to_dialogue(replace(CONVERSATION, docs=(late, early)))
    assert [session.id for session in dialogue.sessions] == ["early", "late"]
    timeless = tuple(replace(doc, at=None) for doc in (late, early))
    dialogue = to_dialogue(replace(CONVERSATION, docs=timeless))
    assert [session.id for session in dialogue.sessions] == ["late", "early"]
    assert dialogue.sessions[1].turns[0].at == UNDATED_START + 2 * MESSAGE_GAP


def test_the_two_are_called_in_the_language_of_the_talk() -> None:
    """Chinese talk has Chinese names for them."""
    assert to_dialogue(CONVERSATION).user.title == "the user"
    chinese = (Doc("1", "1", None, "user", "我喜欢乌龙茶。"),)
    dialogue = to_dialogue(replace(CONVERSATION, docs=chinese))
    assert (dialogue.user.title, dialogue.assistant.name) == ("用户", "助手")


DOCS = st.lists(
    st.builds(
        Doc,
        id=st.just("d"),
        session=st.sampled_from("abc"),
        at=st.none() | st.integers(0, 3).map(lambda hours: AT + timedelta(hours=hours)),
        speaker=st.sampled_from(["", "user", "assistant", "Ann", "Bob"]),
        text=st.text(min_size=1).filter(str.strip),
    ),
    min_size=1,
)


@given(DOCS)
def test_nothing_is_lost_and_time_runs_forward(docs: list[Doc]) -> None:
    """Whatever the set: every message is said once, and each turn is later than the last."""
    dialogue = to_dialogue(Conversation("c", tuple(docs), ()))
    turns = [turn for session in dialogue.sessions for turn in session.turns]
    assert all(one.at < two.at for one, two in pairwise(turns))
    said = "\n".join(f"{turn.user}\n{turn.assistant}" for turn in turns)
    assert len(turns) <= len(docs)
    assert all(doc.text in said for doc in docs)


def test_blank_messages_are_left_out() -> None:
    """They are no turns; a conversation of nothing else is not drawn."""
    blank = Doc("0", "0", AT, "Ann", " \n")
    (session,) = to_dialogue(replace(CONVERSATION, docs=(blank, *CONVERSATION.docs))).sessions
    assert len(session.turns) == 2
    silent = replace(CONVERSATION, docs=(blank,))
    assert draw([silent], max_conversations=None, max_questions=None, seed=0) == []


def answered(category: str, right: bool | None) -> GradedAnswer:
    """A question that was answered."""
    return GradedAnswer("c", "q", category, "?", "gold", "block", "reply", right)


def test_accuracy_by_hand() -> None:
    """Shares by category and in all are those counted by hand; what has no grade is wrong."""
    marks = [answered("a", True), answered("a", False), answered("b", True), answered("b", None)]
    found = accuracy([*marks, answered("b", True)])
    assert {name: (of, round(right.mean, 1)) for name, (of, right) in found.items()} == {
        "a": (2, 50.0),
        "b": (3, 66.7),
        "all": (5, 60.0),
    }


def system(name: str, *rights: bool | None) -> SystemAnswers:
    """A system with its answers."""
    answers = tuple(answered("a", right) for right in rights)
    return SystemAnswers(name, "", 4, Usage(2, 80, 0, 8), Usage(1, 9, 0, 9), answers)


def test_systems_are_compared_question_by_question() -> None:
    """The interval is that by hand; the table has a column each, and says what is unfair."""
    found = [system("x", True, True, True, False), system("y", True, False, None, False)]
    (less,) = differences(found).values()
    assert (less.low, less.mean, less.high) == (0, 50, 100)
    out = io.StringIO()
    report(found, Console(file=out, width=160))
    shown = re.sub(" +", " ", out.getvalue())
    assert "right, % questions x y" in shown
    assert "all 4 75.0" in shown
    assert "x less this 50.0" in shown
    assert "tokens in per turn 20 20" in shown
    assert "Souffleur was measured on LoCoMo" in shown
    made = json.loads(as_json(found, {"model": "m"}))
    assert made["conditions"] == {"model": "m"}
    assert made["first_less"]["y"]["mean"] == 50
    assert len(made["unfair"]) > 3
    assert [one["writing"]["calls"] for one in made["systems"]] == [2, 2]


def test_a_table_of_what_was_only_written() -> None:
    """Without answers the table has no shares."""
    out = io.StringIO()
    report([system("x"), system("y")], Console(file=out, width=160))
    assert "right, %" not in out.getvalue()
    assert "tokens out per turn" in out.getvalue()
    assert differences([system("x"), system("y")]) == {}


async def test_a_run_asks_and_grades(tmp_path: Path) -> None:
    """Answered from the block alone; the trap of the set is right where nothing is claimed."""
    drawn, chat = [Sample(CONVERSATION, CONVERSATION.questions)], Scripted(SCRIPT)
    found = await ours(drawn, tmp_path, chat)
    assert [(one.id, one.reply, one.right) for one in found.answers] == [
        ("q1", "Oolong.", True),
        ("q2", "I do not know.", True),
    ]
    assert found.troubles == ()
    assert "Ann likes oolong tea." in found.answers[0].block
    assert "“" not in found.answers[1].gold
    assert "Merlot" in found.answers[1].gold
    asked = [one for one in chat.requests if one.name == "answer"]
    assert "2026-01-03 10:02" in asked[0].messages[0].content


async def test_elsewhere_the_same_category_is_no_trap(tmp_path: Path) -> None:
    """Only where the set says so is its answer the wrong one; there the reference stands."""
    drawn = [Sample(CONVERSATION, (TRAP,))]
    (one,) = (await ours(drawn, tmp_path, Scripted(SCRIPT), set_name="beam")).answers
    assert (one.gold, one.right) == ("Merlot", False)


async def test_what_cannot_be_used_is_told_and_counts_as_wrong(tmp_path: Path) -> None:
    """A turn, a reply and a grade in no form: the run goes on."""
    script = by_name(monitor="no JSON", answer=lambda _: " ", grade="no JSON")
    drawn = [Sample(CONVERSATION, (TEA,))]
    found = await ours(drawn, tmp_path / "1", Scripted(script))
    (one,) = found.answers
    assert (one.right, one.reason) == (False, "there was no reply")
    assert len(found.troubles) == 2
    assert found.troubles[0].startswith("ann-bob, 1 at 2026-01-03")
    assert "AnswerError" in found.troubles[0]
    chat = Scripted(by_name(monitor="no JSON", answer="Oolong.", grade="no JSON"))
    found = await ours(drawn, tmp_path / "2", chat)
    (one,) = found.answers
    assert (one.right, one.reply) == (None, "Oolong.")
    assert Counter(request.name for request in chat.requests)["grade"] == 2
    out = io.StringIO()
    report([found], Console(file=out, width=140))
    assert "not graded" in out.getvalue()
    assert "failed  souffleur: ann-bob, 1 at" in out.getvalue()


async def test_what_was_said_before_a_question_goes_with_it(tmp_path: Path) -> None:
    """Both to the model and to the judge."""
    asked = replace(TEA, before=("Bob: I make tea.",))
    chat = Scripted(SCRIPT)
    await ours([Sample(CONVERSATION, (asked,))], tmp_path, chat)
    for name in ("answer", "grade"):
        (request,) = (one for one in chat.requests if one.name == name)
        assert "Bob: I make tea.\nWhich tea does Ann like?" in request.messages[1].content


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A set in the unified form, with one conversation."""
    time = "10:00 am on 3 January, 2026"
    docs = [
        {"id": doc.id, "session": 1, "time": time, "speaker": doc.speaker, "text": doc.text}
        for doc in CONVERSATION.docs
    ]
    queries = [
        {"qid": q.id, "query": q.text, "category": q.category, "answer": q.answer, "evidence": []}
        for q in CONVERSATION.questions
    ]
    path = tmp_path / "set.jsonl"
    path.write_text(json.dumps({"conv_id": "ann-bob", "docs": docs, "queries": queries}))
    return path


def speak(body: Body) -> str:
    """The script behind real HTTP."""
    messages = tuple(Message(one["role"], one["content"]) for one in body["messages"])
    name = body.get("response_format", {}).get("json_schema", {}).get("name", "answer")
    said = SCRIPT(Request(messages, name))
    return said if isinstance(said, str) else json.dumps(said)


def test_a_model_is_asked_within_the_limit(
    file: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    stub: Callable[..., Stub],
) -> None:
    """The endpoint is asked, and what it says can be played back; or it only writes, or it ends."""
    monkeypatch.setenv("SOUFFLEUR_BASE_URL", stub(say(speak)).base_url)
    monkeypatch.setenv("SOUFFLEUR_API_KEY", "none")
    recording = file.with_name("answers.jsonl")
    both: dict[str, Any] = {"to_json": True, "systems": "souffleur, whole"}
    answering("locomo", file, record=recording, **both)
    live = capsys.readouterr().out
    shares = [one["accuracy"]["all"] for one in json.loads(live)["systems"]]
    assert [(share["of"], share["mean"]) for share in shares] == [(2, 100), (2, 100)]
    answering("locomo", file, recorded=recording, **both)
    assert capsys.readouterr().out == live
    answering("locomo", file, write_only=True, named="ann-bob")
    assert "right, %" not in capsys.readouterr().out
    answering("locomo", file, max_calls=6)
    assert re.search(r"all +2 +100\.0", capsys.readouterr().out)
    with pytest.raises(RecordingError, match="all 5 requests of --max-calls are made"):
        answering("locomo", file, max_calls=5)


def test_bad_words_are_errors(file: Path) -> None:
    """No model, no file, no question: each says what to do."""
    with pytest.raises(SettingsError, match="SOUFFLEUR_BASE_URL"):
        answering("locomo", file)
    with pytest.raises(InputError, match="cannot be read"):
        answering("locomo", file.with_name("none"))
    with pytest.raises(SettingsError, match="no system 'zep'"):
        answering("locomo", file, systems="souffleur,zep")
    with pytest.raises(InputError, match="nothing to ask"):
        answering("locomo", file, questions=0)


async def test_a_recording_gives_the_same_again(
    file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Played back by the command, offline, to the letter, without being asked to agree."""
    from bench.sets.registry import read_set

    drawn = draw(read_set("locomo", file), max_conversations=None, max_questions=None, seed=0)
    recording = tmp_path / "answers.jsonl"
    recorder = Recorder(Scripted(SCRIPT), recording, model="scripted", now=NOW)
    conditions = setup(model="scripted")
    live = as_json(await run(drawn, conditions, recorder, tmp_path), conditions.conditions)
    await asyncio.to_thread(answering, "locomo", file, recorded=recording, to_json=True)
    assert capsys.readouterr().out == live + "\n"
    assert json.loads(live)["systems"][0]["accuracy"]["all"]["mean"] == 100
