"""A damaged file of a store: all that was there is read, or an error tells of the damage."""

import json
import random
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from souffleur.knowledge.store.engine.checksums import data_blocks
from tests.faults.child import ROOT, environment
from tests.place import in_folder

COMMAND = [sys.executable, "-P", "-m", "tests.faults.inspector"]
Damage = Callable[[random.Random, Path], None]


def truncate(chance: random.Random, file: Path) -> None:
    """Cut the end off."""
    with file.open("r+b") as data:
        data.truncate(chance.randrange(file.stat().st_size))


def zero(chance: random.Random, file: Path) -> None:
    """Put zeros for up to 4 KB."""
    start = somewhere(chance, file)
    length = min(chance.randint(1, 4096), file.stat().st_size - start)
    with file.open("r+b") as data:
        data.seek(start)
        data.write(bytes(length))


def flip(chance: random.Random, file: Path) -> None:
    """Flip a bit in up to eight places."""
    with file.open("r+b") as data:
        for _ in range(chance.randint(1, 8)):
            start = somewhere(chance, file)
            data.seek(start)
            (byte,) = data.read(1)
            data.seek(start)
            data.write(bytes([byte ^ 1 << chance.randrange(8)]))


def delete(chance: random.Random, file: Path) -> None:
    """Take the file away."""
    file.unlink()


def replace(chance: random.Random, file: Path) -> None:
    """Put garbage for the whole file."""
    file.write_bytes(chance.randbytes(min(file.stat().st_size, 1 << 16)))


def empty(chance: random.Random, file: Path) -> None:
    """Leave nothing in it."""
    file.write_bytes(b"")


def append(chance: random.Random, file: Path) -> None:
    """Add garbage at its end."""
    with file.open("ab") as data:
        data.write(chance.randbytes(chance.randint(1, 4096)))


def make_folder(chance: random.Random, file: Path) -> None:
    """Put a folder in its place."""
    file.unlink()
    file.mkdir()


def swap(chance: random.Random, file: Path) -> None:
    """Change places with another file of the same collection."""
    store = next(folder for folder in file.parents if (folder / "wal").exists())
    other = chance.choice([one for one in files(store) if one != file])
    between = file.with_name("between")
    file.rename(between)
    other.rename(file)
    between.rename(other)


DAMAGES: list[Damage] = [
    truncate,
    zero,
    flip,
    delete,
    replace,
    empty,
    append,
    swap,
    make_folder,
]


def files(folder: Path) -> list[Path]:
    """All files below a folder that hold something."""
    return sorted(file for file in folder.rglob("*") if file.is_file() and file.stat().st_size)


def content(file: Path) -> tuple[int, list[tuple[int, bytes]]] | None:
    """The size of a file and all in it that is not zeros; None if it is no file any more."""
    return (file.stat().st_size, list(data_blocks(file))) if file.is_file() else None


def somewhere(chance: random.Random, file: Path) -> int:
    """A place in a file: mostly in a part that is not all zeros."""
    blocks = list(data_blocks(file))
    if not blocks or chance.random() < 0.2:
        return chance.randrange(file.stat().st_size)
    start, block = chance.choice(blocks)
    return start + chance.choice([place for place, byte in enumerate(block) if byte])


def one_of(chance: random.Random, store: Path) -> Path:
    """A file of a store: every other time one that is no index, for there are many of those."""
    found = [file for file in files(store) if file.parent != store]
    if chance.random() < 0.5:
        found = [file for file in found if "payload_index" not in file.parts]
    return chance.choice(found)


def copy(store: Path, to: Path) -> None:
    """Copy a store, without the zeros that no disk holds."""
    for file in store.rglob("*"):
        there = to / file.relative_to(store)
        if file.is_dir():
            there.mkdir(parents=True, exist_ok=True)
            continue
        there.parent.mkdir(parents=True, exist_ok=True)
        with there.open("wb") as data:
            data.truncate(file.stat().st_size)
            for start, block in data_blocks(file):
                data.seek(start)
                data.write(block)


class Inspector:
    """A process that reads stores."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process

    def __call__(self, store: Path) -> dict[str, str]:
        """What reading the store comes to: `told`, `digest`, `raised` or `died`."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{store}\n")
        self._process.stdin.flush()
        found: dict[str, str] = json.loads(self._process.stdout.readline())
        return found


@pytest.fixture
def inspect() -> Iterator[Inspector]:
    """Reads stores in a process of its own."""
    pipe = subprocess.PIPE
    with subprocess.Popen(
        COMMAND, cwd=ROOT, env=environment(), stdin=pipe, stdout=pipe, text=True
    ) as process:
        yield Inspector(process)


def made(folder: Path, how: str) -> Path:
    """A store that a process made, which closed it or died with it open."""
    subprocess.run([*COMMAND, str(folder), how], cwd=ROOT, env=environment(), check=True)
    return folder


def campaign(store: Path, inspect: Inspector, attempts: int, seed: int) -> list[tuple[str, str]]:
    """Damage copies of a store; what was done to which file, and what reading it came to."""
    chance, outcomes = random.Random(seed), []
    whole = store.with_name("whole")
    copy(store, whole)
    expected = inspect(whole)
    assert "digest" in expected
    for _ in range(attempts):
        damaged = store.with_name("damaged")
        copy(store, damaged)
        file = one_of(chance, damaged)
        name, before = file.relative_to(damaged), content(file)
        while content(file) == before:  # zeros for zeros are no damage
            damage = chance.choice(DAMAGES)
            damage(chance, file)
        ((how, what),) = inspect(damaged).items()
        if how == "digest":
            how = "whole" if what == expected["digest"] else "silent"
        outcomes.append((how, f"{damage.__name__} {name}: {what}"))
        shutil.rmtree(damaged)
    return outcomes


@in_folder
@pytest.mark.parametrize(
    "attempts", [3, pytest.param(200, marks=pytest.mark.soak)], ids=["three", "two hundred"]
)
def test_damage_to_a_closed_store_is_told(
    tmp_path: Path, inspect: Inspector, attempts: int
) -> None:
    """Whatever happens to a file while the store is closed, opening it says so."""
    store = made(tmp_path / "store", "closed")
    outcomes = campaign(store, inspect, attempts, seed=5)
    assert [what for how, what in outcomes if how != "told"] == []


@in_folder
@pytest.mark.soak
def test_damage_to_a_killed_store_is_mostly_told(tmp_path: Path, inspect: Inspector) -> None:
    """Of a store whose process died there are no sums: up to one damage in ten is not noticed."""
    store = made(tmp_path / "store", "killed")
    outcomes = Counter(how for how, _ in campaign(store, inspect, 200, seed=6))
    assert outcomes["whole"] + outcomes["told"] >= 180, outcomes
