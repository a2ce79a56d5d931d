"""How well raw turns are found: search a public set, and measure the ranks of the evidence.

python -m bench retrieval locomo locomo.jsonl.gz --embedder openai:text-embedding-3-small
python -m bench retrieval beam beam.jsonl.gz --path recall

The sets are not shipped: `bench.sets` lists those that can be read. Hosts hand over
exchanges, so a message of the user and the reply to it are one turn, which counts for the evidence
in either; `--messages` hands over each alone.
"""

import asyncio
import json
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import numpy as np
from rich import box
from rich.console import Console
from rich.table import Table
from typer import Option

from bench.command import Embedder as Named, SetFile, SetName, ToJson
from bench.percentage import Figure, percentage
from bench.sets.conversation import (
    MESSAGE_GAP,
    UNDATED_START,
    Conversation,
    Doc,
    Question,
    pool,
    sides_of,
)
from bench.sets.registry import POOLED, read_set
from souffleur.agents.brief import Persona
from souffleur.errors import InputError
from souffleur.knowledge.knowledge_base import KnowledgeBase
from souffleur.knowledge.policy import COMPANION
from souffleur.knowledge.search.embedder import Embedder, make_embedder
from souffleur.knowledge.search.periods import find_period
from souffleur.knowledge.search.query import Query, Scope
from souffleur.knowledge.session import CONTEXT_MESSAGES
from souffleur.knowledge.store.opening import StoreLocation, open_knowledge
from souffleur.knowledge.turn import Turn, turn_point_id
from souffleur.recall.finder import Asked
from souffleur.recall.gather import whisper_for
from souffleur.recall.rendering import estimate_tokens
from souffleur.settings import Settings

RECALL_DEPTHS = (5, 10, 20)
"""Numbers of results within which evidence counts as found."""
RANK_DEPTH = 10
"""Number of results within which the reciprocal rank is computed, and the spread is shown."""
WHOLE = "all found"
"""The share of questions of which all evidence was found, at any rank."""
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
    def whole(self) -> bool:
        """Whether all of its evidence was found, at any rank."""
        return None not in self.ranks

    @property
    def reciprocal(self) -> float:
        """One over the rank of the first evidence; 0 below `RANK_DEPTH`.

        >>> [QuestionRanks("q", "", (rank,), 0.0).reciprocal for rank in (4, 11)]
        [0.25, 0.0]
        """
        found = [rank for rank in self.ranks if rank is not None and rank <= RANK_DEPTH]
        return 1 / min(found) if found else 0.0


def compute_figures(asked: Sequence[QuestionRanks]) -> dict[str, Figure]:
    """Return recall at each depth, the mean reciprocal rank, and how often all was found."""
    found = {
        f"R@{depth}": percentage([one.recall(depth) for one in asked]) for depth in RECALL_DEPTHS
    }
    found[f"MRR@{RANK_DEPTH}"] = percentage([one.reciprocal for one in asked])
    return {**found, WHOLE: percentage([float(one.whole) for one in asked])}


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
    names = sorted({one.conversation for one in asked})
    parts = {name: [one for one in asked if one.conversation == name] for name in names}
    return {
        name: 100 * float(np.mean([one.recall(RANK_DEPTH) for one in part]))
        for name, part in parts.items()
    }


def report(asked: Sequence[QuestionRanks], console: Console) -> None:
    """Print one line for each category, the spread over conversations, and the time of a search."""
    names = [f"R@{depth}" for depth in RECALL_DEPTHS] + [f"MRR@{RANK_DEPTH}", WHOLE]
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


PERSONA = Persona(user="User", assistant="Assistant")


class SearchPath(StrEnum):
    """The way in which the turns for a question are found."""

    SEARCH = "search"
    """By `search`: the first 20 turns, however near."""
    RECALL = "recall"
    """By `recall`: the turns in the block for a reply, within its budget."""


Finding = Callable[[KnowledgeBase, str, Question, datetime], Awaitable[list[str]]]
"""Returns the ids of the turns found for a user's question, best first."""


async def run(
    conversations: Sequence[Conversation],
    embedder: Embedder,
    *,
    path: SearchPath = SearchPath.SEARCH,
    messages: bool = False,
) -> list[QuestionRanks]:
    """Ask every question that has evidence, in one store that holds all conversations.

    Each conversation has a user of its own, so no search finds what another said, and the rarity
    of words is counted within it. `messages`: each message is a turn of its own.
    """
    with tempfile.TemporaryDirectory(prefix="souffleur-") as folder:
        location = StoreLocation(folder=Path(folder))
        base = await open_knowledge(location, embedder, COMPANION)
        try:
            asked: list[QuestionRanks] = []
            for conversation in conversations:
                asked += await _ask_all(base, conversation, _FINDINGS[path], messages)
            return asked
        finally:
            await base.close()


async def _ask_all(
    base: KnowledgeBase, conversation: Conversation, find: Finding, messages: bool
) -> list[QuestionRanks]:
    user_id, at = conversation.conv_id, UNDATED_START
    keys: dict[str, tuple[Doc, ...]] = {}
    parts = [(doc,) for doc in conversation.docs] if messages else exchanges(conversation.docs)
    for docs in parts:
        at = docs[0].at or at + MESSAGE_GAP
        turn = turn_of(docs, user_id, at)
        base.journal.record(turn)
        keys[turn.id] = docs
    await base.embed_turns(user_id)
    now = max([at, *(doc.at for doc in conversation.docs if doc.at)]) + MESSAGE_GAP
    return [
        await _ask(base, user_id, question, keys, now, find)
        for question in conversation.questions
        if question.evidence
    ]


async def _ask(
    base: KnowledgeBase,
    user_id: str,
    question: Question,
    keys: dict[str, tuple[Doc, ...]],
    now: datetime,
    find: Finding,
) -> QuestionRanks:
    begun = time.perf_counter()
    found = await find(base, user_id, question, now)
    seconds = time.perf_counter() - begun
    ranks = {
        doc.session if question.by_session else doc.id: rank
        for rank, turn_id in reversed(list(enumerate(found, start=1)))
        for doc in keys[turn_id]
    }
    evidence = tuple(map(ranks.get, dict.fromkeys(question.evidence)))
    timed = find_period(question.text, now, PERSONA.zone) is not None
    return QuestionRanks(question.id, question.category, evidence, seconds, user_id, timed)


async def _search(
    base: KnowledgeBase, user_id: str, question: Question, now: datetime
) -> list[str]:
    context = "\n".join(question.before[-CONTEXT_MESSAGES:])
    query = Query(
        user_id, question.text, now, context=context, limit=RECALL_DEPTHS[-1], scope=(Scope.TURNS,)
    )
    return [hit.item.id for hit in await base.search(query)]


async def _recall(
    base: KnowledgeBase, user_id: str, question: Question, now: datetime
) -> list[str]:
    asked = Asked(user_id, "the question's own", question.text, now, PERSONA)
    hand = base.cache
    whisper = await whisper_for(hand, Settings(recall_timeout=60), asked, estimate_tokens)
    return [hit.item.id for hit in whisper.past if isinstance(hit.item, Turn)]


_FINDINGS: dict[SearchPath, Finding] = {SearchPath.SEARCH: _search, SearchPath.RECALL: _recall}


def exchanges(docs: Sequence[Doc]) -> list[tuple[Doc, ...]]:
    """Return each message of the user with the reply to it; other messages stand alone."""
    parts: list[tuple[Doc, ...]] = []
    for doc in docs:
        before = parts[-1] if parts else ()
        if (
            doc.speaker == "assistant"
            and [one.speaker for one in before] == ["user"]
            and before[0].session == doc.session
        ):
            parts[-1] = (*before, doc)
        else:
            parts.append((doc,))
    return parts


def turn_of(docs: Sequence[Doc], user_id: str, at: datetime) -> Turn:
    """Return messages as one turn; a named speaker is put before the text."""
    first = docs[0]
    return Turn(
        id=turn_point_id(user_id, "default", first.session, first.id),
        turn_id=first.id,
        user_id=user_id,
        session_id=first.session,
        at=at,
        **sides_of(docs),
    )


def take_half(conversations: Sequence[Conversation], half: int) -> list[Conversation]:
    """Return every other conversation; of a single conversation, every other question."""
    if len(conversations) > 1:
        return list(conversations[half::2])
    (one,) = conversations
    return [Conversation(one.conv_id, one.docs, one.questions[half::2])]


def retrieval(
    set_name: SetName,
    file: SetFile,
    embedder: Named = "hash:512",
    path: Annotated[
        SearchPath, Option(help="The search alone, or what a reply's block brings.")
    ] = SearchPath.SEARCH,
    messages: Annotated[
        bool, Option("--messages", help="Each message is a turn; default: exchanges.")
    ] = False,
    limit: Annotated[int | None, Option(help="Number of conversations; default: all.")] = None,
    half: Annotated[int | None, Option(min=0, max=1, help="Only every other conversation.")] = None,
    to_json: ToJson = False,
) -> None:
    """Search a public set for the evidence of its questions, and measure its ranks."""
    conversations = pool(read_set(set_name, file), POOLED.get(set_name, 1))[:limit]
    chosen = conversations if half is None else take_half(conversations, half)
    named = make_embedder(embedder)
    asked = asyncio.run(run(chosen, named, path=path, messages=messages))
    if not asked:
        raise InputError(f"No question of {file} has evidence: there is nothing to measure.")
    if to_json:
        print(as_json(asked))
    else:
        report(asked, Console(highlight=False, width=120))
