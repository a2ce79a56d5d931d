"""Two schedules over one store, each a process: one works, and when it dies the next goes on.

`test_schedule.py` has two of them in one process, and over one server.
"""

import asyncio
import os
import random
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from souffleur.knowledge.memory import Memory, MemoryState
from souffleur.knowledge.store.runs import watermarks
from souffleur.knowledge.store.runs.watermarks import LEASE, Lease, Watermark
from souffleur.service.jobs import WAKE_INTERVAL
from tests.build import NOW, fill, open_base
from tests.faults.child import ROOT, Child, environment, running
from tests.faults.keeper import JOB, let_pass, plans, prepare
from tests.faults.test_kill_runs import live
from tests.place import in_folder, variables

COMMAND = [sys.executable, "-P", "-m", "souffleur", "schedule"]


def beside(folder: Path) -> dict[str, str]:
    """The environment of a command over the store in a folder."""
    return {**environment(), **variables(folder), "SOUFFLEUR_EMBEDDER": "hash:64"}


@contextmanager
def scheduled(folder: Path) -> Iterator[Child]:
    """`souffleur schedule` as a process that has begun what is due; killed at the end."""
    loads = ("souffleur.service.jobs", "souffleur.service.jobs")
    with running("souffleur", "schedule", env=beside(folder), loads=loads) as process:
        assert process.stdout.readline().startswith("scheduled: decay")
        yield process


def stop(process: Child) -> int:
    """Interrupt it, and wait until what it has begun is done; its exit code."""
    process.send_signal(signal.SIGTERM)
    return process.wait()


def one_more(folder: Path) -> tuple[int, str, str]:
    """One more `souffleur schedule`: its exit code, and what it prints."""
    other = subprocess.run(
        COMMAND,
        cwd=ROOT,
        env=beside(folder),
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    return other.returncode, other.stdout, other.stderr


async def assert_gone_once(folder: Path, made: Sequence[Memory]) -> tuple[Watermark, Lease]:
    """Each plan was archived by one entry; returns up to when decay is done, and who leads."""
    base = await open_base(folder, dimension=64)
    entries = await base.journal.entries()
    assert sorted(id for entry in entries for id in entry.memory_ids) == sorted(
        one.id for one in made
    )
    assert {(entry.op, entry.refused) for entry in entries} == {("ARCHIVE", None)}
    stored = await base.list(None, states=tuple(MemoryState))
    assert [one.state for one in stored] == [MemoryState.ARCHIVED] * len(made)
    mark = await watermarks.read(base.journal, JOB)
    lease = await watermarks.read_lease(base.journal)
    await base.close()
    return mark, lease


async def two_hours_later(folder: Path, now: datetime, *more: Memory) -> Watermark:
    """Decay is due again, also for these; its mark."""
    base = await open_base(folder, dimension=64)
    await fill(base, *more)
    await let_pass(base.journal, now)
    mark = await watermarks.read(base.journal, JOB)
    await base.close()
    return mark


@in_folder
async def test_a_second_process_is_told_and_a_third_takes_over(tmp_path: Path) -> None:
    """The first goes on; after kill -9 nothing is done again, and what comes due is done."""
    made = await prepare(tmp_path, datetime.now(UTC))
    with scheduled(tmp_path) as first:
        code, said, _ = await asyncio.to_thread(one_more, tmp_path)
        assert code == 0
        assert said.startswith("scheduled by the process that has the store: decay")
        assert not first.has_ended()
        first.kill()
        assert first.wait() == -signal.SIGKILL
    mark, lease = await assert_gone_once(tmp_path, made)
    assert mark.done_at is not None
    assert lease.holder  # it could not give it up
    now = datetime.now(UTC)
    more = plans(now, "more")
    before = await two_hours_later(tmp_path, now, *more)
    for _ in range(2):  # the fourth has nothing to do
        with scheduled(tmp_path) as third:
            assert stop(third) == 0
        mark, lease = await assert_gone_once(tmp_path, [*made, *more])
        assert mark.revision == before.revision + 1
        assert lease.holder == ""


@in_folder
async def test_the_message_says_which_process_has_the_store(tmp_path: Path) -> None:
    """It names the process by its number, so that one can end it."""
    base = await open_base(tmp_path, dimension=64)
    code, _, said = await asyncio.to_thread(one_more, tmp_path)
    assert code == 4
    await base.close()
    assert str(os.getpid()) in said.replace(str(tmp_path), "")


@pytest.mark.soak
async def test_a_dead_leader_is_replaced_when_its_lease_ends(tmp_path: Path) -> None:
    """On the real clock the next process waits for as long, and then does what is due."""
    made = await prepare(tmp_path, datetime.now(UTC))
    with scheduled(tmp_path) as first:
        await asyncio.sleep(5)
        first.kill()
    _, lease = await assert_gone_once(tmp_path, made)
    assert lease.holder
    base = await open_base(tmp_path, dimension=64)
    mark = await watermarks.read(base.journal, JOB)
    long_ago = mark.model_copy(update={"due_at": datetime.now(UTC) - timedelta(hours=2)})
    assert await watermarks.save(base.journal, long_ago, by="test")
    more = plans(datetime.now(UTC), "more")
    await fill(base, *more)
    await base.close()
    with scheduled(tmp_path) as third:
        await asyncio.sleep((LEASE + 2 * WAKE_INTERVAL).total_seconds())
        assert stop(third) == 0
    await assert_gone_once(tmp_path, [*made, *more])


@pytest.mark.parametrize(
    ("kills", "most"), [(2, 24), pytest.param(60, 40, marks=pytest.mark.soak)], ids=["few", "sixty"]
)
async def test_a_schedule_that_dies_does_its_job_once(
    tmp_path: Path, kills: int, most: int
) -> None:
    """Before any write, of the lease, the ledger or the mark: the next leader does the rest."""
    chance, made, life = random.Random(2), await prepare(tmp_path, NOW), 0
    for kill in range(kills):
        life += 3  # minutes, after which the lease of the dead one is over
        if live("keeper", tmp_path, writes=chance.randrange(most), seed=life):
            await assert_gone_once(tmp_path, made)
            more = plans(NOW, f"day {kill}")
            await two_hours_later(tmp_path, NOW + timedelta(minutes=life), *more)
            made += more
    for _ in range(2):  # the second has nothing to do
        life += 3
        assert live("keeper", tmp_path, seed=life)
        await assert_gone_once(tmp_path, made)
