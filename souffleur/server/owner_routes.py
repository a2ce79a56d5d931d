"""Routes for the owner of the store alone, by the socket in its folder: for commands there."""

from pathlib import Path
from typing import Annotated

from fastapi import APIRouter, Depends
from pydantic import Field

from souffleur.inspection import StoreInspection
from souffleur.integrations.importers.arriving import ImportSource
from souffleur.knowledge.operation import LedgerEntry
from souffleur.knowledge.session import Segment
from souffleur.knowledge.store.backup_file import BackupManifest
from souffleur.knowledge.store.export import Exported
from souffleur.knowledge.store.importing import Imported
from souffleur.knowledge.turn import Turn, TurnState
from souffleur.server.access import Memory, Owner, UserId
from souffleur.server.table import Body, Id

router = APIRouter(prefix="/api", tags=["owner"])


class BackupBody(Body):
    """The file of a backup."""

    file: str = Field(examples=["/backups/monday.zip"])
    """An absolute path on the machine of the server."""


class ExportBody(Body):
    """The file of an export, and whose memories it holds."""

    file: str
    of_user: Id | None = None


class ImportBody(Body):
    """The file of an import, and whose memories it brings."""

    file: str
    of_user: Id | None = None
    of_agent: Id = "default"
    source: ImportSource = ImportSource.AUTO
    dry_run: bool = False


def _inspect(memory: Memory) -> StoreInspection:
    return StoreInspection(memory)


Inspection = Annotated[StoreInspection, Depends(_inspect)]


@router.post("/backup")
async def backup(memory: Memory, body: BackupBody) -> BackupManifest:
    """Save the whole store to a file of this machine."""
    return await memory.backup(Path(body.file))


@router.get("/inspection/error", name="inspect")
async def error(inspection: Inspection) -> str:
    """Say why turns cannot be judged, found or stored; empty if they can."""
    return await inspection.error()


@router.get("/inspection/turns", name="inspect")
async def turns(
    inspection: Inspection,
    user_id: UserId = None,
    state: TurnState | None = None,
    named: str | None = None,
) -> list[Turn]:
    """List turns in order of arrival, sensitive data masked."""
    return await inspection.turns(user_id=user_id, state=state, named=named)


@router.get("/inspection/turns/{turn_id}/entries", name="inspect")
async def entries(inspection: Inspection, user_id: Owner, turn_id: str) -> list[LedgerEntry]:
    """List what a turn brought, oldest first."""
    return await inspection.entries(user_id=user_id, turn_id=turn_id)


@router.get("/inspection/segments", name="inspect")
async def segments(inspection: Inspection, user_id: Owner) -> list[Segment]:
    """List what of a user's talk waits to be summarised."""
    return await inspection.segments(user_id=user_id)


@router.get("/inspection/page", name="inspect")
async def page(inspection: Inspection, user_id: UserId = None) -> str:
    """Return the page of a report: reads all of the store."""
    return await inspection.page(user_id=user_id)


@router.get("/inspection/jobs", name="inspect")
async def jobs(inspection: Inspection) -> list[str]:
    """List the jobs that are run at their times; none without a schedule."""
    return await inspection.jobs()


@router.post("/export-file", name="export_to_path")
async def export_file(memory: Memory, body: ExportBody) -> Exported:
    """Export everything, or one user's, to a file of this machine."""
    return await memory.export(Path(body.file), user_id=body.of_user)


@router.post("/import-file", name="import_from_path")
async def import_file(memory: Memory, body: ImportBody) -> Imported:
    """Import a file of this machine."""
    return await memory.import_file(
        Path(body.file),
        user_id=body.of_user,
        agent_id=body.of_agent,
        source=body.source,
        dry_run=body.dry_run,
    )
