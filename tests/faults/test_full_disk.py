"""A real disk that fills up under a host: the host hears of it, lives on, and loses nothing."""

import json
import os
import random
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from shutil import disk_usage

import pytest

from souffleur.api import Souffleur
from souffleur.errors import FileError
from souffleur.knowledge.store.engine.files import BYTES_TO_OPEN, BYTES_TO_WRITE, MB
from souffleur.parts import Parts
from souffleur.settings import Settings
from souffleur.times import from_clock
from tests.build import NOW, open_base, turn
from tests.faults.child import Child, running
from tests.faults.filler import Answer
from tests.place import in_folder

STEP = 4 * MB
"""The other program writes so much at once."""


@contextmanager
def disk(place: Path, size: int) -> Iterator[Path]:
    """A disk of that many bytes; only root may have one."""
    place.mkdir()
    options = f"size={size},huge=never"
    command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(place)]
    if os.name != "posix" or os.geteuid() != 0:
        pytest.skip("only root may mount a small disk")
    mounted = subprocess.run(command, capture_output=True, text=True, check=False)
    if mounted.returncode:
        pytest.skip(f"no small disk can be mounted: {mounted.stderr}")
    try:
        yield place
    finally:
        subprocess.run(["umount", str(place)], check=True)


class Host:
    """A process that observes turns in a folder."""

    def __init__(self, process: Child) -> None:
        self.process = process

    def start(self, order: object) -> None:
        """Have it observe so many, `flush` or `close`."""
        self.process.send(str(order))

    def answer(self) -> Answer:
        """What came of it; an error if the process has died."""
        line = self.process.stdout.readline()
        assert line, f"the host has died: {self.process.wait()}"
        said = json.loads(line)
        return Answer(tuple(said["durable"]), tuple(said["held"]), said["trouble"])

    def do(self, order: object) -> Answer:
        """Both."""
        self.start(order)
        return self.answer()


@contextmanager
def host(folder: Path) -> Iterator[Host]:
    """A host of the store in a folder; killed at the end."""
    with running("tests.faults.filler", folder) as process:
        yield Host(process)


def fill(ballast: Path, left: int) -> None:
    """Write until no more than so many bytes are left; what has begun has a second to end."""
    paused = False
    with ballast.open("ab", buffering=0) as data:
        while (free := disk_usage(ballast.parent).free) > left:
            if free < BYTES_TO_WRITE and not paused:
                time.sleep(1.0)
                paused = True
            data.write(bytes(min(STEP, free - left)))
            time.sleep(0.001)


async def observed(folder: Path) -> list[str]:
    """The ids of all turns of a store."""
    base = await open_base(folder, dimension=16)
    ids = [turn.turn_id for turn in await base.journal.turns()]
    await base.close()
    return ids


def test_too_small_a_disk_is_told(tmp_path: Path) -> None:
    """Opening says how much there is and how much is needed, and leaves room and folder as is."""
    with disk(tmp_path / "disk", BYTES_TO_OPEN - 5 * MB) as small, host(small / "store") as one:
        told = one.answer().trouble
        assert f"has 94 MB left and {BYTES_TO_OPEN // MB} MB are needed: make room" in told
        assert one.process.wait() == 0


async def test_a_file_that_has_no_room_is_told(tmp_path: Path) -> None:
    """Neither a backup nor an export leaves anything there, and the error names the file."""
    base = await open_base(tmp_path / "store", dimension=16)
    base.journal.record(turn("hello", "hi"))
    memory = Souffleur(Parts(base, times=from_clock(lambda: NOW)), Settings())
    with disk(tmp_path / "small", 64 * 1024) as small:
        ballast = small / "ballast"
        with suppress(OSError), ballast.open("wb", buffering=0) as out:
            while out.write(b"." * 4096):
                pass
        with pytest.raises(FileError, match=r"b\.zip cannot be written: No space left"):
            await memory.backup(small / "b.zip")
        with pytest.raises(FileError, match=r"e\.jsonl cannot be written: No space left"):
            await memory.export(small / "e.jsonl")
        assert {one.name for one in small.iterdir()} == {"ballast"}
    await memory.close()


@in_folder
@pytest.mark.parametrize(
    "times", [1, pytest.param(40, marks=pytest.mark.soak)], ids=["once", "forty times"]
)
async def test_a_host_outlives_a_full_disk(tmp_path: Path, times: int) -> None:
    """While another program fills the disk it goes on; with room again all turns are written."""
    chance, said = random.Random(9), 0
    with disk(tmp_path / "disk", 480 * MB) as small:
        ballast, folder = small / "ballast", small / "store"
        with host(folder) as one:
            assert one.answer().trouble == ""
            for _ in range(times):
                one.start(100)
                fill(ballast, chance.choice((0, chance.randrange(BYTES_TO_WRITE))))
                one.answer()
                full = one.do(5)
                assert (full.durable, "make room" in full.trouble) == ((), True)
                ballast.unlink()
                assert one.do(1).held == ()
                assert one.do("flush") == Answer()
                said += 106
            fill(ballast, 0)
            one.do(1)
            told = one.do("close").trouble
            assert "is lost, turns: 1." in told or "could not flush" in told
        ballast.unlink()
        assert await observed(folder) == [str(place) for place in range(said)]


@in_folder
async def test_a_full_disk_and_a_kill_lose_nothing_accepted(tmp_path: Path) -> None:
    """A host that is killed while the disk is full has on it what it was told is durable."""
    with disk(tmp_path / "disk", 480 * MB) as small:
        ballast, folder = small / "ballast", small / "store"
        with host(folder) as one:
            one.answer()
            one.start(200)
            fill(ballast, 0)
            answer = one.answer()
        ballast.unlink()
        found = await observed(folder)
        assert found == list(answer.durable)
