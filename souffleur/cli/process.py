"""The process around a command: a reader that leaves, encodings, and SIGTERM."""

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn, TextIO, cast

from souffleur.cli.console import Shown, console

TERMINATED = 128 + signal.SIGTERM
"""Exit code after SIGTERM, as shells have it."""


class Output:
    """A text stream that ends the command quietly when nobody reads it any more, as with `head`."""

    def __init__(self, inner: TextIO) -> None:
        self._inner = inner

    def write(self, text: str) -> int:
        """Write as the stream does; the command ends with 0 if its reader is gone.

        Raises OSError, which names standard output, for any other reason.
        """
        with self._read():
            return self._inner.write(text)

    def flush(self) -> None:
        """Flush as the stream does; the command ends with 0 if its reader is gone."""
        with self._read():
            self._inner.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    @contextmanager
    def _read(self) -> Iterator[None]:
        try:
            yield
        except BrokenPipeError:
            self.discard()
            raise SystemExit(0) from None
        except OSError as error:
            self.discard()
            raise OSError(error.errno, error.strerror, "standard output") from None

    def discard(self) -> None:
        """Write what is left to nowhere: the interpreter flushes it at its end."""
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, self._inner.fileno())
        os.close(nowhere)


@contextmanager
def prepared() -> Iterator[None]:
    """Run a command within: what cannot be shown is replaced, and no signal leaves files behind."""
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
