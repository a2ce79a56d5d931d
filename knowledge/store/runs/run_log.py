"""The run log: the results of runs of jobs, kept in the journal for a year."""

from datetime import datetime, timedelta
from functools import partial
from typing import Any

from pydantic import AwareDatetime, Field

from souffleur.knowledge.memory import Frozen, Number
from souffleur.knowledge.operation import derive_id
from souffleur.knowledge.store.engine.collection import (
    Between,
    Condition,
    Filter,
    Is,
    Order,
    Point,
    read_all,
)
from souffleur.knowledge.store.ledger import Journal
from souffleur.knowledge.store.reading import read, read_each

RUNS_KEPT_FOR = timedelta(days=365)


class RunRecord(Frozen):
    """A run of a job: its time, its user and its results."""

    name: str
    """The name of the job: decay, review, …"""
    began: AwareDatetime
    ended: AwareDatetime
    of_user: str | None = None
    """The user whose memories it covered; `None` means all users."""
    due: Number = 0
    counts: dict[str, Number] = Field(default_factory=dict)
    """The number of ops, by op; ops that were not carried out count as FAILED, WAITS, CHANGED or
    REFUSED."""
    errors: tuple[str, ...] = ()
    """The first few errors."""
    calls: Number = 0
    """The number of model calls."""
    tokens: Number = 0
    cost: float = 0.0
    """The cost in dollars; 0 if no prices are known."""
    stopped: str = ""
    """Why the run ended early; empty if it completed."""
    data: dict[str, Any] = Field(default_factory=dict)
    """The numbers of the store, if the run counts them."""

    @property
    def id(self) -> str:
        """The id of the point."""
        return derive_id("run", self.name, self.of_user, self.began.isoformat())


async def keep(journal: Journal, record: RunRecord) -> None:
    """Write the record of a run. Idempotent."""
    derived = {"type": "run", "user_id": "", "state": record.name, "at": record.began.isoformat()}
    await journal.collection.put([Point(record.id, {**record.model_dump(mode="json"), **derived})])


async def latest(journal: Journal, *, name: str | None = None, limit: int) -> list[RunRecord]:
    """Return the latest runs, newest first; with `name`, only runs of this job."""
    must: list[Condition] = [Is("type", "run")]
    must += [Is("state", name)] if name else []
    newest = Order("at", descending=True)
    page, _ = await journal.collection.scroll(Filter(tuple(must)), limit=limit, order=newest)
    return read_each(page, partial(read, model=RunRecord))


async def drop_old(journal: Journal, now: datetime) -> int:
    """Delete records older than `RUNS_KEPT_FOR`; return their number."""
    old = Filter((Is("type", "run"), Between("at", high=now - RUNS_KEPT_FOR)))
    points = await read_all(journal.collection, old)
    await journal.collection.delete([point.id for point in points])
    return len(points)
