"""The suite: a script through the real runtime and a scripted model, recorded and played back."""

import asyncio
import re
from collections.abc import Sequence
from importlib.resources import files as resources
from pathlib import Path
from typing import Any

import pytest

from souffleur.agents.model.chat import Request
from souffleur.agents.structured_chat import StructuredChat
from souffleur.errors import EndpointError
from souffleur.evals import llm_judge
from souffleur.evals.fixture import known_memory, script_settings
from souffleur.evals.llm_judge import OpContext, known_before
from souffleur.evals.result import (
    ErrorType,
    Mark,
    OpRecord,
    OpStatus,
    ResultFile,
    Run,
    ScriptResult,
    Step,
    to_text,
)
from souffleur.evals.runner import eval_settings, record, run_recorded
from souffleur.evals.script import Script, read_script
from souffleur.knowledge.memory import Category, Due
from souffleur.knowledge.policy import COMPANION
from souffleur.settings import Settings, default_settings
from tests.build import NOW
from tests.scripted import SKIP, Answer, Scripted, add, answer, by_name, decided, episode, update

MOVING = """
about: cascade
user: {id: lin, title: Lin, language: en}
assistant: {id: mo, name: Mo}
timezone: Asia/Singapore
known:
  - {content: Lin lives in Woodlands., at: "2026-01-03T18:00:00+08:00", importance: high}
  - {content: Lin plans to see a play on 10 March 2026., kind: todo,
     at: "2026-03-01T18:00:00+08:00", expires_at: "2026-03-17T00:00:00+08:00"}
  - {content: Lin likes jazz., kind: preference, at: "2026-02-20T18:00:00+08:00", value: 1.0}
sessions:
  - id: s1
    turns:
      - at: "2026-03-05T20:00:00+08:00"
        user: I moved to Jurong East last week.
        assistant: From Woodlands to Jurong, congratulations!
        expect:
          - {op: UPDATE, of: Woodlands, pattern: [Jurong], details: [Jurong East], about: moved}
          - {op: BOOST, of: Woodlands}
        recall: {brings: [Woodlands], lacks: [Mars]}
      - at: "2026-03-05T20:02:00+08:00"
        user: I bought a rocket to Mars, ha.
        assistant: Send a postcard.
        never: [{op: ADD, pattern: Mars, why: a joke}]
      - at: "2026-03-05T20:04:00+08:00"
        user: I quit smoking on Monday.
        assistant: Well done!
        expect: [{op: ADD, says: Lin does not smoke any more, about: smoking}]
      - at: "2026-03-05T20:06:00+08:00"
        user: Nice evening.
        assistant: It is.
  - {run: decay, at: "2026-03-20T04:00:00+08:00", expect: [{op: ARCHIVE, of: play}]}
  - run: review
    at: "2026-03-25T04:00:00+08:00"
    expect: [{op: DELETE, of: nothing}]
    may: [{op: KEEP, of: smok}]
asks:
  - at: "2026-03-25T08:00:00+08:00"
    text: Where in Jurong do I live?
    brings: [Jurong East]
    lacks: [Woodlands]
end:
  holds: [{pattern: Jurong, once: true}]
  lacks: [Mars]
"""
QUIET = """
about: quiet
sessions:
  - id: s1
    turns: [{at: "2026-03-05T20:00:00+00:00", user: Hm., assistant: "Hm?"}]
end: {lacks: [Hm]}
"""
REVIEW = """
about: review
known: [{content: Lin likes jazz., at: "2026-01-01T18:00:00+00:00"}]
sessions: [{run: review, at: "2026-03-01T04:00:00+00:00", expect: [{op: KEEP, of: jazz}]}]
"""
LATER = """
about: later
known:
  - {content: Lin has a ticket for 10 March 2026., kind: todo, at: "2026-03-01T18:00:00+00:00",
     expires_at: "2026-03-17T00:00:00+00:00"}
sessions:
  - id: s1
    turns:
      - {at: "2026-03-05T20:00:00+00:00", user: Hm., assistant: "Hm?"}
      - {at: "2026-03-05T20:01:00+00:00", user: Well., assistant: "Well?"}
asks: [{at: "2026-03-18T20:00:00+00:00", text: "Shall I take a coat?", lacks: [ticket]}]
"""


def model(request: Request) -> Answer:
    """Judges as the script wants, but for a joke that it takes for a fact."""
    said = request.messages[1].content.partition("## The exchange to judge")[2]
    if "moved to Jurong" in said:
        return answer(update("m1", "Lin lives in Jurong East.", "moved to Jurong East"))
    if "rocket" in said:
        return answer(add("Lin bought a rocket to Mars.", "I bought a rocket to Mars"))
    if "quit smoking" in said:
        return answer(add("Lin quit smoking on 2 March 2026.", "I quit smoking on Monday"))
    return SKIP


def umpire(request: Request) -> Answer:
    """Mars was not meant; all else is as it says."""
    question = request.messages[-1].content
    if "## Statement" in question:
        return {"reason": "the same", "says": "quit smoking" in question}
    return {"reason": "a joke", "supported": False, "known": False, "worth": False}


def scripted(**changed: Any) -> Scripted:
    usual: dict[str, Any] = {
        "monitor": model,
        "referee": umpire,
        "episode": episode("Lin told of the move."),
        "review": {"reason": "it may matter", "action": "KEEP"},
    }
    return Scripted(by_name(**{**usual, **changed}))


def written(folder: Path, **texts: str) -> list[Path]:
    files = []
    for name, text in texts.items():
        file = folder / f"{name}.yaml"
        file.write_text(text, encoding="utf-8")
        files.append(file)
    return files


def recorded(files: Sequence[Path], folder: Path, chat: Scripted | None = None) -> Run:
    settings = default_settings().model_copy(update={"model": "scripted", "tries": 1})
    work = record(files, folder / "recordings", settings, chat or scripted(), now=NOW)
    return asyncio.run(work).run


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("suite")


@pytest.fixture(scope="module")
def files(folder: Path) -> list[Path]:
    return written(folder, moving=MOVING, quiet=QUIET)


@pytest.fixture(scope="module")
def chat() -> Scripted:
    return scripted()


@pytest.fixture(scope="module")
def taken(folder: Path, files: list[Path], chat: Scripted) -> Run:
    """Recorded once for all tests."""
    return recorded(files, folder, chat)


@pytest.fixture(scope="module")
def moving(taken: Run) -> ScriptResult:
    return taken.scripts[0]


def test_every_step_is_played_at_its_time(moving: ScriptResult) -> None:
    """Turns, runs and questions, each with its place."""
    places = [step.place for step in moving.steps]
    assert places == ["s1.1", "s1.2", "s1.3", "s1.4", "decay", "review", "ask.1"]
    assert moving.steps[4].at == "2026-03-20T04:00:00+08:00"
    assert moving.troubles == []


def test_what_was_known_before_is_whispered_and_shown(moving: ScriptResult) -> None:
    """The judge sees it, and updates it."""
    first = moving.steps[0]
    assert "Lin lives in Woodlands." in first.whisper
    assert "Lin lives in Jurong East." in moving.steps[1].ranked
    (call,) = [call for call in first.calls if call.name == "monitor"]
    assert "Lin lives in Woodlands." in call.asked
    (done,) = first.ops
    assert (done.op, done.content) == ("UPDATE", "Lin lives in Jurong East.")
    assert done.olds == ("Lin lives in Woodlands.",)


def test_ops_are_marked_and_misses_named(moving: ScriptResult) -> None:
    """An update that is right, a boost that was not made, a joke that was kept."""
    first, joke, smoking, quiet = moving.steps[:4]
    assert first.judged.marks[0].standing is OpStatus.RIGHT
    assert first.judged.missed == ("BOOST Woodlands",)
    (mark,) = joke.judged.marks
    assert (mark.standing, mark.nature) == (OpStatus.WRONG, ErrorType.INVENTED)
    assert mark.why == "never: a joke · a joke"
    assert smoking.judged.is_clean
    assert quiet.judged.is_clean


def test_runs_are_ops_of_their_own(moving: ScriptResult) -> None:
    """Decay archived the play that is over; the review kept what it was not expected to delete."""
    decay, review = moving.steps[4:6]
    assert [(done.op, done.who) for done in decay.ops] == [("ARCHIVE", "schedule")]
    assert decay.judged.is_clean
    assert {done.op for done in review.ops} == {"KEEP"}
    assert "Lin likes jazz." in [old for done in review.ops for old in done.olds]
    assert review.judged.missed == ("DELETE nothing",)


def test_talk_that_has_ended_is_told(moving: ScriptResult) -> None:
    """When its session ends; the episode is no op, but stands in the block that follows."""
    assert moving.steps[3].told == ("[2026-03-05 20:00] Lin told of the move.",)
    assert all("told of" not in done.content for step in moving.steps for done in step.ops)
    assert "told of" not in str(moving.memories)


def test_the_end_is_looked_at(moving: ScriptResult) -> None:
    """What is held, and what should not be."""
    assert moving.end == ("held all the same: Lin bought a rocket to Mars.",)
    assert "Lin lives in Jurong East." in moving.memories
    assert "Lin lives in Woodlands." not in moving.memories


def test_all_is_counted(moving: ScriptResult, taken: Run) -> None:
    """By hand: 1 UPDATE, 2 ADDs (one wrong), 1 ARCHIVE right; BOOST and DELETE missed."""
    counts = moving.counts
    assert (counts["UPDATE.right"], counts["ADD.right"], counts["ADD.wrong"]) == (1, 1, 1)
    assert (counts["BOOST.missed"], counts["DELETE.missed"], counts["ARCHIVE.met"]) == (1, 1, 1)
    assert (counts["SKIP.right"], counts["SKIP.missed"]) == (1, 1)
    assert (counts["brings.hit"], counts["brings.all"]) == (2, 2)
    assert (counts["lacks.kept"], counts["lacks.all"]) == (1 + 1, 2)
    assert counts["turns"] == 4
    assert taken.metrics["invented"].value == 1
    assert taken.metrics["update correct"].value == 1
    calls = sum(len(step.calls) for step in moving.steps)
    assert counts["calls"] == calls
    assert counts["tokens.in"] == 100 * calls


def test_the_llm_judge_is_asked_only_where_it_must_and_not_counted(
    moving: ScriptResult, chat: Scripted
) -> None:
    """Once for the joke, with what was known by then, and once for a sentence."""
    joke, sentence = [one for one in chat.requests if one.name == "referee"]
    assert "- Lin lives in Jurong East." in joke.messages[1].content
    assert "- Lin lives in Woodlands." not in joke.messages[1].content
    assert "Lin does not smoke any more" in sentence.messages[1].content
    assert all(call.name != "referee" for step in moving.steps for call in step.calls)


def test_what_is_over_by_the_end_is_not_held(tmp_path: Path) -> None:
    """Neither a plan whose day is gone, nor an episode, which is no memory of a judge's."""
    (script,) = recorded(written(tmp_path, later=LATER), tmp_path).scripts
    assert script.steps[1].told == ("[2026-03-05 20:00] Lin told of the move.",)
    assert script.memories == ()
    assert script.steps[2].judged.is_clean


def test_a_run_without_a_recorded_answer_is_stale(tmp_path: Path) -> None:
    """A reviewer that has no answer is no reviewer that keeps nothing."""
    files = written(tmp_path, review=REVIEW)
    taken = recorded(files, tmp_path)
    assert taken.metrics["KEEP recall"].value == 1
    written(tmp_path, review=REVIEW.replace("likes jazz", "plays jazz"))
    (script,) = run_recorded(files, tmp_path / "recordings", processes=1).scripts
    assert "stale (no answer to review about" in script.failure
    assert script.counts == {}


def test_a_recorded_run_is_the_same_as_the_recording_and_twice_the_same(
    folder: Path, files: list[Path], taken: Run
) -> None:
    """In one process and in two; no model is asked, and no wall clock shows."""
    one = run_recorded(files, folder / "recordings", processes=1)
    two = run_recorded(files[::-1], folder / "recordings", processes=2)
    assert to_text(ResultFile(runs=(one,))) == to_text(ResultFile(runs=(two,)))
    assert to_text(ResultFile(runs=(one,))) == to_text(ResultFile(runs=(taken,)))
    assert (one.model, one.mode) == ("scripted", "recorded")


def test_turns_judged_together_are_marked_each_by_itself(tmp_path: Path) -> None:
    """Four turns in one call: each has the ops that quote it, and playing it back is the same."""

    def judge(request: Request) -> Answer:
        said = request.messages[1].content.partition("## The exchange to judge")[2]
        assert all(words in said for words in ("moved to Jurong", "rocket", "smoking", "Nice"))
        moved = update("m1", "Lin lives in Jurong East.", "moved to Jurong East")
        return answer(moved, add("Lin quit smoking on 2 March.", "I quit smoking on Monday"))

    files, folder = written(tmp_path, moving=MOVING), tmp_path / "recordings"
    settings = default_settings().model_copy(update={"model": "scripted", "judge_every": 5})
    chat = scripted(monitor=judge)
    run = asyncio.run(record(files, folder, settings, chat, now=NOW)).run
    (script,) = run.scripts
    assert [[op.op for op in step.ops] for step in script.steps[:4]] == [
        ["UPDATE"],
        [],
        ["ADD"],
        [],
    ]
    assert script.counts["SKIP.right"] == 2
    again = run_recorded(files, folder, processes=1, together=5)
    assert to_text(ResultFile(runs=(again,))) == to_text(ResultFile(runs=(run,)))


def test_what_a_recording_no_longer_holds_is_named(folder: Path, tmp_path: Path) -> None:
    """A script that was changed since is stale; one without a recording says so; others go on."""
    changed = MOVING.replace("Nice evening.", "Lovely evening.")
    files = written(tmp_path, moving=changed, quiet=QUIET, absent=QUIET)
    run = run_recorded(files, folder / "recordings", processes=1)
    absent, moving, quiet = run.scripts
    assert "stale (no answer to monitor about" in moving.failure
    assert (
        "record it with `souffleur eval record --only moving` (see --recordings)" in moving.failure
    )
    assert "There is no recording at" in absent.failure
    assert absent.failure.endswith("`souffleur eval record --only absent` (see --recordings)")
    assert quiet.failure == ""
    assert run.metrics["SKIP recall"].value == 1
    assert len(run.troubles) == 2


def test_a_script_that_cannot_be_read_fails_alone(folder: Path, tmp_path: Path) -> None:
    """The others are played all the same."""
    files = written(tmp_path, broken="about: x", quiet=QUIET)
    broken, quiet = run_recorded(files, folder / "recordings", processes=1).scripts
    assert "at sessions: Field required" in broken.failure
    assert quiet.troubles == []


def test_an_endpoint_that_fails_fails_its_script_alone(tmp_path: Path) -> None:
    """Its turn waits, and is named with the reason; the others go on."""

    def down(request: Request) -> Answer:
        asked = request.messages[1].content
        return EndpointError("it is down", retryable=False) if "Hm." in asked else model(request)

    files = written(tmp_path, moving=MOVING, quiet=QUIET)
    run = recorded(files, tmp_path, scripted(monitor=down))
    assert run.troubles == ["quiet: s1.1: EndpointError: it is down"]


def test_an_answer_that_cannot_be_used_is_recorded_as_such(tmp_path: Path) -> None:
    """It is the model's failing: a miss, in the recording as in its playing back."""
    files = written(tmp_path, moving=MOVING)
    taken = recorded(files, tmp_path, scripted(monitor="no JSON at all"))
    again = run_recorded(files, tmp_path / "recordings", processes=1)
    assert to_text(ResultFile(runs=(taken,))) == to_text(ResultFile(runs=(again,)))
    assert len(taken.troubles) == 4
    assert taken.metrics["ADD recall"].value == 0
    assert "SKIP.right" not in taken.scripts[0].counts


def test_a_second_recording_asks_nothing_and_drops_what_is_not_used(tmp_path: Path) -> None:
    """An interrupted one goes on where it stopped."""
    files = written(tmp_path, quiet=QUIET)
    recorded(files, tmp_path)
    path = tmp_path / "recordings" / "quiet.jsonl"
    whole = path.read_bytes()
    with path.open("ab") as file:
        file.write(b'{"key": "x", "form": "text", "answer": {}}\n')
    chat = scripted()
    recorded(files, tmp_path, chat)
    assert chat.requests == []
    assert path.read_bytes() == whole


def test_answers_of_another_model_are_not_mixed_in(tmp_path: Path) -> None:
    """The error says what to do, and nothing is overwritten."""
    files = written(tmp_path, quiet=QUIET)
    recorded(files, tmp_path)
    settings = default_settings().model_copy(update={"model": "another"})
    run = asyncio.run(record(files, tmp_path / "recordings", settings, scripted(), now=NOW)).run
    assert "holds answers of scripted, not of another" in run.troubles[0]
    assert "with --recordings (or --record FILE), or delete this file first" in run.troubles[0]


def right(request: Request) -> Answer:
    """Judges the script of `eval new` without a fault."""
    asked = request.messages[1].content
    said = asked.partition("## The exchange to judge")[2]
    if "allergic" in said:
        return answer(add("Ann is allergic to nuts.", "I am allergic to them."))
    if "Storgata" not in said:
        return SKIP
    (home,) = re.findall(r"(?m)^(m\d+)\b.*Bergen", asked)
    words = "Ann lives in Oslo, at Storgata 4; she lived in Bergen before."
    return answer(update(home, words, "I have moved to Oslo now, Storgata 4"))


def test_a_model_without_fault_is_right_in_all_of_a_new_script(tmp_path: Path) -> None:
    """Also its review, which keeps what was learned."""
    template = (resources("souffleur.evals") / "templates" / "script.yaml").read_text("utf-8")
    chat = scripted(monitor=right, review=lambda request: decided(request, "KEEP"))
    run = recorded(written(tmp_path, first=template), tmp_path, chat)
    (script,) = run.scripts
    assert not run.troubles
    assert "KEEP" in [op.op for step in script.steps for op in step.ops]
    assert (run.metrics["all precision"].value, run.metrics["all recall"].value) == (1, 1)
    assert [step.judged.is_clean for step in script.steps] == [True] * 5
    assert not script.end


def test_a_script_is_played_by_the_same_settings_everywhere() -> None:
    """Of the environment's only the endpoint; names, zone and language are the script's."""
    endpoint = {"model": "m", "base_url": "http://x", "extra_body": {"think": False}}
    settings = eval_settings(Settings(**endpoint, policy="studio", parallel_users=1))
    assert {name: getattr(settings, name) for name in endpoint} == endpoint
    assert (settings.policy, settings.parallel_users) == ("companion", 8)


def test_the_stage_is_the_scripts(files: list[Path]) -> None:
    """A script without a language is asked in what is spoken."""
    moving, quiet = (script_settings(read_script(file), default_settings()) for file in files)
    assert (moving.user_title, moving.timezone, moving.language) == ("Lin", "Asia/Singapore", "en")
    assert quiet.language is None
    assert (quiet.embedder, quiet.judge_every) == ("hash:512", 1)


def test_a_known_memory_is_due_as_any_other(files: list[Path]) -> None:
    """A number stands for the label; a skill lives as one; when it is due follows."""
    script = read_script(files[0])
    home, play, jazz = (
        known_memory(script, index, known, COMPANION) for index, known in enumerate(script.known)
    )
    assert (home.importance, jazz.importance) == (1.5, 1.0)
    assert play.due_for is Due.EXPIRE
    assert (home.category, home.due_for) == (Category.FACT, Due.PROMOTION)
    lesson = script.known[0].model_copy(update={"kind": "lesson", "last_used": script.known[2].at})
    skill = known_memory(script, 0, lesson, COMPANION)
    assert (skill.category, skill.grace_days) == (Category.SKILL, 30)
    assert skill.anchor_at == script.known[2].at
    assert skill.created_at == script.known[0].at


async def test_the_llm_judge_sees_what_was_known_and_said(files: list[Path]) -> None:
    """Known memories as the ops left them, the talk before, and the words themselves."""
    script: Script = read_script(files[0])
    moved = OpRecord(op="UPDATE", who="monitor", content="B", olds=("Lin lives in Woodlands.",))
    refused = OpRecord(op="ADD", who="monitor", content="C", refused="echo")
    before = [
        Step(place="s1.1", at="2026-03-05T20:00:00+08:00", user="I moved.", ops=(moved, refused))
    ]
    known = known_before(script, before)
    assert "B" in known
    assert "C" not in known
    assert "Lin lives in Woodlands." not in known
    rocket = OpRecord(op="ADD", who="monitor", content="Lin has a rocket.")
    step = Step(place="s1.2", at="2026-03-05T20:02:00+08:00", user="A rocket!", ops=(rocket, moved))
    chat = Scripted([{"reason": "new", "supported": True, "known": False, "worth": False}])
    marks = [Mark(standing=OpStatus.WRONG), Mark(standing=OpStatus.RIGHT)]
    judge = StructuredChat(chat)
    first, second = await llm_judge.classify_unexpected(
        judge, OpContext(script, before, step, known), marks
    )
    assert (first.nature, first.why) == (ErrorType.NOISE, "new")
    assert second == marks[1]
    (request,) = chat.requests
    assert request.name == "referee"
    asked = request.messages[1].content
    for words in ("- B", "Lin: I moved.", "Lin: A rocket!", "Lin has a rocket.", "20:02 Thursday"):
        assert words in asked


async def test_a_llm_judge_that_cannot_be_read_is_asked_once_more(files: list[Path]) -> None:
    """It is asked a second time, and that answer is taken."""
    chat = Scripted(["hm", {"reason": "the same", "says": True}])
    script = read_script(files[0])
    said = await llm_judge.find_entailments(
        StructuredChat(chat), script, [("it rains", "Rain falls.")]
    )
    assert said == {("it rains", "Rain falls."): True}
    assert len(chat.requests) == 2


REFUSING = """
about: health
special: refuse
user: {id: ann, language: en}
sessions:
  - id: s
    turns:
      - at: "2026-03-02T08:10:00+00:00"
        user: "I have lupus, so I take the train."
        assistant: "Safe trip."
        never: [{op: ADD, pattern: lupus, why: health}]
        answer:
          reason: told
          ops:
            - {op: ADD, reason: told, special: health, quote: lupus, content: The user has lupus.,
               kind: fact, importance: high}
end: {lacks: lupus}
"""


def test_a_script_says_whether_special_categories_are_refused(tmp_path: Path) -> None:
    """It is played with that setting: what is marked is refused, and so no breach."""
    (tmp_path / "refusing.yaml").write_text(REFUSING)
    (script,) = run_recorded([tmp_path / "refusing.yaml"], tmp_path, processes=1).scripts
    assert not script.failure
    (done,) = [op for step in script.steps for op in step.ops]
    assert done.refused == "sensitive: it tells of health, which is not kept"
