"""Forgetting a memory on request, with the turns and memories that tell the same.

All these records are hidden at once, including those that possibly tell the same. A judge is asked
about the latter afterwards; the other records are then shown again (`Writer.spare`).
"""

from collections import defaultdict
from collections.abc import (
    Awaitable,
    Callable,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
    Set as AbstractSet,
)
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from souffleur.knowledge.forgetting.likeness import (
    Likeness,
    SoughtMemory,
    frequent_keys,
    names_somebody,
)
from souffleur.knowledge.identity import user_conditions
from souffleur.knowledge.memory import NARRATIVE, Memory, MemoryState
from souffleur.knowledge.operation import WORDLESS, LedgerEntry, is_id
from souffleur.knowledge.plan import PlanContext, withdrawn
from souffleur.knowledge.store.codecs import to_memories
from souffleur.knowledge.store.engine.collection import (
    Collection,
    Filter,
    Is,
    OneOf,
    Payload,
    Point,
    read_all,
    read_pages,
)
from souffleur.knowledge.store.ledger import Journal
from souffleur.knowledge.store.sessions import Sessions
from souffleur.knowledge.text.details import read_capitalised
from souffleur.knowledge.text.match import normalize_text
from souffleur.knowledge.text.sentences import sentences
from souffleur.knowledge.turn import Turn

MOST_DOUBTFUL = 240
"""Maximum number of lines that a judge is asked about; further doubtful lines stay hidden."""
NEIGHBOURS = 2
"""Number of turns before and after a matching turn that may continue its subject."""
_LOOKED_AT = (
    MemoryState.ACTIVE,
    MemoryState.PENDING,
    MemoryState.SUPERSEDED,
    MemoryState.ARCHIVED,
)


@dataclass(frozen=True)
class Doubt:
    """Lines that possibly repeat memories that a user asked to forget."""

    user_id: str
    agent_id: str
    forgotten: tuple[str, ...]
    """The contents of the forgotten memories."""
    lines: tuple[str, ...]


JudgeDoubt = Callable[[Doubt], Awaitable[Sequence[bool] | None]]
"""Returns for each line whether it repeats a forgotten memory; `None` if no judge answers."""


@dataclass(frozen=True)
class Line:
    """A line that possibly tells the memory."""

    id: str
    """The id of the memory or turn with the line."""
    text: str = ""
    """The words of the line; empty for a turn, whose words are read from its record."""


@dataclass(frozen=True)
class KnownRecords:
    """The records of a user that are searched for a memory to be forgotten."""

    memories: Sequence[Memory]
    turns: Sequence[Turn]
    """The turns whose words are kept, in order."""
    called: tuple[str, ...]
    """Names of the user and the persona."""
    often: frozenset[str]
    """Keys of words that the user says often: see `likeness`."""

    def sought(self, memory: Memory, deleted: frozenset[str]) -> SoughtMemory:
        """Return a memory prepared for the search; `deleted` memories are forgotten with it."""
        stay = [one for one in self.memories if one.id not in deleted and one.id != memory.id]
        stay = [one for one in stay if one.category not in NARRATIVE]
        mine = [name for name in memory.entities if not self._is_called(name)]
        own = unshared(mine, stay)
        others = {name: None for one in stay for name in one.entities if not self._is_called(name)}
        return SoughtMemory(
            memory.content,
            names=own,
            shared=tuple(name for name in mine if name not in own),
            others=tuple(name for name in others if name not in mine),
            called=self.called,
            often=self.often,
        )

    @property
    def names(self) -> tuple[str, ...]:
        """The names that memories mention."""
        return names_in(self.memories)

    def _is_called(self, name: str) -> bool:
        return normalize_text(name) in {normalize_text(one) for one in self.called}


@dataclass
class Matches:
    """Records that surely or possibly tell a memory."""

    turns: set[str] = field(default_factory=set)
    """The turns that surely tell it."""
    memories: dict[str, list[str]] = field(default_factory=dict)
    """The memories that surely tell it, each with its sentences that tell it."""
    doubtful: list[tuple[float, Line]] = field(default_factory=list)
    """The lines that possibly tell it, each with its nearness to the memory."""


def names_in(memories: Iterable[Memory]) -> tuple[str, ...]:
    """Return the names that memories mention, each once."""
    return tuple(dict.fromkeys(name for one in memories for name in one.entities))


def unshared(names: Iterable[str], others: Iterable[Memory]) -> tuple[str, ...]:
    """Return the names that no other memory mentions, in their order.

    >>> from types import SimpleNamespace as Noted
    >>> unshared(("Tom", "Oslo"), [Noted(entities=("Oslo",))])
    ('Tom',)
    """
    mentioned = {name for one in others for name in one.entities}
    shared = {normalize_text(name) for name in mentioned}
    return tuple(name for name in names if normalize_text(name) not in shared)


def find_matches(
    sought: SoughtMemory,
    records: KnownRecords,
    *,
    evidence: frozenset[str],
    deleted: frozenset[str],
    requests: frozenset[str] = frozenset(),
) -> Matches:
    """Return the records that tell a memory.

    `evidence` are the turns that the memory rests on, `requests` the turns that ask to forget it;
    both are always hidden. `deleted` are memories that are forgotten together with it.
    """
    found = Matches(turns=set(evidence))
    for one in records.memories:
        if one.id in deleted:
            continue
        if one.category in NARRATIVE:
            _look_in_narrative(sought, one, found)
        elif (told := sought.in_memory(one.content)) is Likeness.SURE:
            found.memories[one.id] = []
        elif told:
            found.doubtful.append((sought.nearness(one.content), Line(one.id, one.content)))
    for turn in records.turns:
        told = sought.in_text(turn.words) if turn.id not in evidence | requests else Likeness.NONE
        if told is Likeness.SURE:
            found.turns.add(turn.id)
        elif told:
            found.doubtful.append((sought.nearness(turn.words), Line(turn.id)))
    doubted = {line.id for _, line in found.doubtful}
    found.doubtful.sort(key=lambda one: (one[1].text == "", -one[0]))
    room = max(0, MOST_DOUBTFUL - len(found.doubtful))
    near = turns_beside(found.turns, records.turns, records.names, records.called)
    others = [turn for turn in near if turn.id not in doubted | requests]
    found.doubtful += [(0.0, Line(turn.id)) for turn in others[:room]]
    return found


def _look_in_narrative(sought: SoughtMemory, one: Memory, found: Matches) -> None:
    """Add an episode or portrait, or its lines that possibly tell the memory.

    The next sentence after a sure sentence is doubtful as well, if it names nobody.
    """
    told = {line: sought.in_text(line) for line in lines_of(one)}
    surely = [line for line, how in told.items() if how is Likeness.SURE]
    if surely or sought.in_text(one.searchable) is Likeness.SURE:
        found.memories[one.id] = surely
    if one.state is MemoryState.SUPERSEDED:  # nobody reads an inactive memory
        return
    following = [
        after for before, after in pairwise(sentences(one.content)) if before.strip() in surely
    ]
    near = {line.strip() for line in following if not names_somebody(line)}
    for line, how in told.items():
        if how is Likeness.POSSIBLE or (how is Likeness.NONE and line in near):
            found.doubtful.append((sought.nearness(line), Line(one.id, line)))


def turns_beside(
    turn_ids: AbstractSet[str], turns: Sequence[Turn], names: Sequence[str], called: Sequence[str]
) -> Iterator[Turn]:
    """Yield turns near these turns in the same talk that name nobody: "she left me for him".

    `turns` are in order; `names` are known names, `called` the names of the user and the persona.
    """
    talks: dict[tuple[str, str], list[Turn]] = defaultdict(list)
    for turn in turns:
        talks[turn.sphere, turn.session_id].append(turn)
    for talk in talks.values():
        places = [place for place, turn in enumerate(talk) if turn.id in turn_ids]
        near = {place + by for place in places for by in range(-NEIGHBOURS, NEIGHBOURS + 1)}
        for place in sorted(near.intersection(range(len(talk))) - {*places}):
            words = talk[place].words
            named = (one.text for one in read_capitalised(words) if one.text not in called)
            if words and not names_somebody(words, names) and not any(named):
                yield talk[place]


def lines_of(narrative: Memory) -> Iterator[str]:
    """Yield the sentences, facts and notes of an episode or portrait."""
    yield from (one.strip() for one in sentences(narrative.content))
    data = narrative.data
    for name in ("name", "occupation", "unresolved", "intent", "tone"):
        if isinstance(data.get(name), str):
            yield data[name]
    for name in ("key_facts", "changes"):
        yield from (str(one) for one in data.get(name) or ())


async def extend_deletions(
    entries: Sequence[LedgerEntry],
    asked: Mapping[str, PlanContext],
    memories: Collection,
    journal: Journal,
    called: Sequence[str],
) -> list[LedgerEntry]:
    """Return ledger entries whose requested deletions also hide the records that tell the same.

    `asked` has the context of each such deletion by the id of its entry. `details["resting"]` lists
    the raw turns to hide, the segments to summarise again and the doubtful lines.
    """
    first = entries[0]
    taken = {id for entry in entries for id in entry.memory_ids}
    first_gone = [entry.changes[0].after for entry in entries if entry.id in asked]
    deleted = frozenset(id for one in first_gone for id in (one.id, *one.supersedes))
    records = await _known_records(first.user_id, memories, journal, called)
    done, room = [], MOST_DOUBTFUL
    for entry in entries:
        if entry.id in asked:
            extended = await _extended(
                entry, asked[entry.id], records, deleted, taken, room, journal
            )
            taken |= set(extended.memory_ids)
            room -= len(extended.details["resting"]["doubtful"])
            entry = extended
        done.append(entry)
    return done


async def _known_records(
    user_id: str, memories: Collection, journal: Journal, called: Sequence[str]
) -> KnownRecords:
    mine = Filter((Is("user_id", user_id), OneOf("state", _LOOKED_AT)))
    known = to_memories(await read_all(memories, mine))
    said = [turn.clipped() for turn in await journal.turns(user_id=user_id) if not turn.expunged]
    often = frequent_keys([*(one.content for one in known), *(turn.words for turn in said)])
    return KnownRecords(known, said, tuple(called), often)


async def _extended(
    entry: LedgerEntry,
    context: PlanContext,
    records: KnownRecords,
    deleted: frozenset[str],
    taken: set[str],
    room: int,
    journal: Journal,
) -> LedgerEntry:
    memory = entry.changes[0].after
    evidence = frozenset(item.turn_id for item in memory.evidence)
    sought = records.sought(memory, deleted)
    requests = frozenset(entry.turn_ids)
    found = find_matches(sought, records, evidence=evidence, deleted=deleted, requests=requests)
    found.memories |= {id: [] for id in memory.supersedes}
    lines = _asked_about(found, room)
    found.turns |= requests
    only = _only_for(lines, found)
    known = {one.id: one for one in records.memories}
    await _add_episodes(found, only, known, journal)
    ids = [id for id in dict.fromkeys((*found.memories, *only)) if id in known.keys() - taken]
    texts = {id: (memory.content, *told) for id, told in _texts_by_id(found, lines).items()}
    usual = (memory.content,)
    more = [withdrawn(known[id], texts.get(id, usual), sought.names, context) for id in ids]
    resting = {
        "turns": sorted(filter(is_id, {*found.turns, *only} - known.keys())),
        "segments": [
            one.after.data["segment_id"] for one in more if "segment_id" in one.after.data
        ],
        "doubtful": [{"id": line.id, "text": line.text} for line in lines],
        "only": only,
    }
    details: dict[str, Any] = {**entry.details, "resting": resting}
    return entry.model_copy(update={"changes": (*entry.changes, *more), "details": details})


def _asked_about(found: Matches, room: int) -> list[Line]:
    """Return the doubtful lines that a judge can be asked about; the other lines count as sure."""
    for near, line in found.doubtful[room:]:
        if line.text:
            found.memories.setdefault(line.id, []).append(line.text)
        elif near:
            found.turns.add(line.id)
    return [line for _, line in found.doubtful[:room]]


async def _add_episodes(
    found: Matches, only: dict[str, list[int]], known: Mapping[str, Memory], journal: Journal
) -> None:
    """Add the episodes written from hidden turns, if they can be written again.

    An episode whose raw turns have expired cannot: it is kept, unless its own text tells the
    memory.
    """
    hidden = sorted(filter(is_id, {*found.turns, *only} - known.keys()))
    for segment in await Sessions(journal).segments_with(hidden):
        id = segment.episode_id
        if id is None or segment.expunged or id not in known or id in found.memories:
            continue
        if found.turns.isdisjoint(segment.turn_ids):
            places = [place for turn in segment.turn_ids for place in only.get(turn, ())]
            only[id] = sorted({*only.get(id, ()), *places})
        else:
            found.memories[id] = []
            only.pop(id, None)


def _only_for(lines: Sequence[Line], found: Matches) -> dict[str, list[int]]:
    """Return the ids of records hidden only for doubtful lines, each with the lines' indexes."""
    only: dict[str, list[int]] = defaultdict(list)
    for place, line in enumerate(lines):
        if line.id not in found.memories and line.id not in found.turns:
            only[line.id].append(place)
    return only


def _texts_by_id(found: Matches, lines: Sequence[Line]) -> dict[str, list[str]]:
    texts = {id: list(sure) for id, sure in found.memories.items()}
    for line in lines:
        if line.text:
            texts.setdefault(line.id, []).append(line.text)
    return texts


def ids_to_show_again(entry: LedgerEntry, tells: Sequence[bool]) -> tuple[str, ...]:
    """Return the ids of records to show again, as none of their doubtful lines tells the memory.

    `tells` says for each doubtful line whether it tells a forgotten memory.
    """
    only = entry.details["resting"]["only"]
    return tuple(id for id, places in only.items() if not any(tells[place] for place in places))


def doubts_of(entry: LedgerEntry) -> list[Line]:
    """Return the doubtful lines of an entry that a judge has not answered yet."""
    resting = entry.details.get("resting") or {}
    in_force = entry.refused is None and entry.undone_by is None
    return [Line(**one) for one in resting.get("doubtful", ())] if in_force else []


def show_again(entry: LedgerEntry, ids: Iterable[str]) -> LedgerEntry:
    """Return an entry that no longer hides these records, without any doubtful lines.

    Its changes stay, as the ledger records what was done; undoing it leaves these records alone.
    """
    gone, resting = set(ids), entry.details["resting"]
    left = (change for change in entry.changes if change.after.id not in gone)
    segments = {change.after.data.get("segment_id") for change in left}
    kept = {
        "turns": [id for id in resting["turns"] if id not in gone],
        "segments": [id for id in resting["segments"] if id in segments],
        "spared": sorted(gone),
    }
    return entry.model_copy(update={"details": {**entry.details, "resting": kept}})


def ids_shown_again(entry: LedgerEntry) -> frozenset[str]:
    """Return the ids of records that an entry hid in doubt and that are shown again."""
    return frozenset((entry.details.get("resting") or {}).get("spared", ()))


def allow_again(portrait: Memory, lines: Iterable[str]) -> Memory:
    """Return a withdrawn portrait whose next version may repeat these lines."""
    without, meant = portrait.data.get("without", []), set(lines)
    if meant.isdisjoint(without):
        return portrait
    left = [text for text in without if text not in meant]
    return portrait.model_copy(update={"data": {**portrait.data, "without": left}})


@dataclass(frozen=True)
class Hidden:
    """The ids of the records that are hidden because a user asked to forget something."""

    memories: frozenset[str] = frozenset()
    turns: frozenset[str] = frozenset()

    def without_hidden(self, points: Iterable[Point]) -> list[Point]:
        """Return records for a copy that leaves the store, without the words of hidden records.

        >>> hidden = {"type": "turn", "id": "t", "user": "I did", "assistant": "ok"}
        >>> (left,) = Hidden(turns=frozenset({"t"})).without_hidden([Point("t", hidden)])
        >>> left.payload["user"], left.payload["expunged"]
        ('', True)
        """
        return [Point(one.id, self._cut(one)) for one in points if not self._is_gone(one)]

    def _is_gone(self, point: Point) -> bool:
        forgotten = point.payload.get("state") == MemoryState.FORGOTTEN
        return forgotten and point.id in self.memories

    def _cut(self, point: Point) -> Payload:
        payload = point.payload
        if payload.get("type") == "turn" and point.id in self.turns:
            judged = {**payload.get("judged", {}), "reason": ""}
            bare = {"user": "", "assistant": "", "error": "", "judged": judged}
            return {**payload, **bare, "expunged": True, "embedded": False}
        if payload.get("type") == "entry" and self._tells(payload):
            kept = [one for one in payload.get("changes", ()) if not self._changed(one)]
            ids = [one["after"]["id"] for one in kept]
            return {**payload, **WORDLESS, "changes": kept, "memory_ids": ids}
        return payload

    def _tells(self, payload: Payload) -> bool:
        of_memory = self.memories.intersection(payload.get("memory_ids", ()))
        return bool(of_memory or self.turns.intersection(payload.get("turn_ids", ())))

    def _changed(self, change: dict[str, Any]) -> bool:
        return change["after"]["id"] in self.memories


async def find_hidden(journal: Journal, user_id: str | None) -> Hidden:
    """Return the records that a user (`None`: any user) has asked to forget. Reads the ledger."""
    memories, turns = set[str](), set[str]()
    entries = Filter((Is("type", "entry"), Is("applied", True), *user_conditions(user_id)))
    async for page in read_pages(journal.collection, entries):
        for payload in (one.payload for one in page):
            resting = dict(payload.get("details") or {}).get("resting")
            if resting and not (payload.get("undone_by") or payload.get("refused")):
                memories |= set(payload.get("memory_ids", ()))
                turns |= set(resting["turns"])
    return Hidden(frozenset(memories), frozenset(turns))
