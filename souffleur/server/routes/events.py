"""The route of events: server-sent, resumable, one stream for each user."""

from collections.abc import AsyncIterator
from typing import Annotated

from fastapi import APIRouter, Header, Query, Request
from fastapi.responses import StreamingResponse

from souffleur.server.access import Caller, Memory, Owner
from souffleur.server.events import MemoryEvent, follow, latest_place, read_place
from souffleur.server.problems import RequestError

router = APIRouter(prefix="/api", tags=["events"])
RETRY = 2000
"""Milliseconds after which a client should connect again."""
_STREAM = {"content": {"text/event-stream": {"schema": {"type": "string"}}}}


@router.get("/events", response_class=StreamingResponse, responses={200: _STREAM})
async def events(
    request: Request,
    memory: Memory,
    caller: Caller,
    user_id: Owner,
    last_event_id: Annotated[str | None, Header(description="`id` of the last one seen.")] = None,
    after: Annotated[str | None, Query(description="The same; default: only new ones.")] = None,
) -> StreamingResponse:
    """Stream what happens to a user's memories: memory.created, updated, deleted, and others."""
    named = last_event_id or after
    since = latest = await latest_place(memory, user_id)
    if named is not None:
        try:
            # A place beyond the ledger was seen before all was erased, or an older backup restored.
            since = min(named, latest, key=read_place)
        except ValueError:
            raise RequestError(422, f"{named[:40]!r} is no id of an event") from None
    place = read_place(since)
    state = request.app.state
    happening = follow(
        memory,
        user_id,
        place,
        heartbeat=state.heartbeat,
        goes_on=lambda: caller.token is None or state.tokens.holds(caller.token),
        stopping=state.stopping,
    )
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return StreamingResponse(
        _stream(since, happening), media_type="text/event-stream", headers=headers
    )


async def _stream(since: str, happening: AsyncIterator[MemoryEvent | None]) -> AsyncIterator[str]:
    """Yield the lines of a stream; the first ones say from where to resume, before any event."""
    yield f"retry: {RETRY}\nid: {since}\n\n"
    async for event in happening:
        yield ":\n\n" if event is None else written(event)


def written(event: MemoryEvent) -> str:
    """Return an event as it is sent."""
    return f"event: {event.type}\nid: {event.id}\ndata: {event.model_dump_json()}\n\n"
