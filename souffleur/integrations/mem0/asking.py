"""Asking: for whom a request of mem0's interface is, which often names its user in the body."""

from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Depends

from souffleur.api import Souffleur
from souffleur.integrations.mem0.filters import ANY, ONE_USER, user_in
from souffleur.integrations.mem0.shapes import Named
from souffleur.knowledge.store.introductions import UserSummary
from souffleur.server.access import Access, Caller, Memory, UserId
from souffleur.server.problems import RequestError
from souffleur.server.tokens import Role


class Asker:
    """Who asks, and for whom the address says that it is."""

    def __init__(self, access: Access, named: str | None) -> None:
        if named is not None or access.role is Role.PERSONA:
            access.user(named)
        self.access = access
        self._named = named

    def user(self, body: Named | None = None) -> str:
        """Return the user whose memories are meant. Raises RequestError (400, 403)."""
        said = (self._named, body.user_id, user_in(body.filters)) if body else (self._named,)
        named = {one for one in said if one}
        if len(named) > 1:
            raise RequestError(400, "address, body and filters name several users: name one")
        if ANY in named:
            raise RequestError(400, ONE_USER)
        return self.access.user(next(iter(named), self._named))

    @property
    def means_everybody(self) -> bool:
        """Whether the address names all users."""
        return self._named == ANY

    async def users(self, memory: Souffleur) -> list[str]:
        """Return the users that the address means. Raises RequestError (400, 403)."""
        if not self.means_everybody:
            return [self.user()]
        self.access.need("users")
        return [one.user_id for one in await memory.users()]

    async def owner(self, memory: Souffleur, memory_id: str) -> str:
        """Return the user of a memory, whom mem0's client does not name.

        Raises RequestError (400) for what is no id, NotFoundError.
        """
        _check_form(memory_id)
        if self._named is None and self.access.role is Role.ADMIN:
            return (await memory.knowledge.get(memory_id, user_id=None)).user_id
        return (await memory.get(memory_id, user_id=self.access.user(self._named))).user_id


def _check_form(memory_id: str) -> None:
    try:
        UUID(memory_id)
    except ValueError:
        raise RequestError(400, "the id of a memory is a UUID: take it from a list") from None


def _asker(caller: Caller, user_id: UserId = None) -> Asker:
    return Asker(caller, user_id)


Ask = Annotated[Asker, Depends(_asker)]
"""Who asks; tokens of a persona are refused."""


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
