"""An order to remove records for good: kept until it is carried out, and then a receipt."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from pydantic import AwareDatetime, Field

from souffleur.field_docs import explain_fields
from souffleur.knowledge.engine.collection import Point
from souffleur.knowledge.memory import Frozen
from souffleur.knowledge.operation import Actor, LedgerEntry, derive_id
from souffleur.knowledge.reading import read
from souffleur.knowledge.removal.subject import Subject
from souffleur.knowledge.removal.trace import Trace

PURGE = "PURGE"
"""The op of the ledger entry that is a receipt."""


class Stage(StrEnum):
    """How far an order is carried out."""

    RECORDS = "records"
    """Records go, or are to be rewritten."""
    FILES = "files"
    """All records are gone; their bytes may still be in the files."""


class Removal(Frozen):
    """What is to be removed of one user; it holds the words until the records are gone."""

    id: str
    user_id: str
    at: AwareDatetime
    by: Actor
    stage: Stage = Stage.RECORDS
    subject: Subject = Subject()
    whole: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    """The ids of records that go as a whole, by kind."""
    cut: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    """The ids of records that lose what tells of the subject, by kind."""
    retell: bool = False
    """Whether a model writes the episodes and portraits anew."""

    def ids(self, *kinds: str) -> tuple[str, ...]:
        """Return the ids of the records of these kinds that go as a whole."""
        return tuple(id for kind in kinds for id in self.whole.get(kind, ()))

    def cut_ids(self, *kinds: str) -> tuple[str, ...]:
        """Return the ids of the records of these kinds that lose words."""
        return tuple(id for kind in kinds for id in self.cut.get(kind, ()))


@explain_fields
@dataclass(frozen=True)
class Forgotten:
    """A receipt of what was removed: numbers and ids, and no words."""

    id: str
    """The id of the ledger entry that keeps this receipt."""
    user_id: str
    """Whose it was."""
    at: AwareDatetime
    """When it was removed."""
    removed: dict[str, tuple[str, ...]]
    """The ids of records that are gone as a whole, by kind."""
    rewritten: dict[str, tuple[str, ...]]
    """The ids of records that lost the words in question, by kind."""
    remarks: tuple[str, ...] = ()
    """Where bytes stay, and until when; empty if they are nowhere in the store's files."""
    counts: dict[str, int] = field(default_factory=dict)
    """The number of records, by kind."""


def make_order(
    user_id: str,
    traces: Sequence[Trace],
    subject: Subject,
    *,
    by: Actor,
    now: AwareDatetime,
    retell: bool,
) -> Removal:
    """Return the order to remove these records; the same ones at the same time are one order."""
    id = derive_id("removal", user_id, now.isoformat(), *sorted(trace.id for trace in traces))
    return Removal(
        id=id,
        user_id=user_id,
        at=now,
        by=by,
        subject=subject,
        whole=_by_kind(trace for trace in traces if trace.whole),
        cut=_by_kind(trace for trace in traces if not trace.whole),
        retell=retell,
    )


def receipt(order: Removal) -> LedgerEntry:
    """Return the ledger entry that tells what was removed, without its words."""
    details = {"removed": _plain(order.whole), "rewritten": _plain(order.cut)}
    id = derive_id("receipt", order.id)
    return LedgerEntry(
        id=id,
        verdict_id=id,
        position=0,
        of=1,
        user_id=order.user_id,
        agent_id="default",
        by=order.by,
        at=order.at,
        op=PURGE,
        details=details,
        reason="removed for good on request",
    )


def forgotten(order: Removal, remarks: Sequence[str]) -> Forgotten:
    """Return the receipt of an order that is carried out."""
    counts: dict[str, int] = {}
    for ids in (order.whole, order.cut):
        for kind, listed in ids.items():
            counts[kind] = counts.get(kind, 0) + len(listed)
    told = tuple(dict.fromkeys(filter(None, remarks)))
    id = derive_id("receipt", order.id)
    shown = {kind: counts[kind] for kind in sorted(counts)}
    return Forgotten(id, order.user_id, order.at, order.whole, order.cut, told, shown)


def order_point(order: Removal) -> Point:
    """Return the point of an order that is not carried out yet."""
    derived = {"type": "removal", "applied": False}
    return Point(order.id, {**order.model_dump(mode="json"), **derived})


def to_order(point: Point) -> Removal:
    """Return the order of a point. Raises UnreadableError."""
    return read(point, Removal, derived={"type", "applied"})


def _by_kind(traces: Iterable[Trace]) -> dict[str, tuple[str, ...]]:
    found: dict[str, list[str]] = {}
    for trace in traces:
        found.setdefault(trace.kind, []).append(trace.id)
    return {kind: tuple(found[kind]) for kind in sorted(found)}


def _plain(ids: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    return {kind: list(listed) for kind, listed in ids.items()}
