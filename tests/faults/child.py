"""Processes to be killed or stopped: forked from one that has loaded what they run.

Each is a process of its own, as `python -m` makes one, with a store of its own to open; only the
second of a processor is saved that it would load modules for.
"""

import gc
import importlib
import json
import os
import runpy
import signal
import socket
import subprocess
import sys
import traceback
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from select import select
from typing import IO

ROOT = Path(__file__).parent.parent.parent
LOADED = ("souffleur.agents.monitor", "souffleur.parts", "souffleur.knowledge.store.engine.edge")
"""What most of them load later."""
LONGEST = 1 << 16
"""Bytes of an order."""


def environment() -> dict[str, str]:
    """Of a child process that is to find the tests, and is not measured: it dies anyway."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith("COVERAGE_")}
    return {**kept, "PYTHONPATH": str(ROOT)}


class Child:
    """A process that runs a module."""

    def __init__(self, stdin: IO[str], stdout: IO[str], told: IO[str]) -> None:
        self.stdin, self.stdout, self._told = stdin, stdout, told
        self.pid = int(told.readline())
        self._ended: int | None = None

    def send(self, line: str) -> None:
        """Write a line to its standard input."""
        self.stdin.write(f"{line}\n")
        self.stdin.flush()

    def has_ended(self) -> bool:
        """Return whether it has ended by itself."""
        if self._ended is None and select([self._told], [], [], 0)[0]:
            self.wait()
        return self._ended is not None

    def send_signal(self, number: signal.Signals) -> None:
        """Send it a signal, if it lives."""
        if self._ended is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def kill(self) -> None:
        """Kill it, if it lives."""
        self.send_signal(signal.SIGKILL)

    def wait(self) -> int:
        """Wait until it has ended; its exit code, or the negative number of a signal."""
        if self._ended is None:
            self._ended = int(self._told.readline())
        return self._ended

    def close(self) -> None:
        """Kill it, wait, and close its streams."""
        self.kill()
        self.wait()
        for stream in (self.stdout, self._told, self.stdin):
            with suppress(BrokenPipeError):
                stream.close()


@contextmanager
def running(
    module: str,
    *words: object,
    env: Mapping[str, str] | None = None,
    loads: Sequence[str] = (),
) -> Iterator[Child]:
    """`python -m` of a module with these words, as a process; killed at the end.

    `loads` are modules that it imports later, to be loaded beforehand.
    """
    (its_stdin, stdin), (stdout, its_stdout), (told, telling) = os.pipe(), os.pipe(), os.pipe()
    order = [{**(env or environment())}, [*loads, module], *map(str, words)]
    theirs = [its_stdin, its_stdout, telling]
    socket.send_fds(_nursery(), [json.dumps(order).encode()], theirs)
    for one in theirs:
        os.close(one)
    child = Child(os.fdopen(stdin, "w"), os.fdopen(stdout), os.fdopen(told))
    try:
        yield child
    finally:
        child.close()


@cache
def _nursery() -> socket.socket:
    """The way to the process that starts them, which ends with this one.

    An order is sent only when the one before was answered.
    """
    ours, its = socket.socketpair()
    command = [sys.executable, "-P", "-m", "tests.faults.child", str(its.fileno())]
    process = subprocess.Popen(command, cwd=ROOT, env=environment(), pass_fds=[its.fileno()])
    its.close()
    process.returncode = 0  # nobody waits for it
    return ours


def _start(env: dict[str, str], module: str, words: list[str], streams: list[int]) -> None:
    """Start one, and end when it does; say its id, then how it ended."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    stdin, stdout, telling = streams
    child = os.fork()
    if child == 0:
        os.dup2(stdin, 0)
        os.dup2(stdout, 1)
        sys.stdin, sys.stdout = os.fdopen(0), os.fdopen(1, "w")
        for one in streams:
            os.close(one)
        os.environ.clear()
        os.environ.update(env)
        _run(module, *words)
    for one in (stdin, stdout):
        os.close(one)
    os.write(telling, f"{child}\n".encode())
    _, status = os.waitpid(child, 0)
    os.write(telling, f"{os.waitstatus_to_exitcode(status)}\n".encode())
    os._exit(0)


def _run(module: str, *words: str) -> None:
    code = 0
    sys.argv = [module, *words]
    if not hasattr(sys.modules[module], "__path__"):
        del sys.modules[module]  # it is run, and not imported
    try:
        runpy.run_module(module, run_name="__main__", alter_sys=True)
    except SystemExit as end:
        code = int(end.code or 0)
    except BaseException:  # noqa: BLE001  it ends here
        traceback.print_exc()
        code = 1
    sys.stdout.flush()
    os._exit(code)


def main() -> None:
    """Start what is ordered, until nobody is there to order."""
    orders = socket.socket(fileno=int(sys.argv[1]))
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    for module in LOADED:
        importlib.import_module(module)
    while True:
        line, streams, _, _ = socket.recv_fds(orders, LONGEST, 3)
        if not line:
            return
        env, modules, *words = json.loads(line)
        for module in modules:
            importlib.import_module(module)
        gc.freeze()
        if os.fork() == 0:
            orders.close()
            _start(env, modules[-1], words, streams)
        for one in streams:
            os.close(one)


if __name__ == "__main__":
    main()
