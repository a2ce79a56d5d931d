"""BlockingSouffleur: the same memory for hosts without an event loop."""

import asyncio
import inspect
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, assert_type
from urllib.request import urlopen

import pytest

from souffleur import BlockingSouffleur, LedgerEntry, Memory, Recall, Receipt, Settings, Souffleur
from souffleur.errors import BlockingError, InputError, SettingsError, StoreBusyError
from souffleur.knowledge.search.query import Found
from souffleur.loops import LoopThread
from souffleur.service.health import Health
from tests.build import NOW
from tests.faults.child import ROOT, environment
from tests.scripted import SKIP, Scripted, add, answer

ME: dict[str, Any] = {"user_id": "ann", "session_id": "s1"}


def opened(folder: Path, chat: Any = None, **fields: Any) -> BlockingSouffleur:
    chosen = Settings(path=folder, embedder="hash:64", retry_pause=0.0, **fields)
    return BlockingSouffleur.open(chosen, chat=chat, clock=lambda: NOW)


def keep_tea(_: Any) -> dict[str, Any]:
    return answer(add("Ann likes tea.", "tea"))


def public(of: object) -> set[str]:
    return {name for name in dir(of) if not name.startswith("_")}


def test_nothing_public_is_missing(tmp_path: Path) -> None:
    """All that a Souffleur can do, it can do without an event loop, with the same arguments."""
    with opened(tmp_path) as memory:
        assert public(Souffleur) - public(memory) == {"restore", "start"}
        assert {"settings", "clock"} <= public(memory)
        for name in public(Souffleur) & public(memory) - {"open", "close", "error", "has_model"}:
            here, there = getattr(BlockingSouffleur, name), getattr(Souffleur, name)
            assert inspect.signature(here) == inspect.signature(there)
            assert inspect.getdoc(here) == inspect.getdoc(there)


def test_a_checker_sees_the_types(tmp_path: Path) -> None:
    """What is given back is what `mypy` says it is."""
    with opened(tmp_path) as memory:
        assert_type(memory, BlockingSouffleur)
        assert_type(memory.recall(**ME, text="tea"), Recall)
        assert_type(memory.observe(**ME, user="hi"), Receipt)
        assert_type(memory.end_session(**ME), bool)
        assert_type(memory.remember("Ann likes tea.", user_id="ann"), list[LedgerEntry])
        assert_type(memory.health(), Health)
        assert_type(memory.error, str)
        assert_type(memory.has_model, bool)
        assert_type(memory.settings, Settings)
        (one,) = memory.list(user_id="ann")
        assert_type(one, Memory)
        assert_type(memory.get(one.id, user_id="ann"), Memory)
        assert_type(memory.portrait(user_id="ann"), Memory | None)
        assert_type(memory.search("tea", user_id="ann"), list[Found])


def test_a_companion_without_an_event_loop(tmp_path: Path) -> None:
    """Told, judged, recalled, changed, undone and forgotten; afterwards the store is free."""
    with opened(tmp_path, Scripted([keep_tea(None), SKIP])) as memory:
        assert memory.observe(**ME, user="I like tea", assistant="Noted!").durable
        assert memory.flush()
        whisper = memory.recall(**ME, text="some tea?")
        assert "- Ann likes tea." in whisper.text
        memory.observe(**ME, user="some tea?", assistant="Yes!", whisper=whisper)
        assert memory.flush()
        (tea,) = memory.list(user_id="ann")
        assert tea.recalls == 1
        (entry,) = memory.history(tea.id, user_id="ann")
        memory.undo(entry.id, user_id="ann")
        assert memory.list(user_id="ann") == []
        assert memory.episodes(user_id="ann") == []
        assert memory.has_model
        assert memory.error == ""
    opened(tmp_path).close()


def test_what_opening_raises_is_raised(tmp_path: Path) -> None:
    """A store in use and a wrong setting are told as by `open`; no thread is left behind."""
    with opened(tmp_path):
        before = threading.active_count()
        with pytest.raises(StoreBusyError):
            opened(tmp_path)
        with pytest.raises(SettingsError):
            BlockingSouffleur.open(bogus=1)  # type: ignore[call-arg]
        assert threading.active_count() == before


def test_what_a_call_raises_is_raised(tmp_path: Path) -> None:
    """An error gets to the one who called, and the memory goes on."""
    with opened(tmp_path) as memory:
        with pytest.raises(InputError):
            memory.remember("", user_id="ann")
        assert memory.remember("Ann likes tea.", user_id="ann")


def test_two_threads_at_once(tmp_path: Path) -> None:
    """Each of two threads talks with its own user; all turns are kept and judged, in order."""
    together = threading.Barrier(2, timeout=60)
    with opened(tmp_path, Scripted(lambda _: SKIP)) as memory:

        def talk(user_id: str) -> None:
            for place in range(5):
                together.wait()
                whisper = memory.recall(user_id=user_id, text="hi")
                said = f"{place} of {user_id}"
                assert memory.observe(user_id=user_id, user=said, whisper=whisper).durable
                memory.remember(f"{user_id} counts to {place}.", user_id=user_id)

        with ThreadPoolExecutor(2) as threads:
            list(threads.map(talk, ("ann", "bob")))
        assert memory.flush()
        assert memory.health().waiting == 0
        kept = [len(memory.list(user_id=user_id)) for user_id in ("ann", "bob")]
        assert kept == [5, 5]


def test_a_threaded_web_server(tmp_path: Path) -> None:
    """Opened once, used by a handler that runs in a thread for each request, as in Flask."""
    with opened(tmp_path) as memory:

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                user_id = self.path.removeprefix("/")
                whisper = memory.recall(user_id=user_id, text="tea?")
                receipt = memory.observe(user_id=user_id, user="tea?", whisper=whisper)
                memory.remember("Likes tea.", user_id=user_id)
                self.send_response(200)
                self.end_headers()
                self.wfile.write(json.dumps([whisper.text, receipt.durable]).encode())

            def log_message(self, *_: object) -> None:
                pass

        with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
            threading.Thread(target=server.serve_forever).start()
            root = f"http://127.0.0.1:{server.server_port}"

            def get(path: str) -> Any:
                with urlopen(f"{root}/{path}") as response:
                    return json.load(response)

            with ThreadPoolExecutor(4) as threads:
                first = list(threads.map(get, "abcd"))
            assert first == [["", True]] * 4
            assert "Likes tea." in get("a")[0]
            server.shutdown()


def test_within_a_running_loop(tmp_path: Path) -> None:
    """Opened, called and closed in a coroutine it holds its loop up, and does not hang."""

    async def host() -> list[Memory]:
        with opened(tmp_path, Scripted(keep_tea)) as memory:
            memory.observe(**ME, user="I like tea", assistant="ok")
            await asyncio.to_thread(memory.flush)
            assert memory.flush()
            return memory.list(user_id="ann")

    assert [one.content for one in asyncio.run(host())] == ["Ann likes tea."]


def test_after_close(tmp_path: Path) -> None:
    """Closed twice, it says so to what would wait; `recall` and `observe` raise nothing."""
    memory = opened(tmp_path)
    memory.close()
    memory.close()
    waiting: list[Callable[[], object]] = [
        lambda: memory.flush(),
        lambda: memory.list(user_id="ann"),
    ]
    for call in waiting:
        with pytest.raises(BlockingError, match="closed"):
            call()
    assert "closed" in memory.recall(**ME, text="tea").error
    receipt = memory.observe(**ME, user="hi", assistant="ho")
    assert not receipt.durable
    assert receipt.error
    assert not memory.end_session(**ME)


def test_closed_during_a_call(tmp_path: Path) -> None:
    """A call that waits while another thread closes the memory ends, and says why."""
    asked = threading.Event()

    async def never(_: Any) -> Any:
        asked.set()
        await asyncio.Event().wait()

    with ThreadPoolExecutor(1) as threads:
        with opened(tmp_path, never, shutdown_timeout=0.0) as memory:
            memory.observe(**ME, user="hi", assistant="ho")
            judged = threads.submit(memory.call, lambda _: asyncio.Event().wait())
            assert asked.wait(60)
        with pytest.raises(BlockingError, match="before the call was done"):
            judged.result(60)


def test_an_interrupt_closes_the_store(tmp_path: Path) -> None:
    """After Ctrl-C during a call the turn waits on disk, and the store can be opened again."""
    cancelled = threading.Event()

    async def interrupted() -> None:
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.set()
            raise

    with opened(tmp_path) as memory:
        memory.observe(**ME, user="I like tea", assistant="ok")
        with pytest.raises(KeyboardInterrupt):
            memory.call(lambda _: interrupted())
        assert cancelled.wait(60)
    with opened(tmp_path, Scripted(keep_tea)) as memory:
        assert memory.flush()
        assert len(memory.list(user_id="ann")) == 1


def test_called_by_its_own_thread(tmp_path: Path) -> None:
    """A model that asks the memory in its own loop is told, instead of waiting for itself."""
    told: list[Exception] = []

    def model(_: Any) -> Any:
        for call in (lambda: memory.health(), lambda: memory.close()):
            with pytest.raises(BlockingError, match="its own thread") as found:
                call()
            told.append(found.value)
        return SKIP

    with opened(tmp_path, Scripted(model)) as memory:
        memory.observe(**ME, user="hi", assistant="ho")
        assert memory.flush()
    assert len(told) == 2


def test_what_closing_raises_is_raised_once() -> None:
    """The first `close` tells it; the thread has ended all the same."""

    @asynccontextmanager
    async def stubborn() -> Any:
        yield "open"
        raise OSError("disk")

    thread = LoopThread(stubborn())
    with pytest.raises(OSError, match="disk"):
        thread.close()
    thread.close()


FORGETFUL = """
import sys
from pathlib import Path
from souffleur import BlockingSouffleur, Settings

memory = BlockingSouffleur.open(Settings(path=Path(sys.argv[1]), embedder="hash:64", judge=False))
assert memory.observe(user_id="ann", user="hi", assistant="ho").durable
"""

FORKED = """
import os, sys
from pathlib import Path
from threading import Event, Thread
from souffleur import BlockingSouffleur, Settings
from souffleur.errors import BlockingError, StoreError

def hold(memory, held, done):
    journal = memory._inner.knowledge.journal
    with journal.lock, journal.collection._alone, memory._inner._service.intake._alone:
        held.set()
        done.wait()

settings = Settings(path=Path(sys.argv[1]), embedder="hash:64", judge=False)
with BlockingSouffleur.open(settings) as memory:
    held, done = Event(), Event()
    Thread(target=hold, args=(memory, held, done), daemon=True).start()
    held.wait()
    if not (child := os.fork()):
        try:
            memory.flush()
        except BlockingError as error:
            told = "forked" in str(error)
        told = told and "forked" in memory.recall(user_id="ann", text="tea").error
        receipt = memory.observe(user_id="ann", user="said in the child")
        told = told and not memory.end_session(user_id="ann")
        try:
            memory._inner.knowledge.journal.record(None)
        except StoreError as error:
            told = told and "forked" in str(error)
        memory.close()
        os._exit(0 if told and "forked" in receipt.error else 1)
    assert os.waitpid(child, 0)[1] == 0
    done.set()
    assert memory.observe(user_id="ann", user="said in the parent").durable
"""


def ended(code: str, folder: Path) -> tuple[int, str]:
    """Run a script in a process of its own."""
    command = [sys.executable, "-P", "-W", "ignore", "-c", code, str(folder)]
    done = subprocess.run(
        command, cwd=ROOT, env=environment(), capture_output=True, text=True, timeout=60
    )
    return done.returncode, done.stderr


def test_a_host_that_forgets_to_close_ends(tmp_path: Path) -> None:
    """Its process ends without a word, and what was observed is on disk."""
    assert ended(FORGETFUL, tmp_path) == (0, "")
    with opened(tmp_path) as memory:
        assert memory.health().waiting == 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork on this system")
def test_a_forked_child_is_told(tmp_path: Path) -> None:
    """It waits for no thread that it has not got, nor for a lock of one; its parent goes on."""
    assert ended(FORKED, tmp_path) == (0, "")
    with opened(tmp_path) as memory:
        assert memory.health().waiting == 1
