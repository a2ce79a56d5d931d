"""Terms of a text, their weights (BM25), English stems and stop words."""

import math
import re
import unicodedata
from collections import defaultdict
from functools import lru_cache
from zlib import crc32

from snowballstemmer import stemmer

from souffleur.knowledge.store.engine.collection import Collection, Filter, Sparse
from souffleur.knowledge.text.han_variants import spellings, to_simplified
from souffleur.knowledge.text.plain import fold_width_and_case

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


K1 = 1.2
"""The parameter k1 of BM25: with a smaller value, repetitions of a term add less."""
B = 0.4
"""The parameter b of BM25, 0 to 1: the effect of length; low, as memories have similar lengths."""
AVERAGE_LENGTH = 32
"""Average number of terms of a text. A constant, so that stored vectors never become stale."""
LONE_CHARACTER_WEIGHT = 0.5
"""Weight in a query of a single character within a run; other terms have 1."""

_UNSPACED = (
    r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"  # Thai, Lao, Burmese, Khmer
    r"\u1100-\u11ff\uac00-\ud7ff"  # Hangul
    r"\u3005-\u3007\u3041-\u3096\u3099\u309a\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff"
    r"\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U000323af"
)
# Python's \w lacks the marks that are the vowels of Hindi and related scripts.
_MARKS = "".join(chr(c) for c in range(0x300, 0x2000) if unicodedata.category(chr(c))[0] == "M")
_SPACED = rf"(?:[^\W_{_UNSPACED}]|[{_MARKS}](?<![{_UNSPACED}]))"
_WORD = rf"{_SPACED}+(?:(?:(?<=\d)[.:](?=\d)|'){_SPACED}+)*"
_WORDS = re.compile(_WORD)
_RUNS = re.compile(rf"(?P<compound>{_WORD}(?:[-_.]{_WORD})*)|[{_UNSPACED}]+")
_KANA = re.compile(r"[\u3041-\u30ff]")
"""Characters that only Japanese uses; its 机 is a desk and not a simplified 機."""
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_APOSTROPHES = str.maketrans("’‘ʼ＇", "''''")
_PARTICLES = frozenset("的了吗呢吧啊呀哦嗯着过地得么嘛啦のはがをにへともでやだねよかなて")
"""Particles; neither they nor pairs with them are terms, as they are not parts of words."""
COMMON = _PARTICLES | frozenset(
    "我你他她它您们咱自己谁这那哪个些此其每各另一二两几多少不没无非别是在有和与及或而但就也都又再还只才刚"
    "很太更最真挺好大小来去到上下里外中前后出起回开过要会能可想应该得说看听做用给让把被对跟从向往为因以于"
    "如若所之什怎样种次件事情时候点天年月日今明昨早现在正已将便即并且虽然吧人起来"
)
"""Characters of function words, time and talk: terms only in a pair with another character."""


def split(text: str) -> list[tuple[str, ...]]:
    """Return the runs of a text, normalized: a word, a compound's words, or a run's characters.

    Normalized are width and case (NFKC), apostrophes, and commas in numbers.

    >>> split("Ann's GPT-4.1 costs １,200円！")
    [("ann's",), ('gpt', '4.1'), ('costs',), ('1200',), ('円',)]
    >>> split("私は 9:30に")
    [('私', 'は'), ('9:30',), ('に',)]
    """
    return [
        tuple(_WORDS.findall(run[0])) if run["compound"] else tuple(run[0])
        for run in _RUNS.finditer(_normalize_tokens(text))
    ]


def is_spaced(token: str) -> bool:
    """Return whether a token is a word of a script with spaces, and not a character without.

    >>> is_spaced("tea"), is_spaced("茶")
    (True, False)
    """
    return _WORDS.match(token) is not None


def terms(text: str) -> list[str]:
    """Return the terms of a text, in order and with repetitions, in simplified characters.

    >>> terms("The cats liked Python-3.11!")
    ['cat', 'like', 'python-3.11', 'python', '3.11']
    >>> terms("我喜歡綠茶")
    ['喜', '欢', '绿', '茶', '我喜', '喜欢', '欢绿', '绿茶']
    """
    return [term for term, _ in _weighted(to_simplified(text))]


@lru_cache(maxsize=8192)
def words_of(text: str) -> frozenset[str]:
    """Return the terms of a memory's text, each once; every recall asks for those of many again.

    >>> sorted(words_of("Tea, and more tea!"))
    ['more', 'tea']
    """
    return frozenset(terms(text))


def encode_document(text: str) -> Sparse:
    """Return the document part of BM25: saturated term frequencies. The engine adds the IDF.

    Robertson & Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond" (2009), 3.15.

    >>> encode_document("tea")
    Sparse(indices=(2391201714,), values=(1.2680115273775219,))
    """
    found = [term for term, _ in _weighted(text)]
    counts: dict[int, int] = defaultdict(int)
    for term in found:
        counts[_number(term)] += 1
    norm = K1 * (1 - B + B * len(found) / AVERAGE_LENGTH)
    return _sparse({id: count * (K1 + 1) / (count + norm) for id, count in counts.items()})


def encode_query(text: str) -> Sparse:
    """Return each term once; a single character in a run has less weight than its pairs.

    Chinese characters are looked for as traditional and as simplified ones.

    >>> encode_query("喝茶").values, encode_query("茶").values
    ((0.5, 1.0, 0.5), (1.0,))
    >>> encode_query("绿") == encode_query("綠")
    True
    """
    weights: dict[int, float] = {}
    japanese = _KANA.search(text)
    for term, weight in _weighted(text if japanese else to_simplified(text)):
        for spelling in (term,) if japanese or is_spaced(term) else spellings(term):
            number = _number(spelling)
            weights[number] = max(weight, weights.get(number, 0.0))
    return _sparse(weights)


async def lexical_scale(collection: Collection, corpus: Filter) -> float:
    """Return about the score of a term that only one point of the corpus has."""
    return math.log1p(await collection.count(corpus)) or 1.0


def lexical_nearness(score: float, scale: float) -> float:
    """Return a nearness from 0 to 1; a term that only one point has gives about 0.5."""
    return score / (score + scale) if score > 0 else 0.0


def _normalize_tokens(text: str) -> str:
    return _THOUSANDS.sub("", fold_width_and_case(text.translate(_APOSTROPHES)))


def _weighted(text: str) -> list[tuple[str, float]]:
    found: list[tuple[str, float]] = []
    for run in _RUNS.finditer(_normalize_tokens(text)):
        whole = run[0]
        if not run["compound"]:
            weight = LONE_CHARACTER_WEIGHT if len(whole) > 1 else 1.0
            found += [(char, weight) for char in whole if char not in COMMON]
            pairs = (whole[at : at + 2] for at in range(len(whole) - 1))
            found += [(pair, 1.0) for pair in pairs if _tells(pair)]
            continue
        words = _WORDS.findall(whole)
        if len(words) > 1:
            found.append((whole, 1.0))
        found += [(stem(word), 1.0) for word in words if word not in STOP_WORDS]
    return found


def _tells(pair: str) -> bool:
    """Return whether a pair of characters is worth searching: it can be (part of) a word."""
    return not (_PARTICLES & set(pair)) and not COMMON.issuperset(pair)


def _number(term: str) -> int:
    return crc32(term.encode())


def _sparse(weights: dict[int, float]) -> Sparse:
    return Sparse(tuple(sorted(weights)), tuple(weights[id] for id in sorted(weights)))
