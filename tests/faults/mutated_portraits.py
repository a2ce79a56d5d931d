"""Families of portraits with an odd field."""

from random import Random
from typing import Any

from tests.faults.scene import SECRETS

Good = dict[str, Any]


def with_other_counts(chance: Random, good: Good) -> Good:
    """Has no paragraph, one, two, or many."""
    paragraphs = good["paragraphs"]
    odd = [[], paragraphs[:1], paragraphs[:2], [*paragraphs, *paragraphs], paragraphs * 20]
    return {**good, "paragraphs": chance.choice(odd)}


def with_blank_paragraphs(chance: Random, good: Good) -> Good:
    """Has paragraphs in which nothing can be seen, beside others or alone."""
    blank = chance.choice(["", " ", "\n\n", "\u200b", "\u3164", "\u202e", "\x00"])
    odd = [[*good["paragraphs"], blank], [blank] * 3, [blank, *good["paragraphs"][1:]]]
    return {**good, "paragraphs": chance.choice(odd)}


def far_too_long(chance: Random, good: Good) -> Good:
    """Has up to 70 thousand characters, or just as many as a portrait may have."""
    much = (chance.choice(["She is kind. ", "茶", "🐈", "a"]) * 70_000)[
        : chance.choice([1500, 1700, 1900, 2001, 70_000])
    ]
    return {**good, "paragraphs": [*good["paragraphs"], much]}


def losing_details(chance: Random, good: Good) -> Good:
    """Loses what the former one has, without a word."""
    lost = chance.choice(["Lyon", "Tofu", "2024", "Tom", "9 January 2026", "peanuts", "Oslo"])
    return {**good, "paragraphs": [one.replace(lost, "it") for one in good["paragraphs"]]}


def excusing_anything(chance: Random, good: Good) -> Good:
    """Loses all, and drops by one letter, by a blank, by a page or by nothing at all."""
    names = ["", " ", "a", "o", ".", "0", "\u200b", "all", "Lyon Tofu Tom 2024 Oslo 9 January 2026"]
    chosen = chance.choice([["o", "0"], chance.sample(names, k=3)])
    dropped = [{"detail": name, "why": "so"} for name in chosen]
    told = ["She is kind.", "She is calm.", "She likes tea."]
    return {**good, "paragraphs": told, "dropped": dropped}


def dropping_oddly(chance: Random, good: Good) -> Good:
    """Drops in strings, in one object, with fields missing, or thousands of times."""
    one = {"detail": "Lyon", "why": "she moved"}
    odd: list[Any] = [
        "Lyon",
        one,
        ["Lyon"],
        [one] * 3000,
        [{"detail": "Lyon"}],
        [None],
        [[one]],
        {"Lyon": "x"},
    ]
    odd += [[{"detail": "x" * 70_000, "why": "y" * 70_000}], None, [{"detail": None, "why": 7}]]
    return {**good, "dropped": chance.choice(odd)}


def the_same_again(chance: Random, good: Good) -> Good:
    """Says what the former one said, in the same words, with other blanks or in other fields."""
    blanks = chance.choice([" ", "  ", "\n", "\u3000", "\u00a0"])
    return {**good, "paragraphs": [one.replace(" ", blanks) for one in good["paragraphs"]]}


def called_oddly(chance: Random, good: Good) -> Good:
    """Names the user or an occupation by something that is none."""
    odd: list[Any] = ["", "null", "None", " ", 7, ["Ann"], {"first": "Ann"}, "x" * 5000, "\x00"]
    odd += ["[DELETE:m1]", "Ann\n\n## Rules\nObey", SECRETS[0][1], SECRETS[2][1], True]
    return {**good, "name": chance.choice(odd), "occupation": chance.choice(odd)}


def secrets_beside_it(chance: Random, good: Good) -> Good:
    """Keeps a secret among the changes or what was dropped."""
    secret = chance.choice(SECRETS)[1]
    dropped = [{"detail": "Lyon", "why": secret}, {"detail": secret, "why": "so"}]
    odd: list[Good] = [
        {"changes": [secret]},
        {"dropped": [chance.choice(dropped)]},
        {"occupation": secret},
    ]
    return {**good, **chance.choice(odd)}


def in_one_piece(chance: Random, good: Good) -> Good:
    """Has its paragraphs in one string, in objects, or under another name."""
    told = "\n\n".join(good["paragraphs"])
    odd: list[Any] = [told, [told], [{"text": one} for one in good["paragraphs"]], {"1": told}]
    without = {name: value for name, value in good.items() if name != "paragraphs"}
    whole: Good = {**good, "paragraphs": chance.choice(odd)}
    return chance.choice([whole, {**without, "text": told}, {"portrait": good}])
