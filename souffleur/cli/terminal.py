"""The terminal of a talk: reads lines beside the event loop, and never overwrites typed text."""

import asyncio
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from threading import Thread
from types import ModuleType, TracebackType
from typing import Any, Self, TextIO

from rich.markup import escape

from souffleur.cli.console import console, steer

PROMPT = "you  "
_NO_BRACKETED_PASTE = "\x1b[?2004l"
_BLANK_LINE = "\r\x1b[K"
"""Moves to the start of the line and clears it."""


class Terminal:
    """Reads lines one by one, from a terminal (edited by readline) or from a pipe.

    Output waits while the user types a line, until the line is sent or empty again.
    """

    def __init__(self, source: TextIO) -> None:
        """Read from `source`, such as `sys.stdin`; readline edits only `sys.stdin`."""
        self._source = source
        self._readline = _editor(source)
        self._attributes: list[Any] | None = None
        self._held: list[str] = []
        self._is_asking = False
        self._is_prompted = False
        self._rest = b""

    def __enter__(self) -> Self:
        if self._readline:
            import termios

            self._attributes = termios.tcgetattr(self._source)
            self._readline.set_pre_input_hook(self._note_prompt)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._give_back()
        if self._readline:
            self._readline.set_pre_input_hook(None)
        self.show_held()

    async def read(self) -> str | None:
        """Return the next line, without its end; `None` at the end of input."""
        self.show_held()
        self._is_prompted, self._is_asking = False, True
        try:
            line = await _in_thread(self._edited if self._readline else self._plain)
        except asyncio.CancelledError:
            self._give_back()
            raise
        self._is_asking = False
        if line is None and self._source.isatty():
            console.print()
        return line

    def tell(self, *lines: str) -> None:
        """Print lines of markup, now or when the user is not typing."""
        self._held += lines
        self.show_held()

    def show_held(self) -> None:
        """Print the waiting lines, unless the user is typing."""
        if not self._held or self._may_be_typing:
            return
        editor = self._readline if self._is_asking else None
        steer(_BLANK_LINE if editor else "")
        held, self._held = self._held, []
        for line in held:
            console.print(line, soft_wrap=not console.is_terminal)
        if editor:  # a key may have been pressed since
            sys.stdout.write(PROMPT + editor.get_line_buffer())
        sys.stdout.flush()

    @property
    def _may_be_typing(self) -> bool:
        """Whether there may be typed text after the prompt, or no prompt yet."""
        if not self._is_asking or not self._source.isatty():
            return False
        known = self._readline and self._is_prompted
        return not known or bool(self._readline and self._readline.get_line_buffer())

    def _give_back(self) -> None:
        """Restore the terminal, even if a thread is still reading a line."""
        if self._readline and self._attributes:
            import termios

            termios.tcsetattr(self._source, termios.TCSADRAIN, self._attributes)
            steer(f"{_NO_BRACKETED_PASTE}\n" if self._is_asking else "")
        self._is_asking = False

    def _note_prompt(self) -> None:
        self._is_prompted = True

    def _edited(self) -> str | None:
        return input(PROMPT)

    def _plain(self) -> str | None:
        """Read a line as bytes, as a thread that waits in a buffered read would block the exit."""
        typed = self._source.isatty()
        if typed:
            console.print(PROMPT, end="")
        while b"\n" not in self._rest and (more := os.read(self._source.fileno(), 65_536)):
            self._rest += more
        if not self._rest:
            return None
        line, _, self._rest = self._rest.partition(b"\n")
        text = line.decode(self._source.encoding or "utf-8", "replace").rstrip("\r")
        if not typed:
            console.print(PROMPT + escape(text))
        return text


def _editor(source: TextIO) -> ModuleType | None:
    """Return readline if a person types; `None` for pipes, or for a Python without readline."""
    if source is not sys.stdin or not (source.isatty() and sys.stdout.isatty()):
        return None  # `input` edits only standard input
    try:
        import readline
    except ImportError:
        return None
    return readline if hasattr(readline, "set_pre_input_hook") else None


async def _in_thread(read: Callable[[], str | None]) -> str | None:
    """Return the line that a thread reads; the process can end before the thread ends."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[str | None] = loop.create_future()

    def settle(line: str | None) -> None:
        if not done.done():
            done.set_result(line)

    def run() -> None:
        try:
            line = read()
        except (EOFError, OSError):
            line = None
        except UnicodeDecodeError:
            line = ""
        with suppress(RuntimeError):  # the loop is closed
            loop.call_soon_threadsafe(settle, line)

    Thread(target=run, name="souffleur-terminal", daemon=True).start()
    return await done
