"""Sentences of a text."""

import re
from itertools import pairwise

from souffleur.knowledge.search.words import is_spaced

ENDS = "。！？.!?…"
"""The characters that end a sentence."""
# A list's number ("2.") ends no sentence. Possessive, so that no run of stops is read twice.
_STOP = re.compile(rf"(?m)(?<!^\d)(?<!^\d\d)[{ENDS}]++[\"'”’」』）)\]】》*_]*+\s*+|\n\s*+")


def sentences(text: str) -> list[str]:
    r"""Return a text's sentences, each with the white space after it; a new line ends one, too.

    >>> sentences('He said "3.5 cups!" Really.\n好。走吧')
    ['He said "3.5 cups!" ', 'Really.\n', '好。', '走吧']
    """
    starts = [stop.end() for stop in _STOP.finditer(text) if _is_end(stop, text)]
    edges = [0, *starts, len(text)]
    return [text[low:high] for low, high in pairwise(edges) if low < high]


def _is_end(stop: re.Match[str], text: str) -> bool:
    after = text[stop.end() : stop.end() + 1]
    if not after or stop[0][-1].isspace() or set(stop[0]) & set("。！？"):
        return True
    return after.isalnum() and not is_spaced(after)  # "3.5", "a.m.", "e.g.," end no sentence
