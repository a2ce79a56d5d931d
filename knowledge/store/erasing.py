"""Erasing for good: a user, a turn with its memories, or memories that were forgotten long ago.

Erased records cannot be restored. Callers must ensure that no other task changes the user's records
meanwhile. After a crash, the same call finishes the work.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from souffleur.errors import NotFoundError
from souffleur.knowledge.forgetting.likeness import has_rare_words
from souffleur.knowledge.forgetting.request import lines_of, unshared
from souffleur.knowledge.forgetting.subject import Subject, SubjectFinder
from souffleur.knowledge.identity import check_id, user_conditions
from souffleur.knowledge.memory import NARRATIVE, Category, Memory, MemoryState
from souffleur.knowledge.operation import WORDLESS, Change, LedgerEntry
from souffleur.knowledge.people import preferences_id, preferences_point, what_is_off
from souffleur.knowledge.store.codecs import kind_of, to_memories
from souffleur.knowledge.store.engine.collection import (
    Between,
    Collection,
    Filter,
    Is,
    Point,
    read_all,
    read_pages,
)
from souffleur.knowledge.store.introductions import Choices
from souffleur.knowledge.store.ledger import Journal
from souffleur.knowledge.store.sessions import Sessions
from souffleur.knowledge.turn import Turn
from souffleur.knowledge.undo import rests_elsewhere

if TYPE_CHECKING:
    from souffleur.knowledge.knowledge_base import KnowledgeBase

TOMBSTONE_KEPT_FOR = timedelta(days=365)
"""The time for which a forgotten memory can be restored, and ledger entries keep their words."""


@dataclass(frozen=True)
class Erased:
    """The numbers of erased records, without words."""

    user_id: str
    """The user of the records."""
    counts: dict[str, int]
    """The number of records by kind: memory, episode, portrait, turn, entry, …"""
    remarks: tuple[str, ...] = ()
    """Where deleted bytes stay, and until when; empty if no file of the store has them."""


async def erase_user(memories: Collection, journal: Journal, user_id: str) -> Erased:
    """Delete all records of a user: memories, ledger, turns, introduction, runs only for the user.

    Functions that the user has switched off stay off: only this preference is kept. Raises
    NotFoundError if there are no other records.
    """
    of_user = Filter((Is("user_id", check_id(user_id)),))
    choices = Choices(journal)
    left = what_is_off(await choices.find(user_id))
    counts: Counter[str] = Counter()
    # The ledger is deleted first, so that after a crash no verdict is applied again.
    for collection in (journal.collection, memories):
        found = await read_all(collection, of_user)
        if collection is journal.collection:
            found += await runs_for(journal, user_id)
        gone = [point for point in found if not (left and point.id == preferences_id(user_id))]
        counts.update(_kind(collection, point) for point in gone)
        await collection.delete([point.id for point in gone])
    if left:
        await journal.collection.put([preferences_point(left)])
    if not counts:
        raise NotFoundError(
            f"nothing is known of {user_id!r}: `souffleur user list` lists who is known"
        )
    return Erased(user_id, dict(sorted(counts.items())))


async def find_turn(journal: Journal, turn_id: str, user_id: str) -> Turn:
    """Return a turn of a user by the store's id or the host's id. Raises NotFoundError."""
    of_user = Filter((Is("type", "turn"), Is("user_id", check_id(user_id))))
    async for page in read_pages(journal.collection, of_user):
        for point in page:
            if turn_id in (point.id, point.payload.get("turn_id")):
                return await journal.turn(point.id)
    raise NotFoundError(f"{user_id!r} has no turn with the id {turn_id!r}")


async def erase_turn(
    memories: Collection, journal: Journal, turn: Turn, called: Sequence[str] = ()
) -> Erased:
    """Erase the words of a turn everywhere, and the memories whose only source is this turn.

    Episodes from this turn are deleted, and written again from the other turns that still have
    their words. A record without words stays, so the turn does not return if the host sends it
    again. `called` are the names of the user and the persona.
    """
    sessions = Sessions(journal)
    mine = to_memories(await read_all(memories, Filter((Is("user_id", turn.user_id),))))
    episodes = {one.episode_id for one in await sessions.segments_with([turn.id])}
    alone = await _resting_on(turn, mine, journal)
    gone = [one for one in mine if one.id in alone | episodes]
    gone += _repeating(turn, gone, mine, called)
    ids = {one.id for one in gone}
    counts = Counter({"turn": 1, **Counter(_named(one.category) for one in gone)})
    counts["quote"] = await _strip_memories(memories, mine, turn, ids)
    counts["entry"] = await _empty_entries(journal, turn, mine, ids)
    for sphere in {one.sphere for one in gone if one.category is Category.PROFILE}:
        status = await sessions.portrait_status(turn.user_id, sphere)
        await sessions.save_portrait_status(status.model_copy(update={"big": True}))
    await sessions.erase(turn)
    await memories.delete(sorted(ids))
    return Erased(turn.user_id, {kind: number for kind, number in sorted(counts.items()) if number})


async def runs_for(journal: Journal, user_id: str) -> list[Point]:
    """Return the records of runs that were only for this user."""
    runs = await read_all(journal.collection, Filter((Is("type", "run"),)))
    return [run for run in runs if run.payload.get("of_user") == user_id]


async def _resting_on(turn: Turn, mine: Iterable[Memory], journal: Journal) -> set[str]:
    """Return the ids of the memories that have no other source than this turn."""
    entries = await journal.entries(turn.user_id, turn_id=turn.id)
    made = {
        change.after.id
        for entry in entries
        if entry.turn_ids == (turn.id,)
        for change in entry.changes
        if change.before is None
    }
    return {
        one.id
        for one in mine
        if (one.evidence and all(item.turn_id == turn.id for item in one.evidence))
        or (not one.evidence and one.id in made)
    }


def _repeating(
    turn: Turn, gone: Sequence[Memory], mine: Sequence[Memory], called: Sequence[str]
) -> list[Memory]:
    """Return the episodes, portraits and merged memories that repeat the erased words."""
    ids = {one.id for one in gone}
    told = [one for one in gone if one.category not in NARRATIVE]
    own = unshared(
        (name for one in told for name in one.entities if name not in called),
        (one for one in mine if one.id not in ids),
    )
    texts = [*(one.content for one in told), *_said(turn)]
    reader = SubjectFinder(Subject(names=own, contents=tuple(texts), called=tuple(called)))
    return [
        one
        for one in mine
        if one.id not in ids
        and (one.category in NARRATIVE or ids & set(one.supersedes))
        and any(map(reader.finds, (one.searchable, *lines_of(one))))
    ]


def _said(turn: Turn) -> list[str]:
    """Return the messages of a turn that contain rare words; a greeting would match everywhere."""
    return [text for text in (turn.user, turn.assistant) if has_rare_words(text)]


async def _strip_memories(
    memories: Collection, mine: Iterable[Memory], turn: Turn, ids: set[str]
) -> int:
    """Delete the turn's quotes from the memories that stay; return the number of these memories."""
    quoting = [one for one in mine if one.id not in ids and _quotes(one, turn)]
    for one in quoting:
        kept = [item.model_dump(mode="json") for item in _without(one, turn).evidence]
        await memories.merge_payload([one.id], {"evidence": kept})
    return len(quoting)


async def _empty_entries(
    journal: Journal, turn: Turn, mine: Iterable[Memory], ids: set[str]
) -> int:
    """Erase the words of the turn and of these memories in the ledger; return the entries' number.

    The entries keep their actors, ops and times.
    """
    reader = SubjectFinder(Subject(contents=tuple(_said(turn))))
    touched = ids | {one.id for one in mine if _quotes(one, turn)}
    found = {one.id: one for one in await journal.entries(turn.user_id, turn_id=turn.id)}
    for memory_id in sorted(touched):
        entries = await journal.entries(turn.user_id, memory_id=memory_id)
        found |= {entry.id: entry for entry in entries}
    beside = {id for entry in found.values() for id in entry.turn_ids if id != turn.id}
    others = {one.id: one for one in await journal.get_turns(sorted(beside))}
    for entry in found.values():
        rest = [others[id] for id in entry.turn_ids if id in others]
        of_turn = turn.id in entry.turn_ids and not rests_elsewhere(entry, turn.id, rest)
        if of_turn or ids & set(entry.memory_ids):
            left = entry.emptied(ids).model_copy(update={"waits": False})
        else:
            left = _cut(entry, reader)
        await journal.rewrite(_stripped(left, turn))
    for one in others.values():  # turns judged together share a reason
        if one.judged.get("reason") and reader.finds_or_may_find(str(one.judged["reason"])):
            await journal.mark([one], judged={**one.judged, "reason": ""})
    return len(found)


def _cut(entry: LedgerEntry, reader: SubjectFinder) -> LedgerEntry:
    """Return an entry that also has other source turns, without reasons that repeat this turn."""
    reasons = {name: getattr(entry, name) for name in ("reason", "detail")}
    left = {name: "" if reader.finds_or_may_find(text) else text for name, text in reasons.items()}
    details = reader.cut_any(entry.details)
    return entry.model_copy(update={**left, "details": details})


def _stripped(entry: LedgerEntry, turn: Turn) -> LedgerEntry:
    """Return the entry without the turn's quotes in its memories."""
    changes = tuple(
        Change(
            before=change.before and _without(change.before, turn),
            after=_without(change.after, turn),
        )
        for change in entry.changes
    )
    return entry.model_copy(update={"changes": changes})


def _quotes(memory: Memory, turn: Turn) -> bool:
    return any(item.turn_id == turn.id for item in memory.evidence)


def _without(memory: Memory, turn: Turn) -> Memory:
    kept = tuple(item for item in memory.evidence if item.turn_id != turn.id)
    return memory.model_copy(update={"evidence": kept})


def _named(category: object) -> str:
    """Return the kind of a memory of a category.

    >>> _named("profile"), _named(Category.SKILL)
    ('portrait', 'memory')
    """
    names: dict[object, str] = {Category.EPISODE: "episode", Category.PROFILE: "portrait"}
    return names.get(category, "memory")


def _kind(collection: Collection, point: Point) -> str:
    if collection.schema.name == "memories":
        return _named(point.payload.get("category"))
    return kind_of(collection.schema.name, point.payload)


async def find_purgeable(
    knowledge: "KnowledgeBase", now: datetime, *, user_id: str | None = None
) -> list[Memory]:
    """Return the memories that were forgotten over a year ago, oldest first.

    It skips memories that have changed since.
    """
    late = (
        Is("state", MemoryState.FORGOTTEN),
        Between("created_at", high=now - TOMBSTONE_KEPT_FOR),
    )
    found = to_memories(
        await read_all(knowledge.memories, Filter((*late, *user_conditions(user_id))))
    )
    over = [memory for memory in found if memory.updated_at < now - TOMBSTONE_KEPT_FOR]
    return sorted(over, key=lambda memory: (memory.updated_at, memory.id))


async def purge(knowledge: "KnowledgeBase", memory: Memory) -> list[str]:
    """Erase a forgotten memory and the earlier versions it replaced; return the erased ids.

    Their ledger entries keep actors, ops and times, without any words. The call is idempotent and
    cannot be undone. Raises ValueError if the memory is not forgotten.
    """
    if memory.state is not MemoryState.FORGOTTEN:
        raise ValueError(f"memory {memory.id} is {memory.state}: only what is forgotten is purged")
    gone = await _with_earlier(knowledge, memory)
    ids = [one.id for one in gone]
    for one in gone:
        for entry in await knowledge.journal.entries(one.user_id, memory_id=one.id):
            await knowledge.journal.rewrite(entry.emptied(ids))
    # The memory itself is deleted last: after a crash, it still names its earlier versions.
    await knowledge.memories.delete(ids[::-1])
    return ids


async def purge_idle(
    knowledge: "KnowledgeBase", now: datetime, *, user_id: str | None = None
) -> int:
    """Erase the words of entries over a year old that changed no memory; return their number."""
    return await knowledge.journal.drop_words(now - TOMBSTONE_KEPT_FOR, WORDLESS, user_id)


async def _with_earlier(knowledge: "KnowledgeBase", memory: Memory) -> list[Memory]:
    """Return a memory and the inactive earlier versions that it replaced."""
    found, names = [memory], list(memory.supersedes)
    while names:
        points = await knowledge.memories.get(names)
        earlier = to_memories(points)
        dead = [one for one in earlier if one.state is not MemoryState.ACTIVE and one not in found]
        found += dead
        names = [name for one in dead for name in one.supersedes]
    return found
