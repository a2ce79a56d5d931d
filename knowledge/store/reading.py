"""Reading records from points. An unreadable record is logged and skipped, and stays stored."""

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
"""Stored fields that are not part of a record."""
READ_AT_ONCE = 100
"""Number of records to decode before the event loop runs: about 10 ms."""
_NAMED = 3
"""Maximum number of fields in an error message."""


def read(point: Point, model: type[Record]) -> Record:
    """Return the record of a point: its payload without derived fields.

    Raises UnreadableError if the record is invalid. The message quotes no values.
    """
    kept: Record | None = point.records.get(model) if point.records else None
    if kept is not None:
        return kept
    fields = dict(point.payload)
    for key in _derived(model):
        fields.pop(key, None)
    fields |= {key: _moment(fields[key]) for key in _moments(model) if fields.get(key)}
    if point.records is not None:  # so that record and payload share no dictionaries
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
    # A host could change dictionaries, so records with dictionaries are not cached.
    if point.records is not None and not any(getattr(record, one) for one in _changeable(model)):
        point.records[model] = record
    return record


def _moment(value: object) -> object:
    """Return a stored time as a datetime; times with the same zone object compare ten times faster.

    Other values are returned unchanged, as the model reports their error.
    """
    try:
        return datetime.fromisoformat(value) if isinstance(value, str) else value
    except ValueError:
        return value


@cache
def _derived(model: type[BaseModel]) -> frozenset[str]:
    """Return the derived fields that are not fields of the model."""
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
    """Return the names of the fields that are dictionaries; all other fields are immutable."""
    return tuple(
        name for name, field in model.model_fields.items() if get_origin(field.annotation) is dict
    )


def describe_faults(
    error: ValidationError, name: Callable[[Location], str] = lambda path: ".".join(map(str, path))
) -> str:
    """Return the errors of invalid fields on one line, without their values.

    `name` returns the name for the path of a field. It may return "", and then the error has no
    name.

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
    """Return the records of the points, in order; logs and skips unreadable records."""
    records = []
    for point in points:
        try:
            records.append(reader(point))
        except UnreadableError as error:
            logger.warning("{}", error)
    return records


async def read_many(points: Sequence[Point], reader: Callable[[Point], T]) -> list[T]:
    """Return the records of many points, in order, and let the event loop run in between.

    It logs and skips unreadable records.
    """
    records: list[T] = []
    for start in range(0, len(points), READ_AT_ONCE):
        records += read_each(points[start : start + READ_AT_ONCE], reader)
        await asyncio.sleep(0)
    return records


async def read_matching(store: Store, filter: Filter, reader: Callable[[Point], T]) -> list[T]:
    """Return the records of all matching points, and let the event loop run in between.

    It logs and skips unreadable records. Raises StoreError.
    """
    pages = read_pages(store, filter, size=READ_AT_ONCE)
    return [record async for page in pages for record in read_each(page, reader)]
