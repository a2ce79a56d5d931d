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
    assert [one.turn.user for one in found] == [TEA, COFFEE]
    assert [one.is_same for one in found] == [True, False]
    assert [len(one.did) for one in found] == [1, 0]
    assert [(op.op, op.olds) for op in found[1].would] == [("UPDATE", ("Ann likes green tea.",))]
