"""Budget: the maximum calls and dollars of models on a day, for all users and for each user.

The costs are counted in the store, so a restart does not lose them, and processes share them.
A call is counted before it is made, its dollars when they are known. Calls never exceed a limit.
Dollars may exceed it, but only by the cost of the calls that are running when it is reached.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import TYPE_CHECKING
from uuid import uuid4

from loguru import logger

from souffleur.agents.model.chat import Chat, Reply, Request, Usage, asking_user
from souffleur.errors import AnswerError, BudgetError, EndpointError, StoreError
from souffleur.knowledge.store.runs import spending
from souffleur.knowledge.store.runs.spending import EVERY_USER, KEPT_FOR, Spending

if TYPE_CHECKING:
    from souffleur.knowledge.store.ledger import Journal

DAY = timedelta(days=1)
MAX_TALLIES = 10_000
"""Maximum users whose costs are held in memory; the costs of other users are read again."""
_NOTHING = 1e-12
"""Maximum dollars that count as zero: subtracting may leave a rounding error."""


@dataclass(frozen=True)
class DailyLimit:
    """The limits of a day; `None` means no limit."""

    calls: int | None = None
    dollars: float | None = None

    @property
    def is_set(self) -> bool:
        """Whether calls or dollars have a limit."""
        return self.calls is not None or self.dollars is not None

    def reached(self, calls: int, dollars: float) -> str:
        """Return the limit that is reached, in words; empty if no limit is reached.

        >>> DailyLimit(calls=2).reached(1, 9.0), DailyLimit(calls=2).reached(2, 9.0)
        ('', '2 of 2 calls')
        >>> DailyLimit(dollars=0.5).reached(1, 0.52)
        '$0.52 of $0.50'
        """
        if self.calls is not None and calls >= self.calls:
            return f"{calls:,} of {self.calls:,} calls"
        if self.dollars is not None and dollars >= self.dollars:
            return f"${dollars:,.2f} of ${self.dollars:,.2f}"
        return ""


class Budget:
    """Counts calls and dollars per day, from midnight UTC; refuses calls above the limits."""

    def __init__(
        self,
        journal: "Journal",
        *,
        store: DailyLimit,
        user: DailyLimit,
        clock: Callable[[], datetime],
    ) -> None:
        """`store` is the limit for all users together, `user` the limit for each user."""
        self._journal = journal
        self._store, self._user = store, user
        self._clock = clock
        self._writer = str(uuid4())
        self._day: datetime | None = None
        self._tallies: dict[str, Spending] = {}
        """The costs of today by user, as they were last read from the store."""
        self._unwritten: dict[str, tuple[int, float]] = {}
        """By user, the calls (also running calls) and dollars that are not in the tallies yet."""
        self._writing = asyncio.Lock()
        self._refused_on: datetime | None = None

    @property
    def is_set(self) -> bool:
        """Whether there is a limit, for all users or for each user."""
        return self._store.is_set or self._user.is_set

    @property
    def trouble(self) -> str:
        """Why models may not be asked for any user today; empty if they may be asked."""
        return self._trouble(EVERY_USER)

    @property
    def summary(self) -> str:
        """Which budgets are used up, as far as known without reading; empty if no budget is."""
        if self.trouble:
            return self.trouble
        poor = sum(bool(self._trouble(user_id)) for user_id in self._tallies if user_id)
        whose = "1 user" if poor == 1 else f"{poor:,} users"
        return f"the budget of the day is used up for {whose}" if poor else ""

    @property
    def used(self) -> dict[str, tuple[float, float]]:
        """For calls and dollars that have a limit: today's costs of all users, and the limit.

        The costs are those that were last read.
        """
        key, limits = EVERY_USER, asdict(self._store)
        known = self._tallies.get(key) if self._day == self._today() else None
        spent = asdict(DailyLimit())
        if known:
            now = known.plus(*self._unwritten.get(key, (0, 0.0)))
            spent = {"calls": now.calls, "dollars": now.dollars}
        return {
            unit: (float(spent[unit] or 0), float(limit))
            for unit, limit in limits.items()
            if limit is not None
        }

    async def open(self) -> None:
        """Read the costs of today, which `trouble` and `used` need."""
        if self.is_set:
            await self._open(EVERY_USER)

    def trouble_of(self, user_id: str) -> str:
        """Return why models may not be asked for a user today; empty if they may be asked.

        Reads nothing from the store.
        """
        return self.trouble or self._trouble(user_id)

    async def check(self, user_id: str) -> None:
        """Raise BudgetError if models may not be asked for a user any more today."""
        if not self.is_set:
            return
        await self._open(user_id)
        if why := self.trouble_of(user_id):
            self._refused_on = self._today()
            left = self._today() + DAY - self._clock()
            raise BudgetError(why, retryable=False, retry_after=left.total_seconds())

    def take_renewal(self) -> bool:
        """Return whether a new day has begun since a call was refused; `True` only once."""
        renewed = self._refused_on is not None and self._refused_on != self._today()
        if renewed:
            self._refused_on = None
        return renewed

    def metered(self, chat: Chat) -> Chat:
        """Return a chat that counts its calls, and refuses them when the budget is used up."""
        if not self.is_set:
            return chat

        async def asked(request: Request) -> Reply:
            user_id = asking_user()
            keys = self._keys(user_id)
            await self._open(user_id)
            await self._read(keys)
            await self.check(user_id)
            self._note(keys, 1, 0.0)
            dollars = 0.0
            try:
                reply = await chat(request)
                dollars = reply.usage.cost
                return reply
            except (AnswerError, EndpointError) as error:
                dollars = Usage.of(error.usage).cost
                raise
            finally:
                self._note(keys, 0, dollars)
                await self._write(keys)

        return asked

    def _trouble(self, key: str) -> str:
        limit = self._user if key else self._store
        if not limit.is_set or key not in self._tallies or self._day != (today := self._today()):
            return ""
        spent = self._tallies[key].plus(*self._unwritten.get(key, (0, 0.0)))
        if not (why := limit.reached(spent.calls, spent.dollars)):
            return ""
        whose, until = "this user's" if key else "the", f"{today + DAY:%Y-%m-%d %H:%M} UTC"
        return f"{whose} budget of the day is used up, {why}: turns wait until {until}"

    async def _open(self, user_id: str) -> None:
        """Read the costs of today, if they are not known."""
        if self._day != self._today():
            self._day, self._tallies, self._unwritten = self._today(), {}, {}
            await spending.drop(self._journal, self._day - KEPT_FOR)
        await self._read([key for key in self._keys(user_id) if key not in self._tallies])
        self._forget_some()

    async def _read(self, keys: Sequence[str]) -> None:
        """Read the costs of today from the store: those of all processes."""
        for key in keys:
            read = await spending.read(self._journal, self._today(), key)
            known = self._tallies.get(key)
            if known is None or read.revision > known.revision:
                self._tallies[key] = read

    async def _write(self, keys: tuple[str, ...]) -> None:
        """Add unwritten costs to the store; a single write may contain several calls."""
        async with self._writing:
            for key in keys:
                calls, dollars = self._unwritten.get(key, (0, 0.0))
                if not calls and not dollars:
                    continue
                today, by = self._today(), self._writer
                try:
                    spent = await spending.add(self._journal, today, key, calls, dollars, by=by)
                except StoreError as error:  # the costs stay in memory, and are written next time
                    logger.warning("what was spent is not on disk yet: {}", error)
                    return
                self._tallies[key] = spent
                self._note((key,), -calls, -dollars)

    def _note(self, keys: tuple[str, ...], calls: int, dollars: float) -> None:
        for key in keys:
            noted = self._unwritten.pop(key, (0, 0.0))
            both = (noted[0] + calls, noted[1] + dollars)
            if both[0] or abs(both[1]) > _NOTHING:
                self._unwritten[key] = both

    def _forget_some(self) -> None:
        spare = (key for key in self._tallies if key and key not in self._unwritten)
        for key in list(islice(spare, max(0, len(self._tallies) - MAX_TALLIES))):
            del self._tallies[key]

    def _keys(self, user_id: str) -> tuple[str, ...]:
        whole = (EVERY_USER,) if self._store.is_set else ()
        return (*whole, user_id) if self._user.is_set and user_id else whole

    def _today(self) -> datetime:
        now = self._clock().astimezone(UTC)
        return now.replace(hour=0, minute=0, second=0, microsecond=0)
