"""The words by which people tell secrets, as parts of patterns.

The files of `words/` have a table for each concept, and in each table a line for each language, or
for another division. " | " separates the words of a line. A word is a regular expression in lower
case and composed letters; its brackets only group. A long word may be broken before a `|` or at a
space. A word stands alone: no letter comes before or after it, unless "…" leaves that end open.
Words of scripts without spaces, such as Chinese, may stand next to any letter.
"""

import re
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

_FOLDER = Path(__file__).parent / "words"
LETTERS = r"A-Za-z\u00c0-\u024f\u0300-\u036f\u0400-\u04ff"
"""Latin and Cyrillic letters, and separate marks."""

_OWN_START, _OWN_END = "(?<![a-zà-ÿа-яё])", "(?![a-zà-ÿа-яё])"
_GROUP = re.compile(r"(?<!\\)\((?!\?)")
_BROKEN, _SPACE = re.compile(r"\s*\n\s*\|(?=\S)"), re.compile(r"\s+")
_SPACE_OUTSIDE = re.compile(r" (?![^\[\]]*\])")
_FIRST_LETTER = re.compile(r"[^\W\d_]")
_LAST_OF_SPACED_SCRIPTS = "\u058f"


def words(*concepts: str) -> str:
    """Return the pattern of any word of these concepts, in all languages.

    >>> found = re.compile(words("bank_account", "social_security")).findall
    >>> found("das konto"), found("bekontot"), found("我的银行卡"), found("socials")
    (['konto'], [], ['银行'], ['socials'])
    """
    return spell(*(line for concept in concepts for line in _concepts()[concept].values()))


def alternatives(concept: str, *languages: str) -> str:
    """Return the words of a concept as alternatives without limits, in these languages or in all.

    >>> alternatives("about", "de", "pl")
    '(?:für|fuer)s?|von|vom|zu[mr]?|od'
    """
    return "|".join(listed(concept, *languages))


def own_in_text(concept: str, *languages: str) -> str:
    """Return the words of a concept for a raw text: with separate marks and any white space.

    The pattern is an atomic group, as the words end where no letter follows.

    >>> re.match(own_in_text("about", "de"), "für den Router").group()
    'für'
    """
    return f"(?>(?:{in_text(concept, *languages)})(?![{LETTERS}]))"


def in_text(concept: str, *languages: str) -> str:
    """Return the words as in `own_in_text`, but as alternatives without limits."""
    return _SPACE_OUTSIDE.sub(r"\\s", alternatives(concept, *languages))


def listed(concept: str, *languages: str) -> tuple[str, ...]:
    """Return the words of a concept, in these languages or in all.

    >>> listed("passport", "it")
    ('passaporto', "carta d'identità")
    """
    lines = _concepts()[concept]
    return tuple(word.strip("…") for one in languages or lines for word in _split(lines[one]))


@cache
def spell(*lines: str) -> str:
    """Return the pattern of the words of these lines, which have the format of the files.

    >>> spell("dni | n(ie|if)", "tax…")
    '(?:(?<![a-zà-ÿа-яё])(?:dni|n(?:ie|if))(?![a-zà-ÿа-яё])|(?<![a-zà-ÿа-яё])tax)'
    """
    by_limits: dict[tuple[str, str], list[str]] = {}
    for word in _split(*lines):
        by_limits.setdefault(_limits(word), []).append(word.strip("…"))
    return f"(?:{'|'.join(_limited(by_limits))})"


def _limited(by_limits: dict[tuple[str, str], list[str]]) -> Iterator[str]:
    for (start, end), same in by_limits.items():
        one = "|".join(same)
        yield f"{start}(?:{one}){end}" if len(same) > 1 and (start or end) else f"{start}{one}{end}"


def _limits(word: str) -> tuple[str, str]:
    """Return the patterns that must hold before the word and after it."""
    letter = _FIRST_LETTER.search(word)
    if letter is not None and letter[0] > _LAST_OF_SPACED_SCRIPTS:
        return "", ""
    return "" if word[0] == "…" else _OWN_START, "" if word[-1] == "…" else _OWN_END


def _split(*lines: str) -> list[str]:
    """Return the words of lines as regular expressions.

    >>> _split('''codes? | sim[ -]?(number|pin
    ...  |lock)''')
    ['codes?', 'sim[ -]?(?:number|pin|lock)']
    """
    return [
        _GROUP.sub("(?:", word)
        for line in lines
        for word in _SPACE.sub(" ", _BROKEN.sub("|", line)).strip().split(" | ")
    ]


@cache
def _concepts() -> dict[str, dict[str, str]]:
    """Return the lines of each concept by language."""
    concepts: dict[str, dict[str, str]] = {}
    for file in sorted(_FOLDER.glob("*.toml")):
        concepts |= tomllib.loads(file.read_text(encoding="utf-8"))
    return concepts
