"""Answers: several memories take the same conversations, and are asked the same questions."""

import asyncio
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from bench.answering import AnswerSetup, Meter, run
from bench.sets.asking import grade_replies
from bench.sets.conversation import Conversation, Doc, Question, Sample, to_dialogue
from bench.systems import StoredMemory, SystemInputs, messages_of
from bench.systems.contestant import Batch, Other, Whole, batches, check_contestant, make_contestant
from souffleur.agents.model.chat import Chat, Message, Reply, Request, Usage, request_key
from souffleur.agents.structured_chat import StructuredChat
from souffleur.demo.dialogue import Dialogue, Exchange, SessionPart
from souffleur.errors import AnswerError, EndpointError, RecordingError, SettingsError
from souffleur.evals.result import OpRecord
from souffleur.evals.script import Known
from souffleur.knowledge.search.embedder import make_embedder
from souffleur.settings import default_settings
from tests.scripted import Answer, Scripted, add, answer, by_name, episode, portrait

AT = datetime(2026, 1, 3, 10, 0, tzinfo=UTC)
TEA = Question("q1", "Which tea does Ann like?", "single", "Oolong", ())
DOCS = tuple(
    Doc(f"d{index}", session, AT + timedelta(days=3 * int(session)), speaker, text)
    for index, (session, speaker, text) in enumerate(
        (
            ("1", "Ann", "I like oolong tea."),
            ("1", "Bob", "Good taste!"),
            ("1", "Ann", "I have a cat called Miso."),
            ("1", "Bob", "A fine name."),
            ("1", "Ann", "I paint, too."),
            ("1", "Bob", "Since when?"),
            ("1", "Ann", "Since May."),
            ("1", "Bob", "Lovely."),
            ("2", "Ann", "Miso is ill."),
            ("2", "Bob", "Poor Miso."),
        )
    )
)
CONVERSATION = Conversation("ann-bob", DOCS, (TEA,))
DRAWN = [Sample(CONVERSATION, (TEA,)), Sample(replace(CONVERSATION, conv_id="two"), (TEA,))]


def judge_turns(request: Request) -> Answer:
    """Keeps the tea."""
    return answer(add("Ann likes oolong tea.", "I like oolong tea"))


def extract(request: Request) -> Answer:
    """Keeps what was said last, for mem0."""
    new = request.messages[1].content.partition("## New Messages\n")[2].partition("\n")[0]
    return {"memory": [{"id": "0", "text": f"They said {new}", "attributed_to": "user"}]}


def call(request: Request) -> Answer:
    """Keeps as much, for LangMem, and deletes what it is shown."""
    shown = request.messages[0].content.partition("<instance id=")[2].partition(" ")[0]
    size = len(request.messages[1].content)
    kept = {"tool": "Memory", "arguments": {"content": f"They said {size} letters of tea."}}
    gone = {"tool": "RemoveDoc", "arguments": {"json_doc_id": shown}}
    return {"calls": [kept, gone] if shown else [kept]}


SCRIPT = by_name(
    monitor=judge_turns,
    episode=episode("They talked about tea."),
    portrait=portrait("Ann likes tea.", "It is oolong.", "Bob knows."),
    mem0=extract,
    langmem=call,
    answer="It is oolong.",
    grade={"grades": [{"answer": "A", "reason": "the same", "right": True}]},
)


def setup(*systems: str, **changed: Any) -> AnswerSetup:
    """A comparison in batches of two exchanges."""
    fresh = {"tries": 2, "retry_pause": 0, "judge_every": 2}
    settings = default_settings().model_copy(update=fresh)
    return replace(AnswerSetup(settings, "locomo", systems), **changed)


def installed(*systems: str) -> tuple[str, ...]:
    """These systems, as far as they are installed."""
    found = {"mem0": find_spec("mem0") and find_spec("langchain"), "langmem": find_spec("langmem")}
    return tuple(name for name in systems if found.get(name, True))


ALL = installed("souffleur", "mem0", "langmem", "whole")


def keys(chat: Scripted) -> Counter[str]:
    """The requests, whatever their order."""
    return Counter(request_key(request) for request in chat.requests)


async def test_every_system_answers_the_same_questions(tmp_path: Path) -> None:
    """All answer about the same conversations, in order; each brings what it has."""
    chat = Scripted(SCRIPT)
    found = await run(DRAWN, setup(*ALL), chat, tmp_path)
    assert [one.system for one in found] == list(ALL)
    for one in found:
        assert [(done.conversation, done.id) for done in one.answers] == [
            ("ann-bob", "q1"),
            ("two", "q1"),
        ]
        assert (one.turns, one.troubles) == (10, ())
        assert all("tea" in done.block and done.tokens > 0 for done in one.answers)
    ours, whole = found[0], found[-1]
    assert ours.writing.calls == 2 * (3 + 1)  # an episode besides the batches
    assert ours.writing.input_tokens == 100 * ours.writing.calls
    assert whole.writing == Usage()
    assert {one.answering.calls for one in found} == {2}
    if "mem0" in ALL:
        (first, _) = found[ALL.index("mem0")].answers
        assert "- 2026-01-06: They said user: Ann: I like oolong tea." in first.block
    assert all(one.writing.calls == 2 * 3 for one in found[1:-1])


async def test_a_second_run_asks_exactly_the_same(tmp_path: Path) -> None:
    """Whatever random ids a library makes: what was recorded once is found again."""
    first, second = Scripted(SCRIPT), Scripted(SCRIPT)
    await run(DRAWN, setup(*ALL), first, tmp_path / "1")
    await run(DRAWN, setup(*ALL), second, tmp_path / "2")
    assert keys(second) == keys(first)


async def test_writing_can_be_done_before_asking(tmp_path: Path) -> None:
    """Its requests are those of the whole run, less replies and grades."""
    written, whole = Scripted(SCRIPT), Scripted(SCRIPT)
    found = await run(DRAWN, setup(*ALL, write_only=True), written, tmp_path / "1")
    assert [one.answers for one in found] == [()] * len(ALL)
    await run(DRAWN, setup(*ALL), whole, tmp_path / "2")
    assert Counter(one.name for one in written.requests).keys().isdisjoint({"answer", "grade"})
    rest = keys(whole) - keys(written)
    assert keys(written) <= keys(whole)
    assert rest.total() == 2 * (len(ALL) + 1)


async def test_the_judge_does_not_see_whose_reply_it_is(tmp_path: Path) -> None:
    """All replies to a question are graded by one request, the same reply of two systems once."""
    chat = Scripted(SCRIPT)
    found = await run(DRAWN[:1], setup(*ALL), chat, tmp_path)
    (graded,) = (one for one in chat.requests if one.name == "grade")
    assert graded.messages[1].content.count("It is oolong.") == 1
    assert "Miso" not in graded.messages[1].content
    assert {answered.right for one in found for answered in one.answers} == {True}
    replies = [one.messages for one in chat.requests if one.name == "answer"]
    assert len({asked.content for _, asked in replies}) == 1
    assert len({rules.content for rules, _ in replies}) == len(ALL)


async def test_every_reply_gets_its_own_grade() -> None:
    """By its letter, wherever the systems stand; a letter that the judge left out has no grade."""
    asked = ("Oolong.", "", "Rooibos.", "Green.", "Oolong.")

    def judge(request: Request) -> Answer:
        shown = re.findall(r"^([A-Z]): (.*)$", request.messages[1].content, flags=re.M)
        return {
            "grades": [
                {"answer": letter, "reason": "compared", "right": said == "Oolong."}
                for letter, said in shown
                if said != "Green."
            ]
        }

    grades = await grade_replies("Which tea?", "Oolong", asked, StructuredChat(Scripted(judge)))
    assert [one and one.right for one in grades] == [True, False, False, None, True]


async def test_a_request_that_fails_for_a_moment_is_asked_again(tmp_path: Path) -> None:
    """Replies and grades that fail for a moment are asked for again."""
    failed: set[str] = set()

    def busy_once(request: Request) -> Answer:
        if request.name not in failed:
            failed.add(request.name)
            return EndpointError("busy")
        return SCRIPT(request)

    (whole,) = await run(DRAWN[:1], setup("whole"), Scripted(busy_once), tmp_path)
    assert failed == {"answer", "grade"}
    assert [one.right for one in whole.answers] == [True]


async def test_an_error_of_one_chain_ends_the_others(tmp_path: Path) -> None:
    """Their stores are closed when it is raised, so that the folder can be removed."""

    def stale(request: Request) -> Answer:
        return RecordingError("stale") if request.name == "answer" else SCRIPT(request)

    with pytest.raises(RecordingError, match="stale"):
        await run(DRAWN * 3, setup("souffleur", "whole"), Scripted(stale), tmp_path)
    assert len(asyncio.all_tasks()) == 1


class Diary:
    """A system that keeps each batch as one memory, and cannot stand cats."""

    def __init__(self) -> None:
        self.kept: list[StoredMemory] = []
        self.limit = 0
        self.is_open = False

    async def open(self, known: Sequence[Known]) -> None:
        self.is_open = not known

    async def write(self, turns: Sequence[Exchange]) -> None:
        text = " ".join(one["content"] for one in messages_of(turns))
        if "ill" in text:
            raise ValueError("too sad")
        if "stale" in text:
            raise RecordingError("stale")
        self.kept.append(StoredMemory(str(len(self.kept)), text, turns[0].at))

    async def recall(self, text: str, at: datetime, limit: int) -> Sequence[StoredMemory]:
        self.limit = limit
        return [*self.kept, StoredMemory("x", "Nobody knows when.")]

    async def memories(self) -> Sequence[StoredMemory]:
        return self.kept

    def ops(self) -> tuple[OpRecord, ...] | None:
        return None

    async def close(self) -> None:
        self.is_open = False


def inputs(chat: Chat, dialogue: Dialogue) -> SystemInputs:
    """What a system is given."""
    return SystemInputs(dialogue, default_settings(), chat, make_embedder("hash:64"))


def exchange(text: str, minutes: int = 0) -> Exchange:
    """One turn of the user."""
    return Exchange(at=AT + timedelta(minutes=minutes), user=text)


async def test_a_batch_that_fails_is_reported_and_the_rest_is_written() -> None:
    """It is told with session and time; what the system holds is brought with its day."""
    diary, dialogue = Diary(), to_dialogue(CONVERSATION)
    other = Other(inputs(Scripted([]), dialogue), diary, limit=7)
    await other.open()
    assert diary.is_open
    for batch in batches(dialogue, 4, timedelta(minutes=30)):
        await other.write(batch)
    await other.write(Batch("3", (exchange("It is well again."),)))
    assert other.troubles == ["2 at 2026-01-09 10:00:00+00:00: ValueError: too sad"]
    lines = (await other.bring("Who?", AT)).splitlines()
    assert lines[0] == "- 2026-01-06: Ann: I like oolong tea."
    assert lines[-2:] == [
        "- 2026-01-03: It is well again.",
        "- Nobody knows when.",
    ]
    assert diary.limit == 7
    with pytest.raises(RecordingError):
        await other.write(Batch("4", (exchange("stale"),)))
    await other.close()
    assert not diary.is_open


@pytest.mark.parametrize("system", [name for name in ALL if name not in ("souffleur", "whole")])
async def test_an_answer_that_a_library_swallows_is_reported(system: str, tmp_path: Path) -> None:
    """The batch of that answer is reported; the others are written."""
    answered: list[str] = []

    def once_in_prose(request: Request) -> Answer:
        if request.name == system:
            answered.append(system)
            return "I would rather not." if len(answered) == 2 else SCRIPT(request)
        return SCRIPT(request)

    (found,) = await run(DRAWN[:1], setup(system), Scripted(once_in_prose), tmp_path)
    (trouble,) = found.troubles
    assert trouble.startswith("ann-bob, 1 at 2026-01-06 10:02:00+00:00: AnswerError: ")
    assert "They said" in found.answers[0].block


async def test_the_whole_conversation_has_its_times_and_speakers() -> None:
    """A user and an assistant are named; other names stand in the words already."""
    dialogue = to_dialogue(CONVERSATION)
    whole = Whole(dialogue)
    for batch in batches(dialogue, 0, None):
        await whole.write(batch)
    assert (await whole.bring("Who?", AT)).splitlines()[:3] == [
        "### 2026-01-06 10:00 Tuesday (UTC)",
        "Ann: I like oolong tea.",
        "Bob: Good taste!",
    ]
    turn = Exchange(at=AT, user="Hi.", assistant="Hello.")
    talk = Dialogue(sessions=(SessionPart(id="1", turns=(turn,)),))
    whole = Whole(talk)
    await whole.write(Batch("1", (turn,)))
    assert (await whole.bring("Who?", AT)).endswith("the user: Hi.\nthe assistant: Hello.")


async def test_what_ours_could_not_judge_or_tell_is_reported(tmp_path: Path) -> None:
    """Turns with their session and time, and episodes."""
    broken = Scripted(by_name(monitor="no JSON", episode="no JSON", answer="?", grade="no JSON"))
    (ours,) = await run(DRAWN[:1], setup("souffleur"), broken, tmp_path)
    assert sum("AnswerError" in one for one in ours.troubles) == len(ours.troubles)
    assert ours.troubles[0].startswith("ann-bob, 1 at 2026-01-06 10:00")
    assert any(one.startswith("ann-bob, episode of 1") for one in ours.troubles)


def test_a_system_that_is_not_there_is_named() -> None:
    """Ours and the whole conversation always are."""
    for name in ("souffleur", "whole"):
        check_contestant(name)
    with pytest.raises(SettingsError, match="no system 'zep'"):
        check_contestant("zep")
    dialogue = to_dialogue(CONVERSATION)
    with pytest.raises(SettingsError, match="no system 'zep'"):
        make_contestant("zep", inputs(Scripted([]), dialogue), dialogue, 5)


TURNS = st.lists(st.sampled_from([1, 5, 29, 30, 31, 600]), min_size=1, max_size=12)


@given(st.lists(TURNS, min_size=1, max_size=4), st.integers(0, 5))
def test_batches_lose_nothing_and_cross_no_silence(gaps: list[list[int]], size: int) -> None:
    """Whatever the dialogue: at most `size` exchanges of one session, without a pause inside."""
    minutes, sessions = 0, []
    for number, some in enumerate(gaps):
        turns = []
        for gap in some:
            minutes += gap
            turns.append(exchange(f"m{minutes}", minutes))
        sessions.append(SessionPart(id=str(number), turns=tuple(turns)))
    dialogue = Dialogue(sessions=tuple(sessions))
    found = list(batches(dialogue, size, timedelta(minutes=30)))
    assert [turn for one in found for turn in one.turns] == [
        turn for session in sessions for turn in session.turns
    ]
    for batch in found:
        assert 0 < len(batch.turns) <= (size or len(batch.turns))
        whole = next(one.turns for one in sessions if one.id == batch.session_id)
        assert set(batch.turns) <= set(whole)
        assert batch.is_last == (batch.turns[-1] == whole[-1])
        assert all(two.at - one.at < timedelta(minutes=30) for one, two in pairwise(batch.turns))
    if not size:
        pauses = sum(gap >= 30 for some in gaps for gap in some[1:])
        assert len(found) == len(sessions) + pauses
    assert len(list(batches(dialogue, 0, None))) == len(sessions)


async def test_tokens_are_estimated_only_if_no_usage_is_given() -> None:
    """A failed answer is counted as well."""
    replies: list[Reply | AnswerError] = [
        Reply("x" * 400, usage=Usage(calls=1)),
        Reply("x" * 400, usage=Usage(calls=1, input_tokens=7, output_tokens=3)),
        AnswerError("cut off", answer="x" * 400, usage={"calls": 1, "input_tokens": 5}),
    ]

    async def chat(request: Request) -> Reply:
        said = replies.pop(0)
        if isinstance(said, AnswerError):
            raise said
        return said

    meter, request = Meter(chat), Request((Message("user", "y" * 4000),), "x")
    await meter(request)
    estimated = meter.cost
    assert estimated.input_tokens > 5 * estimated.output_tokens > 0
    await meter(request)
    assert meter.cost == estimated + Usage(calls=1, input_tokens=7, output_tokens=3)
    with pytest.raises(AnswerError):
        await meter(request)
    assert meter.cost == estimated + Usage(
        calls=2, input_tokens=12, output_tokens=3 + estimated.output_tokens
    )
