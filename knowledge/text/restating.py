"""Whether a text says the same as another in other words, or the opposite in the same words."""

import re
from collections.abc import Iterable, Iterator, Set

from souffleur.knowledge.search.words import is_spaced, terms
from souffleur.knowledge.text.match import NEGATION, NUMERAL, fold_style

SAME_SHARE = 2 / 3
"""Minimum share of the words of a text that another has which says the same or the opposite."""
DENIED_WORDS = 2
"""Number of words beside a negation that it denies: "doesn't really like"."""
_CLAUSE = re.compile(
    r"[,.;:!?\n…]|\b(?:but|and|because|though)\b|但|而|却|けど|から"
    r"|(?=不是|\bnot (?:the|an?|my|on|in|at)\b)"
)
"""What is between clauses, or before what is set against another: "on the 19th not the 9th"."""
_DENIAL = re.compile(
    rf"{NEGATION.pattern}|(?<![特区區告分性级級个個辨送])[别別](?![人的墅处處致名扭])"
)
_SUFFIX = re.compile("ない|なか|ません")
"""Negations that follow what they deny."""
_NO_NEGATION = re.compile(
    r"\b(?:not only|no doubt|no wonder|no problem|(?:can't|cannot) wait)\b|不[过過](?!敏)"
    r"|不[但仅僅只止管论論如久少错錯断斷时時同]|[没沒][错錯事]|差不多|不得不|忍不住|[对對]不起|无论|無論"
)
"""Words with a negation that deny nothing."""
_ENDS = re.compile(
    r"\b(?:stop|quit|g[ai]ve[sn]? up|avoid|refus|lack|fail|miss|instead|hate|dislike|used to|former"
    r"|any ?more|no longer|until|since|only|except|rather|unable|non-)"
    r"|戒|停|辞|拒|讨厌|討厭|以前|从前|從前|已|曾|搬|改|やめ|辞め|嫌|苦手",
    re.IGNORECASE,
)
"""Words that deny or tell a change without a negation."""
_FILLERS = frozenset(
    terms(
        "oh ah well yes yeah ok really always again still much lot love like enjoy say said told"
        " tell know think mean remember please 喜欢 喜歡 爱 愛 好き"
    )
)
"""Words that add nothing to what is told."""
_HAN_OR_KATAKANA = re.compile(r"[\u30a1-\u30ff\u3400-\u9fff]")


def says_again(new: str, old: str) -> bool:
    """Return whether all telling words of a text are in another, which denies and counts alike.

    >>> says_again("As I said, I love green tea!", "Ann likes green tea.")
    True
    >>> says_again("I never drink tea", "Ann drinks tea."), says_again("两只猫", "三只猫")
    (False, False)
    """
    words = set(_content_words(new)) - _FILLERS
    if not words or not words <= set(_content_words(old)):
        return False
    counted = (set(NUMERAL.findall(fold_style(text))) for text in (new, old))
    denies = (bool(_DENIAL.search(fold_style(text))) for text in (new, old))
    return next(counted) <= next(counted) and next(denies) == next(denies)


def says_opposite(new: str, old: str, names: Iterable[str] = ()) -> bool:
    """Return whether a text denies what another affirms in the same words, or the other way round.

    It has two thirds of the other's words, not counting `names`, and one of the two has no negation
    at all. What tells of an end ("until") is no opposite of "not any more".

    >>> says_opposite("Ann eats meat.", "I don't eat meat"), says_opposite("安喜欢茶", "我不喜欢茶")
    (True, True)
    >>> says_opposite("Ann likes tea, not coffee.", "I like tea")
    False
    >>> says_opposite("Ann stopped smoking.", "I don't smoke")
    False
    """
    for name in filter(None, names):
        new, old = new.replace(name, " "), old.replace(name, " ")
    words = set(_content_words(old))
    shared = words.intersection(_content_words(new))
    if not shared or len(shared) < SAME_SHARE * len(words) or _ENDS.search(f"{old}\n{new}"):
        return False
    clauses = [_CLAUSE.split(_NO_NEGATION.sub(" ", fold_style(text))) for text in (old, new)]
    denying = [one for one in clauses if any(map(_DENIAL.search, one))]
    return len(denying) == 1 and _denies(denying[0], shared)


def _denies(clauses: Iterable[str], words: Set[str]) -> bool:
    """Return whether clauses deny one of the words, and affirm none: "not X" and not "Y, not X"."""
    telling = [clause for clause in clauses if words & set(_content_words(clause))]
    if not all(map(_DENIAL.search, telling)):
        return False
    return any(words & set(_beside_negations(clause)) for clause in telling)


def _beside_negations(clause: str) -> Iterator[str]:
    for match in _DENIAL.finditer(clause):
        yield from _content_words(clause[match.end() :])[:DENIED_WORDS]
        if _SUFFIX.match(match[0]):
            yield from _content_words(clause[: match.start()])[-DENIED_WORDS:]


def _content_words(text: str) -> list[str]:
    """Return the stems of words, and the characters that are not Hiragana, without negations."""
    found = (one for one in terms(text) if is_spaced(one) or _HAN_OR_KATAKANA.fullmatch(one))
    return [one for one in found if not _DENIAL.search(one)]
