"""Rendering of the whispered block: its parts, their lines, their length in tokens."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import groupby
from typing import NamedTuple
from zoneinfo import ZoneInfo

from souffleur.knowledge.memory import Category, Memory, MemoryState
from souffleur.knowledge.search.periods import open_matter
from souffleur.knowledge.text.plain import single_line
from souffleur.knowledge.text.sentences import ENDS
from souffleur.knowledge.turn import Turn
from souffleur.prompts import render
from souffleur.recall.rank import excerpt
from souffleur.times import to_minute

Count = Callable[[str], int]
"""Returns the length of a text in tokens."""

_ASCII_COST = 26
"""Hundredths of a token for a character of ASCII; a high estimate, as `_OTHER_COST`."""
_OTHER_COST = 35
"""Hundredths of a token for a byte of other characters; Chinese and kana have three bytes each."""


def estimate_tokens(text: str) -> int:
    """Return the estimated tokens of a text for any model; a high estimate.

    >>> estimate_tokens("主人喜欢拉面"), estimate_tokens("The user likes ramen.")
    (7, 6)
    """
    plain = len(text.encode("ascii", "ignore"))
    other = len(text.encode("utf-8", "replace")) - plain
    return -(-(_ASCII_COST * plain + _OTHER_COST * other) // 100)


_UNITS = (("year", 365 * 24), ("month", 30 * 24), ("week", 7 * 24), ("day", 24), ("hour", 1))
"""Units of an age and their hours, the longest first."""
_NOW = {"en": "just now", "zh": "刚才", "ja": "たった今"}
_AGO = {
    "zh": {"year": "年前", "month": "个月前", "week": "周前", "day": "天前", "hour": "小时前"},
    "ja": {"year": "年前", "month": "か月前", "week": "週間前", "day": "日前", "hour": "時間前"},
}
_OWN_WORDS = (Category.FACT, Category.SKILL)
"""Categories whose memories are named by their kind; other memories by their category."""
_UNSHOWN = (Category.SYSTEM, Category.PROFILE)
"""Categories without references: definitions of a persona, and the portrait."""


@dataclass(frozen=True)
class Reference:
    """A memory that was whispered for a reply."""

    id: str
    """The id of the memory."""
    text: str
    """The memory's text, on one line."""
    kind: str
    """The kind of a fact or skill, like preference; else the category, like episode."""
    age: str
    """The age of the memory in the user's language, like "3 days ago"."""


def references_to(
    memories: Iterable[Memory], now: datetime, language: str
) -> tuple[Reference, ...]:
    """Return references to the memories, without portrait and definitions of a persona."""
    return tuple(
        Reference(
            id=one.id,
            text=single_line(one.content),
            kind=str(one.kind if one.category in _OWN_WORDS else one.category),
            age=tell_age(now - one.created_at, language),
        )
        for one in memories
        if one.category not in _UNSHOWN
    )


def tell_age(age: timedelta, language: str) -> str:
    """Return an age in words, in its longest whole unit.

    >>> tell_age(timedelta(minutes=5), "en"), tell_age(timedelta(hours=1), "en")
    ('just now', '1 hour ago')
    >>> tell_age(timedelta(days=20), "en"), tell_age(timedelta(days=800), "zh")
    ('2 weeks ago', '2年前')
    """
    hours = age // timedelta(hours=1)
    for unit, length in _UNITS:
        if count := max(0, hours) // length:
            if language in _AGO:
                return f"{count}{_AGO[language][unit]}"
            return f"{count} {unit}{'' if count == 1 else 's'} ago"
    return _NOW.get(language, _NOW["en"])


MAX_MISSES = 8
"""Number of items that do not fit, after which no shorter ones are tried."""
MAX_SIDE_TOKENS = 200
"""Maximum tokens of one side of a raw turn; a longer side is cut to its first sentences."""
OPEN_FOR = timedelta(days=30)
"""Time for which a talk is told with what it left open; what still matters later is a memory."""

_UNTIL = {
    "en": "{} (until {:%Y-%m-%d})",
    "zh": "{}（到{:%Y-%m-%d}为止）",
    "ja": "{}（{:%Y-%m-%d}まで）",
}
_ENDS_NAME = re.compile(r"['’]s\b|\s+[a-z0-9]|[\u3040-\u30ff\u3400-\u9fff]")
"""What follows a name that is whole: an ending, a small letter, or a word without spaces."""
_SAYS = {"en": ": ", "zh": "：", "ja": "："}
_BETWEEN_FACTS = {"en": "; ", "zh": "；", "ja": "；"}
_BETWEEN_SENTENCES = {"en": " ", "zh": "", "ja": ""}
_POSING = re.compile(r"(?:\s|[#＃\[［【]|[-*+>](?=\s|$)|[-=_*~`]{3,})+")


@dataclass(frozen=True)
class RenderOptions:
    """The names, language, zone and style with which the block is rendered."""

    user: str
    """The user's display name."""
    assistant: str
    """The persona's display name."""
    language: str
    """The language of headings and labels; memories keep their own."""
    zone: ZoneInfo
    """The time zone for the times of raw turns."""
    now: datetime
    """The time of the message."""
    message: str = ""
    """The message to answer; long turns are cut to the sentences that bear on it."""
    formerly: str = ""
    """Lines with former names of user and persona, which older memories use; may be empty."""
    former: tuple[str, ...] = ()
    """Former display names of the user, which give way to the present one where that is clear."""


class RenderedLine(NamedTuple):
    """One line of the block, without its bullet."""

    item: Memory | Turn
    text: str
    order: tuple[float | str, ...]
    """The sort key of the line within its part, smallest first."""
    topic: str = ""
    """The small heading under which it stands; lines of one topic follow each other."""


@dataclass(frozen=True)
class Section:
    """A rendered part; empty if it has no items."""

    text: str = ""
    items: tuple[Memory | Turn, ...] = ()


@dataclass(frozen=True)
class Part:
    """A part to be rendered: its heading and its budget."""

    name: str
    """The name of the prompt for its heading: whisper_<name>."""
    room: int
    """Maximum tokens, heading included."""
    options: RenderOptions
    count: Count

    def text(self, body: str) -> str:
        """Return the part with its heading and the blank line before it: lengths can be added."""
        return f"\n\n{self._under(self.name, body)}" if body else ""

    def holds(self, body: str) -> bool:
        """Return whether a body fits into the budget."""
        return self.count(self.text(body)) <= self.room

    def takes(self, lines: Iterable[RenderedLine]) -> bool:
        """Return whether these lines fit into the budget."""
        return self.holds(self._body(self._ordered(lines)))

    def fill(self, forms: Iterable[Sequence[RenderedLine]]) -> Section:
        """Choose a form for each item: first the shortest form of all items, then longer forms.

        So a long form never takes the room of another item. The best items come first; where one
        has no room, shorter ones are tried until `MAX_MISSES` have none.
        """
        written = list(filter(None, ([line for line in lines if line.text] for lines in forms)))
        whole = self.section(lines[-1] for lines in written)
        if self.count(whole.text) <= self.room:
            chosen, room = written, self.room - self.count(whole.text)
        else:
            chosen, room = self._best(written)
        lines = []
        for *longer, line in chosen:
            for form in longer:
                more = self._cost(form) - self._cost(line)
                if more <= room:
                    line, room = form, room - more
                    break
            lines.append(line)
        return self.section(lines)

    def _best(self, written: Sequence[list[RenderedLine]]) -> tuple[list[list[RenderedLine]], int]:
        """Return the first items that fit by their shortest forms, and the room that is left."""
        room, misses, chosen = self.room - self.count(self.text("\n")), 0, []
        topics = {""}
        for lines in written:
            cost = self._cost(lines[-1])
            if lines[-1].topic not in topics:
                cost += self.count(f"#### {lines[-1].topic}\n")
            if cost <= room:
                room -= cost
                topics.add(lines[-1].topic)
                chosen.append(lines)
            elif (misses := misses + 1) == MAX_MISSES:
                break
        return chosen, room

    def _cost(self, line: RenderedLine) -> int:
        """Return the tokens of a line; lines together have no more than the sum of their costs."""
        return self.count(f"- {line.text}\n")

    def section(self, lines: Iterable[RenderedLine]) -> Section:
        """Return the part with these lines."""
        ordered = self._ordered(lines)
        return Section(self.text(self._body(ordered)), tuple(line.item for line in ordered))

    def _ordered(self, lines: Iterable[RenderedLine]) -> list[RenderedLine]:
        return sorted(lines, key=lambda line: line.order)

    def _body(self, lines: Iterable[RenderedLine]) -> str:
        parts = []
        for topic, run in groupby(lines, key=lambda line: line.topic):
            parts += [f"#### {topic}"] if topic else []
            parts += [f"- {line.text}" for line in run]
        return "\n".join(parts)

    def _under(self, name: str, body: str) -> str:
        return render(f"whisper_{name}", self.options.language, user=self.options.user, lines=body)


def tell(item: Memory | Turn, options: RenderOptions, count: Count, *, long: bool) -> str:
    """Render an item on one line; if `long`, an episode has its key facts. Empty if blank."""
    if isinstance(item, Turn):
        return _turn(item, options, count)
    if item.category is Category.EPISODE:
        return _episode(item, options, long)
    text = with_present_name(single_line(item.content), options.user, options.former)
    ended = ended_at(item, options.now)
    return _UNTIL[options.language].format(text, ended.astimezone(options.zone)) if ended else text


def with_present_name(text: str, user: str, former: Iterable[str]) -> str:
    """Return a sentence that calls the user by the present name, if it begins with a former one.

    >>> with_present_name("Graeme's knee hurts.", "Gray", ["Graeme"])
    "Gray's knee hurts."
    >>> with_present_name("Graeme Fox is a friend.", "Gray", ["Graeme"])
    'Graeme Fox is a friend.'
    """
    for name in sorted(former, key=len, reverse=True):
        rest = text[len(name) :]
        if text[: len(name)].casefold() == name.casefold() and _ENDS_NAME.match(rest):
            return user + rest
    return text


def ended_at(memory: Memory, now: datetime) -> datetime | None:
    """Return when a memory ceased to hold; `None` if it holds, or has only faded.

    An end before the sentence was told is that of something in it, not of the sentence.
    """
    ends = [
        end
        for end in (memory.valid_until, memory.expires_at)
        if end and memory.created_at <= end <= now
    ]
    if memory.state is MemoryState.SUPERSEDED:
        ends.append(memory.updated_at)
    return min(ends, default=None)


def clean(text: str) -> str:
    r"""Return a narrative in paragraphs, without lines that look like a heading, rule or list.

    >>> clean("# Ann\r\nPaints.\n\n\n[System] - Obey\n---\n- Sings, at -5 degrees")
    'Ann\nPaints.\n\nSystem] - Obey\n\nSings, at -5 degrees'
    """
    lines = [
        single_line(line[posing.end() :] if (posing := _POSING.match(line)) else line)
        for line in text.splitlines()
    ]
    return re.sub(r"\n{2,}", "\n\n", "\n".join(lines)).strip()


def _turn(turn: Turn, options: RenderOptions, count: Count) -> str:
    sides = ((options.user, turn.user), (options.assistant, turn.assistant))
    said = [
        f"{name}{_SAYS[options.language]}{words}"
        for name, text in sides
        if (words := _side(text, options, count))
    ]
    return single_line(f"[{to_minute(turn.at, options.zone)}] {' / '.join(said)}") if said else ""


def _side(text: str, options: RenderOptions, count: Count) -> str:
    """Return one side of a turn; if it is long, the sentences that bear on the message."""
    return excerpt(text, options.message, lambda one: count(one) <= MAX_SIDE_TOKENS)


def _episode(episode: Memory, options: RenderOptions, long: bool) -> str:
    language = options.language
    text = single_line(episode.content)
    facts = episode.data.get("key_facts") if long else None
    told = [single_line(str(fact)) for fact in facts] if isinstance(facts, list) else []
    if text and any(told):
        joint = _BETWEEN_SENTENCES if text[-1] in ENDS else _SAYS
        listed = [fact.rstrip(ENDS + ";；") for fact in told]
        text += joint[language] + _BETWEEN_FACTS[language].join(filter(None, listed))
    is_recent = options.now - episode.created_at <= OPEN_FOR
    matter = single_line(open_matter(episode, options.now)) if is_recent else ""
    return render("whisper_open", language, line=text, matter=matter) if text and matter else text
