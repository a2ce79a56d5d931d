"""Changing and choosing memories as mem0's interface asks for it."""

from collections.abc import Sequence
from typing import Any

from souffleur.errors import NotFoundError
from souffleur.knowledge.memory import Category, Memory as OneMemory, MemoryState
from souffleur.runtime import Souffleur
from souffleur.serving.mem0.filters import is_met
from souffleur.serving.mem0.own_fields import find_own, keep_own
from souffleur.serving.mem0.shapes import LET_PASS, ListBody, SearchBody, UpdateBody, show
from souffleur.serving.problems import RequestError

HIDDEN = (Category.EPISODE, Category.PROFILE)
"""What mem0 does not know: it has sentences only."""


async def find_one(memory: Souffleur, user_id: str, memory_id: str) -> OneMemory:
    """Return a memory that was not deleted. Raises NotFoundError."""
    found = await memory.get(memory_id, user_id=user_id)
    if found.state is MemoryState.FORGOTTEN:
        raise NotFoundError(f"the memory {memory_id!r} was deleted: its history shows it")
    return found


async def show_one(memory: Souffleur, user_id: str, memory_id: str) -> dict[str, Any]:
    """Return a memory as mem0 shows it. Raises NotFoundError."""
    found = await find_one(memory, user_id, memory_id)
    return show(found, (await find_own(memory, [found]))[found.id])


async def change(
    memory: Souffleur, user_id: str, memory_id: str, body: UpdateBody
) -> dict[str, Any]:
    """Change the words or the metadata of a memory, and return it.

    Raises RequestError (400) if nothing is said, NotFoundError.
    """
    text = body.text if body.text is not None else body.data
    if text is None and body.metadata is None and not body.model_fields_set & LET_PASS:
        raise RequestError(400, "say what to change: text, metadata or both")
    await find_one(memory, user_id, memory_id)
    if text is not None:
        await memory.edit(memory_id, text, user_id=user_id)
    if body.metadata is not None:
        await keep_own(memory, user_id, [memory_id], {"metadata": body.metadata})
    return await show_one(memory, user_id, memory_id)


async def find_all(memory: Souffleur, user_id: str, body: ListBody) -> list[dict[str, Any]]:
    """Return the memories that a body asks for, newest first."""
    found = await memory.list(user_id=user_id, state=MemoryState.ACTIVE)
    return await choose(memory, [(one, None) for one in reversed(found)], body)


async def choose(
    memory: Souffleur,
    found: Sequence[tuple[OneMemory, float | None]],
    body: ListBody | SearchBody,
) -> list[dict[str, Any]]:
    """Return the memories, each with its score, that meet what a body asks for.

    Raises RequestError (400) for what is no filter.
    """
    kept = [(one, score) for one, score in found if one.category not in HIDDEN]
    own = await find_own(memory, [one for one, _ in kept])
    lines = [show(one, own[one.id], score) for one, score in kept]
    asked: list[Any] = [body.filters or {}]
    asked.append(body.model_dump(include={"agent_id", "run_id", "app_id"}, exclude_none=True))
    if isinstance(body, SearchBody) and body.metadata:
        asked.append({"metadata": body.metadata})
    if isinstance(body, ListBody):
        dates = {"gte": body.start_date, "lte": body.end_date}
        asked.append({"created_at": {op: day for op, day in dates.items() if day}})
    if body.categories:
        asked.append({"categories": {"in": body.categories}})
    for part in asked:  # what is no filter is refused, also of a user without memories
        is_met(part, {})
    return [one for one in lines if all(is_met(part, one) for part in asked)]
