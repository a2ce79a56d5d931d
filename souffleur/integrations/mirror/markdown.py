"""Markdown of a mirror: entries, one for each memory, and the page of a file.

    ### [a1b2c3d4] preference | 0.92 | 2026-02-20 | 12 <!-- a1b2c3d4-… 9f86d081884c -->
    Ann likes short answers.

The heading has the beginning of the id, the kind, the value now, the day of the last use and the
number of uses. Its hidden comment has the whole id and the mark, a digest of the written words: if
the words no longer match the mark, they were changed by hand.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from hashlib import sha256

from souffleur.knowledge.memory import Kind

NEW = "new"
"""The optional id of an entry written by hand."""

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
    """A memory in a file."""

    content: str
    kind: Kind
    id: str = ""
    """The whole id, or its beginning if the comment was deleted; empty if written by hand."""
    value: float = field(default=0.0, compare=False)
    """The effective value now. Like the next two fields, it is written and never read back."""
    used_on: date | None = field(default=None, compare=False)
    """The day of the last use, or of learning, in UTC."""
    uses: int = field(default=0, compare=False)
    mark: str = ""
    """The digest of the words last written; empty if unknown."""
    archived: bool = False

    @property
    def is_changed(self) -> bool:
        """Whether its words were changed by hand."""
        return self.mark != mark_of(self.content)


def mark_of(content: str) -> str:
    """Return the digest of words."""
    return sha256(content.encode("utf-8", "surrogatepass")).hexdigest()[:12]


def is_heading(line: str) -> bool:
    """Return whether an entry begins with this line: `###`, or any heading with its comment."""
    if line.startswith("###") and not line.startswith("####"):
        return True
    found = _HEADING.fullmatch(line)
    return found is not None and found["mark"] is not None


def render(entry: Entry) -> str:
    """Return the Markdown of an entry, without an empty line at its end."""
    day = entry.used_on.isoformat() if entry.used_on else ""
    heading = f"### [{entry.id[:8]}] {entry.kind} | {entry.value:.2f} | {day} | {entry.uses}"
    return f"{heading} <!-- {entry.id} {mark_of(entry.content)} -->\n{escape(entry.content)}"


def parse(heading: str, body: str, *, archived: bool = False) -> Entry:
    """Return the entry of a heading and the lines below it. Raises ValueError with the reason.

    A heading with a comment may have any kind, because its memory has a kind already.

    >>> parse("### fact", "Ann has a dog.").content
    'Ann has a dog.'
    """
    found = _HEADING.fullmatch(heading)
    if found is None:
        raise ValueError("the heading is not of the form '### [id] kind'")
    word = found["rest"].split("|")[0].strip()
    known = word.lower() in list(Kind)
    if not known and not found["mark"]:
        raise ValueError(f"{word!r} is no kind of memory: write one of {_KINDS}")
    content = unescape(body).strip()
    if not content:
        raise ValueError("there are no words below the heading")
    short = (found["short"] or "").strip()
    return Entry(
        content,
        Kind(word.lower()) if known else Kind.FACT,
        id=found["id"] or ("" if short.lower() == NEW else short),
        mark=found["mark"] or "",
        archived=archived,
    )


def escape(content: str) -> str:
    r"""Escape lines that look like headings or comments, and characters that editors change.

    >>> print(escape("one\n### two\n<!-- three"))
    one
    \### two
    \<!-- three
    """
    safe = _DELICATE.sub(_encode, content)
    return _STRUCTURE.sub(r"\\", safe)


def unescape(text: str) -> str:
    r"""Return the words that `escape` was given.

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


MEMORY, LEARNINGS = "MEMORY.md", "LEARNINGS.md"
TITLES = {MEMORY: "# Memory", LEARNINGS: "# Learnings"}
ACTIVE, ARCHIVED, REJECTED = "## Active", "## Archived", "## Not taken over"
_SECTIONS = {ACTIVE, f"{ACTIVE} Memories", ARCHIVED, f"{ARCHIVED} Memories", REJECTED}
_OWN_COMMENT = re.compile(r"<!-- (?:Last updated|Total entries|User|souffleur): ?(?P<text>.*?) -->")
_USER = re.compile(r"<!-- User: (?P<user>.*?) -->")
_UPDATED = re.compile(r"<!-- Last updated: .*? -->\n")
_REJECTED = ("conflict", "refused", "unknown")
"""Words before the kind in the heading of a rejected entry; with one it is not tried again."""


@dataclass(frozen=True)
class Rejected:
    """A piece of a file that was not taken over, word for word, and the reason."""

    text: str
    why: str


@dataclass(frozen=True)
class Page:
    """The content of a file."""

    entries: tuple[Entry, ...] = ()
    rejected: tuple[Rejected, ...] = ()
    user: str = field(default="", compare=False)
    """The user named in the head; empty without a user."""


def reject(entry: Entry, word: str, why: str) -> Rejected:
    """Reject an entry: it is kept in the file, and not tried again until its heading changes."""
    short = f"[{entry.id[:8]}] " if entry.id else ""
    return Rejected(f"### {short}{word} {entry.kind}\n{escape(entry.content)}", why)


def render_page(name: str, user: str, page: Page, now: datetime) -> str:
    """Return the text of a file, its entries by section in the given order."""
    parts = [
        TITLES[name],
        f"<!-- Last updated: {now.isoformat(timespec='seconds')} -->\n"
        f"<!-- Total entries: {len(page.entries)} -->\n<!-- User: {one_line(user)} -->",
        ACTIVE,
        *(render(one) for one in page.entries if not one.archived),
        ARCHIVED,
        *(render(one) for one in page.entries if one.archived),
    ]
    if page.rejected:
        parts += [
            REJECTED,
            *(f"<!-- souffleur: {one_line(one.why)} -->\n{one.text}" for one in page.rejected),
        ]
    return "\n\n".join(parts) + "\n"


def without_time(text: str) -> str:
    """Return the text of a file without the time of its last update."""
    return _UPDATED.sub("", text, count=1)


def parse_page(text: str) -> Page:
    """Return the content of a file; anything in it is accepted or rejected."""
    lines = text.removeprefix("\ufeff").replace("\r\n", "\n").split("\n")
    named = next((found["user"] for line in lines[:8] if (found := _USER.fullmatch(line))), "")
    entries: list[Entry] = []
    rejected: list[Rejected] = []
    for section, why, piece in _pieces(lines):
        read = _read(piece, archived=section.startswith(ARCHIVED), why=why)
        if isinstance(read, Entry):
            entries.append(read)
        elif read:
            rejected.append(read)
    return Page(tuple(entries), tuple(rejected), named)


def _pieces(lines: Sequence[str]) -> Iterator[tuple[str, str, list[str]]]:
    """Yield the section, the reason of a former rejection, and the lines of each piece."""
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


def _read(piece: Sequence[str], *, archived: bool, why: str) -> Entry | Rejected | None:
    text = "\n".join(piece).strip("\n")
    if not text.strip():
        return None
    if not is_heading(piece[0]):
        return Rejected(text, "text outside of an entry: write a line '### fact' above it")
    words = piece[0].lower().split("|")[0].replace("]", " ").split()
    if why and len(words) > 1 and any(word in words for word in _REJECTED):
        return Rejected(text, why)
    try:
        return parse(piece[0].rstrip(), "\n".join(piece[1:]), archived=archived)
    except ValueError as error:
        return Rejected(text, str(error))


def one_line(text: str) -> str:
    """Return a text in the form that a comment of a file has."""
    return " ".join(text.split()).replace("--", "\u2010\u2010")
