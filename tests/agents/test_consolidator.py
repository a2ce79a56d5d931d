"""Consolidator: what becomes of old memories, what is sent back, and that it happens once."""

from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from souffleur.agents.brief import Persona
from souffleur.agents.consolidator import (
    Consolidator,
    MergingAnswer,
    consolidation_id,
    faults,
    list_memories,
    unfaithful,
)
from souffleur.agents.model.chat import Chat, Reply, Request
from souffleur.agents.structured_chat import StructuredChat
from souffleur.agents.task import Context
from souffleur.errors import AnswerError, EndpointError
from souffleur.knowledge.grouping import find_groups
from souffleur.knowledge.knowledge_base import KnowledgeBase
from souffleur.knowledge.memory import Category, Kind, Memory, MemoryState
from souffleur.knowledge.operation import (
    Actor,
    ActorKind,
    Boost,
    Edit,
    LedgerEntry,
    Merge,
    derive_id,
)
from souffleur.knowledge.store.ledger import Journal
from souffleur.prompts import LANGUAGES, render, stamp
from souffleur.recall.rendering import estimate_tokens
from tests.build import NOW, days, fill, memory, verdict
from tests.faults.teller import Countdown, Deadly, Dying, Gone
from tests.scripted import Answer, Scripted
from tests.stores import base_of

LATER = NOW + days(91)
UTC = ZoneInfo("UTC")
PERSONA = Persona(user="Ann", assistant="Mo")
TEAS = ("Ann likes green tea.", "Ann likes green tea in Lyon.", "Ann likes green tea at 8:30.")
ALL = ["m1", "m2", "m3"]
TOLD = "Ann likes green tea, in Lyon and at 8:30."

for_episodes = pytest.mark.skipif(
    "category" not in Merge.model_fields, reason="a merge cannot make a fact of episodes yet"
)


def merging(*merged: tuple[Sequence[str], str], left: Sequence[str] = ()) -> dict[str, Any]:
    """An answer as a model writes it."""
    made = [{"from": list(sources), "content": content} for sources, content in merged]
    return {"reason": "all of tea", "merged": made, "left": list(left)}


GOOD = merging((ALL, TOLD))


def teas() -> list[Memory]:
    """Three near memories, old at LATER, from the oldest on."""
    return [memory(t, created_at=NOW + timedelta(hours=at)) for at, t in enumerate(TEAS)]


def episodes() -> list[Memory]:
    """Three near episodes, about to expire on the thirteenth day."""
    told = []
    for place, drink in enumerate(("green tea", "black tea", "white tea"), start=3):
        at = NOW + timedelta(hours=place)
        data = {"segment_id": drink, "key_facts": [f"{place} cups"], "unresolved": None}
        ends: dict[str, Any] = {"expires_at": NOW + days(14), "category": Category.EPISODE}
        line = f"[2026-01-03 {at:%H:%M}] Ann and Mo talked about {drink} for a while."
        told.append(memory(line, kind=Kind.MOMENT, created_at=at, data=data, **ends))
    return told


async def consolidate(base: KnowledgeBase, chat: Chat, now: Any = LATER) -> list[LedgerEntry]:
    """Run the consolidator on all groups of Ann's."""
    agent = Consolidator(Context(StructuredChat(chat), base, PERSONA))
    found = await find_groups(base, "ann", now)
    return [outcome for group in found for outcome in await agent.run(group, now=now)]


async def test_a_group_becomes_one_memory(tmp_path: Path) -> None:
    """The new one stands for all; the originals are archived and linked; the ledger says who."""
    async with base_of(tmp_path, *teas()) as base:
        chat = Scripted([GOOD])
        (outcome,) = await consolidate(base, chat)
        (one,) = await base.list("ann")
        assert (one.content, one.supersedes) == (TOLD, tuple(tea.id for tea in teas()))
        for tea in teas():
            archived = await base.get(tea.id, user_id=None)
            assert (archived.state, archived.relations[0].to) == (MemoryState.ARCHIVED, one.id)
        assert (outcome.by.who, outcome.by.model) == (ActorKind.CONSOLIDATOR, "scripted")
        assert (outcome.by.prompt, outcome.at) == (stamp("consolidate", "en"), LATER)
        assert outcome.verdict_id == consolidation_id(teas()[::-1])
        question = chat.requests[0].messages[1].content
        assert "m2 [fact, 2026-01-03] Ann likes green tea in Lyon." in question


async def test_what_is_merged_has_time_to_be_used(tmp_path: Path) -> None:
    """It does not start with the faded value of old memories, due for review at once."""
    async with base_of(tmp_path, *teas()) as base:
        await consolidate(base, Scripted([GOOD]))
        (one,) = await base.list("ann")
        assert one.importance == base.policy.initial["low"]  # type: ignore[index]
        assert one.due_at is not None
        assert one.due_at > LATER + days(7)


async def test_a_group_may_become_two_and_leave_some(tmp_path: Path) -> None:
    """Each merge takes its own originals; what is left stays as it is."""
    coffees = [memory(f"Ann likes green tea {where}.") for where in ("a lot", "cold", "at sea")]
    async with base_of(tmp_path, *teas(), *coffees) as base:
        (group,) = await find_groups(base, "ann", LATER)
        handle = {one.content: f"m{place}" for place, one in enumerate(group, start=1)}
        first, second = [handle[t] for t in TEAS], [handle[c.content] for c in coffees[:2]]
        left = [handle[coffees[2].content]]
        two = merging((first, TOLD), (second, "Ann likes green tea a lot, also cold."), left=left)
        outcomes = await consolidate(base, Scripted([two]))
        assert [len(outcome.changes) for outcome in outcomes] == [4, 3]
        now = {one.content for one in await base.list("ann")}
        assert now == {TOLD, "Ann likes green tea a lot, also cold.", coffees[2].content}


async def test_consolidating_twice_is_consolidating_once(tmp_path: Path) -> None:
    """A second run finds nothing, and a group that was decided on costs no call."""
    async with base_of(tmp_path, *teas()) as base:
        (group,) = await find_groups(base, "ann", LATER)
        agent = Consolidator(Context(StructuredChat(Scripted([GOOD])), base, PERSONA))
        first = await agent.run(group, now=LATER)
        assert await agent.run(group[::-1], now=LATER + days(1)) == first
        assert await consolidate(base, Scripted([])) == []
        assert len(await base.list("ann")) == 1


async def test_what_is_left_alone_is_not_asked_about_again(tmp_path: Path) -> None:
    """All left is a SKIP in the ledger; the same memories cost no further call till reworded."""
    async with base_of(tmp_path, *teas()) as base:
        chat = Scripted([merging(left=ALL), GOOD])
        for _ in range(2):
            (outcome,) = await consolidate(base, chat)
            assert (outcome.op, outcome.changes) == ("SKIP", ())
        assert len(chat.requests) == 1
        used = verdict(Boost(target=teas()[0].id, reason="r"), who=ActorKind.HOST)
        await base.apply(used)
        await consolidate(base, chat, LATER + days(91))
        assert len(chat.requests) == 1
        edit = Edit(target=teas()[0].id, reason="r", content="Ann likes green tea, and milk.")
        await base.apply(verdict(edit, who=ActorKind.HOST, name="edit"))
        await consolidate(base, chat, LATER + days(91))
        assert len(chat.requests) == 2


async def test_what_was_undone_is_not_made_again(tmp_path: Path) -> None:
    """Who takes a merge back wants the memories as they were, and is not asked each day."""
    async with base_of(tmp_path, *teas()) as base:
        chat = Scripted([GOOD])
        (outcome,) = await consolidate(base, chat)
        await base.undo(outcome.id, by=Actor(who=ActorKind.USER), now=LATER, user_id=None)
        await consolidate(base, chat, LATER + days(1))
        assert len(chat.requests) == 1
        assert len(await base.list("ann")) == len(teas())


@pytest.mark.parametrize(
    ("faulty", "complaint"),
    [
        ("I cannot.", "holds no JSON"),
        (merging((["m1", "m2", "m9"], TOLD)), "m9 is not among"),
        (merging((ALL, "Ann likes green tea at 8:30.")), "'Lyon' is lost"),
        (merging((ALL, TOLD + " She has 7 cups.")), "'7 cups' is in none"),
    ],
)
async def test_a_faulty_answer_is_sent_back_once(
    tmp_path: Path, faulty: Answer, complaint: str
) -> None:
    """The model is told what is wrong; the second answer stands."""
    async with base_of(tmp_path, *teas()) as base:
        chat = Scripted([faulty, GOOD])
        await consolidate(base, chat)
        assert complaint in chat.requests[1].messages[-1].content
        assert "Do the same task again" in chat.requests[1].messages[-1].content
        assert [one.content for one in await base.list("ann")] == [TOLD]


@pytest.mark.parametrize(
    "answers",
    [("no", "no"), (merging((ALL, "Ann likes tea.")),) * 2, (EndpointError("busy"),)],
    ids=["unusable", "lossy", "busy"],
)
async def test_without_a_usable_answer_nothing_changes(
    tmp_path: Path, answers: tuple[Answer, ...]
) -> None:
    """After two faulty answers, or a failed call, all memories are as they were."""
    async with base_of(tmp_path, *teas()) as base:
        with pytest.raises((AnswerError, EndpointError)):
            await consolidate(base, Scripted(answers))
        assert await base.list("ann") == teas()
        assert await base.journal.entries("ann") == []


async def test_what_is_used_meanwhile_stays(tmp_path: Path) -> None:
    """A memory that changes while the model thinks is not merged by what it was."""
    async with base_of(tmp_path, *teas()) as base:

        async def slow(request: Request) -> Reply:
            await base.apply(verdict(Boost(target=teas()[0].id, reason="r"), who=ActorKind.HOST))
            return await Scripted([GOOD])(request)

        assert await consolidate(base, slow) == []
        assert {one.content for one in await base.list("ann")} == set(TEAS)


async def test_a_group_of_several_users_is_refused(tmp_path: Path) -> None:
    """Whoever hands over memories of two users, or of two personas, gets an error, and no call."""
    async with base_of(tmp_path) as base:
        agent = Consolidator(Context(StructuredChat(Scripted([])), base, PERSONA))
        for other in (memory("x", user_id="bob"), memory("x", agent_id="other")):
            with pytest.raises(ValueError, match="one user and one persona"):
                await agent.run([*teas(), other], now=LATER)


async def test_a_death_before_any_write_loses_and_doubles_nothing(tmp_path: Path) -> None:
    """Wherever it dies, the next life ends with one memory and three archived originals."""
    async with base_of(tmp_path) as base:
        for deaths in range(20):
            user_id = f"ann{deaths}"
            mine = [one.model_copy(update=_of(user_id, one)) for one in teas()]
            await fill(base, *mine)
            survived = await _live(base, user_id, Dying(deaths))
            await _live(base, user_id, Countdown(-1))
            (one,) = await base.list(user_id)
            assert one.supersedes == tuple(tea.id for tea in mine)
            archived = await base.list(user_id, states=[MemoryState.ARCHIVED])
            assert {tea.id for tea in archived} == {tea.id for tea in mine}
            assert [entry.op for entry in await base.journal.entries(user_id)] == ["MERGE"]
            if survived:
                break
    assert deaths == 6  # before the ledger, the new memory, three originals, and its being noted


def _of(user_id: str, one: Memory) -> dict[str, str]:
    return {"user_id": user_id, "id": derive_id(user_id, one.id)}


async def _live(base: KnowledgeBase, user_id: str, count: Countdown) -> bool:
    """One life of a process over the store; whether it came to its end."""
    journal = await Journal.open(Deadly(base.journal.collection, count))
    own = KnowledgeBase(Deadly(base.memories, count), journal, base.embedder, base.policy)
    agent = Consolidator(Context(StructuredChat(Scripted(lambda _: GOOD)), own, PERSONA))
    try:
        await own.recover()
        for group in await find_groups(own, user_id, LATER):
            await agent.run(group, now=LATER)
    except Gone:
        return False
    return True


SHOWN = dict(zip(ALL, teas(), strict=True))


@pytest.mark.parametrize(
    ("answer", "complaint"),
    [
        (merging((["m1", "m1"], TOLD)), "m1 is named twice"),
        (merging((["m1", "m2"], TOLD), (["m2", "m3"], TOLD)), "m2 is named twice"),
        (merging((["m1", "m2"], TOLD), left=["m2"]), "m2 is named twice"),
        (merging((["m1"], TOLD)), "two or more"),
        (merging(*[(["m1", "m2"], TOLD)] * 4), "at most 3 (there are 4)"),
        (merging(left=["m1"]), "may be empty only if"),
        (merging((ALL, " ")), "content is empty"),
        (merging((ALL, "\u200b \u2060")), "content is empty"),
        (merging((ALL, "Ann. " * 200)), "longer than 600"),
        (merging((ALL, "Ann's password is hunter2000!")), "it holds a password"),
    ],
)
def test_what_makes_an_answer_unusable(answer: dict[str, Any], complaint: str) -> None:
    """The fault is named."""
    assert complaint in faults(MergingAnswer.model_validate(answer), SHOWN)


@pytest.mark.parametrize(
    ("answer", "complaints"),
    [
        (GOOD, []),
        (merging((ALL, "Ann likes green tea in Lyon.")), ["'8:30' is lost"]),
        (merging((["m1", "m2"], "Ann likes tea in Lyon.")), []),
        (merging((["m1", "m2"], "Ann likes tea.")), ["'Lyon' is lost"]),
        (merging((["m1", "m2"], TOLD)), ["'8:30' is in none"]),
        (merging((ALL, f"In 2019 {TOLD}")), ["'2019' is in none"]),
        (merging((ALL, f"In January 2026 {TOLD}")), []),
        (merging((ALL, f"As Mo and Ann know: {TOLD}")), []),
        (merging((ALL, f"As Bo and Ann know: {TOLD}")), ["'Bo' is in none"]),
    ],
)
def test_what_is_lost_or_invented(answer: dict[str, Any], complaints: list[str]) -> None:
    """A detail is; but the day of a memory, and how the two are called, are known."""
    found = unfaithful(MergingAnswer.model_validate(answer), SHOWN, UTC, "Ann\nMo").splitlines()
    assert len(found) == len(complaints)
    assert all(complaint in line for complaint, line in zip(complaints, found, strict=True))


def test_what_another_merged_memory_tells_is_not_lost() -> None:
    """The number of one may move to the other."""
    lines = ("Ann likes tea.", "Ann has 2 cups.", "Ann likes coffee.", "Ann has cups.")
    shown = {f"m{place}": memory(line) for place, line in enumerate(lines, start=1)}
    both = (["m1", "m2"], "Ann likes tea."), (["m3", "m4"], "Ann likes coffee and has 2 cups.")
    found = unfaithful(MergingAnswer.model_validate(merging(*both)), shown, UTC, "Ann")
    assert found == "- merged from m3, m4: '2 cups' is in none of these memories"


def test_what_a_memory_that_stays_tells_is_not_lost() -> None:
    """Only what no other memory holds must be kept."""
    lines = ("Ann likes tea.", "Ann has 2 cups.", "Ann has 2 cups in Lyon.")
    shown = {f"m{place}": memory(line) for place, line in enumerate(lines, start=1)}
    told = MergingAnswer.model_validate(merging((["m1", "m2"], "Ann likes tea."), left=["m3"]))
    assert unfaithful(told, shown, UTC, "Ann") == ""


def test_the_facts_of_an_episode_are_shown_and_may_not_be_lost() -> None:
    """They stand below its line; when the talk began, and that it was with Mo, may go."""
    shown = dict(zip(ALL, episodes(), strict=True))
    assert list_memories(shown, UTC).startswith(
        "m1 [moment, 2026-01-03] [2026-01-03 13:00] Ann and Mo talked about green tea for a while."
        "\n   - 3 cups\nm2 [moment"
    )
    told = merging((ALL, "Ann had tea: 3 cups of green and 5 cups of white."))
    found = unfaithful(MergingAnswer.model_validate(told), shown, UTC, "Ann\nMo")
    assert found == "- merged from m1, m2, m3: '4 cups' is lost, put it back"


def test_what_is_unresolved_may_not_be_lost() -> None:
    """It is shown below the facts, and its names, numbers and dates are details as theirs are."""
    first, *others = episodes()
    open_ = first.model_copy(update={"data": {**first.data, "unresolved": "Is it for 90 euros?"}})
    shown = dict(zip(ALL, (open_, *others), strict=True))
    assert "\n   - 3 cups\n   - Is it for 90 euros?\n" in list_memories(shown, UTC)
    cups = merging((ALL, "Ann had tea: 3 cups of green, 4 of black and 5 cups of white."))
    found = unfaithful(MergingAnswer.model_validate(cups), shown, UTC, "Ann\nMo")
    assert found == "- merged from m1, m2, m3: '90 euros' is lost, put it back"


@pytest.mark.parametrize(
    ("lines", "name", "content", "lost"),
    [
        (("主人的猫叫年糕。", "主人养了猫。"), "年糕", "主人养了猫。", ["'年糕'"]),
        (("主人的猫叫年糕。", "主人养了猫。"), "年糕", "主人养的猫叫年糕。", []),
        (("Ann's cat is tofu.", "Ann has a cat."), "tofu", "Ann has a cat.", ["'tofu'"]),
    ],
)
def test_a_name_of_a_memory_may_not_be_lost(
    lines: Sequence[str], name: str, content: str, lost: list[str]
) -> None:
    """What was noted as a name is a detail, even if no capital shows that it is one."""
    shown = {f"m{n}": memory(one, entities=(name,)) for n, one in enumerate(lines, start=1)}
    answer = MergingAnswer.model_validate(merging((["m1", "m2"], content)))
    found = unfaithful(answer, shown, UTC, "Ann").splitlines()
    assert found == [f"- merged from m1, m2: {one} is lost, put it back" for one in lost]


@for_episodes
async def test_expiring_episodes_become_a_lasting_fact(tmp_path: Path) -> None:
    """What they tell outlives them, as a moment that has no end and belongs to no talk."""
    async with base_of(tmp_path, *episodes()) as base:
        told = "Ann drank 3 cups of green, 4 cups of black and 5 cups of white tea."
        await consolidate(base, Scripted([merging((ALL, told))]), NOW + days(13))
        (one,) = await base.list("ann", now=NOW + days(20))
        assert (one.content, one.category, one.kind) == (told, Category.FACT, Kind.MOMENT)
        assert (one.expires_at, one.data) == (None, {})
        assert one.grace_days == base.policy.rule(Category.FACT).grace_days
        assert one.due_at is not None
        assert one.due_at > NOW + days(20)
        for episode in episodes():
            assert (await base.get(episode.id, user_id=None)).state is MemoryState.ARCHIVED


async def test_chinese_memories_are_asked_about_in_chinese(tmp_path: Path) -> None:
    """The question follows the language of the memories, and so does the check."""
    lines = ("小雨喜欢喝绿茶。", "小雨喜欢喝绿茶，每天三杯。", "小雨喜欢在里昂喝绿茶。")
    async with base_of(tmp_path, *(memory(line, entities=("里昂",)) for line in lines)) as base:
        group = sorted(lines, key=lambda line: memory(line).id)
        chat = Scripted(
            [
                merging((ALL, "小雨喜欢在里昂喝绿茶。")),
                merging((ALL, "小雨喜欢喝绿茶，每天三杯，在里昂也喝。")),
            ]
        )
        (outcome,) = await consolidate(base, chat)
        rules, question = chat.requests[0].messages
        assert "你为Mo整理记忆" in rules.content
        assert f"m1 [fact, 2026-01-03] {group[0]}" in question.content
        assert "三杯" in chat.requests[1].messages[-1].content
        assert outcome.by.prompt == stamp("consolidate", "zh")


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_rules_are_short(language: str) -> None:
    """The fixed part stays under 500 tokens, as estimated for unknown models."""
    assert estimate_tokens(render("consolidate", language, user="Ann", assistant="Mo")) < 500
