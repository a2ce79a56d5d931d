"""The spool: turns on this machine's disk until they are on the server.

One file per process, a line per turn, and a line with its number for each turn that has arrived.
What a process left behind is delivered by the next one that opens the same folder.
"""

import itertools
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from threading import Lock
from typing import IO
from uuid import uuid4

import portalocker
from loguru import logger
from pydantic import ValidationError

from souffleur.knowledge.talk.turn import Turn

COMPACT_BYTES = 1 << 20
"""Size from which the lines of turns that have arrived are dropped while others wait."""


class Spool:
    """The file of this process. Every method may be called from any thread."""

    def __init__(self, folder: Path, *, power_safe: bool) -> None:
        """Create the file when the first turn comes; `power_safe` syncs each turn to the disk."""
        self._folder = folder
        self._power_safe = power_safe
        self._file: IO[str] | None = None
        self._numbers = itertools.count(1)
        self._lines: dict[int, str] = {}
        """The lines of turns that have not arrived."""
        self._taken: list[IO[str]] = []
        """Files that processes have left behind, locked."""
        self._torn = False
        """Whether the last line may be half written."""
        self._alone = Lock()

    def add(self, turn: Turn) -> int:
        """Write a turn to the file; return its number. Raises OSError if it cannot be written."""
        with self._alone:
            number = next(self._numbers)
            line = json.dumps({"number": number, "turn": turn.model_dump_json()}) + "\n"
            file = self._file = self._file or self._create()
            start, self._torn = "\n" if self._torn else "", True
            self._write(file, start + line)
            self._torn = False
            self._lines[number] = line
            return number

    def drop(self, number: int) -> None:
        """Note that a turn has arrived; when all have, the file is emptied."""
        with self._alone:
            if self._lines.pop(number, None) is None or self._file is None:
                return
            try:
                if not self._lines:
                    self._file.truncate(0)
                elif os.fstat(self._file.fileno()).st_size > COMPACT_BYTES:
                    self._compact(self._file)
                else:
                    self._file.write(json.dumps({"arrived": number}) + "\n")
                    self._file.flush()
            except OSError as error:  # at worst it is delivered twice, and found to be there
                logger.warning("the spool could not be shortened: {}", error)

    def take_up(self) -> list[Turn]:
        """Return the turns that processes which are gone have left, the oldest file first."""
        turns: list[Turn] = []
        for path in sorted(self._folder.glob("*.jsonl"), key=_age):
            try:
                file = path.open("r+", encoding="utf-8")
            except OSError:
                continue
            try:
                portalocker.lock(file, portalocker.LOCK_EX | portalocker.LOCK_NB)
            except portalocker.LockException:  # its process lives, or another one takes it up
                file.close()
                continue
            self._taken.append(file)
            turns += read_turns(file)
        return turns

    def drop_taken(self) -> None:
        """Delete the files that `take_up` has read: their turns are in this process's file."""
        for file in self._taken:
            Path(file.name).unlink(missing_ok=True)
            file.close()
        self._taken = []

    def close(self) -> None:
        """Close the file, and delete it if every turn has arrived; let go of what was taken up."""
        with self._alone:
            for taken in self._taken:
                taken.close()
            self._taken = []
            if self._file is None:
                return
            path = Path(self._file.name)
            self._file.close()
            self._file = None
            if not self._lines:
                path.unlink(missing_ok=True)

    def _create(self) -> IO[str]:
        """Return a new file, locked. Raises OSError."""
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        while True:
            path = self._folder / f"{uuid4()}.jsonl"
            file = path.open("a+", encoding="utf-8")
            try:
                path.chmod(0o600)
                portalocker.lock(file, portalocker.LOCK_EX | portalocker.LOCK_NB)
            except (portalocker.LockException, FileNotFoundError):
                file.close()
                continue
            if path.exists():  # else a process that took it for one left behind has deleted it
                return file
            file.close()

    def _compact(self, old: IO[str]) -> None:
        """Go on in a new file with the turns that wait; until it is whole, the old one stays."""
        new = self._create()
        try:
            self._write(new, "".join(self._lines.values()))
        except OSError:
            Path(new.name).unlink(missing_ok=True)
            with suppress(OSError):  # what is in its buffer cannot be written either
                new.close()
            raise
        self._file = new
        Path(old.name).unlink(missing_ok=True)
        old.close()

    def _write(self, file: IO[str], lines: str) -> None:
        file.write(lines)
        file.flush()
        if self._power_safe:
            os.fsync(file.fileno())


def read_turns(lines: Iterator[str] | IO[str]) -> list[Turn]:
    r"""Return the turns of a file that have not arrived; what a crash cut off is left out.

    >>> read_turns(iter(['{"number": 1, "turn": "{}"}\n', '{"arrived": 1}\n', '{"num']))
    []
    """
    turns: dict[int, str] = {}
    for line in lines:
        try:
            said: Mapping[str, object] = json.loads(line)
        except ValueError:
            continue
        if "arrived" in said:
            turns.pop(int(str(said["arrived"])), None)
        else:
            turns[int(str(said["number"]))] = str(said["turn"])
    found = []
    for text in turns.values():
        try:
            found.append(Turn.model_validate_json(text))
        except ValidationError:
            logger.error("a turn in the spool cannot be read, and is left out")
    return found


def _age(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0
