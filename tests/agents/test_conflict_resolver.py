"""Arbiter: which of two memories ends, which never does, and that each pair is asked about once."""

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, strategies as st

from souffleur.agents.brief import Persona
from souffleur.agents.conflict_resolver import (
    ConflictResolver,
    RulingAnswer,
    faults,
    grounding,
    list_rivals,
    may_end,
    to_op,
)
from souffleur.agents.model.chat import Chat, Reply, Request
from souffleur.agents.structured_chat import StructuredChat
from souffleur.agents.task import Context
from souffleur.errors import AnswerError, EndpointError
from souffleur.knowledge.knowledge_base import KnowledgeBase
from souffleur.knowledge.memory import Category, Evidence, Memory, MemoryState, Speaker
from souffleur.knowledge.operation import (
    Actor,
    ActorKind,
    Archive,
    Boost,
    Contradict,
    Edit,
    LedgerEntry,
    Op,
    Promote,
    Skip,
    derive_id,
)
from souffleur.knowledge.pairs import ConflictSet, conflict_verdict_id, find_conflict_sets
from souffleur.knowledge.search.query import Query
from souffleur.knowledge.store.ledger import Journal
from souffleur.prompts import LANGUAGES, render, stamp
from souffleur.recall.rendering import estimate_tokens
from souffleur.report.quality import measure
from tests.build import NOW, days, fill, memory, verdict
from tests.faults.teller import Countdown, Deadly, Dying, Gone
from tests.scripted import Answer, Scripted
from tests.stores import base_of

LATER = NOW + days(30)
UTC = ZoneInfo("UTC")
PERSONA = Persona(user="Ann", assistant="Mo")
LYON, OSLO, ROME = (f"Ann lives in a flat in {city}." for city in ("Lyon", "Oslo", "Rome"))
USER = Actor(who=ActorKind.USER)


def said(
    other: str = "m2", exclude: str = "yes", holds: str | None = "m1", **fields: Any
) -> dict[str, Any]:
    """What a model says of a pair."""
    base = {"pair": ["m1", other], "reason": "one home", "exclude": exclude, "holds": holds}
    return {**base, "since": None, **fields}


def ruling(*pairs: dict[str, Any]) -> dict[str, Any]:
    """A whole answer."""
    return {"pairs": list(pairs)}


NEW_HOLDS = ruling(said())
"""The newer memory is m1."""
OLD_HOLDS = ruling(said(holds="m2"))
BOTH = ruling(said(exclude="no", holds=None))


def home(content: str, day: float, *, quote: str = "", **fields: Any) -> Memory:
    """A memory that was told, and held, from that day on."""
    at = NOW + days(day)
    heard = Evidence(turn_id="t", speaker=Speaker.USER, quote=quote, at=at)
    made: dict[str, Any] = {"created_at": at, "valid_from": at, "anchor_at": at}
    return memory(content, **{**made, "evidence": (heard,) if quote else (), **fields})


def homes(**fields: Any) -> tuple[Memory, Memory]:
    """Two that exclude each other, ten days apart; the fields are those of the older one."""
    return home(LYON, 0, **fields), home(OSLO, 10)


def of(user_id: str, pair: tuple[Memory, Memory]) -> tuple[Memory, Memory]:
    """The same two of another user."""
    one, other = (
        each.model_copy(update={"user_id": user_id, "id": derive_id(user_id, each.id)})
        for each in pair
    )
    return one, other


async def arbitrate(
    base: KnowledgeBase, chat: Chat, now: datetime = LATER, user_id: str = "ann"
) -> list[LedgerEntry]:
    """Run the arbiter on all rivals of a user."""
    agent = ConflictResolver(Context(StructuredChat(chat), base, PERSONA))
    found = await find_conflict_sets(base, user_id, now, None)
    return [outcome for group in found for outcome in await agent.run(group, now=now)]


async def contents(base: KnowledgeBase, **query: Any) -> list[str]:
    hits = await base.search(Query("ann", "in which city does Ann live", LATER, **query))
    return sorted(hit.memory.content for hit in hits)


async def open_pairs(base: KnowledgeBase) -> list[set[str]]:
    """The contradictions a report shows."""
    quality = await measure(base, LATER)
    return [{pair.first.content, pair.second.content} for pair in quality.contradictions]


def links(one: Memory) -> list[tuple[str, str, float]]:
    return [(link.to, link.type, link.strength) for link in one.relations]


async def test_the_older_one_ends(tmp_path: Path) -> None:
    """It is history from the day the other came to hold; both keep the link; none is open."""
    old, new = homes()
    async with base_of(tmp_path, old, new) as base:
        chat = Scripted([NEW_HOLDS])
        (outcome,) = await arbitrate(base, chat)
        ended, stays = await base.get(old.id, user_id=None), await base.get(new.id, user_id=None)
        assert (ended.state, ended.superseded_by) == (MemoryState.SUPERSEDED, new.id)
        assert (ended.valid_until, ended.due_at) == (new.valid_from, None)
        assert (stays.state, stays.valid_until) == (MemoryState.ACTIVE, None)
        assert links(ended) == [(new.id, "contradicts", 1.0)]
        assert links(stays) == [(old.id, "contradicts", 1.0)]
        assert await contents(base) == [OSLO]
        assert await contents(base, as_of=NOW + days(5)) == [LYON]
        assert await contents(base, as_of=NOW + days(15)) == [OSLO]
        assert await open_pairs(base) == []
        assert (outcome.op, outcome.reason, outcome.at) == ("CONTRADICT", "one home", LATER)
        assert (outcome.by.who, outcome.by.model) == (ActorKind.ARBITER, "scripted")
        assert outcome.by.prompt == stamp("arbitrate", "en")
        assert (outcome.cost["calls"], outcome.cost["input_tokens"]) == (1, 100)
        question = chat.requests[0].messages[1].content
        assert f"m1 [fact, 2026-01-13] {OSLO}\nm2 [fact, 2026-01-03] {LYON}" in question
        assert "- m1, m2" in question


async def test_undo_restores_both_and_the_pair_stays_decided(tmp_path: Path) -> None:
    """As if it had not been; and the user who took it back is not overruled the next day."""
    old, new = homes()
    async with base_of(tmp_path, old, new) as base:
        (outcome,) = await arbitrate(base, Scripted([NEW_HOLDS]))
        await base.undo(outcome.id, by=USER, now=LATER, user_id=None)
        ignored = {"revision", "updated_at", "written_by"}
        for one in (old, new):
            back = await base.get(one.id, user_id=None)
            assert back.model_dump(exclude=ignored) == one.model_dump(exclude=ignored)
        assert await arbitrate(base, Scripted([]), LATER + days(1)) == []


async def test_since_says_when_the_other_ended(tmp_path: Path) -> None:
    """The day the memories name, within the time in which it can have ended."""
    days_said = {
        "2026-01-08": NOW.replace(day=8, hour=0),
        "2025-06-01": NOW,  # before it began
        "2027-01-01": NOW + days(10),  # in the future: when the other was told
        None: NOW + days(10),
    }
    async with base_of(tmp_path) as base:
        for since, until in days_said.items():
            old, new = of(str(since), homes())
            await fill(base, old, new)
            await arbitrate(base, Scripted([ruling(said(since=since))]), user_id=str(since))
            assert (since, (await base.get(old.id, user_id=None)).valid_until) == (since, until)


HEARD = {"quote": "we still live in Lyon"}
SETTLED: dict[str, tuple[tuple[Memory, Memory], Answer, str]] = {
    "the later": (homes(), NEW_HOLDS, OSLO),
    "the later, not so well grounded": (homes(**HEARD), NEW_HOLDS, OSLO),
    "the better grounded": (homes(**HEARD), OLD_HOLDS, LYON),
    "the confirmed": (homes(verified=True), OLD_HOLDS, LYON),
    "core": (homes(category=Category.CORE, **HEARD), OLD_HOLDS, LYON),
}
OPEN: dict[str, tuple[tuple[Memory, Memory], Answer]] = {
    "neither later nor better grounded": (homes(), OLD_HOLDS),
    "earlier and worse grounded": ((home(LYON, 0), home(OSLO, 9, quote="q")), OLD_HOLDS),
    "told at once": ((home(LYON, 1), home(OSLO, 1)), NEW_HOLDS),
    "core would end": (homes(category=Category.CORE), NEW_HOLDS),
    "the confirmed would end": (homes(verified=True), NEW_HOLDS),
    "unclear": (homes(), ruling(said(holds="unclear"))),
    "none named": (homes(), ruling(said(holds=None))),
}


async def test_what_holds_is_the_later_or_the_better_grounded(tmp_path: Path) -> None:
    """Where the model says so, the other one ends; never before it began."""
    async with base_of(tmp_path) as base:
        for name, (pair, answer, stays) in SETTLED.items():
            await fill(base, *of(name, pair))
            await arbitrate(base, Scripted([answer]), user_id=name)
            assert (name, [one.content for one in await base.list(name)]) == (name, [stays])
            (ended,) = await base.list(name, states=[MemoryState.SUPERSEDED])
            assert ended.valid_until == max(one.valid_from for one in pair if one.valid_from)


async def test_else_both_stay_and_the_report_shows_them(tmp_path: Path) -> None:
    """Linked, as they were otherwise; not asked about again; undone, nothing is open."""
    async with base_of(tmp_path) as base:
        for name, (two, answer) in OPEN.items():
            pair = of(name, two)
            await fill(base, *pair)
            (outcome,) = await arbitrate(base, Scripted([answer]), user_id=name)
            assert (name, outcome.op, outcome.refused) == (name, "CONTRADICT", None)
            ignored = {"relations", "revision", "updated_at", "written_by"}
            for one, other in (pair, pair[::-1]):
                now = await base.get(one.id, user_id=None)
                assert now.model_dump(exclude=ignored) == one.model_dump(exclude=ignored)
                assert links(now) == [(other.id, "contradicts", 1.0)]
            assert await open_pairs(base) == [{LYON, OSLO}]
            assert await arbitrate(base, Scripted([]), user_id=name) == []
            await base.undo(outcome.id, by=USER, now=LATER, user_id=None)
            assert await open_pairs(base) == []


async def test_what_does_not_exclude_is_left_alone_and_asked_once(tmp_path: Path) -> None:
    """A SKIP says that they were looked at; use is no new question, another wording is."""
    old, new = homes()
    async with base_of(tmp_path, old, new) as base:
        chat = Scripted([BOTH, NEW_HOLDS])
        (outcome,) = await arbitrate(base, chat)
        assert (outcome.op, outcome.reason, outcome.changes) == ("SKIP", "one home", ())
        assert await base.list("ann") == [old, new]
        used = verdict(Boost(target=old.id, reason="r"), who=ActorKind.HOST)
        await base.apply(used)
        group = ConflictSet(
            await base.get(new.id, user_id=None), (await base.get(old.id, user_id=None),)
        )
        agent = ConflictResolver(Context(StructuredChat(chat), base, PERSONA))
        assert await agent.run(group, now=LATER + days(1)) == [outcome]
        assert len(chat.requests) == 1
        edit = Edit(target=old.id, reason="r", content=ROME)
        await base.apply(verdict(edit, who=ActorKind.HOST, name="edit"))
        await arbitrate(base, chat)
        assert len(chat.requests) == 2


async def test_one_memory_may_exclude_several(tmp_path: Path) -> None:
    """Each pair has its verdict; what the call took stands at the first; what ended ends once."""
    three = (home(LYON, 0), home(OSLO, 5), home(ROME, 9))
    async with base_of(tmp_path, *three) as base:
        chat = Scripted([ruling(said("m2"), said("m3"))])
        outcomes = await arbitrate(base, chat)
        assert [outcome.refused for outcome in outcomes] == [None, None]
        assert [outcome.cost.get("calls", 0) for outcome in outcomes] == [1, 0]
        assert [one.content for one in await base.list("ann")] == [ROME]
        assert len(chat.requests) == 1


async def test_what_has_just_ended_ends_nothing_else(tmp_path: Path) -> None:
    """Once the first memory gave way, its other pairs are not ruled on; tried or done."""
    new, *others = home(ROME, 0), home(LYON, 5), home(OSLO, 6)
    async with base_of(tmp_path, new, *others) as base:
        answer = ruling(said("m2", holds="m2"), said("m3", holds="m1"))
        agent = ConflictResolver(Context(StructuredChat(Scripted([answer] * 2)), base, PERSONA))
        for dry_run in (True, False):
            group = ConflictSet(new, tuple(others))
            (outcome,) = await agent.run(group, now=LATER, dry_run=dry_run)
            assert outcome.details["ends"] == new.id
            stay = {LYON, OSLO, ROME} if dry_run else {LYON, OSLO}
            assert {one.content for one in await base.list("ann")} == stay
            assert len(await base.journal.entries("ann")) == (not dry_run)


GOOD = NEW_HOLDS


@pytest.mark.parametrize(
    ("faulty", "complaint"),
    [
        ("I cannot.", "holds no JSON"),
        (ruling(), "pair m1 and m2: is missing"),
        (ruling(said(holds="m7")), "holds must be one of the two"),
        (ruling(said(exclude="maybe")), "exclude"),
    ],
)
async def test_a_faulty_answer_is_sent_back_once(
    tmp_path: Path, faulty: Answer, complaint: str
) -> None:
    """The model is told what is wrong; the second answer stands."""
    async with base_of(tmp_path, *homes()) as base:
        chat = Scripted([faulty, GOOD])
        await arbitrate(base, chat)
        assert complaint in chat.requests[1].messages[-1].content
        assert "Do the same task again" in chat.requests[1].messages[-1].content
        assert [one.content for one in await base.list("ann")] == [OSLO]


@pytest.mark.parametrize(
    "answers",
    [("no", "no"), (ruling(), ruling()), (EndpointError("busy"),)],
    ids=["unusable", "incomplete", "busy"],
)
async def test_without_a_usable_answer_nothing_changes(
    tmp_path: Path, answers: tuple[Answer, ...]
) -> None:
    """After two faulty answers, or a failed call, all is as it was, and asked again."""
    pair = homes()
    async with base_of(tmp_path, *pair) as base:
        with pytest.raises((AnswerError, EndpointError)):
            await arbitrate(base, Scripted(answers))
        assert await base.list("ann") == list(pair)
        assert await base.journal.entries("ann") == []
        assert len(await arbitrate(base, Scripted([GOOD]))) == 1


MEANWHILE: dict[str, tuple[Op, bool]] = {
    "reworded": (Edit(target=homes()[0].id, reason="r", content=ROME), False),
    "gone": (Archive(target=homes()[0].id, reason="r"), False),
    "used": (Boost(target=homes()[0].id, reason="r"), True),
}


@pytest.mark.parametrize("name", MEANWHILE)
async def test_what_changes_meanwhile_is_not_ruled_on(tmp_path: Path, name: str) -> None:
    """By what it was; that it was merely used does not matter. Afterwards no call is wasted."""
    op, is_ruled = MEANWHILE[name]
    async with base_of(tmp_path, *homes()) as base:
        (group,) = await find_conflict_sets(base, "ann", LATER, None)

        async def slow(request: Request) -> Reply:
            await base.apply(verdict(op, who=ActorKind.HOST))
            return await Scripted([GOOD])(request)

        outcomes = await ConflictResolver(Context(StructuredChat(slow), base, PERSONA)).run(
            group, now=LATER
        )
        assert bool(outcomes) is is_ruled
        again = ConflictResolver(Context(StructuredChat(Scripted([])), base, PERSONA))
        assert await again.run(group, now=LATER) == outcomes


async def test_what_becomes_core_meanwhile_does_not_end(tmp_path: Path) -> None:
    """It is ruled on by what it is when the answer comes."""
    pair = homes()
    async with base_of(tmp_path, *pair) as base:

        async def slow(request: Request) -> Reply:
            await base.apply(
                verdict(Promote(target=pair[0].id, reason="r"), who=ActorKind.REVIEWER)
            )
            return await Scripted([GOOD])(request)

        await arbitrate(base, slow)
        assert await open_pairs(base) == [{LYON, OSLO}]


async def test_rivals_of_several_users_are_refused(tmp_path: Path) -> None:
    """Whoever hands over memories of two users, or personas, gets an error, and no call."""
    async with base_of(tmp_path) as base:
        agent = ConflictResolver(Context(StructuredChat(Scripted([])), base, PERSONA))
        for other in (memory("x", user_id="bob"), memory("x", agent_id="other")):
            with pytest.raises(ValueError, match="one user and one persona"):
                await agent.run(ConflictSet(homes()[0], (other,)), now=LATER)


async def test_a_death_before_any_write_loses_and_doubles_nothing(tmp_path: Path) -> None:
    """Wherever it dies, the next life ends with one that stays, one that ended, and one entry."""
    async with base_of(tmp_path) as base:
        for deaths in range(20):
            user_id = f"ann{deaths}"
            old, new = of(user_id, homes())
            await fill(base, old, new)
            survived = await _live(base, user_id, (old, new), Dying(deaths))
            await _live(base, user_id, (old, new), Countdown(-1))
            (stays,) = await base.list(user_id)
            (ended,) = await base.list(user_id, states=[MemoryState.SUPERSEDED])
            assert (stays.id, ended.id) == (new.id, old.id)
            assert (stays.revision, ended.revision) == (2, 2)
            assert len(stays.relations) == len(ended.relations) == 1
            assert [entry.op for entry in await base.journal.entries(user_id)] == ["CONTRADICT"]
            if survived:
                break
    assert deaths == 4  # before the ledger, the two memories, and its being noted


async def _live(
    base: KnowledgeBase, user_id: str, pair: Sequence[Memory], count: Countdown
) -> bool:
    """One life of a process over the store, without `recover`; whether it came to its end."""
    journal = await Journal.open(Deadly(base.journal.collection, count))
    own = KnowledgeBase(Deadly(base.memories, count), journal, base.embedder, base.policy)
    agent = ConflictResolver(Context(StructuredChat(Scripted(lambda _: GOOD)), own, PERSONA))
    try:
        await agent.run(ConflictSet(pair[1], (pair[0],)), now=LATER)
    except Gone:
        return False
    return True


SHOWN = {"m1": home(OSLO, 10), "m2": home(LYON, 0), "m3": home(ROME, 5)}


@pytest.mark.parametrize(
    ("answer", "complaint"),
    [
        (ruling(said("m2"), said("m3")), ""),
        (ruling(said("m2"), said("M3 ", pair=["[m3]", "M1"])), ""),
        (ruling(said("m2", exclude="No", holds="both"), said("m3", exclude="YES")), ""),
        (ruling(said("m2")), "pair m1 and m3: is missing"),
        (ruling(said("m2"), said("m2"), said("m3")), "pair m1 and m2: is judged twice"),
        (ruling(said("m2"), said("m3"), said("m9")), "pair m1 and m9: is not asked for"),
        (ruling(said("m2"), said(pair=["m2", "m3"])), "pair m2 and m3: is not asked for"),
        (ruling(said("m2", holds="m3"), said("m3")), "pair m1 and m2: holds must be one"),
    ],
)
def test_what_makes_an_answer_unusable(answer: dict[str, Any], complaint: str) -> None:
    """Each pair is judged once, and what holds is one of the two; the fault is named."""
    found = faults(RulingAnswer.model_validate(answer), SHOWN)
    assert complaint in found
    assert bool(found) is bool(complaint)


def test_what_a_memory_rests_on_is_shown() -> None:
    """Since when it holds, that it was confirmed, and the words of the first message."""
    one = home(LYON, 10, quote="we moved\nto Lyon", valid_from=NOW, verified=True)
    assert list_rivals({"m1": one}, UTC) == (
        f"m1 [fact, 2026-01-13, since 2026-01-03, verified] {LYON}\n   - we moved to Lyon"
    )


moments = st.integers(0, 3).map(lambda day: NOW + days(day))
grounds = st.sampled_from(["", "user", "assistant", "verified"])


@st.composite
def any_home(draw: st.DrawFn, content: str) -> Memory:
    ground = draw(grounds)
    heard = Evidence(turn_id="t", speaker=Speaker.USER, quote="q")
    if ground == "assistant":
        heard = heard.model_copy(update={"speaker": Speaker.ASSISTANT})
    return memory(
        content,
        created_at=draw(moments),
        valid_from=draw(st.none() | moments),
        verified=ground == "verified",
        evidence=(heard,) if ground in {"user", "assistant"} else (),
        category=draw(st.sampled_from([Category.FACT, Category.CORE, Category.SKILL])),
    )


@given(any_home(LYON), any_home(OSLO), st.sampled_from(["m1", "m2", "unclear"]))
def test_code_has_the_last_word(one: Memory, other: Memory, holds: str) -> None:
    """Whatever is answered: core and confirmed never end, nor what is later and better grounded."""
    pair = {"m1": one, "m2": other}
    answer = RulingAnswer.model_validate(ruling(said(holds=holds))).of("m2")
    op = to_op(answer, pair, LATER, UTC)
    assert isinstance(op, Contradict)
    assert {op.stays, op.ends} == {one.id, other.id}
    if holds == "unclear":
        assert not op.settled
        return
    stays, ends = pair[holds], one if holds == "m2" else other
    assert op.stays == stays.id
    assert op.settled is may_end(ends, stays)
    age = [(m.valid_from or m.created_at, m.created_at) for m in (stays, ends)]
    protected = ends.verified or ends.category is Category.CORE
    better = age[0] > age[1] or grounding(stays) > grounding(ends)
    assert op.settled is (better and not protected)


def test_what_does_not_exclude_is_a_skip() -> None:
    """Two that do not exclude each other are a SKIP, whatever is said to hold."""
    answer = RulingAnswer.model_validate(ruling(said(exclude="no", holds="m2"))).of("m2")
    pair = {"m1": home(OSLO, 10), "m2": home(LYON, 0)}
    assert to_op(answer, pair, LATER, UTC) == Skip(reason="one home")


async def test_chinese_memories_are_asked_about_in_chinese(tmp_path: Path) -> None:
    """The question follows the language of the memories."""
    pair = home("小雨住在里昂。", 0), home("小雨住在上海。", 10)
    async with base_of(tmp_path, *pair) as base:
        chat = Scripted([NEW_HOLDS])
        (outcome,) = await arbitrate(base, chat)
        rules, question = chat.requests[0].messages
        assert "你在Mo的记忆里找矛盾" in rules.content
        assert "m2 [fact, 2026-01-03] 小雨住在里昂。" in question.content
        assert outcome.by.prompt == stamp("arbitrate", "zh")
        assert outcome.verdict_id == conflict_verdict_id(*pair)


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_rules_are_short(language: str) -> None:
    """The fixed part stays under 500 tokens, as estimated for unknown models."""
    assert estimate_tokens(render("arbitrate", language, user="Ann", assistant="Mo")) < 500
