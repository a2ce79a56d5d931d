"""Conversion of memories, turns, sessions, segments and portrait statuses to points and back."""

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence, Set as AbstractSet
from typing import NamedTuple

from souffleur.knowledge.memory import Memory
from souffleur.knowledge.operation import LedgerEntry, derive_id
from souffleur.knowledge.portrait_rule import PortraitStatus
from souffleur.knowledge.privacy.groups import Group
from souffleur.knowledge.search.words import encode_document
from souffleur.knowledge.session import Segment, Session, pack
from souffleur.knowledge.store.engine.collection import Payload, Point
from souffleur.knowledge.store.labels import lookup_fields
from souffleur.knowledge.store.reading import read, read_each
from souffleur.knowledge.text.match import normalize_text
from souffleur.knowledge.turn import Turn

Vector = tuple[float, ...]


def fingerprint(text: str) -> str:
    """Return a hash of a text that ignores width, case, spacing and punctuation."""
    return hashlib.sha256(normalize_text(text).encode()).hexdigest()[:32]


def state_mark(memory: Memory) -> str:
    """Return a hash of a memory's state and words. It changes when the memory changes."""
    return derive_id("seen", memory.id, memory.state, memory.content)


def to_point(memory: Memory, dense: Vector, cues: Sequence[Vector] = ()) -> Point:
    """Return the point of a memory; `dense` embeds its `searchable` text, `cues` its cues."""
    payload = memory.model_dump(mode="json")
    payload["fingerprint"] = fingerprint(memory.content)
    payload |= lookup_fields(payload)
    return Point(
        memory.id,
        payload,
        dense,
        encode_document(memory.searchable),
        cues=tuple(cues),
        cue_words=encode_document("\n".join(memory.cues)) if memory.cues else None,
    )


def embedded_point(memory: Memory, vectors: Mapping[str, Vector]) -> Point:
    """Return the point of a memory; `vectors` has the embedding of each of its `embedded` texts."""
    dense, *cues = (vectors[text] for text in memory.embedded)
    return to_point(memory, dense, cues)


def to_memory(point: Point) -> Memory:
    """Return the memory of a point. Raises UnreadableError."""
    return read(point, Memory)


def to_memories(points: Iterable[Point]) -> list[Memory]:
    """Return the memories of the points; logs and skips unreadable memories."""
    return read_each(points, to_memory)


class _Masked(NamedTuple):
    """A turn whose words have the data of some groups masked."""

    groups: frozenset[Group]
    user: str
    assistant: str


def turn_point(turn: Turn) -> Point:
    """Return the point of a turn that is not embedded yet."""
    return _found_point(turn.id, {**turn.model_dump(mode="json"), "type": "turn"})


def to_turn(point: Point) -> Turn:
    """Return the complete turn of a point, to judge, summarise or store it.

    Raises UnreadableError.
    """
    return read(point, Turn)


def masked_reader(withheld: AbstractSet[Group]) -> Callable[[Point], Turn]:
    """Return a function that reads turns for search or display: clipped, `withheld` data masked.

    The function raises UnreadableError. It masks the words of a cached point only once.
    """
    groups = frozenset(withheld)

    def reader(point: Point) -> Turn:
        turn = to_turn(point)
        kept: _Masked | None = point.records.get(_Masked) if point.records else None
        if kept is not None and kept.groups == groups:
            return turn.model_copy(update={"user": kept.user, "assistant": kept.assistant})
        masked = turn.clipped().masked(groups)
        if point.records is not None:
            point.records[_Masked] = _Masked(groups, masked.user, masked.assistant)
        return masked

    return reader


def session_point(session: Session) -> Point:
    """Return the point of a session. Its state is "open" if it has turns or segments to process."""
    return Point(session.id, {**session.model_dump(mode="json"), **_derived(session)})


def packed_session_point(session: Session) -> Point:
    """Return the point of a session with its window as a single text, for a store of one process.

    The write takes a third of the time, as the local engine needs some microseconds for each value.
    It is not for servers, where a process with an older version may read the point.
    """
    fields = session.model_dump(mode="json", exclude={"window"})
    return Point(session.id, {**fields, "window": pack(session.window), **_derived(session)})


def _derived(session: Session) -> Payload:
    return {"type": "session", "state": "open" if session.window or session.left else "closed"}


def to_session(point: Point) -> Session:
    """Return the session of a point, with its window in either form. Raises UnreadableError."""
    return read(point, Session)


def segment_point(segment: Segment) -> Point:
    """Return the point of a segment."""
    return _found_point(segment.id, {**segment.model_dump(mode="json"), "type": "segment"})


def to_segment(point: Point) -> Segment:
    """Return the segment of a point. Raises UnreadableError."""
    return read(point, Segment)


def portrait_status_point(status: PortraitStatus) -> Point:
    """Return the point of a portrait status."""
    return Point(status.id, {**status.model_dump(mode="json"), "type": "upkeep"})


def entry_payload(entry: LedgerEntry, seq: int) -> Payload:
    """Return the payload of a ledger entry that is not applied yet, with its number `seq`."""
    derived = {"type": "entry", "seq": seq, "applied": False, "memory_ids": list(entry.memory_ids)}
    payload = {**entry.model_dump(mode="json"), **derived}
    return {**payload, **lookup_fields(payload)}


def to_entry(point: Point) -> LedgerEntry:
    """Return the ledger entry of a point. Raises UnreadableError."""
    return read(point, LedgerEntry)


def kind_of(collection: str, payload: Payload) -> str:
    """Return the kind of a record: `memory`, or its type in the journal.

    >>> kind_of("memories", {"type": "odd"}), kind_of("journal", {"type": "turn"})
    ('memory', 'turn')
    """
    return "memory" if collection == "memories" else str(payload.get("type"))


def seq_of(point: Point) -> tuple[int, int]:
    """Return the number of a turn or entry, and the position of an entry in its verdict."""
    seq, position = point.payload.get("seq"), point.payload.get("position")
    return (
        seq if isinstance(seq, int) else 0,
        position if isinstance(position, int) else 0,
    )


def _found_point(id: str, payload: Payload) -> Point:
    return Point(id, {**payload, **lookup_fields(payload)})
