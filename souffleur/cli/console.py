"""Standard output and standard error of a command: the console, JSON, a progress bar, a page."""

import json
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn, TextIO, cast

from rich.console import Console, ConsoleOptions, ConsoleRenderable, RenderHook, RenderResult
from rich.segment import Segment

from souffleur.knowledge.text.plain import showable

TERMINATED = 128 + signal.SIGTERM
"""Exit code after SIGTERM, as in shells."""
STANDARD_OUTPUT = Path("-")
"""The name for standard output in place of a file to write."""


class Output:
    """A text stream that ends the command silently when its reader has left, as with `head`."""

    def __init__(self, inner: TextIO) -> None:
        self._inner = inner

    def write(self, text: str) -> int:
        """Write as the stream does; the command ends with exit code 0 if the reader has left.

        For any other reason, raises an OSError that names standard output.
        """
        with self._read():
            return self._inner.write(text)

    def flush(self) -> None:
        """Flush as the stream does; the command ends with exit code 0 if the reader has left."""
        with self._read():
            self._inner.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    @contextmanager
    def _read(self) -> Iterator[None]:
        try:
            yield
        except BrokenPipeError:
            self._discard()
            raise SystemExit(0) from None
        except OSError as error:
            self._discard()
            raise OSError(error.errno, error.strerror, "standard output") from None

    def _discard(self) -> None:
        """Write the rest of the buffer to nowhere, as the interpreter flushes it when it ends."""
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, self._inner.fileno())
        os.close(nowhere)


class Shown:
    """A text stream that leaves out terminal commands, as texts of users may hold them.

    The output of a rich console does not use it, because rich itself sends commands: see
    `Cleaning`.
    """

    def __init__(self, inner: Any) -> None:
        self.rich_proxied_file = inner
        """The stream itself, under the name that rich looks for."""

    def write(self, text: str) -> int:
        """Write the text without terminal commands."""
        self.rich_proxied_file.write(showable(text))
        return len(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.rich_proxied_file, name)


class Cleaning(RenderHook):
    """Leaves terminal commands out of every text that a console prints."""

    def process_renderables(self, renderables: list[ConsoleRenderable]) -> list[ConsoleRenderable]:
        """Return renderables that print the same texts without terminal commands."""
        return [_Clean(one) for one in renderables]


@dataclass(frozen=True)
class _Clean:
    shown: ConsoleRenderable

    def __rich_console__(self, to: Console, options: ConsoleOptions) -> RenderResult:
        for text, style, control in to.render(self.shown, options):
            yield Segment(text if control else showable(text), style, control)


console = Console(highlight=False)
console.push_render_hook(Cleaning())


def steer(command: str) -> None:
    """Write our own terminal command to standard output."""
    getattr(sys.stdout, "rich_proxied_file", sys.stdout).write(command)


def print_json(data: Any) -> None:
    """Print data as JSON on standard output."""
    print(json.dumps(data, ensure_ascii=False, indent=2))


def plain(item: Any) -> Any:
    """Return a model or a dataclass as JSON types."""
    from pydantic_core import to_jsonable_python

    return to_jsonable_python(item)


def write_page(page: str, file: Path, message: str) -> None:
    """Write a page and print the message; print the page alone if the file is `-`."""
    if file == STANDARD_OUTPUT:
        print(page)
        return
    file.write_text(page, encoding="utf-8")
    print(message)


@contextmanager
def progress(title: str, *, hidden: bool = False) -> Iterator[Callable[[int, int], None]]:
    """Show a bar on standard error if that is a terminal; the callback takes done and total."""
    err = Console(stderr=True)
    if hidden or not err.is_terminal:
        yield lambda done, total: None
        return
    from rich.progress import Progress

    with Progress(console=err, transient=True) as bar:
        task = bar.add_task(title, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


@contextmanager
def prepared() -> Iterator[None]:
    """Run a command within: replaces characters that the terminal lacks; SIGTERM cleans up."""
    _open_closed()
    stdout, stderr = sys.stdout, sys.stderr
    output = Output(stdout)
    for stream in (sys.stdout, sys.stderr):
        with suppress(AttributeError):  # a stream of the host
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
    """Open streams that a shell has closed; else a file of the store would get their numbers."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open(mode, encoding="utf-8"))  # noqa: SIM115  for good


def _on_sigterm(handler: Any) -> Any:
    """Set the handler of SIGTERM; return the former handler, `None` outside the main thread."""
    if threading.current_thread() is not threading.main_thread():
        return None
    return signal.signal(signal.SIGTERM, handler)


def _end(number: int, frame: FrameType | None) -> NoReturn:
    """End the command by an exception, which deletes temporary folders and closes the store."""
    raise SystemExit(TERMINATED)
