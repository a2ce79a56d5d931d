"""Routes for the store's owner only, at the socket in the store's folder: for local commands."""

from pathlib import Path

from pydantic import Field

from souffleur.integrations.importers.files import ImportSource
from souffleur.knowledge.store.backup import BackupManifest
from souffleur.knowledge.store.export import Exported
from souffleur.knowledge.store.transfer import Imported
from souffleur.server.access import Memory
from souffleur.server.table import INSPECTION, Body, Id
from souffleur.server.table_routes import make_router

router = make_router(INSPECTION)


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


@router.post("/api/backup", tags=["owner"])
async def backup(memory: Memory, body: BackupBody) -> BackupManifest:
    """Save the whole store to a file of this machine."""
    return await memory.backup(Path(body.file))


@router.post("/api/export-file", name="export_to_path", tags=["owner"])
async def export_file(memory: Memory, body: ExportBody) -> Exported:
    """Export everything, or one user's, to a file of this machine."""
    return await memory.export(Path(body.file), user_id=body.of_user)


@router.post("/api/import-file", name="import_from_path", tags=["owner"])
async def import_file(memory: Memory, body: ImportBody) -> Imported:
    """Import a file of this machine."""
    return await memory.import_file(
        Path(body.file),
        user_id=body.of_user,
        agent_id=body.of_agent,
        source=body.source,
        dry_run=body.dry_run,
    )
