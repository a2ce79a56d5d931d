"""Routes on users and personas: who they are, how a user is understood, and their erasure."""

from typing import Annotated

from fastapi import APIRouter, Query

from souffleur.cast import Cast
from souffleur.knowledge.identity import MAX_ID_LENGTH
from souffleur.knowledge.memory import Memory as OneMemory
from souffleur.knowledge.people import Person, PersonaCard
from souffleur.knowledge.preferences import Preferences
from souffleur.knowledge.store.erasing import Erased
from souffleur.knowledge.store.introductions import UserSummary
from souffleur.server.access import Memory, Owner, Talker, TalkerOrAll
from souffleur.server.problems import RequestError
from souffleur.server.schemas import (
    DefinitionBody,
    Entries,
    PersonaBody,
    PersonBody,
    PreferencesBody,
)

router = APIRouter(prefix="/api", tags=["people"])
PersonaId = Annotated[str, Query(max_length=MAX_ID_LENGTH, alias="agent_id", examples=["luna"])]


@router.get("/users")
async def users(memory: Memory) -> list[UserSummary]:
    """List all users with a memory or a turn, those who were seen last first."""
    return await memory.users()


@router.delete("/users")
async def erase_user(memory: Memory, user_id: Owner) -> Erased:
    """Erase everything of a user now, for good."""
    return await memory.erase_user(user_id=user_id)


@router.get("/cast")
async def cast(memory: Memory, whose: TalkerOrAll) -> Cast:
    """Show users and personas as introduced, and the names of all others.

    Who names a user sees that user and the persona; admins who name nobody see all.
    """
    if whose is None:
        return await memory.cast()
    return await memory.cast(user_id=whose.user_id, agent_id=whose.agent_id or "default")


@router.get("/person")
async def person(memory: Memory, user_id: Owner) -> Person | None:
    """Show how a user was introduced; null if they were not."""
    return (await memory.cast()).introduced.people.get(user_id)


@router.put("/person")
async def introduce(memory: Memory, user_id: Owner, body: PersonBody) -> Person:
    """Set a user's display name, time zone and language."""
    return await memory.introduce(
        user_id=user_id, title=body.title, timezone=body.timezone, language=body.language
    )


@router.get("/preferences")
async def preferences(memory: Memory, whose: Talker) -> Preferences:
    """Show what a user wants of the memory."""
    return await memory.preferences(user_id=whose.user_id)


@router.patch("/preferences")
async def set_preferences(memory: Memory, user_id: Owner, body: PreferencesBody) -> Preferences:
    """Set what a user wants of the memory."""
    return await memory.set_preferences(
        user_id=user_id,
        memory=body.memory,
        auto_extract=body.auto_extract,
        show_references=body.show_references,
        incognito=body.incognito,
    )


@router.get("/personas")
async def personas(memory: Memory) -> list[PersonaCard]:
    """List the personas that were introduced."""
    return list((await memory.cast()).introduced.personas.values())


@router.put("/personas")
async def introduce_persona(memory: Memory, agent_id: PersonaId, body: PersonaBody) -> PersonaCard:
    """Set a persona's display name and what it knows."""
    return await memory.introduce_persona(agent_id=agent_id, name=body.name, knows=body.knows)


@router.put("/personas/definition")
async def define(memory: Memory, agent_id: PersonaId, body: DefinitionBody) -> Entries:
    """Define a persona: sentences that are whispered only with it, for every user."""
    return await memory.define(agent_id=agent_id, what=body.what)


@router.get("/profile")
async def portrait(memory: Memory, whose: Talker) -> OneMemory | None:
    """Show a user's portrait, for a persona; null if there is none yet."""
    return await memory.portrait(user_id=whose.user_id, agent_id=whose.agent_id or "default")


@router.post("/profile")
async def write_portrait(memory: Memory, whose: Talker) -> OneMemory:
    """Write a new portrait of a user, due or not; 503 if no model is configured."""
    if not memory.has_model:
        raise RequestError(503, "no model is configured: set SOUFFLEUR_BASE_URL of the server")
    return await memory.write_portrait(user_id=whose.user_id, agent_id=whose.agent_id or "default")
