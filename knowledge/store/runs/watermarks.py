"""Watermarks: the last due time of each finished job, and the lease of the process that runs jobs.

Both are stored in the journal's collection. A write succeeds only if the stored revision is the
revision that was read, so only one of two writers succeeds. All times are in UTC.
"""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any, ClassVar, Literal, Protocol
from uuid import uuid4

from pydantic import AwareDatetime

from souffleur.knowledge.memory import Frozen
from souffleur.knowledge.operation import derive_id
from souffleur.knowledge.store.engine.collection import Point
from souffleur.knowledge.store.ledger import Journal
from souffleur.knowledge.store.reading import read as read_record

DAY = timedelta(days=1)
LEASE = timedelta(minutes=2)
"""The duration of a lease without renewal."""
CLOCK_ERROR = DAY
"""A time that exceeds the allowed maximum by more than this is from a wrong clock."""


class Watermark(Frozen):
    """The time until which a job is done."""

    type: ClassVar = "watermark"

    name: str
    """The name of the job."""
    due_at: AwareDatetime | None = None
    """The last due time that was done, or the start of the first period; `None` for a new job."""
    done_at: AwareDatetime | None = None
    """The time at which the job last finished; `None` if it never ran."""
    revision: int = 0
    """Number of writes of this record."""

    @property
    def id(self) -> str:
        """The id of the record's point."""
        return derive_id(self.type, self.name)


class Lease(Frozen):
    """The process that may do a kind of work for a store, and until when.

    The clocks of all hosts must agree to within a minute.
    """

    type: ClassVar = "lease"

    name: str = ""
    """The kind of work; empty for jobs."""
    holder: str = ""
    """The id of the leader; empty without a leader."""
    until: AwareDatetime | None = None
    revision: int = 0
    """Number of writes of this record."""

    @property
    def id(self) -> str:
        """The id of the record's point."""
        return derive_id(self.type, *filter(None, [self.name]))


async def read(journal: Journal, name: str) -> Watermark:
    """Return the watermark of a job, or a new watermark."""
    fresh = Watermark(name=name)
    found = await journal.collection.get([fresh.id])
    return read_record(found[0], Watermark) if found else fresh


async def read_lease(journal: Journal, name: str = "") -> Lease:
    """Return the current lease, or a free lease."""
    free = Lease(name=name)
    found = await journal.collection.get([free.id])
    return read_record(found[0], Lease) if found else free


class Revised(Protocol):
    """A record that is written only if its stored revision has not changed since it was read."""

    type: ClassVar[str]

    @property
    def id(self) -> str:
        """The id of the record's point."""
        ...

    @property
    def revision(self) -> int:
        """Number of writes of this record."""
        ...

    def model_dump(self, *, mode: Literal["json"]) -> dict[str, Any]:
        """Return the fields of the record."""
        ...


async def save(journal: Journal, changed: Revised, *, by: str) -> bool:
    """Write a changed record; return False if another process has written it meanwhile.

    `by` is the id of the writer, which identifies the write on a server.
    """
    derived = {"type": changed.type, "written_by": by, "revision": changed.revision + 1}
    payload = {"user_id": "", **changed.model_dump(mode="json"), **derived}
    point = Point(changed.id, payload)
    if changed.revision:
        return await journal.collection.replace(point, revision=changed.revision)
    return point.id in await journal.collection.swap([point], {})


def due(mark: Watermark, every: timedelta, at_hour: int | None, now: datetime) -> datetime | None:
    """Return the latest past due time that is not done; `None` if the job is not due.

    The job is due only once, even if several periods have passed.

    >>> mark = Watermark(name="review", due_at=datetime(2026, 1, 3, 10, tzinfo=UTC))
    >>> due(mark, timedelta(hours=1), None, datetime(2026, 1, 3, 10, 59, tzinfo=UTC))
    >>> str(due(mark, timedelta(hours=1), None, datetime(2026, 1, 3, 17, 20, tzinfo=UTC)))
    '2026-01-03 17:00:00+00:00'
    """
    first = next_due(mark, every, at_hour)
    if first is None or now < first:
        return None
    step = every if at_hour is None else DAY
    return first + (now - first) // step * step


def next_due(mark: Watermark, every: timedelta, at_hour: int | None) -> datetime | None:
    """Return the next due time of a job, a period after the last; `None` for a new job.

    With `at_hour`, the job is due in this hour, at the job's own minute (see `stagger`).
    """
    if mark.due_at is None:
        return None
    last = mark.due_at.astimezone(UTC)
    if at_hour is None:
        return last + every
    after = last + every - DAY
    hour = after.replace(hour=at_hour, minute=0, second=0, microsecond=0)
    moment = hour + stagger(mark.name)
    return moment if moment > after else moment + DAY


def begun(mark: Watermark, every: timedelta, at_hour: int | None, now: datetime) -> Watermark:
    """Return the watermark of a job whose first period begins now, or at its stagger delay."""
    late = stagger(mark.name) % every if at_hour is None else timedelta()
    return mark.model_copy(update={"due_at": now.astimezone(UTC) + late})


def is_astray(mark: Watermark, every: timedelta, now: datetime) -> bool:
    """Return whether a wrong clock has set the watermark too far into the future."""
    return mark.due_at is not None and mark.due_at > now + every + CLOCK_ERROR


def stagger(name: str) -> timedelta:
    """Return a delay of whole minutes, less than an hour, so that jobs do not all run at once.

    >>> stagger("review") == stagger("review") != stagger("purge")
    True
    """
    return timedelta(minutes=int(derive_id("stagger", name)[:8], 16) % 60)


def claim(lease: Lease, holder: str, now: datetime) -> Lease | None:
    """Return the lease for `holder`, renewed in its last 90 seconds; `None` if another leads.

    >>> noon = datetime(2026, 1, 3, 12, tzinfo=UTC)
    >>> taken = claim(Lease(), "a", noon)
    >>> claim(taken, "b", noon + timedelta(seconds=119)) is None, claim(taken, "a", noon) is taken
    (True, True)
    >>> claim(taken, "b", noon + LEASE).holder
    'b'
    """
    until = lease.until if lease.holder else None
    held = until is not None and now < until <= now + LEASE + CLOCK_ERROR
    if held and lease.holder != holder:
        return None
    if held and until is not None and now + LEASE * 0.75 < until <= now + LEASE:
        return lease
    return lease.model_copy(update={"holder": holder, "until": now.astimezone(UTC) + LEASE})


class Leader:
    """A candidate for the lease of a store. At most one candidate holds it and does the work."""

    def __init__(self, journal: Journal, holder: str | None = None, *, name: str = "") -> None:
        """Create a candidate for the lease `name`. Its id `holder` must be unique."""
        self.holder = holder or str(uuid4())
        self._name = name
        self.until: datetime | None = None
        """The known end of the lease; `None` if this candidate does not hold it."""
        self._journal = journal
        self._alone = asyncio.Lock()

    async def lead(self, now: datetime) -> bool:
        """Take or renew the lease; return whether it is held for at least the next 90 seconds."""
        async with self._alone:
            lease = await read_lease(self._journal, self._name)
            if not lease.revision:
                # Two processes may create the lease at once, so it stays free until the next call.
                await save(self._journal, lease, by=self.holder)
                return False
            mine = claim(lease, self.holder, now)
            held = mine is lease or (
                mine is not None and await save(self._journal, mine, by=self.holder)
            )
            self.until = mine.until if mine and held else None
            return held

    async def release(self) -> None:
        """Release the lease if it is held, so that another candidate can take it at once."""
        async with self._alone:
            lease, self.until = await read_lease(self._journal, self._name), None
            if lease.holder == self.holder:
                free = lease.model_copy(update={"holder": "", "until": None})
                await save(self._journal, free, by=self.holder)
