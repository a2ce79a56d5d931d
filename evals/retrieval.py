"""How well raw turns are found: search a public set, and measure the ranks of the evidence.

souffleur eval retrieval locomo locomo.jsonl.gz --embedder minilm

The sets are not shipped: `souffleur.evals.sets` lists those that can be read.
"""

import asyncio
import json
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from rich import box
from rich.console import Console
from rich.table import Table

from souffleur.errors import DialogueError
from souffleur.evals.command import Embedder as Named, SetFile, SetName, ToJson, make_app, start
from souffleur.evals.minilm import yardstick
from souffleur.evals.sets.conversation import Conversation, Doc, Question
from souffleur.evals.sets.registry import read_set
from souffleur.evals.suite.bootstrap import Figure, percentage
from souffleur.knowledge.embedding.embedder import Embedder, make_embedder
from souffleur.knowledge.finding.search import Query, Scope
from souffleur.knowledge.knowledge_base import KnowledgeBase
from souffleur.knowledge.policy import COMPANION
from souffleur.knowledge.store import StoreLocation, open_knowledge
from souffleur.knowledge.talk.turn import Turn, turn_point_id

RECALL_DEPTHS = (5, 10, 20)
"""Numbers of results within which evidence counts as found."""
RANK_DEPTH = 10
"""Number of results within which the reciprocal rank is computed."""
UNDATED_START = datetime(2020, 1, 1, tzinfo=UTC)
"""Assumed start of conversations that have no times."""
MESSAGE_GAP = timedelta(minutes=1)
CONTEXT_MESSAGES = 3
"""Messages before a question that are sent with it, as with a recall."""
ROLES = ("user", "assistant")


@dataclass(frozen=True)
class QuestionRanks:
    """A question, and the ranks of its evidence."""

    id: str
    category: str
    ranks: tuple[int | None, ...]
    """The rank of each piece of evidence, from 1; `None` if it is below the deepest depth."""
    seconds: float
    """Duration of the search, including the embedding of the question."""

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


async def run(conversations: Sequence[Conversation], embedder: Embedder) -> list[QuestionRanks]:
    """Ask every question that has evidence, in one store that holds all conversations.

    Each conversation has a user of its own, so no search finds what another said, and the rarity
    of words is counted within it.
    """
    with tempfile.TemporaryDirectory(prefix="souffleur-") as folder:
        location = StoreLocation(folder=Path(folder))
        base = await open_knowledge(location, embedder, COMPANION, raw_days=0)
        try:
            asked: list[QuestionRanks] = []
            for conversation in conversations:
                asked += await _ask_all(base, conversation)
            return asked
        finally:
            await base.close()


async def _ask_all(base: KnowledgeBase, conversation: Conversation) -> list[QuestionRanks]:
    at, keys = UNDATED_START, {}
    for doc in conversation.docs:
        at = doc.at or at + MESSAGE_GAP
        turn = turn_of(doc, conversation.conv_id, at)
        base.journal.record(turn)
        keys[turn.id] = {doc.id, doc.session}
    await base.embed_turns(conversation.conv_id)
    now = max([at, *(doc.at for doc in conversation.docs if doc.at)]) + MESSAGE_GAP
    return [
        await _ask(base, conversation.conv_id, question, keys, now)
        for question in conversation.questions
        if question.evidence
    ]


async def _ask(
    base: KnowledgeBase, user_id: str, question: Question, keys: dict[str, set[str]], now: datetime
) -> QuestionRanks:
    context = "\n".join(question.before[-CONTEXT_MESSAGES:])
    query = Query(
        user_id, question.text, now, context=context, limit=RECALL_DEPTHS[-1], scope=(Scope.TURNS,)
    )
    begun = time.perf_counter()
    found = await base.search(query)
    seconds = time.perf_counter() - begun
    ranks = {
        key: rank
        for rank, hit in reversed(list(enumerate(found, start=1)))
        for key in keys[hit.item.id]
    }
    evidence = dict.fromkeys(question.evidence)
    return QuestionRanks(question.id, question.category, tuple(map(ranks.get, evidence)), seconds)


def turn_of(doc: Doc, user_id: str, at: datetime) -> Turn:
    """Return a message as one side of a turn; a named speaker is put before the text."""
    side = doc.speaker if doc.speaker in ROLES else "user"
    text = doc.text if doc.speaker in {"", side} else f"{doc.speaker}: {doc.text}"
    return Turn(
        id=turn_point_id(user_id, "default", doc.session, doc.id),
        turn_id=doc.id,
        user_id=user_id,
        session_id=doc.session,
        at=at,
        user=text if side == "user" else "",
        assistant=text if side == "assistant" else "",
    )


def compute_figures(asked: Sequence[QuestionRanks]) -> dict[str, Figure]:
    """Return recall at each depth, and the mean reciprocal rank."""
    found = {
        f"R@{depth}": percentage([one.recall(depth) for one in asked]) for depth in RECALL_DEPTHS
    }
    return {**found, f"MRR@{RANK_DEPTH}": percentage([one.reciprocal for one in asked])}


def group_by_category(asked: Sequence[QuestionRanks]) -> dict[str, list[QuestionRanks]]:
    """Return the questions of each category, and all of them."""
    categories = sorted({one.category for one in asked})
    found = {name: [one for one in asked if one.category == name] for name in categories}
    return {**found, "all": list(asked)}


def take_half(conversations: Sequence[Conversation], half: int) -> list[Conversation]:
    """Return every other conversation; of a single conversation, every other question."""
    if len(conversations) > 1:
        return list(conversations[half::2])
    (one,) = conversations
    return [Conversation(one.conv_id, one.docs, one.questions[half::2])]


def report(asked: Sequence[QuestionRanks], console: Console) -> None:
    """Print one line for each category, and the time of a search."""
    names = [f"R@{depth}" for depth in RECALL_DEPTHS] + [f"MRR@{RANK_DEPTH}"]
    table = Table("category", "n", *names, box=box.SIMPLE_HEAD)
    for category, some in group_by_category(asked).items():
        table.add_row(category, str(len(some)), *map(str, compute_figures(some).values()))
    console.print(table)
    middle = 1000 * float(np.median([one.seconds for one in asked]))
    console.print(f"In per cent, with intervals of 95 %; a search took {middle:.1f} ms (median).")


def as_json(asked: Sequence[QuestionRanks]) -> str:
    """Return the same as JSON."""
    return json.dumps(
        {
            category: {"n": len(some)} | {k: vars(v) for k, v in compute_figures(some).items()}
            for category, some in group_by_category(asked).items()
        },
        ensure_ascii=False,
        indent=2,
    )


def retrieval(
    set_name: SetName,
    path: SetFile,
    embedder: Named = "hash:512",
    limit: Annotated[
        int | None, typer.Option(help="Number of conversations; default: all.")
    ] = None,
    half: Annotated[
        int | None, typer.Option(min=0, max=1, help="Only every other conversation.")
    ] = None,
    to_json: ToJson = False,
) -> None:
    """Search a public set for the evidence of its questions, and measure its ranks."""
    conversations = read_set(set_name, path)[:limit]
    chosen = conversations if half is None else take_half(conversations, half)
    asked = asyncio.run(run(chosen, yardstick(embedder) or make_embedder(embedder)))
    if not asked:
        raise DialogueError(f"No question of {path} has evidence: there is nothing to measure.")
    if to_json:
        print(as_json(asked))
    else:
        report(asked, Console(highlight=False, width=120))


app = make_app(retrieval)

if __name__ == "__main__":
    start(app)
