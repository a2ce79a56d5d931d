"""Routes of mem0's hosted interface, which MemoryClient calls, and of its open server.

Every change goes through Souffleur: it has a reason and can be undone. Where mem0 infers, the
judge decides.
"""

from collections.abc import Mapping
from typing import Annotated, Any
from uuid import UUID, uuid4

from fastapi import APIRouter, Depends, Query, Request
from starlette.routing import Route

from souffleur.api import Souffleur
from souffleur.integrations.mem0.filters import ANY, ONE_USER, user_in
from souffleur.integrations.mem0.schemas import (
    DEFAULT,
    FIELDS,
    AddBody,
    BatchBody,
    ListBody,
    Named,
    SearchBody,
    UpdateBody,
    change,
    choose,
    find_all,
    find_one,
    keep_own,
    show_history,
    show_one,
    show_results,
    written,
)
from souffleur.knowledge.operation import LedgerEntry
from souffleur.knowledge.store.introductions import UserSummary
from souffleur.messages import to_turns
from souffleur.server.access import Caller, Memory, Tokens, UserId
from souffleur.server.problems import RequestError
from souffleur.server.tokens import Role, erase_person


class _Target:
    """The user that a request is about; its caller must have access to the user.

    Tokens of a persona are refused.
    """

    def __init__(self, caller: Caller, user_id: UserId = None) -> None:
        if user_id is not None or caller.role is Role.PERSONA:
            caller.user(user_id)
        self.access = caller
        self._named = user_id

    def user(self, body: Named | None = None) -> str:
        """Return the user named in address, body or filters. Raises RequestError (400, 403)."""
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
        """Return the users named in the address. Raises RequestError (400, 403)."""
        if not self.means_everybody:
            return [self.user()]
        self.access.need("users")
        return [one.user_id for one in await memory.users()]

    async def owner(self, memory: Souffleur, memory_id: str) -> str:
        """Return the user of a memory, because mem0's client names only the memory.

        Raises RequestError (400) for an invalid id, NotFoundError.
        """
        try:
            UUID(memory_id)
        except ValueError:
            raise RequestError(400, "the id of a memory is a UUID: take it from a list") from None
        if self._named is None and self.access.role is Role.ADMIN:
            return (await memory.knowledge.get(memory_id, user_id=None)).user_id
        return (await memory.get(memory_id, user_id=self.access.user(self._named))).user_id


Target = Annotated[_Target, Depends()]


_SETTINGS = "the server judges by its own settings, not by requests: see docs/settings.md"
_EXPORTS = "there are no exports by a schema: list the memories"
_TOKENS = "there are no accounts: make tokens with `souffleur token`"
INSTEAD: Mapping[str, str] = {
    "/v1/feedback/": "feedback is not taken: change or delete the memory",
    "/v1/exports/": _EXPORTS,
    "/v1/exports/get/": _EXPORTS,
    "/v1/summary/": "there are no summaries of this kind: GET /api/profile shows a portrait",
    "/v1/event/{rest:path}": "an add is done when it is answered, with its results",
    "/v1/events/": "there are no such events: follow GET /api/events",
    "/api/v1/webhooks/{rest:path}": "there are no webhooks: follow GET /api/events",
    "/api/v1/orgs/{rest:path}": f"there are no projects; {_SETTINGS}",
    "/configure": _SETTINGS,
    "/configure/providers": _SETTINGS,
    "/generate-instructions": _SETTINGS,
    "/reset": "erase users one by one: DELETE /entities/user/USER_ID, as an admin for any of them",
    "/auth/{rest:path}": _TOKENS,
    "/api-keys": _TOKENS,
    "/requests": "requests are not kept: GET /metrics counts them",
}
"""For each route that is missing here, the advice in its error."""
_VERBS = ("GET", "POST", "PUT", "PATCH", "DELETE")


def _refusing(path: str, instead: str) -> Route:
    async def refuse(_: Request) -> None:
        raise RequestError(404, instead)

    return Route(path, refuse, methods=_VERBS, include_in_schema=False)


router = APIRouter(tags=["mem0"])
FOUND = 10
"""Default number of search results."""
MAX_FOUND = 100
"""Number of search results that a filter is applied to."""
PAGE = 100
"""Default number of memories on a page."""
MAX_LISTED = 1000
DELETED_BY = ("user_id", "agent_id", "run_id", "app_id")
"""The parameters of `delete_all`."""
ACCOUNTS = ("org_id", "project_id")
"""Parameters that older clients of mem0 send in every call; they have no effect."""


@router.get("/v1/entities/")
async def known_users(memory: Memory, target: Target) -> dict[str, Any]:
    """List users: all of them for an admin, otherwise the caller alone."""
    lines = [{"name": one.user_id, **_show(one)} for one in await _known(memory, target)]
    return {"count": len(lines), "next": None, "previous": None, "results": lines}


@router.get("/entities", name="known_users")
async def list_users(memory: Memory, target: Target) -> list[dict[str, Any]]:
    """List users: all of them for an admin, otherwise the caller alone."""
    return [_show(one) for one in await _known(memory, target)]


@router.delete("/v2/entities/{entity_type}/{name:path}/")
@router.delete("/v1/entities/{entity_type}/{name:path}/")
@router.delete("/entities/{entity_type}/{name:path}")
async def erase_user(
    memory: Memory, tokens: Tokens, target: Target, entity_type: str, name: str
) -> dict[str, str]:
    """Erase everything of a user, for good, and revoke the user's tokens."""
    user_id = target.access.user(name)
    if entity_type != "user":
        raise RequestError(400, "only users can be erased: agents and runs share their memories")
    await erase_person(memory, tokens, user_id)
    return {"message": "Entity deleted successfully!"}


async def _known(memory: Memory, target: _Target) -> list[UserSummary]:
    known = await memory.users()
    if target.access.role is Role.ADMIN:
        return known
    return [one for one in known if one.user_id == target.user()]


def _show(one: UserSummary) -> dict[str, Any]:
    return {
        "id": one.user_id,
        "type": "user",
        "total_memories": one.memories,
        "updated_at": one.last_seen and one.last_seen.isoformat(),
    }


router.routes.extend(_refusing(path, instead) for path, instead in INSTEAD.items())


@router.get("/v1/ping/")
async def ping(target: Target) -> dict[str, str]:
    """Say that the server runs; the client asks when it is created."""
    return {"status": "ok", "org_id": "souffleur", "project_id": "souffleur"}


@router.post("/v3/memories/add/")
@router.post("/v1/memories/")
@router.post("/memories")
async def remember(memory: Memory, target: Target, body: AddBody) -> dict[str, Any]:
    """Judge messages now; if `infer` is false, remember the text of each message."""
    user_id = target.user(body)
    filters = body.filters or {}
    given = [body.messages] if isinstance(body.messages, dict) else body.messages
    messages = [{"role": "user", "content": given}] if isinstance(given, str) else given
    turns = to_turns(messages, [user_id])
    said = [text for turn in turns for text in (turn.user, turn.assistant) if text]
    entries: list[LedgerEntry] = []
    for what in said if body.infer is False else [messages]:
        entries += await memory.remember(
            what,
            user_id=user_id,
            agent_id=body.agent_id or filters.get("agent_id") or DEFAULT,
            session_id=body.run_id or filters.get("run_id") or DEFAULT,
            at=body.timestamp,
        )
    kept = [written(one).id for one in entries if one.changes and one.op in ("ADD", "UPDATE")]
    own = body.model_dump(include=set(FIELDS), exclude_none=True)
    await keep_own(memory, user_id, kept, {**filters, **own})
    waits = body.infer is not False and not memory.has_model
    status = "PENDING" if waits else "SUCCEEDED"
    return {"results": show_results(entries), "event_id": str(uuid4()), "status": status}


@router.post("/v3/memories/search/")
@router.post("/v2/memories/search/")
@router.post("/search")
async def search(memory: Memory, target: Target, body: SearchBody) -> dict[str, Any]:
    """Search a user's memories, best first."""
    user_id = target.user(body)
    wanted = next((n for n in (body.top_k, body.limit) if n is not None), FOUND)
    hits = await memory.search(body.query, user_id=user_id, limit=MAX_FOUND)
    lines = await choose(memory, [(hit.memory, hit.score) for hit in hits], body)
    enough = [one for one in lines if body.threshold is None or one["score"] >= body.threshold]
    return {"results": enough[:wanted]}


@router.post("/v3/memories/", name="list")
@router.post("/v2/memories/", name="list")
async def list_memories(
    memory: Memory,
    target: Target,
    body: ListBody,
    page: Annotated[int, Query(ge=0)] = 1,
    page_size: Annotated[int, Query(ge=0, le=500)] = PAGE,
) -> dict[str, Any]:
    """List a user's memories, newest first, in pages."""
    lines = await find_all(memory, target.user(body), body)
    page, page_size = page or 1, page_size or PAGE
    first, last = (page - 1) * page_size, page * page_size

    def address(number: int) -> str:
        return f"/v3/memories/?page={number}&page_size={page_size}"

    return {
        "count": len(lines),
        "next": address(page + 1) if last < len(lines) else None,
        "previous": address(page - 1) if page > 1 else None,
        "results": lines[first:last],
    }


@router.get("/v1/memories/", name="list")
@router.get("/memories", name="list")
async def list_all(
    memory: Memory,
    target: Target,
    agent_id: str | None = None,
    run_id: str | None = None,
    app_id: str | None = None,
    top_k: Annotated[int | None, Query(ge=0, le=MAX_LISTED)] = None,
) -> dict[str, Any]:
    """List a user's memories, newest first."""
    body = ListBody(agent_id=agent_id, run_id=run_id, app_id=app_id)
    return {"results": (await find_all(memory, target.user(), body))[:top_k]}


@router.get("/v1/memories/{memory_id}/")
@router.get("/memories/{memory_id}")
async def get(memory: Memory, target: Target, memory_id: str) -> dict[str, Any]:
    """Show one memory, also if it was replaced."""
    user_id = await target.owner(memory, memory_id)
    return await show_one(memory, user_id, memory_id)


@router.put("/v1/memories/{memory_id}/")
@router.put("/memories/{memory_id}")
async def edit(memory: Memory, target: Target, memory_id: str, body: UpdateBody) -> dict[str, Any]:
    """Change the words or the metadata of a memory; can be undone."""
    user_id = await target.owner(memory, memory_id)
    return await change(memory, user_id, memory_id, body)


@router.delete("/v1/memories/{memory_id}/")
@router.delete("/memories/{memory_id}")
async def forget(memory: Memory, target: Target, memory_id: str) -> dict[str, str]:
    """Forget a memory; can be undone."""
    user_id = await target.owner(memory, memory_id)
    await memory.forget(memory_id, user_id=user_id)
    return {"message": "Memory deleted successfully!"}


@router.delete("/v1/memories/", name="forget")
@router.delete("/memories", name="forget")
async def delete_all(
    memory: Memory,
    target: Target,
    request: Request,
    agent_id: str | None = None,
    run_id: str | None = None,
    app_id: str | None = None,
) -> dict[str, str]:
    """Forget all memories of a user, or of everybody for `*`; each can be restored.

    `delete_users` erases for good.
    """
    if unknown := request.query_params.keys() - {*DELETED_BY, *ACCOUNTS}:
        known = ", ".join(DELETED_BY)
        raise RequestError(400, f"delete_all knows no {min(unknown)!r}: say {known}")
    named = {"agent_id": agent_id, "run_id": run_id, "app_id": app_id}
    if target.means_everybody:
        named = {name: None if value == ANY else value for name, value in named.items()}
    for user_id in await target.users(memory):
        for line in await find_all(memory, user_id, ListBody(**named)):
            await memory.forget(line["id"], user_id=user_id)
    return {"message": "Memories deleted successfully!"}


@router.get("/v1/memories/{memory_id}/history/")
@router.get("/memories/{memory_id}/history")
async def history(memory: Memory, target: Target, memory_id: str) -> list[dict[str, Any]]:
    """Show all changes of a memory, oldest first."""
    user_id = await target.owner(memory, memory_id)
    entries = await memory.history(memory_id, user_id=user_id)
    return [show_history(one, memory_id) for one in entries if memory_id in one.memory_ids]


@router.put("/v1/batch/", name="edit")
async def update_batch(memory: Memory, target: Target, body: BatchBody) -> dict[str, str]:
    """Change several memories, or no memory if one is missing."""
    owned = [(await target.owner(memory, one.memory_id), one) for one in body.memories]
    for user_id, one in owned:
        await find_one(memory, user_id, one.memory_id)
    for user_id, one in owned:
        await change(memory, user_id, one.memory_id, one)
    return {"message": f"Successfully updated {len(owned)} memories"}


@router.delete("/v1/batch/", name="forget")
async def delete_batch(memory: Memory, target: Target, body: BatchBody) -> dict[str, str]:
    """Forget several memories, or no memory if one is missing."""
    owned = [(await target.owner(memory, one.memory_id), one) for one in body.memories]
    for user_id, one in owned:
        await memory.forget(one.memory_id, user_id=user_id)
    return {"message": f"Successfully deleted {len(owned)} memories"}
