"""Comparison of texts: whether a quote was said, and whether two texts agree or disagree."""

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Set
from itertools import chain, islice, takewhile
from math import inf
from typing import NamedTuple, TypeVar

from souffleur.knowledge.search.words import is_spaced, split, terms
from souffleur.knowledge.text.han_variants import to_simplified
from souffleur.knowledge.text.numbers import number_keys
from souffleur.knowledge.text.plain import fold_width_and_case

_QUOTES = dict.fromkeys(map(ord, "‘’‚‛‹›′‵`´ʼ＇"), "'") | dict.fromkeys(
    map(ord, "“”„‟«»″‶「」『』〝〞〟｢｣＂"), '"'
)
_DASHES = dict.fromkeys(map(ord, "‐‑‒–—―⸺⸻−﹘﹣－"), "-")
_STOPS = {ord("。"): ".", ord("｡"): ".", ord("、"): ",", ord("､"): ","}
T = TypeVar("T")

_STYLE = _QUOTES | _DASHES | _STOPS

_INVISIBLE = re.compile(r"[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0f\uffa0]")
_DASH_RUN = re.compile(r"-{2,}")
_ELLIPSIS = re.compile(r"[\[(]?\.{3,}[\])]?")
_EDGES = "\"'.,"
_MINUS = re.compile(r"(?<![a-z0-9-])-(?=\d)")
LETTERS_PER_TYPO = 10
"""Number of letters of a quote for which a single typo may be corrected."""
MIN_MENDED = 5
"""Minimum length of a word with a corrected typo: in short words, a letter changes the meaning."""
MAX_PLACES = 100
"""Maximum places of a text that are compared with a quote for typos."""
_SIGNED = re.compile(r"[#%&@]|(?<![a-z0-9-])-\d+")
"""Signs that distinguish words and numbers besides letters and digits."""
_CAPITALISED = re.compile(r"\b[A-ZÀ-ÖØ-Þ]\w+")
_HAN = re.compile(r"[\u3400-\u9fff]")
_TELLING = "#%&@"
"""Punctuation that is part of the meaning: C#, 50%, R&B."""

NUMERAL = re.compile(r"[〇零一二三四五六七八九十百千万亿两兩萬億]+")
NEGATION = re.compile(
    r"\b(?:not|no|never|none|nobody|nothing|cannot|without|neither|nor)\b|n't\b"
    r"|[不没沒未無无]|ない|なか|ません|(?<![가-힣])[안못](?![가-힣])|[없않]"
)

SAME_SHARE = 2 / 3
"""Minimum share of a text's words in another text that says the opposite."""
DENIED_WORDS = 2
"""Number of words next to a negation that it denies: "doesn't really like"."""
_CLAUSE = re.compile(
    r"[,.;:!?\n…]|\b(?:but|and|because|though)\b|但|而|却|けど|から"
    r"|(?=不是|\bnot (?:the|an?|my|on|in|at)\b)"
)
"""A gap between clauses, or before a contrast: "on the 19th not the 9th"."""
_DENIAL = re.compile(
    rf"{NEGATION.pattern}|(?<![特区區告分性级級个個辨送])[别別](?![人的墅处處致名扭])"
)
_SUFFIX = re.compile("ない|なか|ません")
"""Negations after the denied word."""
_NO_NEGATION = re.compile(
    r"\b(?:not only|no doubt|no wonder|no problem|(?:can't|cannot) wait)\b|不[过過](?!敏)"
    r"|不[但仅僅只止管论論如久少错錯断斷时時同]|[没沒][错錯事]|差不多|不得不|忍不住|[对對]不起|无论|無論"
)
"""Phrases with a negation that deny nothing."""
_ENDS = re.compile(
    r"\b(?:stop|quit|g[ai]ve[sn]? up|avoid|refus|lack|fail|miss|instead|hate|dislike|used to|former"
    r"|any ?more|no longer|until|since|only|except|rather|unable|non-)"
    r"|戒|停|辞|拒|讨厌|討厭|以前|从前|從前|已|曾|搬|改|やめ|辞め|嫌|苦手",
    re.IGNORECASE,
)
"""Words that deny or report a change without a negation."""
_FILLERS = frozenset(
    terms(
        "oh ah well yes yeah ok really always again still much lot love like enjoy say said told"
        " tell know think mean remember please 喜欢 喜歡 爱 愛 好き"
    )
)
"""Words without a meaning of their own."""
_HAN_OR_KATAKANA = re.compile(r"[\u30a1-\u30ff\u3400-\u9fff]")


def normalize_quote(text: str) -> str:
    r"""Return the text without white space and invisible characters, in one width and case.

    Quotation marks and dashes get a single style, and a run of dashes becomes a single dash.

    >>> normalize_quote("He said:\n“Ｔｅａ　ｔｉｍｅ”"), normalize_quote("我 说——「喝茶。」")
    ('hesaid:"teatime"', '我说-"喝茶."')
    """
    return _DASH_RUN.sub("-", unicodedata.normalize("NFKC", "".join(fold_style(text).split())))


def find_quote(quote: str, text: str) -> bool:
    """Return whether the text contains the quote, or its parts in order if it has ellipses.

    Both are normalized. Quotation marks and full stops around a part are ignored. A quote without a
    letter, digit or symbol is never found. A quote may lack emphasis, emoji and punctuation of the
    text. It may correct a typo in every ten letters, but not in numbers, negations or names.

    >>> find_quote("moved to lyon.", "Yes, I moved to  LYON last week")
    True
    >>> find_quote("我……喝绿茶", "我以前喝咖啡，现在喝绿茶了"), find_quote("", "我喝茶")
    (True, False)
    >>> find_quote("I really love jazz", "I *really* love **jazz** 🎷"), find_quote("cat", "cats")
    (True, True)
    """
    sought, whole = normalize_quote(quote), normalize_quote(text)
    if not normalize_text(sought):
        return False
    if sought in whole:
        return True
    parts = [part.strip(_EDGES) for part in _ELLIPSIS.split(sought)]
    return _follow(whole, filter(None, parts), _find_exact) or _find_words(quote, text)


def _follow(whole: T, parts: Iterable[T], find: Callable[[T, T, int], int]) -> bool:
    """Return whether all parts are found in order; `find` returns the end of a found part."""
    at = 0
    for part in parts:
        at = find(whole, part, at)
        if at < 0:
            return False
    return True


def _find_exact(whole: str, part: str, at: int) -> int:
    found = whole.find(part, at)
    return found if found < 0 else found + len(part)


def _find_words(quote: str, text: str) -> bool:
    """Return whether the text has the words of the quote, apart from typos."""
    folded = fold_style(quote)
    if not set(_SIGNED.findall(folded)) <= set(_SIGNED.findall(fold_style(text))):
        return False
    parts = [list(chain(*split(part))) for part in _ELLIPSIS.split(to_simplified(folded))]
    names = {word.casefold() for word in _CAPITALISED.findall(quote)}

    def find_near(whole: list[str], part: list[str], at: int) -> int:
        return _find_near(whole, part, at, names)

    return any(parts) and _follow(
        list(chain(*split(to_simplified(text)))), filter(None, parts), find_near
    )


def _find_near(whole: list[str], part: list[str], at: int, names: Set[str]) -> int:
    """Return the end of a part that begins at an index or later; -1 if it is not there.

    The part is cut into more pieces than allowed typos, so a piece without a typo exists: that
    piece is looked for first.
    """
    allowed = min(sum(map(len, part)) // LETTERS_PER_TYPO, len(part) - 1)
    size = len(part) // (allowed + 1)
    for offset in range(0, size * (allowed + 1), size):
        starts = _starts(whole, part[offset : offset + size], at + offset)
        for start in islice(starts, MAX_PLACES):
            said = whole[start - offset : start - offset + len(part)]
            if len(said) == len(part) and _typos(said, part, names) <= allowed:
                return start - offset + len(part)
    return -1


def _starts(whole: list[str], piece: list[str], at: int) -> Iterator[int]:
    while True:
        try:
            at = whole.index(piece[0], at)
        except ValueError:
            return
        if whole[at : at + len(piece)] == piece:
            yield at
        at += 1


def _typos(said: list[str], meant: list[str], names: Set[str]) -> float:
    """Return the number of corrected words; infinity if a corrected word has another meaning."""
    other = [pair for pair in zip(said, meant, strict=True) if pair[0] != pair[1]]
    mended = all(two not in names and _is_typo(one, two) for one, two in other)
    return len(other) if mended else inf


def _is_typo(one: str, two: str) -> bool:
    """Return whether two words differ in a letter (not the first), or in two swapped letters.

    >>> _is_typo("realy", "really"), _is_typo("freind", "friend"), _is_typo("like", "liked")
    (True, True, False)
    """
    words = (one, two)
    if any(NEGATION.search(word) or number_keys(word) for word in words):
        return False
    if all(_HAN.fullmatch(word) for word in words):
        return True
    if min(map(len, words)) < MIN_MENDED or not all(map(str.isalpha, words)):
        return False
    same = len(list(takewhile(lambda pair: pair[0] == pair[1], zip(one, two, strict=False))))
    if not same:
        return False
    rest, other = one[same:], two[same:]
    turned = rest[:2] == other[1::-1] and rest[2:] == other[2:]
    return turned or rest[1:] == other[1:] or rest[1:] == other or rest == other[1:]


def normalize_text(text: str) -> str:
    """Return the text normalized, and without punctuation except in numbers and names.

    >>> normalize_text("She's 30, and lives in Lyon!"), normalize_text("她 30 岁，住里昂。")
    ('shes30andlivesinlyon', '她30岁住里昂')
    >>> [normalize_text(text) for text in ("3.11", "C#", "room 1 23", "room 12 3")]
    ['3.11', 'c#', 'room1 23', 'room12 3']
    """
    kept: list[str] = []
    gap = ""
    for char in _MINUS.sub("−", _DASH_RUN.sub("-", fold_style(text))):
        if char.isspace() or (unicodedata.category(char)[0] == "P" and char not in _TELLING):
            gap += "" if char.isspace() and gap.endswith(" ") else " " if char.isspace() else char
            continue
        if gap and char.isdigit() and kept and kept[-1].isdigit():
            kept.append(gap)
        kept.append(char)
        gap = ""
    return unicodedata.normalize("NFKC", "".join(kept))


def says_same(a: str, b: str) -> bool:
    """Return whether two texts differ only in width, case, spacing and punctuation.

    >>> says_same("Ann likes tea.", "ann likes  TEA"), says_same("安喜欢茶", "安不喜欢茶")
    (True, False)
    """
    return normalize_text(a) == normalize_text(b)


def adds_nothing(new: str, old: str) -> bool:
    """Return whether everything that `new` says is already in `old`.

    All its words, in the same order, and all pairs of characters, numerals and negations must be in
    `old`. A negation that is left out counts as new.

    >>> adds_nothing("Ann likes tea", "Ann likes green tea"), adds_nothing("喜欢绿茶", "安喜欢绿茶")
    (True, True)
    >>> adds_nothing("Ann has 3 cats", "Ann has 2 cats"), adds_nothing("安不喜欢茶", "安喜欢茶")
    (False, False)
    >>> adds_nothing("喜欢茶", "安不喜欢茶"), adds_nothing("Bob owes Ann", "Ann owes Bob")
    (False, False)
    """
    if says_same(new, old):
        return True
    return (
        _pairs(new) <= _pairs(old)
        and set(NUMERAL.findall(fold_style(new))) <= set(NUMERAL.findall(fold_style(old)))
        and set(NEGATION.findall(fold_style(new))) == set(NEGATION.findall(fold_style(old)))
        and _in_order(_words(new), _words(old))
        and bool(_pairs(new) or _words(new))
    )


def fold_style(text: str) -> str:
    """Return the text in one width, case and quote style, without invisible characters.

    White space is kept.
    """
    shown = "".join(
        char
        for char in _INVISIBLE.sub("", text)
        if char.isspace() or unicodedata.category(char) not in ("Cc", "Cf", "Cs")
    )
    return fold_width_and_case(shown.translate(_STYLE)).translate(_STYLE)


def _pairs(text: str) -> set[str]:
    """Return the characters and pairs of characters in scripts without spaces."""
    runs = ["".join(run) for run in split(text) if not is_spaced(run[0])]
    return {run[at : at + size] for run in runs for size in (1, 2) for at in range(len(run))}


def _words(text: str) -> list[str]:
    return [word for run in split(text) if is_spaced(run[0]) for word in run]


def _in_order(part: list[str], whole: list[str]) -> bool:
    """Return whether `part` is `whole` without some of its words."""
    rest: Iterator[str] = iter(whole)
    return all(word in rest for word in part)


class Statement(NamedTuple):
    """What a text says, to be compared with other texts."""

    words: frozenset[str]
    """Its content words."""
    numbers: frozenset[str]
    denies: bool
    """Whether it has a negation."""


def statement(text: str) -> Statement:
    """Return what a text says."""
    folded = fold_style(text)
    numbers = frozenset(NUMERAL.findall(folded))
    return Statement(frozenset(_content_words(text)), numbers, bool(_DENIAL.search(folded)))


def says_again(new: Statement, old: Statement) -> bool:
    """Return whether another text has all content words of a text, its negations and numbers.

    >>> old = statement("Ann likes green tea.")
    >>> says_again(statement("As I said, I love green tea!"), old)
    True
    >>> says_again(statement("I never like tea"), old), says_again(statement("2 green teas"), old)
    (False, False)
    """
    words = new.words - _FILLERS
    same = bool(words) and words <= old.words
    return same and new.numbers <= old.numbers and new.denies == old.denies


def says_opposite(new: str, old: str, names: Iterable[str] = ()) -> bool:
    """Return whether one of two texts denies the other in the same words.

    `new` has two thirds of the words of `old`, not counting `names`, and exactly one text has a
    negation. A text about an end ("until") is never an opposite.

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
    """Return whether clauses deny a word and affirm no word: "not X", but not "Y, not X"."""
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
    """Return the stems of words, and the characters except Hiragana, without negations."""
    found = (one for one in terms(text) if is_spaced(one) or _HAN_OR_KATAKANA.fullmatch(one))
    return [one for one in found if not _DENIAL.search(one)]
