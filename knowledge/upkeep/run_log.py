"""The run log: what each run over a store did, kept in the journal for a year."""

from datetime import datetime, timedelta
from typing import Any

from pydantic import AwareDatetime, Field

from souffleur.knowledge.engine.collection import (
    Between,
    Condition,
    Filter,
    Is,
    Order,
    Point,
    read_all,
)
from souffleur.knowledge.journal import Journal
from souffleur.knowledge.memory import Frozen
from souffleur.knowledge.operation import derive_id
from souffleur.knowledge.reading import read, read_each

RUNS_KEPT_FOR = timedelta(days=365)


class RunRecord(Frozen):
    """One run: when, over whose memories, and what came of it."""

    name: str
    """decay, review, …"""
    began: AwareDatetime
    ended: AwareDatetime
    of_user: str | None = None
    """Whose memories; None: everybody's."""
    due: int = 0
    counts: dict[str, int] = Field(default_factory=dict)
    """Of what was done, by op; FAILED, WAITS, CHANGED and REFUSED for what was not."""
    errors: tuple[str, ...] = ()
    """Why, for the first few that failed."""
    calls: int = 0
    """Of the model."""
    tokens: int = 0
    cost: float = 0.0
    """In dollars; 0 where no prices are known."""
    stopped: str = ""
    """Why it ended before all was done; empty: all was."""
    data: dict[str, Any] = Field(default_factory=dict)
    """Numbers of the store, of a run that counts them."""

    @property
    def id(self) -> str:
        """The id of its point."""
        return derive_id("run", self.name, self.of_user, self.began.isoformat())


async def keep(journal: Journal, record: RunRecord) -> None:
    """Write it down; the same run twice is one record."""
    derived = {"type": "run", "user_id": "", "state": record.name, "at": record.began.isoformat()}
    await journal.collection.put([Point(record.id, {**record.model_dump(mode="json"), **derived})])


async def latest(journal: Journal, *, name: str | None = None, limit: int) -> list[RunRecord]:
    """The latest runs, newest first; with `name`, those of that name."""
    must: list[Condition] = [Is("type", "run")]
    must += [Is("state", name)] if name else []
    newest = Order("at", descending=True)
    page, _ = await journal.collection.scroll(Filter(tuple(must)), limit=limit, order=newest)
    return read_each(page, to_record)


async def drop_old(journal: Journal, now: datetime) -> int:
    """Remove what is older than `RUNS_KEPT_FOR`; returns how many."""
    old = Filter((Is("type", "run"), Between("at", high=now - RUNS_KEPT_FOR)))
    points = await read_all(journal.collection, old)
    await journal.collection.delete([point.id for point in points])
    return len(points)


def to_record(point: Point) -> RunRecord:
    """Return the record of a run. Raises UnreadableError."""
    return read(point, RunRecord, derived={"type", "user_id", "state", "at"})
