"""The schema of a store, and the steps that bring an older store up to this version.

A store is used while it is brought up: every reader takes the old records, too. Each step is
idempotent, and notes after each page how far it came, so that a killed process is gone on with.
To change what is stored, add a step at the end of `STEPS`.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, cast

from loguru import logger

from souffleur.errors import StoreMismatchError, UnreadableError
from souffleur.knowledge.memory import MemoryState
from souffleur.knowledge.policy import Policy
from souffleur.knowledge.store import due_times
from souffleur.knowledge.store.engine.collection import (
    Collection,
    Filter,
    Is,
    OneOf,
    Payload,
    Point,
)
from souffleur.knowledge.store.engine.points import can_match
from souffleur.knowledge.store.ledger import Journal
from souffleur.knowledge.turn import TurnState

POINTS_PER_PAGE = 128
"""Number of records that are read and changed before others may go on."""

Change = Callable[[Point, Policy], Payload]
"""Returns the fields to set in a record; none if it is right already. Raises UnreadableError."""
Progress = Callable[[int, int], None]
"""Is called with the number of records that are done, and the total."""


@dataclass(frozen=True)
class Step:
    """One change of the schema."""

    to: int
    """The schema of a store once it is done."""
    name: str
    collection: Literal["memories", "journal"]
    which: Filter
    """The records that may have to be changed."""
    change: Change


@dataclass(frozen=True)
class Done:
    """A step that was carried out."""

    name: str
    changed: int
    """Number of records that were changed, since the step was last begun or gone on with."""


Brought = list[Done]
"""The steps that were carried out, in order."""


NOTHING = Filter((OneOf("type", ()),))
"""Selects no record: for a step that only tells earlier versions that they cannot read a store."""


def _queued_again(turn: Point, _: Policy) -> Payload:
    """Return what queues a turn again that was set aside because of an outage of an endpoint."""
    outage = str(turn.payload.get("error")).startswith(("EndpointError", "EmbedderError"))
    aside = turn.payload.get("state") == TurnState.FAILED
    return {"state": TurnState.PENDING, "tries": 0} if outage and aside else {}


STEPS = (
    Step(
        2,
        "due times",
        "memories",
        Filter((OneOf("state", (MemoryState.ACTIVE, MemoryState.ARCHIVED)),)),
        due_times.renewed,
    ),
    Step(
        3,
        "turns set aside in outages",
        "journal",
        Filter((Is("type", "turn"), Is("state", TurnState.FAILED))),
        _queued_again,
    ),
    # From here on a window may be one text, which earlier versions cannot read: they refuse the
    # store. Windows are written so one by one, with the next turn of each.
    Step(4, "windows as one text", "journal", NOTHING, lambda session, _: {}),
)
SCHEMA = STEPS[-1].to
"""The schema that this version writes."""


def check(schema: object, where: object) -> None:
    """Raise StoreMismatchError unless this version can bring that schema up to its own.

    >>> check(1, "/data")
    >>> check(99, "/data")
    Traceback (most recent call last):
        ...
    souffleur.errors.StoreMismatchError: /data was written by a newer version of Souffleur ...
    """
    if not isinstance(schema, int) or not 1 <= schema <= SCHEMA:
        raise StoreMismatchError(
            f"{where} was written by a newer version of Souffleur (schema {schema}, and this "
            f"version reads up to {SCHEMA}): use that version or a later one."
        )


def brought_up(collection: str, point: Point, since: object, policy: Policy) -> Point:
    """Return a record of an older schema, `since`, as this version writes it.

    Raises UnreadableError.
    """
    for step in STEPS:
        theirs = step.collection == collection and isinstance(since, int) and since < step.to
        if theirs and can_match(step.which, point.payload):
            point = replace(point, payload={**point.payload, **step.change(point, policy)})
    return point


def is_current(made_with: Payload) -> bool:
    """Return whether a store with this metadata is of this version's schema."""
    return bool(made_with["schema"] == SCHEMA)


async def bring_up(
    memories: Collection,
    journal: Journal,
    policy: Policy,
    *,
    steps: Sequence[Step] = STEPS,
    progress: Progress = lambda done, total: None,
) -> Brought:
    """Carry out the steps that a store lacks; return what was done. Raises StoreError.

    May be cancelled or killed at any moment, and done again.
    """
    made_with, done = await journal.meta() or {}, []
    for step in steps:
        if made_with.get("schema", 0) < step.to:
            collection = memories if step.collection == "memories" else journal.collection
            done.append(await _carry_out(step, collection, journal, policy, progress))
            made_with = await journal.note_meta({"schema": step.to}, drop=_FORMER)
    return done


_FORMER = ("bringing_up", "due_rules", "outages_taken_up")
"""Keys of the metadata that a finished step, or a former version, leaves behind."""


async def _carry_out(
    step: Step, collection: Collection, journal: Journal, policy: Policy, progress: Progress
) -> Done:
    begun = (await journal.meta() or {}).get("bringing_up") or {}
    mine = begun if begun.get("to") == step.to else {}
    after, seen, changed = cast("str | None", mine.get("after")), int(mine.get("seen", 0)), 0
    total = mine.get("total") or await collection.count(step.which)
    while True:
        page, after = await collection.scroll(step.which, limit=POINTS_PER_PAGE, after=after)
        changed += await _change(step, collection, [point.id for point in page], policy)
        seen += len(page)
        progress(min(seen, total), total)
        if after is None:
            break
        so_far = {"to": step.to, "after": after, "seen": seen, "total": total}
        await journal.note_meta({"bringing_up": so_far})
        await asyncio.sleep(0)
    logger.info("the store was brought up: {}, {} records changed", step.name, changed)
    return Done(step.name, changed)


async def _change(step: Step, collection: Collection, ids: Sequence[str], policy: Policy) -> int:
    changed = 0
    for point in await collection.get(ids):  # read anew, as others may write meanwhile
        try:
            fields = step.change(point, policy)
        except UnreadableError as error:
            logger.warning("{}", error)
            continue
        if fields:
            await collection.merge_payload([point.id], fields)
            changed += 1
    return changed
