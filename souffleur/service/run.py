"""A run: its options and limits, its result, and how its pieces are done side by side."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypeVar

from loguru import logger

from souffleur.agents.model.chat import on_behalf_of
from souffleur.errors import (
    AnswerError,
    EndpointError,
    SettingsError,
    SouffleurError,
    StoreError,
    is_outage,
)
from souffleur.knowledge.memory import Memory
from souffleur.knowledge.store.runs.run_log import RunRecord
from souffleur.telemetry.log_lines import describe, error_record, trace_bug
from souffleur.times import lacks_zone

if TYPE_CHECKING:
    from souffleur.knowledge.operation import LedgerEntry

T = TypeVar("T")

MIN_DELETIONS = 5
MAX_DELETED_SHARE = 0.2
"""Share of the memories in a run that a model may delete, but at least `MIN_DELETIONS`."""
MAX_RECORDED_ERRORS = 5
"""Maximum errors kept in the record of a run."""
MAX_OUTAGES = 3
"""Number of failures in a row, caused by an outage, that end a run."""

Step = Callable[[int, int], None]
"""Called with the number of memories done, and the total."""


@dataclass(frozen=True)
class RunLimits:
    """The limits of a run's cost and changes."""

    memories: int = 1000
    """Maximum memories to look at; groups for consolidation, users for portraits."""
    calls: int = 1000
    """Maximum calls of the model."""
    deletions: int | None = None
    """Maximum deletions. `None` means a fifth of the memories looked at, but at least five, if a
    model decides, and no limit if a rule does."""
    parallel: int = 8
    """Maximum users at the same time."""


@dataclass(frozen=True)
class RunOptions:
    """The options of a run."""

    now: datetime
    """The time of the run, with a time zone."""
    user_id: str | None = None
    """The user whose memories are due; `None` means every user."""
    limits: RunLimits = RunLimits()
    """The limits of its cost and changes."""
    dry_run: bool = False
    """Whether to report only what would be done, and change nothing."""
    stop: Callable[[], bool] = lambda: False
    """Called between two memories; returns whether to stop."""
    step: Step = lambda done, total: None
    """Called with the number of memories done, and the total."""
    resting: frozenset[str] = frozenset()
    """Users whose memory is off: nothing of theirs is read."""

    def __post_init__(self) -> None:
        """Check the time. Raises SettingsError if it has no time zone."""
        if lacks_zone(self.now):
            raise SettingsError("the time of a run has no time zone: give datetime.now(UTC)")


@dataclass(frozen=True)
class RunItem:
    """The result of a run for one memory; in a dry run, the result it would have."""

    memory: Memory
    """The memory."""
    op: str
    """An op such as PROMOTE, KEEP, DELETE or FORGET; or FAILED, WAITS, CHANGED, REFUSED."""
    reason: str
    """Why, in the words of the model or rule."""
    trail: tuple[str, ...] = ()
    """A reviewer's thoughts and searches before the decision."""


@dataclass
class RunResult:
    """The result of a run."""

    name: str
    """The name of the run."""
    options: RunOptions
    """The options it was started with."""
    due: int = 0
    """Number of memories that were due when it began."""
    items: list[RunItem] = field(default_factory=list)
    """Its results, memory by memory."""
    calls: int = 0
    """Number of calls of the model."""
    tokens: int = 0
    """Number of tokens, of prompts and answers."""
    cost: float = 0.0
    """Dollars."""
    stopped: str = ""
    """Why it ended before everything was done; empty if everything is."""
    outages: int = 0
    """Number of failures in a row that were caused by an outage."""
    error: SouffleurError | None = None
    """The error that ended it, if an endpoint or the store was in trouble."""
    data: dict[str, Any] = field(default_factory=dict)
    """Numbers from a run that counts, such as report."""

    def count(self, *ops: str) -> int:
        """Return the number of items with one of these ops."""
        return sum(item.op in ops for item in self.items)

    def spend(self, cost: Mapping[str, float]) -> None:
        """Add the usage of a verdict (see `Verdict.cost`)."""
        self.calls += int(cost.get("calls", 0))
        self.tokens += int(cost.get("input_tokens", 0) + cost.get("output_tokens", 0))
        self.cost += cost.get("cost", 0.0)

    def is_over(self) -> bool:
        """Return whether nothing more may begin; `stopped` says why."""
        limits = self.options.limits
        if self.stopped:
            return True
        if self.options.stop():
            self.stopped = "it was asked to stop"
        elif self.calls >= limits.calls:
            self.stopped = f"it may make {limits.calls} calls"
        elif len(self.items) >= limits.memories < self.due:
            self.stopped = f"it may look at {limits.memories} of {self.due}"
        else:
            return False
        return True

    def failed_item(self, memory: Memory, error: Exception) -> RunItem:
        """Return the item of a memory that could not be handled and stays due.

        After `MAX_OUTAGES` outages without a success in between, nothing more begins.
        """
        bound = logger.bind(user=memory.user_id, memory=memory.id)
        bound.warning("{} of a memory was not done: {}", self.name, describe(error))
        trace_bug(bound, error)
        if isinstance(error, AnswerError | EndpointError):
            self.spend(error.usage)
        self.outages += is_outage(error)
        if self.outages >= MAX_OUTAGES:
            self.break_off(error)
        return RunItem(memory, "FAILED", error_record(error))

    def break_off(self, error: Exception) -> None:
        """Begin nothing more; the rest stays due."""
        if isinstance(error, SouffleurError) and self.error is None:
            self.error, self.stopped = error, str(error)

    @contextmanager
    def until_the_store_fails(self) -> Iterator[None]:
        """End the work within, without raising, if the store is out of reach."""
        try:
            yield
        except* StoreError as group:
            self.break_off(group.exceptions[0])

    def max_deletions(self, looked_at: int) -> int:
        """Return how many of the memories looked at a model may delete."""
        usual = max(MIN_DELETIONS, int(MAX_DELETED_SHARE * looked_at))
        return usual if self.options.limits.deletions is None else self.options.limits.deletions

    def record(self, ended: datetime) -> RunRecord:
        """Return the record to keep: numbers without words, as an AnswerError may quote some."""
        failed = [item.reason for item in self.items if item.op == "FAILED"]
        failed = [why if "AnswerError" not in why else "AnswerError" for why in failed]
        return RunRecord(
            name=self.name,
            began=self.options.now,
            ended=ended,
            of_user=self.options.user_id,
            due=self.due,
            counts=dict(Counter(item.op for item in self.items)),
            errors=tuple(failed[:MAX_RECORDED_ERRORS]),
            calls=self.calls,
            tokens=self.tokens,
            cost=self.cost,
            stopped=self.stopped,
            data=self.data,
        )


async def side_by_side(
    result: RunResult,
    work: Mapping[str, Sequence[T]],
    one: Callable[[T], Awaitable[Sequence[RunItem]]],
    memory_of: Callable[[T], Memory],
) -> None:
    """Do each user's work piece by piece, users concurrently, until the run is over.

    A piece that fails is an item of `memory_of` the piece, and stays due. If the store is out of
    reach, the run ends.
    """
    slots = asyncio.Semaphore(result.options.limits.parallel)
    done = 0

    async def user(user_id: str, mine: Sequence[T]) -> None:
        async with slots:
            with on_behalf_of(user_id):
                await pieces(mine)

    async def attempt(piece: T) -> Sequence[RunItem]:
        try:
            return await one(piece)
        except StoreError:
            raise
        except Exception as error:  # noqa: BLE001  the worker's edge: the run goes on
            return [result.failed_item(memory_of(piece), error)]

    async def pieces(mine: Sequence[T]) -> None:
        nonlocal done
        for piece in mine:
            if result.is_over():
                return
            items = await attempt(piece)
            result.items += items
            if any(item.op != "FAILED" for item in items):
                result.outages = 0
            done += 1
            result.options.step(done, result.due)

    with result.until_the_store_fails():
        async with asyncio.TaskGroup() as group:  # one that fails ends the others
            for user_id, mine in work.items():
                group.create_task(user(user_id, mine))


def item_for(memory: Memory, entry: "LedgerEntry", trail: tuple[str, ...] = ()) -> RunItem:
    """Return the item for a ledger entry; `trail` holds the searches before the decision."""
    if entry.waits:
        return RunItem(memory, "WAITS", f"for the user's yes: {entry.reason}", trail)
    if entry.refused:
        return RunItem(memory, "REFUSED", f"{entry.refused}: {entry.detail}", trail)
    return RunItem(memory, entry.op, entry.reason, trail)
