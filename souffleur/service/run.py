"""A run: its options and limits, its result, and how its pieces are done concurrently."""

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
"""Maximum share of a run's memories that a model may delete; `MIN_DELETIONS` may always go."""
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
    """Maximum memories to look at; for consolidation, maximum groups; for portraits, users."""
    calls: int = 1000
    """Maximum calls of the model."""
    deletions: int | None = None
    """Maximum deletions. `None` means no limit if a rule decides. If a model decides, it means a
    fifth of the memories looked at, or five if that is more."""
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
    """The limits of the run's cost and changes."""
    dry_run: bool = False
    """Whether to only report the changes, without making them."""
    stop: Callable[[], bool] = lambda: False
    """Called between two memories; returns whether to stop."""
    step: Step = lambda done, total: None
    """Called with the number of memories done, and the total."""
    resting: frozenset[str] = frozenset()
    """Users whose memory is off: the run reads nothing of them."""

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
    """The reason, in the words of the model or rule."""
    trail: tuple[str, ...] = ()
    """A reviewer's thoughts and searches before the decision."""


@dataclass
class RunResult:
    """The result of a run."""

    name: str
    """The name of the run."""
    options: RunOptions
    """The options that the run was started with."""
    due: int = 0
    """Number of memories that were due when the run began."""
    items: list[RunItem] = field(default_factory=list)
    """The results, memory by memory."""
    calls: int = 0
    """Number of calls of the model."""
    tokens: int = 0
    """Number of tokens, of prompts and answers."""
    cost: float = 0.0
    """The cost in dollars."""
    stopped: str = ""
    """Why the run ended before everything was done; empty if everything is done."""
    outages: int = 0
    """Number of failures in a row that were caused by an outage."""
    error: SouffleurError | None = None
    """The error that ended the run, if an endpoint or the store failed."""
    data: dict[str, Any] = field(default_factory=dict)
    """The numbers of a run that counts, like the run report."""

    def count(self, *ops: str) -> int:
        """Return the number of items with one of these ops."""
        return sum(item.op in ops for item in self.items)

    def spend(self, cost: Mapping[str, float]) -> None:
        """Add the usage of a verdict (see `Verdict.cost`)."""
        self.calls += int(cost.get("calls", 0))
        self.tokens += int(cost.get("input_tokens", 0) + cost.get("output_tokens", 0))
        self.cost += cost.get("cost", 0.0)

    def is_over(self) -> bool:
        """Return whether no further piece may begin; `stopped` says why."""
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

        After `MAX_OUTAGES` outages without a success in between, no further piece begins.
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
        """Begin no further piece; the rest stays due."""
        if isinstance(error, SouffleurError) and self.error is None:
            self.error, self.stopped = error, str(error)

    @contextmanager
    def until_the_store_fails(self) -> Iterator[None]:
        """If the store is out of reach, end the work in this context without raising."""
        try:
            yield
        except* StoreError as group:
            self.break_off(group.exceptions[0])

    def max_deletions(self, looked_at: int) -> int:
        """Return the maximum deletions by a model after `looked_at` memories."""
        usual = max(MIN_DELETIONS, int(MAX_DELETED_SHARE * looked_at))
        return usual if self.options.limits.deletions is None else self.options.limits.deletions

    def record(self, ended: datetime) -> RunRecord:
        """Return the record to keep: numbers, no words, as an AnswerError may quote the talk."""
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
    """Do the work of each user piece by piece, users concurrently, until the run is over.

    A piece that fails stays due, and becomes an item with the memory `memory_of(piece)`. If the
    store is out of reach, the run ends.
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
        async with asyncio.TaskGroup() as group:  # a task that fails ends the others
            for user_id, mine in work.items():
                group.create_task(user(user_id, mine))


def item_for(memory: Memory, entry: "LedgerEntry", trail: tuple[str, ...] = ()) -> RunItem:
    """Return the item for a ledger entry; `trail` holds the searches before the decision."""
    if entry.waits:
        return RunItem(memory, "WAITS", f"for the user's yes: {entry.reason}", trail)
    if entry.refused:
        return RunItem(memory, "REFUSED", f"{entry.refused}: {entry.detail}", trail)
    return RunItem(memory, entry.op, entry.reason, trail)
