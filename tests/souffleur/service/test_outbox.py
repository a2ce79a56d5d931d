"""The outbox and its spool: nothing waits for a server, and what was taken is not lost."""

import resource
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from souffleur.errors import StoreError
from souffleur.knowledge.turn import Turn
from souffleur.service.outbox import COMPACT_BYTES, Outbox, Spool, read_turns
from tests.build import turn

Record = Callable[[Turn], Turn | None]


class Server:
    """What records turns: late, or not at all."""

    def __init__(self, *, delay: float = 0.0) -> None:
        self.delay, self.is_down = delay, False
        self.said: list[tuple[str, str]] = []
        self._alone = threading.Lock()

    def record(self, turn: Turn) -> Turn | None:
        time.sleep(self.delay)
        if self.is_down:
            raise StoreError("the server is out of reach")
        with self._alone:
            known = (turn.user_id, turn.user) in self.said
            self.said.append((turn.user_id, turn.user))
        return None if known else turn

    def of(self, user_id: str) -> list[str]:
        """What it was told of a user."""
        return [words for user, words in self.said if user == user_id]


def outbox(folder: Path, record: Record) -> Outbox:
    """One over a folder."""
    return Outbox(Spool(folder, power_safe=False), record)


def files(folder: Path) -> list[Path]:
    """The files of the spool."""
    return list(folder.glob("*.jsonl"))


def test_putting_waits_for_nobody_and_keeps_the_order(tmp_path: Path) -> None:
    """With a slow server, turns are taken at once, and arrive in order."""
    server, arrived = Server(delay=0.05), list[Turn]()
    box = outbox(tmp_path, server.record)
    begun = time.perf_counter()
    for number in range(10):
        for user_id in ("ann", "bob"):
            said = turn(f"{number}", user_id=user_id, turn_id=str(number))
            assert box.put(said, arrived.append) == ""
    assert time.perf_counter() - begun < 0.1
    assert box.settle(20)
    assert server.of("ann") == server.of("bob") == [str(number) for number in range(10)]
    assert len(arrived) == 20
    assert files(tmp_path)[0].stat().st_size == 0
    box.close()
    assert files(tmp_path) == []


def test_what_fails_is_tried_again_in_order_and_waits_on_the_disk(tmp_path: Path) -> None:
    """A server out of reach is told; a later start over the same folder delivers what is left."""
    server = Server()
    server.is_down = True
    box = outbox(tmp_path, server.record)
    for number in range(3):
        box.put(turn(f"{number}"), print)
    assert not box.settle(20)
    assert "out of reach" in box.error
    assert (box.waiting, box.unsafe) == (3, 0)
    box.retry()
    assert not box.settle(20)
    box.close()
    server.is_down = False
    again, arrived = outbox(tmp_path, server.record), list[Turn]()
    assert again.take_up(arrived.append) == 3
    assert again.settle(20)
    assert server.of("ann") == ["0", "1", "2"]
    assert [one.user for one in arrived] == ["0", "1", "2"]
    again.close()
    assert files(tmp_path) == []


def test_what_a_living_process_has_is_left_to_it(tmp_path: Path) -> None:
    """Another process at the same folder takes up nothing of one that lives."""
    server = Server()
    server.is_down = True
    first, second = outbox(tmp_path, server.record), outbox(tmp_path, server.record)
    first.put(turn("mine"), print)
    assert second.take_up(print) == 0
    first.settle(20)
    first.close()
    assert second.take_up(print) == 1
    second.close()


def test_what_has_arrived_is_not_delivered_again(tmp_path: Path) -> None:
    """The file names what has arrived while other turns wait, and half a line is left out."""
    spool = Spool(tmp_path, power_safe=True)
    numbers = [spool.add(turn(words)) for words in ("a", "b", "c")]
    spool.drop(numbers[1])
    spool.close()
    with files(tmp_path)[0].open("a") as file:
        file.write('{"number": 4, "tu')
    left = Spool(tmp_path, power_safe=False)
    assert [one.user for one in left.take_up()] == ["a", "c"]
    left.drop_taken()
    assert files(tmp_path) == []


def test_what_was_taken_up_and_is_not_safe_is_left_to_the_next(tmp_path: Path) -> None:
    """Closing lets go of the files of processes that are gone; whoever opens next takes them up."""
    gone = Spool(tmp_path, power_safe=False)
    gone.add(turn("waits"))
    gone.close()
    for _ in range(2):
        taker = Spool(tmp_path, power_safe=False)
        assert [one.user for one in taker.take_up()] == ["waits"]
        taker.close()
    assert len(files(tmp_path)) == 1


def test_a_file_that_grows_is_written_anew(tmp_path: Path) -> None:
    """Words that have arrived do not stay on the disk for as long as anything waits."""
    spool = Spool(tmp_path, power_safe=False)
    spool.add(turn("waits"))
    for number in range(4):
        spool.drop(spool.add(turn(f"{number}" * (COMPACT_BYTES // 3), turn_id=str(number))))
    spool.close()
    (file,) = files(tmp_path)
    assert file.stat().st_size < COMPACT_BYTES
    left = Spool(tmp_path, power_safe=False)
    assert [one.user for one in left.take_up()] == ["waits"]
    left.drop_taken()


def test_a_turn_that_cannot_be_spooled_is_told_and_delivered(tmp_path: Path) -> None:
    """Without a place on the disk a turn is in memory only, until the server has it."""
    (tmp_path / "file").write_text("")
    server = Server()
    box = outbox(tmp_path / "file", server.record)
    assert "memory only" in box.put(turn("hello"), print)
    assert box.settle(20)
    assert (server.of("ann"), box.unsafe) == (["hello"], 0)
    box.close()


def test_an_end_comes_after_what_was_said(tmp_path: Path) -> None:
    """What is to be done after a user's turns is done when they have arrived."""
    server = Server(delay=0.02)
    box = outbox(tmp_path, server.record)
    box.put(turn("first"), print)
    box.then("ann", lambda: server.said.append(("ann", "end")))
    assert box.settle(20, "ann")
    assert server.of("ann") == ["first", "end"]
    box.close()


def test_a_process_that_starts_takes_no_file_that_is_being_made(tmp_path: Path) -> None:
    """Whoever takes up what others left at that very moment, every turn is on the disk once."""
    taken: list[str] = []
    is_over = threading.Event()

    def take_up() -> None:
        while not is_over.is_set():
            other = Spool(tmp_path, power_safe=False)
            taken.extend(one.turn_id for one in other.take_up())
            other.drop_taken()

    taker = threading.Thread(target=take_up)
    taker.start()
    spools = [Spool(tmp_path, power_safe=False) for _ in range(300)]
    for place, spool in enumerate(spools):
        spool.add(turn("hi", turn_id=str(place)))
    is_over.set()
    taker.join()
    assert taken == []
    assert len(files(tmp_path)) == len(spools)
    for spool in spools:
        spool.close()


def test_what_cannot_be_shortened_stays_whole(tmp_path: Path) -> None:
    """Where no new file can be written, the old one goes on: no turn is lost, none half written."""
    spool = Spool(tmp_path, power_safe=False)
    number = spool.add(turn("x" * COMPACT_BYTES, turn_id="long"))
    spool.add(turn("y" * 10_000, turn_id="waits"))
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (5_000, limits[1]))
    try:
        spool.drop(number)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    spool.add(turn("so", turn_id="later"))
    (file,) = files(tmp_path)
    with file.open() as lines:
        assert [one.turn_id for one in read_turns(lines)] == ["long", "waits", "later"]
    spool.close()


def test_files_of_others_are_let_go_at_the_end(tmp_path: Path) -> None:
    """What was read and could not be kept here is left to the next process."""
    server = Server()
    server.is_down = True
    first = outbox(tmp_path, server.record)
    first.put(turn("hello"), print)
    first.settle(20)
    first.close()
    second = Spool(tmp_path, power_safe=False)
    assert len(second.take_up()) == 1
    second.close()
    third = Spool(tmp_path, power_safe=False)
    assert len(third.take_up()) == 1
    third.close()


def test_nothing_is_taken_after_the_end(tmp_path: Path) -> None:
    """A turn that comes too late is refused, and is not on the disk either."""
    server = Server()
    box = outbox(tmp_path, server.record)
    box.put(turn("hello"), print)
    assert box.settle(20)
    box.close()
    with pytest.raises(StoreError, match="closed"):
        box.put(turn("too late"), print)
    with pytest.raises(StoreError, match="closed"):
        box.then("bob", print)
    assert files(tmp_path) == []
