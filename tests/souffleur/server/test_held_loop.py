"""The event loop while the page reads all that a user has: it runs again after some records.

Counted by the steps of the loop, not by time; what runs in a thread meanwhile is left out.
"""

import asyncio
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import timedelta
from typing import Any

import pytest
import pytest_asyncio

from souffleur.api import Souffleur
from souffleur.knowledge.memory import Category, Kind, MemoryState
from souffleur.knowledge.search.memories import browse
from souffleur.knowledge.search.query import Wanted
from souffleur.knowledge.store.codecs import embedded_point
from souffleur.knowledge.store.export import export_lines
from souffleur.knowledge.store.topics import Removals
from souffleur.server.page.cards import MAX_FOUND, names_of, strongest
from souffleur.server.page.home import figures_of, home_of
from souffleur.settings import Settings

pytestmark = pytest.mark.asyncio(loop_scope="module")
MEMORIES, TURNS = 1_200, 300
MOST_AT_ONCE = 128
"""Records after which the loop must have run again."""
MOST_EMBEDDED = 10
"""Likewise where each takes a millisecond."""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def memory(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Souffleur]:
    settings = Settings(path=tmp_path_factory.mktemp("store"), embedder="hash:16")
    async with Souffleur.open(settings) as opened:
        await opened.remember("Ann met Tom.", user_id="ann")
        knowledge = opened.knowledge
        (first,) = await knowledge.list("ann")
        (vector,) = await knowledge.embedder.embed([first.content])
        ids = (str(uuid.UUID(int=one)) for one in range(1, MEMORIES))
        many = [first.model_copy(update={"id": one, "entities": ("Tom",)}) for one in ids]
        await knowledge.memories.put([embedded_point(one, {first.content: vector}) for one in many])
        for count in range(TURNS):
            at = opened.clock() - timedelta(minutes=TURNS - count)
            opened.observe(user_id="ann", session_id="s", user=f"Tom called, {count}.", at=at)
        await opened.flush(0.0)
        yield opened


async def steps_of(work: Awaitable[Any]) -> int:
    """How often the event loop ran while something was done."""
    steps = 0

    async def count() -> None:
        nonlocal steps
        while True:
            await asyncio.sleep(0)
            steps += 1

    counting = asyncio.ensure_future(count())
    await asyncio.sleep(0)
    await work
    counting.cancel()
    return steps


async def exported(memory: Souffleur) -> int:
    both = memory.knowledge.memories, memory.knowledge.journal
    return len([part async for part in export_lines(*both, "ann", now=memory.clock())])


def removals_of(memory: Souffleur) -> Removals:
    knowledge = memory.knowledge
    return Removals(knowledge.memories, knowledge.journal, knowledge.embedder)


@pytest.mark.parametrize(
    ("work", "records"),
    [
        (lambda memory: figures_of(memory, "ann", admin=True), MEMORIES + TURNS),
        (lambda memory: removals_of(memory).holdings("ann"), MEMORIES + TURNS),
        (exported, (MEMORIES + TURNS) // 2),
        (lambda memory: memory.list(user_id="ann"), MEMORIES),
        (lambda memory: names_of(memory, "ann"), MEMORIES),
        (lambda memory: browse(memory.knowledge.memories, Wanted("ann"), limit=10), MEMORIES),
        (lambda memory: memory.knowledge.journal.turns(user_id="ann"), TURNS),
        (lambda memory: strongest(memory, Wanted("ann")), 2 * MAX_FOUND),
    ],
    ids=["figures", "preview", "export", "list", "names", "one moment", "turns", "strongest"],
)
async def test_the_loop_runs_while_everything_is_read(
    memory: Souffleur, work: Callable[[Souffleur], Awaitable[Any]], records: int
) -> None:
    """Whoever else waits for the loop waits for a few hundred records at most."""
    assert await steps_of(work(memory)) >= records // MOST_AT_ONCE


@pytest.mark.parametrize("work", [home_of, lambda memory, user: memory.stats(user_id=user)])
async def test_the_loop_runs_between_counts(
    memory: Souffleur, work: Callable[[Souffleur, str], Awaitable[Any]]
) -> None:
    """What is counted by kind, category and state is counted one at a time."""
    assert await steps_of(work(memory, "ann")) >= len(Kind) + len(Category) + len(MemoryState)


async def test_the_loop_runs_while_a_backlog_of_turns_is_embedded(memory: Souffleur) -> None:
    """Turns that wait to be found are embedded some at a time, though no embedder waits."""
    points = await memory.knowledge.journal.turns(user_id="ann")
    await memory.knowledge.journal.mark(points, embedded=False)
    assert await steps_of(memory.knowledge.embed_turns("ann")) >= TURNS // MOST_EMBEDDED


async def test_the_loop_runs_while_messages_are_remembered(memory: Souffleur) -> None:
    """However many messages a call brings, one turn is taken in at a time."""
    said = [("user", f"hello {count}") for count in range(60)]
    told = [message for one in said for message in (one, ("assistant", "hi"))]
    assert await steps_of(memory.remember(told, user_id="bob")) >= len(said)
