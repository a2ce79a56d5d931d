"""Routes on memories: list, add, extract, search, show, edit, delete, restore, share, count."""

from typing import Annotated, Literal

from fastapi import APIRouter, Query

from souffleur.api import Souffleur
from souffleur.knowledge.identity import EVERY_SPHERE
from souffleur.knowledge.memory import Category, Kind, Memory as OneMemory, MemoryState
from souffleur.knowledge.operation import LedgerEntry
from souffleur.knowledge.people import sphere_of
from souffleur.knowledge.search.browsing import Wanted
from souffleur.knowledge.search.memories import Found
from souffleur.lookup import READABLE, Stats
from souffleur.server.access import Memory, Owner, Talker, Whose
from souffleur.server.paging import Since, Until, learned, page_of
from souffleur.server.schemas import (
    EditBody,
    Entries,
    ExtractBody,
    ForgetBody,
    Page,
    ReasonBody,
    RememberBody,
    SearchBody,
    SkillBody,
)

router = APIRouter(prefix="/api/memories", tags=["memories"])
MAX_PAGE = 500
"""Maximum memories of one page."""
State = MemoryState | Literal["any"]


@router.get("", name="list")
async def list_memories(
    memory: Memory,
    whose: Talker,
    kind: Kind | None = None,
    category: Category | None = None,
    state: State = MemoryState.ACTIVE,
    since: Since = None,
    until: Until = None,
    order: Literal["oldest", "newest"] = "oldest",
    limit: Annotated[int, Query(ge=1, le=MAX_PAGE)] = 50,
    cursor: Annotated[str | None, Query(description="`next` of the page before.")] = None,
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
    """Return the sphere in which a persona knows things; every one if none is named."""
    if whose.agent_id is None:
        return EVERY_SPHERE
    _, card = await memory.knowledge.people.find(whose.user_id, whose.agent_id)
    return sphere_of(card)


@router.post("")
async def remember(memory: Memory, whose: Talker, body: RememberBody) -> Entries:
    """Remember a sentence as it is; `refused` says why it was not, as when it is known."""
    return await memory.remember(
        body.content,
        user_id=whose.user_id,
        agent_id=whose.agent_id or "default",
        session_id=body.session_id,
        kind=body.kind,
        importance=body.importance,
        reason=body.reason,
        at=body.at,
    )


@router.post("/extract", name="remember")
async def extract(memory: Memory, whose: Talker, body: ExtractBody) -> Entries:
    """Have messages judged now; without a model they are stored and wait."""
    return await memory.remember(
        body.messages,
        user_id=whose.user_id,
        agent_id=whose.agent_id or "default",
        session_id=body.session_id,
        at=body.at,
    )


@router.post("/skills")
async def record_skill(memory: Memory, whose: Talker, body: SkillBody) -> LedgerEntry:
    """Record how something was done; the same steps again strengthen it, others replace it."""
    return await memory.record_skill(
        body.name,
        body.workflow,
        body.outcome,
        user_id=whose.user_id,
        agent_id=whose.agent_id or "default",
    )


@router.post("/search")
async def search(memory: Memory, whose: Talker, body: SearchBody) -> list[Found]:
    """Search memories, episodes and raw turns, best first."""
    return await memory.search(
        body.text,
        user_id=whose.user_id,
        agent_id=whose.agent_id,
        scope=body.scope,
        limit=body.limit,
        at=body.at,
    )


@router.get("/stats")
async def stats(memory: Memory, user_id: Owner) -> Stats:
    """Count memories: in all, by kind, by category, by state."""
    return await memory.stats(user_id=user_id)


@router.post("/forget")
async def forget(memory: Memory, user_id: Owner, body: ForgetBody) -> Entries:
    """Forget what a text clearly means, or an id; can be undone. `dry_run` only shows it."""
    return await memory.forget(
        body.query, user_id=user_id, reason=body.reason, at=body.at, dry_run=body.dry_run
    )


@router.get("/{memory_id}")
async def get(memory: Memory, user_id: Owner, memory_id: str) -> OneMemory:
    """Show one memory, in any state."""
    return await memory.get(memory_id, user_id=user_id)


@router.patch("/{memory_id}")
async def edit(memory: Memory, user_id: Owner, memory_id: str, body: EditBody) -> LedgerEntry:
    """Change the words of a memory; can be undone."""
    return await memory.edit(memory_id, body.content, user_id=user_id)


@router.delete("/{memory_id}", name="forget")
async def delete(memory: Memory, user_id: Owner, memory_id: str) -> LedgerEntry:
    """Forget a memory; it can be restored, or the change undone."""
    found = await memory.get(memory_id, user_id=user_id)
    return (await memory.forget(found.id, user_id=user_id))[0]


@router.post("/{memory_id}/restore")
async def restore_memory(
    memory: Memory, user_id: Owner, memory_id: str, body: ReasonBody | None = None
) -> LedgerEntry:
    """Make a forgotten or archived memory active again."""
    reason = (body and body.reason) or "told to restore"
    return await memory.restore_memory(memory_id, user_id=user_id, reason=reason)


@router.post("/{memory_id}/pin")
async def pin(
    memory: Memory, user_id: Owner, memory_id: str, body: ReasonBody | None = None
) -> LedgerEntry:
    """Make a memory core: always in mind, and never fading; can be undone."""
    reason = (body and body.reason) or "pinned by the user"
    return await memory.pin(memory_id, user_id=user_id, reason=reason)


@router.post("/{memory_id}/share")
async def share(
    memory: Memory, user_id: Owner, memory_id: str, body: ReasonBody | None = None
) -> LedgerEntry:
    """Let every persona know a memory that one of them was told."""
    reason = (body and body.reason) or "shared by the host"
    return await memory.share(memory_id, user_id=user_id, reason=reason)


@router.get("/{memory_id}/history")
async def history(memory: Memory, user_id: Owner, memory_id: str) -> Entries:
    """Show all changes of a memory, oldest first: who, when, why, on which words."""
    return await memory.history(memory_id, user_id=user_id)
