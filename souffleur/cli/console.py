"""The terminal: the console, what may be printed, JSON for programs, a progress bar."""

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel
from rich.console import Console, ConsoleOptions, ConsoleRenderable, RenderHook, RenderResult
from rich.progress import Progress
from rich.segment import Segment

from souffleur.knowledge.text.plain import showable


class Shown:
    """A text stream for all that is printed: what was said may hold commands for the terminal.

    What a console of rich writes goes past it, as that has commands of its own: see `Cleaning`.
    """

    def __init__(self, inner: Any) -> None:
        self.rich_proxied_file = inner
        """The stream itself, by the name under which rich looks for it."""

    def write(self, text: str) -> int:
        """Write the text without what commands a terminal."""
        self.rich_proxied_file.write(showable(text))
        return len(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.rich_proxied_file, name)


class Cleaning(RenderHook):
    """Takes out of all that a console prints what would command the terminal."""

    def process_renderables(self, renderables: list[ConsoleRenderable]) -> list[ConsoleRenderable]:
        """Return what prints the same without it."""
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


def to_plain(model: BaseModel) -> dict[str, Any]:
    """Return a model's fields as JSON types."""
    return model.model_dump(mode="json")


@contextmanager
def progress(what: str, *, hidden: bool = False) -> Iterator[Callable[[int, int], None]]:
    """Show a bar on standard error, if that is a terminal; the callback takes done and total."""
    err = Console(stderr=True)
    if hidden or not err.is_terminal:
        yield lambda done, total: None
        return
    with Progress(console=err, transient=True) as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
