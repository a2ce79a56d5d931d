"""ConversationSummarizer and ProfileWriter: what is checked, and what is asked again."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from souffleur.agents.brief import Persona
from souffleur.agents.portrait_writer import (
    MAX_PORTRAIT_LENGTH,
    PortraitAnswer,
    ProfileWriter,
    Sources,
    faults,
    known_alone,
    lost,
    to_op,
    unfounded,
)
from souffleur.agents.structured_chat import StructuredChat
from souffleur.agents.summarizer import ConversationSummarizer
from souffleur.agents.task import Context
from souffleur.errors import AnswerError, EndpointError
from souffleur.knowledge.forgetting.subject import SubjectFinder
from souffleur.knowledge.knowledge_base import KnowledgeBase
from souffleur.knowledge.memory import Category, Memory, MemoryState
from souffleur.knowledge.operation import Add, Update
from souffleur.knowledge.portrait_rule import forgotten_in, without_forgotten
from souffleur.knowledge.session import Segment, SegmentState
from souffleur.knowledge.store.records import put_memories
from tests.build import NOW, days, memory, turn, verdict
from tests.scripted import SMALL_TALK, Answer, Scripted, episode, portrait
from tests.stores import base_of

PERSONA = Persona(user="Ann", assistant="Mo")
TEA = episode("Ann talked about tea.")
PLAIN = portrait("Ann lives in Lyon.", "She has 2 cats.", "She paints.", name="Ann Roux")


async def segment_of(base: KnowledgeBase, *lines: str) -> Segment:
    """A closed session in which these were said."""
    for place, line in enumerate(lines):
        base.journal.record(turn(line, "ok", turn_id=str(place)))
    base.sessions.end("ann", "s1")
    (segment,) = await base.sessions.waiting_segments("ann")
    return segment


async def summarise(base: KnowledgeBase, segment: Segment, *answers: Answer) -> Scripted:
    """Run the summarizer over scripted answers."""
    chat = Scripted(answers)
    context = Context(StructuredChat(chat), base, PERSONA)
    await ConversationSummarizer(context).run(segment)
    return chat


async def describe(
    base: KnowledgeBase, former: Memory | None, *answers: Answer, facts: tuple[str, ...] = ()
) -> tuple[Memory, Scripted]:
    """Run the profile writer over scripted answers, with one new episode of these facts."""
    chat = Scripted(answers)
    base.journal.record(turn("Let us talk.", "ok", turn_id="talk"))
    told = Memory(
        id="e",
        user_id="ann",
        content="[2026-01-03 11:00] They talked.",
        category=Category.EPISODE,
        data={"key_facts": list(facts)},
        anchor_at=NOW,
        created_at=NOW,
        updated_at=NOW,
    )
    writer = ProfileWriter(Context(StructuredChat(chat), base, PERSONA))
    versions = int(former is not None)
    written = await writer.run(
        "ann", former, [told], why="test", now=NOW + days(1), versions=versions
    )
    return written, chat


@pytest.mark.parametrize(
    ("faulty", "complaint"),
    [
        ("I cannot.", "holds no JSON"),
        (episode("Ann's password is hunter2000!"), "a password"),
        (episode("Tea.", key_facts=["The key is sk-live-9f8e7d6c5b4a3210"]), "an API key"),
        (episode("Tea.", tone="calm, as her password is hunter2000!"), "a password"),
        (episode("Tea.", topics=["tea", "cups", "4111 1111 1111 1111"]), "a payment card number"),
        (episode("Tea.", topics=["tea"]), "topics: must be three to five"),
        (episode(" "), "line: is empty"),
        (episode("\u200b"), "line: is empty"),
        (episode("Tea.", key_facts=["Ann likes tea.", "\u3164 "]), "key_facts: one is empty"),
        (episode("Tea.", key_facts=["tea " * 101]), "key_facts: one is longer than 400"),
        (episode("Tea.", topics=["tea", " ", "\u200b", "cups"]), "three to five (there are 2)"),
        (episode("Ann has 7 cats."), "7"),
        (episode("Ann is 34.", key_facts=["Ann has four friends."]), "four friends"),
        (episode("Ann likes the band “Zebra Crossing”."), "Zebra Crossing"),
    ],
)
async def test_a_faulty_episode_is_sent_back_once(
    tmp_path: Path, faulty: Answer, complaint: str
) -> None:
    """The model is told what is wrong; the second answer stands."""
    async with base_of(tmp_path) as base:
        segment = await segment_of(base, "tea?", "sencha!")
        chat = await summarise(base, segment, faulty, TEA)
        assert complaint in chat.requests[1].messages[-1].content
        (one,) = await base.list("ann")
        assert one.content.endswith("Ann talked about tea.")


async def test_a_date_worked_out_from_the_talk_may_stay(tmp_path: Path) -> None:
    """Nobody said the date of "Wednesday": it is no invention, and is not sent back."""
    async with base_of(tmp_path) as base:
        segment = await segment_of(base, "the exam is on Wednesday", "I must learn")
        told = episode("Ann has an exam on 2026-01-07.", key_facts=["The exam is on 7 January."])
        assert len((await summarise(base, segment, told)).requests) == 1


async def test_the_year_of_the_talk_is_known(tmp_path: Path) -> None:
    """It stands above the talk, so a summary that names it invents nothing."""
    async with base_of(tmp_path) as base:
        segment = await segment_of(base, "the depot shuts in summer", "oh no")
        told = episode("Ann heard that the depot shuts in summer 2026.")
        assert len((await summarise(base, segment, told)).requests) == 1


async def test_a_count_that_follows_from_the_talk_is_not_asked_about(tmp_path: Path) -> None:
    """Four people were named: they are four friends."""
    async with base_of(tmp_path) as base:
        segment = await segment_of(base, "Sol came, and Fatima", "Greta too. Anouk was ill")
        met = episode("Ann talked about four friends.", key_facts=["She met 3 people."])
        assert len((await summarise(base, segment, met)).requests) == 1


async def test_a_number_counted_from_the_talk_may_stay(tmp_path: Path) -> None:
    """What is insisted on, having been asked about, is kept: it may follow from what was said."""
    async with base_of(tmp_path) as base:
        counted = episode("Ann asked 7 times for tea.")
        await summarise(base, await segment_of(base, "tea?", "tea!"), counted, counted)
        assert len(await base.list("ann")) == 1


@pytest.mark.parametrize(
    ("answers", "calls"),
    [
        (("no", "no"), 2),
        ((episode(" "), episode(" ")), 2),
        ((episode("Ann has 7 cats."), "no"), 2),
        ((EndpointError("busy"),), 0),
        (("no", EndpointError("busy")), 1),
    ],
)
async def test_an_unusable_summary_changes_nothing(
    tmp_path: Path, answers: tuple[Answer, ...], calls: int
) -> None:
    """Unusable twice, or failed: there is no episode, and the error tells what the calls took."""
    async with base_of(tmp_path) as base:
        with pytest.raises((AnswerError, EndpointError)) as caught:
            await summarise(base, await segment_of(base, "tea?", "sencha!"), *answers)
        assert isinstance(caught.value, AnswerError | EndpointError)
        assert caught.value.usage["calls"] == calls
        assert await base.list("ann") == []


async def test_small_talk_replaces_an_episode_by_nothing(tmp_path: Path) -> None:
    """A segment told anew that turns out to be small talk takes its former episode back."""
    async with base_of(tmp_path) as base:
        segment = await segment_of(base, "tea?", "sencha!")
        await summarise(base, segment, TEA)
        (one,) = await base.list("ann")
        again = segment.model_copy(update={"version": 1, "episode_id": one.id})
        await summarise(base, again, SMALL_TALK)
        assert (await base.get(one.id, user_id=None)).state is MemoryState.FORGOTTEN


async def test_the_same_words_again_are_no_new_episode(tmp_path: Path) -> None:
    """Told anew in the same words, a segment keeps its episode, and is not asked about again."""
    async with base_of(tmp_path) as base:
        segment = await segment_of(base, "tea?", "tea!")
        writer = ConversationSummarizer(
            Context(StructuredChat(Scripted([TEA, TEA])), base, PERSONA)
        )
        first = await writer.run(segment)
        again = segment.model_copy(update={"episode_id": first, "version": 1})
        assert await writer.run(again) == first
        assert [one.id for one in await base.list("ann")] == [first]


async def test_hidden_turns_are_not_told(tmp_path: Path) -> None:
    """What was to be forgotten is not in the question; with too little left nothing is asked."""
    async with base_of(tmp_path) as base:
        segment = await segment_of(base, "tea?", "Tom called", "sencha!")
        await base.sessions.hide([segment.turn_ids[1]])
        chat = await summarise(base, segment, TEA)
        assert "Tom" not in chat.requests[0].messages[1].content
        await base.sessions.hide(segment.turn_ids[:2])
        again = segment.model_copy(update={"version": 1})
        assert (await summarise(base, again)).requests == []


async def test_what_the_talk_before_told_is_shown(tmp_path: Path) -> None:
    """The second segment of a session is written with the first episode in sight."""
    async with base_of(tmp_path) as base:
        first = await segment_of(base, "tea?", "sencha!")
        chat = Scripted([TEA, TEA])
        writer = ConversationSummarizer(Context(StructuredChat(chat), base, PERSONA))
        done = {"state": SegmentState.WRITTEN, "episode_id": await writer.run(first)}
        await base.sessions.save([first.model_copy(update=done)])
        for place in ("8", "9"):
            base.journal.record(turn("more", "ok", turn_id=place, at=NOW + days(1)))
        base.sessions.end("ann", "s1")
        (second,) = await base.sessions.waiting_segments("ann")
        await writer.run(second)
        assert "Ann talked about tea." in chat.requests[1].messages[1].content


async def test_the_first_portrait(tmp_path: Path) -> None:
    """It has its paragraphs, name and version, and is written from memories and episodes."""
    async with base_of(tmp_path) as base:
        add = Add(reason="r", quote="Lyon", content="Ann lives in Lyon.", entities=("Lyon",))
        await base.apply(verdict(add, user="I live in Lyon"))
        facts = ("Ann has 2 cats.", "Ann Roux paints.")
        one, chat = await describe(base, None, PLAIN, facts=facts)
        assert one.content == "Ann lives in Lyon.\n\nShe has 2 cats.\n\nShe paints."
        assert (one.category, one.data["name"], one.data["version"]) == ("profile", "Ann Roux", 1)
        question = chat.requests[0].messages[1].content
        assert "Ann lives in Lyon." in question
        assert "Ann has 2 cats." in question
        assert await base.portrait("ann") == one


@pytest.mark.parametrize(
    ("faulty", "complaint"),
    [
        (portrait("Ann lives in Lyon.", "She paints.", "She sings."), "2 cats"),
        (portrait("Ann lives in Lyon.", "She has 2 cats.", "She ran 42 km."), "42"),
        (portrait("Ann lives in Lyon.", "She has 2 cats."), "three to five"),
        (portrait("Ann lives in Lyon.", "She has 2 cats.", " "), "one is empty"),
        (portrait("Ann lives in Lyon.", "She has 2 cats.", "\u200b"), "one is empty"),
        (portrait("Ann. " * 400, "She has 2 cats.", "Lyon."), "longer than"),
        (portrait("Lyon.", "2 cats.", "The door code is 4471#"), "a door or lock code"),
        (portrait("Lyon.", "2 cats.", "Tea.", name="sk-live-9f8e7d6c5b4a3210"), "an API key"),
        (portrait("Lyon.", "2 cats.", "Tea.", occupation="PIN: 4471"), "it holds a password"),
        (portrait("Lyon.", "2 cats.", "Tea.", changes=["password: tea4two!"]), "a password"),
        (
            portrait("Lyon.", "2 cats.", "Tea.", dropped=[{"detail": "PIN: 4471", "why": "old"}]),
            "it holds a password",
        ),
    ],
)
async def test_a_faulty_portrait_is_sent_back_once(
    tmp_path: Path, faulty: Answer, complaint: str
) -> None:
    """What it lost, invented or has too much of is named; the second answer stands."""
    async with base_of(tmp_path) as base:
        facts = ("Ann lives in Lyon with 2 cats. Ann Roux paints.",)
        former, _ = await describe(base, None, PLAIN, facts=facts)
        better = portrait("Ann lives in Lyon.", "She has 2 cats.", "She paints and sings.")
        new, chat = await describe(base, former, faulty, better)
        assert complaint in chat.requests[1].messages[-1].content
        assert new.content.endswith("She paints and sings.")
        assert (await base.get(former.id, user_id=None)).state is MemoryState.SUPERSEDED


async def test_a_portrait_is_no_exchange_to_judge(tmp_path: Path) -> None:
    """What is sent back of it says so in words that fit."""
    async with base_of(tmp_path) as base:
        _, chat = await describe(base, None, "no", PLAIN, facts=("Ann Roux lives in Lyon.",))
        assert "Do the same task again" in chat.requests[1].messages[-1].content


async def test_a_name_that_cannot_be_seen_is_none(tmp_path: Path) -> None:
    """Nothing is told of a name or occupation of white space."""
    async with base_of(tmp_path) as base:
        blank = portrait("Ann.", "Lyon.", "She paints.", name=" ", occupation="\u200b")
        one, _ = await describe(base, None, blank, facts=("Ann paints in Lyon.",))
        assert (one.data["name"], one.data["occupation"]) == (None, None)


async def test_a_detail_may_go_with_a_reason(tmp_path: Path) -> None:
    """What is said to be dropped, and why, is not asked about; the version keeps the reason."""
    async with base_of(tmp_path) as base:
        facts = ("Ann lives in Lyon with 2 cats. Ann Roux paints.",)
        former, _ = await describe(base, None, PLAIN, facts=facts)
        gone = {"detail": "2 cats", "why": "they were given away"}
        answer = portrait("Ann lives in Lyon.", "She has no cats.", "She paints.", dropped=[gone])
        new, chat = await describe(base, former, answer)
        assert len(chat.requests) == 1
        assert new.data["dropped"] == [gone]


async def test_what_is_lost_twice_is_noted(tmp_path: Path) -> None:
    """The new version is in force, and keeps what it left out; after no answer nothing changes."""
    async with base_of(tmp_path) as base:
        facts = ("Ann lives in Lyon with 2 cats. Ann Roux paints.",)
        former, _ = await describe(base, None, PLAIN, facts=facts)
        poor = portrait("Ann lives in Lyon.", "She paints.", "She sings.")
        with pytest.raises(AnswerError, match="holds no JSON") as caught:
            await describe(base, former, poor, "no")
        assert caught.value.usage["calls"] == 2
        assert await base.portrait("ann") == former
        new, _ = await describe(base, former, poor, poor)
        assert {"detail": "2 cats", "why": "left out"} in new.data["dropped"]


async def test_a_portrait_that_is_too_long_is_cut_at_its_end(tmp_path: Path) -> None:
    """The model is asked to shorten it once; the last sentences, the least lasting, go."""
    async with base_of(tmp_path) as base:
        novel = portrait("Ann paints.", "She sings.", " ".join(["She rests."] * 200))
        new, chat = await describe(base, None, novel, novel)
        assert "longer than 1800 characters" in chat.requests[1].messages[-1].content
        assert new.content.startswith("Ann paints.\n\nShe sings.\n\nShe rests. She")
        assert MAX_PORTRAIT_LENGTH - 20 < len(new.content) <= MAX_PORTRAIT_LENGTH


def sources(former: str, *names: str, without: tuple[str, ...] = ()) -> Sources:
    """A former portrait, the names that memories know, and what was to be forgotten."""
    old = memory(former, category=Category.PROFILE, data={"without": list(without)})
    reader = SubjectFinder(forgotten_in(old, ["Ann"]))
    cut = without_forgotten(old, reader)
    return Sources(former=cut, material="", names=names, until=NOW, forgotten=reader)


def told(text: str, **fields: Any) -> PortraitAnswer:
    """A portrait in three paragraphs."""
    return PortraitAnswer.model_validate(portrait(text, "She lives.", "She sleeps.", **fields))


def drop(*details: str) -> list[dict[str, str]]:
    return [{"detail": detail, "why": "-"} for detail in details]


@pytest.mark.parametrize(
    ("former", "names", "answer", "gone"),
    [
        ("她养了猫，叫年糕。", ("年糕",), told("她养了猫。"), ["年糕"]),
        ("She knows tom and Tofu.", ("tom",), told("She knows Tofu."), ["tom"]),
        ("She knows tom.", (), told("She knows nobody."), []),
        ("Ann Roux bakes.", (), told("She bakes.", name="Ann Roux"), []),
        ("A baker from Lyon.", ("baker", "Lyon"), told("Lyon.", occupation="Baker"), []),
        ("She has 2 cats.", (), told("She has cats.", dropped=[{"detail": "2", "why": "-"}]), []),
        (
            "She has 2 cats and 3 dogs.",
            (),
            told("She has animals.", dropped=[{"detail": "3 dogs", "why": "given away"}]),
            ["2 cats"],
        ),
        ("She has 2 cats.", (), told("She.", dropped=[{"detail": " ", "why": "-"}]), ["2 cats"]),
        ("In Lyon since 2024.", ("Lyon",), told("She.", dropped=drop("o", "0")), ["Lyon", "2024"]),
        ("She has 2 cats.", (), told("She.", dropped=drop("2024")), ["2 cats"]),
        ("She knows Ann Roux.", ("Ann Roux",), told("She.", dropped=drop("Roux")), []),
        ("她养了猫，叫年糕。", ("年糕",), told("她养了猫。", dropped=drop("年")), ["年糕"]),
        ("她3月16日搬家。", (), told("她。", dropped=drop("3月")), []),
    ],
)
def test_what_a_portrait_may_not_lose(
    former: str, names: tuple[str, ...], answer: PortraitAnswer, gone: list[str]
) -> None:
    """Numbers, and names known from memories; save what stands elsewhere or was said to go."""
    assert lost(answer, sources(former, *names)) == gone


@pytest.mark.parametrize(
    ("former", "elsewhere", "alone"),
    [
        ("She met Tobi in Uppsala in 2014.", "Tobi makes violins.", ["Uppsala", "2014"]),
        ("Her ferritin went up: May 9, October 27.", "It was 9 in May and 27 in October.", []),
        ("Her birthday is on October 27.", "She is 27. In October she moved.", ["October 27"]),
        ("She has four friends.", "She meets Sol, Fatima, Greta and Anouk.", []),
        ("She has four friends.", "She has five friends.", ["four friends"]),
        ("She is 34 and sings.", "She was born on 1991-05-09.", []),
        ("She is 30 and sings.", "She was born on 1991-05-09.", ["30"]),
        ("她有两只猫，今年三十四岁。", "她1991年5月9日生", ["两只"]),
    ],
)
def test_what_is_known_from_the_portrait_alone(
    former: str, elsewhere: str, alone: list[str]
) -> None:
    """No memory or episode has it, and it follows from none; only this is asked back."""
    known = replace(sources(former), elsewhere=elsewhere)
    assert known_alone(known) == alone
    assert lost(told("She sings."), known) == alone


async def test_the_model_is_told_what_is_known_nowhere_else(tmp_path: Path) -> None:
    """It can keep that, or say why it goes, without being asked again; the rest is free to go."""
    async with base_of(tmp_path) as base:
        former, _ = await describe(base, None, PLAIN, facts=("2 cats in Lyon, Ann Roux paints",))
        add = Add(reason="r", quote="Lyon", content="Ann lives in Lyon.", entities=("Lyon",))
        await base.apply(verdict(add, user="I live in Lyon"))
        answer = portrait("She paints.", "She has 2 cats.", "She sings.")
        _, chat = await describe(base, former, answer)
        (question,) = [request.messages[1].content for request in chat.requests]
        asked = question.partition("Known nowhere but in the present portrait")[2]
        assert "\n- 2 cats\n\n## What is remembered" in asked


async def test_what_a_corrected_memory_held_may_go(tmp_path: Path) -> None:
    """Why it leaves is known: nobody is asked for a reason."""
    async with base_of(tmp_path) as base:
        first = portrait("Ann is due on 14 August.", "She paints.", "She sings.")
        former, _ = await describe(base, None, first, facts=("due on 14 August",))
        old = memory("Ann is due on 2026-08-14.", state=MemoryState.SUPERSEDED)
        await put_memories(base, [old, memory("Ann is due on 2026-08-19.")])
        answer = portrait("Ann is due on 19 August.", "She paints.", "She sings.")
        _, chat = await describe(base, former, answer)
        assert len(chat.requests) == 1
        assert "Known nowhere but" not in chat.requests[0].messages[1].content


async def test_what_only_a_forgotten_memory_held_is_asked_back(tmp_path: Path) -> None:
    """The portrait is the last to know it."""
    async with base_of(tmp_path) as base:
        first = portrait("Ann is due on 14 August.", "She paints.", "She sings.")
        former, _ = await describe(base, None, first, facts=("due on 14 August",))
        await put_memories(base, [memory("Due on 2026-08-14.", state=MemoryState.FORGOTTEN)])
        answer = portrait("Ann is well.", "She paints.", "She sings.")
        better = portrait("Ann is due on 14 August.", "She paints.", "She sews.")
        _, chat = await describe(base, former, answer, better)
        assert "14 August" in chat.requests[1].messages[-1].content


def test_what_a_portrait_may_not_invent() -> None:
    """Names and numbers; a date may be worked out from what is known."""
    known = Sources(former=None, material="She has 2 cats in Lyon.", names=(), until=NOW)
    answer = told("Since 16 March 2025 she has had 3 cats and a flat in Oslo.")
    assert unfounded(answer, known) == ["3 cats", "Oslo"]


def test_what_was_forgotten_is_not_told_again() -> None:
    """Neither in a paragraph, nor as something that was dropped; to lose it is no loss."""
    secret = "She owes 900 euros to gamblers."
    known = sources(f"She lives. {secret}", without=(secret,))
    telling = told("She still owes 900 euros to some gamblers.")
    assert "is not to be told" in faults(telling, known)
    assert known.former is not None
    assert known.former.content == "She lives."
    dropped = [{"detail": "900 euros", "why": "-"}, {"detail": "3 cats", "why": "-"}]
    silent = told("She paints.", dropped=dropped)
    assert (faults(silent, known), lost(silent, known)) == ("", [])
    op = to_op(silent, known)
    assert isinstance(op, Update)
    assert op.data["dropped"] == dropped[1:]


async def test_nothing_new_is_no_new_version(tmp_path: Path) -> None:
    """The same words again leave the former version as it is."""
    async with base_of(tmp_path) as base:
        facts = ("Ann lives in Lyon with 2 cats. Ann Roux paints.",)
        former, _ = await describe(base, None, PLAIN, facts=facts)
        same, _ = await describe(base, former, PLAIN)
        assert same == former
