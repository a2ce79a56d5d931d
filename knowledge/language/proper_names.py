"""Proper names in a text, found by their capital letters."""

import re

from souffleur.knowledge.language.dates import MONTHS
from souffleur.knowledge.language.numerals import LETTER, NumeralMatch
from souffleur.knowledge.language.stemming import STOP_WORDS
from souffleur.knowledge.language.text_match import normalize_text

HAN = "\u3040-\u30ff\u3400-\u9fff"
"""Chinese and Japanese characters, for a character class in a pattern."""

_UPPER = "A-ZÀ-ÖØ-Þ"
_WORD = (
    rf"(?<![{LETTER}0-9_'])(?:[{_UPPER}]|[a-z]+(?=[A-Z]))[{LETTER}0-9]*"
    rf"(?:(?:[-_]|\.(?=[a-z0-9])|'(?=[{_UPPER}]))[{LETTER}0-9]+)*[+#]*"
)
_RUN = re.compile(rf"{_WORD}(?:(?: | of | de | van | von | del | da | & ){_WORD})*")
_ANY_WORD = re.compile(rf"[{LETTER}]+")
_PART = re.compile(r"\S+")
_COMMON = """
& de van von del da let ok okay hi hello bye yes app tv t-shirt am pm mr mrs ms dr sir god ta
today tonight tomorrow yesterday
"""
_WEEKDAYS = """
monday tuesday wednesday thursday friday saturday sunday mon tue tues wed thu thur thurs fri sat sun
"""
_ROLES_AND_TESTS = """
gp er icu ivf mri ct ecg ekg nhs dna hiv ceo cto cfo hr phd msc bsc mba ba ma doctor professor prof
"""
_UNITS = "mu iu ml dl ng mg kg km mmhg mmol nmol kcal kwh kw mhz ghz kb mb gb tb"
_NOT_NAMES = STOP_WORDS.union(
    *(words.split() for words in (_COMMON, _WEEKDAYS, _ROLES_AND_TESTS, _UNITS)),
    (f"{day}s" for day in _WEEKDAYS.split()),
    (month.lower() for month in MONTHS),
)
"""Words that neither begin nor end a name."""
_RELATIVES_WORDS = """
mom mum mommy mummy mama mam dad daddy papa mother father grandma grandpa grandmother grandfather
gran granny nan nana grandad granddad aunt auntie uncle brother sister cousin
"""
_RELATIVES = frozenset(_RELATIVES_WORDS.split())
"""Words before the name of a relative: who says "my aunt, Rose" speaks of Aunt Rose."""
_PEOPLES = """
english chinese japanese korean french german spanish italian russian indian thai american british
european asian african scottish irish welsh dutch portuguese polish turkish greek swedish danish
norwegian finnish austrian swiss belgian czech hungarian romanian ukrainian canadian mexican
brazilian australian vietnamese indonesian pakistani nigerian egyptian
"""
_NOT_ALONE = frozenset(_PEOPLES.split()) | _RELATIVES
_NOT_FIRST = _NOT_NAMES | _RELATIVES
_GERMAN_WORDS = """
der das dem den des ein eine einen einem einer und oder aber auch nicht kein keine ist wird wurde
hat habe ich du er sie es wir mit von vom zum zur bei beim für auf aus nach noch seit über im am bis
sich mein meine sein seine ihr ihre wie dass als erst jetzt muss haben sind schon immer
"""
_GERMAN = frozenset(_GERMAN_WORDS.split())
"""Words that make a line German if they are many: each of its nouns has a capital."""
_GERMAN_SHARE = 0.15
_LABEL = re.compile(r"\W{0,3}:")
_ABBREVIATION = re.compile(r"\b(?:Mr|Mrs|Ms|Dr|St|Prof|vs)\.$")


def read_capitalised(line: str) -> list[NumeralMatch]:
    """Return capitalised names: all in Chinese text, those within a sentence in English.

    In German, where a capital says only that a word is a noun, those with another one or a digit.

    >>> [one.text for one in read_capitalised("We met Birte at Leipzig station.")]
    ['Birte', 'Leipzig']
    >>> [one.text for one in read_capitalised("Wir haben für den Umzug einen VW T5 geliehen.")]
    ['VW T5']
    """
    words = _ANY_WORD.findall(line)
    chinese = len(re.findall(f"[{HAN}]", line)) >= len(words)
    if not chinese and _is_heading(line, words):
        return []
    german = _is_german(words)
    found = []
    for run in _RUN.finditer(line):
        parts = list(_PART.finditer(line, run.start(), run.end()))
        if german:
            parts = [part for part in parts if _is_marked(part[0])]
        english = not chinese or re.match(" [a-z]+ ", line[run.end() : run.end() + 20])
        if english and parts and _begins(line, run.start()):
            label = _LABEL.match(line, run.end())
            parts = [] if label else parts if _is_marked(parts[0][0]) else parts[1:]
        while parts and parts[0][0].lower() in _NOT_FIRST:
            parts.pop(0)
        while parts and parts[-1][0].lower() in _NOT_NAMES:
            parts.pop()
        name = line[parts[0].start() : parts[-1].end()] if parts else ""
        if len(name) > 1 and name.lower() not in _NOT_ALONE:
            found.append(NumeralMatch(parts[0].start(), name, normalize_text(name)))
    return found


def _is_marked(word: str) -> bool:
    return any(char.isupper() or char.isdigit() for char in word[1:])


def _is_german(words: list[str]) -> bool:
    german = [word.lower() for word in words if word.lower() in _GERMAN]
    return len(set(german)) > 1 and len(german) >= _GERMAN_SHARE * len(words)


def _is_heading(line: str, words: list[str]) -> bool:
    """Return whether a line is a heading: in capitals, or with all its words capitalised."""
    if line.lstrip().startswith("#") or line == line.upper():
        return True
    short = len(words) <= 6 and not line.rstrip().endswith((".", "!", "?"))
    return short and all(word[0].isupper() or word in _NOT_NAMES for word in words)


def _begins(line: str, at: int) -> bool:
    """Return whether a sentence, list item or speech begins there, which explains a capital."""
    before = line[max(0, at - 40) : at].rstrip(" \t*_")
    if before.endswith(tuple("\"“'‘「『")) or not before.strip("-*•#>.)( \t0123456789"):
        return True
    end = before.rstrip("\"')]”")
    return end.endswith(tuple(".!?…;:。！？；：")) and not _ABBREVIATION.search(end)
