"""Arriving: a file is recognised, and taken by who reads its kind."""

from collections.abc import Callable
from datetime import datetime
from enum import StrEnum
from pathlib import Path

from souffleur.errors import NotFoundError, SettingsError, TransferError
from souffleur.field_docs import explain_fields
from souffleur.knowledge.export_file import is_export
from souffleur.knowledge.importing import Imported, import_export
from souffleur.knowledge.knowledge_base import KnowledgeBase
from souffleur.moving.mem0 import import_mem0

_LOOKED_AT = 1 << 16
"""Bytes by which a file is recognised."""


@explain_fields
class ImportSource(StrEnum):
    """What a file to import was made by."""

    AUTO = "auto"
    """Whatever it looks like."""
    SOUFFLEUR = "souffleur"
    """`Souffleur.export`."""
    MEM0 = "mem0"
    """What mem0's `get_all` returns, as JSON."""


def source_of(file: Path, named: ImportSource | str = ImportSource.AUTO) -> ImportSource:
    """Return what a file is, unless it is named. Raises TransferError, NotFoundError."""
    try:
        source = ImportSource(named)
    except ValueError:
        known = ", ".join(ImportSource)
        raise SettingsError(f"nothing is imported from {named!r}: take one of {known}") from None
    if not file.is_file():
        raise NotFoundError(f"there is no file {file}")
    if source is not ImportSource.AUTO:
        return source
    if is_export(file):
        return ImportSource.SOUFFLEUR
    with file.open("rb") as begun:
        head = begun.read(_LOOKED_AT).lstrip()
    if head.startswith((b"{", b"[")) and b'"memory"' in head:
        return ImportSource.MEM0
    raise TransferError(f"{file} is nothing that can be imported: see docs/moving.md")


async def take_file(
    knowledge: KnowledgeBase,
    file: Path,
    source: ImportSource,
    *,
    user_id: str | None,
    dry_run: bool,
    wake: Callable[[str], None],
    now: datetime,
) -> Imported:
    """Import a file of a kind; `wake` is called with users whose turns wait to be judged."""
    if source is ImportSource.MEM0:
        return await import_mem0(knowledge, file, user_id=user_id, dry_run=dry_run, now=now)
    return await import_export(knowledge, file, user_id=user_id, dry_run=dry_run, wake=wake)
