"""Changes of a mirror: what a person changed in the files, compared with the store.

The mark of an entry is a digest of the words that were written last. Where file and store both
differ from it, the store's words stay, and the file's words are kept in the file as rejected.
"""

import re
from collections.abc import Mapping, Set as AbstractSet
from dataclasses import dataclass, replace
from pathlib import Path

from souffleur.errors import FileError
from souffleur.integrations.mirror.files import Written, WrittenEntry
from souffleur.integrations.mirror.markdown import Entry, Page, Rejected, mark_of, reject
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
_MERGE_MARKER = re.compile(r"(?:<{7}|>{7}|\|{7})(?:\s|$)")
"""The beginning of the lines that git writes where two versions differ."""
MAX_REMOVALS = 5
"""Maximum number of entries that may be missing at once, if they are more than half."""


@dataclass(frozen=True)
class Changes:
    """The changes that a person made in one file."""

    edits: tuple[Entry, ...] = ()
    """Entries with new words for stored memories."""
    adds: tuple[Entry, ...] = ()
    """Entries without a memory."""
    removals: tuple[str, ...] = ()
    """The ids of memories whose entries were deleted."""
    restores: tuple[str, ...] = ()
    """The ids of archived memories whose entries were moved to the active ones."""
    rejected: tuple[Rejected, ...] = ()
    remarks: tuple[str, ...] = ()
    """Sentences for the person about other changes."""


def find_changes(
    pages: Mapping[str, Page],
    known: Mapping[str, Memory],
    written: Written,
    ours: AbstractSet[str] | None = None,
) -> dict[str, Changes]:
    """Return the changes in each file.

    `known` has the memories that files show, by id; `written` the entries of the last write.
    Entries with ids that are not in `ours` are rejected; `None` accepts all ids.
    """
    entries: dict[str, Entry] = {}
    for page in pages.values():
        for entry in page.entries:
            id = find_id(entry, known)
            if id not in entries or entries[id].is_changed:
                entries[id] = entry  # of copies, the unchanged entry is that of the memory
    found: dict[str, Changes] = {}
    for name, page in pages.items():
        changes = _changes(page, entries, known, written.get(name, {}))
        foreign = [
            reject(one, "unknown", _UNKNOWN)
            for one in page.entries
            if ours is not None
            and one.mark
            and not one.is_changed
            and find_id(one, known) not in ours
        ]
        found[name] = replace(changes, rejected=(*changes.rejected, *foreign))
    return found


def find_id(entry: Entry, known: Mapping[str, Memory]) -> str:
    """Return the whole id of an entry's memory; empty if it has none."""
    if len(entry.id) == 36:
        return entry.id
    found = [id for id in known if entry.id and id.startswith(entry.id.lower())]
    return found[0] if len(found) == 1 else ""


def _changes(
    page: Page,
    entries: Mapping[str, Entry],
    known: Mapping[str, Memory],
    last: Mapping[str, WrittenEntry],
) -> Changes:
    edits, adds, rejected = list[Entry](), list[Entry](), list(page.rejected)
    for entry in page.entries:
        id = find_id(entry, known)
        if not id or (entries[id] is not entry and entry.is_changed):
            adds.append(entry)
        elif id not in known:
            if not entry.mark:
                adds.append(entry)
            elif entry.is_changed:
                rejected.append(reject(entry, "conflict", _GONE))
        elif entry.is_changed and entry.content != known[id].content:
            stored = mark_of(known[id].content)
            lost = last[id].mark if id in last else stored  # if the comment was deleted
            if (entry.mark or lost) == stored:
                edits.append(entry)
            else:
                rejected.append(reject(entry, "conflict", _BOTH))
    moved = [id for id, one in entries.items() if id in last and last[id].archived != one.archived]
    archived = {id for id in moved if entries[id].archived}
    return Changes(
        edits=tuple(edits),
        adds=tuple(adds),
        removals=tuple(
            id
            for id, then in last.items()  # words that changed in the store since are not removed
            if id not in entries and id in known and mark_of(known[id].content) == then.mark
        ),
        restores=tuple(
            id
            for id in moved
            if id not in archived and id in known and known[id].state is MemoryState.ARCHIVED
        ),
        rejected=tuple(rejected),
        remarks=(_ARCHIVING,) if archived else (),
    )


def check_merged(texts: Mapping[str, str | None], folder: Path) -> None:
    """Raise FileError if a file has markers of an unfinished merge."""
    for name, text in texts.items():
        for number, line in enumerate((text or "").split("\n"), 1):
            if _MERGE_MARKER.match(line):
                raise FileError(
                    f"'{folder / name}' has a marker of a merge conflict in line {number}: decide "
                    "between the versions and delete the markers, or, if it belongs to a memory, "
                    "put a backslash before it. Nothing was changed."
                )


def check_removals(changes: Mapping[str, Changes], pages: Mapping[str, Page]) -> None:
    """Raise FileError if so many entries of a file are missing that it is probably a mistake."""
    for name, change in changes.items():
        gone, left = len(change.removals), len(pages[name].entries)
        if gone > max(MAX_REMOVALS, left):
            raise FileError(
                f"{gone} of {gone + left} entries are gone from {name}. If they are to be "
                "forgotten, run `souffleur mirror` with --removals; if not, bring them back: "
                f"{name}.bak has the last version, or delete {name}, and it is written anew."
            )


def check_store(
    pages: Mapping[str, Page], written: Written, stored: AbstractSet[str], folder: Path
) -> None:
    """Raise FileError if the store has no memory that the files show.

    `stored` are the ids of the user's memories in any state. If there are any, up to
    `MAX_REMOVALS` shown memories may have been erased.
    """
    shown = {id for last in written.values() for id in last}
    shown |= {one.id for page in pages.values() for one in page.entries if one.mark}
    if shown.isdisjoint(stored) and len(shown) > (MAX_REMOVALS if stored else 0):
        raise FileError(
            f"the store has none of the {len(shown)} memories that '{folder}' shows: is it another "
            "one (see `souffleur config`)? Nothing was changed. If they were erased, run "
            "`souffleur mirror` with --removals, or delete the files. To take the entries over as "
            "new memories, delete the comments `<!-- … -->` behind their headings, and the file "
            "`.mirror.json`."
        )
