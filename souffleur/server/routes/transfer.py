"""Routes by which memories are moved: export and import."""

from collections.abc import AsyncIterator

from fastapi import APIRouter, Request
from fastapi.responses import StreamingResponse

from souffleur.errors import TransferError
from souffleur.integrations.importers.arriving import ImportSource, source_of
from souffleur.integrations.importers.passing import passing_file
from souffleur.knowledge.store.export import export_lines
from souffleur.knowledge.store.importing import Imported
from souffleur.server.access import AgentId, Caller, Memory, OwnerOrAll

router = APIRouter(prefix="/api", tags=["transfer"])
IMPORT = "/api/import"
"""The path of the import, whose body may be larger than others."""
_LINES = "application/x-ndjson"
_FILE = {"schema": {"type": "string", "format": "binary"}}


@router.get(
    "/export",
    response_class=StreamingResponse,
    responses={200: {"content": {_LINES: {}}, "description": "The lines of docs/moving.md."}},
)
async def export(memory: Memory, user_id: OwnerOrAll) -> StreamingResponse:
    """Export everything of a user, for admins also of all, as lines of JSON."""
    knowledge = memory.knowledge
    lines = export_lines(knowledge.memories, knowledge.journal, user_id, now=memory.clock())
    first = await anext(lines)  # what is wrong is answered before anything is sent
    return StreamingResponse(_following(first, lines), media_type=_LINES)


@router.post(
    "/import",
    name="import_file",
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
    """Import a file, which is the body. Our own exports are for admins alone.

    The turns of chats are judged in the background, as held with the persona `agent_id`.
    """
    with passing_file(memory.settings.folder, "import") as file:
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
        except TransferError as error:  # the caller knows nothing of a file here
            raise TransferError(str(error).replace(str(file), "the body")) from None


async def _following(first: bytes, lines: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    yield first
    async for part in lines:
        yield part
