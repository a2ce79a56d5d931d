"""How texts are compared: whether a quote was said, whether two say the same, and what is new."""

import re
import unicodedata
from collections.abc import Iterator

from souffleur.knowledge.language.lexical import is_spaced, split
from souffleur.knowledge.language.plain_text import fold_width_and_case

_QUOTES = dict.fromkeys(map(ord, "‘’‚‛‹›′‵`´ʼ＇"), "'") | dict.fromkeys(
    map(ord, "“”„‟«»″‶「」『』〝〞〟｢｣＂"), '"'
)
_DASHES = dict.fromkeys(map(ord, "‐‑‒–—―⸺⸻−﹘﹣－"), "-")
_STOPS = {ord("。"): ".", ord("｡"): ".", ord("、"): ",", ord("､"): ","}
_STYLE = _QUOTES | _DASHES | _STOPS

_INVISIBLE = re.compile(r"[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0f\uffa0]")
_DASH_RUN = re.compile(r"-{2,}")
_ELLIPSIS = re.compile(r"[\[(]?\.{3,}[\])]?")
_EDGES = "\"'.,"
_MINUS = re.compile(r"(?<![a-z0-9-])-(?=\d)")
_TELLING = "#%&@"
"""Punctuation that carries sense: C#, 50%, R&B."""

_NUMERAL = re.compile(r"[〇零一二三四五六七八九十百千万亿两兩萬億]+")
_NEGATION = re.compile(
    r"\b(?:not|no|never|none|nobody|nothing|cannot|without|neither|nor)\b|n't\b"
    r"|[不没沒未無无]|ない|なか|ません|(?<![가-힣])[안못](?![가-힣])|[없않]"
)


def normalize_quote(text: str) -> str:
    r"""The text without white space and invisible characters, in one width, case and quote style.

    NFKC and case folding (Unicode Standard, 3.13, D146); runs of dashes are one.

    >>> normalize_quote("He said:\n“Ｔｅａ　ｔｉｍｅ”"), normalize_quote("我 说——「喝茶。」")
    ('hesaid:"teatime"', '我说-"喝茶."')
    """
    return _DASH_RUN.sub("-", unicodedata.normalize("NFKC", "".join(_fold_style(text).split())))


def find_quote(quote: str, text: str) -> bool:
    """Whether the quote is in the text, normalised; its parts in order, if it has ellipses.

    Quotation marks and full stops around a part may be the quoter's own. A quote without a letter,
    digit or symbol is never found.

    >>> find_quote("moved to lyon.", "Yes, I moved to  LYON last week")
    True
    >>> find_quote("我……喝绿茶", "我以前喝咖啡，现在喝绿茶了"), find_quote("", "我喝茶")
    (True, False)
    """
    sought, whole = normalize_quote(quote), normalize_quote(text)
    if not normalize_text(sought):
        return False
    if sought in whole:
        return True
    at = 0
    for part in filter(None, (part.strip(_EDGES) for part in _ELLIPSIS.split(sought))):
        found = whole.find(part, at)
        if found < 0:
            return False
        at = found + len(part)
    return True


def normalize_text(text: str) -> str:
    """The text normalised and without punctuation, save what tells numbers and names apart.

    >>> normalize_text("She's 30, and lives in Lyon!"), normalize_text("她 30 岁，住里昂。")
    ('shes30andlivesinlyon', '她30岁住里昂')
    >>> [normalize_text(text) for text in ("3.11", "C#", "room 1 23", "room 12 3")]
    ['3.11', 'c#', 'room1 23', 'room12 3']
    """
    kept: list[str] = []
    gap = ""
    for char in _MINUS.sub("−", _DASH_RUN.sub("-", _fold_style(text))):
        if char.isspace() or (unicodedata.category(char)[0] == "P" and char not in _TELLING):
            gap += "" if char.isspace() and gap.endswith(" ") else " " if char.isspace() else char
            continue
        if gap and char.isdigit() and kept and kept[-1].isdigit():
            kept.append(gap)
        kept.append(char)
        gap = ""
    return unicodedata.normalize("NFKC", "".join(kept))


def says_same(a: str, b: str) -> bool:
    """Whether two texts say the same but for width, case, spacing and punctuation.

    >>> says_same("Ann likes tea.", "ann likes  TEA"), says_same("安喜欢茶", "安不喜欢茶")
    (True, False)
    """
    return normalize_text(a) == normalize_text(b)


def adds_nothing(new: str, old: str) -> bool:
    """Whether all that `new` says is in `old`: each word in the same order, each pair of
    characters, each numeral and negation. A negation left out is new as well.

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
        and set(_NUMERAL.findall(_fold_style(new))) <= set(_NUMERAL.findall(_fold_style(old)))
        and set(_NEGATION.findall(_fold_style(new))) == set(_NEGATION.findall(_fold_style(old)))
        and _in_order(_words(new), _words(old))
        and bool(_pairs(new) or _words(new))
    )


def _fold_style(text: str) -> str:
    """In one width, case and quote style, without invisible characters; white space stays."""
    shown = "".join(
        char
        for char in _INVISIBLE.sub("", text)
        if char.isspace() or unicodedata.category(char) not in ("Cc", "Cf", "Cs")
    )
    return fold_width_and_case(shown.translate(_STYLE)).translate(_STYLE)


def _pairs(text: str) -> set[str]:
    """Characters and pairs of characters of scripts without spaces."""
    runs = ["".join(run) for run in split(text) if not is_spaced(run[0])]
    return {run[at : at + size] for run in runs for size in (1, 2) for at in range(len(run))}


def _words(text: str) -> list[str]:
    return [word for run in split(text) if is_spaced(run[0]) for word in run]


def _in_order(part: list[str], whole: list[str]) -> bool:
    """Whether `part` is `whole` with words left out."""
    rest: Iterator[str] = iter(whole)
    return all(word in rest for word in part)
