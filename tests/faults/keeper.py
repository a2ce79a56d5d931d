"""The schedule of a store, waking once at a given time, and dying before a given write."""

import asyncio
import sys
from datetime import datetime, timedelta
from pathlib import Path

from souffleur.api import Souffleur
from souffleur.knowledge.memory import Kind, Memory
from souffleur.knowledge.operation import derive_id
from souffleur.knowledge.store.ledger import Journal
from souffleur.knowledge.store.runs import watermarks
from souffleur.knowledge.store.runs.watermarks import Leader
from souffleur.parts import Parts
from souffleur.service.jobs import Schedule, jobs_of
from souffleur.settings import Settings
from souffleur.times import from_clock
from tests.build import NOW, days, fill, memory, open_base
from tests.faults.reviewing import deadly
from tests.place import where

JOB = "decay"
PLANS = 10


def plans(now: datetime, name: str = "day") -> list[Memory]:
    """Plans that are over."""
    return [
        memory(
            f"Ann plans {name} {place}.",
            id=derive_id("plan", name, place),
            kind=Kind.TODO,
            expires_at=now - days(1),
            created_at=now - days(9),
        )
        for place in range(PLANS)
    ]


async def let_pass(journal: Journal, now: datetime) -> None:
    """It is two hours since decay was last done, and whoever led is not heard of any more."""
    mark, lease = await watermarks.read(journal, JOB), await watermarks.read_lease(journal)
    long_ago = mark.model_copy(update={"due_at": now - timedelta(hours=2)})
    silent = lease.model_copy(update={"until": now - timedelta(seconds=1) if lease.until else None})
    assert await watermarks.save(journal, long_ago, by="test")
    assert await watermarks.save(journal, silent, by="test")


async def prepare(folder: Path, now: datetime) -> list[Memory]:
    """A store whose decay is due, with a lease that is free; the plans that are over in it."""
    base, made = await open_base(folder, dimension=64), plans(now)
    await fill(base, *made)
    await Leader(base.journal).lead(now)
    await let_pass(base.journal, now)
    await base.close()
    return made


async def _main(folder: Path, writes: int, minutes: int) -> None:
    now = NOW + timedelta(minutes=minutes)
    knowledge = await deadly(folder, writes)
    memory = Souffleur(Parts(knowledge, times=from_clock(lambda: now)), Settings(**where(folder)))
    jobs = jobs_of(memory.parts)
    keeping = Schedule(knowledge.journal, jobs, clock=memory.clock)
    print("open", flush=True)
    await asyncio.wait([task for job in jobs if (task := keeping.begin(job.name))])
    await keeping.stop()
    await knowledge.close()
    print("done", flush=True)


if __name__ == "__main__":
    asyncio.run(_main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])))
