"""`ask(think=True)`: what a model is shown, how often it may search, and what counts as known."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from souffleur.agents.brief import Persona
from souffleur.agents.model.chat import Request
from souffleur.agents.thought import NOTHING_KNOWN, list_notes
from souffleur.errors import AnswerError, BudgetError, SettingsError
from souffleur.knowledge.memory import Kind, MemoryState
from souffleur.knowledge.operation import ActorKind, Add, Update
from souffleur.knowledge.search.query import Found
from souffleur.settings import Settings
from tests.build import NOW, days, memory, verdict
from tests.scripted import Answer, by_name
from tests.stage import Stage, staged
from tests.stores import open_empty

SISTER = "Ann's sister is called Maud."
TRAM = "Maud drives a tram in Lyon."
QUESTION = "What does my sister do for a living?"


def says(action: str, **fields: Any) -> dict[str, Any]:
    """A step as a model writes it."""
    return {"reason": "so", "action": action, "query": None, "answer": None, "ids": [], **fields}


def noted(request: Request, words: str) -> str:
    """The id of the note with these words, in the last message of a request."""
    (line,) = [line for line in request.messages[-1].content.split("\n") if words in line]
    return line.split(" ")[0]


def answers(*words: str, search: str | None = None) -> Callable[[Request], Answer]:
    """A model that searches once, if it is told to, and answers from the notes of these words."""

    def script(request: Request) -> Answer:
        if search and len(request.messages) == 2:
            return says("SEARCH", query=search)
        ids = [noted(request, one) for one in words]
        return says("ANSWER", answer="So it is.", ids=ids)

    return script


async def know(stage: Stage, *sentences: str, **fields: Any) -> None:
    for sentence in sentences:
        await stage.memory.remember(sentence, user_id="ann", **fields)


async def think(stage: Stage, question: str = QUESTION, **who: Any) -> Any:
    return await stage.memory.ask(question, user_id="ann", think=True, **who)


async def test_it_searches_until_it_can_answer(tmp_path: Path) -> None:
    """The answer comes with the record that it rests on; no note is shown twice."""
    async with staged(tmp_path, answers(TRAM, search="Maud sister tram")) as stage:
        await know(stage, SISTER, TRAM)
        past = await think(stage)
        assert [hit.text for hit in past.found] == [TRAM]
        assert (past.thought.answer, past.thought.known, past.thought.rounds) == (
            "So it is.",
            True,
            2,
        )
        assert (past.thought.usage.calls, past.thought.usage.input_tokens) == (2, 200)
        first, second = (request.messages[-1].content for request in stage.chat.requests)
        assert QUESTION in first
        assert SISTER in first
        assert SISTER not in second
        assert [text.split("Searches left: ")[1] for text in (first, second)] == ["2", "1"]


async def test_what_was_said_is_found_with_its_speaker_and_day(tmp_path: Path) -> None:
    """A raw turn is a note, and so is one of a time that the question names."""
    script = by_name(think=answers("Ann: My tram was late"))
    async with staged(tmp_path, script) as stage:
        stage.memory.observe(user_id="ann", user="My tram was late", assistant="Again?", at=NOW)
        await know(stage, SISTER)
        stage.clock.at = NOW + days(1)
        past = await think(stage, "What did I say yesterday?")
        assert [hit.text for hit in past.found] == ["My tram was late\nAgain?"]
        line = "[turn, 2026-01-03] Ann: My tram was late / Mo: Again?"
        assert line in stage.asked("think")[0].messages[-1].content


@pytest.mark.parametrize(
    ("step", "known"),
    [
        (says("UNKNOWN", answer="Perhaps a baker.", ids=["n1"]), 0),
        (says("ANSWER", answer="She is a baker.", ids=["n9", "x"]), 0),
        (says("answer", answer="She drives a tram.", ids=["[N1]", "n9", "n1"]), 1),
    ],
    ids=["said so", "never shown", "partly shown"],
)
async def test_only_what_was_shown_makes_an_answer(
    tmp_path: Path, step: Answer, known: int
) -> None:
    """An answer whose every id was made up is not known; a made-up id beside a true one goes."""
    async with staged(tmp_path, [step]) as stage:
        await know(stage, SISTER)
        past = await think(stage)
        assert (len(past.found), past.thought.known, bool(past.thought.answer)) == (known,) * 3


UNUSABLE: tuple[Answer, ...] = (
    "hm",
    says("SEARCH"),
    says("ANSWER", ids=["n1"]),
    says("ANSWER", answer="She drives a tram."),
)


@pytest.mark.parametrize("step", UNUSABLE)
async def test_an_unusable_step_is_sent_back_once(tmp_path: Path, step: Answer) -> None:
    """The second one, in whichever round, is an error, without a word of what was shown."""
    async with staged(tmp_path, [step, says("SEARCH", query="tram"), step]) as stage:
        await know(stage, SISTER)
        with pytest.raises(AnswerError) as caught:
            await think(stage)
        assert "cannot be used" in stage.chat.requests[1].messages[-1].content
        assert "Maud" not in str(caught.value)
        assert caught.value.usage["calls"] == 3


async def test_three_searches_at_most(tmp_path: Path) -> None:
    """With none left, the schema offers no search, and a model that wants one must decide."""
    steps = [says("SEARCH", query=word) for word in ("tram", "work", "job")]
    async with staged(tmp_path, [*steps, says("UNKNOWN")]) as stage:
        await know(stage, SISTER)
        past = await think(stage)
        assert (past.thought.known, past.thought.rounds) == (False, 4)
        offered = [json.dumps(request.schema) for request in stage.chat.requests]
        assert [("SEARCH" in one) for one in offered] == [True, True, False, False]


async def test_a_topic_brings_all_that_it_has(tmp_path: Path) -> None:
    """Topics are listed, and the words of one find its memories, whatever words they have."""
    script = answers("Ann waters ferns.", "Ann owns a spade.", search="Garden")
    async with staged(tmp_path, script) as stage:
        for content in ("Ann waters ferns.", "Ann owns a spade."):
            add = Add(reason="r", quote="", content=content, topics=("garden",))
            await stage.knowledge.apply(verdict(add, who=ActorKind.HOST, name=content))
        past = await think(stage, "Is anything new?")
        assert len(past.found) == 2
        assert "## Topics\ngarden\n" in stage.chat.requests[0].messages[-1].content


async def test_what_is_over_is_shown_with_its_end(tmp_path: Path) -> None:
    """A sentence that another has replaced answers a question about the time before."""
    async with staged(tmp_path, answers("Ann lives in Lyon.")) as stage:
        await know(stage, "Ann lives in Lyon.")
        (old,) = await stage.memory.list(user_id="ann")
        stage.clock.at = NOW + days(30)
        moved = Update(target=old.id, reason="r", quote="", content="Ann lives in Oslo.")
        await stage.knowledge.apply(verdict(moved, who=ActorKind.HOST, at=stage.clock.at))
        past = await think(stage, "Where does Ann live?")
        assert [(hit.text, hit.memory.state) for hit in past.found] == [
            ("Ann lives in Lyon.", MemoryState.SUPERSEDED)
        ]
        text = stage.chat.requests[0].messages[-1].content
        assert "[fact, 2026-01-03 → 2026-02-02] Ann lives in Lyon." in text
        assert "[fact, 2026-02-02] Ann lives in Oslo." in text


async def test_what_a_boundary_holds_back_is_not_shown(tmp_path: Path) -> None:
    """It is shown when the question itself raises it."""
    async with staged(tmp_path, lambda _: says("UNKNOWN")) as stage:
        left = "Ann's brother Craig left the choir of the village."
        add = Add(reason="r", quote="", content=left, topics=("Craig's choir",))
        await stage.knowledge.apply(verdict(add, who=ActorKind.HOST))
        await know(stage, SISTER)
        await know(stage, "Ann asked that Craig never be brought up.", kind=Kind.BOUNDARY)
        for question, shown in (("Who sings in the village choir?", 0), ("Where is Craig?", 1)):
            await think(stage, question)
            text = stage.chat.requests[-1].messages[-1].content.partition("## Topics")[2]
            assert text.count("left the choir") == text.count("Craig's choir") == shown


async def test_the_name_of_the_user_holds_nothing_back(tmp_path: Path) -> None:
    """A boundary that names the user, as all memories do, is about none of them for that."""
    async with staged(tmp_path, lambda _: says("UNKNOWN"), user_title="Josephine") as stage:
        await know(stage, "Josephine has a sister called Maud.")
        await know(stage, "Josephine never wants to talk of the war.", kind=Kind.BOUNDARY)
        await think(stage)
        assert "a sister called Maud" in stage.chat.requests[-1].messages[-1].content


async def test_what_was_forgotten_is_not_shown(tmp_path: Path) -> None:
    """Nor is anything shown, or asked, of a user whose memory is off."""
    async with staged(tmp_path, lambda _: says("UNKNOWN")) as stage:
        await know(stage, SISTER)
        await stage.memory.forget("sister Maud", user_id="ann")
        await think(stage)
        assert "Maud" not in stage.chat.requests[-1].messages[-1].content
        asked = len(stage.chat.requests)
        await stage.memory.set_preferences(user_id="ann", memory=False)
        assert (await think(stage)).thought == NOTHING_KNOWN
        assert len(stage.chat.requests) == asked


async def test_the_budget_of_the_user_counts(tmp_path: Path) -> None:
    """A round beyond it is refused, and another user may still ask."""
    script = [says("SEARCH", query="tram"), says("UNKNOWN")]
    async with staged(tmp_path, script, user_calls_per_day=1) as stage:
        await know(stage, SISTER)
        with pytest.raises(BudgetError, match="1 of 1 calls"):
            await think(stage)
        past = await stage.memory.ask("Why?", user_id="ben", think=True)
        assert past.thought
        assert not past.thought.known


async def test_without_a_model_it_says_what_to_set(tmp_path: Path) -> None:
    """Only a question that needs a model is refused."""
    async with open_empty(Settings(path=tmp_path, embedder="hash:64")) as opened:
        with pytest.raises(SettingsError, match="SOUFFLEUR_BASE_URL"):
            await opened.ask(QUESTION, user_id="ann", think=True)
        assert (await opened.ask(QUESTION, user_id="ann")).thought is None


@pytest.mark.parametrize("language", ["en", "zh", "ja"])
def test_a_note_says_when_it_ended(language: str) -> None:
    """What ended has a second day; what will end has not, and a long note is cut."""
    over = memory("Ann takes pills.", valid_until=NOW + days(2), expires_at=NOW + days(9))
    later = memory("Ann sings." + "!" * 999, valid_until=NOW + days(40))
    notes = {f"n{at}": Found(one, 1.0, 1.0, 0.0) for at, one in enumerate((over, later), start=1)}
    first, second = list_notes(notes, Persona(), NOW + days(10), language).split("\n")
    assert first == "n1 [fact, 2026-01-03 → 2026-01-05] Ann takes pills."
    assert second.startswith("n2 [fact, 2026-01-03] Ann sings.")
    assert len(second) < 900
