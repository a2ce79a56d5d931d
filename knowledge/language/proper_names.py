"""Proper names in a text, by their capital letters."""

import re

from souffleur.knowledge.language.dates import MONTHS
from souffleur.knowledge.language.numerals import LETTER, NumeralMatch
from souffleur.knowledge.language.stemming import STOP_WORDS
from souffleur.knowledge.language.text_match import normalize_text

HAN = "\u3040-\u30ff\u3400-\u9fff"
"""Chinese and Japanese characters, for a pattern."""

_UPPER = "A-ZÀ-ÖØ-Þ"
_WORD = (
    rf"(?<![{LETTER}0-9_'])(?:[{_UPPER}]|[a-z]+(?=[A-Z]))[{LETTER}0-9]*"
    rf"(?:(?:[-_]|\.(?=[a-z0-9])|'(?=[{_UPPER}]))[{LETTER}0-9]+)*[+#]*"
)
_RUN = re.compile(rf"{_WORD}(?:(?: | of | de | van | von | del | da | & ){_WORD})*")
_ANY_WORD = re.compile(rf"[{LETTER}]+")
_PART = re.compile(r"\S+")
_COMMON = """
& de van von del da let ok okay hi hello bye yes app tv t-shirt am pm mr mrs ms dr sir god
today tonight tomorrow yesterday monday tuesday wednesday thursday friday saturday sunday
"""
_NOT_NAMES = STOP_WORDS.union(_COMMON.split(), (month.lower() for month in MONTHS))
"""They neither begin nor end a name."""
_PEOPLES_AND_PARENTS = """
english chinese japanese korean french german spanish italian russian indian thai american british
european asian mom mum mommy mummy mama dad daddy papa mother father grandma grandpa aunt uncle
"""
_NOT_ALONE = frozenset(_PEOPLES_AND_PARENTS.split())
_LABEL = re.compile(r"\W{0,3}:")
_ABBREVIATION = re.compile(r"\b(?:Mr|Mrs|Ms|Dr|St|Prof|vs)\.$")


def read_capitalised(line: str) -> list[NumeralMatch]:
    """Names by their capital letters: in Chinese all, in English those within a sentence."""
    words = _ANY_WORD.findall(line)
    chinese = len(re.findall(f"[{HAN}]", line)) >= len(words)
    if not chinese and _is_heading(line, words):
        return []
    found = []
    for run in _RUN.finditer(line):
        parts = list(_PART.finditer(line, run.start(), run.end()))
        english = not chinese or re.match(" [a-z]+ ", line[run.end() : run.end() + 20])
        if english and _begins(line, run.start()):
            label = _LABEL.match(line, run.end())
            marked = any(char.isupper() or char.isdigit() for char in parts[0][0][1:])
            parts = [] if label else parts if marked else parts[1:]
        while parts and parts[0][0].lower() in _NOT_NAMES:
            parts.pop(0)
        while parts and parts[-1][0].lower() in _NOT_NAMES:
            parts.pop()
        name = line[parts[0].start() : parts[-1].end()] if parts else ""
        if len(name) > 1 and name.lower() not in _NOT_ALONE:
            found.append(NumeralMatch(parts[0].start(), name, normalize_text(name)))
    return found


def _is_heading(line: str, words: list[str]) -> bool:
    """Whether all its words are in capitals, or begin with one."""
    if line.lstrip().startswith("#") or line == line.upper():
        return True
    short = len(words) <= 6 and not line.rstrip().endswith((".", "!", "?"))
    return short and all(word[0].isupper() or word in _NOT_NAMES for word in words)


def _begins(line: str, at: int) -> bool:
    """Whether a sentence, a list item or speech begins there: a capital says nothing then."""
    before = line[max(0, at - 40) : at].rstrip(" \t*_")
    if before.endswith(tuple("\"“'‘「『")) or not before.strip("-*•#>.)( \t0123456789"):
        return True
    end = before.rstrip("\"')]”")
    return end.endswith(tuple(".!?…;:。！？；：")) and not _ABBREVIATION.search(end)
