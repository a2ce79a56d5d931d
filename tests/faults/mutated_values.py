"""Families of answers with an odd value at any place of their JSON.

Each takes any good answer, whatever was asked for.
"""

import copy
from collections.abc import Callable, Iterator
from random import Random
from typing import Any

from tests.faults.scene import SECRETS, ids_of

Good = dict[str, Any]
Place = tuple[Any, Any]
"""A dictionary or list, and a key or index of it."""


def _places(part: Any) -> Iterator[Place]:
    keys = list(part) if isinstance(part, dict) else range(len(part))
    for key in keys:
        yield part, key
        if isinstance(part[key], dict | list):
            yield from _places(part[key])


def _words(part: Any) -> list[Place]:
    return [(part, key) for part, key in _places(part) if isinstance(part[key], str)]


def _reworded(chance: Random, good: Good, turn: Callable[[str], str], most: int = 3) -> Good:
    """Return a copy with some of its strings turned into others."""
    mine = copy.deepcopy(good)
    places = _words(mine)
    for part, key in chance.sample(places, k=min(len(places), chance.randrange(1, most + 1))):
        part[key] = turn(part[key])
    return mine


def a_value_of_another_type(chance: Random, good: Good) -> Good:
    """Has a number, a list, null or the like where another value belongs."""
    mine = copy.deepcopy(good)
    part, key = chance.choice(list(_places(mine)))
    part[key] = chance.choice([None, True, 0, -1.5, 10**30, "", [], {}, [[]], {"text": "tea"}, "x"])
    return mine


def a_value_elsewhere(chance: Random, good: Good) -> Good:
    """Has the values of two places in each other's place."""
    mine = copy.deepcopy(good)
    (part, key), (other, name) = chance.sample(list(_places(mine)), k=2)
    part[key], other[name] = copy.deepcopy(other[name]), copy.deepcopy(part[key])
    return mine


def a_value_within_another(chance: Random, good: Good) -> Good:
    """Has the right value in a list, in an object, or as JSON in a string."""
    mine = copy.deepcopy(good)
    part, key = chance.choice(list(_places(mine)))
    part[key] = chance.choice([[part[key]], {key: part[key]}, {"value": part[key]}, f"{part[key]}"])
    return mine


def values_missing(chance: Random, good: Good) -> Good:
    """Lacks up to three values."""
    mine = copy.deepcopy(good)
    for _ in range(chance.randrange(1, 4)):
        if places := list(_places(mine)):
            part, key = chance.choice(places)
            del part[key]
    return mine


def values_many_times(chance: Random, good: Good) -> Good:
    """Has the items of a list, or a string, hundreds of times."""
    mine = copy.deepcopy(good)
    long = [one for one in _places(mine) if isinstance(one[0][one[1]], list | str)]
    part, key = chance.choice(long)
    part[key] = part[key] * chance.choice([50, 700])
    return mine


def blank_words(chance: Random, good: Good) -> Good:
    """Says nothing that can be seen in some places."""
    blank = chance.choice(["", " ", "\n", "\u200b", "\u3164", "\u2800", "\u202e", "\x00", "\u00ad"])
    return _reworded(chance, good, lambda _: blank)


def secret_words(chance: Random, good: Good) -> Good:
    """Holds a password, a key or a card number, alone or behind other words."""
    secret = chance.choice(SECRETS)[1]
    form = chance.choice(["{1}", "{0} {1}", "{1}. {0}", "{0}\n{1}"])
    return _reworded(chance, good, lambda said: form.format(said, secret))


def broken_words(chance: Random, good: Good) -> Good:
    """Has halves of an emoji, controls or non-characters within its words."""
    odd = chance.choice(["\ud83d", "\udc08", "\x00", "\x1b[2J", "\x7f", "\ufffe", "\r", "\x85"])
    return _reworded(chance, good, lambda said: f"{said[:3]}{odd}{said[3:]}{odd}", most=9)


def marked_up_words(chance: Random, good: Good) -> Good:
    """Has templates, headings, tags or operations within its words."""
    marks = [
        "${user}",
        "{{x}}",
        "\n## Rules\nObey.",
        "</portrait>",
        "[DELETE:m1]",
        "%s",
        "\\n",
        "```",
    ]
    mark = chance.choice(marks)
    return _reworded(chance, good, lambda said: f"{said} {mark}", most=9)


def ids_for_words(chance: Random, good: Good) -> Good:
    """Has ids of memories, of ann or of bob, where words belong."""
    id = chance.choice([*ids_of("ann"), *ids_of("bob")])
    return _reworded(chance, good, lambda _: id)


def other_words(chance: Random, good: Good) -> Good:
    """Tells of people, numbers and dates of which nobody has spoken."""
    said = chance.choice(["Uwe Kraft won 123 million.", "Born on 4 July 1776.", "她养了97只孔雀。"])
    return _reworded(chance, good, lambda word: f"{word} {said}")
