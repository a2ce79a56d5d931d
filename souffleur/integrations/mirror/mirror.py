"""The mirror of one user: files and store brought into step, both ways."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol

import portalocker
from loguru import logger

from souffleur.errors import FileError, InputError, NotFoundError, UndoError
from souffleur.integrations.mirror import files
from souffleur.integrations.mirror.comparing import Wishes, compare, find_id
from souffleur.integrations.mirror.files import Last, Stamp
from souffleur.integrations.mirror.guarding import check_merged, check_removals, check_store
from souffleur.integrations.mirror.markdown import (
    LEARNINGS,
    MEMORY,
    Aside,
    Entry,
    Page,
    held,
    mark_of,
    parse_page,
    render_page,
    user_line,
    without_time,
)
from souffleur.knowledge.decay import effective
from souffleur.knowledge.memory import NARRATIVE, PROCEDURAL, Category, Kind, Memory, MemoryState
from souffleur.knowledge.operation import Importance, LedgerEntry, Recorded, Refusal
from souffleur.knowledge.policy import Policy
from souffleur.times import Clock

NAMES = (MEMORY, LEARNINGS)
LOCK = ".mirror.lock"
_SHOWN = (MemoryState.ACTIVE, MemoryState.ARCHIVED)


class Remembering(Protocol):
    """What a mirror needs of Souffleur, or of a client of it."""

    @property
    def clock(self) -> Clock:
        """Return the time."""
        ...

    async def list(self, *, user_id: str, state: MemoryState | None) -> "Sequence[Memory]":
        """Return memories."""
        ...

    async def ledger(self, *, user_id: str, limit: int, newest_first: bool) -> "Sequence[Recorded]":
        """Return ledger entries."""
        ...

    async def remember(
        self, what: str, *, user_id: str, kind: Kind, importance: Importance, reason: str
    ) -> "Sequence[LedgerEntry]":
        """Add a memory."""
        ...

    async def edit(self, memory_id: str, content: str, *, user_id: str) -> LedgerEntry:
        """Change the words of a memory."""
        ...

    async def forget(self, query: str, *, user_id: str, reason: str) -> "Sequence[LedgerEntry]":
        """Forget a memory."""
        ...

    async def restore_memory(self, memory_id: str, *, user_id: str, reason: str) -> LedgerEntry:
        """Make a memory active again."""
        ...


@dataclass(frozen=True)
class Synced:
    """What bringing files and store into step has done."""

    added: int = 0
    edited: int = 0
    removed: int = 0
    restored: int = 0
    aside: tuple[str, ...] = ()
    """Why pieces of the files are not taken over, a line for each."""
    written: tuple[str, ...] = ()
    """Names of the files that were written anew."""
    remarks: tuple[str, ...] = field(default=())

    @property
    def is_silent(self) -> bool:
        """Whether nothing was done."""
        return not (self.added or self.edited or self.removed or self.restored or self.written)


class Mirror:
    """MEMORY.md and LEARNINGS.md of one user in a folder."""

    def __init__(self, memory: Remembering, folder: Path, *, user_id: str, policy: Policy) -> None:
        self._memory = memory
        self._folder = folder
        self._user = user_id
        self._policy = policy
        self._seen: tuple[tuple[Stamp | None, ...], int] | None = None
        self._is_ours = False
        """Whether the store is known to be that of the files: what it lacks was erased."""

    async def sync(self, *, removals: bool = False, erased: bool = False) -> Synced:
        """Take over what was changed by hand, then write the files as the store is.

        With `removals`, entries may be gone in any number, from a file or from the store; with
        `erased`, from the store, where something was erased just now. Raises
        FileError, StoreError, EmbedderError; what was done until then is done, and the next call
        goes on.
        """
        with self._alone():
            texts = {name: await asyncio.to_thread(self._read, name) for name in NAMES}
            pages = {name: parse_page(text) for name, text in texts.items() if text is not None}
            self._check_owner(pages)
            check_merged(texts, self._folder)
            written = files.read_record(self._folder)
            there = await self._there()
            if not (removals or erased or self._is_ours):
                check_store(pages, written, there, self._folder)
            known = await self._known()
            ours = there.union(*written.values())
            wishes = compare(pages, known, written, None if removals else ours)
            if not removals:
                check_removals(wishes, pages)
            synced, aside = await self._carry_out(wishes)
            wrote = await self._write(texts, aside)
            there = await self._there()
            await self._clear_backups(there, erased=erased)
            self._is_ours |= bool(there)
            return replace(synced, written=wrote)

    def delete(self) -> None:
        """Delete the files, and the folder if nothing else is in it. Raises FileError."""
        if not self._folder.is_dir():
            return
        try:
            with self._alone():
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
        """Bring them into step whenever a file or the store was changed, until cancelled.

        What fails is logged, and tried again after the next change.
        """
        told: set[str] = set()
        while True:
            try:
                marks = await self._marks()
                if marks != self._seen:
                    synced = await self.sync()
                    self._seen = marks  # of before: what changed meanwhile is seen next time
                    for why in (*synced.aside, *synced.remarks):
                        if why not in told:
                            logger.warning("{}: {}", self._folder, why)
                    told = {*synced.aside, *synced.remarks}
            except Exception as error:  # noqa: BLE001  a watcher's edge: the next change may do
                if str(error) not in told:
                    logger.warning("{} was not brought into step: {}", self._folder, error)
                told.add(str(error))
            await asyncio.sleep(seconds)

    def _alone(self) -> portalocker.Lock:
        try:
            self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        except OSError as error:
            raise FileError(f"'{self._folder}' cannot be made: {error.strerror}") from error
        return portalocker.Lock(self._folder / LOCK, timeout=10)

    def _read(self, name: str) -> str | None:
        return files.read_text(self._folder / name)

    async def _marks(self) -> tuple[tuple[Stamp | None, ...], int]:
        latest = await self._memory.ledger(user_id=self._user, limit=1, newest_first=True)
        stamps = tuple(files.stamp_of(self._folder / name) for name in NAMES)
        return stamps, latest[0].seq if latest else 0

    def _check_owner(self, pages: Mapping[str, Page]) -> None:
        for name, page in pages.items():
            if page.user and page.user != user_line(self._user):
                raise FileError(
                    f"'{self._folder / name}' mirrors the user {page.user!r}, not "
                    f"{self._user!r}: give each user a folder of its own."
                )

    async def _known(self) -> dict[str, Memory]:
        """Return the memories that the files show, by their ids, the most valuable first."""
        now = self._memory.clock()
        found = [
            memory
            for state in _SHOWN
            for memory in await self._memory.list(user_id=self._user, state=state)
            if memory.category not in NARRATIVE
        ]
        found.sort(key=lambda one: (-effective(one, now, self._policy), one.created_at, one.id))
        return {memory.id: memory for memory in found}

    async def _carry_out(
        self, wishes: Mapping[str, Wishes]
    ) -> tuple[Synced, dict[str, tuple[Aside, ...]]]:
        """Carry out what can be; return the counts, and what is set aside in each file."""
        done: dict[str, Any] = dict.fromkeys(("added", "edited", "removed", "restored"), 0)
        aside = {name: list(wish.aside) for name, wish in wishes.items()}
        for name, wish in wishes.items():
            for id in wish.removals:
                done["removed"] += bool(await self._remove(id, name))
            for id in wish.restores:
                done["restored"] += await self._restore(id, name)
            for entry in wish.edits:
                done["edited"] += await self._edit(entry, aside[name])
            for entry in wish.adds:
                done["added"] += await self._add(entry, name, aside[name])
        told = tuple(f"{name}: {one.why}" for name, ones in aside.items() for one in ones)
        remarks = tuple(remark for wish in wishes.values() for remark in wish.remarks)
        synced = Synced(aside=told, remarks=remarks)
        return replace(synced, **done), {name: tuple(ones) for name, ones in aside.items()}

    async def _remove(self, id: str, name: str) -> bool:
        reason = f"removed from {name} by hand"
        return bool(await self._memory.forget(id, user_id=self._user, reason=reason))

    async def _restore(self, id: str, name: str) -> bool:
        reason = f"made active in {name} by hand"
        entry = await self._memory.restore_memory(id, user_id=self._user, reason=reason)
        return entry.refused is None

    async def _edit(self, entry: Entry, aside: list[Aside]) -> bool:
        known = await self._known()
        try:
            id = find_id(entry, known)
            done = await self._memory.edit(id, entry.content, user_id=self._user)
        except (InputError, NotFoundError, UndoError) as error:
            aside.append(held(entry, "refused", str(error)))
            return False
        if done.refused:
            aside.append(held(entry, "refused", done.detail or done.refused.value))
        return done.refused is None

    async def _add(self, entry: Entry, name: str, aside: list[Aside]) -> bool:
        reason = f"written into {name} by hand"
        try:
            (done,) = await self._memory.remember(
                entry.content,
                user_id=self._user,
                kind=entry.kind,
                importance=Importance.HIGH,
                reason=reason,
            )
        except InputError as error:
            aside.append(held(entry, "refused", str(error)))
            return False
        if done.refused and done.refused is not Refusal.DUPLICATE:
            aside.append(held(entry, "refused", done.detail or done.refused.value))
        return done.refused is None

    async def _write(
        self, read: Mapping[str, str | None], aside: Mapping[str, tuple[Aside, ...]]
    ) -> tuple[str, ...]:
        """Write the files that are not as the store is; return their names."""
        now, known = self._memory.clock(), await self._known()
        wrote, record = [], dict[str, dict[str, Last]]()
        for name in NAMES:
            own = [m for m in known.values() if _file_of(m) == name]
            page = Page(tuple(self._entry(m, now) for m in own), aside.get(name, ()))
            text = render_page(name, self._user, page, now)
            if without_time(text) != without_time(read[name] or ""):
                if await asyncio.to_thread(self._read, name) != read[name]:
                    raise FileError(f"{name} was changed meanwhile: it is read again next time.")
                await asyncio.to_thread(files.replace, self._folder / name, text)
                wrote.append(name)
            record[name] = {e.id: Last(mark_of(e.content), e.archived) for e in page.entries}
        if record != files.read_record(self._folder):
            await asyncio.to_thread(files.write_record, self._folder, record)
        return tuple(wrote)

    async def _there(self) -> set[str]:
        """Return the ids of all memories in the store, in any state."""
        return {one.id for one in await self._memory.list(user_id=self._user, state=None)}

    async def _clear_backups(self, there: set[str], *, erased: bool) -> None:
        """Delete the copies of former versions that show what was erased since.

        With `erased`, all of them: the erased words may be former ones of a memory that is there.
        """
        for name in NAMES:
            copy = self._folder / f"{name}.bak"
            if erased:
                copy.unlink(missing_ok=True)
            if (text := files.read_text(copy)) is None:
                continue
            if any(one.mark and one.id not in there for one in parse_page(text).entries):
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
    known_how = memory.category is Category.SKILL or memory.kind in PROCEDURAL
    return LEARNINGS if known_how else MEMORY
