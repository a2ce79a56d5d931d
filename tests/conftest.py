"""What every test starts from: no keys, no tracing, and no network but the loopback."""

import gc
import ipaddress
import os
import shutil
import signal
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from hypothesis import settings

from souffleur import cli
from souffleur.knowledge.knowledge_base import KnowledgeBase
from souffleur.knowledge.store.opening import Opener
from tests.command import Run, runner
from tests.place import SERVER, drop
from tests.stores import STORES, Kept, empty_base
from tests.stub import Behaviour, Stub

gc.disable()  # until all is collected: modules and tests are no garbage

for name in list(os.environ):
    ours = name.startswith("SOUFFLEUR_") and not name.startswith("SOUFFLEUR_TEST_")
    if ours or name.startswith(("OPENAI_", "LANGCHAIN_")) or name.lower().endswith("_proxy"):
        del os.environ[name]
os.environ["LANGSMITH_TRACING"] = "false"

# What a script starts in the background ignores interrupts, and so would the tests of them.
signal.signal(signal.SIGINT, signal.default_int_handler)

# A disk takes half a second for a new store; what is killed is a process, no machine. In memory,
# where pages that were read take room, a store is 80 MB and 300 MB once it was opened again; at
# most, two processes of tests have 1.8 GB.
IN_MEMORY, ROOM = Path("/dev/shm"), 3 << 30
if os.access(IN_MEMORY, os.W_OK) and shutil.disk_usage(IN_MEMORY).free > ROOM:
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(IN_MEMORY))


def _forbid_network(event: str, args: tuple[object, ...]) -> None:
    if event not in ("socket.connect", "socket.getaddrinfo"):
        return
    address = args[1] if event == "socket.connect" else args
    host = address[0] if isinstance(address, tuple) else None
    if isinstance(host, str) and host not in ("", "localhost"):
        try:
            loopback = ipaddress.ip_address(host).is_loopback
        except ValueError:
            loopback = False
        if not loopback:
            raise RuntimeError(f"A test may not reach {host}: serve it on the loopback.")


# A busy machine is no falsifying example; and what is red here is red there, while soak explores.
settings.register_profile("souffleur", deadline=None, derandomize=True)
settings.register_profile("soak", deadline=None)
settings.load_profile("souffleur")

sys.addaudithook(_forbid_network)


def pytest_collection_finish() -> None:
    """Let garbage collections skip all modules and tests, which stay."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000, 20, 20)  # a test leaves little, and a process is short-lived
    gc.enable()


@pytest.fixture
def stub() -> Iterator[Callable[..., Stub]]:
    """Starts endpoints: `stub(behaviour, …)` is one that runs until the test ends."""
    with ExitStack() as stack:

        def start(*behaviours: Behaviour) -> Stub:
            return stack.enter_context(Stub(*behaviours))

        yield start


@pytest.fixture
def opener() -> Iterator[Opener]:
    """Opens a lent store, which stays as it is between the commands of a test."""
    kept = Kept(STORES)
    yield kept.open
    kept.give_back()


@pytest.fixture
def run(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    opener: Opener | None,
) -> Run:
    """Runs a command on a store of this test: exit code, standard output, standard error."""
    return runner(tmp_path, monkeypatch, capfd, lambda: cli.main(opener))


@pytest.fixture(autouse=True)
def thawed() -> Iterator[None]:
    """Undoes what a command in this process freezes: Hypothesis looks for who holds an object."""
    yield
    gc.unfreeze()


@pytest.fixture(autouse=True, scope="session")
def stores(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Gives the stores that are used again a place."""
    STORES.folder = tmp_path_factory.mktemp("stores")
    yield
    STORES.close()
    shutil.rmtree(STORES.folder, ignore_errors=True)  # the tests of bench may have done so


@pytest.fixture(autouse=True, scope="module")
def own_folders(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Removes the folders of a module at its end: stores would fill the memory they are in.

    Those of single tests are left to pytest, which keeps those of failed ones.
    """
    there = tmp_path_factory.getbasetemp()
    before = set(there.iterdir())
    yield
    for folder in set(there.iterdir()) - before:
        if folder.is_symlink():  # pytest's to the latest of a name
            folder.unlink()
        elif not folder.name.startswith("test_"):
            shutil.rmtree(folder)


@pytest.fixture(autouse=SERVER is not None, scope="session")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Leaves nothing on the server."""
    drop(tmp_path_factory.getbasetemp())
    yield
    drop(tmp_path_factory.getbasetemp())


@pytest.fixture(autouse=SERVER is not None)
def own_collections(tmp_path: Path) -> Iterator[None]:
    """Deletes what a test has on the server."""
    yield
    drop(tmp_path)


@pytest.fixture
async def base(tmp_path: Path) -> AsyncIterator[KnowledgeBase]:
    """An empty store."""
    knowledge = await empty_base(tmp_path)
    yield knowledge
    await knowledge.close()
