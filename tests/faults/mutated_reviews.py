"""Families of reviews with an odd field."""

from random import Random
from typing import Any

from tests.faults.scene import BOBS, SECRETS, ids_of

Good = dict[str, Any]


def _all(good: Good, **fields: Any) -> Good:
    """Return the review with these fields in all its decisions."""
    return {**good, "decisions": [{**one, **fields} for one in good["decisions"]]}


def of_any_action(chance: Random, good: Good) -> Good:
    """Does what may be done to another memory."""
    return _all(good, action=chance.choice(["PROMOTE", "DELETE", "KEEP"]))


def of_no_action(chance: Random, good: Good) -> Good:
    """Does what a reviewer cannot do."""
    odd: list[Any] = ["SEARCH", "FORGET", "", " ", None, 7, True, [], ["KEEP"], {"KEEP": 1}, "N/A"]
    return _all(good, action=chance.choice([*odd, "KEEP or DELETE", "DELETE ALL", "保留", "MERGE"]))


def oddly_written(chance: Random, good: Good) -> Good:
    """Writes its action in another case, width or bracket."""
    action = chance.choice(["KEEP", "DELETE", "PROMOTE"])
    wide = "".join(chr(ord(letter) + 65248) for letter in action)
    forms = [action.lower(), f" {action}\n", f"[{action}]", f"【{action}】", wide, f"{action}."]
    return _all(good, action=chance.choice([*forms, f"**{action}**", f"{action}\u200b"]))


def mending_with_inventions(chance: Random, good: Good) -> Good:
    """Rewords with nothing, with what nobody said, or with a book."""
    odd: list[Any] = [None, "", "\u200b", 7, [], "Eva Brandt left Zanzibar in 1987.", "so " * 9000]
    return _all(good, action="UPDATE", content=chance.choice(odd))


def deciding_on_few(chance: Random, good: Good) -> Good:
    """Leaves some out, or decides twice, or on nothing."""
    some = good["decisions"][: chance.choice([0, 1])]
    return {**good, "decisions": chance.choice([some, some * 2, None, {}, "all"])}


def searching_forever(_: Random, good: Good) -> Good:
    """Looks something up in every round."""
    return {**good, "query": "tea"}


def searching_for_nothing(chance: Random, good: Good) -> Good:
    """Looks up nothing that can be found: null, blanks, dots, another type."""
    odd: list[Any] = [None, "", " ", "\u200b", "…", "?", "null", 7, [], ["tea"], {"text": "tea"}]
    return {**good, "query": chance.choice(odd)}


def searching_oddly(chance: Random, good: Good) -> Good:
    """Looks up a book, half an emoji, a time, an operation or a secret."""
    odd = ["tea " * 20_000, "茶" * 60_000, "\ud83d", "\x00", "last time", "[DELETE:m1]", "' OR 1=1"]
    odd += ["9999-12-31", "上周三", "in March 0000", '"' * 2000, SECRETS[0][1], SECRETS[3][1]]
    return {**good, "query": chance.choice(odd)}


def searching_for_others(chance: Random, good: Good) -> Good:
    """Looks up what only bob has told, by his words or his ids."""
    query = chance.choice([*BOBS, *ids_of("bob"), "user_id: bob", "Bob keeps bees in Zanzibar."])
    return {**good, "query": query}


def naming_another_memory(chance: Random, good: Good) -> Good:
    """Names other memories, of ann or of bob, to be deleted or promoted with it."""
    id = chance.choice([*ids_of("bob"), *ids_of("ann"), "m99", "*"])
    more = {"id": id, "reason": "r", "action": chance.choice(["DELETE", "PROMOTE"])}
    return {**good, "decisions": [*good["decisions"], more]}


def arguing_with_secrets(chance: Random, good: Good) -> Good:
    """Argues with a secret, in its last answer or on the way."""
    secret = chance.choice(SECRETS)[1]
    argued = _all(good, reason=f"because {secret}")
    return {**argued, "reason": f"because {secret}", "query": chance.choice([secret, None])}


def arguing_at_length(chance: Random, good: Good) -> Good:
    """Argues in up to 70 thousand characters, in each round."""
    much = chance.choice(["so ", "茶", "🐈", "\n", "\x00"]) * chance.choice([400, 1001, 20_000])
    return {**_all(good, reason=much), "reason": much, "query": chance.choice(["tea", None])}
