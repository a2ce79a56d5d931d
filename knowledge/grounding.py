"""Grounding: whether the content of an op follows from the messages. Pure functions.

In doubt, code accepts the content: a translation, another spelling of a name, a number in words of
an unknown language, a date near an uncertain time, a negation in other words than the quote, and
everything in a very long talk.
"""

import re
from collections.abc import Iterable
from difflib import SequenceMatcher
from functools import cached_property

from souffleur.knowledge.memory import Memory
from souffleur.knowledge.operation import Add, Delete, Merge, Update, Verdict
from souffleur.knowledge.search.words import STOP_WORDS, is_spaced, split, terms
from souffleur.knowledge.text import counting
from souffleur.knowledge.text.dates import YEAR, Days, days_meant, is_among, is_read
from souffleur.knowledge.text.details import Detail, DetailKind, Material, missing
from souffleur.knowledge.text.han_variants import to_simplified
from souffleur.knowledge.text.match import find_quote, normalize_text, says_opposite
from souffleur.knowledge.text.numbers import number_keys

MAX_COMPARED = 12_000
"""Maximum characters that names, numbers and dates are compared with."""
SMALL = 100
"""Numbers below this may be words in a language that is not read."""
ALIKE = 0.8
"""Similarity from which a word may be another spelling of a name: "Barcelna"."""
STEM = 5
"""Number of first letters that a name shares with a word derived from it: "Buddhist"."""

_HALVES = re.compile(
    r"\b(?:noon|midday|midnight|half|quarters?|halb|viertel|(?:five|ten|twenty) (?:past|to))\b"
    r"|[半刻]|[正中]午|午夜|零点",
    re.IGNORECASE,
)
"""Words for a clock time or a share without its number."""
_PARTS = re.compile(r"\.(?:25|5|75)\b")
"""Quarters and halves: "an hour and a half" is 1.5."""
_ORDINALS = "second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth"
_ORDINAL = {str(value): word for value, word in enumerate(_ORDINALS.split(), start=2)}
_TO = r"\s?(?:[-–~&,]|and|to|or|und|bis)\s?"
"""Text between the numbers of two days of a month: "7 and 8 March"."""
_ANYBODY = frozenset(terms("user 用户 用戶 主人 ユーザー"))
_GENERAL = frozenset(
    terms(
        "like love want hate live work go get make know think feel new good thing time day week"
        " month year today now 喜欢 喜歡 爱 愛 想 人"
    )
)
"""Terms that are too general to be a subject on their own."""
_THEY = re.compile(r"(?<![A-Za-z])TA(?![A-Za-z])")
"""The Chinese pronoun for a person of unsaid sex; before digits it looks like a name."""
_LONE_KANA = re.compile(r"[\u3041-\u30ff]")


class Grounds:
    """The messages and memories that the ops of a verdict may rest on, read on first use."""

    def __init__(self, verdict: Verdict) -> None:
        self._verdict = verdict
        self._said = (*verdict.earlier, *verdict.said)
        self._told = to_simplified("\n".join(one.text for one in self._said))
        known = to_simplified("\n".join((*verdict.known, *verdict.called)))
        self._text = f"{self._told}\n{known}"

    @cached_property
    def _material(self) -> Material:
        return Material(self._text)

    @cached_property
    def _is_read(self) -> bool:
        return is_read(self._told)

    @cached_property
    def _days(self) -> list[Days]:
        read = self._is_read
        return [day for one in self._said for day in days_meant(one.text, one.at, is_read=read)]

    def unfounded(self, op: Add | Update | Merge, targets: Iterable[Memory]) -> list[str]:
        """Return the names, numbers and dates of an op's content that its judge did not see.

        Dates, counts and ages may follow from the messages. A content that says the opposite of its
        quote is returned whole.
        """
        entities, quote = ((), "") if isinstance(op, Merge) else (op.entities, op.quote)
        # The speakers are named, too: "On Easter Sunday Ann Lee sang" holds no name "Sunday Ann".
        content = _THEY.sub(" ", to_simplified(op.content))
        names = [to_simplified(one) for one in (*entities, *self._verdict.called)]
        opposite = says_opposite(op.content, quote, (*entities, *self._verdict.called))
        found = [op.content] if opposite else []
        held = [to_simplified(one.content) for one in targets]
        alien = missing(content, "\n".join(held), names)
        if alien and len(self._text) <= MAX_COMPARED:
            alien = [one for one in self._material.lacks(content, names) if one in alien]
            if _is_translated(content, (self._told, *held)):
                alien = [one for one in alien if one.kind is not DetailKind.NAME]
            found += [one.text for one in alien if not self._follows(one, alien, content, names)]
        return found

    def is_unrelated(self, op: Update | Delete, target: Memory) -> bool:
        """Return whether a memory and the words that would change it have different subjects.

        Related are a memory and a new sentence with a common term, or a memory and the quoted
        message with a common term that is not general.
        """
        said = (one.text for one in self._verdict.said if find_quote(op.quote, one.text))
        told, new = "\n".join(said), op.content if isinstance(op, Update) else ""
        about = "\n".join((*target.embedded, *target.entities, *target.topics))
        if _is_translated(f"{told}\n{new}", [about]):
            return False
        subject = self._subject(about)
        return not (subject & self._subject(new) or subject & self._subject(told) - _GENERAL)

    def _subject(self, text: str) -> set[str]:
        """Return the terms that may be a text's subject: no numbers and no names of speakers."""
        found = set(terms(text)).difference(_ANYBODY, *map(terms, self._verdict.called))
        return {one for one in found if not one.isdigit() and not _LONE_KANA.fullmatch(one)}

    def _follows(
        self, one: Detail, others: Iterable[Detail], content: str, names: Iterable[str]
    ) -> bool:
        """Return whether a detail may follow from the messages without its words."""
        if one.kind is DetailKind.NAME:
            return _is_hinted(one.text, self._text)
        if one.kind is DetailKind.DATE or YEAR.fullmatch(one.key):
            short = re.search(rf"['’]{one.key[2:]}\b", self._told)  # '94
            return bool(short) or is_among(self._days, one.key)
        if ":" in one.key or "%" in one.key or _PARTS.search(one.key):
            in_words = one.key.rstrip("%") in number_keys(self._told)
            return in_words or bool(_HALVES.search(self._told))
        if one.key == "1" or (_is_small(one.key) and not self._is_read):
            return True
        if _ORDINAL.get(one.key, "\0") in self._told.lower():  # "my third child"
            return True
        if any(_joined(one, date, content) for date in others if date.kind is DetailKind.DATE):
            return True
        on = self._said[-1].at.date() if self._said else None
        return counting.follows(one, content, self._text, names, on=on)


def _is_small(number: str) -> bool:
    return number.isdecimal() and int(number) < SMALL


def _joined(number: Detail, date: Detail, text: str) -> bool:
    """Return whether a number is the day of a date that names two: "7 and 8 March"."""
    return bool(re.search(re.escape(number.text) + _TO + re.escape(date.text), text))


def _is_translated(text: str, sources: Iterable[str]) -> bool:
    """Return whether a text and one of its sources have different scripts.

    >>> _is_translated("Ann lives in Singapore.", ["I moved", "安住在新加坡。"])
    True
    """
    return any(_is_spaced(text) != _is_spaced(source) for source in sources)


def _is_spaced(text: str) -> bool:
    """Return whether a text is mostly in a script with spaces."""
    tokens = [token for run in split(text) for token in run]
    return 2 * sum(map(is_spaced, tokens)) >= len(tokens)


def _is_hinted(name: str, text: str) -> bool:
    """Return whether a text has a name in another spelling, as initials, or in a derived word.

    >>> [_is_hinted(name, "i moved to barcelna, nyc was too much") for name in
    ...     ("Barcelona", "New York City", "Ferrari")]
    [True, True, False]
    """
    words = {word for run in split(text) for word in run if is_spaced(word)} - STOP_WORDS
    parts = [part for run in split(name) for part in run if part not in STOP_WORDS]
    if len(parts) > 1 and "".join(part[0] for part in parts) in words:
        return True
    joined = normalize_text(name)
    if len(joined) >= STEM and joined in normalize_text(text):
        return True
    return all(any(_are_alike(part, word) for word in words) for part in parts)


def _are_alike(one: str, two: str) -> bool:
    if one == two or (len(one) >= STEM and one[:STEM] == two[:STEM]):
        return True
    near = one[0] == two[0] and min(len(one), len(two)) >= STEM
    return near and SequenceMatcher(None, one, two).ratio() >= ALIKE
