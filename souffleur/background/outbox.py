"""The outbox: takes turns at once, and writes them to a server in threads, in order per user.

A turn is on this machine's disk before `put` returns, and leaves it when the server has it; so it
survives a crash of this process, and a server that is out of reach. Nothing waits for the server.
"""

import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Condition

from loguru import logger

from souffleur.background.spool import Spool
from souffleur.errors import SouffleurError, StoreError
from souffleur.knowledge.talk.turn import Turn
from souffleur.telemetry.log_lines import describe, trace_bug

MAX_DELIVERIES = 8
"""Number of users whose turns are written at the same time."""

Task = Callable[[], object]


class Outbox:
    """Delivers what is put into it. Every method may be called from any thread."""

    def __init__(self, spool: Spool, record: Callable[[Turn], Turn | None]) -> None:
        """`record` writes a turn to the store; `None` means that it was there."""
        self._spool = spool
        self._record = record
        self._queues: dict[str, deque[Task]] = {}
        """What is to be done for each user, in order; the first of it is under way or failed."""
        self._failed: set[str] = set()
        self._unsafe: set[object] = set()
        """A mark for each turn under way that is in memory only."""
        self._closing = False
        self._changed = Condition()
        self._threads = ThreadPoolExecutor(MAX_DELIVERIES, "souffleur-outbox")
        self.error = ""
        """Why the latest delivery failed; empty if it did not."""

    @property
    def waiting(self) -> int:
        """The number of turns, and ends of sessions, that the store does not have yet."""
        with self._changed:
            return sum(map(len, self._queues.values()))

    @property
    def unsafe(self) -> int:
        """The number of turns that are neither on the server nor on this machine's disk."""
        return len(self._unsafe)

    def put(self, turn: Turn, arrived: Callable[[Turn], object]) -> str:
        """Take a turn; return why it is in memory only, empty if it is on the disk.

        `arrived` is called in a thread if the turn is new to the store. Raises StoreError if it is
        closed.
        """
        mark = object()
        with self._changed:  # so that the file has the order of the queue
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
        """Do something in a thread as soon as what was put for this user has arrived.

        Raises StoreError if it is closed.
        """
        with self._changed:
            self._check_open()
            self._enqueue(user_id, task)

    def take_up(self, arrived: Callable[[Turn], object]) -> int:
        """Take what processes that are gone have left behind; return the number of turns."""
        left = self._spool.take_up()
        safe = [not self.put(turn, arrived) for turn in left]
        if all(safe):
            self._spool.drop_taken()
        return len(left)

    def retry(self) -> None:
        """Try again what has failed."""
        with self._changed:
            if self._closing:
                return
            failed, self._failed = self._failed, set()
            for user_id in failed:
                self._threads.submit(self._deliver, user_id)

    def settle(self, seconds: float | None = None, user_id: str | None = None) -> bool:
        """Wait until everything (of a user) has arrived or failed; return whether it arrived.

        Blocks this thread, for `seconds` at most.
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
        """Take and deliver nothing more; what is on the disk is delivered by the next start."""
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
        """Do what is to be done for a user, until it is done or fails."""
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
