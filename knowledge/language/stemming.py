"""Light English stemming and stop words, so that "cats" finds "cat" and "the" finds nothing."""

import re
from functools import lru_cache

_STOP = """
a an and are as at be but by for if in into is it no not of on or such that the their then there
these they this to was will with

i me my mine you your yours he him his she her hers its we us our ours them theirs myself yourself
am been being were do does did doing done have has had having can could would should shall may
might must what when where which who whom whose why how from about so than too very just also some
any i'm i've i'll i'd you're you've you'll you'd he's she's it's we're we've we'll they're they've
don't doesn't didn't isn't aren't wasn't weren't won't can't couldn't wouldn't shouldn't haven't
hasn't that's there's what's let's
"""
STOP_WORDS = frozenset(_STOP.split())
"""The stop words of Lucene's EnglishAnalyzer, plus pronouns, auxiliaries and question words."""

_ENGLISH = re.compile(r"[a-z]{3,}")
_SYLLABLES = re.compile(r"[aeiouy]+[^aeiouy]+")
_SHORT = re.compile(r"[^aeiou][aeiouy][^aeiouwxy]$")
_DOUBLE = re.compile(r"([^aeioulsz])\1$")


@lru_cache(maxsize=8192)
def stem(word: str) -> str:
    """Return the word without 's, plural, -ed, -ing and a final e, if it is lower-case ASCII.

    These are steps 1 and 5a of M. F. Porter, "An algorithm for suffix stripping" (Program 14:3,
    1980), with every y a vowel; the other steps would distort names.

    >>> [stem(w) for w in ("cities", "city", "planned", "planning", "moved", "move", "hate", "hat")]
    ['citi', 'citi', 'plan', 'plan', 'move', 'move', 'hate', 'hat']
    >>> stem("ann's"), stem("3.11"), stem("thés")
    ('ann', '3.11', 'thés')
    """
    word = word.removesuffix("'s")
    if not _ENGLISH.fullmatch(word):
        return word
    word = _without_tense(_without_plural(word))
    if word.endswith("y") and len(word) > 2 and word[-2] not in "aeiou":
        word = word[:-1] + "i"
    bare = word.removesuffix("e")
    syllables = len(_SYLLABLES.findall(bare))
    return bare if syllables > 1 or (syllables == 1 and not _SHORT.search(bare)) else word


def _without_plural(word: str) -> str:
    if word.endswith(("sses", "ies")):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith(("ss", "us")) else word


def _without_tense(word: str) -> str:
    if word.endswith("eed"):
        return word[:-1] if _SYLLABLES.search(word[:-3]) else word
    if word.endswith("ied"):
        return word[:-2]
    bare = next((word[: -len(end)] for end in ("ed", "ing") if word.endswith(end)), "")
    if not re.search(r"[aeiouy]", bare):
        return word
    if bare.endswith(("at", "bl", "iz")):
        return bare + "e"
    if _DOUBLE.search(bare):
        return bare[:-1]
    return bare + "e" if _SHORT.search(bare) and len(_SYLLABLES.findall(bare)) == 1 else bare
