"""Shadow judging: stored turns, judged again beside what was done."""

from pathlib import Path
from typing import Any

from souffleur.api import Souffleur
from souffleur.evals.shadow import shadow
from souffleur.settings import Settings
from tests.build import NOW
from tests.scripted import SKIP, Scripted, add, answer, update

ME: dict[str, Any] = {"user_id": "ann", "session_id": "s1"}
TEA, COFFEE = "I like green tea.", "I drink coffee now, no tea."
BOAT = "I sail."


def first(request: Any) -> dict[str, Any]:
    """A judge that keeps the tea and misses the coffee."""
    said = request.messages[-1].content
    return SKIP if COFFEE in said else answer(add("Ann likes green tea.", TEA))


def second(request: Any) -> dict[str, Any]:
    """A judge that keeps both, and sees what was known before the turn."""
    asked = request.messages[-1].content
    if COFFEE in asked:
        assert "m1" in asked
        return answer(update("m1", "Ann drinks coffee, tea before.", COFFEE))
    assert "Ann likes green tea." not in asked
    return answer(add("Ann likes green tea.", TEA))


async def test_turns_are_judged_again_beside_what_was_done(tmp_path: Path) -> None:
    """Each turn is judged on the memories of its time, and the store stays as it is."""
    chosen = Settings(path=tmp_path / "store", embedder="hash:64", user_title="Ann", schedule=False)
    times = iter(range(100))
    async with Souffleur.open(chosen, chat=Scripted(first), clock=lambda: NOW) as memory:
        for said in (TEA, COFFEE):
            memory.observe(**ME, user=said, assistant="Ok.", turn_id=str(next(times)))
            await memory.flush()
        await memory.backup(tmp_path / "a.backup")
        before = [one.model_dump() for one in await memory.list(user_id="ann", state=None)]
        found = await shadow(
            tmp_path / "a.backup", chosen, user_id="ann", last=2, chat=Scripted(second)
        )
        assert [one.model_dump() for one in await memory.list(user_id="ann", state=None)] == before
    assert [[turn.user for turn in one.turns] for one in found] == [[TEA], [COFFEE]]
    assert [one.is_same for one in found] == [True, False]
    assert [len(one.did) for one in found] == [1, 0]
    assert [(op.op, op.olds) for op in found[1].would] == [("UPDATE", ("Ann likes green tea.",))]


def both(request: Any) -> dict[str, Any]:
    """A judge that keeps what it is asked about, and one thing of each turn."""
    asked = request.messages[-1].content
    told = {TEA: "Ann likes green tea.", BOAT: "Ann sails."}
    return answer(*(add(content, quote) for quote, content in told.items() if quote in asked))


async def test_turns_that_were_judged_together_are_compared_together(tmp_path: Path) -> None:
    """The same judge does the same to both turns; a group is whole if its last turn is asked for.

    A group of which a turn was erased since is left out, as it cannot be asked again.
    """
    chosen = Settings(path=tmp_path / "store", embedder="hash:64", schedule=False, judge_every=2)
    file, again = tmp_path / "a.backup", Scripted(both)
    async with Souffleur.open(chosen, chat=Scripted(both), clock=lambda: NOW) as memory:
        for said in (TEA, BOAT):
            memory.observe(**ME, user=said, assistant="Ok.", turn_id=said)
        await memory.flush()
        await memory.backup(file)
        (found,) = await shadow(file, chosen, user_id="ann", last=1, chat=again)
        await memory.erase_turn(TEA, user_id="ann")
        await memory.backup(file)
        assert not await shadow(file, chosen, user_id="ann", last=2, chat=again)
    assert [turn.user for turn in found.turns] == [TEA, BOAT]
    assert ([op.op for op in found.did], found.is_same) == (["ADD", "ADD"], True)
    assert len(again.requests) == 1
