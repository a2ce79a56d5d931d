"""What the routes of the page hold: names, figures, questions, and for whom."""

from collections.abc import AsyncIterator
from datetime import date, datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
import pytest_asyncio

from souffleur.api import Souffleur
from souffleur.knowledge.decay import plan_expiry
from souffleur.knowledge.memory import Category, Kind, Memory, MemoryState, Relation
from souffleur.knowledge.operation import Merge
from souffleur.knowledge.search.query import Wanted
from souffleur.knowledge.session import Segment
from souffleur.knowledge.store.codecs import to_point
from souffleur.knowledge.store.runs import run_log
from souffleur.reasons import Why
from souffleur.server.page.cards import Tie, matching, names_in, names_of, ties_between
from souffleur.server.page.home import asked, chosen_of, figures_of, home_of
from souffleur.server.page.learning import Learning, learning_of
from souffleur.server.page.said import whispered
from souffleur.settings import Settings
from tests.build import NOW, days, memory as a_memory, verdict
from tests.scripted import SKIP, Scripted

pytestmark = pytest.mark.asyncio(loop_scope="module")
ANN: dict[str, Any] = {"user_id": "ann"}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def memory(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Souffleur]:
    """A store in which everybody is asked first."""
    chosen = Settings(path=tmp_path_factory.mktemp("store"), embedder="hash:64", auto_extract=False)
    async with Souffleur.open(chosen, clock=lambda: NOW) as opened:
        yield opened


async def put(memory: Souffleur, *memories: Memory) -> list[str]:
    vectors = await memory.knowledge.embedder.embed([one.content for one in memories])
    points = [to_point(*both) for both in zip(memories, vectors, strict=True)]
    await memory.knowledge.memories.put(points)
    return [one.id for one in memories]


async def test_names_and_ties() -> None:
    """Names come by how many mention them; two are tied by a memory of both, or by a link."""
    rain = a_memory("Rain.", entities=("Biwa",))
    said = [
        a_memory("Both.", entities=("Mei", "Tom ")),
        a_memory("Mei.", entities=("Mei", " "), relations=(Relation(to=rain.id, type="refines"),)),
        rain,
    ]
    names = names_in(said)
    assert [(one.name, one.count) for one in names] == [("Mei", 2), ("Biwa", 1), ("Tom", 1)]
    places = {one.name: place for place, one in enumerate(names)}
    assert ties_between(said, places) == [Tie(0, 1, 1, "refines"), Tie(0, 2, 1, "together")]
    assert ties_between(said, {"Mei": 0}) == []


async def test_names_are_of_one_user(memory: Souffleur) -> None:
    """Neither what another user mentions nor what is no longer in force is among them."""
    await put(
        memory,
        a_memory("Dan met Lee.", user_id="dan", entities=("Lee",)),
        a_memory("Eve met Kim.", user_id="eve", entities=("Kim",)),
        a_memory("Eve met Abe.", user_id="eve", entities=("Abe",), expires_at=NOW - days(1)),
    )
    found = await names_of(memory, "eve")
    assert [one.name for one in found.names] == ["Kim"]
    assert [one.content for one in found.cards] == ["Eve met Kim."]


async def test_runs_tell_a_user_nothing_of_others(memory: Souffleur) -> None:
    """Of a run for everybody a user sees that it was; an admin also what it did, and its error."""
    run = {"began": NOW, "ended": NOW, "errors": ("Dan's turn failed",)}
    for name, whose in (("decay", None), ("review", "dan"), ("cues", "eve")):
        record = run_log.RunRecord(name=name, of_user=whose, counts={"FORGET": 2}, **run)
        await run_log.keep(memory.knowledge.journal, record)
    seen = {one.name: one for one in (await figures_of(memory, "eve", admin=False)).runs}
    assert seen.keys() == {"decay", "cues"}
    assert (seen["decay"].done, seen["decay"].error) == ({}, "")
    assert seen["cues"].done == {"FORGET": 2}
    told = {one.name: one for one in (await figures_of(memory, "eve", admin=True)).runs}
    assert told["decay"].done == {"FORGET": 2}
    assert told["decay"].error


async def test_what_is_due_comes_first(memory: Souffleur) -> None:
    """Memories are listed by when something happens to them; what never fades is not."""
    soon = a_memory("Soon.", user_id="fay", anchor_at=NOW - days(12))
    await put(memory, a_memory("Later.", user_id="fay"), soon)
    found = await figures_of(memory, "fay", admin=False)
    assert [one.content for one in found.due] == ["Soon.", "Later."]
    assert sum(found.due_by_day) == 2
    assert sum(found.importance) == 2


async def test_a_talk_that_is_told_anew_counts(memory: Souffleur) -> None:
    """An episode that went with a forgotten memory is a talk until it is written again."""
    told: dict[str, Any] = {"user_id": "jo", "category": Category.EPISODE, "kind": Kind.MOMENT}
    kept, gone = (a_memory(f"Talk {n}.", **told) for n in range(2))
    gone = gone.model_copy(update={"state": MemoryState.FORGOTTEN})
    await put(memory, kept, gone)
    assert (await home_of(memory, "jo")).talks == 1
    told_in: dict[str, Any] = {"user_id": "jo", "agent_id": "default", "session_id": "s1"}
    talk: dict[str, Any] = {"turn_ids": (), "messages": 6, "number": 1, "since": NOW, "at": NOW}
    await memory.knowledge.sessions.save(
        [Segment(id=gone.id, episode_id=gone.id, **told_in, **talk)]
    )
    assert (await home_of(memory, "jo")).talks == 2


async def test_without_a_model_nothing_is_learned(memory: Souffleur) -> None:
    """Where no model is configured that is said, with the turns of this user that wait."""
    memory.observe(user_id="ida", session_id="s1", user="I ski.", assistant="I see.")
    await memory.flush()
    assert await learning_of(memory, "ida") == Learning("no_model", None, 1)
    assert (await learning_of(memory, "fay")).waiting == 0


async def test_over_the_budget_nothing_more_is_learned_today(tmp_path: Path) -> None:
    """Where the calls of a day are used up that is said; before it there is no trouble."""
    chosen = Settings(path=tmp_path, embedder="hash:64", calls_per_day=1)
    chat = Scripted(lambda _: SKIP)
    async with Souffleur.open(chosen, chat=chat, clock=lambda: NOW) as memory:
        assert (await learning_of(memory, "ida")).trouble == ""
        for expected in (Learning("no_budget", None, 0), Learning("no_budget", None, 1)):
            memory.observe(user_id="ida", session_id="s1", user="I ski.", assistant="I see.")
            await memory.flush()
            assert await learning_of(memory, "ida") == expected


async def test_answers_that_cannot_be_used_are_told(tmp_path: Path) -> None:
    """Turns that were set aside are counted, and the page says why nothing was learned."""
    chosen = Settings(path=tmp_path, embedder="hash:64", tries=1, retry_pause=0.0)
    async with Souffleur.open(
        chosen, chat=Scripted(lambda _: "prose"), clock=lambda: NOW
    ) as memory:
        memory.observe(user_id="ida", session_id="s1", user="I ski.", assistant="I see.")
        await memory.flush()
        assert await learning_of(memory, "ida") == Learning("unusable", None, 1)


async def test_questions_in_words(memory: Souffleur) -> None:
    """A merge names what would go and what would come, and when the question lapses."""
    ids = await put(memory, *(a_memory(f"Gus {n}.", user_id="gus") for n in range(2)))
    merge = Merge(targets=(ids[0], ids[1]), content="Gus twice.", reason="alike")
    await memory.knowledge.apply(verdict(merge, user_id="gus"))
    (one,) = await asked(memory, "gus")
    assert (sorted(one.before), one.after) == (["Gus 0.", "Gus 1."], "Gus twice.")
    assert one.lapses_at - one.at == days(30)
    assert await asked(memory, "ann") == []


async def test_a_plan_is_told_with_its_day(memory: Souffleur) -> None:
    """It was whispered since it is due, on a day of the user's; what is always told has no day."""
    await memory.introduce(user_id="kim", timezone="Asia/Tokyo")
    friday = datetime(2026, 1, 9, tzinfo=ZoneInfo("Asia/Tokyo"))
    plan = a_memory("Kim's exam.", user_id="kim", expires_at=plan_expiry(friday))
    ids = await put(memory, plan, a_memory("Kim lives.", user_id="kim", category=Category.CORE))
    said: dict[str, Any] = {"user": "Hello!", "assistant": "Hi.", "at": friday}
    memory.observe(user_id="kim", session_id="s1", whisper=ids, **said)
    await memory.flush()
    (turn,) = await memory.knowledge.journal.turns(user_id="kim")
    lines = (await whispered(memory, "kim", turn.id)).lines
    assert {(one.why, one.day) for one in lines} == {
        (Why.PLAN, date(2026, 1, 9)),
        (Why.ALWAYS, None),
    }


async def test_what_holds_is_chosen_or_set(memory: Souffleur) -> None:
    """Without a choice the settings hold; with one, the choice."""
    assert not (await chosen_of(memory, "hal")).auto_extract
    await memory.set_preferences(user_id="hal", auto_extract=True, incognito=True)
    found = await chosen_of(memory, "hal")
    assert (found.memory, found.auto_extract, found.incognito) == (True, True, True)
    assert not found.show_references


async def test_a_search_of_one_kind_finds_it_among_many_of_others(memory: Souffleur) -> None:
    """A memory of a kind that has the words is found, however many others are nearer to them."""
    films = [a_memory(f"Leo saw film {n}.", user_id="leo", kind=Kind.MOMENT) for n in range(400)]
    words = "Leo never wants to be asked about the sad end of the film that he saw in May."
    boundary = a_memory(words, user_id="leo", kind=Kind.BOUNDARY)
    await put(memory, *films, boundary)
    found = await matching(memory, Wanted("leo", kinds=(Kind.BOUNDARY,), now=NOW), "saw film")
    assert [one.content for one in found.items] == [words]
