"""Hidden words: secrets of a talk that its judge marked, and their masking. Pure functions.

They are told in a story ("I punched in 4471"), so that no pattern finds them.
"""

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any

from souffleur.knowledge.operation import Op, Verdict
from souffleur.knowledge.privacy.secrets import MASK
from souffleur.knowledge.text.match import normalize_quote

MIN_LENGTH = 2
"""Minimum characters of hidden words; a single letter would be masked all over a turn."""

_TOLD = ("reason", "quote", "content", "entities", "topics", "cues")
"""Fields of an op that hold words."""
_SAME_WORD = re.compile(r"[A-Za-z\u00c0-\u024f]{2}|\d\d")
"""Two characters between which no word and no number ends."""

_folded = lru_cache(maxsize=4096)(normalize_quote)


def mask_words(text: str, hidden: Iterable[str]) -> str:
    """Return a text with `MASK` for hidden words, whatever their case, width and spacing.

    >>> mask_words("So I punched in 44 71. It took 44713 tries.", ["4471"])
    'So I punched in [secret]. It took 44713 tries.'
    >>> mask_words("the word was Tulip, like tulips", ["tulip"])
    'the word was [secret], like tulips'
    """
    for words in hidden:
        for start, end in sorted(_places(words, text), reverse=True):
            text = text[:start] + MASK + text[end:]
    return text


def conceal(verdict: Verdict) -> Verdict:
    """Return a verdict with its hidden words masked in messages, reasons and ops.

    Only words that stand in its messages stay hidden; others are ignored, and so are names of the
    user and the persona.
    """
    names = {normalize_quote(name) for name in verdict.called}
    meant = [words for words in verdict.hidden if normalize_quote(words) not in names]
    hidden = tuple(
        words for words in meant if any(any(_places(words, one.text)) for one in verdict.said)
    )
    if not hidden:
        return verdict.model_copy(update={"hidden": ()})
    return verdict.model_copy(
        update={
            "hidden": hidden,
            "reason": mask_words(verdict.reason, hidden),
            "ops": tuple(_masked(op, hidden) for op in verdict.ops),
            "said": tuple(
                one.model_copy(update={"text": mask_words(one.text, hidden)})
                for one in verdict.said
            ),
        }
    )


def _masked(op: Op, hidden: Iterable[str]) -> Op:
    words: dict[str, Any] = {name: getattr(op, name) for name in _TOLD if hasattr(op, name)}
    return op.model_copy(
        update={
            name: mask_words(held, hidden)
            if isinstance(held, str)
            else tuple(mask_words(one, hidden) for one in held)
            for name, held in words.items()
        }
    )


def _places(words: str, text: str) -> Iterator[tuple[int, int]]:
    """Yield where a text has these words, but not inside a longer word or number."""
    sought = normalize_quote(words)
    if len(sought) < MIN_LENGTH or sought not in normalize_quote(text):
        return
    letters = [(one, place) for place, char in enumerate(text) for one in _folded(char)]
    whole, end = "".join(one for one, _ in letters), 0
    while (start := whole.find(sought, end)) >= 0:
        end = start + len(sought)
        first, last = letters[start][1], letters[end - 1][1]
        around = (text[max(first - 1, 0) : first + 1], text[last : last + 2])
        if not any(map(_SAME_WORD.fullmatch, around)):
            yield first, last + 1
