"""The terminal: the console, JSON for programs, a progress bar."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from pydantic import BaseModel
from rich.console import Console
from rich.progress import Progress

console = Console(highlight=False)


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
