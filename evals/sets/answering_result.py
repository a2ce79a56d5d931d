"""The results of a public set's questions: accuracy by category, and the wrong answers."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Column, Table

from souffleur.evals.suite.bootstrap import Figure, percentage


@dataclass(frozen=True)
class GradedAnswer:
    """A question with its reply and its grade."""

    conversation: str
    id: str
    category: str
    question: str
    gold: str
    block: str
    reply: str
    right: bool | None
    """The grade; `None`, which counts as wrong, if the judge gave no usable one."""
    reason: str = ""


def accuracy(answered: Sequence[GradedAnswer]) -> dict[str, tuple[int, Figure]]:
    """Return the number of questions and the share of right answers, by category and for all."""
    rights: dict[str, list[bool]] = {
        name: [] for name in sorted({one.category for one in answered})
    }
    rights["all"] = []
    for one in answered:
        for name in (one.category, "all"):
            rights[name].append(one.right is True)
    return {name: (len(some), percentage(some)) for name, some in rights.items()}


def report(answered: Sequence[GradedAnswer], troubles: Sequence[str], console: Console) -> None:
    """Print the accuracy by category, the wrong answers, and what could not be judged."""
    table = Table("category", "questions", "right, %", box=box.SIMPLE_HEAD)
    for category, (count, right) in accuracy(answered).items():
        table.add_row(escape(category), str(count), str(right))
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


def as_json(answered: Sequence[GradedAnswer], troubles: Sequence[str]) -> str:
    """Return the same as JSON, with every answer."""
    whole = {
        "accuracy": {
            name: {"of": count, **asdict(right)}
            for name, (count, right) in accuracy(answered).items()
        },
        "answers": [asdict(one) for one in answered],
        "troubles": list(troubles),
    }
    return json.dumps(whole, ensure_ascii=False, indent=1)
