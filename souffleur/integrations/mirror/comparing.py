"""Comparing: what a person changed in the files, beside what changed in the store meanwhile.

An entry's mark says which words were last written. So whoever changed it since is known, and where
both did, the store's words stand and the hand's are kept in the file, set aside.
"""

from collections.abc import Mapping, Set as AbstractSet
from dataclasses import dataclass, replace

from souffleur.integrations.mirror.files import Last, Written
from souffleur.integrations.mirror.markdown import Aside, Entry, Page, held, mark_of
from souffleur.knowledge.memory import Memory, MemoryState

_BOTH = (
    "the memory was changed otherwise meanwhile: change its entry above, or take the word "
    "`conflict` away to keep these words as a memory of their own"
)
_GONE = (
    "the memory was forgotten or replaced meanwhile: take the word `conflict` away to keep these "
    "words as a memory of their own"
)
_UNKNOWN = (
    "no memory has its id, which is another store's or another user's: take the word `unknown` "
    "away to add these words as a memory"
)
_ARCHIVING = "an entry that is moved to Archived stays active: delete it to forget it"


@dataclass(frozen=True)
class Wishes:
    """What a person wants changed, as the files say."""

    edits: tuple[Entry, ...] = ()
    """Other words for memories that there are."""
    adds: tuple[Entry, ...] = ()
    """Entries without a memory."""
    removals: tuple[str, ...] = ()
    """The ids of memories whose entries are gone."""
    restores: tuple[str, ...] = ()
    """The ids of archived memories whose entries were moved to the active ones."""
    aside: tuple[Aside, ...] = ()
    """What is kept in a file and not taken over."""
    remarks: tuple[str, ...] = ()
    """What else the person should know."""


def compare(
    pages: Mapping[str, Page],
    known: Mapping[str, Memory],
    written: Written,
    ours: AbstractSet[str] | None = None,
) -> dict[str, Wishes]:
    """Return the wishes of each file that there is.

    `known` are the memories that files show, by their ids; `written` is what was last written.
    Entries with other ids than `ours`, those that the store or the files have had, are set aside;
    `None` means that there are none.
    """
    anywhere: dict[str, Entry] = {}
    for page in pages.values():
        for entry in page.entries:
            id = find_id(entry, known)
            if id not in anywhere or anywhere[id].is_changed:
                anywhere[id] = entry  # of copies, the one left as it was is the memory's own
    return {
        name: _without_strangers(
            _wishes(page, anywhere, known, written.get(name, {})), page, known, ours
        )
        for name, page in pages.items()
    }


def find_id(entry: Entry, known: Mapping[str, Memory]) -> str:
    """Return the whole id of an entry's memory; empty if it has none."""
    if len(entry.id) == 36:
        return entry.id
    found = [id for id in known if entry.id and id.startswith(entry.id.lower())]
    return found[0] if len(found) == 1 else ""


def _wishes(
    page: Page, anywhere: Mapping[str, Entry], known: Mapping[str, Memory], last: Mapping[str, Last]
) -> Wishes:
    edits, adds, aside = list[Entry](), list[Entry](), list(page.aside)
    for entry in page.entries:
        id = find_id(entry, known)
        if not id or (anywhere[id] is not entry and entry.is_changed):
            adds.append(entry)
        elif id not in known:
            if not entry.mark:
                adds.append(entry)
            elif entry.is_changed:
                aside.append(held(entry, "conflict", _GONE))
        elif _is_edited(entry, known[id]):
            if (entry.mark or _mark(last, known[id])) == mark_of(known[id].content):
                edits.append(entry)
            else:
                aside.append(held(entry, "conflict", _BOTH))
    moved = [id for id, one in anywhere.items() if id in last and last[id].archived != one.archived]
    archived = {id for id in moved if anywhere[id].archived}
    return Wishes(
        edits=tuple(edits),
        adds=tuple(adds),
        removals=_removals(anywhere, known, last),
        restores=tuple(id for id in moved if id not in archived and _is_archived(known.get(id))),
        aside=tuple(aside),
        remarks=(_ARCHIVING,) if archived else (),
    )


def _without_strangers(
    wishes: Wishes, page: Page, known: Mapping[str, Memory], ours: AbstractSet[str] | None
) -> Wishes:
    """Return the wishes of a file with what it has from another store or user set aside."""
    strange = [
        held(one, "unknown", _UNKNOWN)
        for one in page.entries
        if ours is not None and one.mark and not one.is_changed and find_id(one, known) not in ours
    ]
    return replace(wishes, aside=(*wishes.aside, *strange))


def _is_edited(entry: Entry, memory: Memory) -> bool:
    return entry.is_changed and entry.content != memory.content


def _mark(last: Mapping[str, Last], memory: Memory) -> str:
    """Return the mark that an entry had before its comment was lost."""
    return last[memory.id].mark if memory.id in last else mark_of(memory.content)


def _is_archived(memory: Memory | None) -> bool:
    return memory is not None and memory.state is MemoryState.ARCHIVED


def _removals(
    anywhere: Mapping[str, Entry], known: Mapping[str, Memory], last: Mapping[str, Last]
) -> tuple[str, ...]:
    """Return the ids of memories whose entries are gone, but not of those that changed since."""
    return tuple(
        id
        for id, then in last.items()
        if id not in anywhere and id in known and mark_of(known[id].content) == then.mark
    )
