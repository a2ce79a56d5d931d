"""Routes on changes: undo, and proposals that wait for the user's consent."""

from typing import Annotated

from fastapi import APIRouter, Query

from souffleur.knowledge.identity import MAX_ID_LENGTH
from souffleur.knowledge.operation import LedgerEntry, Recorded
from souffleur.lookup import MAX_LIMIT
from souffleur.notices import Notice
from souffleur.server.access import Memory, Owner
from souffleur.server.schemas import Entries

router = APIRouter(prefix="/api", tags=["changes"])
_MAX_SEQ = 1 << 62
"""Numbers that the index of the store holds."""


@router.get("/ledger")
async def ledger(
    memory: Memory,
    user_id: Owner,
    after: Annotated[int, Query(ge=0, le=_MAX_SEQ, description="`seq` of the last one known.")] = 0,
    limit: Annotated[int, Query(ge=1, le=MAX_LIMIT)] = 100,
    newest_first: bool = False,
) -> list[Recorded]:
    """List what was decided on a user's memories, the earliest first."""
    return await memory.ledger(user_id=user_id, after=after, limit=limit, newest_first=newest_first)


@router.get("/notices")
async def notices(
    memory: Memory,
    user_id: Owner,
    turn_id: Annotated[str | None, Query(max_length=MAX_ID_LENGTH, examples=["msg-17"])] = None,
    after: Annotated[int, Query(ge=0, le=_MAX_SEQ, description="`seq` of the last one known.")] = 0,
    limit: Annotated[int, Query(ge=1, le=MAX_LIMIT)] = 100,
) -> list[Notice]:
    """List what turns have changed, in words for the user, the earliest first."""
    return await memory.notices(user_id=user_id, turn_id=turn_id, after=after, limit=limit)


@router.post("/ledger/{entry_id}/undo")
async def undo(memory: Memory, user_id: Owner, entry_id: str) -> LedgerEntry:
    """Undo a change, by the id of its ledger entry; 409 if a later change depends on it."""
    return await memory.undo(entry_id, user_id=user_id)


@router.get("/pending")
async def proposals(memory: Memory, user_id: Owner) -> Entries:
    """List the changes that wait for the user's consent, oldest first."""
    return await memory.proposals(user_id=user_id)


@router.post("/pending/confirm")
async def confirm_all(memory: Memory, user_id: Owner) -> Entries:
    """Confirm all proposals; one whose memory was changed meanwhile goes on waiting."""
    return await memory.confirm_all(user_id=user_id)


@router.post("/pending/reject")
async def reject_all(memory: Memory, user_id: Owner) -> Entries:
    """Reject all proposals."""
    return await memory.reject_all(user_id=user_id)


@router.post("/pending/{id}/confirm")
async def confirm(memory: Memory, user_id: Owner, id: str) -> LedgerEntry:
    """Confirm a proposal, or a memory, by the id of either."""
    return await memory.confirm(id, user_id=user_id)


@router.post("/pending/{id}/reject")
async def reject(memory: Memory, user_id: Owner, id: str) -> LedgerEntry:
    """Reject a proposal, or forget a memory, by the id of either."""
    return await memory.reject(id, user_id=user_id)
