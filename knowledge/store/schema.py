"""The schema of a store, and how a store of the schema before is brought up when it is opened."""

from collections.abc import Callable

from loguru import logger

from souffleur.errors import StoreMismatchError
from souffleur.knowledge.store.engine.collection import Collection, Filter, read_pages
from souffleur.knowledge.store.labels import lookup_fields
from souffleur.knowledge.store.ledger import Journal

SCHEMA = 5
"""The schema that this version writes."""
OLDEST = 4
"""The oldest schema that this version reads: its records have no `labels`."""

Progress = Callable[[int, int], None]
"""Is called with the number of records that are done, and the total."""


def check(schema: object, where: object) -> None:
    """Raise StoreMismatchError unless this version reads that schema.

    >>> check(OLDEST, "/data")
    >>> check(99, "/data")
    Traceback (most recent call last):
        ...
    souffleur.errors.StoreMismatchError: /data was written by a newer version of Souffleur ...
    """
    if isinstance(schema, int) and 1 <= schema < OLDEST:
        raise StoreMismatchError(
            f"{where} was written before the first release of Souffleur (schema {schema}, and this "
            f"version reads {OLDEST} and later): begin a new store."
        )
    if not isinstance(schema, int) or not OLDEST <= schema <= SCHEMA:
        raise StoreMismatchError(
            f"{where} was written by a newer version of Souffleur (schema {schema}, and this "
            f"version reads up to {SCHEMA}): use that version or a later one."
        )


async def bring_up(memories: Collection, journal: Journal) -> int:
    """Bring a store up to this schema; return the number of records that were changed.

    Filters find no record without its labels, so this is done before the store is used. May be
    killed at any moment, and done again. Raises StoreError.
    """
    changed = 0
    for collection in (memories, journal.collection):
        async for page in read_pages(collection, Filter()):
            for point in page:
                fields = lookup_fields(point.payload)
                if any(point.payload.get(name) != value for name, value in fields.items()):
                    await collection.merge_payload([point.id], fields)
                    changed += 1
    await journal.note_meta({"schema": SCHEMA})
    logger.info("the store was brought up to schema {}: {} records changed", SCHEMA, changed)
    return changed
