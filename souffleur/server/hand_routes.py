"""Routes without a row in the table: memories, events, health, runs, people, export, import."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Header, Path, Query, Request, Response
from fastapi.responses import PlainTextResponse, StreamingResponse
from pydantic import Field

from souffleur.api import Souffleur
from souffleur.errors import FileError
from souffleur.integrations.importers.files import ImportSource, source_of, temporary_file
from souffleur.knowledge.memory import Category, Kind, MemoryState
from souffleur.knowledge.operation import Importance, LedgerEntry
from souffleur.knowledge.people import Person, PersonaCard, sphere_of
from souffleur.knowledge.search.query import Wanted
from souffleur.knowledge.store.erasing import Erased
from souffleur.knowledge.store.export import export_lines
from souffleur.knowledge.store.transfer import Imported
from souffleur.lookup import READABLE
from souffleur.participants import Cast
from souffleur.server.access import (
    AgentId,
    Caller,
    Memory,
    Owner,
    OwnerOrAll,
    Talker,
    TalkerOrAll,
    Tokens,
    Whose,
    check_model,
)
from souffleur.server.events import MemoryEvent, follow, latest_place, read_place
from souffleur.server.paging import Cursor, Since, Until, learned, page_of
from souffleur.server.problems import RequestError
from souffleur.server.table import ARGUMENTS, Alive, Body, Counted, Id, Page, Ready, RunAnswer
from souffleur.server.tokens import erase_person
from souffleur.service.run import RunLimits, RunOptions, RunResult
from souffleur.times import moment

router = APIRouter()
IMPORT = "/api/import"
"""The path of the import; its body may be larger than other bodies."""
_LINES = "application/x-ndjson"
_FILE = {"schema": {"type": "string", "format": "binary"}}


class RunBody(Body):
    """The options of a run."""

    of_user: Id | None = None
    """The user whose memories are processed; `None` means all users."""
    now: datetime | str | float | None = Field(None, **ARGUMENTS["at"])
    """The time of the run; `None` means now."""
    memories: int = Field(default=RunLimits.memories, ge=1)
    calls: int = Field(default=RunLimits.calls, ge=1)
    deletions: int | None = Field(default=None, ge=0)
    parallel: int = Field(default=RunLimits.parallel, ge=1, le=64)
    dry_run: bool = False


class RetryBody(Body):
    """The user whose turns are judged again."""

    of_user: Id | None = None
    """The id of the user; `None` means all users."""


@router.get("/health", tags=["store"])
@router.head("/health", include_in_schema=False)
async def alive() -> Alive:
    """Say that the server runs. Needs no token; the answer has no user's data."""
    return Alive()


@router.get("/ready", tags=["store"], responses={503: {"model": Ready}})
@router.head("/ready", include_in_schema=False)
async def ready(memory: Memory, response: Response) -> Ready:
    """Say whether turns can be judged, found and stored; the status is 503 if not.

    Needs no token, reads no record and asks no endpoint. `/api/health` tells an admin what fails.
    """
    found = Ready(memory.has_model and not memory.error)
    response.status_code = 200 if found.ready else 503
    return found


@router.get("/metrics", response_class=PlainTextResponse, tags=["store"])
async def metrics(memory: Memory) -> PlainTextResponse:
    """Show the metrics in the format of Prometheus."""
    kept = memory.parts.metrics
    if kept is None:
        raise RequestError(404, "nothing is measured: set SOUFFLEUR_METRICS=true")
    await kept.refresh()
    return PlainTextResponse(kept.text(), media_type="text/plain; version=0.0.4; charset=utf-8")


@router.post("/api/runs/{name}", tags=["store"])
async def run(
    memory: Memory,
    name: Annotated[str, Path(description="A run of docs/memory.md.", examples=["decay"])],
    body: RunBody | None = None,
) -> RunAnswer:
    """Start a run now, and wait until it ends; 503 if the run needs a model and has no model."""
    from souffleur.service.jobs import RUNS

    if name in RUNS and RUNS[name].asks:
        check_model(memory)
    asked = body or RunBody()
    limits = RunLimits(asked.memories, asked.calls, asked.deletions, asked.parallel)
    now = moment(asked.now, now=memory.clock(), zone=UTC)
    options = RunOptions(now, asked.of_user, limits, asked.dry_run)
    return _answer(await memory.run(name, options))


def _answer(result: RunResult) -> RunAnswer:
    error = f"{type(result.error).__name__}: {result.error}" if result.error else ""
    told = {name: value for name, value in vars(result).items() if name not in ("options", "error")}
    return RunAnswer(now=result.options.now, error=error, **told)


@router.post("/api/retry", tags=["store"])
async def retry(memory: Memory, body: RetryBody | None = None) -> Counted:
    """Judge failed turns again in the background; return their number."""
    return Counted(await memory.retry(user_id=body.of_user if body else None))


@router.delete("/api/users", tags=["people"])
async def erase_user(memory: Memory, tokens: Tokens, user_id: Owner) -> Erased:
    """Erase everything of a user for good, and revoke the user's tokens; return the numbers."""
    return await erase_person(memory, tokens, user_id)


@router.get("/api/cast", tags=["people"])
async def cast(memory: Memory, whose: TalkerOrAll) -> Cast:
    """Show the introduced users and personas, and the names of other people.

    A request with a user shows that user and the persona; an admin's request without a user shows
    all.
    """
    if whose is None:
        return await memory.cast()
    return await memory.cast(user_id=whose.user_id, agent_id=whose.agent_id or "default")


@router.get("/api/person", tags=["people"])
async def person(memory: Memory, user_id: Owner) -> Person | None:
    """Show the introduction of a user; null if the user was not introduced."""
    return (await memory.cast()).introduced.people.get(user_id)


@router.get("/api/personas", tags=["people"])
async def personas(memory: Memory) -> list[PersonaCard]:
    """List the introduced personas."""
    return list((await memory.cast()).introduced.personas.values())


@router.get(
    "/api/export",
    response_class=StreamingResponse,
    tags=["transfer"],
    responses={200: {"content": {_LINES: {}}, "description": "The lines of docs/running.md."}},
)
async def export(memory: Memory, user_id: OwnerOrAll) -> StreamingResponse:
    """Export all data of a user as lines of JSON; without a user, an admin exports all users."""
    knowledge = memory.knowledge
    lines = export_lines(knowledge.memories, knowledge.journal, user_id, now=memory.clock())
    first = await anext(lines)  # an error is answered before the first line is sent
    return StreamingResponse(_following(first, lines), media_type=_LINES)


@router.post(
    IMPORT,
    name="import_file",
    tags=["transfer"],
    openapi_extra={"requestBody": {"content": {"application/octet-stream": _FILE}}},
)
async def import_(
    memory: Memory,
    caller: Caller,
    user_id: OwnerOrAll,
    request: Request,
    agent_id: AgentId = None,
    source: ImportSource = ImportSource.AUTO,
    dry_run: bool = False,
) -> Imported:
    """Import a file from the body of the request. Only admins may import Souffleur's own exports.

    The turns of chats are judged in the background, as talks with the persona `agent_id`.
    """
    with temporary_file(memory.settings.folder, "import") as file:
        with file.open("wb") as out:
            async for part in request.stream():
                out.write(part)
        try:
            found = source_of(file, source)
            if found is ImportSource.SOUFFLEUR:
                caller.need("import_export")
            return await memory.import_file(
                file,
                user_id=user_id,
                agent_id=agent_id or "default",
                source=found,
                dry_run=dry_run,
            )
        except FileError as error:  # the caller does not know the temporary file
            raise FileError(str(error).replace(str(file), "the body")) from None


async def _following(first: bytes, lines: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    yield first
    async for part in lines:
        yield part


MAX_PAGE = 500
"""Maximum number of memories on a page."""
At = Annotated[datetime | str | float | None, Field(**ARGUMENTS["at"])]


class RememberBody(Body):
    """A sentence to remember without changes."""

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


@router.get("/api/memories", name="list", tags=["memories"])
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
    """List memories, episodes and portraits in pages, by the time of learning."""
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
    """Return the sphere of a persona; `None` means all spheres, if no persona is named."""
    if whose.agent_id is None:
        return None
    _, card = await memory.knowledge.people.find(whose.user_id, whose.agent_id)
    return sphere_of(card)


@router.post("/api/memories", tags=["memories"])
async def remember(memory: Memory, whose: Talker, body: RememberBody) -> list[LedgerEntry]:
    """Remember a sentence without changes; `refused` has the reason if it is not stored."""
    user_id, agent_id = whose.user_id, whose.agent_id or "default"
    told = {name: value for name, value in body if name != "content"}
    return await memory.remember(body.content, user_id=user_id, agent_id=agent_id, **told)


@router.post("/api/memories/extract", name="remember", tags=["memories"])
async def extract(memory: Memory, whose: Talker, body: ExtractBody) -> list[LedgerEntry]:
    """Judge messages now; without a model, they are stored and wait."""
    return await memory.remember(
        body.messages,
        user_id=whose.user_id,
        agent_id=whose.agent_id or "default",
        session_id=body.session_id,
        at=body.at,
    )


@router.delete("/api/memories/{memory_id}", name="forget", tags=["memories"])
async def delete(memory: Memory, user_id: Owner, memory_id: str) -> LedgerEntry:
    """Forget a memory. The memory can be restored, and the change can be undone."""
    found = await memory.get(memory_id, user_id=user_id)
    return (await memory.forget(found.id, user_id=user_id))[0]


RETRY = 2000
"""Milliseconds after which a disconnected client should connect again."""
_STREAM = {"content": {"text/event-stream": {"schema": {"type": "string"}}}}


@router.get(
    "/api/events",
    response_class=StreamingResponse,
    responses={200: _STREAM},
    tags=["events"],
)
async def events(
    request: Request,
    memory: Memory,
    caller: Caller,
    user_id: Owner,
    last_event_id: Annotated[str | None, Header(description="`id` of the last one seen.")] = None,
    after: Annotated[str | None, Query(description="The same; default: only new ones.")] = None,
) -> StreamingResponse:
    """Stream the events of a user's memories: memory.created, updated, deleted, and others."""
    named = last_event_id or after
    since = latest = await latest_place(memory, user_id)
    if named is not None:
        try:
            # The place is greater than the latest if data were erased, or an old backup restored.
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
    """Yield the lines of a stream; the first lines have the id from which a client can resume."""
    yield f"retry: {RETRY}\nid: {since}\n\n"
    async for event in happening:
        yield ":\n\n" if event is None else written(event)


def written(event: MemoryEvent) -> str:
    """Return an event in the format of server-sent events."""
    return f"event: {event.type}\nid: {event.id}\ndata: {event.model_dump_json()}\n\n"
