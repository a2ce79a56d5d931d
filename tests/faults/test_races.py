"""Several processes and one folder: one has it at a time, and nothing that one accepted is lost."""

import asyncio
import json
import os
import random
import shutil
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from souffleur.api import Souffleur
from tests.build import open_base
from tests.faults.child import Child, running
from tests.faults.racer import Answer, Order, keep, settings
from tests.place import in_folder

TOGETHER = 3
IN_USE = 4
"""The exit code that says so."""


class Racer:
    """A process that is ready to open a store."""

    def __init__(self, process: Child) -> None:
        self.process = process

    def start(self, order: Order) -> None:
        """Have it begin."""
        self.process.send(order.line())

    async def answer(self) -> Answer:
        """What came of it."""
        line = await asyncio.to_thread(self.process.stdout.readline)
        return Answer(**json.loads(line))


@contextmanager
def racers(count: int) -> Iterator[list[Racer]]:
    """So many processes, ready; killed at the end."""
    with ExitStack() as stack:
        started = [stack.enter_context(running("tests.faults.racer")) for _ in range(count)]
        for process in started:
            assert process.stdout.readline() == "ready\n"
        yield [Racer(process) for process in started]


async def assert_kept(folder: Path, answers: Sequence[Answer]) -> None:
    """The store opens, and holds each turn and memory once that an answer says was accepted."""
    base = await open_base(folder, dimension=16)
    turns = sorted(turn.user for turn in await base.journal.turns())
    memories = sorted(memory.content for memory in await base.list(None))
    await base.close()
    assert turns == sorted(one.turn for one in answers if one.turn)
    assert memories == sorted(one.memory for one in answers if one.memory)


def assert_names_holder(refused: str, folder: Path, pids: Sequence[int]) -> None:
    """The error says that the folder is in use, and by whom."""
    told = [f"The store at '{folder}' is in use by process {pid} since" for pid in pids]
    told.append(f"The store at '{folder}' is in use by another process;")
    assert any(one in refused for one in told), refused


@in_folder
@pytest.mark.parametrize(
    "attempts", [2, pytest.param(200, marks=pytest.mark.soak)], ids=["two", "two hundred"]
)
async def test_a_first_start_is_made_by_one_at_a_time(tmp_path: Path, attempts: int) -> None:
    """Of several that open a new folder at once each has it alone, or is told who has it."""
    chance, folder, refusals = random.Random(2), tmp_path / "store", 0
    with racers(TOGETHER) as several:
        for _ in range(attempts):
            for place, racer in enumerate(several):
                delay = chance.choice((0.0, 0.0, chance.uniform(0.0, 0.3)))
                racer.start(Order(str(folder), f"user{place}", delay=delay))
            answers = [await racer.answer() for racer in several]
            refused = [one for one in answers if not one.turn]
            for one in refused:
                others = [other.pid for other in answers if other is not one]
                assert_names_holder(one.refused, folder, others)
            assert len(refused) < TOGETHER
            refusals += len(refused)
            await assert_kept(folder, answers)
            shutil.rmtree(folder)
    assert refusals > 0


@in_folder
@pytest.mark.parametrize(
    "intruders", [3, pytest.param(200, marks=pytest.mark.soak)], ids=["three", "two hundred"]
)
async def test_a_host_writes_on_whoever_else_comes(tmp_path: Path, intruders: int) -> None:
    """What is tried on a store in use is refused or goes through its host, and harms nothing."""
    chance, folder = random.Random(4), tmp_path / "store"
    kept: list[Answer] = []
    with racers(2) as several:
        async with Souffleur.open(settings(folder)) as memory:
            for attempt in range(0, intruders, len(several)):
                for place, racer in enumerate(several):
                    do = ("open", "list", "doctor")[(attempt + place) % 3]
                    racer.start(Order(str(folder), "intruder", do, chance.uniform(0.0, 0.02)))
                coming = asyncio.gather(*(racer.answer() for racer in several))
                while not coming.done():
                    kept.append(await keep(memory, f"user{len(kept)}"))
                    assert await memory.flush()
                for answer in await coming:
                    assert (answer.turn, answer.code in {0, IN_USE}) == ("", True)
                    if answer.code == IN_USE:  # else it worked through the host
                        assert_names_holder(answer.refused, folder, [os.getpid()])
    assert all(one.turn and one.memory and not one.refused for one in kept)
    await assert_kept(folder, kept)


@in_folder
@pytest.mark.parametrize(
    "kills", [1, pytest.param(50, marks=pytest.mark.soak)], ids=["one", "fifty"]
)
async def test_a_killed_holder_leaves_the_folder_free(tmp_path: Path, kills: int) -> None:
    """After kill -9 the next one opens the store at once, and all that was accepted is there."""
    folder = tmp_path / "store"
    kept: list[Answer] = []
    for place in range(kills):
        with racers(1) as (holder,):
            holder.start(Order(str(folder), f"user{place}", "hold"))
            kept.append(await holder.answer())
            holder.process.kill()
            holder.process.wait()
        assert kept[-1].turn
        await assert_kept(folder, kept)
