"""Reading records: an unreadable one is logged and left in place, and does not hide the others."""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from copy import deepcopy
from datetime import datetime
from functools import cache
from typing import TypeVar, get_args, get_origin

from loguru import logger
from pydantic import AwareDatetime, BaseModel, ValidationError

from souffleur.errors import UnreadableError
from souffleur.knowledge.store.engine.collection import (
    Collection as Store,
    Filter,
    Point,
    read_pages,
)
from souffleur.knowledge.store.labels import LOOKUP_FIELDS

T = TypeVar("T")
Record = TypeVar("Record", bound=BaseModel)

Location = tuple[int | str, ...]
"""The path of a field within a record."""

DERIVED = LOOKUP_FIELDS.union(
    ("type", "user_id", "state", "at", "seq", "applied", "expunged", "memory_ids"),  # for filters
    ("fingerprint", "folders", "fence", "revision", "written_by"),
)
"""Fields that are stored beside those of a record."""
READ_AT_ONCE = 100
"""Records that are read and decoded before the event loop runs: some 10 ms."""
_NAMED = 3
"""Number of fields that an error message lists."""


def read(point: Point, model: type[Record]) -> Record:
    """Return the record of a point, built from its payload without derived fields.

    Raises UnreadableError, which quotes nothing of the payload, if the record is invalid.
    """
    kept: Record | None = point.records.get(model) if point.records else None
    if kept is not None:
        return kept
    fields = dict(point.payload)
    for key in _derived(model):
        fields.pop(key, None)
    fields |= {key: _moment(fields[key]) for key in _moments(model) if fields.get(key)}
    if point.records is not None:  # its payload is kept as well, with what a dictionary holds
        fields |= {key: deepcopy(fields[key]) for key in _changeable(model) if fields.get(key)}
    try:
        record = model.model_validate(fields)
    except ValidationError as error:
        faults = [
            f"{'.'.join(map(str, fault['loc'])) or 'all of it'}: {fault['type']}"
            for fault in error.errors(include_url=False, include_context=False)
        ]
        why = ", ".join(faults[:_NAMED])
        raise UnreadableError(
            f"the {model.__name__.lower()} {point.id} cannot be read ({why}): take it out of the "
            "store with `souffleur store repair`"
        ) from None
    # What a host could change, because it is a dictionary, is decoded anew each time.
    if point.records is not None and not any(getattr(record, one) for one in _changeable(model)):
        point.records[model] = record
    return record


def _moment(value: object) -> object:
    """Return a stored time: those of one zone object are compared ten times as fast.

    The model says what is wrong with anything else.
    """
    try:
        return datetime.fromisoformat(value) if isinstance(value, str) else value
    except ValueError:
        return value


@cache
def _derived(model: type[BaseModel]) -> frozenset[str]:
    """Return the derived fields that the model itself does not have."""
    return DERIVED - model.model_fields.keys()


@cache
def _moments(model: type[BaseModel]) -> tuple[str, ...]:
    """Return the names of the fields that are times."""
    named = model.model_fields.items()
    return tuple(
        name
        for name, field in named
        if {AwareDatetime, datetime} & {field.annotation, *get_args(field.annotation)}
    )


@cache
def _changeable(model: type[BaseModel]) -> tuple[str, ...]:
    """Return the names of the fields that are dictionaries; everything else is frozen."""
    return tuple(
        name for name, field in model.model_fields.items() if get_origin(field.annotation) is dict
    )


def describe_faults(
    error: ValidationError, name: Callable[[Location], str] = lambda path: ".".join(map(str, path))
) -> str:
    """Return what is wrong with the fields that were given, in one line, without their values.

    `name` is called with the path of a field; no name stands before a fault of all of them.

    >>> class Cup(BaseModel):
    ...     size: int
    >>> try:
    ...     Cup(size="large")
    ... except ValidationError as error:
    ...     describe_faults(error)
    'size: Input should be a valid integer, unable to parse string as an integer'
    """
    return "; ".join(
        ": ".join(filter(None, (name(fault["loc"]), fault["msg"].removeprefix("Value error, "))))
        for fault in error.errors(include_input=False)
    )


def read_each(points: Iterable[Point], reader: Callable[[Point], T]) -> list[T]:
    """Return the records of the points, in order; unreadable ones are logged and left out."""
    records = []
    for point in points:
        try:
            records.append(reader(point))
        except UnreadableError as error:
            logger.warning("{}", error)
    return records


async def read_many(points: Sequence[Point], reader: Callable[[Point], T]) -> list[T]:
    """Return the records of many points, in order, and let the event loop run now and then.

    Unreadable ones are logged and left out.
    """
    records: list[T] = []
    for start in range(0, len(points), READ_AT_ONCE):
        records += read_each(points[start : start + READ_AT_ONCE], reader)
        await asyncio.sleep(0)
    return records


async def read_matching(store: Store, filter: Filter, reader: Callable[[Point], T]) -> list[T]:
    """Return the records of all matching points, and let the event loop run now and then.

    Unreadable ones are logged and left out. Raises StoreError.
    """
    pages = read_pages(store, filter, size=READ_AT_ONCE)
    return [record async for page in pages for record in read_each(page, reader)]
