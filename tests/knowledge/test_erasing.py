"""Erasing: what was a user's, or was said in one turn, is nowhere any more."""

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from souffleur.agents.model.chat import Reply, Request
from souffleur.api import Souffleur
from souffleur.errors import NotFoundError
from souffleur.knowledge import erasure
from souffleur.knowledge.memory import Category, MemoryState
from souffleur.knowledge.operation import Actor, ActorKind, Forget, Update
from souffleur.knowledge.store.engine.collection import Filter, read_all
from souffleur.knowledge.store.erasing import erase_user
from souffleur.knowledge.store.runs import run_log
from souffleur.knowledge.turn import TurnState
from souffleur.settings import Settings
from tests.build import NOW, by_hand, keep, open_base, turn, verdict, words_of
from tests.place import at_once, where
from tests.scripted import SKIP, Answer, Scripted, add, answer, by_name, episode, portrait, update
from tests.stage import Stage, staged
from tests.stores import empty_base


async def test_everything_of_a_user_is_deleted(tmp_path: Path) -> None:
    """Memories, ledger, talk, introduction; another user's are as they were."""
    base = await open_base(tmp_path, dimension=16)
    for user in ("ann", "bob"):
        base.people.introduce(user, now=NOW, title=f"Dear {user}")
        for number in range(4):
            said = turn(f"{user} in Zanzibar", "oh", turn_id=f"{number}", user_id=user)
            base.journal.record(said)
        base.sessions.end(user, "s1")
        await run_log.keep(
            base.journal, run_log.RunRecord(name="decay", began=NOW, ended=NOW, of_user=user)
        )
    told = await keep(base, "Ann likes Zanzibar.")
    await by_hand(base, Forget(target=told.id, reason="asked"))
    before = await read_all(base.journal.collection, Filter())
    erased = await erasure.erase_user(base, "ann")
    expected = {"memory": 1, "turn": 4, "entry": 2, "session": 1, "segment": 1, "person": 1}
    shared = {
        name: erased.counts[name] for name in erased.counts if name in ("arrivals", "user lease")
    }
    assert erased.counts == {**expected, "run": 1, **shared}
    after = await read_all(base.journal.collection, Filter())
    assert [one for one in before if one.payload.get("user_id") == "bob"] == [
        one for one in after if one.payload.get("user_id") == "bob"
    ]
    assert '"ann' not in await words_of(base)
    with pytest.raises(NotFoundError, match="nothing is known of 'ann'"):
        await erasure.erase_user(base, "ann")
    await base.close()


async def test_what_was_off_stays_off(tmp_path: Path) -> None:
    """Of a user who had turned the memory off, that choice is kept alone; nothing else is."""
    base = await empty_base(tmp_path)
    await keep(base, "Ann likes Zanzibar.")
    base.choices.change("ann", now=NOW, memory=False, show_references=True)
    await erase_user(base.memories, base.journal, "ann")
    chosen = await base.choices.find("ann")
    assert (chosen.memory, chosen.show_references, chosen.since) == (False, None, None)
    assert base.journal.record(turn("I am back")) is None
    with pytest.raises(NotFoundError, match="nothing is known of 'ann'"):
        await erase_user(base.memories, base.journal, "ann")
    assert "ann" in await base.choices.resting()
    await base.close()


async def test_what_was_on_leaves_nothing(tmp_path: Path) -> None:
    """A choice that keeps nothing out goes with the rest."""
    base = await empty_base(tmp_path)
    base.choices.change("ann", now=NOW, show_references=True)
    await erase_user(base.memories, base.journal, "ann")
    assert '"ann' not in await words_of(base)
    await base.close()


SCRIPT: dict[str, list[Answer]] = {
    "I live in Ulm": [answer(add("Ann lives in Ulm.", "I live in Ulm"))],
    "I like tea": [answer(add("Ann likes tea.", "I like tea"))],
    "Moved to Zanzibar, with Quentin": [
        answer(
            update("m1", "Ann lives in Zanzibar.", "Moved to Zanzibar", entities=["Zanzibar"]),
            add("Ann is with Quentin.", "with Quentin", entities=["Quentin"]),
        )
    ],
}


def monitor(request: Request) -> Answer:
    """Answer by what is judged."""
    asked = request.messages[-1].content
    judged = asked[asked.rindex("Ann: ") :]
    found = next((script[0] for said, script in SCRIPT.items() if said in judged), SKIP)
    if isinstance(found, dict):  # the handle of what is replaced
        handle = next((f"m{n}" for n in range(1, 9) if f"m{n} " in asked and "Ulm" in asked), "m1")
        renamed: dict[str, object] = json.loads(
            json.dumps(found).replace('"m1"', json.dumps(handle))
        )
        return renamed
    return found


def line(request: Request) -> Answer:
    """An episode that tells all names that it reads."""
    return episode(f"They talked of {read_in(request)}.")


def likeness(request: Request) -> Answer:
    """A portrait that tells all names that it reads."""
    return portrait("Ann talks.", f"She knows {read_in(request)}.", "She is well.")


def read_in(request: Request) -> str:
    read = request.messages[-1].content
    named = [name for name in ("Ulm", "Zanzibar", "Quentin") if name in read]
    return ", ".join(named) or "little"


@pytest.fixture
async def stage(tmp_path: Path) -> AsyncIterator[Stage]:
    """A talk of four turns, told as an episode and a portrait."""
    script = by_name(monitor=monitor, episode=line, portrait=likeness)
    async with staged(tmp_path / "store", script, kept=True) as stage:
        for number, said in enumerate([*SCRIPT, "so it is"]):
            stage.clock.at = NOW.replace(minute=number)
            stage.memory.observe(user_id="ann", session_id="s1", user=said, turn_id=f"t{number}")
            await stage.memory.flush()
        stage.memory.end_session(user_id="ann", session_id="s1")
        await stage.memory.flush()
        await stage.memory.write_portrait(user_id="ann")
        yield stage


async def test_one_turn_is_erased_with_what_rests_on_it(stage: Stage) -> None:
    """No record holds its words or quotes; what it replaced holds again, the rest stays."""
    memory, knowledge = stage.memory, stage.knowledge
    assert "Quentin" in await words_of(knowledge)
    assert {one.content for one in await knowledge.list("ann", category=Category.FACT)} == {
        "Ann lives in Zanzibar.",
        "Ann is with Quentin.",
        "Ann likes tea.",
    }
    erased = await memory.erase_turn("t2", user_id="ann")
    assert erased.counts["turn"] == 1
    assert (erased.counts["memory"], erased.counts["episode"], erased.counts["portrait"]) == (
        2,
        1,
        1,
    )
    await memory.flush()
    left = await words_of(knowledge)
    assert "Zanzibar" not in left
    assert "Quentin" not in left
    assert {one.content for one in await knowledge.list("ann", category=Category.FACT)} == {
        "Ann lives in Ulm.",
        "Ann likes tea.",
    }
    (told,) = await stage.episodes()
    assert told.content.endswith("They talked of Ulm.")
    past = await memory.ask("Zanzibar Quentin", user_id="ann")
    assert "Zanzibar" not in str(past.found)


@at_once
async def test_an_erased_turn_does_not_come_back(stage: Stage) -> None:
    """Sent again by its host it is the same turn; it is judged no more."""
    before = len(stage.chat.requests)
    await stage.memory.erase_turn("t2", user_id="ann")
    said = "Moved to Zanzibar, with Quentin"
    receipt = stage.memory.observe(user_id="ann", session_id="s1", user=said, turn_id="t2")
    await stage.memory.flush()
    assert not receipt.new
    assert "monitor" not in {one.name for one in stage.chat.requests[before:]}
    turns = await stage.knowledge.journal.turns(user_id="ann")
    assert [(one.user, one.state) for one in turns if one.turn_id == "t2"] == [
        ("", TurnState.JUDGED)
    ]
    with pytest.raises(NotFoundError, match="has no turn with the id 't2'"):
        await stage.memory.erase_turn("t2", user_id="bob")


async def test_a_quote_is_taken_out_of_what_has_another_source(tmp_path: Path) -> None:
    """A memory that rests on two turns stays, with the other's words alone, in the ledger too."""
    base = await open_base(tmp_path, dimension=16)
    first, second = turn("I like tea", turn_id="1"), turn("tea, always", turn_id="2")
    for one in (first, second):
        base.journal.record(one)
    memory = await keep(base, "Ann likes tea.")
    quotes = [{"turn_id": one.id, "speaker": "user", "quote": one.user} for one in (first, second)]
    await base.memories.merge_payload([memory.id], {"evidence": quotes})
    await by_hand(base, Forget(target=memory.id, reason="asked"))
    assert (await words_of(base)).count("tea, always") == 4  # turn, memory, before and after
    erased = await erasure.erase_turn(
        base, "2", user_id="ann", by=Actor(who=ActorKind.USER), now=NOW
    )
    assert erased.counts == {"turn": 1, "quote": 1, "entry": 2}
    assert "tea, always" not in await words_of(base)
    (left,) = await base.list("ann", states=tuple(MemoryState))
    assert [item.quote for item in left.evidence] == ["I like tea"]
    await base.close()


async def test_what_another_turn_of_the_same_call_has_changed_stays(tmp_path: Path) -> None:
    """Of turns that were judged together, only the erased one's change is taken back."""
    base = await open_base(tmp_path, dimension=16)
    old = await keep(base, "Ann likes tea.")
    first, second = turn("milk, by now", turn_id="1"), turn("so hot today", turn_id="2")
    for one in (first, second):
        base.journal.record(one)
    change = {"reason": "r", "quote": "milk", "content": "Ann likes milk."}
    told = verdict(
        Update(target=old.id, **change), said=first.said(), reason="Milk; it was so hot."
    )
    (kept,) = await base.apply(told, turns=[first, second])
    await erasure.erase_turn(base, "2", user_id="ann", by=Actor(who=ActorKind.USER), now=NOW)
    assert [one.content for one in await base.list("ann")] == ["Ann likes milk."]
    (left,) = await base.journal.get_entries([kept.id])
    assert (left.quote, left.details["content"], left.reason) == ("milk", "Ann likes milk.", "r")
    assert "so hot" not in (await words_of(base)).casefold()
    await erasure.erase_turn(base, "1", user_id="ann", by=Actor(who=ActorKind.USER), now=NOW)
    assert [one.content for one in await base.list("ann")] == ["Ann likes tea."]
    await base.close()


async def test_what_is_judged_at_that_moment_is_not_kept(tmp_path: Path) -> None:
    """A user who is erased while the model thinks about them stays erased."""
    opened: list[Souffleur] = []

    async def chat(request: Request) -> Reply:
        await erasure.erase_user(opened[0].knowledge, "ann")  # as by another process
        return await Scripted(monitor)(request)

    names = {"user_title": "Ann", "assistant_name": "Mo", "retry_pause": 0.0}
    settings = Settings(**where(tmp_path), embedder="hash:16", **names)
    async with Souffleur.open(settings, chat=chat, clock=lambda: NOW) as memory:
        opened.append(memory)
        memory.observe(user_id="ann", user="I like tea")
        await memory.flush()
        assert '"ann' not in await words_of(memory.knowledge)
