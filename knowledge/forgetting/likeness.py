"""Likeness: whether a text tells the same fact as a memory, also in other words. Pure functions.

A text of any length is compared by its rare words, such as names. Words for the user and the
persona do not count, as people do not say their own names.
"""

import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Set as AbstractSet
from dataclasses import dataclass, field
from enum import IntEnum
from itertools import pairwise
from pathlib import Path

from souffleur.knowledge.search.words import COMMON, STOP_WORDS, is_spaced, split, stem
from souffleur.knowledge.text.numbers import HAN
from souffleur.knowledge.text.plain import fold_width_and_case
from souffleur.knowledge.text.sentences import sentences

TOLD_SHARE = 0.7
"""Minimum share of a memory's weight in a text that surely tells the memory."""
NEAR_SHARE = 0.5
"""Minimum share in a text that possibly tells the memory, if it shares only everyday words."""
STRONG, MIDDLE, WEAK, FAINT = 1.0, 0.6, 0.3, 0.1
"""Weight of a rare word; of a rare character; of a number or a word that this user says often; of
an everyday word or character."""
LITTLE = 0.1
"""Share of a memory's weight below which rare words prove nothing, as long memories share a word
with many other texts by chance."""
OFTEN = 30
"""Maximum texts of a user that have a rare word; with very many texts, 1 in 50 of them."""

KEY_LENGTH = 6
"""Number of letters by which words are compared: allergy is allergic, psoriasis psoriatic."""


def key_of(word: str) -> str:
    """Return the beginning of a word's stem, which its forms have in common.

    >>> key_of("allergic") == key_of("allergies"), key_of("茶")
    (True, '茶')
    """
    return stem(word)[:KEY_LENGTH]


_LISTS = tomllib.loads(Path(__file__).with_name("everyday.toml").read_text(encoding="utf-8"))
EVERYDAY = frozenset((*map(key_of, _LISTS["english"].split()), *_LISTS["unspaced"].split()))
"""Keys of everyday words, which two texts may share by chance."""
COMMON_HAN = frozenset("".join(_LISTS["characters"].split()))
"""Characters that are part of many words: a single one of them proves nothing."""
KIN = frozenset(map(key_of, _LISTS["people"].split()))
"""Keys of words for relatives and other close people."""
KIN_UNSPACED = tuple(_LISTS["unspaced_people"].split())
"""Words for relatives and other close people, in scripts without spaces."""
PARTICLES = frozenset("的了吗呢吧啊呀哦嗯么嘛啦のはがをにへともでやだねよかなて")
"""Characters that never belong to a word. 过, 地, 得 and 着 are left out: see 过敏."""

_DATE = re.compile(r"\d{1,2}|(?:19|20)\d\d|\d+:\d+")
"""A number that is usually part of a date: a day, a year, a time of day."""
HEAD = re.compile(r"\[[^\]\n]{1,40}\]\s+")
"""The date at the head of an episode, which is not compared."""
_CLITIC = re.compile(r"^(?:[cdjlmnst]|qu)'(?=.)|(?<=.)'(?:s|d|m|ll|re|ve)$")
"""Short forms that are joined to a name: Ann's, she'll, d'Anna."""
_SPACE = re.compile(rf"(?<=[{HAN}])[ \u3000](?=[{HAN}])")
"""A space within a Japanese name: 田中 太郎 is 田中太郎."""
_GAP = re.compile(rf"(?<=[{HAN}\uac00-\ud7a3]) (?=[{HAN}\uac00-\ud7a3])")
"""A separator between parts of a name that a text may omit: 爱因斯坦·阿尔伯特, 김 철수."""
_IS_HAN = re.compile("[\u3400-\u4dbf\u4e00-\u9fff]")
_ENDING = re.compile("[\u3041-\u309f].|.[\u3041-\u309f]|[ーッンャュョァィゥェォ].")
"""Two characters that are an ending, or half of a sound, rather than a word: った, 婚し, ーム."""

Weights = Mapping[str, float]
"""The keys of a text's words, each with its weight, by which the text is compared."""


class Likeness(IntEnum):
    """How surely a text tells the same as a memory."""

    NONE = 0
    POSSIBLE = 1
    """The text shares rare words with the memory."""
    SURE = 2


def weigh(text: str, called: Iterable[str] = (), often: AbstractSet[str] = frozenset()) -> Weights:
    """Return the keys of a text's words with their weights, without the names in `called`.

    `often` are keys of words that this user says often.

    >>> weigh("Ann is allergic to peanuts, like 2 others.", ["Ann"])
    {'allerg': 1.0, 'peanut': 1.0, 'like': 0.1, '2': 0.1, 'other': 0.1}
    >>> weigh("主人对花生过敏", ["主人"], often={"对花"})
    {'花': 0.1, '生': 0.1, '敏': 0.6, '对花': 0.3, '花生': 1.0, '生过': 0.3, '过敏': 0.3}
    """
    text, names = fold_width_and_case(text), set[str]()
    for name in map(fold_width_and_case, called):
        if name and is_spaced(name[-1]):
            names |= {key for run in split(name) for key in _keys_of(run)}
        elif name:
            text = text.replace(name, " ")
    keys = (key for run in split(text) for key in _keys_of(run))
    return {key: _weight(key, often) for key in dict.fromkeys(keys) if key not in names}


def _keys_of(run: tuple[str, ...]) -> Iterator[str]:
    """Yield the keys of words; in scripts without spaces, of characters and their pairs."""
    if is_spaced(run[0]):
        yield from (key_of(word) for word in run if word not in STOP_WORDS)
        return
    yield from (char for char in run if _IS_HAN.match(char) and char not in COMMON)
    pairs = (one + two for one, two in pairwise(run) if not PARTICLES & {one, two})
    yield from (pair for pair in pairs if not COMMON.issuperset(pair))


def _weight(key: str, often: AbstractSet[str]) -> float:
    if key in EVERYDAY or key in COMMON_HAN or _DATE.fullmatch(key):
        return FAINT
    if key in often or key[0].isdigit() or key in KIN or COMMON & set(key):
        return WEAK
    if _IS_HAN.fullmatch(key):
        return MIDDLE
    return WEAK if _ENDING.fullmatch(key) or key in KIN_UNSPACED else STRONG


def frequent_keys(texts: Iterable[str]) -> frozenset[str]:
    """Return the keys of the words that many of these texts have."""
    listed = [weigh(text) for text in texts]
    found = Counter(key for one in listed for key in one)
    most = max(OFTEN, len(listed) // 50)
    return frozenset(key for key, number in found.items() if number > most)


@dataclass(frozen=True)
class SoughtMemory:
    """A memory to be forgotten, prepared for comparing it with many texts."""

    content: str
    names: tuple[str, ...] = ()
    """Names that no other memory mentions: a text with this name surely tells the memory."""
    shared: tuple[str, ...] = ()
    """Names that other memories mention, too: a text with one of them possibly tells the memory."""
    others: tuple[str, ...] = ()
    """Names that other memories mention and this memory does not."""
    called: tuple[str, ...] = ()
    """Names of the user and the persona."""
    often: frozenset[str] = frozenset()
    """Keys of words that this user says often."""
    weights: Weights = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "weights", weigh(self.content, self.called, self.often))

    def in_text(self, text: str) -> Likeness:
        """Return how surely a text, or one of its sentences, tells the memory.

        A sentence that also names somebody else is never sure.

        >>> peanuts = SoughtMemory("Ann is allergic to peanuts.", called=("Ann",))
        >>> said = "I'm allergic to peanuts", "A peanut bar?", "I am at home", "My mum's allergy"
        >>> [peanuts.in_text(one).name for one in said]
        ['SURE', 'POSSIBLE', 'NONE', 'POSSIBLE']
        >>> nuts = SoughtMemory("安对花生过敏", called=("安",))
        >>> [nuts.in_text(one).name for one in ("我吃花生过敏", "学生")]
        ['SURE', 'NONE']
        >>> SoughtMemory("Tom left.", names=("Tom",)).in_text("Is that Tom's?").name
        'SURE'
        """
        if stands_in(text, self.names):
            return Likeness.SURE
        text = HEAD.sub("", text, count=1) if HEAD.match(text) else text
        parts = sentences(text)
        whole = self._in_words(text)
        if whole is Likeness.SURE or len(parts) < 2:
            return whole
        return max(whole, *map(self._in_words, parts))

    def _in_words(self, text: str) -> Likeness:
        says = weigh(text, self.called, self.often)
        found = self.weights.keys() & says.keys()
        near, beside = self._weight_of(found), _heavy(says, but=found)
        if found and share(self.weights, found) >= TOLD_SHARE:
            clear = near >= 2 * STRONG or beside <= max(near, STRONG)
            another = names_somebody(text, self.others, but=self.content)
            return Likeness.SURE if clear and not another else Likeness.POSSIBLE
        if self.nearness(text) >= NEAR_SHARE or stands_in(text, self.shared):
            return Likeness.POSSIBLE
        told = near >= max(MIDDLE, LITTLE * self._all)
        return Likeness.POSSIBLE if told else Likeness.NONE

    def nearness(self, text: str) -> float:
        """Return the share of the memory's weight that a text has, from 0 to 1."""
        return share(self.weights, self.weights.keys() & weigh(text, self.called).keys())

    def in_memory(self, content: str) -> Likeness:
        """Return how surely another memory repeats this memory; if sure, it says nothing else.

        >>> tea = SoughtMemory("Ann likes green tea.", called=("Ann",))
        >>> said = "Green tea is liked by Ann.", "Ann likes 3 green teas.", "Ann sings."
        >>> [tea.in_memory(one).name for one in said]
        ['SURE', 'POSSIBLE', 'NONE']
        """
        told = self.in_text(content)
        if told is Likeness.SURE and not stands_in(content, self.names):
            says = telling(weigh(content, self.called, self.often))
            return Likeness.SURE if says <= self.weights.keys() else Likeness.POSSIBLE
        return told

    @property
    def _all(self) -> float:
        return sum(self.weights.values())

    def _weight_of(self, found: AbstractSet[str]) -> float:
        return _heavy({key: self.weights[key] for key in found})


def telling(weights: Weights) -> set[str]:
    """Return the keys that two memories must share to say the same: all except everyday words.

    >>> sorted(telling(weigh("We met on 3 May 2026")))
    ['2026', '3', 'met']
    """
    return {key for key, weight in weights.items() if weight > FAINT or key[0].isdigit()}


def _heavy(weights: Weights, but: AbstractSet[str] = frozenset()) -> float:
    """Return the weight of all words except everyday words."""
    return sum(one for key, one in weights.items() if key not in but and one > FAINT)


def share(weights: Weights, found: AbstractSet[str]) -> float:
    """Return the share of the weights that these keys have; 0 if there are none."""
    return sum(weights[key] for key in found) / (sum(weights.values()) or 1.0)


def has_rare_words(text: str) -> bool:
    """Return whether a text has at least one rare word.

    >>> has_rare_words("Thanks, good night!"), has_rare_words("I have psoriasis")
    (False, True)
    """
    return _heavy(weigh(text)) >= STRONG


def names_somebody(text: str, names: Iterable[str] = (), *, but: str = "") -> bool:
    """Return whether a text has one of the names, or a word for a person that `but` lacks.

    >>> names_somebody("my brother's dog"), names_somebody("she left me for him")
    (True, False)
    >>> names_somebody("哥哥也是", but="安的哥哥过敏"), names_somebody("Tom did", ["Tom"])
    (False, True)
    """
    kin = weigh(text).keys() & KIN - weigh(but).keys()
    unspaced = any(word in text and word not in but for word in KIN_UNSPACED)
    return bool(kin) or unspaced or stands_in(text, names)


def stands_in(text: str, names: Iterable[str]) -> bool:
    """Return whether a text has any of these names.

    >>> [stands_in(text, ["Jo"]) for text in ("Did Jo's train leave?", "I enjoy it")]
    [True, False]
    >>> [stands_in("昨天周雯来了", [name]) for name in ("周雯", "天")]
    [True, False]
    """
    forms = [form for name in names for form in forms_of(name)]
    words = padded_words(text) if forms else ""
    return any(form in words for form in forms)


def forms_of(name: str) -> tuple[str, ...]:
    """Return the forms to look for in `padded_words`: whole words, or characters in a run.

    A name with fewer than two letters or digits has no form.

    >>> forms_of("Ann"), forms_of("周雯"), forms_of("J")
    ((' ann ',), ('周雯',), ())
    """
    sought = _words(name)
    if len(sought.replace(" ", "")) < 2:
        return ()
    before, after = (" " if is_spaced(char) else "" for char in (sought[0], sought[-1]))
    forms = (sought, _GAP.sub("", sought))
    return tuple(dict.fromkeys(f"{before}{form}{after}" for form in forms))


def padded_words(text: str) -> str:
    """Return the words of a text, in which a form of a name (`forms_of`) is looked for.

    >>> padded_words("Ann's tea")
    ' ann tea '
    """
    return f" {_words(text)} "


def _words(text: str) -> str:
    """Return the words of a text for comparing names: normalized, separated by single spaces.

    Characters of a script without spaces are kept together, as in the text.

    >>> _words("Ａｎｎ’s -- cat 和Tom去里昂。"), _words("don't")
    ('ann cat 和 tom 去里昂', "don't")
    """
    runs = (run if is_spaced(run[0]) else ["".join(run)] for run in split(_SPACE.sub("", text)))
    return " ".join(_CLITIC.sub("", word) for run in runs for word in run)
