"""Home: who is looking, and what their page shows first."""

from dataclasses import dataclass
from datetime import datetime

from souffleur.api import Souffleur
from souffleur.knowledge.identity import user_conditions
from souffleur.knowledge.memory import Category, Kind, Memory, MemoryState
from souffleur.knowledge.search.browsing import Wanted, browse, count
from souffleur.knowledge.store.engine.collection import Filter, Is
from souffleur.server.access import Access
from souffleur.server.page.cards import Card, cards_of
from souffleur.server.tokens import Role

LATEST, CORE = 6, 12
"""Number of the latest memories, and of the core ones, that are shown first."""


@dataclass(frozen=True)
class Caller:
    """Who is looking at the page."""

    role: Role
    """What their token allows."""
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
    """What holds for the user: as they have chosen, else as in the settings."""

    memory: bool
    """Whether there is a memory; if not, nothing is read or stored."""
    auto_extract: bool
    """Whether what is judged is remembered at once; if not, it waits for a yes."""
    show_references: bool
    """Whether replies come with the memories that they were whispered."""
    incognito: bool
    """Whether every turn is incognito."""


@dataclass(frozen=True)
class Home:
    """What the page of a user shows first."""

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
    """What is always in mind."""
    latest: list[Card]
    """What was learned last."""
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
    """What the user wants of the memory."""
    waiting: int
    """The number of changes that wait for the user's yes."""


def caller_of(memory: Souffleur, access: Access) -> Caller:
    """Return who is looking."""
    who = access.who if access.role is Role.USER else None
    return Caller(access.role, who, access.token is None, memory.has_model)


async def home_of(memory: Souffleur, user_id: str) -> Home:
    """Return what a user's page shows first."""
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
    """Return what a user wants of the memory."""
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
