"""Routes for the owner of the store alone, by the socket in its folder: they name files here."""

from pathlib import Path

from fastapi import APIRouter

from souffleur.knowledge.backup_file import BackupManifest
from souffleur.serving.access import Admin, Memory
from souffleur.serving.schemas import BackupBody

router = APIRouter(prefix="/api", tags=["owner"])


@router.post("/backup")
async def backup(memory: Memory, _: Admin, body: BackupBody) -> BackupManifest:
    """Save the whole store to a file of this machine."""
    return await memory.backup(Path(body.file))
