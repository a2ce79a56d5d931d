"""Routes on memories by hand: list in pages, remember a sentence or messages, forget by id."""

from datetime import datetime
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query
from pydantic import Field

from souffleur.api import Souffleur
from souffleur.knowledge.identity import EVERY_SPHERE
from souffleur.knowledge.memory import Category, Kind, MemoryState
from souffleur.knowledge.operation import Importance, LedgerEntry
from souffleur.knowledge.people import sphere_of
from souffleur.knowledge.search.browsing import Wanted
from souffleur.lookup import READABLE
from souffleur.server.access import Memory, Owner, Talker, Whose
from souffleur.server.paging import Cursor, Since, Until, learned, page_of
from souffleur.server.schemas import Body, Page
from souffleur.server.table import ARGUMENTS, Id

router = APIRouter(prefix="/api/memories", tags=["memories"])
MAX_PAGE = 500
"""Maximum memories of one page."""
At = Annotated[datetime | str | float | None, Field(**ARGUMENTS["at"])]


class RememberBody(Body):
    """A sentence to remember as it is."""

    content: str = Field(examples=["Ann is allergic to peanuts."])
    session_id: Id = "default"
    kind: Kind = Kind.FACT
    importance: Importance = Importance.HIGH
    reason: str = "told to remember"
    at: At = None


class ExtractBody(Body):
    """Messages to be judged now."""

    messages: list[Any] = Field(
        examples=[[{"role": "user", "content": "I moved to Kyoto."}]],
        description="Messages of OpenAI or LangChain, or pairs of role and text.",
    )
    session_id: Id = "default"
    at: At = None


@router.get("", name="list")
async def list_memories(
    memory: Memory,
    whose: Talker,
    kind: Kind | None = None,
    category: Category | None = None,
    state: MemoryState | Literal["any"] = MemoryState.ACTIVE,
    since: Since = None,
    until: Until = None,
    order: Literal["oldest", "newest"] = "oldest",
    limit: Annotated[int, Query(ge=1, le=MAX_PAGE)] = 50,
    cursor: Cursor = None,
) -> Page:
    """List memories, episodes and portraits, in pages, by the time when they were learned."""
    earliest, latest = await learned(memory, whose.user_id, since=since, until=until)
    wanted = Wanted(
        whose.user_id,
        states=() if state == "any" else (state,),
        kinds=(kind,) if kind else (),
        categories=(category,) if category else tuple(Category),
        sphere=await _sphere(memory, whose),
        since=earliest,
        until=latest,
        now=memory.clock() if state in READABLE else None,
    )
    return await page_of(memory, wanted, limit=limit, cursor=cursor, newest_first=order == "newest")


async def _sphere(memory: Souffleur, whose: Whose) -> str | None:
    """Return the sphere in which a persona knows things; every sphere if no persona is named."""
    if whose.agent_id is None:
        return EVERY_SPHERE
    _, card = await memory.knowledge.people.find(whose.user_id, whose.agent_id)
    return sphere_of(card)


@router.post("")
async def remember(memory: Memory, whose: Talker, body: RememberBody) -> list[LedgerEntry]:
    """Remember a sentence as it is; `refused` says why it was not, as when it is known."""
    user_id, agent_id = whose.user_id, whose.agent_id or "default"
    told = {name: value for name, value in body if name != "content"}
    return await memory.remember(body.content, user_id=user_id, agent_id=agent_id, **told)


@router.post("/extract", name="remember")
async def extract(memory: Memory, whose: Talker, body: ExtractBody) -> list[LedgerEntry]:
    """Have messages judged now; without a model they are stored and wait."""
    return await memory.remember(
        body.messages,
        user_id=whose.user_id,
        agent_id=whose.agent_id or "default",
        session_id=body.session_id,
        at=body.at,
    )


@router.delete("/{memory_id}", name="forget")
async def delete(memory: Memory, user_id: Owner, memory_id: str) -> LedgerEntry:
    """Forget a memory; it can be restored, or the change undone."""
    found = await memory.get(memory_id, user_id=user_id)
    return (await memory.forget(found.id, user_id=user_id))[0]
