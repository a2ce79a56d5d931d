"""The outbox: takes turns at once, and writes them to a server in threads, each user's in order.

A turn is on this machine's disk until the server has it. So it survives a crash of this process
and an outage of the server, and no caller waits for the server.
"""

import itertools
import json
import os
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from threading import Condition, Lock
from typing import IO
from uuid import uuid4

import portalocker
from loguru import logger
from pydantic import ValidationError

from souffleur.errors import SouffleurError, StoreError
from souffleur.knowledge.turn import Turn
from souffleur.telemetry.log_lines import describe, trace_bug

COMPACT_BYTES = 1 << 20
"""Bytes of the file above which the lines of arrived turns are dropped while other turns wait."""


class Spool:
    """The file of turns that this process writes. Its methods may be called from any thread."""

    def __init__(self, folder: Path, *, power_safe: bool) -> None:
        """Create the file when the first turn comes; `power_safe` syncs each turn to the disk."""
        self._folder = folder
        self._power_safe = power_safe
        self._file: IO[str] | None = None
        self._numbers = itertools.count(1)
        self._lines: dict[int, str] = {}
        """The lines of turns that have not arrived."""
        self._taken: list[IO[str]] = []
        """Files of processes that have ended; this process holds their locks."""
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
        """Note that a turn has arrived; when all turns have arrived, the file is emptied."""
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
            except OSError as error:  # at worst the turn is sent again: the store skips it
                logger.warning("the spool could not be shortened: {}", error)

    def take_up(self) -> list[Turn]:
        """Return the turns that processes left before they ended, the oldest file first."""
        turns: list[Turn] = []
        for path in sorted(self._folder.glob("*.jsonl"), key=_age):
            try:
                file = path.open("r+", encoding="utf-8")
            except OSError:
                continue
            try:
                portalocker.lock(file, portalocker.LOCK_EX | portalocker.LOCK_NB)
            except portalocker.LockException:  # its process runs, or another process reads the file
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
        """Close the file, and delete it if every turn has arrived; unlock the files of others."""
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
            if path.exists():  # before the lock, another process may have taken and deleted it
                return file
            file.close()

    def _compact(self, old: IO[str]) -> None:
        """Move the waiting turns to a new file; delete the old file when the new is complete."""
        new = self._create()
        try:
            self._write(new, "".join(self._lines.values()))
        except OSError:
            Path(new.name).unlink(missing_ok=True)
            with suppress(OSError):  # its buffer cannot be written either
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
    r"""Return the turns of a file that have not arrived; skips a line that a crash cut off.

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


MAX_DELIVERIES = 8
"""Number of users whose turns are written at the same time."""

Task = Callable[[], object]


class Outbox:
    """Delivers turns, and runs tasks after them. Its methods may be called from any thread."""

    def __init__(self, spool: Spool, record: Callable[[Turn], Turn | None]) -> None:
        """`record` writes a turn to the store; it returns `None` if the turn was stored before."""
        self._spool = spool
        self._record = record
        self._queues: dict[str, deque[Task]] = {}
        """The tasks of each user, in order; the first task is running or has failed."""
        self._failed: set[str] = set()
        self._unsafe: set[object] = set()
        """A mark for each undelivered turn that is in memory only."""
        self._closing = False
        self._changed = Condition()
        self._threads = ThreadPoolExecutor(MAX_DELIVERIES, "souffleur-outbox")
        self.error = ""
        """Why the latest delivery failed; empty if it succeeded."""

    @property
    def waiting(self) -> int:
        """The number of turns and ends of sessions that are not in the store yet."""
        with self._changed:
            return sum(map(len, self._queues.values()))

    @property
    def unsafe(self) -> int:
        """The number of turns that are neither on the server nor on this machine's disk."""
        return len(self._unsafe)

    def put(self, turn: Turn, arrived: Callable[[Turn], object]) -> str:
        """Take a turn; return why it is in memory only, or an empty text if it is on the disk.

        `arrived` is called in a thread if the turn is new to the store. Raises StoreError if the
        outbox is closed.
        """
        mark = object()
        with self._changed:  # so that the file and the queue have the same order
            self._check_open()
            try:
                number, why = self._spool.add(turn), ""
            except (OSError, ValueError) as error:
                number, why = 0, f"the turn is in memory only until the server has it: {error}"
                self._unsafe.add(mark)
                logger.error("{}", why)

            def deliver() -> None:
                kept = self._record(turn)
                self._unsafe.discard(mark)
                self._spool.drop(number)
                if kept is not None:
                    arrived(kept)

            self._enqueue(turn.user_id, deliver)
        return why

    def then(self, user_id: str, task: Task) -> None:
        """Run a task in a thread as soon as all earlier turns of this user have arrived.

        Raises StoreError if the outbox is closed.
        """
        with self._changed:
            self._check_open()
            self._enqueue(user_id, task)

    def take_up(self, arrived: Callable[[Turn], object]) -> int:
        """Take the turns that processes left before they ended; return their number."""
        left = self._spool.take_up()
        safe = [not self.put(turn, arrived) for turn in left]
        if all(safe):
            self._spool.drop_taken()
        return len(left)

    def retry(self) -> None:
        """Try failed deliveries again."""
        with self._changed:
            if self._closing:
                return
            failed, self._failed = self._failed, set()
            for user_id in failed:
                self._threads.submit(self._deliver, user_id)

    def settle(self, seconds: float | None = None, user_id: str | None = None) -> bool:
        """Wait until all turns (of a user) have arrived or failed; return whether all arrived.

        Blocks this thread, for a maximum of `seconds`.
        """
        end = None if seconds is None else time.monotonic() + seconds
        with self._changed:
            while under_way := self._left(user_id):
                left = None if end is None else end - time.monotonic()
                if under_way <= self._failed or (left is not None and left <= 0):
                    return False
                self._changed.wait(left)
            return True

    def close(self) -> None:
        """Stop taking and delivering turns; the next start delivers the turns on the disk."""
        with self._changed:
            self._closing = True
        self._threads.shutdown(wait=True, cancel_futures=True)
        self._spool.close()

    def _check_open(self) -> None:
        if self._closing:
            raise StoreError("this memory is closed: open it again")

    def _left(self, user_id: str | None) -> set[str]:
        return {id for id in self._queues if user_id in (None, id)}

    def _enqueue(self, user_id: str, task: Task) -> None:
        queue = self._queues.setdefault(user_id, deque())
        queue.append(task)
        if len(queue) == 1:
            self._threads.submit(self._deliver, user_id)

    def _deliver(self, user_id: str) -> None:
        """Run the tasks of a user until all are done or a task fails."""
        queue = self._queues[user_id]
        while not self._closing:
            try:
                queue[0]()
            except SouffleurError as error:
                self._note(user_id, str(error))
                return
            except Exception as error:  # noqa: BLE001  the thread's edge: the turn must not be lost
                bound = logger.bind(user=user_id)
                bound.error("a turn could not be written: {}", describe(error))
                trace_bug(bound, error)
                self._note(user_id, describe(error))
                return
            with self._changed:
                self.error = ""
                queue.popleft()
                if not queue:
                    del self._queues[user_id]
                self._changed.notify_all()
                if not queue:
                    return

    def _note(self, user_id: str, error: str) -> None:
        with self._changed:
            level = "DEBUG" if self.error else "ERROR"  # once per outage
            logger.bind(user=user_id).log(level, "turns are not on the server yet: {}", error)
            self.error = error
            self._failed.add(user_id)
            self._changed.notify_all()
