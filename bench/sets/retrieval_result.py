"""The results of a public set's searches: recall at some depths, by category and conversation."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np
from rich import box
from rich.console import Console
from rich.table import Table

from souffleur.evals.bootstrap import Figure, percentage

RECALL_DEPTHS = (5, 10, 20)
"""Numbers of results within which evidence counts as found."""
RANK_DEPTH = 10
"""Number of results within which the reciprocal rank is computed, and the spread is shown."""
TIMED = "names a time"
"""The questions that name a past time, of whatever category."""


@dataclass(frozen=True)
class QuestionRanks:
    """A question, and the ranks of its evidence."""

    id: str
    category: str
    ranks: tuple[int | None, ...]
    """The rank of each piece of evidence, from 1; `None` if it is below the deepest depth."""
    seconds: float
    """Duration of the search, including the embedding of the question."""
    conversation: str = ""
    """The id of the conversation that it is about."""
    timed: bool = False
    """Whether it names a past time."""

    def recall(self, depth: int) -> float:
        """Return the share of the evidence among the first `depth` results.

        >>> QuestionRanks("q", "", (1, 7, None), 0.0).recall(5)
        0.3333333333333333
        """
        return sum(rank is not None and rank <= depth for rank in self.ranks) / len(self.ranks)

    @property
    def reciprocal(self) -> float:
        """One over the rank of the first evidence; 0 below `RANK_DEPTH`.

        >>> [QuestionRanks("q", "", (rank,), 0.0).reciprocal for rank in (4, 11)]
        [0.25, 0.0]
        """
        found = [rank for rank in self.ranks if rank is not None and rank <= RANK_DEPTH]
        return 1 / min(found) if found else 0.0


def compute_figures(asked: Sequence[QuestionRanks]) -> dict[str, Figure]:
    """Return recall at each depth, and the mean reciprocal rank."""
    found = {
        f"R@{depth}": percentage([one.recall(depth) for one in asked]) for depth in RECALL_DEPTHS
    }
    return {**found, f"MRR@{RANK_DEPTH}": percentage([one.reciprocal for one in asked])}


def group_by_category(asked: Sequence[QuestionRanks]) -> dict[str, list[QuestionRanks]]:
    """Return the questions of each category, those that name a time, and all of them."""
    categories = sorted({one.category for one in asked})
    found = {name: [one for one in asked if one.category == name] for name in categories}
    timed = [one for one in asked if one.timed]
    return {**found, **({TIMED: timed} if timed else {}), "all": list(asked)}


def compute_spread(asked: Sequence[QuestionRanks]) -> dict[str, float]:
    """Return the recall of each conversation at `RANK_DEPTH`, in per cent.

    >>> compute_spread([QuestionRanks("q", "", (1, None), 0.0, "c")])
    {'c': 50.0}
    """

    def conversation(one: QuestionRanks) -> str:
        return one.conversation

    return {
        name: 100 * float(np.mean([one.recall(RANK_DEPTH) for one in some]))
        for name, some in groupby(sorted(asked, key=conversation), conversation)
    }


def report(asked: Sequence[QuestionRanks], console: Console) -> None:
    """Print one line for each category, the spread over conversations, and the time of a search."""
    names = [f"R@{depth}" for depth in RECALL_DEPTHS] + [f"MRR@{RANK_DEPTH}"]
    table = Table("category", "n", *names, box=box.SIMPLE_HEAD)
    for category, some in group_by_category(asked).items():
        table.add_row(category, str(len(some)), *map(str, compute_figures(some).values()))
    console.print(table)
    each = compute_spread(asked).values()
    console.print(
        f"R@{RANK_DEPTH} of the {len(each)} conversations: {min(each):.1f} to {max(each):.1f}."
    )
    middle = 1000 * float(np.median([one.seconds for one in asked]))
    console.print(f"In per cent, with intervals of 95 %; a search took {middle:.1f} ms (median).")


def as_json(asked: Sequence[QuestionRanks]) -> str:
    """Return the same as JSON."""
    figures = {
        category: {"n": len(some)} | {k: vars(v) for k, v in compute_figures(some).items()}
        for category, some in group_by_category(asked).items()
    }
    whole = {**figures, "conversations": compute_spread(asked)}
    return json.dumps(whole, ensure_ascii=False, indent=2)
