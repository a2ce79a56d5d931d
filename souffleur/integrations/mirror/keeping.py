"""Keeping: the mirrors of all users of a host, each in a folder of its own."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from loguru import logger

from souffleur.errors import SouffleurError
from souffleur.integrations.mirror.files import folder_name
from souffleur.integrations.mirror.mirror import Mirror, Remembering
from souffleur.knowledge.policy import Policy
from souffleur.knowledge.store.introductions import UserSummary

LOOK_SECONDS = 10.0
"""Seconds between two looks for new users."""
LOOKS_PER_SECOND = 20
"""Users whose files are looked at in a second, at most: with more of them, it takes longer."""


class Serving(Remembering, Protocol):
    """What the mirrors of all users need of Souffleur."""

    async def users(self) -> Sequence[UserSummary]:
        """Return all users."""
        ...


class Keeper:
    """Keeps a mirror for each user until it is stopped."""

    def __init__(self, memory: Serving, folder: Path, policy: Policy) -> None:
        self._memory, self._folder, self._policy = memory, folder, policy
        self._watching: dict[str, asyncio.Task[None]] = {}
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Keep them in the running event loop."""
        self._task = asyncio.get_running_loop().create_task(self._keep_going())

    async def stop(self) -> None:
        """Stop, and wait until nothing is written any more."""
        tasks = [*self._watching.values(), *([self._task] if self._task else [])]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def drop(self, user_id: str) -> None:
        """Delete the files of a user who was erased. Raises FileError."""
        await self._leave(user_id)
        await asyncio.to_thread(self.mirror_of(user_id).delete)

    async def clear(self, user_id: str) -> None:
        """Take what was erased out of a user's files, if there are any; kept or not.

        Raises FileError, and what else `Mirror.sync` raises.
        """
        if self._place(user_id).is_dir():
            await self._leave(user_id)  # the next look begins anew
            await self.mirror_of(user_id).sync(erased=True)

    def mirror_of(self, user_id: str) -> Mirror:
        """Return the mirror of a user, in a folder named by the user."""
        return Mirror(self._memory, self._place(user_id), user_id=user_id, policy=self._policy)

    def _place(self, user_id: str) -> Path:
        return self._folder / folder_name(user_id)

    async def _leave(self, user_id: str) -> None:
        if watching := self._watching.pop(user_id, None):
            watching.cancel()
            await asyncio.gather(watching, return_exceptions=True)

    async def _keep_going(self) -> None:
        failed = False
        while True:
            try:
                users = [one.user_id for one in await self._memory.users()]
                failed = False
            except SouffleurError as error:
                level = "DEBUG" if failed else "WARNING"  # once per outage
                logger.log(level, "users to mirror could not be read: {}", error)
                users, failed = [], True
            pause = max(1.0, len(users) / LOOKS_PER_SECOND)
            for user_id in set(users) - set(self._watching):
                watching = self.mirror_of(user_id).watch(pause)
                self._watching[user_id] = asyncio.create_task(watching)
            await asyncio.sleep(LOOK_SECONDS)
