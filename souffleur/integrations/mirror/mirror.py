"""Mirrors: the files of each user and the store are synchronised, in both directions."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import portalocker
from loguru import logger

from souffleur.errors import FileError, InputError, NotFoundError, SouffleurError, UndoError
from souffleur.integrations.mirror import files
from souffleur.integrations.mirror.changes import (
    Changes,
    check_merged,
    check_removals,
    check_store,
    find_changes,
    find_id,
)
from souffleur.integrations.mirror.files import FileStamp, WrittenEntry, folder_name
from souffleur.integrations.mirror.markdown import (
    LEARNINGS,
    MEMORY,
    Entry,
    Page,
    Rejected,
    mark_of,
    one_line,
    parse_page,
    reject,
    render_page,
    without_time,
)
from souffleur.knowledge.decay import effective
from souffleur.knowledge.memory import NARRATIVE, PROCEDURAL, Category, Memory, MemoryState
from souffleur.knowledge.operation import Importance, LedgerEntry, Refusal
from souffleur.knowledge.policy import Policy

NAMES = (MEMORY, LEARNINGS)
LOCK = ".mirror.lock"
USERS_INTERVAL = 10.0
"""Seconds between two searches for new users."""
CHECKS_PER_SECOND = 20
"""Maximum number of users whose files are checked in each second."""
_SHOWN = (MemoryState.ACTIVE, MemoryState.ARCHIVED)
_Rejections = Mapping[str, tuple[Rejected, ...]]


@dataclass(frozen=True)
class Synced:
    """The result of one synchronisation: numbers of memories, and problems."""

    added: int = 0
    edited: int = 0
    removed: int = 0
    restored: int = 0
    rejected: tuple[str, ...] = ()
    """For each piece of a file that was not taken over, a line with the reason."""
    written: tuple[str, ...] = ()
    """Names of the files that were written again."""
    remarks: tuple[str, ...] = ()


class Mirror:
    """The files MEMORY.md and LEARNINGS.md of one user in a folder.

    `memory` is a Souffleur or an AsyncClient.
    """

    def __init__(self, memory: Any, folder: Path, *, user_id: str, policy: Policy) -> None:
        self._memory = memory
        self._folder = folder
        self._user = user_id
        self._policy = policy
        self._seen: tuple[tuple[FileStamp | None, ...], int] | None = None
        self._is_ours = False
        """Whether the files are known to belong to this store: missing memories were erased."""

    async def sync(self, *, removals: bool = False, erased: bool = False) -> Synced:
        """Apply the changes made by hand, then write the files from the store.

        With `removals`, any number of entries may be missing in a file or in the store. `erased`
        says that memories of the store were erased just now. Raises FileError, StoreError,
        EmbedderError; then the changes made so far stay, and the next call makes the others.
        """
        with self._lock():
            texts = {name: await asyncio.to_thread(self._read, name) for name in NAMES}
            pages = {name: parse_page(text) for name, text in texts.items() if text is not None}
            self._check_owner(pages)
            check_merged(texts, self._folder)
            written = files.read_record(self._folder)
            stored = await self._stored_ids()
            if not (removals or erased or self._is_ours):
                check_store(pages, written, stored, self._folder)
            ours = None if removals else stored.union(*written.values())
            changes = find_changes(pages, await self._shown(), written, ours)
            if not removals:
                check_removals(changes, pages)
            synced, rejected = await self._apply(changes)
            wrote = await self._write(texts, rejected)
            stored = await self._stored_ids()
            self._delete_backups(stored, erased=erased)
            self._is_ours |= bool(stored)
            return replace(synced, written=wrote)

    def delete(self) -> None:
        """Delete the files, and the folder if it is empty then. Raises FileError."""
        if not self._folder.is_dir():
            return
        try:
            with self._lock():
                for name in (*NAMES, *(f"{name}.bak" for name in NAMES), files.RECORD):
                    (self._folder / name).unlink(missing_ok=True)
            (self._folder / LOCK).unlink(missing_ok=True)
            if not any(self._folder.iterdir()):
                self._folder.rmdir()
        except (OSError, portalocker.LockException) as error:
            raise FileError(
                f"the files in '{self._folder}' cannot be deleted ({error}): delete them by hand"
            ) from error

    async def watch(self, seconds: float = 1.0) -> None:
        """Synchronise after each change of a file or of the store, until cancelled.

        An error is logged; the next change starts another try.
        """
        logged: set[str] = set()
        while True:
            try:
                version = await self._version()
                if version != self._seen:
                    synced = await self.sync()
                    self._seen = version  # read before, so that changes meanwhile are seen next
                    problems = {*synced.rejected, *synced.remarks}
                    for why in problems - logged:
                        logger.warning("{}: {}", self._folder, why)
                    logged = problems
            except Exception as error:  # noqa: BLE001  a watcher goes on: the next try may succeed
                if str(error) not in logged:
                    logger.warning("{} was not brought into step: {}", self._folder, error)
                logged.add(str(error))
            await asyncio.sleep(seconds)

    def _lock(self) -> portalocker.Lock:
        try:
            self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        except OSError as error:
            raise FileError(f"'{self._folder}' cannot be made: {error.strerror}") from error
        return portalocker.Lock(self._folder / LOCK, timeout=10)

    def _read(self, name: str) -> str | None:
        return files.read_text(self._folder / name)

    async def _version(self) -> tuple[tuple[FileStamp | None, ...], int]:
        """Return a value that changes with each write of the files or the ledger."""
        latest = await self._memory.ledger(user_id=self._user, limit=1, newest_first=True)
        stamps = tuple(files.stamp_of(self._folder / name) for name in NAMES)
        return stamps, latest[0].seq if latest else 0

    def _check_owner(self, pages: Mapping[str, Page]) -> None:
        for name, page in pages.items():
            if page.user and page.user != one_line(self._user):
                raise FileError(
                    f"'{self._folder / name}' mirrors the user {page.user!r}, not "
                    f"{self._user!r}: give each user a folder of its own."
                )

    async def _stored_ids(self) -> set[str]:
        """Return the ids of all memories in the store, in any state."""
        return {one.id for one in await self._memory.list(user_id=self._user, state=None)}

    async def _shown(self) -> dict[str, Memory]:
        """Return the memories that the files show by id, the most valuable first."""
        now = self._memory.clock()
        found = [
            memory
            for state in _SHOWN
            for memory in await self._memory.list(user_id=self._user, state=state)
            if memory.category not in NARRATIVE
        ]
        found.sort(key=lambda one: (-effective(one, now, self._policy), one.created_at, one.id))
        return {memory.id: memory for memory in found}

    async def _apply(self, changes: Mapping[str, Changes]) -> tuple[Synced, _Rejections]:
        """Apply the changes; return their counts, and the rejected pieces of each file."""
        done = Counter[str]()
        rejected = {name: list(change.rejected) for name, change in changes.items()}
        for name, change in changes.items():
            for id in change.removals:
                reason = f"removed from {name} by hand"
                forgotten = await self._memory.forget(id, user_id=self._user, reason=reason)
                done["removed"] += bool(forgotten)
            for id in change.restores:
                reason = f"made active in {name} by hand"
                restored = await self._memory.restore_memory(id, user_id=self._user, reason=reason)
                done["restored"] += restored.refused is None
            for entry in change.edits:
                done["edited"] += await self._try(entry, self._edit(entry), rejected[name])
            for entry in change.adds:
                added = self._add(entry, name)
                done["added"] += await self._try(entry, added, rejected[name], adds=True)
        reasons = tuple(f"{name}: {one.why}" for name, each in rejected.items() for one in each)
        remarks = tuple(remark for change in changes.values() for remark in change.remarks)
        synced = Synced(
            done["added"], done["edited"], done["removed"], done["restored"], reasons, (), remarks
        )
        return synced, {name: tuple(each) for name, each in rejected.items()}

    async def _try(
        self,
        entry: Entry,
        change: Awaitable[LedgerEntry],
        rejected: list[Rejected],
        *,
        adds: bool = False,
    ) -> bool:
        """Return whether a change was made; a refused entry is rejected, except if it is known."""
        try:
            done = await change
        except (InputError, NotFoundError, UndoError) as error:
            rejected.append(reject(entry, "refused", str(error)))
            return False
        if done.refused and not (adds and done.refused is Refusal.DUPLICATE):
            rejected.append(reject(entry, "refused", done.detail or done.refused.value))
        return done.refused is None

    async def _edit(self, entry: Entry) -> LedgerEntry:
        id = find_id(entry, await self._shown())
        done: LedgerEntry = await self._memory.edit(id, entry.content, user_id=self._user)
        return done

    async def _add(self, entry: Entry, name: str) -> LedgerEntry:
        done: list[LedgerEntry] = await self._memory.remember(
            entry.content,
            user_id=self._user,
            kind=entry.kind,
            importance=Importance.HIGH,
            reason=f"written into {name} by hand",
        )
        return done[0]

    async def _write(
        self, read: Mapping[str, str | None], rejected: _Rejections
    ) -> tuple[str, ...]:
        """Write the files that differ from the store; return their names."""
        now, shown = self._memory.clock(), await self._shown()
        wrote, record = [], dict[str, dict[str, WrittenEntry]]()
        for name in NAMES:
            entries = tuple(self._entry(m, now) for m in shown.values() if _file_of(m) == name)
            page = Page(entries, rejected.get(name, ()))
            text = render_page(name, self._user, page, now)
            if without_time(text) != without_time(read[name] or ""):
                if await asyncio.to_thread(self._read, name) != read[name]:
                    raise FileError(f"{name} was changed meanwhile: it is read again next time.")
                await asyncio.to_thread(files.replace, self._folder / name, text)
                wrote.append(name)
            record[name] = {e.id: WrittenEntry(mark_of(e.content), e.archived) for e in entries}
        if record != files.read_record(self._folder):
            await asyncio.to_thread(files.write_record, self._folder, record)
        return tuple(wrote)

    def _delete_backups(self, stored: set[str], *, erased: bool) -> None:
        """Delete backups of files that show erased memories.

        With `erased`, delete all: the erased words may be former words of a stored memory.
        """
        for name in NAMES:
            copy = self._folder / f"{name}.bak"
            if erased:
                copy.unlink(missing_ok=True)
            if (text := files.read_text(copy)) is None:
                continue
            if any(one.mark and one.id not in stored for one in parse_page(text).entries):
                copy.unlink()

    def _entry(self, memory: Memory, now: datetime) -> Entry:
        return Entry(
            memory.content,
            memory.kind,
            id=memory.id,
            value=effective(memory, now, self._policy),
            used_on=(memory.last_used_at or memory.anchor_at).astimezone(UTC).date(),
            uses=memory.uses,
            mark=mark_of(memory.content),
            archived=memory.state is MemoryState.ARCHIVED,
        )


def _file_of(memory: Memory) -> str:
    is_skill = memory.category is Category.SKILL or memory.kind in PROCEDURAL
    return LEARNINGS if is_skill else MEMORY


class Mirrors:
    """Synchronises a mirror for each user until it is stopped."""

    def __init__(self, memory: Any, folder: Path, policy: Policy) -> None:
        self._memory, self._folder, self._policy = memory, folder, policy
        self._watching: dict[str, asyncio.Task[None]] = {}
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Start a task in the running event loop."""
        self._task = asyncio.get_running_loop().create_task(self._watch_all())

    async def stop(self) -> None:
        """Cancel all tasks, and wait until they have ended."""
        tasks = [*self._watching.values(), *([self._task] if self._task else [])]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def erase(self, user_id: str, *, whole: bool) -> str:
        """Remove erased memories from the files of a user, or with `whole` the files.

        Returns the reason of a failure; empty without a failure.
        """
        try:
            if whole:
                await self._stop_watching(user_id)
                await asyncio.to_thread(self.mirror_of(user_id).delete)
            elif self._folder_of(user_id).is_dir():
                await self._stop_watching(user_id)  # the task of all users starts it again
                await self.mirror_of(user_id).sync(erased=True)
        except SouffleurError as error:
            return str(error)
        return ""

    def mirror_of(self, user_id: str) -> Mirror:
        """Return the mirror of a user, in a folder named after the user."""
        folder = self._folder_of(user_id)
        return Mirror(self._memory, folder, user_id=user_id, policy=self._policy)

    def _folder_of(self, user_id: str) -> Path:
        return self._folder / folder_name(user_id)

    async def _stop_watching(self, user_id: str) -> None:
        if watching := self._watching.pop(user_id, None):
            watching.cancel()
            await asyncio.gather(watching, return_exceptions=True)

    async def _watch_all(self) -> None:
        failed = False
        while True:
            try:
                users = [one.user_id for one in await self._memory.users()]
                failed = False
            except SouffleurError as error:
                level = "DEBUG" if failed else "WARNING"  # one warning for each outage
                logger.log(level, "users to mirror could not be read: {}", error)
                users, failed = [], True
            pause = max(1.0, len(users) / CHECKS_PER_SECOND)
            for user_id in set(users) - set(self._watching):
                watching = self.mirror_of(user_id).watch(pause)
                self._watching[user_id] = asyncio.create_task(watching)
            await asyncio.sleep(USERS_INTERVAL)
