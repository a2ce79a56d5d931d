"""The process around a command: its streams, their encodings, and SIGTERM."""

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn, TextIO, cast

from souffleur.cli.console import Output, Shown, console

TERMINATED = 128 + signal.SIGTERM
"""Exit code after SIGTERM, as shells have it."""


@contextmanager
def prepared() -> Iterator[None]:
    """Run a command within: characters the terminal lacks are replaced, SIGTERM cleans up."""
    _open_closed()
    stdout, stderr = sys.stdout, sys.stderr
    output = Output(stdout)
    for stream in (sys.stdout, sys.stderr):
        with suppress(AttributeError):  # a stream that a host has put in place
            stream.reconfigure(errors="replace")  # type: ignore[union-attr]
    sys.stdout = cast(TextIO, Shown(output))
    sys.stderr = cast(TextIO, Shown(stderr))
    console.soft_wrap = not console.is_terminal
    former = _on_sigterm(_end)
    try:
        yield
        output.flush()
    finally:
        sys.stdout, sys.stderr = stdout, stderr
        if former is not None:
            _on_sigterm(former)


def _open_closed() -> None:
    """Open the streams that a shell has closed: a file of the store would have their numbers."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open(mode, encoding="utf-8"))  # noqa: SIM115  for good


def _on_sigterm(handler: Any) -> Any:
    """Set the handler of SIGTERM and return the former one; `None` outside the main thread."""
    if threading.current_thread() is not threading.main_thread():
        return None
    return signal.signal(signal.SIGTERM, handler)


def _end(number: int, frame: FrameType | None) -> NoReturn:
    """Unwind the command, so that temporary folders are deleted and the store is closed."""
    raise SystemExit(TERMINATED)
