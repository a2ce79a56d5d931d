"""Watermarks: up to when each job of a store is done, and the lease of the one who may run them.

Both lie in the journal's collection and are written only over what was read: of two writers one
succeeds. All times are kept and counted in UTC.
"""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import ClassVar
from uuid import uuid4

from pydantic import AwareDatetime

from souffleur.knowledge.engine.collection import Point
from souffleur.knowledge.journal import Journal
from souffleur.knowledge.memory import Frozen
from souffleur.knowledge.operation import derive_id
from souffleur.knowledge.reading import read as read_record

DAY = timedelta(days=1)
_DERIVED = frozenset({"type", "user_id", "written_by"})
LEASE = timedelta(minutes=2)
"""How long a leader that is not heard of stays the leader."""
CLOCK_ERROR = DAY
"""What lies further ahead than it may, by this much, was written by a clock that was wrong."""


class Watermark(Frozen):
    """Up to when a job is done."""

    type: ClassVar = "watermark"

    name: str
    """Of the job."""
    due_at: AwareDatetime | None = None
    """The due time its work was last done for, or where its periods begin; None: it is new."""
    done_at: AwareDatetime | None = None
    """When that work ended; None: it never ran."""
    revision: int = 0
    """How often it was written."""

    @property
    def id(self) -> str:
        """The id of its point."""
        return derive_id(self.type, self.name)


class Lease(Frozen):
    """Who may run the jobs of this store, and until when. Hosts' clocks must agree to a minute."""

    type: ClassVar = "lease"

    holder: str = ""
    """The id of the leader; empty: nobody is."""
    until: AwareDatetime | None = None
    revision: int = 0
    """How often it was written."""

    @property
    def id(self) -> str:
        """The id of its point."""
        return derive_id(self.type)


def to_watermark(point: Point) -> Watermark:
    """Return the watermark of a point. Raises UnreadableError."""
    return read_record(point, Watermark, derived=_DERIVED)


def to_lease(point: Point) -> Lease:
    """Return the lease of a point. Raises UnreadableError."""
    return read_record(point, Lease, derived=_DERIVED)


async def read(journal: Journal, name: str) -> Watermark:
    """The watermark of a job; a new one where there is none."""
    fresh = Watermark(name=name)
    found = await journal.collection.get([fresh.id])
    return to_watermark(found[0]) if found else fresh


async def read_lease(journal: Journal) -> Lease:
    """The lease as it stands; a free one where there is none."""
    found = await journal.collection.get([Lease().id])
    return to_lease(found[0]) if found else Lease()


async def save(journal: Journal, changed: Watermark | Lease, *, by: str) -> bool:
    """Write what was read and changed; False: another wrote it meanwhile, and that stays.

    A new one is written in any case. `by` is the id of the writer, by which a server's answer is
    understood.
    """
    derived = {"type": changed.type, "user_id": "", "written_by": by}
    payload = {**changed.model_dump(mode="json"), **derived, "revision": changed.revision + 1}
    point = Point(changed.id, payload)
    if changed.revision:
        return await journal.collection.replace(point, revision=changed.revision)
    await journal.collection.put([point])
    return True


def due(mark: Watermark, every: timedelta, at_hour: int | None, now: datetime) -> datetime | None:
    """The latest due time that has come and is not done; None: nothing is due.

    However many periods have passed, the work is due once.

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
    """When a job is due next, a period after it was last due; None: it is new.

    With `at_hour`, at the minute of that hour that is the job's own (see `stagger`).
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
    """The watermark of a job that begins now: its first due time is yet to come."""
    late = stagger(mark.name) % every if at_hour is None else timedelta()
    return mark.model_copy(update={"due_at": now.astimezone(UTC) + late})


def is_astray(mark: Watermark, every: timedelta, now: datetime) -> bool:
    """Whether a clock that was wrong set it so far ahead that the job would wait for long."""
    return mark.due_at is not None and mark.due_at > now + every + CLOCK_ERROR


def stagger(name: str) -> timedelta:
    """Whole minutes below an hour by which a job comes later, so that not all come at once.

    >>> stagger("review") == stagger("review") != stagger("purge")
    True
    """
    return timedelta(minutes=int(derive_id("stagger", name)[:8], 16) % 60)


def claim(lease: Lease, holder: str, now: datetime) -> Lease | None:
    """The lease as `holder` has it now; None: another leads. It is renewed in its last 90 seconds.

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
    """A candidate for the lease of a store. At most one holds it, and only that one works."""

    def __init__(self, journal: Journal, holder: str | None = None) -> None:
        """`holder` is its id, never used by another candidate."""
        self.holder = holder or str(uuid4())
        self.until: datetime | None = None
        """The end of the lease as far as known; None: another leads."""
        self._journal = journal
        self._alone = asyncio.Lock()

    async def lead(self, now: datetime) -> bool:
        """Take or renew the lease; whether it is held for the next 90 seconds at least."""
        async with self._alone:
            lease = await read_lease(self._journal)
            if not lease.revision:
                # Two may make it at once, one over the other: it is free until somebody asks again.
                await save(self._journal, lease, by=self.holder)
                return False
            mine = claim(lease, self.holder, now)
            held = mine is lease or (
                mine is not None and await save(self._journal, mine, by=self.holder)
            )
            self.until = mine.until if mine and held else None
            return held

    async def release(self) -> None:
        """Let another lead at once; nothing happens where another does already."""
        async with self._alone:
            lease, self.until = await read_lease(self._journal), None
            if lease.holder == self.holder:
                free = lease.model_copy(update={"holder": "", "until": None})
                await save(self._journal, free, by=self.holder)
