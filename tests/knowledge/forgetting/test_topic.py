"""Forgetting a topic: what is chosen of its preview is nowhere any more, whoever dies meanwhile."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from qdrant_client import QdrantClient

from bench.residue import found_in
from souffleur.agents.model.chat import Request
from souffleur.api import Souffleur
from souffleur.errors import InputError, NotFoundError
from souffleur.knowledge import erasure
from souffleur.knowledge.forgetting.subject import Subject
from souffleur.knowledge.knowledge_base import KnowledgeBase
from souffleur.knowledge.operation import Actor, ActorKind, Forget
from souffleur.knowledge.store.codecs import entry_payload
from souffleur.knowledge.store.processes.several import write_drafts
from souffleur.knowledge.store.topics import PURGE, Stage as At, make_order, receipt
from souffleur.service.rule_runs import run_purge
from souffleur.service.run import RunOptions
from souffleur.settings import Settings
from tests.build import NOW, by_hand, days, keep, open_base, words_of
from tests.faults.teller import Deadly, Dying, Gone
from tests.place import in_folder
from tests.scripted import SKIP, Answer, add, answer, by_name, episode, portrait
from tests.shared import open_shared
from tests.stage import Stage, staged

SAID: dict[str, Answer] = {
    "I am with Quentin now": answer(
        add("Ann is with Quentin.", "with Quentin", entities=["Quentin"], kind="relationship"),
        reason="Quentin is new",
    ),
    "He and I go to Zanzibar": answer(
        add(
            "Ann plans a trip to Zanzibar with Quentin.",
            "go to Zanzibar",
            entities=["Quentin", "Zanzibar"],
        )
    ),
    "I like tea": answer(add("Ann likes tea.", "I like tea")),
    "Work is fine": SKIP,
    "It is grey outside": SKIP,
}
TOLD = "Ann is with Quentin. They go to Zanzibar. She likes tea."


def model(request: Request) -> Answer:
    """Judges by what is said; tells of Quentin as long as it reads of him."""
    read = request.messages[-1].content
    if request.name == "monitor":
        judged = read[read.rindex("Ann: ") :]
        return next(answer for said, answer in SAID.items() if said in judged)
    if request.name == "episode":
        return episode(TOLD if "Quentin" in read else "They talked of tea.")
    if request.name == "portrait":
        about = "She is with Quentin, whom she loves." if "Quentin" in read else "She loves tea."
        return portrait("Ann talks.", about, "She is well.")
    return SKIP


async def talk(stage: Stage) -> None:
    """Say it all, and have it told."""
    for number, said in enumerate(SAID):
        stage.clock.at = NOW.replace(minute=number)
        stage.memory.observe(user_id="ann", session_id="s1", user=said, turn_id=f"t{number}")
        await stage.memory.flush()
    stage.memory.end_session(user_id="ann", session_id="s1")
    await stage.memory.flush()
    await stage.memory.write_portrait(user_id="ann")
    stage.memory.observe(user_id="ann", session_id="s2", user="Work is fine", assistant="Quentin?")
    await stage.memory.flush()


@pytest.fixture
async def stage(tmp_path: Path) -> AsyncIterator[Stage]:
    """A talk about Quentin and tea, told as an episode and a portrait."""
    async with staged(
        tmp_path / "store", by_name(monitor=model, episode=model, portrait=model), kept=True
    ) as s:
        await talk(s)
        yield s


async def test_a_preview_shows_what_rests_on_the_topic_and_why(stage: Stage) -> None:
    """Each kind of record is listed with its reason; nothing changes, and tea is not meant."""
    before = await words_of(stage.knowledge)
    preview = await stage.memory.preview_topic("Quentin", user_id="ann")
    kinds = {trace.kind for trace in preview.traces}
    assert kinds >= {"memory", "episode", "portrait", "turn", "entry", "window", "segment"}
    meant = {trace.text for trace in preview.traces if trace.kind == "memory" and trace.sure}
    assert meant == {"Ann is with Quentin.", "Ann plans a trip to Zanzibar with Quentin."}
    (told,) = (trace for trace in preview.traces if trace.kind == "episode")
    assert (told.whole, "Ann is with Quentin." in told.lines) == (False, True)
    assert all(trace.why for trace in preview.traces)
    assert await words_of(stage.knowledge) == before
    with pytest.raises(InputError, match="say what is to be forgotten"):
        await stage.memory.preview_topic(" ", user_id="ann")


@in_folder
async def test_a_forgotten_topic_is_nowhere(stage: Stage, tmp_path: Path) -> None:
    """Neither a read, the ledger, a backup nor a byte on the disk yields it; the rest stays."""
    memory, knowledge = stage.memory, stage.knowledge
    preview = await memory.preview_topic("Quentin", user_id="ann")
    assert found_in(tmp_path, "Quentin")
    receipt = await memory.forget_topic("Quentin", user_id="ann", ids=preview.ids)
    assert receipt.counts["memory"] == 2
    assert receipt.remarks == ()
    left = await words_of(knowledge)
    assert "Quentin" not in left
    assert "Zanzibar" not in left
    assert [
        one.content for one in await memory.list(user_id="ann", kind="fact", category="fact")
    ] == ["Ann likes tea."]
    (told,) = await stage.episodes()
    assert told.content.endswith("They talked of tea.")
    likeness = await memory.portrait(user_id="ann")
    assert likeness is not None
    assert "She loves tea." in likeness.content
    asked = [request.messages for request in stage.chat.requests[-2:]]
    assert "Quentin" not in str(asked)
    (entry,) = [one for one in await knowledge.journal.entries("ann") if one.op == PURGE]
    assert entry.id == receipt.id
    assert len(entry.details["removed"]["memory"]) == 2
    past = await memory.ask("Quentin in Zanzibar", user_id="ann")
    assert "Zanzibar" not in str(past.found)
    assert "Quentin" not in (await memory.recall(user_id="ann", text="Who is with me?")).text
    await memory.backup(tmp_path / "all.zip")
    await memory.close()
    for word in ("Quentin", "Zanzibar"):
        assert found_in(tmp_path / "store", word) == []


async def test_only_what_is_chosen_goes(stage: Stage) -> None:
    """What is left out of the ids stays as it is; ids of nothing are refused."""
    preview = await stage.memory.preview_topic("Quentin", user_id="ann")
    (trip,) = (trace for trace in preview.traces if "trip" in trace.text and trace.kind == "memory")
    await stage.memory.forget_topic("Quentin", user_id="ann", ids=[trip.id])
    left = {one.content for one in await stage.memory.list(user_id="ann")}
    assert "Ann is with Quentin." in left
    assert trip.text not in left
    with pytest.raises(NotFoundError, match="look at its preview again"):
        await stage.memory.forget_topic("Quentin", user_id="ann", ids=[trip.id])
    with pytest.raises(NotFoundError):
        await stage.memory.forget_topic("Quentin", user_id="bob", ids=preview.ids)


async def test_one_memory_is_erased_with_its_words(stage: Stage) -> None:
    """Its sentence and quotation are gone from ledger, episode and portrait; its turns if asked."""
    (tea,) = [
        one for one in await stage.memory.list(user_id="ann") if one.content == "Ann likes tea."
    ]
    await stage.memory.erase_memory(tea.id, user_id="ann", turns=True)
    left = await words_of(stage.knowledge)
    assert "likes tea" not in left
    assert "I like tea" not in left
    assert "Ann is with Quentin." in left


async def test_a_memory_in_much_the_same_words_stays(tmp_path: Path) -> None:
    """It tells something else, and its entry in the ledger says all of it."""
    chosen = Settings(path=tmp_path, embedder="hash:64")
    others = ["Ann likes green apples.", "Ann met Ben on 9 May 2026."]
    async with Souffleur.open(chosen) as memory:
        for text in ("Ann likes green tea.", *others, "Ann met Ben on 3 May 2026."):
            await memory.remember(text, user_id="ann")
        for text in ("Ann likes green tea.", "Ann met Ben on 3 May 2026."):
            (one,) = [m for m in await memory.list(user_id="ann") if m.content == text]
            assert (await memory.erase_memory(one.id, user_id="ann")).counts["memory"] == 1
        left = await memory.list(user_id="ann", state=None)
        assert [one.content for one in left] == others
        for one in left:
            (entry,) = await memory.history(one.id, user_id="ann")
            assert entry.changes[0].after.content == one.content


async def test_a_model_that_names_it_again_is_not_believed(tmp_path: Path) -> None:
    """What it writes is cut once more, and its entry in the ledger, too."""

    def stubborn(request: Request) -> Answer:
        if request.name == "episode":
            return episode("They talked of tea. Quentin was there.")
        return model(request)

    script = by_name(monitor=model, episode=stubborn, portrait=model)
    async with staged(tmp_path / "store", script, kept=True) as stage:
        await talk(stage)
        preview = await stage.memory.preview_topic("Quentin", user_id="ann")
        await stage.memory.forget_topic("Quentin", user_id="ann", ids=preview.ids)
        assert "Quentin" not in await words_of(stage.knowledge)
        (told,) = await stage.episodes()
        assert "tea" in told.content


async def test_a_death_before_any_write_is_made_good(stage: Stage, tmp_path: Path) -> None:
    """Wherever the process dies, the next one finishes: no word is left, and one receipt."""
    preview = await stage.memory.preview_topic("Quentin", user_id="ann")
    knowledge = stage.knowledge
    memories, talk_of = knowledge.memories, knowledge.journal.collection
    by, writes, begun = Actor(who=ActorKind.USER), 0, False
    while True:
        count = Dying(writes)
        knowledge.journal.collection = Deadly(talk_of, count)
        dying = KnowledgeBase(
            Deadly(memories, count), knowledge.journal, knowledge.embedder, knowledge.policy
        )
        try:
            if begun:
                await erasure.finish_removals(dying)
            else:
                await erasure.forget_topic(
                    dying, "Quentin", preview.ids, user_id="ann", by=by, now=NOW
                )
            break
        except Gone:
            knowledge.journal.collection = talk_of
            begun = bool(await knowledge.removals.waiting())
            writes += 1
    knowledge.journal.collection = talk_of
    assert writes > 5
    assert await knowledge.removals.waiting() == []
    left = await words_of(knowledge)
    assert "Quentin" not in left
    assert [one.op for one in await knowledge.journal.entries("ann")].count(PURGE) == 1
    (told,) = await stage.episodes()
    assert told.content.endswith("She likes tea.")


@in_folder
async def test_an_opening_finishes_what_was_begun(tmp_path: Path) -> None:
    """Of an order that was only written, the next start leaves neither record nor byte."""
    async with staged(
        tmp_path / "store", by_name(monitor=model, episode=model), kept=True
    ) as stage:
        await talk_briefly(stage)
        traces = (await stage.memory.preview_topic("Quentin", user_id="ann")).traces
        removals = stage.knowledge.removals
        subject = await removals.subject("ann", "Quentin", traces)
        by = Actor(who=ActorKind.USER)
        await removals.begin(make_order("ann", traces, subject, by=by, now=NOW, retell=False))
    base = await open_base(tmp_path / "store", dimension=128)
    assert await erasure.finish_removals(base) == 1
    await base.close()
    assert found_in(tmp_path, "Quentin") == []


async def talk_briefly(stage: Stage) -> None:
    """Say the first of it."""
    stage.memory.observe(user_id="ann", session_id="s1", user=next(iter(SAID)), turn_id="t0")
    await stage.memory.flush()


@in_folder
async def test_a_purge_leaves_no_byte(tmp_path: Path) -> None:
    """What was forgotten a year ago is in no file after the run."""
    base = await open_base(tmp_path, dimension=16)
    gone = await keep(base, "Ann likes Zanzibar.")
    await by_hand(base, Forget(target=gone.id, reason="asked"))
    await run_purge(base, RunOptions(NOW + days(400)))
    await base.close()
    assert found_in(tmp_path, "Zanzibar") == []


@pytest.mark.parametrize("decided", [False, True])
async def test_a_receipt_that_a_death_left_behind_on_a_server(decided: bool) -> None:
    """As a draft or decided on, it is there once, and the order is carried out."""
    client = QdrantClient(":memory:")
    base = await open_shared(client)
    order = make_order("ann", [], Subject(), by=Actor(who=ActorKind.USER), now=NOW, retell=False)
    entry = receipt(order)
    if decided:
        await base.journal.write([entry])
    else:
        left = {entry.id: entry_payload(entry, 0)}
        await write_drafts(base.journal.collection, "ann", left, NOW)
    assert (await base.removals.close(order)).stage is At.FILES
    assert [one.id for one in await base.journal.entries("ann")] == [entry.id]
    assert await base.journal.is_settled(entry.id)
    client.close()
