"""Arriving: a file is recognised, and taken by who reads its kind."""

from collections.abc import Callable
from enum import StrEnum
from pathlib import Path

from souffleur.errors import NotFoundError, SettingsError, TransferError
from souffleur.field_docs import explain_fields
from souffleur.knowledge.export_file import is_export
from souffleur.knowledge.importing import Imported, import_export
from souffleur.knowledge.knowledge_base import KnowledgeBase


@explain_fields
class ImportSource(StrEnum):
    """What a file to import was made by."""

    AUTO = "auto"
    """Whatever it looks like."""
    SOUFFLEUR = "souffleur"
    """`Souffleur.export`."""


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
    raise TransferError(f"{file} is nothing that can be imported: see docs/moving.md")


async def take_file(
    knowledge: KnowledgeBase,
    file: Path,
    source: ImportSource,
    *,
    user_id: str | None,
    dry_run: bool,
    wake: Callable[[str], None],
) -> Imported:
    """Import a file of a kind; `wake` is called with users whose turns wait to be judged."""
    return await import_export(knowledge, file, user_id=user_id, dry_run=dry_run, wake=wake)
