"""The first view of the page, the changes that wait for consent, and the figures."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from souffleur.api import Souffleur
from souffleur.knowledge.identity import user_conditions
from souffleur.knowledge.memory import Category, Memory, MemoryState
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
"""Maximum number of latest memories, and of core memories, in the first view."""


@dataclass(frozen=True)
class Caller:
    """The reader of the page."""

    role: Role
    """The rights of the reader's token."""
    user_id: str | None
    """The user of the token; `None` for an admin, who chooses a user."""
    has_model: bool
    """Whether a model is configured, so that portraits can be written."""
    by_meaning: bool
    """Whether a search compares meanings; if not, an embedder is missing, and it compares words."""


@dataclass(frozen=True)
class Persona:
    """A persona that has memories of the user."""

    agent_id: str
    """The id of the persona."""
    name: str
    """The name of the persona."""


@dataclass(frozen=True)
class Chosen:
    """The preferences in force: the user's choice, or the settings where the user has no choice."""

    memory: bool
    """Whether the memory is on; if not, nothing is read or stored."""
    auto_extract: bool
    """Whether changes by the judge take effect at once; if not, they wait for consent."""
    show_references: bool
    """Whether replies come with the memories in their whisper."""
    incognito: bool
    """Whether every turn is incognito."""


@dataclass(frozen=True)
class Home:
    """The first view of a user's page."""

    user_id: str
    """The id of the user."""
    title: str
    """The name of the user: as introduced, else as in the portrait, else the id."""
    timezone: str
    """The user's time zone."""
    language: str | None
    """The user's language; `None` if it is not set."""
    personas: list[Persona]
    """The personas that have memories of the user."""
    portrait: Memory | None
    """The portrait of the user; `None` if there is no portrait yet."""
    core: list[Card]
    """The core memories, which are always in mind."""
    latest: list[Card]
    """The latest memories."""
    total: int
    """The number of memories in force."""
    talks: int
    """The number of episodes, with those that are being written anew."""
    since: datetime | None
    """When the oldest memory was learned; `None` if there is no memory."""
    chosen: Chosen
    """The user's preferences."""
    waiting: int
    """The number of changes that wait for the user's consent."""


def caller_of(memory: Souffleur, access: Access) -> Caller:
    """Return the reader of the page."""
    who = access.who if access.role is Role.USER else None
    by_meaning = not memory.knowledge.embedder.name.startswith("hash:")
    return Caller(access.role, who, memory.has_model, by_meaning)


async def home_of(memory: Souffleur, user_id: str) -> Home:
    """Return the first view of a user's page."""
    cast, points, now = await memory.cast(), memory.knowledge.memories, memory.clock()
    persona, person = cast.persona(user_id), cast.introduced.people.get(user_id)
    every = Wanted(user_id, now=now)
    latest, _ = await browse(points, every, limit=LATEST)
    first, _ = await browse(points, Wanted(user_id, states=()), limit=1, newest_first=False)
    portrait = await memory.portrait(user_id=user_id)
    named = str(portrait.data.get("name") or "") if portrait else ""
    core, _ = await browse(points, Wanted(user_id, categories=(Category.CORE,)), limit=CORE)
    return Home(
        user_id=user_id,
        title=persona.user if person and person.title else named or user_id,
        timezone=str(persona.zone),
        language=persona.language,
        personas=await personas_of(memory, user_id),
        portrait=portrait,
        core=cards_of(memory, core),
        latest=cards_of(memory, latest),
        total=await count(points, every),
        talks=await _count_talks(memory, user_id),
        since=first[0].created_at if first else None,
        chosen=await chosen_of(memory, user_id),
        waiting=len(await memory.proposals(user_id=user_id)),
    )


async def chosen_of(memory: Souffleur, user_id: str) -> Chosen:
    """Return the preferences in force for a user."""
    wants, usual = await memory.preferences(user_id=user_id), memory.settings
    extract, show = wants.auto_extract, wants.show_references
    return Chosen(
        memory=wants.memory,
        auto_extract=usual.auto_extract if extract is None else extract,
        show_references=usual.show_references if show is None else show,
        incognito=wants.incognito,
    )


async def personas_of(memory: Souffleur, user_id: str) -> list[Persona]:
    """Return the personas that have memories of a user, sorted by id."""
    cast, found = await memory.cast(), []
    for agent_id in sorted({"default", *cast.introduced.personas}):
        wanted = Wanted(user_id, states=(), agent_id=agent_id)
        if await count(memory.knowledge.memories, wanted):
            found.append(Persona(agent_id, cast.persona(user_id, agent_id).assistant))
    return found


async def _count_talks(memory: Souffleur, user_id: str) -> int:
    waiting = await memory.knowledge.sessions.waiting_segments(user_id)
    ids = [one.episode_id for one in waiting if one.episode_id]
    told = to_memories(await memory.knowledge.memories.get(ids))
    gone = sum(one.state is MemoryState.FORGOTTEN for one in told)
    now, episodes = memory.clock(), (Category.EPISODE,)
    kept = Wanted(user_id, categories=episodes, now=now)
    return gone + await count(memory.knowledge.memories, kept)


@dataclass(frozen=True)
class Question:
    """A change that waits for the user's consent."""

    id: str
    """The id of the ledger entry, for `confirm` and `reject`."""
    op: str
    """The op of the change: ADD, UPDATE, DELETE or MERGE."""
    before: list[str]
    """The present texts that the change would remove; empty if it would remove no text."""
    after: str
    """The text that the change would store; empty if it would store no text."""
    memory_id: str | None
    """The id of the new memory, which the user can reword; `None` if the change adds no memory."""
    reason: str
    """The reason, in the words of the change's author."""
    quote: str
    """The words of the talk that are the evidence."""
    at: datetime
    """When the change was proposed."""
    lapses_at: datetime
    """When the proposal lapses without an answer."""


async def asked(memory: Souffleur, user_id: str) -> list[Question]:
    """Return the changes that wait for a user's consent, oldest first."""
    entries = await memory.proposals(user_id=user_id)
    ids = {id for entry in entries for id in named_ids(entry)}
    found = to_memories(await memory.knowledge.memories.get(sorted(ids)))
    mine = {one.id: one for one in found if one.user_id == user_id}
    return [question_of(entry, mine) for entry in entries]


def question_of(entry: LedgerEntry, memories: Mapping[str, Memory]) -> Question:
    """Return the question of a proposal; `memories` are the memories that it names, by id.

    The text of a new memory is its present text: the user may have reworded it.
    """
    named = [memories[id] for id in named_ids(entry) if id in memories]
    new = next((one for one in named if one.state is MemoryState.PENDING), None)
    return Question(
        id=entry.id,
        op="ADD" if new else entry.op,
        before=[one.content for one in named if one is not new],
        after=new.content if new else str(entry.details.get("content") or ""),
        memory_id=new.id if new else None,
        reason=entry.reason,
        quote=entry.quote,
        at=entry.at,
        lapses_at=entry.at + LAPSES_AFTER,
    )


MAX_DUE, MAX_RUNS = 12, 12
"""Maximum number of memories, and of runs, in the figures."""
_RUNS_READ = 10 * MAX_RUNS


@dataclass(frozen=True)
class RunSeen:
    """A run over the store."""

    name: str
    """The name of the run: decay, review, …"""
    began: datetime
    """When the run began."""
    ended: datetime
    """When the run ended."""
    done: dict[str, int]
    """The number of its changes by op. A user sees it only if the run was for that user alone."""
    error: str
    """Its first error. A user sees it only if the run was for that user alone."""


@dataclass(frozen=True)
class Figures:
    """A user's memories in numbers, the next changes, and the runs."""

    due: list[Card]
    """The next memories that are due for a change, the earliest first."""
    runs: list[RunSeen]
    """The latest runs, newest first."""
    importance: tuple[int, ...]
    """The number of memories by present value, in bins of the width `bin`."""
    bin: float
    """The width of a bin."""
    due_by_day: tuple[int, ...]
    """The number of memories due in each of the next periods of 24 hours."""
    overdue: int
    """The number of memories that were due before now."""
    verdicts: dict[str, int]
    """The number of decisions on the user's memories, by op."""
    refusals: dict[str, int]
    """The number of refusals, by reason."""
    turns: dict[str, int]
    """The number of turns by state."""
    waiting_since: datetime | None
    """Since when the oldest waiting turn waits."""
    calls: int
    """The number of model calls so far."""
    tokens: int
    """The number of tokens of prompts and answers so far."""
    cost: float
    """The cost so far, in dollars."""


async def figures_of(memory: Souffleur, user_id: str, *, admin: bool) -> Figures:
    """Return a user's memories in numbers. Reads all of the user's memories."""
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
