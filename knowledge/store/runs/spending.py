"""Spending: the model calls of a day and their cost, for all users and for each user.

A write succeeds only if the stored revision is the revision that was read, so the spending of
several processes adds up.
"""

from datetime import datetime, timedelta
from typing import ClassVar

from pydantic import AwareDatetime

from souffleur.knowledge.memory import Frozen
from souffleur.knowledge.operation import derive_id
from souffleur.knowledge.store.engine.collection import Between, Filter, Is, read_pages
from souffleur.knowledge.store.ledger import Journal
from souffleur.knowledge.store.reading import read as read_record
from souffleur.knowledge.store.runs.watermarks import save

KEPT_FOR = timedelta(days=31)
EVERY_USER = ""
"""The user id of the record for all users together."""


class Spending(Frozen):
    """The spending for one user on one day."""

    type: ClassVar = "spending"

    at: AwareDatetime
    """The start of the day, in UTC."""
    user_id: str = EVERY_USER
    calls: int = 0
    """Number of model calls."""
    dollars: float = 0.0
    revision: int = 0
    """Number of writes of this record."""

    @property
    def id(self) -> str:
        """The id of the record's point."""
        return derive_id(self.type, self.at.isoformat(), self.user_id)

    def plus(self, calls: int, dollars: float) -> "Spending":
        """Return the record plus these calls and dollars."""
        more = {"calls": self.calls + calls, "dollars": self.dollars + dollars}
        return self.model_copy(update=more)


async def read(journal: Journal, day: datetime, user_id: str) -> Spending:
    """Return the spending of a day for a user."""
    fresh = Spending(at=day, user_id=user_id)
    found = await journal.collection.get([fresh.id])
    return read_record(found[0], Spending) if found else fresh


async def add(
    journal: Journal, day: datetime, user_id: str, calls: int, dollars: float, *, by: str
) -> Spending:
    """Add calls and dollars to the spending of a day for a user; return the sum."""
    while True:
        spent = (await read(journal, day, user_id)).plus(calls, dollars)
        if await save(journal, spent, by=by):
            return spent


async def drop(journal: Journal, before: datetime) -> None:
    """Delete the records of days before a time."""
    old = Filter((Is("type", Spending.type), Between("at", high=before)))
    async for page in read_pages(journal.collection, old):
        await journal.collection.delete([point.id for point in page])
