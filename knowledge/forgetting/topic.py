"""Traces of a topic: records about it, and records that rest on these, with reasons. Pure."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from souffleur.knowledge.forgetting.request import lines_of, names_in, turns_beside, unshared
from souffleur.knowledge.forgetting.subject import Subject, SubjectFinder, texts_in, texts_of
from souffleur.knowledge.memory import NARRATIVE, Category, Memory, MemoryState
from souffleur.knowledge.operation import LedgerEntry
from souffleur.knowledge.session import Segment, Session
from souffleur.knowledge.store.engine.collection import Point
from souffleur.knowledge.text.match import normalize_text
from souffleur.knowledge.text.plain import clip
from souffleur.knowledge.turn import Turn

MAX_SHOWN = 300
"""Maximum characters of a text in a preview."""
RESEMBLES = "it tells something else in much the same words"
"""The reason for a memory that is only removed if the user chooses it."""
MAY_TELL = "it may tell of it in other words"
"""The reason for a record with shared rare words; it is only removed if the user chooses it."""
HAS_NAME = "it mentions a name that goes"
BESIDE = "it was said beside what goes, and names nobody"
DOUBTFUL = frozenset({MAY_TELL, HAS_NAME, BESIDE})
"""The reasons for records that possibly tell of the topic."""


@dataclass(frozen=True)
class Trace:
    """A record that tells of the topic, or that rests on a record about the topic."""

    id: str
    """The record's id, by which it is chosen."""
    kind: str
    """memory, episode, portrait, turn, entry, proposal, window, segment, item, or another."""
    text: str
    """The text of the record, cut if it is long."""
    why: str
    """The reason why the record is listed."""
    whole: bool = True
    """Whether the whole record is removed; otherwise only its `lines`."""
    lines: tuple[str, ...] = ()
    """The lines that are removed, if not the whole record."""
    sure: bool = True
    """Whether the record clearly belongs to the topic; otherwise it is only removed if chosen."""
    at: datetime | None = None
    """When the record was learned or said."""


@dataclass(frozen=True)
class TopicPreview:
    """The records that forgetting a topic would remove. Nothing has changed."""

    user_id: str
    """The user whose records these are."""
    topic: str
    """The topic."""
    traces: list[Trace]
    """The records that tell of the topic, or rest on records about it."""
    notes: list[str] = field(default_factory=list)
    """Notes on other effects of forgetting, and on copies that it does not reach."""

    @property
    def ids(self) -> list[str]:
        """The ids of the records that clearly belong to the topic."""
        return [trace.id for trace in self.traces if trace.sure]


def removal_notes(shared: bool) -> Iterator[str]:
    """Yield notes on other effects of a removal, and on copies that it does not reach."""
    yield "What this process has at hand in memory is dropped."
    yield "Old backups and exports hold what was in them: delete those too."
    if shared:
        yield "The Qdrant server keeps deleted bytes until its optimizer rewrites its files."


@dataclass(frozen=True)
class StoredRecords:
    """All records of a user."""

    memories: Sequence[Memory]
    entries: Sequence[LedgerEntry]
    turns: Sequence[Turn]
    sessions: Sequence[Session]
    segments: Sequence[Segment]
    others: Sequence[Point]
    """Records of other types."""


def find_traces(
    records: StoredRecords, topic: str, near: Mapping[str, str], called: Sequence[str] = ()
) -> list[Trace]:
    """Return the traces of a topic and of the memories in `near`, which has a reason for each id.

    `called` are the names of the user and the persona.
    """
    memories = list(_memories(records, SubjectFinder(Subject(topic=topic)), near))
    sure = {trace.id for trace in memories if trace.sure and trace.whole}
    gone = [one for one in records.memories if one.id in sure]
    subject = subject_of(topic, gone, records.memories, called)
    finder, strict = SubjectFinder(subject), SubjectFinder(subject.model_copy(update={"names": ()}))
    memories += _beside(records, gone, finder, {trace.id for trace in memories})
    turns = list(_turns(records, gone, finder, strict))
    erased = {trace.id for trace in turns if trace.sure and trace.whole}
    narratives = list(_narratives(records, finder, erased))
    listed = {trace.id for trace in (*memories, *narratives, *turns)}
    telling = erased | {trace.id for trace in turns if trace.why == HAS_NAME}
    near_by = list(_beside_turns(records, telling, called, listed)) if gone else []
    return [
        *memories,
        *narratives,
        *turns,
        *_doubtful(records, finder, listed),
        *near_by,
        *_places(records, erased),
        *_entries(records, finder, sure, {one.id for one in memories if one.why == RESEMBLES}),
        *_others(records, finder),
    ]


def subject_of(
    topic: str, gone: Sequence[Memory], every: Iterable[Memory], called: Sequence[str] = ()
) -> Subject:
    """Return the subject of a removal: the topic, and names that only these memories mention."""
    ids = {one.id for one in gone}
    stays = [one for one in every if one.id not in ids and one.category not in NARRATIVE]
    own = {normalize_text(name) for name in called}
    named = dict.fromkeys(name for one in gone for name in one.entities)
    names = unshared((name for name in named if normalize_text(name) not in own), stays)
    contents = dict.fromkeys(one.content for one in gone if one.category not in NARRATIVE)
    return Subject(topic=topic, names=names, contents=tuple(contents), called=tuple(called))


def _memories(
    records: StoredRecords, finder: SubjectFinder, near: Mapping[str, str]
) -> Iterator[Trace]:
    """Yield the memories that tell of the topic, and their earlier versions."""
    known = {one.id: one for one in records.memories if one.category not in NARRATIVE}
    found: dict[str, str] = {}
    for one in known.values():
        if finder.finds(one.content) or any(map(finder.finds, (*one.entities, *one.topics))):
            found[one.id] = "it names the topic"
        elif one.id in near:
            found[one.id] = near[one.id]
    waiting = list(found)
    while waiting:
        for id in known[waiting.pop()].supersedes:
            if id in known and id not in found:
                found[id] = "an earlier version of what goes"
                waiting.append(id)
    for id, why in found.items():
        yield _trace(known[id], why)


def _beside(
    records: StoredRecords, gone: Sequence[Memory], finder: SubjectFinder, listed: set[str]
) -> Iterator[Trace]:
    """Yield memories with a quotation or cue about the topic, or from the same turn."""
    quotes = {(item.turn_id, item.quote) for one in gone for item in one.evidence}
    turns = {turn_id for turn_id, _ in quotes}
    names = {name for one in gone for name in one.entities}
    for one in records.memories:
        if one.category in NARRATIVE or one.id in listed:
            continue
        shared = names & set(one.entities)
        if quotes & {(item.turn_id, item.quote) for item in one.evidence}:
            yield _trace(one, "it rests on the same words", sure=False)
        elif finder.only_resembles(one.content):
            yield _trace(one, RESEMBLES, sure=False)
        elif any(map(finder.finds, texts_of(one))):
            lines = tuple(text for text in texts_of(one) if finder.finds(text))
            yield _trace(one, "its quotations or cues tell of it", whole=False, lines=lines)
        elif turns & {item.turn_id for item in one.evidence}:
            yield _trace(one, "it was told in the same turn", sure=False)
        elif shared:
            yield _trace(one, f"it mentions {', '.join(sorted(shared))} as well", sure=False)


def _narratives(records: StoredRecords, finder: SubjectFinder, erased: set[str]) -> Iterator[Trace]:
    """Yield the episodes and portraits that tell of the topic; old versions are removed whole."""
    over = {
        segment.episode_id
        for segment in records.segments
        if segment.turn_ids and erased.issuperset(segment.turn_ids)
    }
    for one in records.memories:
        if one.category not in NARRATIVE:
            continue
        lines = tuple(line for text in texts_of(one) for line in finder.lines(text))
        if one.id in over:
            yield _trace(one, "all turns that it tells of go")
        elif lines and one.state is not MemoryState.ACTIVE:
            yield _trace(one, f"an old version ({one.state}) that tells of it")
        elif lines:
            yield _trace(one, "it tells of it", whole=False, lines=lines)


def _turns(
    records: StoredRecords, gone: Sequence[Memory], finder: SubjectFinder, strict: SubjectFinder
) -> Iterator[Trace]:
    quoted = {item.turn_id for one in gone for item in one.evidence}
    for turn in records.turns:
        if turn.expunged:
            continue
        shown, kind = clip(turn.words, MAX_SHOWN), "turn"
        if strict.finds(turn.words):
            yield Trace(turn.id, kind, shown, "it tells of it", at=turn.at)
        elif turn.id in quoted:
            yield Trace(turn.id, kind, shown, "a memory that goes rests on it", at=turn.at)
        elif finder.finds(turn.words):
            yield Trace(turn.id, kind, shown, HAS_NAME, at=turn.at, sure=False)
        elif finder.finds_any([turn.judged, turn.error]):
            lines = tuple(text for text in texts_in(turn.judged) if finder.finds(text))
            why = "the reason of its judgement tells of it"
            yield Trace(turn.id, kind, shown, why, whole=False, lines=lines, at=turn.at)


def _doubtful(records: StoredRecords, finder: SubjectFinder, listed: set[str]) -> Iterator[Trace]:
    """Yield records that share rare words with the subject and are not in the list yet."""
    for one in records.memories:
        if one.id in listed:
            continue
        lines = tuple(line for line in lines_of(one) if finder.may_find(line))
        if lines and one.category in NARRATIVE:
            yield _trace(one, MAY_TELL, whole=False, sure=False, lines=lines)
        elif lines:
            yield _trace(one, MAY_TELL, sure=False)
    for turn in records.turns:
        if turn.id not in listed and not turn.expunged and finder.may_find(turn.words):
            shown = clip(turn.words, MAX_SHOWN)
            yield Trace(turn.id, "turn", shown, MAY_TELL, sure=False, at=turn.at)


def _beside_turns(
    records: StoredRecords, telling: set[str], called: Sequence[str], listed: set[str]
) -> Iterator[Trace]:
    """Yield the turns next to turns about the topic, if they name nobody."""
    said = sorted((one for one in records.turns if not one.expunged), key=lambda one: one.seq)
    for turn in turns_beside(telling, said, names_in(records.memories), called):
        if turn.id not in listed:
            shown = clip(turn.words, MAX_SHOWN)
            yield Trace(turn.id, "turn", shown, BESIDE, sure=False, at=turn.at)


def _places(records: StoredRecords, erased: set[str]) -> Iterator[Trace]:
    """Yield the windows and segments that lose turns."""
    for session in records.sessions:
        if count := len(erased & {entry.id for entry in session.window}):
            why = f"its window holds {count} of these turns"
            name = session.session_id
            yield Trace(session.id, "window", name, why, whole=False, at=session.at)
    for segment in records.segments:
        if count := len(erased.intersection(segment.turn_ids)):
            why = f"it holds {count} of these turns"
            yield Trace(segment.id, "segment", segment.session_id, why, whole=False, at=segment.at)


def _entries(
    records: StoredRecords, finder: SubjectFinder, sure: set[str], others: set[str]
) -> Iterator[Trace]:
    """Yield the entries that tell of the topic, except those that concern only `others`."""
    for entry in records.entries:
        if entry.memory_ids and others.issuperset(entry.memory_ids):
            continue
        kind = "proposal" if entry.waits else "entry"
        lines = tuple(dict.fromkeys(filter(finder.finds, words_of(entry))))
        if lines or sure.intersection(entry.memory_ids):
            why = "its words tell of it" if lines else "it changed a memory that goes"
            said = f"{entry.op}: {clip(entry.reason, MAX_SHOWN)}"
            yield Trace(entry.id, kind, said, why, whole=False, lines=lines, at=entry.at)


def _others(records: StoredRecords, finder: SubjectFinder) -> Iterator[Trace]:
    for point in records.others:
        kind = str(point.payload.get("type"))
        if kind in KEPT:
            continue
        value = content_of(point)
        lines = tuple(text for text in texts_in(value) if finder.finds(text))
        if lines:
            shown, whole = clip(" · ".join(lines), MAX_SHOWN), kind == "item"
            yield Trace(point.id, kind, shown, "it tells of it", whole=whole, lines=lines)


KEPT = frozenset({"person", "persona", "meta", "removal", "user lease", "arrivals"})
"""Types of records in which no topic is cut: they identify people or order the store."""


def content_of(point: Point) -> dict[str, Any]:
    r"""Return the content of a record; for an item of the host, its parsed JSON.

    >>> content_of(Point("1", {"type": "item", "value": '{"a": "\\u8336"}', "user_id": "ann"}))
    {'a': '茶'}
    """
    payload = point.payload
    if payload.get("type") == "item":
        return dict(json.loads(str(payload.get("value"))))
    if payload.get("type") == "turn":
        return {key: payload[key] for key in ("judged", "error") if key in payload}
    return {key: one for key, one in payload.items() if key not in _IDS}


_IDS = frozenset({"type", "user_id", "agent_id", "session_id", "sphere", "state", "id"})


def words_of(entry: LedgerEntry) -> Iterator[str]:
    """Yield all texts of a ledger entry."""
    yield from (entry.reason, entry.quote, entry.detail)
    yield from texts_in(entry.details)
    for change in entry.changes:
        for memory in filter(None, (change.before, change.after)):
            yield from texts_of(memory)


def _trace(
    memory: Memory,
    why: str,
    *,
    whole: bool = True,
    sure: bool = True,
    lines: tuple[str, ...] = (),
) -> Trace:
    names = {Category.EPISODE: "episode", Category.PROFILE: "portrait"}
    kind = names.get(Category(memory.category), "memory")
    shown = clip(memory.content, MAX_SHOWN)
    return Trace(memory.id, kind, shown, why, whole, lines, sure, memory.created_at)
