"""The run log: what a run leaves behind."""

from pathlib import Path

from souffleur.knowledge.store.runs import run_log
from souffleur.knowledge.store.runs.run_log import RUNS_KEPT_FOR, RunRecord
from tests.build import NOW, days
from tests.stores import empty_base


def record(day: float, **fields: object) -> RunRecord:
    """A run of that day."""
    began = NOW + days(day)
    return RunRecord.model_validate(
        {"name": "decay", "began": began, "ended": began + days(0.1), "due": 1, **fields}
    )


async def test_the_latest_come_first(tmp_path: Path) -> None:
    """In whatever order they were kept; one kept twice is one; by name where asked for."""
    base = await empty_base(tmp_path, dimension=64)
    review = record(1, name="review", counts={"KEEP": 2}, errors=("EndpointError: x",), cost=0.5)
    for one in (record(2), record(0), review, record(2)):
        await run_log.keep(base.journal, one)
    assert await run_log.latest(base.journal, limit=9) == [record(2), review, record(0)]
    assert await run_log.latest(base.journal, limit=1) == [record(2)]
    assert await run_log.latest(base.journal, name="review", limit=9) == [review]
    await base.close()


async def test_old_ones_are_dropped(tmp_path: Path) -> None:
    """A record goes after a year, and not a day earlier."""
    base = await empty_base(tmp_path, dimension=64)
    for day in (0, 2):
        await run_log.keep(base.journal, record(day))
    assert await run_log.drop_old(base.journal, NOW + RUNS_KEPT_FOR + days(1)) == 1
    assert await run_log.latest(base.journal, limit=9) == [record(2)]
    await base.close()
