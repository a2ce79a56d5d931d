"""Figures: what is due, which runs there were, and a user's memories in numbers."""

from dataclasses import dataclass
from datetime import datetime

from souffleur.api import Souffleur
from souffleur.knowledge.identity import user_conditions
from souffleur.knowledge.memory import MemoryState
from souffleur.knowledge.store.codecs import to_memories
from souffleur.knowledge.store.engine.collection import Filter, Is, Order
from souffleur.knowledge.store.runs import run_log
from souffleur.report.quality import BIN, measure
from souffleur.server.page.cards import Card, cards_of

MAX_DUE, MAX_RUNS = 12, 12
"""Memories and runs that are listed."""
_RUNS_READ = 10 * MAX_RUNS


@dataclass(frozen=True)
class RunSeen:
    """A run over the store."""

    name: str
    """The name of the run: decay, review, …"""
    began: datetime
    """When it began."""
    ended: datetime
    """When it ended."""
    done: dict[str, int]
    """What it did, by op; empty for users if it was for others as well."""
    error: str
    """What went wrong first; for admins, and for users if the run was for them alone."""


@dataclass(frozen=True)
class Figures:
    """A user's memories in numbers, what is due, and the runs."""

    due: list[Card]
    """What happens next, the first first."""
    runs: list[RunSeen]
    """The latest runs, newest first."""
    importance: tuple[int, ...]
    """The number of memories by value now, in bins of `bin`."""
    bin: float
    """The width of a bin."""
    due_by_day: tuple[int, ...]
    """The number of memories due in each of the next periods of 24 hours."""
    overdue: int
    """The number of memories that were due before."""
    verdicts: dict[str, int]
    """What was decided on the user's memories, by op."""
    refusals: dict[str, int]
    """What was refused, by reason."""
    turns: dict[str, int]
    """The number of turns by state."""
    waiting_since: datetime | None
    """When the oldest waiting turn was said."""
    calls: int
    """Calls of the model so far."""
    tokens: int
    """Tokens of prompts and answers so far."""
    cost: float
    """Dollars so far."""


async def figures_of(memory: Souffleur, user_id: str, *, admin: bool) -> Figures:
    """Return a user's memories in numbers: reads all of them."""
    zone = (await memory.cast()).zone(user_id)
    now = memory.clock()
    found = await measure(memory.knowledge, now, user_id=user_id, max_compared=0, zone=zone)
    return Figures(
        due=await _due(memory, user_id),
        runs=await _runs(memory, user_id, admin=admin),
        importance=found.importance,
        bin=BIN,
        due_by_day=found.due_by_day,
        overdue=sum(found.overdue.values()),
        verdicts=dict(found.verdicts),
        refusals=dict(found.refusals),
        turns=dict(found.turns),
        waiting_since=found.waiting_since,
        calls=found.cost.calls,
        tokens=found.cost.input_tokens + found.cost.output_tokens,
        cost=found.cost.dollars,
    )


async def _due(memory: Souffleur, user_id: str) -> list[Card]:
    active = Filter((*user_conditions(user_id), Is("state", MemoryState.ACTIVE)))
    points = memory.knowledge.memories
    page, _ = await points.scroll(active, limit=MAX_DUE, order=Order("due_at"))
    return cards_of(memory, [one for one in to_memories(page) if one.due_at])


async def _runs(memory: Souffleur, user_id: str, *, admin: bool) -> list[RunSeen]:
    found = await run_log.latest(memory.knowledge.journal, limit=_RUNS_READ)
    mine = [one for one in found if one.of_user in (None, user_id)][:MAX_RUNS]
    return [_seen(one, whole=admin or one.of_user is not None) for one in mine]


def _seen(run: run_log.RunRecord, *, whole: bool) -> RunSeen:
    done = dict(run.counts) if whole else {}
    error = next(iter(run.errors), "") if whole else ""
    return RunSeen(run.name, run.began, run.ended, done, error)
