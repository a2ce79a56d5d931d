"""Preferences: with the memory off, nothing is read, stored, judged or faded until it is on."""

from pathlib import Path
from typing import Any

import pytest

from souffleur.api import Souffleur
from souffleur.errors import MemoryOffError, SettingsError
from souffleur.knowledge.people import Preferences
from souffleur.knowledge.turn import Turn, TurnState, turn_point_id
from souffleur.recall.compose import Recall
from souffleur.service.run import RunOptions
from souffleur.settings import Settings
from tests.build import NOW, days
from tests.place import where
from tests.scripted import Scripted, add, answer, by_name, episode
from tests.stage import staged

ANN: dict[str, Any] = {"user_id": "ann"}
S1: dict[str, Any] = {**ANN, "session_id": "s1"}
TEA = answer(add("Ann likes tea.", "I like tea"))


async def test_off_and_on(tmp_path: Path) -> None:
    """Off, recall and ask bring nothing, no turn is stored, no sentence taken; then all is back."""
    async with staged(tmp_path, lambda _: TEA) as stage:
        memory = stage.memory
        await stage.say("I like tea")
        assert await memory.preferences(**ANN) == Preferences(user_id="ann")
        await memory.set_preferences(**ANN, memory=False)
        assert await memory.recall(**S1, text="some tea?") == Recall()
        assert (await memory.ask("what about tea?", **ANN)).found == ()
        receipt = memory.observe(**S1, user="I like tea and milk")
        assert (receipt.new, receipt.durable, receipt.error) == (False, True, "")
        for what in ("Ann likes milk.", [("user", "I like milk")]):
            with pytest.raises(MemoryOffError, match="memory is off for 'ann'"):
                await memory.remember(what, **ANN)
        assert len(await memory.list(**ANN)) == 1
        assert len(await stage.knowledge.journal.turns(user_id="ann")) == 1
        await memory.remember("Bob likes milk.", user_id="bob")
        await memory.set_preferences(**ANN, memory=True)
        assert "likes tea" in (await memory.recall(**S1, text="some tea?")).text
        assert memory.observe(**S1, user="I like tea and milk").new


async def test_no_model_is_asked_while_it_is_off(tmp_path: Path) -> None:
    """Off, no skill is recorded and no portrait written, nor what is left of a topic told anew."""
    script = by_name(monitor=TEA, episode=episode("Ann talked of tea. She likes rain."))
    async with staged(tmp_path, script, kept=True) as stage:
        memory = stage.memory
        await stage.say("I like tea", "rain is nice", "so nice")
        await stage.end()
        asked = len(stage.chat.requests)
        await memory.set_preferences(**ANN, memory=False)
        with pytest.raises(MemoryOffError, match="memory is off for 'ann'"):
            await memory.write_portrait(**ANN)
        with pytest.raises(MemoryOffError, match="memory is off for 'ann'"):
            await memory.record_skill("tea", ["boil water"], **ANN)
        found = await memory.preview_topic("tea", **ANN)
        await memory.forget_topic("tea", **ANN, ids=[one.id for one in found.traces])
        assert len(stage.chat.requests) == asked
        assert ["tea" in one.content for one in await memory.list(**ANN)] == [False]


async def test_what_waits_is_judged_once_it_is_on(tmp_path: Path) -> None:
    """A turn from before waits without a call of the model, also after a restart."""
    chosen = Settings(**where(tmp_path), embedder="hash:64")
    async with Souffleur.open(chosen, clock=lambda: NOW) as memory:
        memory.observe(**S1, user="I like tea")
        await memory.set_preferences(**ANN, memory=False)
    chat = Scripted(lambda _: TEA)
    async with Souffleur.open(chosen, chat=chat, clock=lambda: NOW) as memory:
        await memory.flush()
        (turn,) = await memory.knowledge.journal.turns(user_id="ann")
        assert (turn.state, chat.requests) == (TurnState.PENDING, [])
        await memory.set_preferences(**ANN, memory=True)
        await memory.flush()
        assert [one.content for one in await memory.list(**ANN)] == ["Ann likes tea."]


async def test_the_journal_takes_no_turn(tmp_path: Path) -> None:
    """Whoever observed it, and knew of no preference: it is dropped where it would be written."""
    async with staged(tmp_path, lambda _: TEA) as stage:
        id = turn_point_id("ann", "default", "s1", "t")
        turn = Turn(id=id, turn_id="t", user_id="ann", session_id="s1", at=NOW, user="I like tea")
        for memory in (False, True):
            await stage.memory.set_preferences(**ANN, memory=memory, incognito=memory)
            assert stage.knowledge.journal.record(turn) is None
        assert await stage.knowledge.journal.turns(user_id="ann") == []
        assert await stage.knowledge.sessions.waiting_segments("ann") == []


async def test_nothing_is_due_while_it_is_off(tmp_path: Path) -> None:
    """What is due of a user is left alone by every run until the memory is on."""
    script = by_name(review={"reason": "nobody needs it", "action": "DELETE", "query": None})
    async with staged(tmp_path, script) as stage:
        memory, late = stage.memory, RunOptions(NOW + days(60))
        for user_id in ("ann", "bob"):
            await memory.remember("A plan.", user_id=user_id)
        await memory.set_preferences(**ANN, memory=False)
        ran = await memory.run("review", late)
        assert (ran.due, [item.memory.user_id for item in ran.items]) == (1, ["bob"])
        await memory.set_preferences(**ANN, memory=True)
        ran = await memory.run("review", late)
        assert [item.memory.user_id for item in ran.items] == ["ann"]


async def test_incognito_until_further_notice(tmp_path: Path) -> None:
    """Preferred, it holds for every turn, and for another process that opens the store."""
    async with staged(tmp_path, lambda _: TEA, kept=True) as stage:
        await stage.say("I like tea")
        await stage.memory.set_preferences(**ANN, incognito=True)
    async with staged(tmp_path, lambda _: TEA, kept=True) as stage:
        assert not stage.memory.observe(**S1, user="I like tea and milk").new
        assert (await stage.memory.recall(**S1, text="some tea?")).ids == ()
        with pytest.raises(MemoryOffError, match="turns are incognito"):
            await stage.memory.remember("Ann likes milk.", **ANN)
        assert (await stage.memory.set_preferences(**ANN, incognito=False)).since is not None
        assert (await stage.memory.recall(**S1, text="some tea?")).ids != ()


async def test_neither_true_nor_false(tmp_path: Path) -> None:
    """Such a value is refused and nothing changes."""
    async with staged(tmp_path, lambda _: TEA) as stage:
        wrong: Any = "off"
        with pytest.raises(SettingsError, match="memory: Input should be a valid boolean"):
            await stage.memory.set_preferences(**ANN, memory=wrong)
        assert (await stage.memory.preferences(**ANN)).since is None
