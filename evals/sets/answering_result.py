"""What came of a public set's questions: accuracy by category, and what was answered wrongly."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Column, Table

from souffleur.evals.suite.metrics import interval

DRAWS = 2000


@dataclass(frozen=True)
class Answered:
    """A question, and what came of it."""

    conversation: str
    id: str
    category: str
    question: str
    gold: str
    block: str
    reply: str
    right: bool | None
    """None: the judge gave no usable grade; it counts as wrong."""
    reason: str = ""


@dataclass(frozen=True)
class Share:
    """How many are right, in per cent, with its interval of 95 %."""

    of: int
    mean: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.mean:.1f} ({self.low:.1f}-{self.high:.1f})"


def shares(answered: Sequence[Answered]) -> dict[str, Share]:
    """Accuracy of each category, and of all."""
    categories = sorted({one.category for one in answered})
    found = {
        category: share([one.right is True for one in answered if one.category == category])
        for category in categories
    }
    return {**found, "all": share([one.right is True for one in answered])}


def share(rights: Sequence[bool]) -> Share:
    """The mean in per cent, with a percentile bootstrap over questions (Efron 1979), seeded.

    >>> str(share([True, True]))
    '100.0 (100.0-100.0)'
    """
    import numpy as np

    values = 100 * np.asarray(rights, dtype=np.float64)
    drawn = np.random.default_rng(0).integers(len(values), size=(DRAWS, len(values)))
    low, high = interval(values[drawn].mean(axis=1))
    return Share(len(values), float(values.mean()), low or 0.0, high or 0.0)


def report(answered: Sequence[Answered], troubles: Sequence[str], console: Console) -> None:
    """A line a category, what was answered wrongly, and what could not be judged."""
    table = Table("category", "questions", "right, %", box=box.SIMPLE_HEAD)
    for category, found in shares(answered).items():
        table.add_row(escape(category), str(found.of), str(found))
    console.print(table)
    folded = [Column(name, overflow="fold") for name in ("question", "reference", "reply", "why")]
    wrongs = Table("id", *folded, box=box.SIMPLE_HEAD)
    for one in answered:
        if not one.right:
            row = (one.id, one.question, one.gold, one.reply, one.reason or "not graded")
            wrongs.add_row(*map(escape, row))
    console.print(wrongs)
    for trouble in troubles:
        console.print(f"[red]not judged[/]  {escape(trouble)}")


def as_json(answered: Sequence[Answered], troubles: Sequence[str]) -> str:
    """The same for a machine, with every answer."""
    whole = {
        "accuracy": {name: asdict(found) for name, found in shares(answered).items()},
        "answers": [asdict(one) for one in answered],
        "troubles": list(troubles),
    }
    return json.dumps(whole, ensure_ascii=False, indent=1)
