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
"""Exit code after SIGTERM, as shells have it."""
STANDARD_OUTPUT = Path("-")
"""The name of standard output where a command writes a file."""


class Output:
    """A text stream that ends the command quietly when its reader has left, as with `head`."""

    def __init__(self, inner: TextIO) -> None:
        self._inner = inner

    def write(self, text: str) -> int:
        """Write as the stream does; the command ends with 0 if the reader has left.

        Raises OSError, which names standard output, for any other reason.
        """
        with self._read():
            return self._inner.write(text)

    def flush(self) -> None:
        """Flush as the stream does; the command ends with 0 if the reader has left."""
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
        """Write the rest of the buffer to nowhere: the interpreter flushes it at its end."""
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, self._inner.fileno())
        os.close(nowhere)


class Shown:
    """A text stream that leaves out commands for the terminal: texts of users may hold them.

    The output of a rich console goes past it, because rich sends commands itself: see `Cleaning`.
    """

    def __init__(self, inner: Any) -> None:
        self.rich_proxied_file = inner
        """The stream itself, by the name under which rich looks for it."""

    def write(self, text: str) -> int:
        """Write the text without commands for the terminal."""
        self.rich_proxied_file.write(showable(text))
        return len(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.rich_proxied_file, name)


class Cleaning(RenderHook):
    """Leaves commands for the terminal out of every text that a console prints."""

    def process_renderables(self, renderables: list[ConsoleRenderable]) -> list[ConsoleRenderable]:
        """Return renderables that print the same texts without such commands."""
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
    """Write a command of ours for the terminal to standard output."""
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
    """Show a bar on standard error, if that is a terminal; the callback takes done and total."""
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
