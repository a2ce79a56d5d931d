"""Entries: one memory as Markdown, and back.

    ### [a1b2c3d4] preference | 0.92 | 2026-02-20 | 12 <!-- a1b2c3d4-… 9f86d081884c -->
    Ann likes short answers.

The heading has the beginning of the id, the kind, the value now, the day of its last use and the
number of uses. Its comment, which is not shown, has the whole id and a digest of the words as they
were written: other words under the same digest were changed by hand.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from hashlib import sha256

from souffleur.knowledge.memory import Kind

NEW = "new"
"""What stands in place of an id in an entry written by hand; nothing does as well."""

_HEADING = re.compile(
    r" {0,3}#{1,6}(?!#)\s*(?:\[(?P<short>[^\]]*)\])?(?P<rest>.*?)"
    r"(?:<!--\s*(?P<id>[0-9a-f-]{36})(?:\s+(?P<mark>[0-9a-f]{12}))?\s*-->)?\s*"
)
_KINDS = ", ".join(Kind)

# Editors trim lines, and take some characters for the end of a line.
_DELICATE = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f\x85\u2028\u2029\ufeff]|[^\S\n](?=\n|\Z)|&(?=(?:amp;)*#x[0-9a-f]+;)"
)
_ENCODED = re.compile(r"&amp;(?=(?:amp;)*#x[0-9a-f]+;)|&#x(?P<code>[0-9a-f]{1,6});")
_BEGINS = r"(?: {0,3}#|<!--|[<|>]{7}(?:\s|$))"
_STRUCTURE = re.compile(rf"^(?=\\*{_BEGINS})", re.MULTILINE)
_ESCAPED = re.compile(rf"^\\(?=\\*{_BEGINS})", re.MULTILINE)


@dataclass(frozen=True)
class Entry:
    """One memory as it stands in a file."""

    content: str
    kind: Kind
    id: str = ""
    """The whole id, or its beginning if the comment is gone; empty if it was written by hand."""
    value: float = 0.0
    """What it is worth now."""
    used_on: date | None = None
    """The day on which it was last used or learned, in UTC."""
    uses: int = 0
    mark: str = ""
    """The digest of its words when they were last written; empty if that is not known."""
    archived: bool = False

    @property
    def is_changed(self) -> bool:
        """Whether its words are other ones than were last written."""
        return self.mark != mark_of(self.content)


def mark_of(content: str) -> str:
    """Return the digest of words."""
    return sha256(content.encode("utf-8", "surrogatepass")).hexdigest()[:12]


def is_heading(line: str) -> bool:
    """Return whether an entry begins with this line.

    With its comment it does at any level, and up to three spaces in, as in Markdown: such a line in
    the words has a backslash before it.
    """
    if line.startswith("###") and not line.startswith("####"):
        return True
    found = _HEADING.fullmatch(line)
    return found is not None and found["mark"] is not None


def render(entry: Entry) -> str:
    """Return an entry as Markdown, without an empty line at its end."""
    day = entry.used_on.isoformat() if entry.used_on else ""
    heading = f"### [{entry.id[:8]}] {entry.kind} | {entry.value:.2f} | {day} | {entry.uses}"
    return f"{heading} <!-- {entry.id} {mark_of(entry.content)} -->\n{escape(entry.content)}"


def parse(heading: str, body: str, *, archived: bool = False) -> Entry:
    """Return the entry of a heading and the lines below it. Raises ValueError, which says why.

    A heading with its comment may have any kind: the memory that it names has its own.

    >>> parse("### fact", "Ann has a dog.").content
    'Ann has a dog.'
    """
    found = _HEADING.fullmatch(heading)
    if found is None:
        raise ValueError("the heading is not of the form '### [id] kind'")
    word, *rest = (part.strip() for part in found["rest"].split("|"))
    known = word.lower() in list(Kind)
    if not known and not found["mark"]:
        raise ValueError(f"{word!r} is no kind of memory: write one of {_KINDS}")
    content = unescape(body).strip()
    if not content:
        raise ValueError("there are no words below the heading")
    short = (found["short"] or "").strip()
    value, day, uses = [*rest, "", "", ""][:3]
    return Entry(
        content,
        Kind(word.lower()) if known else Kind.FACT,
        id=found["id"] or ("" if short.lower() == NEW else short),
        value=float(value) if re.fullmatch(r"\d+(\.\d+)?", value) else 0.0,
        used_on=_day(day),
        uses=int(uses) if re.fullmatch(r"\d{1,9}", uses) else 0,
        mark=found["mark"] or "",
        archived=archived,
    )


def escape(content: str) -> str:
    r"""Return words so that no line of them is a heading or a comment, and no editor changes them.

    >>> print(escape("one\n### two\n<!-- three"))
    one
    \### two
    \<!-- three
    """
    safe = _DELICATE.sub(_encode, content)
    return _STRUCTURE.sub(r"\\", safe)


def unescape(text: str) -> str:
    r"""Return the words of what `escape` returned.

    >>> unescape(escape("\\# &#xd; &amp;#xd; \r")) == "\\# &#xd; &amp;#xd; \r"
    True
    """
    return _ENCODED.sub(_decode, _ESCAPED.sub("", text))


def _encode(found: re.Match[str]) -> str:
    return "&amp;" if found[0] == "&" else f"&#x{ord(found[0]):x};"


def _decode(found: re.Match[str]) -> str:
    if found["code"] is None:
        return "&"
    code = int(found["code"], 16)
    return chr(code) if code <= 0x10FFFF and not 0xD800 <= code <= 0xDFFF else found[0]


def _day(text: str) -> date | None:
    try:
        return date.fromisoformat(text)
    except ValueError:
        return None


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
