"""Raw turns are found with what was said around them, as far as that may be read."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, strategies as st

from souffleur.knowledge.knowledge_base import KnowledgeBase
from souffleur.knowledge.search.periods import find_period
from souffleur.knowledge.search.query import Found, Query, Scope
from souffleur.knowledge.search.turns import LEXICAL_HITS, SELF_CONTAINED_BYTES, without_names
from souffleur.knowledge.store.labels import label
from souffleur.knowledge.turn import Turn, turn_point_id
from tests.build import NOW, turn
from tests.stores import empty_base

UTC = ZoneInfo("UTC")

ASKED = "Which kettle does she recommend?"
QUESTION = "Which kettle would you recommend?"
ANSWER = "Oh, a copper one, by all means!"


async def talk(
    base: KnowledgeBase,
    lines: Sequence[str],
    session: str = "s1",
    at: datetime = NOW - timedelta(hours=2),
    step: timedelta = timedelta(minutes=1),
) -> list[Turn]:
    """A turn a line, embedded; as they were recorded."""
    said = []
    for index, line in enumerate(lines):
        id = turn_point_id("ann", "default", session, str(index))
        fields: dict[str, Any] = {"id": id, "session_id": session, "at": at + index * step}
        recorded = base.journal.record(turn(line, turn_id=str(index), **fields))
        assert recorded is not None
        said.append(recorded)
    await base.embed_turns()
    return said


async def find(base: KnowledgeBase, text: str = ASKED, **fields: Any) -> list[Found]:
    """What is found among raw turns."""
    query = Query("ann", text, NOW, scope=(Scope.TURNS,), limit=20, **fields)
    return await base.search(query)


async def context_of(base: KnowledgeBase, one: Turn, **fields: Any) -> float:
    """What the neighbours of a turn have lent it; 0 where it is not found."""
    found = {hit.item.id: hit for hit in await find(base, **fields)}
    return found[one.id].parts["context"] if one.id in found else 0.0


async def test_an_answer_is_found_by_its_question(tmp_path: Path) -> None:
    """It comes right after the question, before what was said elsewhere in the talk."""
    base = await empty_base(tmp_path)
    fill = [f"Nothing much happened on walk {index}, by all means." for index in range(6)]
    said = await talk(base, [*fill[:3], QUESTION, ANSWER, *fill[3:]])
    found = await find(base)
    assert [hit.item.id for hit in found[:2]] == [said[3].id, said[4].id]
    assert found[1].parts["context"] > 0
    await base.close()


async def test_the_gate_asks_what_a_turn_says_itself(tmp_path: Path) -> None:
    """A neighbour's words lift the rank alone: relevance is of a turn's own words and sense."""
    base = await empty_base(tmp_path)
    _, answer = await talk(base, [QUESTION, ANSWER])
    hit = next(hit for hit in await find(base) if hit.item.id == answer.id)
    own = 1 - (1 - hit.parts["lexical"]) * (1 - hit.parts.get("cosine", 0.0))
    assert hit.relevance == pytest.approx(own)
    assert hit.score > own
    assert not hit.relevant
    await base.close()


@pytest.mark.parametrize("way", ["hidden", "expunged", "replaced"])
async def test_what_may_not_be_read_lends_nothing(tmp_path: Path, way: str) -> None:
    """Nobody can tell by the order of the rest that a hidden turn held a word."""
    base = await empty_base(tmp_path)
    asked, answer = await talk(base, [QUESTION, ANSWER])
    assert await context_of(base, answer) > 0
    if way == "hidden":
        await base.sessions.hide([asked.id])
    elif way == "expunged":
        await base.sessions.expunge([asked.id])
    else:
        base.journal.record(asked.model_copy(update={"user": "Never mind."}))
        await base.embed_turns()
    assert await context_of(base, answer) == 0
    if way == "hidden":
        await base.sessions.hide([asked.id], hidden=False)
        assert await context_of(base, answer) > 0
    await base.close()


async def test_what_was_not_asked_for_lends_nothing(tmp_path: Path) -> None:
    """Neither a turn outside the time asked for, nor one of another persona."""
    base = await empty_base(tmp_path)
    asked, answer = await talk(base, [QUESTION, ANSWER])
    assert await context_of(base, answer, since=asked.at) > 0
    assert await context_of(base, answer, since=answer.at) == 0
    assert await context_of(base, answer, agent_id="default") > 0
    base.journal.record(asked.model_copy(update={"user": QUESTION, "agent_id": "tutor"}))
    labels = [label("agent_id", "tutor"), label("session_id", asked.session_id)]
    await base.journal.mark([asked], agent_id="tutor", labels=labels)
    assert await context_of(base, answer, agent_id="default") == 0
    await base.close()


async def test_a_secret_lends_nothing_and_what_was_said_beside_it_does(tmp_path: Path) -> None:
    """Whoever asks with the words of a secret does not find what was said around it."""
    base = await empty_base(tmp_path)
    _, answer = await talk(base, [f"{QUESTION} My kettle password is tea4two!", ANSWER])
    assert await context_of(base, answer) > 0
    found = await find(base, "tea4two")
    assert not any(hit.parts["lexical"] or hit.parts["context"] for hit in found)
    await base.close()


async def test_neighbours_are_of_the_same_talk(tmp_path: Path) -> None:
    """Neither the end of another session nor what was said an hour before is around a turn."""
    base = await empty_base(tmp_path)
    await talk(base, [QUESTION], "s1")
    (other,) = await talk(base, [ANSWER], "s2")
    _, late = await talk(base, [QUESTION, ANSWER], "s3", step=timedelta(hours=1))
    assert await context_of(base, other) == 0
    assert await context_of(base, late) == 0
    await base.close()


async def test_further_off_is_less_and_too_far_nothing(tmp_path: Path) -> None:
    """What was said two turns before lends half of what one turn before does; three, nothing."""
    base = await empty_base(tmp_path)
    said = await talk(base, [QUESTION, ANSWER, ANSWER, ANSWER])
    lent = [await context_of(base, one) for one in said[1:]]
    assert lent[0] > lent[1] > lent[2] == 0
    await base.close()


async def test_a_long_turn_is_lent_less(tmp_path: Path) -> None:
    """It says itself what it is about."""
    base = await empty_base(tmp_path)
    _, short = await talk(base, [QUESTION, ANSWER], "s1")
    _, long = await talk(base, [QUESTION, ANSWER + " hm" * SELF_CONTAINED_BYTES], "s2")
    assert 0 < await context_of(base, long) < await context_of(base, short) / 2
    await base.close()


async def test_places_go_on_when_a_window_is_left(tmp_path: Path) -> None:
    """A session that was ended counts on; a reply that is replaced keeps its place."""
    base = await empty_base(tmp_path)
    first, second = await talk(base, ["one", "two"])
    base.sessions.end("ann", "s1")
    third = base.journal.record(turn("three", turn_id="9"))
    again = base.journal.record(second.model_copy(update={"user": "too"}))
    assert third is not None
    assert again is not None
    assert [one.place for one in (first, second, third, again)] == [1, 2, 3, 2]
    await base.close()


@pytest.mark.parametrize("places", [(0, 0), (0, 1), (1, 0)])
async def test_turns_without_a_place_have_no_neighbours(
    tmp_path: Path, places: tuple[int, int]
) -> None:
    """Those of a store that did not count them yet neither borrow nor lend."""
    base = await empty_base(tmp_path)
    asked, answer = await talk(base, [QUESTION, ANSWER])
    for one, place in zip((asked, answer), places, strict=True):
        await base.journal.mark([one], place=place)
    assert await context_of(base, answer) == 0
    assert (await find(base))[0].item.id == asked.id
    await base.close()


async def test_who_speaks_does_not_drown_what_is_asked(tmp_path: Path) -> None:
    """With names before everything that is said, a name in a question is no sense to look for."""
    base = await empty_base(tmp_path)
    lines = [f"Caroline: Caroline again, on walk {index}!" for index in range(9)]
    said = await talk(base, [*lines, "Caroline: I adopted a kitten.", "Mel: Aww!"])
    cosines = {}
    for text in ("What did Caroline adopt?", "What did adopt?"):
        found = {hit.item.id: hit for hit in await find(base, text)}
        cosines[text] = found[said[9].id].parts["cosine"]
    assert cosines["What did Caroline adopt?"] == pytest.approx(cosines["What did adopt?"])
    await base.close()


@given(st.text(), st.lists(st.text(min_size=1, max_size=6).filter(str.strip), max_size=3))
def test_something_is_always_left_to_look_for(text: str, names: list[str]) -> None:
    """A question of names alone keeps them; no name makes a question longer."""
    rest = without_names(text, names)
    assert len(rest) <= max(len(text), len(" ".join(text.split())))
    assert any(map(str.isalnum, rest)) == any(map(str.isalnum, text))


async def test_equals_come_as_they_were_said(tmp_path: Path) -> None:
    """Turns that have nothing to do with a question are told apart by their time alone."""
    base = await empty_base(tmp_path)
    said = await talk(base, [f"{word} again" for word in ("Rain", "Fog", "Hail", "Snow", "Sun")])
    found = await find(base, "qqqq?")
    assert [hit.score for hit in found] == [0.0] * 5
    assert [hit.item.id for hit in found] == [one.id for one in said]
    await base.close()


async def test_what_the_user_says_counts_more(tmp_path: Path) -> None:
    """Of the same words the user's come first; the assistant's are found, and are as relevant."""
    base = await empty_base(tmp_path)
    (first,) = await talk(base, ["Rain again"], "s1")
    hers = first.model_copy(
        update={"id": turn_point_id("ann", "default", "s2", "1"), "session_id": "s2"}
        | {"user": "", "assistant": "A copper kettle hums."}
    )
    assert base.journal.record(hers) is not None
    (mine,) = await talk(base, ["A copper kettle hums."], "s3", at=NOW - timedelta(hours=1))
    found = await find(base, "copper kettle")
    assert [hit.item.id for hit in found[:2]] == [mine.id, hers.id]
    assert found[1].relevance == pytest.approx(found[0].relevance, rel=0.1)
    await base.close()


async def test_what_the_assistant_says_lends_less(tmp_path: Path) -> None:
    """Its question lifts the answer, by less than a user's does."""
    base = await empty_base(tmp_path)
    asked, answer = await talk(base, [QUESTION, ANSWER])
    mine = await context_of(base, answer)
    base.journal.record(asked.model_copy(update={"user": "", "assistant": QUESTION}))
    await base.embed_turns()
    assert 0 < await context_of(base, answer) < mine
    await base.close()


LUNCH = "We had ramen for lunch."


@pytest.mark.parametrize("text", ["What was for lunch?", "What was for lunch last time?"])
async def test_without_a_time_the_latest_comes_first(tmp_path: Path, text: str) -> None:
    """What has no dates of its own favours nothing: of the same words the latest win narrowly."""
    base = await empty_base(tmp_path)
    days = (NOW - timedelta(days=20), NOW - timedelta(hours=2))
    said = [(await talk(base, [LUNCH], f"s{n}", at=at))[0].id for n, at in enumerate(days)]
    latest, other = await find(base, text)
    assert [latest.item.id, other.item.id] == said[::-1]
    assert latest.score < 1.05 * other.score
    await base.close()


async def test_a_named_time_comes_first_and_then_what_is_told_some_days_later(
    tmp_path: Path,
) -> None:
    """What was said then precedes the same words of the week after, and these any others."""
    base = await empty_base(tmp_path)
    wednesday = find_period("last Wednesday", NOW, UTC)
    assert wednesday is not None
    days = (wednesday.start - timedelta(days=20), wednesday.start, NOW - timedelta(hours=2))
    said = [(await talk(base, [LUNCH], f"s{n}", at=at))[0].id for n, at in enumerate(days)]
    found = await find(base, "What was for lunch last Wednesday?")
    assert [hit.item.id for hit in found] == [said[1], said[2], said[0]]
    assert all(one.score > 1.1 * other.score for one, other in pairwise(found))
    await base.close()


async def test_a_time_that_is_not_over_comes_first_too(tmp_path: Path) -> None:
    """What was said this year precedes the same words of the year before."""
    base = await empty_base(tmp_path)
    days = (NOW - timedelta(days=20), NOW - timedelta(hours=2))
    said = [(await talk(base, [LUNCH], f"s{n}", at=at))[0].id for n, at in enumerate(days)]
    first, other = await find(base, "What was for lunch this year?")
    assert [first.item.id, other.item.id] == said[::-1]
    assert first.score > 1.4 * other.score
    await base.close()


async def test_a_time_is_of_the_calendar_of_who_asks(tmp_path: Path) -> None:
    """What was said early on a Wednesday in Shanghai was said on a Tuesday elsewhere."""
    base = await empty_base(tmp_path)
    shanghai = ZoneInfo("Asia/Shanghai")
    day = find_period("last Wednesday", NOW, shanghai)
    assert day is not None
    (early,) = await talk(base, [LUNCH], "s1", at=day.start + timedelta(hours=1))
    (late,) = await talk(base, [LUNCH], "s2", at=day.end + timedelta(hours=1))
    asked = "What was for lunch last Wednesday?"
    assert (await find(base, asked, zone=shanghai))[0].item.id == early.id
    assert (await find(base, asked))[0].item.id == late.id
    await base.close()


async def test_a_long_reply_does_not_drown_a_short_sentence(tmp_path: Path) -> None:
    """Each message of an exchange is compared alone: the user's counts as if nobody had replied."""
    base = await empty_base(tmp_path)
    exchange = turn("My copper kettle hums.", "Steam, lime and draughts. " * 200, turn_id="1")
    assert base.journal.record(exchange) is not None
    (alone,) = await talk(base, ["My copper kettle hums."], "s2")
    first, second = await find(base, "copper kettle")
    assert {first.item.id, second.item.id} == {exchange.id, alone.id}
    assert second.relevance == pytest.approx(first.relevance)
    await base.close()


async def test_a_reply_is_found_by_its_own_words(tmp_path: Path) -> None:
    """Which book was recommended is found though the user's message does not name it."""
    base = await empty_base(tmp_path)
    advised = turn("Something to read, please!", "Take Walden by Thoreau.", turn_id="1")
    assert base.journal.record(advised) is not None
    await talk(base, ["I walked in the rain."], "s2")
    (first, *_) = await find(base, "Thoreau's Walden")
    assert first.item.id == advised.id
    assert first.relevant
    await base.close()


async def test_an_answer_is_found_without_a_word_of_the_question(tmp_path: Path) -> None:
    """What stands beside the best hits is found, although hundreds of others are nearer itself."""
    base = await empty_base(tmp_path)
    said = await talk(base, [QUESTION, "Enamel."])
    fill = [f"She recommends a walk, number {index}." for index in range(LEXICAL_HITS + 20)]
    await talk(base, fill, "s2", at=NOW - timedelta(days=3), step=timedelta(hours=1) / 60)
    assert said[1].id in {hit.item.id for hit in await find(base)}
    await base.close()


async def test_a_question_that_nobody_answers_comes_last(tmp_path: Path) -> None:
    """Of the same words, those that tell something; a reply makes a question worth bringing."""
    base = await empty_base(tmp_path)
    (asks,) = await talk(base, ["The copper kettle hums?"], "s1")
    (tells,) = await talk(base, ["The copper kettle hums."], "s2", at=NOW - timedelta(days=9))
    answered = turn("The copper kettle hums?", "Yes.", turn_id="9", session_id="s3", at=NOW)
    assert base.journal.record(answered) is not None
    await base.embed_turns()
    found = [hit.item.id for hit in await find(base, "copper kettle")]
    assert found == [answered.id, tells.id, asks.id]
    await base.close()


async def test_who_is_named_comes_first(tmp_path: Path) -> None:
    """Of turns with the same words, those of the speaker come first whom a question names."""
    base = await empty_base(tmp_path)
    (ann,) = await talk(base, ["Ann: Bob, the kettle hums."], "s1")
    (bob,) = await talk(base, ["Bob: Ann, the kettle hums."], "s2")
    await talk(base, ["Ann: Tea?", "Bob: Tea!"], "s3")
    for name, order in (("Ann", [ann.id, bob.id]), ("Bob", [bob.id, ann.id])):
        found = await find(base, f"What did  {name} say about the kettle?")
        assert [hit.item.id for hit in found[:2]] == order
    await base.close()
