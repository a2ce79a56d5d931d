"""The user is asked first: what a model would change waits, and is done once they say yes."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from souffleur.api import Souffleur
from souffleur.errors import NotFoundError, UndoError
from souffleur.knowledge import proposals
from souffleur.knowledge.memory import Category, Due, MemoryState, Source
from souffleur.knowledge.operation import (
    Actor,
    ActorKind,
    Add,
    Boost,
    Delete,
    LedgerEntry,
    Merge,
    Op,
    Promote,
    Refusal,
    Update,
    derive_id,
)
from souffleur.knowledge.store.codecs import entry_payload
from souffleur.knowledge.store.engine.collection import Point
from souffleur.service.run import RunOptions
from souffleur.settings import Settings
from tests.build import NOW, days, verdict
from tests.place import where
from tests.scripted import (
    Scripted,
    add,
    answer,
    by_name,
    decided,
    delete,
    episode,
    portrait,
    update,
)
from tests.stores import empty_base, open_empty

ME: dict[str, Any] = {"user_id": "ann"}


@asynccontextmanager
async def opened(folder: Path, script: Any = None, **fields: Any) -> AsyncIterator[Souffleur]:
    settings = Settings(
        **where(folder), embedder="hash:64", auto_extract=False, user_title="Ann", **fields
    )
    chat = Scripted(script) if script else None
    async with open_empty(settings, chat=chat, clock=lambda: NOW) as memory:
        yield memory


async def known(memory: Souffleur) -> list[str]:
    return sorted(one.content for one in await memory.knowledge.list("ann"))


async def said(memory: Souffleur, text: str) -> None:
    memory.observe(**ME, user=text, assistant="ok")
    await memory.flush()


@pytest.mark.parametrize(
    ("op", "after"),
    [
        (update("m1", "Ann likes milk.", "milk"), ["Ann likes milk."]),
        (delete("m1", "milk"), []),
        (add("Ann likes milk.", "milk"), ["Ann likes milk.", "Ann likes tea."]),
    ],
    ids=["UPDATE", "DELETE", "ADD"],
)
async def test_what_the_monitor_would_change_waits(
    tmp_path: Path, op: dict[str, Any], after: list[str]
) -> None:
    """What the user typed stays as it is until they agree; then it is done, by their word."""
    async with opened(tmp_path, by_name(monitor=answer(op))) as memory:
        await memory.remember("Ann likes tea.", **ME)
        await said(memory, "not tea, milk")
        assert await known(memory) == ["Ann likes tea."]
        assert "milk" not in (await memory.recall(**ME, text="milk?")).text
        (proposal,) = await memory.proposals(**ME)
        assert (proposal.op, proposal.quote) == (op["op"], "milk")
        id = proposal.id if proposal.waits else proposal.memory_ids[0]
        outcome = await memory.confirm(id, **ME)
        assert (outcome.refused, outcome.by.who) == (None, ActorKind.USER)
        assert await known(memory) == after
        assert await memory.proposals(**ME) == []


async def test_what_is_agreed_to_rests_on_what_was_said(tmp_path: Path) -> None:
    """The new memory is the user's, verified, and has the quote; it can be undone."""
    changed = update("m1", "Ann likes milk.", "milk")
    async with opened(tmp_path, by_name(monitor=answer(changed))) as memory:
        await memory.remember("Ann likes tea.", **ME)
        await said(memory, "not tea, milk")
        (proposal,) = await memory.proposals(**ME)
        outcome = await memory.confirm(proposal.id, **ME)
        (milk,) = await memory.knowledge.list("ann")
        assert (milk.verified, milk.source, milk.evidence[0].quote) == (True, Source.USER, "milk")
        await memory.knowledge.undo(outcome.id, **ME, by=outcome.by, now=NOW)
        assert await known(memory) == ["Ann likes tea."]


async def test_no_is_no(tmp_path: Path) -> None:
    """What was declined is not done, waits no more, and the ledger says who said no."""
    gone = delete("m1", "milk")
    async with opened(tmp_path, by_name(monitor=answer(gone))) as memory:
        await memory.remember("Ann likes tea.", **ME)
        await said(memory, "not tea, milk")
        (proposal,) = await memory.proposals(**ME)
        outcome = await memory.reject(proposal.id, **ME)
        assert outcome.refused is Refusal.REJECTED
        assert (await memory.proposals(**ME), await known(memory)) == ([], ["Ann likes tea."])
        with pytest.raises(NotFoundError):
            await proposals.agree(memory.knowledge, proposal.id, **ME, by=outcome.by, now=NOW)
        for answered in (memory.confirm, memory.reject):
            with pytest.raises(NotFoundError, match="no proposal that waits"):
                await answered(proposal.id, **ME)


async def test_nobody_agrees_for_another(tmp_path: Path) -> None:
    """A proposal is its user's: another finds nothing under its id, and nothing happens."""
    gone = delete("m1", "milk")
    async with opened(tmp_path, by_name(monitor=answer(gone))) as memory:
        await memory.remember("Ann likes tea.", **ME)
        await said(memory, "not tea, milk")
        (proposal,) = await memory.proposals(**ME)
        assert await memory.proposals(user_id="bob") == []
        for answered in (memory.confirm, memory.reject):
            with pytest.raises(NotFoundError, match="no proposal that waits, nor a memory"):
                await answered(proposal.id, user_id="bob")
        assert await memory.ledger(user_id="bob") == []
        assert len(await memory.proposals(**ME)) == 1


async def test_episodes_and_portraits_do_not_wait(tmp_path: Path) -> None:
    """They tell what was said; they are active at once, whispered, and expire as always."""
    who = portrait("Ann lives in Lyon.", "She likes tea.", "She paints.")
    script = by_name(episode=episode("Ann talked about tea."), portrait=who)
    async with opened(tmp_path, script) as memory:
        for text in ("tea?", "sencha!", "green tea."):
            await said(memory, text)
        memory.end_session(**ME)
        await memory.flush()
        await memory.write_portrait(**ME)
        (talk,) = await memory.knowledge.list("ann", category=Category.EPISODE)
        assert talk.state is MemoryState.ACTIVE
        assert "Ann talked about tea." in (await memory.recall(**ME, text="hello")).text
        assert await memory.knowledge.portrait("ann") is not None


OPS: dict[str, tuple[Op, ActorKind, bool]] = {
    "BOOST": (Boost(target="a", reason="r"), ActorKind.MONITOR, False),
    "PROMOTE": (Promote(target="a", reason="r"), ActorKind.REVIEWER, False),
    "DELETE of a reviewer": (Delete(target="a", reason="r", quote=""), ActorKind.REVIEWER, True),
    "MERGE": (Merge(targets=("a", "b"), reason="r", content="Both."), ActorKind.CONSOLIDATOR, True),
    "of the schedule": (Delete(target="a", reason="r", quote=""), ActorKind.SCHEDULE, False),
    "of the host": (
        Update(target="a", reason="r", quote="", content="New."),
        ActorKind.HOST,
        False,
    ),
}


@pytest.mark.parametrize(("op", "who", "waits"), OPS.values(), ids=OPS.keys())
async def test_who_must_ask_for_what(tmp_path: Path, op: Op, who: ActorKind, waits: bool) -> None:
    """Models ask before they change what is remembered; for how much it matters they do not."""
    base = await empty_base(tmp_path, dimension=16, require_confirmation=True)
    adds = [Add(reason="r", quote="", content=text) for text in ("Tea.", "Cat.")]
    made = await base.apply(verdict(*adds, who=ActorKind.HOST))
    ids = {name: one.memory_ids[0] for name, one in zip("ab", made, strict=True)}
    named = {
        key: tuple(ids[v] for v in value) if isinstance(value, tuple) else ids.get(value, value)
        for key, value in op.model_dump(exclude_defaults=True).items()
    }
    (outcome,) = await base.apply(verdict(type(op)(**named), who=who, name="op"))
    assert (outcome.refused, outcome.waits) == (None, waits)
    if waits:
        assert {one.content for one in await base.list("ann")} == {"Tea.", "Cat."}
        by = verdict(who=ActorKind.USER).by
        agreed = await proposals.agree(base, outcome.id, user_id="ann", by=by, now=NOW + days(1))
        assert (agreed.refused, bool(agreed.changes)) == (None, True)
    await base.close()


async def test_a_change_of_an_earlier_version(tmp_path: Path) -> None:
    """A stored CONTRADICT is shown; if it waits, it cannot be carried out, but can be rejected."""
    async with opened(tmp_path) as memory:
        by = Actor(who=ActorKind.ARBITER)
        one = LedgerEntry(
            id=derive_id("old"),
            verdict_id="v",
            position=0,
            of=1,
            user_id="ann",
            agent_id="default",
            by=by,
            at=NOW,
            op="CONTRADICT",
            details={"stays": "a", "ends": "b", "until": None, "settled": True},
            reason="one home",
            waits=True,
        )
        done = one.model_copy(update={"id": derive_id("older"), "waits": False})
        for each in (one, done):
            point = Point(each.id, {**entry_payload(each, 7), "applied": True})
            await memory.knowledge.journal.collection.put([point])
        assert await memory.proposals(**ME) == [one]
        shown = [each.entry for each in await memory.ledger(**ME)]
        assert sorted(shown, key=lambda each: each.waits) == [done, one]
        with pytest.raises(UndoError, match="CONTRADICT can no longer be carried out"):
            await memory.confirm(one.id, **ME)
        assert (await memory.reject(one.id, **ME)).refused is Refusal.REJECTED
        assert await memory.proposals(**ME) == []


async def test_a_review_that_waits_is_not_asked_again(tmp_path: Path) -> None:
    """The reviewer's DELETE waits; the next run says so and calls no model."""
    script = by_name(review=lambda request: decided(request, "DELETE"))
    async with opened(tmp_path, script) as memory:
        await memory.remember("Ann likes tea.", **ME)
        later = RunOptions(NOW + days(60))
        (one,) = await memory.knowledge.due(later.now, tuple(Due), limit=9)
        assert one.due_for is Due.PROMOTION
        for _ in range(2):
            report = await memory.run("review", later)
            assert [line.op for line in report.items] == ["WAITS"]
        assert report.calls == 0
        assert await known(memory) == ["Ann likes tea."]
        (proposal,) = await memory.proposals(**ME)
        outcome: LedgerEntry = await memory.confirm(proposal.id, **ME)
        assert outcome.op == "DELETE"
        assert await known(memory) == []


async def test_one_user_asks_first(tmp_path: Path) -> None:
    """As the user prefers, whatever the setting says; another's memories are changed at once."""
    changed = by_name(monitor=answer(add("It is milk.", "milk")))
    async with opened(tmp_path, changed) as memory:
        await memory.set_preferences(**ME, auto_extract=True)
        await said(memory, "not tea, milk")
        assert await known(memory) == ["It is milk."]
        memory.observe(user_id="bob", user="not tea, milk")
        await memory.flush()
        (proposal,) = await memory.proposals(user_id="bob")
        assert (await memory.confirm(proposal.id, user_id="bob")).op == "CONFIRM"


async def test_a_memory_changed_since(tmp_path: Path) -> None:
    """It is not overwritten: the proposal is refused with a clear error and goes on waiting."""
    changed = update("m1", "Ann likes milk.", "milk")
    async with opened(tmp_path, by_name(monitor=answer(changed))) as memory:
        (told,) = await memory.remember("Ann likes tea.", **ME)
        await said(memory, "not tea, milk")
        await memory.edit(told.memory_ids[0], "Ann likes cocoa.", **ME)
        (proposal,) = await memory.proposals(**ME)
        with pytest.raises(UndoError, match="changed since this was proposed"):
            await memory.confirm(proposal.id, **ME)
        assert await memory.confirm_all(**ME) == []
        assert await memory.proposals(**ME) == [proposal]
        (declined,) = await memory.reject_all(**ME)
        assert declined.refused is Refusal.REJECTED
        assert await known(memory) == ["Ann likes cocoa."]


async def test_a_replaced_turn_proposes_anew(tmp_path: Path) -> None:
    """What its first version proposed waits no more, nor once nothing is proposed any more."""
    milk = answer(update("m1", "Ann likes milk.", "milk"))
    async with opened(tmp_path, by_name(monitor=lambda _: script.pop(0))) as memory:
        script = [milk, milk, answer()]
        await memory.remember("Ann likes tea.", **ME)
        waiting = []
        for reply in ("ok", "Fine!", "Really?"):
            memory.observe(**ME, user="not tea, milk", assistant=reply, turn_id="t")
            await memory.flush()
            waiting.append(await memory.proposals(**ME))
        ((first,), (second,), none) = waiting
        assert (first.id != second.id, none) == (True, [])
        for entry in await memory.knowledge.journal.get_entries([first.id, second.id]):
            assert (entry.refused, entry.detail) == (
                Refusal.LAPSED,
                "its turn was replaced, and is judged again",
            )


async def test_a_reworded_proposal(tmp_path: Path) -> None:
    """What is listed after a new memory was reworded can be confirmed or rejected by its id."""
    told = answer(add("Ann likes milk.", "milk"), add("Ann has a cow.", "cow"))
    async with opened(tmp_path, by_name(monitor=told)) as memory:
        await said(memory, "milk, from my cow")
        for entry in await memory.proposals(**ME):
            await memory.edit(entry.memory_ids[0], entry.changes[0].after.content + "!", **ME)
        first, second = await memory.proposals(**ME)
        assert (await memory.confirm(first.id, **ME)).op == "CONFIRM"
        assert (await memory.reject(second.id, **ME)).op == "FORGET"
        assert await known(memory) == [first.changes[0].after.content]


async def test_a_late_no_changes_nothing(tmp_path: Path) -> None:
    """Who has confirmed a new memory cannot decline it by a list that still shows it."""
    told = answer(add("Ann likes milk.", "milk"))
    async with opened(tmp_path, by_name(monitor=told)) as memory:
        await said(memory, "milk")
        (proposal,) = await memory.proposals(**ME)
        await memory.confirm(proposal.id, **ME)
        assert (await memory.confirm(proposal.id, **ME)).refused is None
        with pytest.raises(UndoError, match="agreed to already: forget"):
            await memory.reject(proposal.id, **ME)
        assert await known(memory) == ["Ann likes milk."]
        (milk,) = await memory.list(**ME)
        assert (await memory.reject(milk.id, **ME)).op == "FORGET"


async def test_agreed_to_before_a_crash(tmp_path: Path) -> None:
    """What was carried out, and not noted as such, is done once and cannot be declined."""
    changed = update("m1", "Ann likes milk.", "milk")
    async with opened(tmp_path, by_name(monitor=answer(changed))) as memory:
        await memory.remember("Ann likes tea.", **ME)
        await said(memory, "not tea, milk")
        (proposal,) = await memory.proposals(**ME)
        (outcome,) = await memory.confirm_all(**ME)
        await memory.knowledge.journal.rewrite(proposal)  # as if the process had ended before
        assert (await memory.confirm(proposal.id, **ME)).id == outcome.id
        await memory.knowledge.journal.rewrite(proposal)
        with pytest.raises(UndoError, match="agreed to already"):
            await memory.reject(proposal.id, **ME)
        assert (await known(memory), await memory.proposals(**ME)) == (["Ann likes milk."], [])


async def test_what_nobody_answers_lapses(tmp_path: Path) -> None:
    """After 30 days, not before, a change is refused and a proposed memory is forgotten."""
    both = answer(update("m1", "Ann likes milk.", "milk"), add("Ann fears dogs.", "dogs"))
    async with opened(tmp_path, by_name(monitor=both)) as memory:
        await memory.remember("Ann likes tea.", **ME)
        await said(memory, "not tea, milk; I fear dogs")
        await memory.run("purge", RunOptions(NOW + days(29)))
        waiting = await memory.proposals(**ME)
        assert sorted(one.op for one in waiting) == ["ADD", "UPDATE"]
        await memory.run("purge", RunOptions(NOW + days(30)))
        assert (await memory.proposals(**ME), await known(memory)) == ([], ["Ann likes tea."])
        ids = [one.id for one in waiting if one.waits]
        (entry,) = await memory.knowledge.journal.get_entries(ids)
        assert entry.refused is Refusal.LAPSED
