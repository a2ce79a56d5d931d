"""Orders to delete records for good. An order is stored until it is carried out, then a receipt."""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING, Any

from loguru import logger
from pydantic import AwareDatetime, Field

from souffleur.errors import EmbedderError
from souffleur.knowledge.forgetting.subject import Subject, SubjectFinder
from souffleur.knowledge.forgetting.topic import (
    MAY_TELL,
    StoredRecords,
    Trace,
    content_of,
    find_traces,
    subject_of,
    words_of,
)
from souffleur.knowledge.identity import check_id, user_conditions
from souffleur.knowledge.memory import NARRATIVE, Frozen, Memory, MemoryState
from souffleur.knowledge.operation import Actor, LedgerEntry, derive_id
from souffleur.knowledge.search.words import encode_document
from souffleur.knowledge.store.codecs import (
    embedded_point,
    to_entry,
    to_memories,
    to_memory,
    to_point,
    to_segment,
    to_session,
    to_turn,
)
from souffleur.knowledge.store.engine.collection import (
    Collection,
    Filter,
    Is,
    Point,
    read_all,
    read_pages,
)
from souffleur.knowledge.store.ledger import Journal
from souffleur.knowledge.store.reading import READ_AT_ONCE, read, read_each, read_matching
from souffleur.knowledge.store.sessions import Sessions

if TYPE_CHECKING:
    from souffleur.knowledge.search.embedder import Embedder

PURGE = "PURGE"
"""The op of a ledger entry that serves as a receipt."""


class Stage(StrEnum):
    """The stage of an order."""

    RECORDS = "records"
    """Records are being deleted or rewritten."""
    FILES = "files"
    """All records are deleted; their bytes may still be in the files."""


class Removal(Frozen):
    """An order to delete records of a user. It contains their words until they are deleted."""

    id: str
    user_id: str
    at: AwareDatetime
    by: Actor
    stage: Stage = Stage.RECORDS
    subject: Subject = Subject()
    whole: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    """The ids of records to delete, by kind."""
    cut: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    """The ids of records that only lose the words about the subject, by kind."""
    retell: bool = False
    """Whether a model writes the episodes and portraits again."""

    def ids(self, *kinds: str) -> tuple[str, ...]:
        """Return the ids of the records to delete of these kinds."""
        return tuple(id for kind in kinds for id in self.whole.get(kind, ()))

    def cut_ids(self, *kinds: str) -> tuple[str, ...]:
        """Return the ids of the records of these kinds that only lose words."""
        return tuple(id for kind in kinds for id in self.cut.get(kind, ()))


@dataclass(frozen=True)
class Forgotten:
    """A receipt for deleted records: numbers and ids, without words."""

    id: str
    """The id of the ledger entry with this receipt."""
    user_id: str
    """The user of the records."""
    at: AwareDatetime
    """The time of the deletion."""
    removed: dict[str, tuple[str, ...]]
    """The ids of deleted records, by kind."""
    rewritten: dict[str, tuple[str, ...]]
    """The ids of records that only lost words about the subject, by kind."""
    remarks: tuple[str, ...] = ()
    """Where deleted bytes stay, and until when; empty if no file of the store has them."""
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
    """Return the order to delete these records. Its id depends on user, records and time."""
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
    """Return the ledger entry that lists the deleted records, without their words."""
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
    """Return the receipt of a completed order."""
    counts: dict[str, int] = {}
    for ids in (order.whole, order.cut):
        for kind, listed in ids.items():
            counts[kind] = counts.get(kind, 0) + len(listed)
    told = tuple(dict.fromkeys(filter(None, remarks)))
    id = derive_id("receipt", order.id)
    shown = {kind: counts[kind] for kind in sorted(counts)}
    return Forgotten(id, order.user_id, order.at, order.whole, order.cut, told, shown)


def order_point(order: Removal) -> Point:
    """Return the point of an open order."""
    derived = {"type": "removal", "applied": False}
    return Point(order.id, {**order.model_dump(mode="json"), **derived})


def _by_kind(traces: Iterable[Trace]) -> dict[str, tuple[str, ...]]:
    found: dict[str, list[str]] = {}
    for trace in traces:
        found.setdefault(trace.kind, []).append(trace.id)
    return {kind: tuple(found[kind]) for kind in sorted(found)}


def _plain(ids: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    return {kind: list(listed) for kind, listed in ids.items()}


_TAKEN_APART = frozenset(
    {"memory", "episode", "portrait", "entry", "proposal", "window", "segment"}
)
"""Kinds of records that `_cut_others` does not cut field by field."""
_READERS: Mapping[str, Callable[[Point], Any]] = {
    "entry": to_entry,
    "turn": to_turn,
    "session": to_session,
    "segment": to_segment,
}
"""The function that reads each type of journal record."""


class Removals:
    """The orders in a store, with the methods that carry them out.

    Callers must ensure that no other task changes the user's records meanwhile.
    """

    def __init__(self, memories: Collection, journal: Journal, embedder: "Embedder") -> None:
        self._memories = memories
        self._journal = journal
        self._embedder = embedder
        self._sessions = Sessions(journal)

    async def trace(
        self, user_id: str, topic: str, near: Mapping[str, str], called: Sequence[str] = ()
    ) -> list[Trace]:
        """Return the records about a topic and about these memories, each with the reason.

        `called` are the names of the user and the persona.
        """
        held = await self.holdings(user_id)
        return await asyncio.to_thread(find_traces, held, topic, near, called)

    async def holdings(self, user_id: str) -> StoredRecords:
        """Return all records of a user."""
        mine = Filter((Is("user_id", check_id(user_id)),))
        found: dict[str, list[Any]] = {name: [] for name in _READERS}
        others: list[Point] = []
        async for page in read_pages(self._journal.collection, mine, size=READ_AT_ONCE):
            for point in page:
                name = str(point.payload.get("type"))
                if name in found:
                    found[name] += read_each([point], _READERS[name])
                else:
                    others.append(point)
        memories = await read_matching(self._memories, mine, to_memory)
        return StoredRecords(
            memories,
            found["entry"],
            found["turn"],
            found["session"],
            found["segment"],
            others,
        )

    async def begin(self, order: Removal) -> None:
        """Write an order durably. After this it will be carried out, even after a crash."""
        await self._journal.collection.put([order_point(order)])
        await self._journal.collection.flush()

    async def subject(
        self, user_id: str, topic: str, traces: Sequence[Trace], called: Sequence[str] = ()
    ) -> Subject:
        """Return the words that identify the records to delete."""
        mine = Filter((Is("user_id", user_id),))
        every = await read_matching(self._memories, mine, to_memory)
        ids = {trace.id for trace in traces if trace.whole}
        subject = subject_of(topic, [one for one in every if one.id in ids], every, called)
        doubtful = [line for one in traces if one.why == MAY_TELL for line in one.lines]
        return subject.model_copy(update={"contents": (*subject.contents, *doubtful)})

    async def waiting(self, user_id: str | None = None) -> list[Removal]:
        """Return the open orders."""
        must = (Is("type", "removal"), Is("applied", False), *user_conditions(user_id))
        found = await read_all(self._journal.collection, Filter(must))
        return read_each(found, partial(read, model=Removal))

    async def carry_out(self, order: Removal) -> None:
        """Delete the records of an order, and cut words from the others. Idempotent."""
        reader = SubjectFinder(order.subject)
        gone = order.ids("memory", "episode", "portrait")
        await self._empty(order, reader, gone)
        await self._memories.delete(list(gone))
        for turn in await self._journal.get_turns(order.ids("turn")):
            await self._sessions.erase(turn, retell=order.retell, keep_episode=True)
        await self._journal.collection.delete(list(order.ids("item")))
        await self._cut_memories(order, reader)
        await self._cut_others(order, reader)
        self._embedder.forget_texts()

    async def sweep(self, order: Removal) -> None:
        """Delete old versions of rewritten texts; cut the subject from the new texts."""
        reader = SubjectFinder(order.subject)
        held = await self.holdings(order.user_id)
        cut = order.cut_ids("episode", "portrait")
        in_force = {MemoryState.ACTIVE, MemoryState.PENDING}
        over = [one.id for one in held.memories if one.id in cut and one.state not in in_force]
        new = [entry for entry in held.entries if entry.at >= order.at or _changes(entry, over)]
        made = {change.after.id for entry in new for change in entry.changes}
        for one in held.memories:
            if one.id in made and one.id not in over and one.category in NARRATIVE:
                await self._cut(one, reader)
        for entry in new:
            if _changes(entry, over) or any(map(reader.finds, words_of(entry))):
                await self._journal.rewrite(_emptied(entry, reader, over))
        await self._memories.delete(over)

    async def close(self, order: Removal) -> Removal:
        """Write the receipt, and remove the words from the order; return the changed order."""
        entry = receipt(order)
        if not await self._journal.get_entries([entry.id]):  # else an earlier try wrote it
            await self._journal.write([entry])
        await self._journal.settle([entry])
        bare = order.model_copy(update={"stage": Stage.FILES, "subject": Subject()})
        await self._journal.collection.put([order_point(bare)])
        return bare

    async def end(self, order: Removal) -> None:
        """Delete an order when the bytes of its records are gone too."""
        await self._journal.collection.delete([order.id])

    async def _empty(self, order: Removal, reader: SubjectFinder, gone: Sequence[str]) -> None:
        """Erase the words of the order's ledger entries, and of entries about deleted memories."""
        ids = order.cut_ids("entry", "proposal")
        named = {one.id: one for one in await self._journal.get_entries(ids)}
        for memory_id in gone:
            found = await self._journal.entries(order.user_id, memory_id=memory_id)
            named |= {entry.id: entry for entry in found}
        for entry in named.values():
            await self._journal.rewrite(_emptied(entry, reader, gone))

    async def _cut_memories(self, order: Removal, reader: SubjectFinder) -> None:
        ids = order.cut_ids("memory", "episode", "portrait")
        for one in to_memories(await self._memories.get(ids)):
            if one.user_id == order.user_id:
                await self._cut(one, reader)

    async def _cut(self, memory: Memory, reader: SubjectFinder) -> None:
        """Cut the subject from a memory; delete the memory if no text is left."""
        left = reader.cut_memory(memory)
        if left == memory:
            return
        if not left.content:
            await self._memories.delete([memory.id])
            return
        left = left.model_copy(update={"revision": memory.revision + 1})
        await self._memories.put([await self._embedded(left)])

    async def _embedded(self, memory: Memory) -> Point:
        try:
            return embedded_point(memory, await self._embedder.embed_each(memory.embedded))
        except EmbedderError as error:  # the words must go; the other words find it
            logger.warning("what is left of a memory is found by its words alone: {}", error)
            bare = to_point(memory, ())
            words = encode_document("\n".join(memory.cues)) if memory.cues else None
            return Point(bare.id, bare.payload, None, bare.lexical, cue_words=words)

    async def _cut_others(self, order: Removal, reader: SubjectFinder) -> None:
        """Cut the fields of records of other types, and the reasons stored with turns."""
        kinds = sorted(set(order.cut) - _TAKEN_APART)
        for point in await self._journal.collection.get(order.cut_ids(*kinds)):
            left = {key: reader.cut_any(one) for key, one in content_of(point).items()}
            changed = {key: one for key, one in left.items() if one != point.payload[key]}
            if changed:
                await self._journal.collection.merge_payload([point.id], changed)


def _changes(entry: LedgerEntry, memory_ids: Sequence[str]) -> bool:
    return not set(memory_ids).isdisjoint(entry.memory_ids)


def _emptied(entry: LedgerEntry, reader: SubjectFinder, gone: Sequence[str]) -> LedgerEntry:
    """Return an entry without its words, and without changes that mention the subject."""
    told = [
        change.after.id
        for change in entry.changes
        for memory in filter(None, (change.before, change.after))
        if reader.finds_any([memory.model_dump(mode="json")])
    ]
    return entry.emptied({*gone, *told}).model_copy(update={"waits": False})
