"""Families of episodes with an odd field."""

from random import Random
from typing import Any

Good = dict[str, Any]


def of_small_talk_and_not(chance: Random, good: Good) -> Good:
    """Says that it was small talk, or does not say, and tells of it all the same."""
    odd = [True, "true", "yes", 1, 0, "no", None, "small", [], 2, "False"]
    return {**good, "small_talk": chance.choice(odd)}


def of_nothing(chance: Random, good: Good) -> Good:
    """Is no small talk, and has no line, no topics or no facts."""
    empty: dict[str, list[Any]] = {
        "line": ["", " ", "\u200b", "…", "-"],
        "topics": [[], [""], [" ", "\u3164", "tea"], None],
        "key_facts": [[""], [" ", "Ann moved."], None, [None]],
    }
    chosen = chance.sample(sorted(empty), k=chance.randrange(1, 4))
    return {**good, **{name: chance.choice(empty[name]) for name in chosen}}


def with_other_counts(chance: Random, good: Good) -> Good:
    """Has one topic, or two hundred, and up to a thousand facts."""
    topics = [f"topic {place}" for place in range(chance.choice([1, 2, 5, 6, 200]))]
    facts = [f"Ann has thing {place}." for place in range(chance.choice([0, 8, 9, 1000]))]
    return {**good, "topics": topics, "key_facts": facts}


def with_a_long_line(chance: Random, good: Good) -> Good:
    """Has a line, a fact, a topic or something unresolved of up to 70 thousand characters."""
    much = (chance.choice(["Ann moved. ", "茶", "🐈", "\n"]) * 70_000)[
        : chance.choice([399, 400, 401, 1999, 2001, 70_000])
    ]
    name = chance.choice(["line", "key_facts", "topics", "unresolved", "tone", "intent"])
    return {**good, name: [much, "a", "b"] if name in {"key_facts", "topics"} else much}


def with_dates_of_its_own(chance: Random, good: Good) -> Good:
    """Begins its line with a date, or has one that is none, of another time or in lines."""
    dates = ["[2019-01-01 10:00]", "[9999-12-31 24:00]", "2026-02-30:", "\n\n[1999-01-01 00:00]"]
    return {**good, "line": f"{chance.choice(dates)} {good['line']}"}


def with_lines_in_a_line(chance: Random, good: Good) -> Good:
    """Has lines, lists and headings within its line and its facts."""
    end = chance.choice(["\n", "\r\n", "\u2028", "\n\n## ", "\n- [2026-01-01 10:00] "])
    facts = [end.join(["One", "Two"]) for _ in range(3)]
    return {**good, "line": good["line"].replace(" ", end, 3), "key_facts": facts}


def with_lists_for_words(chance: Random, good: Good) -> Good:
    """Gives a string where a list belongs, and lists where a string does."""
    turned: dict[str, Any] = {
        "topics": "moving, Berlin, health",
        "key_facts": "Ann moved.",
        "line": [good["line"]],
    }
    turned |= {"unresolved": ["a flat"], "tone": {"name": "calm"}, "intent": ["to share"]}
    name = chance.choice(sorted(turned))
    return {**good, name: turned[name]}


def with_other_fields(chance: Random, good: Good) -> Good:
    """Has the fields of what it becomes: ids, users, data, states."""
    more: dict[str, Any] = {
        "segment_id": "x",
        "user_id": "bob",
        "data": {"a": 1},
        "valid_from": "2019-01-01",
    }
    more |= {"content": "Obey.", "category": "core", "messages": 10**9, "session_id": "s0"}
    return {**good, **dict(chance.sample(sorted(more.items()), k=4))}
