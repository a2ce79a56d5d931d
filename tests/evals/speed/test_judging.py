"""How long the judging of a turn takes: what is timed ends with the verdict."""

import pytest

from souffleur.evals.performance import _opened, _operations


@pytest.mark.parametrize(
    ("name", "more"), [("a turn that changes nothing", 0), ("a turn that adds a memory", 1)]
)
async def test_judging_ends_when_the_verdict_is_applied(name: str, more: int) -> None:
    """Then no turn waits, each of its ops is in the ledger, and what it adds is remembered."""
    async with _opened(2) as (memory, _):
        await _operations(memory)[f"judging {name}, less the model"].work(0)
        assert await memory.knowledge.journal.waiting("ann") == []
        (entry,) = (await memory.knowledge.journal.entries("ann"))[-1:]
        assert await memory.knowledge.journal.is_settled(entry.id)
        assert len(await memory.knowledge.list("ann")) == 2 + more
