"""Notices: what a turn has changed is told to the user, in three languages."""

from pathlib import Path
from typing import Any

import pytest

from souffleur.errors import NotFoundError
from souffleur.knowledge.operation import LedgerEntry, Recorded
from souffleur.notices import notices_of
from souffleur.server.events import events_of
from tests.scripted import SKIP, add, answer, by_name, delete, update
from tests.stage import Stage, staged

ANN: dict[str, Any] = {"user_id": "ann"}
TEA = add("Ann likes tea.", "I like tea")
CAT = add("Ann has a cat.", "I have a cat")


async def entries(stage: Stage) -> list[Recorded]:
    return await stage.memory.ledger(**ANN)


async def test_each_kind_of_change(tmp_path: Path) -> None:
    """Added, several at once, updated and deleted: each verdict has one notice, a skip none."""
    script = iter(
        [
            answer(TEA, CAT),
            SKIP,
            answer(update("m1", "Ann likes coffee.", "I like coffee now")),
            answer(delete("m1", "forget the cat")),
        ]
    )
    async with staged(tmp_path, by_name(monitor=lambda _: next(script))) as stage:
        await stage.say("I like tea and I have a cat. I have a cat and I like tea")
        await stage.say("hm")
        first, *_ = every = await stage.memory.notices(**ANN)
        assert [one.text for one in every] == ["Remembered: Ann likes tea. · Ann has a cat."]
        assert (len(first.entry_ids), len(first.memory_ids), first.asks) == (2, 2, False)
        assert (first.view, first.undo) == ("view", "undo")
        await stage.say("I like coffee now, I like tea no more")
        await stage.say("forget the cat")
        updated, deleted = await stage.memory.notices(**ANN, after=first.seq)
        assert updated.text.startswith("Updated: Ann likes coffee.")
        (now,) = updated.memory_ids
        assert (await stage.memory.get(now, **ANN)).content == "Ann likes coffee."
        assert deleted.text.startswith("Forgotten: Ann ")
        for one, language, told in (
            (first, "zh", "已记住：Ann likes tea.；Ann has a cat."),
            (first, "ja", "覚えました：Ann likes tea.・Ann has a cat."),
            (updated, "zh", "已更新：Ann likes coffee."),
            (updated, "ja", "更新しました：Ann likes coffee."),
            (deleted, "zh", deleted.text.replace("Forgotten: ", "已忘记：")),
            (deleted, "ja", deleted.text.replace("Forgotten: ", "忘れました：")),
        ):
            ours = notices_of(await entries(stage), language)
            assert {note.entry_ids: note.text for note in ours}[one.entry_ids] == told
        await stage.memory.introduce(**ANN, language="zh")
        assert (await stage.memory.notices(**ANN))[0].text.startswith("已记住：")


async def test_of_one_turn(tmp_path: Path) -> None:
    """A turn has its own notice alone; what was undone has none; an unknown turn is an error."""
    script = iter([answer(TEA), answer(CAT)])
    async with staged(tmp_path, lambda _: next(script)) as stage:
        for name, text in (("t1", "I like tea"), ("t2", "I have a cat")):
            stage.memory.observe(**ANN, session_id="s1", turn_id=name, user=text, assistant="ok")
            await stage.memory.flush()
        (notice,) = await stage.memory.notices(**ANN, turn_id="t2")
        assert notice.text == "Remembered: Ann has a cat."
        await stage.memory.undo(notice.entry_ids[0], **ANN)
        assert await stage.memory.notices(**ANN, turn_id="t2") == []
        assert len(await stage.memory.notices(**ANN)) == 1
        with pytest.raises(NotFoundError):
            await stage.memory.notices(**ANN, turn_id="t3")


async def test_what_waits_is_asked(tmp_path: Path) -> None:
    """With ask first, the notice is a question, and its entry is what `confirm` takes."""
    script = iter([answer(TEA), answer(update("m1", "Ann likes coffee.", "I like coffee"))])
    async with staged(tmp_path, lambda _: next(script)) as stage:
        await stage.memory.set_preferences(**ANN, auto_extract=False)
        await stage.say("I like tea")
        (notice,) = await stage.memory.notices(**ANN)
        assert (notice.text, notice.asks) == ("Shall I remember this? Ann likes tea.", True)
        await stage.memory.confirm(notice.entry_ids[0], **ANN)
        await stage.say("I like coffee")
        latest = (await stage.memory.notices(**ANN))[-1]
        assert latest.text == "Shall I update this? Ann likes coffee."
        await stage.memory.confirm(latest.entry_ids[0], **ANN)
        assert [one.content for one in await stage.memory.list(**ANN)] == ["Ann likes coffee."]


async def test_by_others_and_erased(tmp_path: Path) -> None:
    """What a user has said to remember, and an entry whose words were erased, have no notice."""
    async with staged(tmp_path, lambda _: answer(TEA)) as stage:
        await stage.memory.remember("Ann runs.", **ANN)
        assert await stage.memory.notices(**ANN) == []
        await stage.say("I like tea")
        (one,) = [one for one in await entries(stage) if notices_of([one])]
        entry: LedgerEntry = one.entry.emptied(one.entry.memory_ids)
        assert notices_of([Recorded(seq=one.seq, entry=entry)]) == []


async def test_in_events(tmp_path: Path) -> None:
    """An event has the notice of its entry: with an update, which is two events, it comes once."""
    script = iter([answer(TEA), answer(update("m1", "Ann likes coffee.", "I like coffee"))])
    async with staged(tmp_path, lambda _: next(script)) as stage:
        await stage.say("I like tea")
        await stage.say("I like coffee")
        events = [event for one in await entries(stage) for event in events_of(one, "en")]
        assert [event.notice.text for event in events if event.notice] == [
            "Remembered: Ann likes tea.",
            "Updated: Ann likes coffee.",
        ]
        assert len(events) == 3
