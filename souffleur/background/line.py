"""The line: users who wait to be served, in order, each once; a backlog is read piece by piece."""

import asyncio
from collections.abc import Callable, Iterator

from loguru import logger

from souffleur.errors import StoreError
from souffleur.knowledge.engine.collection import POINTS_PER_PAGE
from souffleur.knowledge.journal import Journal

MAX_QUEUED_USERS = 10_000
"""Users of a backlog that are queued in memory; the others are read from the journal later."""


class Line:
    """Names of users; `wake(user_id)` is called for those that are read from the journal."""

    def __init__(
        self, journal: Journal, wake: Callable[[str], None], *, most: int = MAX_QUEUED_USERS
    ) -> None:
        """At most `most` users of a backlog are held at a time."""
        self._journal = journal
        self._wake = wake
        self._most = most
        self._users: dict[str, None] = {}
        self._unread: int | None = None
        """The turn from which on waiting users are not in the line yet; `None` if all are."""
        self.reading: asyncio.Task[None] | None = None
        """Reads on, in the background; `None` if nothing is read."""

    def __len__(self) -> int:
        return len(self._users)

    def __iter__(self) -> Iterator[str]:
        return iter(self._users)

    def add(self, user_id: str) -> None:
        """Put a user at the end, unless it stands in the line already."""
        self._users.setdefault(user_id)

    def take(self) -> str:
        """Take out the first user."""
        user_id = next(iter(self._users))
        del self._users[user_id]
        return user_id

    def discard(self, user_id: str) -> None:
        """Take out this user, if it is there."""
        self._users.pop(user_id, None)

    def clear(self) -> None:
        """Forget who waits; all of it is in the journal."""
        self._users.clear()
        self._unread = None

    async def read(self) -> None:
        """Add all users with turns that wait, the longest waiting first, as far as there is room.

        Raises StoreError.
        """
        self._unread = 0
        await self._read_on()

    def refill(self, fewest: int) -> None:
        """Read on in the background if fewer users than this are in line."""
        if self._unread is not None and len(self) < fewest and self.reading is None:
            self.reading = asyncio.get_running_loop().create_task(self._refill())

    async def _refill(self) -> None:
        try:
            await self._read_on()
        except StoreError as error:
            logger.warning("who else waits is not known, it is read again later: {}", error)
        finally:
            self.reading = None

    async def _read_on(self) -> None:
        while self._unread is not None and (room := self._most - len(self)) > 0:
            limit = min(room, POINTS_PER_PAGE)
            users, self._unread = await self._journal.users_waiting(after=self._unread, limit=limit)
            for user_id in users:
                self._wake(user_id)
