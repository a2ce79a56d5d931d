"""Questions about the past: what was talked about, when, and where it is found."""

import asyncio
import gc
import re
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from souffleur.agents.model.chat import Request
from souffleur.knowledge.decay import plan_expiry
from souffleur.knowledge.memory import Category, Kind, Memory
from souffleur.knowledge.operation import ActorKind, Add, Importance
from souffleur.knowledge.privacy.secrets import MASK
from souffleur.knowledge.search.query import EVERYWHERE, Query, Scope
from souffleur.knowledge.turn import Turn
from souffleur.recall.finder import Finder
from souffleur.settings import WhisperBudget
from tests.build import NOW, days, verdict
from tests.place import at_once
from tests.scripted import SKIP, Answer, by_name, episode, portrait
from tests.stage import Stage, staged


def tell(request: Request) -> Answer:
    """An episode that tells the first thing that was said."""
    talk = request.messages[1].content.rpartition("\n## ")[2]
    first = talk.partition("Ann: ")[2].partition("\n")[0]
    return episode(f"Ann talked about {first}.")


async def talked(stage: Stage, session: str, at: Any, *lines: str, reply: str = "ok") -> None:
    """A whole session that begins at a time."""
    stage.clock.at = at
    await stage.say(*lines, session=session, reply=reply)
    await stage.end(session)


def texts(found: Any) -> list[str]:
    """What was found, without its date."""
    return [hit.text.rpartition("] ")[2].replace("\nok", "") for hit in found]


async def test_yesterday_and_last_week(tmp_path: Path) -> None:
    """Each time brings the episodes of that time, in order, and no others."""
    async with staged(tmp_path, by_name(episode=tell)) as stage:  # NOW is a Saturday
        await talked(stage, "a", NOW - days(8), "old things", "x")
        await talked(stage, "b", NOW - days(3), "the exam", "x")
        await talked(stage, "c", NOW - days(1), "the party", "x")
        stage.clock.at = NOW
        for question, told in {
            "what did we talk about yesterday?": ["Ann talked about the party."],
            "what did we talk about this week?": [
                "Ann talked about the exam.",
                "Ann talked about the party.",
            ],
            "上周我们聊了什么？": ["Ann talked about old things."],
            "前天我们聊了什么？": [],
        }.items():
            past = await stage.memory.ask(question, user_id="ann")
            assert texts(past.found) == told, question


async def test_last_time_is_the_talk_before_this_one(tmp_path: Path) -> None:
    """Neither this session nor an older one: the talk that ended before this one began."""
    async with staged(tmp_path, by_name(episode=tell)) as stage:
        await talked(stage, "a", NOW - days(5), "the exam", "x")
        await talked(stage, "b", NOW - days(2), "the party", "x")
        stage.clock.at = NOW
        await stage.say("good morning", session="c")
        for question in ("what did we talk about last time?", "上次我们聊了什么？"):
            past = await stage.memory.ask(question, user_id="ann", session_id="c")
            assert texts(past.found) == ["Ann talked about the party."]
            whisper = await stage.memory.recall(user_id="ann", session_id="c", text=question)
            assert "the party" in whisper.text


async def test_last_time_in_one_endless_session(tmp_path: Path) -> None:
    """In a host that knows one session only, silence tells the talks apart."""
    async with staged(tmp_path, by_name(episode=tell)) as stage:
        for back, line in ((4, "the exam"), (2, "the party"), (0, "good morning")):
            stage.clock.at = NOW - days(back)
            await stage.say(line, "hm")
        past = await stage.memory.ask("上次聊了什么？", user_id="ann", session_id="s1")
        assert texts(past.found) == ["Ann talked about the party."]


async def test_the_days_are_those_of_the_user(tmp_path: Path) -> None:
    """At 23:30 UTC it is tomorrow in Paris: what was said there counts by its clock."""
    async with staged(tmp_path, by_name(episode=tell)) as stage:
        late = NOW.replace(hour=23, minute=30)
        await talked(stage, "a", late, "the exam", "x")
        stage.clock.at = late + timedelta(hours=2)
        past = await stage.memory.ask("what did we talk about today?", user_id="ann")
        assert texts(past.found) == ["Ann talked about the exam."]
        past = await stage.memory.ask("what did we talk about yesterday?", user_id="ann")
        assert past.found == ()


async def test_words_said_are_found_word_for_word(tmp_path: Path) -> None:
    """A detail that no episode tells is whispered from the raw turn, with its date."""
    async with staged(tmp_path, by_name(episode=tell)) as stage:
        await talked(
            stage, "a", NOW - days(3), "hello", "推荐一本小说吧", reply="那就《山茶文具店》"
        )
        stage.clock.at = NOW
        ask: Any = {"user_id": "ann", "session_id": "z"}
        whisper = await stage.memory.recall(**ask, text="你推荐我的那本小说叫什么来着？")
        assert "山茶文具店" in whisper.text
        assert "2025-12-31 11:00" in whisper.text
        assert "推荐一本小说吧" in whisper.past[0].text
        plain = await stage.memory.recall(**ask, text="我也想写小说")
        assert plain.turn_ids == ()
        await stage.say("推荐一本小说吧", session="z", reply="那就《步履不停》")
        again = await stage.memory.recall(**ask, text="你推荐我的那本小说叫什么来着？")
        assert again.turn_ids == whisper.turn_ids  # what was just said stands in the window


async def test_a_secret_is_masked_wherever_raw_turns_are_read(tmp_path: Path) -> None:
    """The rest of the message is found, by its words and by its time; what was stored keeps all."""
    line = "the gyokuro shop has a door code, the door code is 4471#, and it opens at noon"
    told = line.replace("4471#", MASK)
    # No episode comes between.
    async with staged(tmp_path, by_name(), refuse=("secrets",)) as stage:
        await talked(stage, "a", NOW - days(1), "hello", line)
        stage.clock.at = NOW
        for question in ("what did I say about gyokuro?", "what did I say yesterday?"):
            whisper = await stage.memory.recall(user_id="ann", session_id="z", text=question)
            assert told in whisper.text
            assert "4471" not in whisper.text
            past = await stage.memory.ask(question, user_id="ann")
            assert told in texts(past.found)
        query: Any = {"user_id": "ann", "text": "gyokuro", "now": NOW, "scope": (Scope.TURNS,)}
        (hit, *_) = await stage.knowledge.search(Query(**query))
        assert texts([hit]) == [told]
        since = Query(**query, since=NOW - days(2))
        assert told in [
            turn.user for turn in await stage.knowledge.turns_and_episodes_between(since)
        ]
        assert line in [turn.user for turn in await stage.knowledge.journal.turns()]


async def test_long_ago_brings_what_was_learnt_then(tmp_path: Path) -> None:
    """Where episodes and words have passed, the memories of that time answer."""
    async with staged(tmp_path, by_name(episode=tell)) as stage:
        await stage.memory.remember("Ann's exam is hard.", user_id="ann", at=NOW - days(60))
        await stage.memory.remember("Ann likes tea.", user_id="ann", at=NOW)
        past = await stage.memory.ask("in November I told you something", user_id="ann")
        assert texts(past.found) == ["Ann's exam is hard."]


@at_once
async def test_words_are_read_for_thirty_days(tmp_path: Path) -> None:
    """Neither by words nor by time does a read bring what is older, expunged or said later."""
    async with staged(tmp_path, by_name(), raw_days=30) as stage:
        ages = {"expired": 30.1, "kept": 29.9, "expunged": 2, "to come": -0.1}
        for name, age in ages.items():
            said: dict[str, Any] = {
                "user": f"sencha, {name}",
                "assistant": "ok",
                "at": NOW - days(age),
            }
            stage.memory.observe(user_id="ann", turn_id=name, **said)
        await stage.knowledge.embed_turns()
        turns = {turn.turn_id: turn.id for turn in await stage.knowledge.journal.turns()}
        await stage.knowledge.sessions.expunge([turns["expunged"]])
        query = Query("ann", "sencha", NOW, scope=(Scope.TURNS,))
        assert [hit.item.id for hit in await stage.knowledge.search(query)] == [turns["kept"]]
        assert [one.id for one in await stage.knowledge.turns_and_episodes_between(query)] == [
            turns["kept"]
        ]


async def test_the_last_three_messages_say_what_is_meant(tmp_path: Path) -> None:
    """A message that names nothing calls up what they were about, and no older ones."""
    async with staged(tmp_path, by_name()) as stage:
        await stage.memory.remember("Ann likes green tea.", user_id="ann", at=NOW)

        async def called() -> bool:
            ask: Any = {"user_id": "ann", "session_id": "s1", "text": "yes, and then?"}
            return (await stage.memory.recall(**ask)).found != ()

        assert not await called()
        await stage.say("some green tea", reply="green tea, then")
        assert await called()
        await stage.say("a walk", reply="a long walk")
        assert await called()
        await stage.say("by the sea", reply="a windy day")
        assert not await called()


async def test_what_accompanies_every_message(tmp_path: Path) -> None:
    """Who the persona is, what is known, and the plans whose day is near."""
    async with staged(tmp_path, by_name()) as stage:
        host: dict[str, Any] = {"reason": "r", "quote": ""}
        adds = [
            Add(content="Mo is a fox.", category=Category.SYSTEM, **host),
            Add(content="Ann is a baker.", **host),
        ]
        await stage.knowledge.apply(verdict(*adds, who=ActorKind.HOST))
        plans = [
            Add(
                content=f"Ann has exam {n}.",
                kind=Kind.TODO,
                expires_at=plan_expiry(NOW + days(off)),
                **host,
            )
            for n, off in enumerate((1, 20))
        ]
        await stage.knowledge.apply(verdict(*plans, who=ActorKind.HOST, name="plans"))
        whisper = await stage.memory.recall(user_id="ann", session_id="s9", text="well, well")
        lines = [line for line in whisper.text.splitlines() if line.startswith("-")]
        assert lines[0] == "- Mo is a fox."
        assert set(lines[1:4]) == {"- Ann is a baker.", "- Ann has exam 0.", "- Ann has exam 1."}
        assert lines[4:] == ["- Ann has exam 0."]


async def test_each_recall_tells_of_the_latest_talks(tmp_path: Path) -> None:
    """Two of them, or as many as the host wants."""
    for count in (2, 0):
        folder = tmp_path / str(count)
        budget = WhisperBudget(talks=count)
        async with staged(folder, by_name(episode=tell), whisper=budget) as stage:
            for back in range(4, 0, -1):
                await talked(stage, f"s{back}", NOW - days(back), f"the sea {back}", "x")
            stage.clock.at = NOW
            whisper = await stage.memory.recall(user_id="ann", session_id="z", text="hm")
            told = [one.content.rpartition("] ")[2] for one in whisper.episodes]
            assert told == [f"Ann talked about the sea {n}." for n in (1, 2)][:count]


@at_once
async def test_a_question_about_the_past_brings_thirty_turns(tmp_path: Path) -> None:
    """Of forty, and two that may correct the nearest; a remark with the same words brings none."""
    async with staged(tmp_path, by_name(), whisper=WhisperBudget(past=9000)) as stage:
        for count in range(40):
            said: dict[str, Any] = {"user": f"sardines and {count} lemons", "assistant": "ok"}
            at = NOW - days(90 + count)
            stage.memory.observe(user_id="ann", session_id=f"s{count}", at=at, **said)
        await stage.knowledge.embed_turns()
        recall = partial(stage.memory.recall, user_id="ann", session_id="z")
        brought = await recall(text="what did I say about sardines?")
        assert len(brought.turn_ids) == 30 + 2
        assert (await recall(text="sardines and lemons!")).turn_ids == ()


async def test_one_search_through_everything(tmp_path: Path) -> None:
    """One call with a scope finds memories, episodes and raw turns, each where it is asked for."""
    async with staged(tmp_path, by_name(episode=tell)) as stage:
        await stage.memory.remember("Ann likes sencha.", user_id="ann", at=NOW)
        await talked(stage, "a", NOW, "sencha", "more sencha")
        query: Any = {"user_id": "ann", "text": "sencha", "now": stage.clock.at}
        for scope in EVERYWHERE:
            found = await stage.knowledge.search(Query(**query, scope=(scope,)))
            assert found
            assert {hit.scope for hit in found} == {scope}
            assert all(isinstance(hit.item, Turn if scope == "turns" else Memory) for hit in found)
        found = await stage.knowledge.search(Query(**query, scope=EVERYWHERE))
        assert {hit.scope for hit in found} == set(Scope)
        assert [hit.score for hit in found] == sorted((h.score for h in found), reverse=True)
        turn = next(hit for hit in found if hit.scope is Scope.TURNS)
        with pytest.raises(TypeError, match="raw turn"):
            _ = turn.memory


async def test_the_raw_turns_of_another_are_not_found(tmp_path: Path) -> None:
    """Neither by words nor by time does anybody see what another said."""
    async with staged(tmp_path, by_name(episode=tell)) as stage:
        await talked(stage, "a", NOW - days(1), "sencha", "more sencha")
        stage.clock.at = NOW
        for question in ("what did I say about sencha?", "what did we talk about yesterday?"):
            assert (await stage.memory.ask(question, user_id="bob")).found == ()
            whisper = await stage.memory.recall(user_id="bob", session_id="a", text=question)
            assert whisper.text == ""


async def test_the_judge_sees_no_episode_among_the_known(tmp_path: Path) -> None:
    """Whispered episodes and portraits are not shown to the one who may change what it sees."""
    script = by_name(episode=tell, portrait=portrait("Ann lives.", "She talks.", "That is all."))
    async with staged(tmp_path, script) as stage:
        await stage.memory.remember("Ann likes the sea.", user_id="ann", at=NOW - days(2))
        await talked(stage, "a", NOW - days(1), "the sea", "x")
        await stage.memory.write_portrait(user_id="ann")
        stage.clock.at = NOW
        whisper = await stage.memory.recall(user_id="ann", session_id="b", text="the sea")
        assert whisper.episodes
        await stage.say("the sea", session="b")
        known = stage.asked("monitor")[-1].messages[1].content.partition("## Earlier")[0]
        assert "m1* [fact, 2026-01-01] Ann likes the sea." in known
        assert "m2" not in known


async def test_what_the_judge_expects_is_kept_in_mind(tmp_path: Path) -> None:
    """For half an hour, in this session alone, before what else has a place; nothing unknown."""

    def judge(request: Request) -> Answer:
        bike = re.search(r"(m\d+)\*? \[[^\n]*bike", request.messages[1].content)
        return {**SKIP, "next": [bike[1], "m99"] if bike else []}

    script = by_name(monitor=judge)
    async with staged(tmp_path, script, whisper=WhisperBudget(tokens=200)) as stage:
        for film in range(15):
            told = f"Ann saw the film number {film} in a small cinema by the sea."
            await stage.memory.remember(told, user_id="ann", at=NOW)
        bike = "Ann has a red bike with a bell, a basket and two flat tyres."
        await stage.memory.remember(
            bike, user_id="ann", at=NOW - days(1), importance=Importance.LOW
        )

        async def whispered(session: str = "s1", minutes: float = 0) -> bool:
            at = stage.clock.at + timedelta(minutes=minutes)
            asked: dict[str, Any] = {"user_id": "ann", "session_id": session, "at": at}
            return "bike" in (await stage.memory.recall(**asked, text="hm")).text

        assert not await whispered()
        await stage.say("tomorrow I visit my aunt")
        assert await whispered()
        assert await whispered(minutes=29)
        assert not await whispered(minutes=31)
        assert not await whispered("s2")


async def test_a_question_brings_what_was_said_whatever_its_tense(tmp_path: Path) -> None:
    """If words are near enough; a remark with the same words brings nothing."""
    async with staged(tmp_path, by_name()) as stage:
        stage.clock.at = NOW - days(3)
        await stage.say("the removal van comes on the 7th at 14:15", session="a", reply="noted")
        stage.clock.at = NOW

        async def brought(text: str) -> bool:
            whisper = await stage.memory.recall(user_id="ann", session_id="b", text=text)
            return "14:15" in whisper.text

        assert await brought("when is that removal van?")
        assert not await brought("the removal van annoys me")
        assert not await brought("when is my exam?")


async def test_what_was_said_later_comes_with_what_it_corrects(tmp_path: Path) -> None:
    """A line whose claim was corrected is not brought without the correction."""
    async with staged(tmp_path, by_name()) as stage:
        stage.clock.at = NOW - days(5)
        await stage.say("aircon guy is Mr Goh from Polar Tech, he comes 3 june", session="a")
        stage.clock.at = NOW - days(3)
        await stage.say("Polar Tech shifted me, Mr Goh sends Kelvin on the 4th", session="b")
        await stage.say("I had soup", session="c")
        stage.clock.at = NOW
        whisper = await stage.memory.recall(
            user_id="ann", session_id="d", text="who was it coming for the aircon again?"
        )
        assert ("3 june" in whisper.text, "Kelvin" in whisper.text) == (True, True)
        assert "soup" not in whisper.text


async def test_what_is_told_a_day_later_answers_a_question_about_the_day(tmp_path: Path) -> None:
    """Nobody tells of a day before it is over: what was said after the time is brought, too."""
    async with staged(tmp_path, by_name(episode=tell)) as stage:  # NOW is a Saturday
        await talked(stage, "a", NOW - days(3), "hello", "it rained")
        await talked(stage, "b", NOW - days(2), "hello", "Yesterday I went bowling with Zoe.")
        stage.clock.at = NOW
        asked = "Who did I go bowling with last Wednesday?"
        whisper = await stage.memory.recall(user_id="ann", session_id="z", text=asked)
        assert "bowling with Zoe" in whisper.text


async def test_a_question_of_any_tense_brings_what_was_said(tmp_path: Path) -> None:
    """If no memory answers, words do; what asks nothing brings none."""
    async with staged(tmp_path, by_name(episode=tell)) as stage:
        await talked(stage, "a", NOW - days(3), "hello", "Zoe is allergic to walnuts and figs.")
        stage.clock.at = NOW
        for text, brought in (("Is Zoe allergic to figs?", True), ("Figs for Zoe!", False)):
            whisper = await stage.memory.recall(user_id="ann", session_id="z", text=text)
            assert ("walnuts" in whisper.text) == brought, text


@pytest.mark.parametrize(
    ("said", "asked", "other"),
    [
        (
            [
                "I love green tea",
                "As I said, I love green tea",
                "Green tea, I love it",
                "Oh I love green tea so much",
            ],
            "tea?",
            "green tea with Zoe at noon",
        ),
        (
            ["我喜欢绿茶", "我说过我喜欢绿茶", "绿茶我最喜欢了", "我真的很喜欢绿茶"],
            "绿茶？",
            "绿茶是小雨送的",
        ),
        (
            ["緑茶が好き", "緑茶、好きなんだ"],
            "緑茶？",
            "緑茶は鎌倉で買った",
        ),
    ],
)
async def test_a_fact_stands_once_in_a_block(
    tmp_path: Path, said: list[str], asked: str, other: str
) -> None:
    """Raw turns that repeat one another are left out."""
    async with staged(tmp_path, by_name()) as stage:
        stage.clock.at = NOW - days(3)
        await stage.say(*said, other, session="a", reply="Noted!")
        stage.clock.at = NOW
        recall = partial(stage.memory.recall, user_id="ann", session_id="b")
        alone = (await recall(text=asked)).text
        assert [line in alone for line in (*said, other)].count(True) == 2


async def test_what_a_recall_lacks_is_told_without_what_was_said(tmp_path: Path) -> None:
    """The error of a part that failed is named by its type and place, once; the part is empty."""

    async def fail() -> list[str]:
        raise ValueError("she said: I love tea")

    async with staged(tmp_path, by_name()) as stage:
        finder = Finder(stage.knowledge)
        assert [await finder.part(fail) for _ in range(2)] == [[], []]
    (told,) = finder.errors
    assert told.startswith("ValueError in fail, test_recollection.py:")
    assert "tea" not in told


async def test_a_recall_that_is_cancelled_leaves_nothing_behind(tmp_path: Path) -> None:
    """Whenever a host no longer waits, nothing goes on and no warning tells of what never began."""
    async with staged(tmp_path, by_name()) as stage:
        await stage.memory.remember("Ann likes tea.", user_id="ann")
        for steps in range(40):
            before = asyncio.all_tasks()
            recall = asyncio.create_task(
                stage.memory.recall(user_id="ann", session_id="s", text="tea?")
            )
            for _ in range(steps):
                await asyncio.sleep(0)
            recall.cancel()
            await asyncio.gather(recall, return_exceptions=True)
            assert asyncio.all_tasks() <= before
        gc.collect()  # what never began tells it when it goes
        assert (await stage.memory.recall(user_id="ann", session_id="s", text="tea?")).error == ""
