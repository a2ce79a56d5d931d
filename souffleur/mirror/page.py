"""Pages: a file of entries in sections, and what in it could not be read.

What cannot be read is kept, word for word, in a section of its own that says why.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from souffleur.mirror.entry import Entry, escape, is_heading, parse, render

MEMORY, LEARNINGS = "MEMORY.md", "LEARNINGS.md"
TITLES = {MEMORY: "# Memory", LEARNINGS: "# Learnings"}
ACTIVE, ARCHIVED, ASIDE = "## Active", "## Archived", "## Not taken over"
_SECTIONS = {ACTIVE, f"{ACTIVE} Memories", ARCHIVED, f"{ARCHIVED} Memories", ASIDE}
_OWN_COMMENT = re.compile(r"<!-- (?:Last updated|Total entries|User|souffleur): ?(?P<text>.*?) -->")
_USER = re.compile(r"<!-- User: (?P<user>.*?) -->")
_UPDATED = re.compile(r"<!-- Last updated: .*? -->\n")
_HELD = ("conflict", "refused", "unknown")
"""What stands in place of the kind in a heading that is not tried again until it is changed."""


@dataclass(frozen=True)
class Aside:
    """A piece of a file that is not taken over."""

    text: str
    """Word for word."""
    why: str


@dataclass(frozen=True)
class Page:
    """What stands in a file."""

    entries: tuple[Entry, ...] = ()
    aside: tuple[Aside, ...] = ()
    user: str = field(default="", compare=False)
    """Whose it is, as its head says; empty if it does not."""


def held(entry: Entry, word: str, why: str) -> Aside:
    """Return an entry that is kept in the file, and not tried again until its heading changes."""
    short = f"[{entry.id[:8]}] " if entry.id else ""
    return Aside(f"### {short}{word} {entry.kind}\n{escape(entry.content)}", why)


def render_page(name: str, user: str, page: Page, now: datetime) -> str:
    """Return the text of a file; entries come as they are, those of each section together."""
    parts = [
        TITLES[name],
        f"<!-- Last updated: {now.isoformat(timespec='seconds')} -->\n"
        f"<!-- Total entries: {len(page.entries)} -->\n<!-- User: {_one_line(user)} -->",
        ACTIVE,
        *(render(one) for one in page.entries if not one.archived),
        ARCHIVED,
        *(render(one) for one in page.entries if one.archived),
    ]
    if page.aside:
        parts += [ASIDE, *(f"<!-- souffleur: {_one_line(a.why)} -->\n{a.text}" for a in page.aside)]
    return "\n\n".join(parts) + "\n"


def without_time(text: str) -> str:
    """Return the text of a file without the time at which it was written."""
    return _UPDATED.sub("", text, count=1)


def user_line(user: str) -> str:
    """Return a user id as the head of a file has it."""
    return _one_line(user)


def parse_page(text: str) -> Page:
    """Return what stands in a file; nothing in it is an error."""
    lines = text.removeprefix("\ufeff").replace("\r\n", "\n").split("\n")
    named = next((found["user"] for line in lines[:8] if (found := _USER.fullmatch(line))), "")
    entries: list[Entry] = []
    aside: list[Aside] = []
    for section, why, piece in _pieces(lines):
        read = _read(piece, archived=section.startswith(ARCHIVED), why=why)
        if isinstance(read, Entry):
            entries.append(read)
        elif read:
            aside.append(read)
    return Page(tuple(entries), tuple(aside), named)


def _pieces(lines: Sequence[str]) -> Iterator[tuple[str, str, list[str]]]:
    """Yield the pieces of a file: an entry or loose text, its section, and why it was set aside."""
    section, why, piece = "", "", list[str]()
    for line in lines:
        own = _OWN_COMMENT.fullmatch(line.rstrip())
        title = line.rstrip() in _SECTIONS or (not section and line.rstrip() in TITLES.values())
        starts = is_heading(line)
        if piece and (own or title or starts):
            yield section, why, piece
            why, piece = "", []
        if own:
            why = own["text"]
        elif title:
            section = line.rstrip()
        elif starts or piece or line.strip():
            piece.append(line)
    yield section, why, piece


def _read(piece: Sequence[str], *, archived: bool, why: str) -> Entry | Aside | None:
    text = "\n".join(piece).strip("\n")
    if not text.strip():
        return None
    if not is_heading(piece[0]):
        return Aside(text, "text outside of an entry: write a line '### fact' above it")
    words = piece[0].lower().split("|")[0].replace("]", " ").split()
    if why and len(words) > 1 and any(word in words for word in _HELD):
        return Aside(text, why)
    try:
        return parse(piece[0].rstrip(), "\n".join(piece[1:]), archived=archived)
    except ValueError as error:
        return Aside(text, str(error))


def _one_line(text: str) -> str:
    return " ".join(text.split()).replace("--", "\u2010\u2010")
