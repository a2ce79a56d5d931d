"""The beginning of the page, the questions that wait for a yes, and the figures."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from souffleur.api import Souffleur
from souffleur.knowledge.identity import user_conditions
from souffleur.knowledge.memory import Category, Kind, Memory, MemoryState
from souffleur.knowledge.operation import LedgerEntry
from souffleur.knowledge.proposals import LAPSES_AFTER, named_ids
from souffleur.knowledge.search.memories import browse, count
from souffleur.knowledge.search.query import Wanted
from souffleur.knowledge.store.codecs import to_memories
from souffleur.knowledge.store.engine.collection import Filter, Is, Order
from souffleur.knowledge.store.runs import run_log
from souffleur.report.quality import BIN, measure
from souffleur.server.access import Access
from souffleur.server.page.cards import Card, cards_of
from souffleur.server.tokens import Role

LATEST, CORE = 6, 12
"""Number of the latest memories, and of the core ones, that are shown first."""


@dataclass(frozen=True)
class Caller:
    """Who is looking at the page."""

    role: Role
    """The rights of their token."""
    user_id: str | None
    """The user it is of; `None` for an admin, who names one."""
    open: bool
    """Whether no token is needed."""
    has_model: bool
    """Whether a model is configured, so that portraits can be written."""


@dataclass(frozen=True)
class Persona:
    """A persona that has learned something of the user."""

    agent_id: str
    """The id of the persona."""
    name: str
    """How it is called."""


@dataclass(frozen=True)
class Chosen:
    """The preferences in force: as the user has chosen, else as in the settings."""

    memory: bool
    """Whether there is a memory; if not, nothing is read or stored."""
    auto_extract: bool
    """Whether changes by the judge hold at once; if not, they wait for a yes."""
    show_references: bool
    """Whether replies come with the memories that they were whispered."""
    incognito: bool
    """Whether every turn is incognito."""


@dataclass(frozen=True)
class Home:
    """The beginning of a user's page."""

    user_id: str
    """Whose page it is."""
    title: str
    """How the user is called."""
    timezone: str
    """The user's time zone."""
    language: str | None
    """The user's language; `None` if it is not set."""
    personas: list[Persona]
    """The personas that have learned something of the user."""
    portrait: Memory | None
    """How the user is understood; `None` if there is no portrait yet."""
    core: list[Card]
    """The core memories, which are always in mind."""
    latest: list[Card]
    """The latest memories."""
    kinds: dict[str, int]
    """The number of memories in force by kind."""
    categories: dict[str, int]
    """The same by category, episodes included."""
    states: dict[str, int]
    """The number of memories in each state, without episodes and portraits."""
    turns: int
    """The number of turns."""
    since: datetime | None
    """When the first memory there is was learned."""
    chosen: Chosen
    """The user's preferences."""
    waiting: int
    """The number of changes that wait for the user's yes."""


def caller_of(memory: Souffleur, access: Access) -> Caller:
    """Return who is looking."""
    who = access.who if access.role is Role.USER else None
    return Caller(access.role, who, access.token is None, memory.has_model)


async def home_of(memory: Souffleur, user_id: str) -> Home:
    """Return the beginning of a user's page."""
    cast, points, now = await memory.cast(), memory.knowledge.memories, memory.clock()
    persona, person = cast.persona(user_id), cast.introduced.people.get(user_id)
    every = Wanted(user_id, now=now)
    latest, _ = await browse(points, every, limit=LATEST)
    first, _ = await browse(points, Wanted(user_id, states=()), limit=1, newest_first=False)
    core, _ = await browse(points, Wanted(user_id, categories=(Category.CORE,)), limit=CORE)
    return Home(
        user_id=user_id,
        title=persona.user if person and person.title else user_id,
        timezone=str(persona.zone),
        language=persona.language,
        personas=await personas_of(memory, user_id),
        portrait=await memory.portrait(user_id=user_id),
        core=cards_of(memory, core),
        latest=cards_of(memory, latest),
        kinds={one: await count(points, Wanted(user_id, kinds=(one,), now=now)) for one in Kind},
        categories={
            one: await count(points, Wanted(user_id, categories=(one,), now=now))
            for one in Category
        },
        states={one: await count(points, Wanted(user_id, states=(one,))) for one in MemoryState},
        turns=await _count_turns(memory, user_id),
        since=first[0].created_at if first else None,
        chosen=await chosen_of(memory, user_id),
        waiting=len(await memory.proposals(user_id=user_id)),
    )


async def chosen_of(memory: Souffleur, user_id: str) -> Chosen:
    """Return the preferences of a user."""
    wants, usual = await memory.preferences(user_id=user_id), memory.settings
    extract, show = wants.auto_extract, wants.show_references
    return Chosen(
        memory=wants.memory,
        auto_extract=usual.auto_extract if extract is None else extract,
        show_references=usual.show_references if show is None else show,
        incognito=wants.incognito,
    )


async def personas_of(memory: Souffleur, user_id: str) -> list[Persona]:
    """Return the personas that have learned something of a user, by name."""
    cast, found = await memory.cast(), []
    for agent_id in sorted({"default", *cast.introduced.personas}):
        wanted = Wanted(user_id, states=(), agent_id=agent_id)
        if await count(memory.knowledge.memories, wanted):
            found.append(Persona(agent_id, cast.persona(user_id, agent_id).assistant))
    return found


async def _count_turns(memory: Souffleur, user_id: str) -> int:
    turns = Filter((Is("type", "turn"), *user_conditions(user_id)))
    return await memory.knowledge.journal.collection.count(turns)


@dataclass(frozen=True)
class Question:
    """One change that waits."""

    id: str
    """The id of the ledger entry, which `confirm` and `reject` take."""
    op: str
    """The op that waits: ADD, UPDATE, DELETE, MERGE or CONTRADICT."""
    before: list[str]
    """The words that would go, as they are now; empty if nothing would."""
    after: str
    """The words that would be remembered; empty if none would."""
    memory_id: str | None
    """The memory that waits and can be reworded before; `None` if the change is to others."""
    reason: str
    """Why, in the words of its author."""
    quote: str
    """The words of the talk on which it rests."""
    agent_id: str
    """The persona that the user talked with."""
    at: datetime
    """When it was proposed."""
    lapses_at: datetime
    """When it lapses without an answer."""


async def asked(memory: Souffleur, user_id: str) -> list[Question]:
    """Return the changes that wait for a user's consent, oldest first."""
    entries = await memory.proposals(user_id=user_id)
    ids = {id for entry in entries for id in named_ids(entry)}
    found = to_memories(await memory.knowledge.memories.get(sorted(ids)))
    mine = {one.id: one for one in found if one.user_id == user_id}
    return [question_of(entry, mine) for entry in entries]


def question_of(entry: LedgerEntry, memories: Mapping[str, Memory]) -> Question:
    """Return the question of a proposal; `memories` are those that it names, by id.

    A new memory may have been reworded since it was proposed.
    """
    named = [memories[id] for id in named_ids(entry) if id in memories]
    new = next((one for one in named if one.state is MemoryState.PENDING), None)
    stays = memories.get(str(entry.details.get("stays")))
    after = new or stays
    return Question(
        id=entry.id,
        op="ADD" if new else entry.op,
        before=[one.content for one in named if one is not after],
        after=after.content if after else str(entry.details.get("content") or ""),
        memory_id=new.id if new else None,
        reason=entry.reason,
        quote=entry.quote,
        agent_id=entry.agent_id,
        at=entry.at,
        lapses_at=entry.at + LAPSES_AFTER,
    )


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
    """Its changes by op; empty for users if it was for others as well."""
    error: str
    """Its first error; for admins, and for users if the run was for them alone."""


@dataclass(frozen=True)
class Figures:
    """A user's memories in numbers, the next changes, and the runs."""

    due: list[Card]
    """The memories that change next, the first first."""
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
    """The number of decisions on the user's memories, by op."""
    refusals: dict[str, int]
    """The number of refusals, by reason."""
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
