"""The schedule: when work is due, that it is done once, by one, and again where it failed."""

import asyncio
import itertools
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings, strategies as st
from loguru import logger
from qdrant_client import QdrantClient

from souffleur.demo.dialogue import StageClock
from souffleur.errors import SettingsError
from souffleur.knowledge.store.engine.collection import Collection, CollectionSchema, Filter
from souffleur.knowledge.store.engine.edge import EdgeCollection
from souffleur.knowledge.store.engine.server import ServerCollection
from souffleur.knowledge.store.ledger import Journal
from souffleur.knowledge.store.runs import watermarks
from souffleur.knowledge.store.runs.watermarks import (
    DAY,
    LEASE,
    Leader,
    Watermark,
    begun,
    due,
    stagger,
)
from souffleur.service.jobs import Job, Schedule
from tests.build import NOW

HOUR, MINUTE = timedelta(hours=1), timedelta(minutes=1)
MICROSECOND = timedelta(microseconds=1)
LAYOUT = CollectionSchema("journal", 3)
"""Without indexes, which watermarks and leases do not need: quicker to make."""


@pytest.fixture(scope="module")
def edge(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EdgeCollection]:
    """One store for all tests below."""
    collection = EdgeCollection.open(tmp_path_factory.mktemp("store"), LAYOUT)
    yield collection
    asyncio.run(collection.close())


async def emptied(collection: Collection) -> Journal:
    """The journal of the collection, without a point."""
    left, _ = await collection.scroll(Filter(), limit=1000)
    await collection.delete([point.id for point in left])
    return Journal(collection, last_seq=0)


@pytest.fixture
async def journal(edge: EdgeCollection) -> Journal:
    """An empty one in a folder."""
    return await emptied(edge)


@pytest.fixture(params=["edge", "memory"])
async def either(request: pytest.FixtureRequest, edge: EdgeCollection) -> AsyncIterator[Journal]:
    """An empty one of each engine; with the second, others come between."""
    if request.param == "edge":
        yield await emptied(edge)
        return
    client = QdrantClient(":memory:")
    yield Journal(await ServerCollection.open(":memory:", LAYOUT, client=client), last_seq=0)
    client.close()


@pytest.fixture
def told() -> Iterator[list[str]]:
    """What is logged."""
    lines: list[str] = []
    logger.enable("souffleur")
    sink = logger.add(lines.append, format="{message}")
    yield lines
    logger.remove(sink)
    logger.disable("souffleur")


async def ended(task: asyncio.Task[bool] | None) -> bool:
    """Whether a job was done, as soon as its task has ended; `None` is a job that was not begun."""
    if task is None:
        return False
    await asyncio.wait([task])
    return not task.cancelled() and task.result()


async def run_due(schedule: Schedule, jobs: Sequence[Job]) -> list[str]:
    """Begin all jobs at once; the names of those that were done."""
    begun = {job.name: schedule.begin(job.name) for job in jobs}
    return [name for name, task in begun.items() if await ended(task)]


class Stage:
    """A schedule on a clock that is moved by hand, and what its jobs did when."""

    def __init__(self, journal: Journal, *jobs: tuple[str, timedelta, int | None]) -> None:
        self.journal = journal
        self.clock = StageClock(NOW)
        self.did: list[tuple[str, datetime]] = []
        self.broken: set[str] = set()
        self.jobs = [Job(name, every, self._work(name), hour) for name, every, hour in jobs]
        self.schedule = self.another()

    def another(self, holder: str = "") -> Schedule:
        """One more schedule of the same jobs over the same store."""
        leader = Leader(self.journal, holder or None)
        return Schedule(self.journal, self.jobs, clock=self.clock, leader=leader)

    def _work(self, name: str) -> Callable[[datetime], Awaitable[None]]:
        async def work(now: datetime) -> None:
            if name in self.broken:
                raise ValueError(f"{name} is out of order")
            self.did.append((name, now))

        return work

    async def wake(self, after: timedelta = timedelta(), times: int = 1) -> list[str]:
        """All jobs are woken so often, each time so much later; the names of those that ran."""
        ran = []
        for _ in range(times):
            self.clock.at += after
            ran += await run_due(self.schedule, self.jobs)
        return ran


# When work is due

AT = datetime(2026, 3, 10, 3, tzinfo=UTC) + stagger("purge")
"""The minute of the job `purge` at three o'clock."""


@pytest.mark.parametrize(
    ("last", "every", "hour", "now", "expected"),
    [
        (None, HOUR, None, NOW, None),
        (NOW, HOUR, None, NOW, None),
        (NOW, HOUR, None, NOW - DAY, None),
        (NOW, HOUR, None, NOW + HOUR - MICROSECOND, None),
        (NOW, HOUR, None, NOW + HOUR, NOW + HOUR),
        (NOW, HOUR, None, NOW + 1.9 * HOUR, NOW + HOUR),
        (NOW, HOUR, None, NOW + 50.5 * HOUR, NOW + 50 * HOUR),
        (NOW, 7 * DAY, None, NOW + 20 * DAY, NOW + 14 * DAY),
        (AT, DAY, 3, AT + DAY - MICROSECOND, None),
        (AT, DAY, 3, AT + DAY, AT + DAY),
        (AT, DAY, 3, AT + 9.5 * DAY, AT + 9 * DAY),
        (AT - HOUR, DAY, 3, AT - MICROSECOND, None),
        (AT - HOUR, DAY, 3, AT, AT),
        (AT + HOUR, DAY, 3, AT + DAY, AT + DAY),
        (AT, 7 * DAY, 3, AT + 7 * DAY - MICROSECOND, None),
        (AT, 7 * DAY, 3, AT + 7 * DAY, AT + 7 * DAY),
        (AT, 7 * DAY, 3, AT + 9.5 * DAY, AT + 9 * DAY),
    ],
)
def test_due_is_what_the_table_says(
    last: datetime | None,
    every: timedelta,
    hour: int | None,
    now: datetime,
    expected: datetime | None,
) -> None:
    """The latest due time that has come, however many have passed; before the first, nothing."""
    mark = Watermark(name="purge", due_at=last)
    assert due(mark, every, hour, now) == expected
    berlin = ZoneInfo("Europe/Berlin")
    if last:
        mark = Watermark(name="purge", due_at=last.astimezone(berlin))
    assert due(mark, every, hour, now.astimezone(berlin)) == expected


@given(
    st.timedeltas(MINUTE, 30 * DAY),
    st.one_of(st.none(), st.integers(0, 23)),
    st.timedeltas(-DAY, 400 * DAY),
    st.text(max_size=3),
)
def test_what_is_done_is_not_due_again(
    every: timedelta, hour: int | None, later: timedelta, name: str
) -> None:
    """A due time lies behind now by less than a period, and once it is done nothing is due."""
    every = every if hour is None else DAY * max(1, every // DAY)
    first, now = begun(Watermark(name=name), every, hour, NOW), NOW + later
    assert due(first, every, hour, NOW) is None
    at = due(first, every, hour, now)
    if at is None:
        assert later < every + HOUR
        return
    assert first.due_at is not None
    assert max(first.due_at, now - every) < at <= now
    assert hour is None or (at - stagger(name)).hour == hour
    assert due(first.model_copy(update={"due_at": at}), every, hour, now) is None


@pytest.mark.parametrize(
    ("every", "hour"), [(timedelta(), None), (-HOUR, None), (HOUR, 3), (DAY, 24), (DAY, -1)]
)
def test_a_job_that_could_never_be_due_is_refused(every: timedelta, hour: int | None) -> None:
    """The error names the job."""
    with pytest.raises(SettingsError, match="'purge'"):
        Job("purge", every, asyncio.sleep, hour)  # type: ignore[arg-type]


async def test_names_tell_jobs_apart(journal: Journal) -> None:
    """Two jobs of one name are refused."""
    with pytest.raises(SettingsError, match="same name"):
        Stage(journal, ("purge", DAY, None), ("purge", HOUR, None))


# Once


DAILY = [("consolidate", DAY, 3), ("report", DAY, 4), ("purge", DAY, 5)]


async def test_a_first_start_fires_nothing(journal: Journal) -> None:
    """All jobs of a new store wait for a first period, and do not come in the same minute."""
    names = [f"job {number}" for number in range(6)]
    stage = Stage(journal, *[(name, HOUR, None) for name in names])
    assert await stage.wake(MINUTE, 60) == []
    assert sorted(await stage.wake(MINUTE, 60)) == names
    minutes = {when for _, when in stage.did}
    assert len(minutes) > 3


async def test_sixty_wakes_are_one_run(journal: Journal) -> None:
    """An hourly job woken every minute runs once an hour."""
    stage = Stage(journal, ("review", HOUR, None))
    await stage.wake(MINUTE, 120)
    assert [len(await stage.wake(MINUTE, 60)) for _ in range(5)] == [1] * 5
    times = [when for _, when in stage.did]
    assert {later - sooner for sooner, later in itertools.pairwise(times)} == {HOUR}


async def test_run_twice_is_run_once(journal: Journal) -> None:
    """Wakes at the same moment, one after the other or side by side, do the work once."""
    stage = Stage(journal, ("review", HOUR, None))
    await stage.wake(times=2)
    stage.clock.at += 2 * HOUR
    twice = await asyncio.gather(stage.wake(), stage.wake())
    assert sorted(twice) == [[], ["review"]]
    assert await stage.wake(times=3) == []
    mark = await watermarks.read(journal, "review")
    assert mark.done_at == stage.clock.at
    assert mark.due_at is not None
    assert mark.due_at == NOW + stagger("review") + HOUR


async def test_downtime_is_caught_up_once(journal: Journal) -> None:
    """After ten days each job runs once, and then again when its next period is over."""
    stage = Stage(journal, ("review", HOUR, None), *DAILY)
    await stage.wake(times=2)
    assert len(await stage.wake(10 * DAY)) == 4
    assert await stage.wake(times=5) == []
    assert await stage.wake(HOUR) == ["review"]
    assert sorted(await stage.wake(MINUTE, 24 * 60)) == [
        *("consolidate", "purge", "report"),
        *["review"] * 24,
    ]


async def test_a_restart_changes_nothing(journal: Journal) -> None:
    """What is due is in the store: another process neither repeats nor forgets."""
    stage = Stage(journal, ("review", HOUR, None))
    await stage.wake(times=2)
    await stage.wake(2 * HOUR)
    await stage.schedule.stop()
    assert await stage.wake(HOUR) == []  # stopped
    stage.schedule = stage.another()
    assert await stage.wake() == ["review"]
    assert await stage.wake(MINUTE) == []


@pytest.mark.parametrize("day", [(10, 24), (3, 28)])
async def test_summer_time_changes_nothing(journal: Journal, day: tuple[int, int]) -> None:
    """On a clock of Berlin, where an hour is doubled or missing, jobs run by UTC."""
    stage = Stage(journal, ("night", DAY, 1), ("review", HOUR, None))
    noon, berlin = datetime(2026, *day, 12, tzinfo=UTC), ZoneInfo("Europe/Berlin")
    for number in range(1, 48 * 12 + 1):
        stage.clock.at = (noon + number * 5 * MINUTE).astimezone(berlin)
        await run_due(stage.schedule, stage.jobs)
    nights = [when.astimezone(UTC) for name, when in stage.did if name == "night"]
    assert [when.hour for when in nights] == [1, 1]
    assert nights[1] - nights[0] == DAY
    assert len(stage.did) - len(nights) in (46, 47)


async def test_a_clock_that_was_ahead_stops_no_job_for_years(journal: Journal) -> None:
    """Marks and a lease from far ahead are made anew; a clock an hour ahead is waited for."""
    stage = Stage(journal, ("review", HOUR, None))
    stage.clock.at = NOW + 4 * 365 * DAY
    await stage.wake(times=2)
    stage.clock.at, stage.schedule = NOW, stage.another()
    assert await stage.wake() == []
    assert await stage.wake(2 * HOUR) == ["review"]
    assert await stage.wake(-HOUR) == []
    mark = await watermarks.read(journal, "review")
    assert mark.due_at == NOW + stagger("review") + HOUR


# When something fails


async def test_a_job_that_fails_is_tried_again(journal: Journal, told: list[str]) -> None:
    """It is logged, rests for longer and longer, and is done in the end; the other jobs go on."""
    stage = Stage(journal, ("review", HOUR, None), ("purge", HOUR, None))
    await stage.wake(times=2)
    stage.broken.add("review")
    assert await stage.wake(2 * HOUR) == ["purge"]
    assert await stage.wake(MINUTE) == []
    assert "the job review failed" in told[0]
    assert "ValueError" in told[0]
    assert (await watermarks.read(journal, "review")).done_at is None
    stage.broken.clear()
    assert await stage.wake(MINUTE) == []  # it failed twice, and rests for two minutes
    assert await stage.wake(MINUTE) == ["review"]
    assert len(told) == 2


async def test_jobs_are_done_one_after_the_other_and_none_begins_at_the_end(
    journal: Journal,
) -> None:
    """What is due at once is done in its order; a job that waits when the schedule stops is not."""
    clock, did = StageClock(NOW), list[str]()
    at_work, let_go = asyncio.Event(), asyncio.Event()

    def job(name: str) -> Job:
        async def work(now: datetime) -> None:
            did.append(f"{name} begins")
            if name == "review":
                at_work.set()
                await let_go.wait()
            did.append(f"{name} ends")

        return Job(name, HOUR, work)

    jobs = [job("decay"), job("review"), job("purge")]
    schedule = Schedule(journal, jobs, clock=clock)
    for _ in range(2):
        await run_due(schedule, jobs)
    clock.at = NOW + 3 * HOUR
    working = asyncio.create_task(run_due(schedule, jobs))
    await at_work.wait()
    assert did == ["decay begins", "decay ends", "review begins"]
    ending = asyncio.create_task(schedule.stop())
    await asyncio.sleep(0.01)
    let_go.set()
    await ending
    assert await working == ["decay", "review"]
    assert did[-1] == "review ends"


async def test_a_store_that_is_gone_fails_no_wake(tmp_path: Path, told: list[str]) -> None:
    """Neither a wake nor the end raises; both are logged."""
    collection = EdgeCollection.open(tmp_path, LAYOUT)
    stage = Stage(Journal(collection, last_seq=0), ("review", HOUR, None))
    await stage.wake(times=2)
    await collection.close()
    assert await stage.wake(2 * HOUR) == []
    await stage.schedule.renew()
    await stage.schedule.stop()
    assert ["review failed" in told[0], "renewed" in told[1], "given up" in told[2]] == [True] * 3


class Slow:
    """A job every hour whose work ends when it is let go, by name of the schedule that does it."""

    def __init__(self, journal: Journal) -> None:
        self.journal = journal
        self.clock = StageClock(NOW)
        self.at_work: dict[str, asyncio.Future[None]] = {}
        self.moved = asyncio.Event()
        """Set whenever work begins."""
        self.begun: defaultdict[str, asyncio.Event] = defaultdict(asyncio.Event)
        """Set where a schedule is at work or has been."""
        self.inside = self.most = 0
        """That are and that were at work at once."""
        self.did: list[datetime] = []

    def schedule(self, holder: str, patience: float = 5.0) -> Schedule:
        """A schedule with that id."""

        async def work(now: datetime) -> None:
            self.at_work[holder] = asyncio.get_running_loop().create_future()
            self.inside += 1
            self.most = max(self.most, self.inside)
            self.begun[holder].set()
            self.moved.set()
            try:
                await self.at_work[holder]
                self.did.append(now)
            finally:
                self.inside -= 1
                del self.at_work[holder]

        job, leader = Job("review", HOUR, work), Leader(self.journal, holder)
        options = {"clock": self.clock, "leader": leader}
        return Schedule(self.journal, [job], stop_timeout=patience, **options)  # type: ignore[arg-type]

    async def begin(self, schedule: Schedule, holder: str) -> asyncio.Task[bool]:
        """Two hours later, the schedule is at work."""
        for _ in range(2):
            await ended(schedule.begin("review"))
        self.clock.at += 2 * HOUR
        await schedule.renew()
        task = asyncio.create_task(ended(schedule.begin("review")))
        await self.begun[holder].wait()
        return task


async def test_what_is_running_is_not_begun_again(journal: Journal) -> None:
    """Wakes while a job is at work do nothing, even when its next period has come."""
    slow = Slow(journal)
    schedule = slow.schedule("a")
    running = await slow.begin(schedule, "a")
    slow.clock.at += HOUR
    assert schedule.begin("review") is None
    slow.at_work["a"].set_result(None)
    assert await running
    assert (slow.most, len(slow.did)) == (1, 1)


async def test_a_lease_that_cannot_be_renewed_holds_until_it_ends(tmp_path: Path) -> None:
    """Work goes on while the store is out of reach, but not longer than the lease."""
    collection = EdgeCollection.open(tmp_path, LAYOUT)
    slow = Slow(Journal(collection, last_seq=0))
    schedule = slow.schedule("a")
    running = await slow.begin(schedule, "a")
    await collection.close()
    await schedule.renew()
    await asyncio.sleep(0)
    assert slow.at_work
    slow.clock.at += LEASE
    await schedule.renew()
    assert not await asyncio.wait_for(running, 5)


async def test_stopping_lets_work_end(journal: Journal) -> None:
    """`stop` waits for what is running, which is then done; nothing more begins."""
    slow = Slow(journal)
    schedule = slow.schedule("a")
    running = await slow.begin(schedule, "a")
    stopping = asyncio.create_task(schedule.stop())
    await asyncio.sleep(0.01)
    assert not stopping.done()
    assert schedule.begin("review") is None
    slow.at_work["a"].set_result(None)
    await stopping
    assert await running
    assert (await watermarks.read(journal, "review")).done_at == slow.clock.at
    assert (await watermarks.read_lease(journal)).holder == ""


async def test_what_does_not_end_is_cut_off_and_done_again(journal: Journal) -> None:
    """After its patience `stop` cancels the work; the next schedule does it without waiting."""
    slow = Slow(journal)
    schedule = slow.schedule("a", patience=0.01)
    running = await slow.begin(schedule, "a")
    await schedule.stop()
    assert not await running
    assert slow.at_work == {}
    assert (await watermarks.read(journal, "review")).done_at is None
    again = asyncio.create_task(ended(slow.schedule("b").begin("review")))
    await slow.begun["b"].wait()
    slow.at_work["b"].set_result(None)
    assert await again


# Real time


async def test_the_schedule_wakes_by_itself(journal: Journal) -> None:
    """On the real clock a short job runs again and again, until it is stopped."""
    ran: list[datetime] = []
    three = asyncio.Event()

    async def work(now: datetime) -> None:
        ran.append(now)
        if len(ran) % 3 == 0:
            three.set()

    job = Job("often", timedelta(seconds=0.25), work)
    schedule = Schedule(journal, [job], clock=lambda: datetime.now(UTC))
    await schedule.start()
    await schedule.start()
    await asyncio.wait_for(three.wait(), 20)
    await schedule.stop()
    count = len(ran)
    await asyncio.sleep(0.6)
    assert len(ran) == count
    periods = [(when - ran[0]) / job.every for when in ran]
    assert all(b - a > 0.5 for a, b in itertools.pairwise(periods))
    three.clear()
    await schedule.start()
    await asyncio.wait_for(three.wait(), 20)
    await schedule.stop()


async def test_a_start_catches_up_at_once(journal: Journal) -> None:
    """A process that lives for less than a minute still does what was missed."""
    stage = Stage(journal, ("review", HOUR, None))
    await stage.wake(times=2)
    await stage.schedule.stop()
    stage.clock.at += DAY
    stage.schedule = stage.another()
    await stage.schedule.start()
    await stage.schedule.stop()
    assert stage.did == [("review", stage.clock.at)]


# One leader


async def test_of_two_one_leads(either: Journal) -> None:
    """Candidates that ask at the same moment: one is told yes, and stays it while it renews."""
    a, b = Leader(either, "a"), Leader(either, "b")
    await a.lead(NOW)
    answers = set()
    for minute in range(30):
        at = NOW + minute * MINUTE
        answers.add(tuple(await asyncio.gather(a.lead(at), b.lead(at), a.lead(at))))
    assert len(answers) == 1
    assert answers <= {(True, False, True), (False, True, False)}


async def test_a_lease_is_made_by_one_and_taken_later(either: Journal) -> None:
    """Whoever makes the lease does not lead yet: another may be making it just now."""
    a, b = Leader(either, "a"), Leader(either, "b")
    assert sum(await asyncio.gather(a.lead(NOW), b.lead(NOW))) < 2
    assert sum([await a.lead(NOW), await b.lead(NOW)]) == 1


async def test_a_leader_that_is_silent_is_replaced(either: Journal) -> None:
    """After the lease another leads, and the former one learns of it."""
    a, b = Leader(either, "a"), Leader(either, "b")
    assert [await a.lead(NOW), await a.lead(NOW)] == [False, True]
    assert not await b.lead(NOW + LEASE - MICROSECOND)
    assert await b.lead(NOW + LEASE)
    assert not await a.lead(NOW + LEASE)
    assert a.until is None
    await a.release()  # not its own any more
    assert not await a.lead(NOW + LEASE)
    await b.release()
    assert await a.lead(NOW + LEASE)


async def test_a_leader_that_renews_is_not_replaced(journal: Journal) -> None:
    """However often another asks, just before the leader does too."""
    a, b = Leader(journal, "a"), Leader(journal, "b")
    await a.lead(NOW)
    for second in range(0, 600, 31):
        at = NOW + timedelta(seconds=second)
        assert await a.lead(at)
        assert not await b.lead(at + timedelta(seconds=30))


async def test_a_quiet_leader_writes_little(journal: Journal) -> None:
    """A wake each second does not write the lease each second."""
    leader = Leader(journal)
    for second in range(120):
        await leader.lead(NOW + timedelta(seconds=second))
    assert (await watermarks.read_lease(journal)).revision < 8


async def test_work_of_a_deposed_leader_is_cut_off(either: Journal, told: list[str]) -> None:
    """It froze and another leads: at its next renewal its work ends, its mark stays."""
    slow = Slow(either)
    frozen, other = slow.schedule("a"), Leader(either, "b")
    running = await slow.begin(frozen, "a")
    slow.clock.at += LEASE
    assert await other.lead(slow.clock.at)
    await frozen.renew()
    assert not await asyncio.wait_for(running, 5)
    assert (await watermarks.read(either, "review")).done_at is None
    assert "cut off" in told[-1]


async def test_a_late_writer_does_not_overwrite(either: Journal, told: list[str]) -> None:
    """Work that ended after another took over moves no mark that the other has moved."""
    slow = Slow(either)
    running = await slow.begin(slow.schedule("a"), "a")
    slow.clock.at += 3 * HOUR
    second = slow.schedule("b")
    other = asyncio.create_task(ended(second.begin("review")))
    await slow.begun["b"].wait()
    slow.at_work["b"].set_result(None)
    await other
    mark = await watermarks.read(either, "review")
    slow.at_work["a"].set_result(None)
    await running
    assert await watermarks.read(either, "review") == mark
    assert "done by another too" in told[-1]


PULSE = timedelta(seconds=100)
"""Between two renewals of those who are alive: less than a lease."""

orders = st.sampled_from(["a", "b", "ab", "ba"])
moves = st.one_of(
    st.tuples(st.just("wake"), orders),
    st.tuples(st.just("wait"), st.tuples(st.sampled_from([1, 2, 12, 37, 75]), orders)),
    st.tuples(st.just("finish"), st.none()),
    st.tuples(st.sampled_from(["kill", "revive"]), st.sampled_from("ab")),
)


class Rivals(Slow):
    """Two schedules over one store, in any interleaving of what may happen to them."""

    def __init__(self, journal: Journal) -> None:
        super().__init__(journal)
        self.generation = 0
        self.alive: dict[str, str] = {}
        """The id that the schedule of each name has now."""
        self.schedules: dict[str, Schedule] = {}
        self.wakes: list[tuple[str, asyncio.Task[bool]]] = []

    async def revive(self, who: str) -> None:
        """Start it as a new process, if it is dead."""
        if who not in self.alive:
            self.generation += 1
            self.alive[who] = f"{who}{self.generation}"
            self.schedules[who] = self.schedule(self.alive[who])

    async def kill(self, who: str) -> None:
        """Its work ends in the middle, nothing is given up or noted."""
        holder = self.alive.pop(who, "")
        if holder in self.at_work:
            self.at_work[holder].cancel()
        await self.settle()

    async def wake(self, order: str) -> None:
        """Wake them without waiting for one before the other."""
        for who in order:
            if who in self.alive:
                tick = asyncio.create_task(ended(self.schedules[who].begin("review")))
                tick.add_done_callback(lambda _: self.moved.set())
                self.wakes.append((self.alive[who], tick))
        await self.settle()

    async def wait(self, how: tuple[int, str]) -> None:
        """Time passes; those who are named, or are at work, renew their lease, the others sleep."""
        pulses, order = how
        for _ in range(pulses):
            self.clock.at += PULSE
            awake = [who for who in "ab" if who in order or self.alive.get(who) in self.at_work]
            awake.sort(key=lambda who: (order + "ab").index(who))
            await asyncio.gather(*[self.schedules[w].renew() for w in awake if w in self.alive])

    async def finish(self, _: None = None) -> None:
        """Work that is being done ends."""
        for future in list(self.at_work.values()):
            future.set_result(None)
        await self.settle()

    async def settle(self) -> None:
        """Until each wake is over or at work."""
        while True:
            self.moved.clear()
            self.wakes = [(holder, task) for holder, task in self.wakes if not task.done()]
            if all(self.is_at_work(holder) for holder, _ in self.wakes):
                return
            await self.moved.wait()

    def is_at_work(self, holder: str) -> bool:
        """Whether its work waits to be let go."""
        return holder in self.at_work and not self.at_work[holder].done()

    async def play(self, steps: Sequence[tuple[str, object]]) -> None:
        """All that, and then three quiet hours with both alive."""
        for who in "ab":
            await self.revive(who)
        await self.wake("ab")
        mark = await watermarks.read(self.journal, "review")
        assert mark.due_at is not None
        for move, how in steps:
            await getattr(self, move)(how)
        for who in "ab":
            await self.revive(who)
        await self.finish()
        before = self.clock.at
        while self.clock.at < before + 3 * HOUR:
            await self.wait((6, "ab"))
            await self.wake("ba")
            await self.finish()
        periods = [(when - mark.due_at) // HOUR for when in self.did]
        assert self.most <= 1
        assert len(set(periods)) == len(periods)
        last = (self.clock.at - mark.due_at) // HOUR
        assert set(range(last - 1, last + 1)) <= set(periods)


@settings(max_examples=60)
@given(steps=st.lists(moves, max_size=25))
def test_each_period_is_worked_once(edge: EdgeCollection, steps: list[tuple[str, object]]) -> None:
    """Whoever wakes, sleeps or dies: never two at once, no period twice, none left out."""

    async def run() -> None:
        await asyncio.wait_for(Rivals(await emptied(edge)).play(steps), 20)

    asyncio.run(run())


@settings(max_examples=8)
@given(steps=st.lists(moves, max_size=12))
def test_each_period_is_worked_once_on_a_server(steps: list[tuple[str, object]]) -> None:
    """The same where another may come between a question and its answer."""

    async def run() -> None:
        client = QdrantClient(":memory:")
        collection = await ServerCollection.open(":memory:", LAYOUT, client=client)
        await asyncio.wait_for(Rivals(Journal(collection, last_seq=0)).play(steps), 20)
        client.close()

    asyncio.run(run())
