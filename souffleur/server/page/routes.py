"""Routes for the user's own page, beyond the plain records of other routes."""

from datetime import datetime
from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Path, Query
from pydantic import Field

from souffleur.knowledge.memory import Category, Kind, MemoryState
from souffleur.knowledge.search.query import Wanted
from souffleur.knowledge.turn import MAX_MESSAGE_LENGTH
from souffleur.server.access import AgentId, Caller as Calling, Memory, Owner, UserId
from souffleur.server.page.cards import Cards, Names, matching, names_of, page_of, strongest
from souffleur.server.page.home import (
    Caller,
    Figures,
    Home,
    Question,
    asked,
    caller_of,
    figures_of,
    home_of,
)
from souffleur.server.page.learning import Learning, learning_of
from souffleur.server.page.said import Around, Said, Whispered, around, latest_said, whispered
from souffleur.server.paging import Cursor, Since, Until, learned
from souffleur.server.table import Body
from souffleur.server.tokens import Role

router = APIRouter(prefix="/api", tags=["page"])
MAX_PAGE = 200
"""Maximum number of cards on a page."""
_READABLE = ("active", "pending")
TurnId = Annotated[str, Path(description="The store's own id of a turn, as in evidence.")]


class CardsBody(Body):
    """A search among the cards. The text is not in the URL, because servers log URLs."""

    text: str = Field(min_length=1, max_length=MAX_MESSAGE_LENGTH, examples=["tea"])


@router.get("/me")
async def me(memory: Memory, caller: Calling, user_id: UserId = None) -> Caller:
    """Show the caller: a user, or an admin. An admin names a user in other requests."""
    if caller.role is not Role.ADMIN or user_id is not None:
        caller.user(user_id)
    return caller_of(memory, caller)


@router.get("/home")
async def home(memory: Memory, user_id: Owner) -> Home:
    """Show the first view of a user's page: portrait, core and latest memories, numbers."""
    return await home_of(memory, user_id)


@router.get("/learning")
async def learning(memory: Memory, user_id: Owner) -> Learning:
    """Say whether the companion learns from a user's talk just now, and how many turns wait."""
    return await learning_of(memory, user_id)


async def _wanted(
    memory: Memory,
    user_id: Owner,
    kind: Annotated[list[Kind] | None, Query()] = None,
    category: Annotated[list[Category] | None, Query()] = None,
    state: MemoryState | Literal["any"] = MemoryState.ACTIVE,
    learned_by: AgentId = None,
    since: Since = None,
    until: Until = None,
) -> Wanted:
    earliest, latest = await learned(memory, user_id, since=since, until=until)
    return Wanted(
        user_id,
        states=() if state == "any" else (state,),
        kinds=tuple(kind or ()),
        categories=tuple(category or ()),
        agent_id=learned_by or None,
        since=earliest,
        until=latest,
        now=_now(memory.clock(), state),
    )


Filtered = Annotated[Wanted, Depends(_wanted)]
"""The filter of a request for cards."""


@router.get("/cards")
async def cards(
    memory: Memory,
    wanted: Filtered,
    order: Literal["newest", "oldest", "strongest"] = "newest",
    limit: Annotated[int, Query(ge=1, le=MAX_PAGE)] = 60,
    cursor: Cursor = None,
) -> Cards:
    """List memories as cards, in pages."""
    if order == "strongest":
        return await strongest(memory, wanted)
    newest = order == "newest"
    return await page_of(memory, wanted, limit=limit, cursor=cursor, newest_first=newest)


@router.post("/cards/search", name="cards")
async def found(memory: Memory, wanted: Filtered, body: CardsBody) -> Cards:
    """List the memories that match a text as cards, on one page."""
    return await matching(memory, wanted, body.text)


@router.get("/questions")
async def questions(memory: Memory, user_id: Owner) -> list[Question]:
    """List the changes that wait for a user's consent, oldest first."""
    return await asked(memory, user_id)


@router.get("/names")
async def names(memory: Memory, user_id: Owner) -> Names:
    """Show the names in a user's latest memories, and the ties between them."""
    return await names_of(memory, user_id)


@router.get("/figures")
async def figures(memory: Memory, caller: Calling, user_id: Owner) -> Figures:
    """Show a user's memories in numbers, the next changes and the latest runs.

    Reads all of the user's memories.
    """
    return await figures_of(memory, user_id, admin=caller.role is Role.ADMIN)


@router.get("/turns")
async def turns(
    memory: Memory, user_id: Owner, limit: Annotated[int, Query(ge=1, le=MAX_PAGE)] = 20
) -> list[Said]:
    """List a user's latest turns, newest first, with the number of whispered memories."""
    return await latest_said(memory, user_id, limit=limit)


@router.get("/turns/{turn_id}")
async def turn(memory: Memory, user_id: Owner, turn_id: TurnId) -> Around:
    """Show a turn, and the turns before and after it."""
    return await around(memory, user_id, turn_id)


@router.get("/turns/{turn_id}/whispered")
async def why(memory: Memory, user_id: Owner, turn_id: TurnId) -> Whispered:
    """Show the memories that were whispered before a reply, each with its reason."""
    return await whispered(memory, user_id, turn_id)


def _now(now: datetime, state: str) -> datetime | None:
    """Return `now` if expired memories are left out; `None` if they are shown."""
    return now if state in _READABLE else None
