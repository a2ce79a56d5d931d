"""Files to import: by the program that wrote a file; and temporary files for uploads."""

import asyncio
import shutil
import tempfile
from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Any
from zipfile import is_zipfile

from souffleur.errors import FileError, NotFoundError, SettingsError, SouffleurError
from souffleur.integrations.importers.chatgpt import is_chatgpt, read_chatgpt, size_of
from souffleur.integrations.importers.chats import is_message_list, read_messages
from souffleur.integrations.importers.mem0 import import_mem0
from souffleur.integrations.importers.replay import Reader, Replay
from souffleur.integrations.importers.sillytavern import is_sillytavern, read_sillytavern
from souffleur.knowledge.store.engine.files import locked_folder
from souffleur.knowledge.store.export import is_export
from souffleur.knowledge.store.transfer import Imported, import_export

_HEAD = 1 << 16
"""Number of bytes by which a file is recognised."""
FOLDER = "passing"
"""Name of the folder of temporary files, below that of the store."""


class ImportSource(StrEnum):
    """The program that wrote a file."""

    AUTO = "auto"
    """Recognised by the content of the file."""
    SOUFFLEUR = "souffleur"
    """`Souffleur.export`."""
    MEM0 = "mem0"
    """The result of mem0's `get_all`, as JSON."""
    CHATGPT = "chatgpt"
    """ChatGPT's export: its archive, or a file `conversations.json` of it."""
    SILLYTAVERN = "sillytavern"
    """A chat of SillyTavern, as JSON lines."""
    MESSAGES = "messages"
    """A list of messages with role and content, as JSON or JSON lines."""

    @property
    def is_chat(self) -> bool:
        """Whether the file holds turns to be judged, not memories."""
        return self in READERS


READERS: dict[ImportSource, Reader] = {
    ImportSource.CHATGPT: read_chatgpt,
    ImportSource.SILLYTAVERN: read_sillytavern,
    ImportSource.MESSAGES: read_messages,
}


def source_of(file: Path, named: ImportSource | str = ImportSource.AUTO) -> ImportSource:
    """Return the named source of a file, or recognise it. Raises FileError, NotFoundError."""
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
    with file.open("rb") as opened:
        head = opened.read(_HEAD).removeprefix(BOM_UTF8).lstrip()
    if is_zipfile(file) or is_chatgpt(head):
        return ImportSource.CHATGPT
    if is_sillytavern(head):
        return ImportSource.SILLYTAVERN
    if is_message_list(head):
        return ImportSource.MESSAGES
    if head.startswith((b"{", b"[")) and b'"memory"' in head:
        return ImportSource.MEM0
    if head.startswith((BOM_UTF16_LE, BOM_UTF16_BE)):
        raise FileError(f"{file} is UTF-16: save it as UTF-8")
    what = "nothing that can be imported" if head else "empty"
    raise FileError(f"{file} is {what}: give ChatGPT's archive, a SillyTavern chat, or an export")


async def import_file(
    memory: Any,
    file: Path,
    source: ImportSource | str,
    *,
    user_id: str | None,
    agent_id: str,
    dry_run: bool,
    wake: Callable[[str], None],
) -> Imported:
    """Import the records of a file into a Souffleur: see `Souffleur.import_file`.

    Calls `wake` with each user who has turns to be judged.
    """
    found, knowledge, now = source_of(file, source), memory.knowledge, memory.clock()
    if found is ImportSource.SOUFFLEUR:
        return await import_export(knowledge, file, user_id=user_id, dry_run=dry_run, wake=wake)
    await asyncio.to_thread(_check_size, file, memory.settings.max_import)
    if not found.is_chat:
        return await import_mem0(knowledge, file, user_id=user_id, dry_run=dry_run, now=now)
    if user_id is None:
        raise FileError(f"{file} names no user: say whose chats these are, as by --user me")
    persona, _ = await memory.participants.find(user_id, agent_id)
    await memory.participants.need_memory(user_id)
    replay = Replay(memory, user_id=user_id, agent_id=agent_id, persona=persona, now=now)
    return await replay.run(file, READERS[found], source=found, dry_run=dry_run)


def _check_size(file: Path, limit: int) -> None:
    """Raise FileError for a file of more than `limit` bytes, unpacked."""
    if (size := size_of(file)) > limit:
        raise FileError(
            f"{file} holds {size / 1e6:,.1f} MB, and {limit / 1e6:,.1f} MB are taken: set "
            "SOUFFLEUR_MAX_IMPORT to more bytes if you trust it"
        )


@contextmanager
def temporary_file(store: Path, name: str) -> Iterator[Path]:
    """Yield a path below the folder of a store; the file is removed afterwards.

    Temporary files hold words of users, so they stay in the store's folder. Files of killed
    processes are removed first. Raises OSError if the disk is full.
    """
    remove_temporary_files(store)
    folder = store / FOLDER
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    made = Path(tempfile.mkdtemp(dir=folder))
    try:
        with locked_folder(made):
            yield made / name
    finally:
        shutil.rmtree(made, ignore_errors=True)


def remove_temporary_files(store: Path) -> None:
    """Remove the temporary files of killed processes; files in use stay."""
    for folder in (store / FOLDER).glob("*"):
        try:
            with locked_folder(folder):
                shutil.rmtree(folder, ignore_errors=True)
        except SouffleurError:  # in use, or no permission
            continue
