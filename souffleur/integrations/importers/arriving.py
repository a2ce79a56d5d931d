"""Arriving: a file is recognised, and taken by who reads its kind."""

import asyncio
from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Callable
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from zipfile import is_zipfile

from souffleur.errors import FileError, NotFoundError, SettingsError
from souffleur.integrations.importers import chatgpt, message_list, sillytavern
from souffleur.integrations.importers.chatgpt import read_chatgpt
from souffleur.integrations.importers.mem0_export import import_mem0
from souffleur.integrations.importers.message_list import read_messages
from souffleur.integrations.importers.sillytavern import read_sillytavern
from souffleur.integrations.importers.telling import Listener, Reader, tell_chats
from souffleur.knowledge.knowledge_base import KnowledgeBase
from souffleur.knowledge.store.export import is_export
from souffleur.knowledge.store.transfer import Imported, import_export

_LOOKED_AT = 1 << 16
"""Bytes by which a file is recognised."""


class ImportSource(StrEnum):
    """What a file to import was made by."""

    AUTO = "auto"
    """Whatever it looks like."""
    SOUFFLEUR = "souffleur"
    """`Souffleur.export`."""
    MEM0 = "mem0"
    """What mem0's `get_all` returns, as JSON."""
    CHATGPT = "chatgpt"
    """ChatGPT's export: its archive, or a file `conversations.json` of it."""
    SILLYTAVERN = "sillytavern"
    """A chat of SillyTavern, as JSON lines."""
    MESSAGES = "messages"
    """A list of messages with role and content, as JSON or JSON lines."""

    @property
    def is_chat(self) -> bool:
        """Whether it holds talk to be judged, and no memories."""
        return self in READERS


READERS: dict[ImportSource, Reader] = {
    ImportSource.CHATGPT: read_chatgpt,
    ImportSource.SILLYTAVERN: read_sillytavern,
    ImportSource.MESSAGES: read_messages,
}
"""What reads the chats of a file, by its kind."""


def source_of(file: Path, named: ImportSource | str = ImportSource.AUTO) -> ImportSource:
    """Return what a file is, unless it is named. Raises FileError, NotFoundError."""
    try:
        source = ImportSource(named)
    except ValueError:
        known = ", ".join(ImportSource)
        raise SettingsError(f"nothing is imported from {named!r}: take one of {known}") from None
    if not file.is_file():
        why = "it is no plain file: give one" if file.exists() else "there is no such file"
        raise NotFoundError(f"{file}: {why}")
    if source is not ImportSource.AUTO:
        return source
    if is_export(file):
        return ImportSource.SOUFFLEUR
    with file.open("rb") as begun:
        head = begun.read(_LOOKED_AT).removeprefix(BOM_UTF8).lstrip()
    if is_zipfile(file) or chatgpt.looks_like(head):
        return ImportSource.CHATGPT
    if sillytavern.looks_like(head):
        return ImportSource.SILLYTAVERN
    if message_list.looks_like(head):
        return ImportSource.MESSAGES
    if head.startswith((b"{", b"[")) and b'"memory"' in head:
        return ImportSource.MEM0
    if head.startswith((BOM_UTF16_LE, BOM_UTF16_BE)):
        raise FileError(f"{file} is UTF-16: save it as UTF-8")
    what = "nothing that can be imported: see docs/moving.md" if head else "empty"
    raise FileError(f"{file} is {what}")


async def take_chats(
    listener: Listener, file: Path, source: ImportSource, *, dry_run: bool
) -> Imported:
    """Import chats of a kind: their turns are observed. Raises FileError, StoreError."""
    await asyncio.to_thread(_check_size, file, listener.settings.max_import)
    return await tell_chats(listener, file, READERS[source], source=source, dry_run=dry_run)


async def take_file(
    knowledge: KnowledgeBase,
    file: Path,
    source: ImportSource,
    *,
    user_id: str | None,
    dry_run: bool,
    wake: Callable[[str], None],
    now: datetime,
    limit: int,
) -> Imported:
    """Import a file of a kind; `wake` is called with users whose turns wait to be judged.

    `limit` is how many bytes one may have that is read as a whole.
    """
    if source is ImportSource.MEM0:
        await asyncio.to_thread(_check_size, file, limit)
        return await import_mem0(knowledge, file, user_id=user_id, dry_run=dry_run, now=now)
    return await import_export(knowledge, file, user_id=user_id, dry_run=dry_run, wake=wake)


def _check_size(file: Path, limit: int) -> None:
    """Raise FileError for a file that holds more than `limit` bytes, unpacked."""
    if (size := chatgpt.size_of(file)) > limit:
        raise FileError(
            f"{file} holds {size / 1e6:,.1f} MB, and {limit / 1e6:,.1f} MB are taken: set "
            "SOUFFLEUR_MAX_IMPORT to more bytes if you trust it"
        )
