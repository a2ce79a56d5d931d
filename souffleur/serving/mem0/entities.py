"""Entities: the users that are known, as mem0's client and its open server list and erase them."""

from typing import Any

from fastapi import APIRouter

from souffleur.knowledge.users import UserSummary
from souffleur.serving.access import Memory
from souffleur.serving.mem0.asking import Ask, Asker
from souffleur.serving.problems import RequestError
from souffleur.serving.tokens import Role

router = APIRouter()


@router.get("/v1/entities/")
async def known_users(memory: Memory, ask: Ask) -> dict[str, Any]:
    """List users: all of them for an admin, otherwise the caller alone."""
    lines = [{"name": one.user_id, **_show(one)} for one in await _known(memory, ask)]
    return {"count": len(lines), "next": None, "previous": None, "results": lines}


@router.get("/entities", name="known_users")
async def list_users(memory: Memory, ask: Ask) -> list[dict[str, Any]]:
    """List users: all of them for an admin, otherwise the caller alone."""
    return [_show(one) for one in await _known(memory, ask)]


@router.delete("/v2/entities/{entity_type}/{name:path}/")
@router.delete("/v1/entities/{entity_type}/{name:path}/")
@router.delete("/entities/{entity_type}/{name:path}")
async def erase_user(memory: Memory, ask: Ask, entity_type: str, name: str) -> dict[str, str]:
    """Erase everything of a user, for good."""
    user_id = ask.access.user(name)
    if entity_type != "user":
        raise RequestError(400, "only users can be erased: agents and runs share their memories")
    await memory.erase_user(user_id=user_id)
    return {"message": "Entity deleted successfully!"}


async def _known(memory: Memory, ask: Asker) -> list[UserSummary]:
    known = await memory.users()
    if ask.access.role is Role.ADMIN:
        return known
    return [one for one in known if one.user_id == ask.user()]


def _show(one: UserSummary) -> dict[str, Any]:
    return {
        "id": one.user_id,
        "type": "user",
        "total_memories": one.memories,
        "updated_at": one.last_seen and one.last_seen.isoformat(),
    }
