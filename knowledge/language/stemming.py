"""English endings and stop words: what makes "cats" find "cat" and "the" find nothing."""

import re
from functools import lru_cache

from snowballstemmer import stemmer

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
"""Those of Lucene's EnglishAnalyzer, and the pronouns, auxiliaries and question words of talk."""

_ENGLISH = re.compile(r"[a-z]{3,}")
_PORTER2 = stemmer("english")


@lru_cache(maxsize=8192)
def stem(word: str) -> str:
    """Return a word without its ending and 's, if it is in plain lower-case letters.

    Porter's second stemmer, https://snowballstem.org/algorithms/english/stemmer.html.

    >>> [stem(w) for w in ("cities", "city", "planned", "planning", "moved", "move", "hate", "hat")]
    ['citi', 'citi', 'plan', 'plan', 'move', 'move', 'hate', 'hat']
    >>> stem("ann's"), stem("3.11"), stem("thés")
    ('ann', '3.11', 'thés')
    """
    word = word.removesuffix("'s")
    return _PORTER2.stemWord(word) if _ENGLISH.fullmatch(word) else word
