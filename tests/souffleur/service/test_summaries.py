"""Episodes and portraits behind the talk: when they are written, and what comes of failure."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from souffleur.agents.model.chat import Reply, Request
from souffleur.api import Souffleur
from souffleur.errors import EndpointError, NotFoundError, SettingsError
from souffleur.knowledge.memory import Category, MemoryState
from souffleur.knowledge.operation import Actor, ActorKind
from souffleur.knowledge.policy import COMPANION
from souffleur.knowledge.search.embedder import Embedder
from souffleur.knowledge.search.query import Query, Scope
from souffleur.knowledge.session import SegmentState
from souffleur.knowledge.store.opening import open_knowledge
from souffleur.knowledge.turn import TurnState
from souffleur.parts import Parts
from souffleur.settings import Settings
from souffleur.times import from_clock
from tests.build import NOW, Sulking, days
from tests.place import at_once, located, where
from tests.scripted import (
    SKIP,
    Answer,
    Scripted,
    add,
    answer,
    by_name,
    delete,
    episode,
    judged_told,
    portrait,
    update,
)
from tests.stage import Stage, staged
from tests.stores import open_empty

ME: dict[str, Any] = {"user_id": "ann", "session_id": "s1"}
TEA = episode(
    "Ann talked about tea.", key_facts=["Ann drinks sencha."], cues=["what to drink", "tired"]
)
THREE = ("Ann lives in Lyon.", "She drinks sencha.", "She looks for a flat.")


def said(request: Request) -> str:
    """What the user said last in a question to the monitor."""
    return request.messages[1].content.rpartition("Ann: ")[2]


@at_once
async def test_a_session_that_ends_becomes_an_episode(tmp_path: Path) -> None:
    """It has the dated line in the user's time, its facts, and a ledger entry by its writer."""
    async with staged(tmp_path, by_name(episode=TEA)) as stage:
        await stage.say("tea?", "sencha!")
        await stage.end()
        assert not stage.memory.end_session(**ME)  # it has ended already
        await stage.memory.flush()
        (one,) = await stage.episodes()
        assert one.content == "[2026-01-03 11:00] Ann talked about tea."
        assert one.data["key_facts"] == ["Ann drinks sencha."]
        assert one.topics == ("tea", "work", "home")
        assert one.cues == ("what to drink", "tired")
        (entry,) = await stage.knowledge.history(one.id, user_id="ann")
        assert (entry.op, entry.by.who) == ("ADD", ActorKind.SUMMARIZER)
        assert entry.by.prompt.startswith("episode.en@")
        assert "sencha!" in stage.asked("episode")[0].messages[1].content


async def test_silence_ends_a_session(tmp_path: Path) -> None:
    """Half an hour later the talk is told, although nobody ended it."""
    async with staged(tmp_path, by_name(episode=TEA)) as stage:
        await stage.say("tea?", "sencha!")
        stage.clock.at += timedelta(minutes=29)
        await stage.memory.flush()
        assert await stage.episodes() == []
        stage.clock.at += timedelta(minutes=1)
        await stage.memory.flush()
        assert len(await stage.episodes()) == 1


async def test_over_thirty_messages_the_oldest_are_told(tmp_path: Path) -> None:
    """Of 32 messages 22 become an episode; the newest ten are still word for word."""
    async with staged(tmp_path, by_name(episode=TEA)) as stage:
        await stage.say(*(f"line {n}" for n in range(16)))
        (one,) = await stage.episodes()
        assert one.data["messages"] == 22
        window = await stage.knowledge.sessions.window("ann", "s1")
        assert [turn.user for turn in window] == [f"line {n}" for n in range(11, 16)]


async def test_small_talk_and_few_words_are_no_episode(tmp_path: Path) -> None:
    """Two messages cost no call; what is judged to be small talk leaves nothing."""
    async with staged(tmp_path, by_name()) as stage:
        await stage.say("hi")
        await stage.end()
        assert stage.asked("episode") == []
        await stage.say("hi", "nice weather", session="s2")
        await stage.end("s2")
        assert len(stage.asked("episode")) == 1
        assert await stage.episodes() == []
        assert await stage.knowledge.sessions.waiting_segments() == []


async def test_a_failure_leaves_a_placeholder_that_is_tried_less_and_less(tmp_path: Path) -> None:
    """After each unusable answer the pause doubles; the words are safe, and told in the end."""
    answers: list[Answer] = [*["no idea"] * 6, TEA]
    async with staged(tmp_path, by_name(episode=lambda _: answers.pop(0))) as stage:
        await stage.say("tea?", "sencha!")
        await stage.end()
        pauses = []
        while await stage.knowledge.sessions.waiting_segments():
            (waiting,) = await stage.knowledge.sessions.waiting_segments()
            assert "no JSON object" in waiting.error
            pauses.append((waiting.retry_at - stage.clock.at).total_seconds())
            stage.clock.at = waiting.retry_at - timedelta(seconds=1)
            await stage.memory.flush()  # a second too early: not asked
            assert len(stage.asked("episode")) == 2 * waiting.tries
            stage.clock.at = waiting.retry_at
            await stage.memory.flush()
        assert pauses == [60.0, 120.0, 240.0]
        assert len(await stage.episodes()) == 1


async def test_the_report_counts_the_calls_of_a_failed_episode(tmp_path: Path) -> None:
    """All calls count, those of unusable answers too, while it waits and when it is written."""
    answers: list[Answer] = [*["no idea"] * 4, TEA]
    async with staged(tmp_path, by_name(episode=lambda _: answers.pop(0))) as stage:
        await stage.say("tea?", "sencha!")
        await stage.end()
        while waiting := await stage.knowledge.sessions.waiting_segments():
            assert (await stage.memory.report()).cost.calls == len(stage.chat.requests)
            stage.clock.at = waiting[0].retry_at
            await stage.memory.flush()
        assert len(stage.asked("episode")) == 5
        assert (await stage.memory.report()).cost.calls == len(stage.chat.requests)


async def test_what_fails_is_tried_again_within_an_hour(tmp_path: Path) -> None:
    """For episodes the pause doubles up to an hour and no further; a portrait waits a day."""
    failing = {"episode"}
    usual = by_name(episode=TEA)

    def chat(request: Request) -> Answer:
        return "no idea" if request.name in failing else usual(request)

    async with staged(tmp_path, chat, retry_pause=1500.0) as stage:

        async def pauses(due: Callable[[], Awaitable[Any]]) -> list[float]:
            found = []
            for _ in range(4):
                at = await due()
                found.append((at - stage.clock.at).total_seconds())
                stage.clock.at = at - timedelta(seconds=1)
                await stage.say("hm", session="s2")
            return found

        async def episode_due() -> Any:
            (segment,) = await stage.knowledge.sessions.waiting_segments()
            return segment.retry_at

        async def portrait_due() -> Any:
            return (await stage.knowledge.sessions.portrait_status("ann")).retry_at

        await stage.say("tea?", "sencha!")
        await stage.end()
        assert await pauses(episode_due) == [1500.0, 3000.0, 3600.0, 3600.0]
        failing.symmetric_difference_update({"episode", "portrait"})
        stage.clock.at += days(31)
        await stage.say("hm", session="s2")
        assert await pauses(portrait_due) == [86_400.0] * 4


async def test_another_reply_is_told_anew(tmp_path: Path) -> None:
    """A reply replaced after its segment was told replaces the episode; the old one is history."""
    told = [episode("Mo recommended tea."), episode("Mo recommended milk.")]
    async with staged(tmp_path, by_name(episode=lambda _: told.pop(0))) as stage:
        await stage.say("hello", "thirsty")
        stage.memory.observe(**ME, user="what?", assistant="tea", turn_id="t")
        await stage.end()
        stage.memory.observe(**ME, user="what?", assistant="milk", turn_id="t")
        await stage.memory.flush()
        assert await stage.knowledge.sessions.window("ann", "s1") == []
        assert len(await stage.knowledge.sessions.segments("ann")) == 1
        (one,) = await stage.episodes()
        assert "milk" in one.content
        every = await stage.knowledge.list(
            "ann", states=tuple(MemoryState), category=Category.EPISODE
        )
        assert {memory.state for memory in every} == {MemoryState.ACTIVE, MemoryState.SUPERSEDED}


async def test_ten_episodes_make_a_portrait(tmp_path: Path) -> None:
    """The tenth episode brings the first portrait, the next ten the second, with what changed."""
    written = [
        portrait(*THREE, name="Ann Roux", occupation="baker"),
        portrait(*THREE, name="Ann Roux", occupation="baker", changes=["She found a flat."]),
    ]
    written[1]["paragraphs"] = [*THREE[:2], "She found a flat."]
    facts = [f"{line}" for line in THREE] + ["Ann Roux is a baker. She found a flat."]
    script = by_name(
        episode=lambda _: episode("They talked.", key_facts=facts),
        portrait=lambda _: written.pop(0),
    )
    async with staged(tmp_path, script) as stage:
        for count in range(1, 21):
            await stage.say(*facts, session=f"s{count}")
            await stage.end(f"s{count}")
            versions = await stage.knowledge.portraits("ann")
            assert len(versions) == count // 10
        new, old = versions
        assert (new.data["version"], old.data["version"]) == (2, 1)
        assert (new.state, old.state) == (MemoryState.ACTIVE, MemoryState.SUPERSEDED)
        assert new.data["changes"] == ["She found a flat."]
        assert new.content == "\n\n".join([*THREE[:2], "She found a flat."])
        assert (await stage.knowledge.portrait("ann")).id == new.id


async def test_a_month_or_something_big_makes_a_portrait(tmp_path: Path) -> None:
    """One episode is enough after thirty days, or after a day if something big was told."""
    big = {**answer(add("Ann married.", "married")), "big": True}
    script = by_name(
        monitor=lambda r: big if "married" in said(r) else SKIP,
        episode=episode("They talked."),
        portrait=portrait("One.", "Another.", "A third."),
    )
    async with staged(tmp_path, script) as stage:
        await stage.say("hello", "there")
        await stage.end()
        stage.clock.at += days(29.9)
        await stage.say("hm")
        assert await stage.knowledge.portraits("ann") == []
        stage.clock.at += days(0.1)
        await stage.say("hm")
        assert len(await stage.knowledge.portraits("ann")) == 1
        await stage.say("I married!")
        assert len(stage.asked("portrait")) == 1
        stage.clock.at += days(1)
        await stage.say("hm")
        assert len(stage.asked("portrait")) == 2
        await stage.say("hm")
        assert len(stage.asked("portrait")) == 2


async def test_a_portrait_that_fails_stays_as_it_was(tmp_path: Path) -> None:
    """The former version is in force, the failure is noted, and it is tried again later."""
    answers: list[Answer] = ["nonsense", "nonsense", portrait("One.", "Another.", "A third.")]
    script = by_name(episode=episode("They talked."), portrait=lambda _: answers.pop(0))
    async with staged(tmp_path, script) as stage:
        await stage.say("hello", "there")
        await stage.end()
        stage.clock.at += days(30)
        await stage.say("hm")
        upkeep = await stage.knowledge.sessions.portrait_status("ann")
        assert (upkeep.tries, upkeep.error[:11]) == (1, "AnswerError")
        assert await stage.knowledge.portrait("ann") is None
        stage.clock.at += timedelta(hours=23)
        await stage.say("hm")
        assert await stage.knowledge.portrait("ann") is None
        stage.clock.at += timedelta(hours=1)
        await stage.say("hm")
        assert await stage.knowledge.portrait("ann")


async def test_after_an_undone_portrait_the_next_replaces_the_one_in_force(tmp_path: Path) -> None:
    """It is written from that one, in whatever words, and no number is used twice."""
    thirds = ["She rests.", "She looks.", "She looks.", "She sings."]
    script = by_name(portrait=lambda _: portrait(*THREE[:2], thirds.pop(0)))
    async with staged(tmp_path, script) as stage:
        await stage.memory.remember("Ann lives in Lyon.", user_id="ann")
        await stage.memory.write_portrait(user_id="ann")
        for _ in range(2):
            second = await stage.memory.write_portrait(user_id="ann")
            by = Actor(who=ActorKind.USER)
            await stage.knowledge.undo(second.written_by, user_id="ann", by=by, now=NOW)
            assert (await stage.knowledge.portrait("ann")).content.endswith("She rests.")
        fourth = await stage.memory.write_portrait(user_id="ann")
        in_force = await stage.knowledge.list("ann", category=Category.PROFILE)
        assert [one.content[-10:] for one in in_force] == ["She sings."]
        assert fourth.data["version"] == 4
        assert "She rests." in stage.asked("portrait")[-1].messages[1].content


async def test_after_the_only_portrait_was_erased_another_is_written(tmp_path: Path) -> None:
    """It is no second time the first one, of which the ledger keeps an entry without words."""
    told: list[Answer] = ["no answer", portrait("Ann lives in Lyon.", *THREE[1:])]
    script = by_name(portrait=lambda _: told.pop() if len(told) > 1 else told[0])
    async with staged(tmp_path, script, kept=True) as stage:
        (lyon,) = await stage.memory.remember("Ann lives in Lyon.", user_id="ann")
        await stage.memory.remember("Ann likes tea.", user_id="ann")
        await stage.memory.write_portrait(user_id="ann")
        await stage.memory.forget(lyon.memory_ids[0], user_id="ann")
        await stage.memory.erase_memory(lyon.memory_ids[0], user_id="ann")
        assert await stage.knowledge.portraits("ann") == []
        told[:] = [portrait(*THREE)]
        second = await stage.memory.write_portrait(user_id="ann")
        assert await stage.knowledge.portraits("ann") == [second]


async def test_what_is_forgotten_leaves_episode_portrait_and_raw_turns(tmp_path: Path) -> None:
    """After "forget Tom" nothing names him; the rest is told anew; undo brings the memory back."""

    def tell(request: Request) -> Answer:
        tom = "Tom" in request.messages[1].content
        return episode("Ann met Tom and drank tea." if tom else "Ann drank tea.")

    def describe(request: Request) -> Answer:
        sources = request.messages[1].content
        rest = ("She drinks tea.", "She talks.")
        if "Tom" in sources:
            return portrait("Ann met Tom.", *rest)
        why = {"detail": "Tom", "why": "Tom was to be forgotten"}
        changes = ["Tom is not told of any more.", "She lives."]
        return portrait("Ann lives.", *rest, changes=changes, dropped=[why], reason="No Tom. Well.")

    def judge(request: Request) -> Answer:
        if "met Tom" in request.messages[1].content.rpartition("## The exchange")[2]:
            return answer(add("Ann met Tom.", "met Tom", entities=["Tom"]))
        return answer(delete("m1", "forget Tom")) if "forget" in said(request) else SKIP

    script = by_name(monitor=judge, episode=tell, portrait=describe)
    async with staged(tmp_path, script) as stage:
        await stage.say("I met Tom", "tea", "tea again")
        await stage.end()
        await stage.memory.write_portrait(user_id="ann")
        assert "Tom" in (await stage.knowledge.portrait("ann")).content
        await stage.say("please forget Tom", session="s2")
        (told,) = await stage.episodes()
        assert told.content.endswith("Ann drank tea.")
        described = await stage.knowledge.portrait("ann")
        assert "Tom" not in str(described)
        assert described.data["changes"] == ["She lives."]
        assert "Tom" not in str(stage.asked("portrait")[-1].messages)
        (written, *_) = await stage.knowledge.history(described.id, user_id="ann")
        assert written.reason == "Well."
        await stage.say("so", session="s2")
        assert "Tom" not in str(stage.asked("monitor")[-1].messages)
        past = await stage.memory.ask("what did I say about Tom?", user_id="ann")
        assert all("Tom" not in hit.text for hit in past.found)
        whisper = await stage.memory.recall(user_id="ann", session_id="s3", text="Tom?")
        assert "Tom" not in whisper.text
        (gone,) = [e for e in await stage.knowledge.journal.entries("ann") if e.op == "DELETE"]
        await stage.knowledge.undo(gone.id, user_id="ann", by=gone.by, now=stage.clock.at)
        assert "Ann met Tom." in {one.content for one in await stage.knowledge.list("ann")}


async def test_one_forgotten_memory_leaves_the_rest_of_the_portrait(tmp_path: Path) -> None:
    """Its sentence goes at once, nobody is told which; a new one comes without another turn."""
    sources, again = list[str](), asyncio.Event()

    def describe(request: Request) -> Answer:
        sources.append(request.messages[1].content)
        if len(sources) == 1:
            return portrait(*THREE)
        again.set()
        return portrait("Ann reads.", *THREE[1:])

    async with staged(tmp_path, by_name(portrait=describe)) as stage:
        (lyon,) = await stage.memory.remember("Ann lives in Lyon.", user_id="ann")
        await stage.memory.remember("Ann reads.", user_id="ann")
        await stage.memory.write_portrait(user_id="ann")
        await stage.memory.forget(lyon.memory_ids[0], user_id="ann")
        cut = await stage.memory.portrait(user_id="ann")
        assert cut is not None
        assert cut.content.split() == " ".join(THREE[1:]).split()
        assert "Lyon" not in str(cut)
        await asyncio.wait_for(again.wait(), 10)
        await stage.memory.flush()
        assert "Lyon" not in sources[1]
        assert (await stage.knowledge.portrait("ann")).content.startswith("Ann reads.")


async def test_an_episode_in_other_words_is_told_anew(tmp_path: Path) -> None:
    """Told from a turn that is hidden, it goes whatever its words; nothing of it is thought of."""

    def tell(request: Request) -> Answer:
        tom = "Tom" in request.messages[1].content
        return episode("Her old flame rang." if tom else "Ann drank tea.")

    def judge(request: Request) -> Answer:
        if "Tom rang" in request.messages[1].content.rpartition("## The exchange")[2]:
            kept = add("Ann's ex Tom rang on 3 January.", "Tom rang", entities=["Tom"])
            return answer(kept, reason="a former lover of hers")
        return answer(delete("m1", "forget Tom")) if "forget" in said(request) else SKIP

    async with staged(tmp_path, by_name(monitor=judge, episode=tell)) as stage:
        await stage.say("Tom rang", "tea", "tea again")
        await stage.end()
        assert [one.content[-19:] for one in await stage.episodes()] == ["Her old flame rang."]
        (first, *_) = await stage.knowledge.journal.turns()
        assert first.judged["reason"] == "a former lover of hers"
        await stage.say("please forget Tom", session="s2")
        assert [one.content[-14:] for one in await stage.episodes()] == ["Ann drank tea."]
        whisper = await stage.memory.recall(user_id="ann", session_id="s3", text="who rang?")
        assert "flame" not in whisper.text
        (first, *_) = await stage.knowledge.journal.turns()
        assert (first.hidden, "reason" in first.judged, first.judged["calls"]) == (True, False, 1)


async def test_with_the_words_goes_what_was_thought_of_them(tmp_path: Path) -> None:
    """After thirty days neither the words nor the judge's own are in the store."""
    script = by_name(episode=TEA, monitor=answer({"op": "SKIP", "reason": ""}, reason="CANARY"))
    async with staged(tmp_path, script, raw_days=30) as stage:
        await stage.say("tea?", "sencha!")
        await stage.end()
        stage.clock.at += timedelta(days=31)
        await stage.memory.flush()
        turns = await stage.knowledge.journal.turns()
        assert [(one.user, one.expunged) for one in turns] == [("", True)] * 2
        assert "CANARY" not in str([one.model_dump() for one in turns])


async def test_what_is_forgotten_while_it_is_told_is_told_anew(tmp_path: Path) -> None:
    """A summary that was under way when its matter was to be forgotten is written once more."""
    asked: list[str] = []

    async def chat(request: Request) -> Reply:
        if request.name == "episode":
            asked.append(request.messages[1].content)
            if len(asked) == 1:
                await memory.forget("Ann met Tom.", user_id="ann")
        tom = "Tom" in request.messages[1].content
        told = episode("Ann met Tom." if tom else "Ann drank tea.")
        return await Scripted(by_name(episode=told))(request)

    settings = Settings(**where(tmp_path), embedder="hash:128", user_title="Ann")
    async with open_empty(settings, chat=chat, clock=lambda: NOW) as memory:
        await memory.remember("Ann met Tom.", user_id="ann")
        for line in ("Ann met Tom", "tea", "tea again"):
            memory.observe(**ME, user=line, assistant="ok", at=NOW)
        memory.end_session(**ME)
        while not await memory.flush() or await memory.knowledge.sessions.waiting_segments():
            pass
        (one,) = await memory.knowledge.list("ann", category=Category.EPISODE)
        assert one.content.endswith("Ann drank tea.")
        assert len(asked) == 2


async def test_episodes_and_raw_turns_pass(tmp_path: Path) -> None:
    """An episode is for a fortnight, then for questions about the past; words for `raw_days`."""
    from souffleur.knowledge.decay import effective

    async with staged(tmp_path, by_name(episode=TEA), raw_days=30) as stage:
        await stage.say("I drink sencha tea", "more sencha")
        await stage.end()
        (one,) = await stage.episodes()
        said = one.created_at
        policy = stage.knowledge.policy
        worth = [round(effective(one, said + days(d), policy), 4) for d in (0, 7, 8, 10, 13)]
        assert worth == [1.0, 1.0, 0.8, 0.512, 0.2621]

        async def recalled(age: float, text: str) -> tuple[bool, bool]:
            stage.clock.at = said + days(age)
            whisper = await stage.memory.recall(user_id="ann", session_id="s9", text=text)
            return one.id in whisper.ids, bool(whisper.turn_ids)

        question = "what did I say about sencha tea?"
        assert await recalled(13.99, "sencha tea!") == (True, False)
        assert await recalled(14, "sencha tea!") == (False, False)
        assert await recalled(29.99, question) == (True, True)
        assert await recalled(30.01, question) == (True, False)
        await stage.memory.flush()
        turns = await stage.knowledge.journal.turns()
        assert {(turn.user, turn.expunged) for turn in turns} == {("", True)}


async def test_expired_words_are_looked_for_once_an_hour(tmp_path: Path) -> None:
    """Words that expire right after a look stay on disk until the next one, and are not found."""
    async with staged(tmp_path, by_name(episode=TEA), raw_days=30) as stage:
        await stage.say("I drink sencha tea", "more sencha")
        await stage.end()
        looked = stage.clock.at + days(30) - timedelta(minutes=10)
        words = []
        for minutes in (0, 59, 60):
            stage.clock.at = looked + timedelta(minutes=minutes)
            await stage.memory.flush()
            words.append({turn.user for turn in await stage.knowledge.journal.turns()} - {""})
            past = await stage.memory.ask("sencha tea", user_id="ann")
            assert bool([hit for hit in past.found if hit.scope is Scope.TURNS]) is (minutes == 0)
        assert [len(left) for left in words] == [2, 2, 0]


@at_once
async def test_without_raw_days_words_go_with_their_summary(tmp_path: Path) -> None:
    """With 0 days, raw words are gone once they are told, and a retry is still known."""
    async with staged(tmp_path, by_name(episode=TEA), raw_days=0) as stage:
        stage.memory.observe(**ME, user="hi", assistant="ho", turn_id="t")
        await stage.say("tea?", "sencha!")
        assert (await stage.knowledge.journal.turns())[0].user == "hi"
        await stage.end()
        assert {turn.user for turn in await stage.knowledge.journal.turns()} == {""}
        assert not stage.memory.observe(**ME, user="hi", assistant="ho", turn_id="t").new


async def test_a_reply_replaced_after_the_words_went(tmp_path: Path) -> None:
    """Its words go as well, and what was told of all of them is not told anew from them alone."""
    told = [TEA, episode("Mo said milk."), episode("Mo said beer.")]
    script = by_name(episode=lambda _: told.pop(0))
    async with staged(tmp_path, script, raw_days=0, kept=True) as stage:
        for id in ("1", "2", "3"):
            stage.memory.observe(**ME, user=f"hi {id}", assistant="ho", turn_id=id)
        await stage.end()
        (tea,) = await stage.episodes()
        for id in ("2", "3"):
            stage.memory.observe(**ME, user=f"hi {id}", assistant="hey", turn_id=id)
        await stage.memory.flush()
        assert {turn.user for turn in await stage.knowledge.journal.turns()} == {""}
        assert await stage.episodes() == [tea]
        await stage.memory.erase_turn("1", user_id="ann")
        assert await stage.episodes() == []


async def test_words_not_judged_yet_do_not_expire(tmp_path: Path) -> None:
    """Told but not judged, they stay, with 0 days as well; once judged they go."""
    failing = ["no idea"] * 4
    script = by_name(episode=TEA, monitor=lambda _: failing.pop() if failing else SKIP)
    async with staged(tmp_path, script, raw_days=0, tries=1) as stage:
        await stage.say("tea?")
        await stage.say("sencha!")
        await stage.end()
        assert len(await stage.episodes()) == 1
        words = [turn.user for turn in await stage.knowledge.journal.turns()]
        assert words == ["tea?", "sencha!"]
        assert await stage.memory.retry() == 2
        await stage.memory.flush()
        assert {turn.user for turn in await stage.knowledge.journal.turns()} == {""}


async def test_every_third_turn_is_judged_with_those_before_it(tmp_path: Path) -> None:
    """With a cadence of three, six turns cost two calls, and a seventh waits for the end."""
    async with staged(tmp_path, by_name(episode=TEA), judge_every=3) as stage:
        for count in range(1, 8):
            await stage.say(f"line {count}")
            assert len(stage.asked("monitor")) == count // 3
        await stage.end()
        assert len(stage.asked("monitor")) == 3
        assert all(t.state is TurnState.JUDGED for t in await stage.knowledge.journal.turns())


async def test_judged_at_the_end_of_the_session(tmp_path: Path) -> None:
    """With a cadence of 0 nothing is judged before the session ends; silence ends it too."""
    async with staged(tmp_path, by_name(episode=TEA), judge_every=0) as stage:
        await stage.say("one", "two", "three")
        assert stage.asked("monitor") == []
        await stage.end()
        assert len(stage.asked("monitor")) == 1
        await stage.say("four", session="s2")
        stage.clock.at += timedelta(minutes=30)
        await stage.memory.flush()
        assert len(stage.asked("monitor")) == 2


async def test_messages_can_be_given_to_remember(tmp_path: Path) -> None:
    """They are judged at once, whatever the cadence, and once, however often they are given."""
    script = by_name(monitor=lambda _: answer(add("Ann likes tea.", "I like tea")))
    async with staged(tmp_path, script, judge_every=0) as stage:
        messages = [
            {"role": "system", "content": "be kind"},
            {"role": "user", "content": "I like tea"},
            {"role": "assistant", "content": "Noted."},
        ]
        (kept,) = await stage.memory.remember(messages, **ME)
        assert kept.changes[0].after.content == "Ann likes tea."
        assert await stage.memory.remember(messages, **ME) == [kept]
        assert len(stage.asked("monitor")) == 1


async def test_what_is_remembered_now_changes_no_cadence(tmp_path: Path) -> None:
    """After messages were judged at once, what is said next waits for the end of its session."""
    async with staged(tmp_path, by_name(), judge_every=0) as stage:
        await stage.memory.remember([{"role": "user", "content": "I like tea"}], **ME)
        assert len(stage.asked("monitor")) == 1
        await stage.say("hello", session="s2")
        assert len(stage.asked("monitor")) == 1
        await stage.end("s2")
        assert len(stage.asked("monitor")) == 2


async def test_a_segment_told_before_a_crash_is_not_asked_again(tmp_path: Path) -> None:
    """Where only the note is missing that it is written, the note is made, without a call."""
    async with staged(tmp_path, by_name(episode=TEA)) as stage:
        await stage.say("tea?", "sencha!")
        await stage.end()
        (segment,) = await stage.knowledge.sessions.segments("ann")
        lost = {"state": SegmentState.WAITING, "episode_id": None}
        await stage.knowledge.sessions.save([segment.model_copy(update=lost)])
        await stage.memory.flush()
        assert await stage.knowledge.sessions.segments("ann") == [segment]
        assert len(stage.asked("episode")) == 1


async def test_of_a_stranger_there_is_no_portrait(tmp_path: Path) -> None:
    """Asked for by hand where nothing is known, no model is asked, and the error says why."""
    async with staged(tmp_path, by_name()) as stage:
        with pytest.raises(NotFoundError, match="nothing is known of 'ann' yet"):
            await stage.memory.write_portrait(user_id="ann")
        assert stage.chat.requests == []


@at_once
async def test_without_the_embedder_words_wait(tmp_path: Path) -> None:
    """Talk goes on; what was said is found as soon as the embedder is back."""
    embeddings = Sulking()
    embedder = Embedder(embeddings, "sulking", dimension=64, floor=0.2)
    base = await open_knowledge(located(tmp_path), embedder, COMPANION)
    async with AsyncExitStack() as closing:
        times = from_clock(lambda: NOW + days(1))
        memory = Souffleur(Parts(base, times=times), Settings(**where(tmp_path)))
        closing.push_async_callback(memory.close)
        memory.observe(**ME, user="sencha", assistant="ok", at=NOW)
        embeddings.well = False
        assert await memory.flush()
        query = Query("ann", "sencha", NOW + days(1), scope=(Scope.TURNS,))
        embeddings.well = True
        assert await base.search(query) == []
        await memory.flush()
        assert [hit.text for hit in await base.search(query)] == ["sencha\nok"]


async def test_no_model_no_portrait(tmp_path: Path) -> None:
    """Asked for a portrait without a model, the error says what to set."""
    settings = Settings(**where(tmp_path), embedder="hash:128")
    async with open_empty(settings, clock=lambda: datetime.now(NOW.tzinfo)) as memory:
        with pytest.raises(SettingsError, match="SOUFFLEUR_BASE_URL"):
            await memory.write_portrait(user_id="ann")


async def test_what_was_replaced_leaves_the_portrait_at_once(tmp_path: Path) -> None:
    """It is whispered no more, and a day after its last version the portrait is written anew."""
    told = [portrait("Ann lives in Ulm.", "She bakes.", "She sings.")]
    told.append(portrait("Ann lives in Bonn.", "She bakes.", "She sings."))
    moved = answer(update("m1", "Ann lives in Bonn.", "to Bonn"))
    script = by_name(
        monitor=lambda request: moved if "Bonn" in said(request) else SKIP,
        portrait=lambda _: told.pop(0),
    )
    async with staged(tmp_path, script) as stage:
        await stage.memory.remember("Ann lives in Ulm.", user_id="ann")
        await stage.memory.write_portrait(user_id="ann")
        await stage.say("I moved to Bonn")
        current = await stage.knowledge.current_portrait("ann")
        assert current.content == "She bakes.\n\nShe sings."
        stage.clock.at += days(1)
        await stage.say("hm")
        assert (await stage.knowledge.portrait("ann")).content.startswith("Ann lives in Bonn.")
        asked = stage.asked("portrait")[-1].messages[1].content
        assert "Ann lives in Ulm" not in asked


@asynccontextmanager
async def forgotten_in_doubt(folder: Path, answers: list[Answer]) -> AsyncIterator[Stage]:
    """Ann forgot her allergy, and her shop, which may tell of it, is hidden as well."""
    script = by_name(forgotten=lambda request: answers.pop(0) if answers else judged_told(request))
    async with staged(folder, script, kept=True) as stage:
        nuts, _ = [
            (await stage.memory.remember(line, user_id="ann"))[0].changes[0].after.id
            for line in ("Ann is allergic to peanuts.", "Ann sells peanut butter.")
        ]
        await stage.memory.forget(nuts, user_id="ann")
        assert await stage.memory.list(user_id="ann") == []
        yield stage


async def test_what_is_hidden_in_doubt_is_asked_about_again(tmp_path: Path) -> None:
    """Once a model that was away answers anybody, it says what comes back; no trouble is left."""
    away = EndpointError("no connection", outage=True)
    async with forgotten_in_doubt(tmp_path, [away]) as stage:
        assert "no connection" in stage.memory.error
        stage.memory.parts.endpoints.let_try()  # the pause is over
        stage.memory.observe(user_id="ben", session_id="s1", user="hi", assistant="hello")
        for _ in range(1000):
            if back := await stage.memory.list(user_id="ann"):
                break
            await asyncio.sleep(0.01)
        assert [one.content for one in back] == ["Ann sells peanut butter."]
        assert stage.memory.error == ""
        asked = len(stage.asked("forgotten"))
        await stage.memory.flush()
        assert len(stage.asked("forgotten")) == asked


async def test_a_doubt_outlives_the_process(tmp_path: Path) -> None:
    """What a model was never asked about is asked about after the next start."""
    away = EndpointError("no connection", outage=True)
    async with forgotten_in_doubt(tmp_path, [away] * 9):
        pass
    async with staged(tmp_path, by_name(), kept=True) as stage:
        await stage.memory.flush()
        (back,) = await stage.memory.list(user_id="ann")
        assert back.content == "Ann sells peanut butter."


async def test_a_second_unusable_answer_settles_a_doubt(tmp_path: Path) -> None:
    """What may tell of it then stays hidden until the forgetting is undone; nobody asks again."""
    async with forgotten_in_doubt(tmp_path, ["no idea"] * 4) as stage:
        await stage.memory.flush()
        await stage.say("hi")
        assert len(stage.asked("forgotten")) == 4  # twice, each with one repair
        assert await stage.memory.list(user_id="ann") == []
        entries = await stage.knowledge.journal.entries("ann")
        (entry,) = [one for one in entries if one.op == "FORGET"]
        await stage.memory.undo(entry.id, user_id="ann")
        assert len(await stage.memory.list(user_id="ann")) == 2
