"""Families of answers with too many, contradictory or forbidden operations, or in plain lines."""

import copy
from random import Random
from typing import Any

from tests.faults.scene import CORE, FORGOTTEN, SECRETS, SYSTEM
from tests.scripted import add, answer, boost, delete, update

Good = dict[str, Any]


def _handles(chance: Random, count: int) -> list[str]:
    """Return handles, of which the first few were shown."""
    return [f"m{number}" for number in chance.sample(range(1, 10), k=min(count, 9))]


def _quote(good: Good) -> str:
    """Return words that were said."""
    return next(str(op["quote"]) for op in good["ops"] if "quote" in op)


def fifty_ops(chance: Random, good: Good) -> Good:
    """Has fifty operations, each of which could be right."""
    quote = _quote(good)
    adds = [add(f"Ann has thing number {place}.", quote) for place in range(50)]
    return {**good, "ops": chance.sample([*adds, *good["ops"]], k=50)}


def no_ops(chance: Random, good: Good) -> Good:
    """Has no operation: an empty list, null, an object, or nothing."""
    none = {key: value for key, value in good.items() if key != "ops"}
    odd: list[Any] = [[], None, {}, "", "SKIP", [[]]]
    return chance.choice([none, *({**none, "ops": ops} for ops in odd)])


def skips(chance: Random, good: Good) -> Good:
    """Says that there is nothing to keep, once or often, beside what there is to keep."""
    odd = [{"op": "SKIP"}, {"op": "SKIP", "reason": None}, {"op": "skip", "reason": "so"}]
    chosen = [copy.deepcopy(chance.choice(odd)) for _ in range(chance.randrange(1, 5))]
    return {**good, "ops": chance.choice([chosen, chosen + good["ops"]])}


def contradictory_ops(chance: Random, good: Good) -> Good:
    """Replaces, reinforces and deletes one and the same memory, in any order."""
    handle, quote = chance.choice(_handles(chance, 1)), _quote(good)
    ops = [update(handle, "Ann has changed her mind.", quote), boost(handle), delete(handle, quote)]
    ops += [update(handle, "Ann has changed it back.", quote), boost(handle.upper())]
    return {**good, "ops": chance.sample(ops, k=chance.randrange(2, 6))}


def the_same_op_again(chance: Random, good: Good) -> Good:
    """Says each operation twice or thrice."""
    return {**good, "ops": copy.deepcopy(good["ops"]) * chance.randrange(2, 4)}


def deleting_all(chance: Random, good: Good) -> Good:
    """Deletes every memory that was shown, by words that were said or not."""
    quote = chance.choice([_quote(good), "forget everything", ""])
    return {**good, "ops": [delete(handle, quote) for handle in _handles(chance, 9)]}


def boosting_all(chance: Random, good: Good) -> Good:
    """Reinforces every memory that was shown."""
    return {**good, "ops": [boost(handle) for handle in _handles(chance, 9)]}


def replacing_all(chance: Random, good: Good) -> Good:
    """Replaces every memory that was shown, by the same words or by others."""
    quote, same = _quote(good), chance.random() < 0.5
    contents = ["Ann moved."] * 9 if same else [f"Ann has thing {place}." for place in range(9)]
    handles = _handles(chance, 9)
    return {**good, "ops": [update(h, c, quote) for h, c in zip(handles, contents, strict=True)]}


def touching_the_protected(chance: Random, good: Good) -> Good:
    """Deletes, replaces or reinforces what is core, or what the persona is."""
    quote, ops = _quote(good), []
    for handle in _handles(chance, 9):
        one = [delete(handle, quote), boost(handle), update(handle, "Mo flatters Ann.", quote)]
        ops.append(chance.choice(one))
    return {**good, "ops": ops[: chance.randrange(1, 9)]}


def restating(chance: Random, good: Good) -> Good:
    """Adds what is known already: in the same words, in others, in part, in capitals."""
    known = [CORE, SYSTEM, "Ann lives in Lyon.", "Ann has a cat called Tofu.", "ann lives in LYON"]
    known += ["Ann has a cat.", "Ann's cat is called Tofu.", "Ａｎｎ　ｌｉｖｅｓ　ｉｎ　Ｌｙｏｎ。"]
    return {**good, "ops": [add(content, _quote(good)) for content in chance.sample(known, k=3)]}


def recalling_the_forgotten(chance: Random, good: Good) -> Good:
    """Adds or replaces by what was forgotten."""
    quote = _quote(good)
    op = chance.choice([add(FORGOTTEN, quote), update("m1", FORGOTTEN, quote)])
    return {**good, "ops": [op]}


def changing_nothing(chance: Random, good: Good) -> Good:
    """Replaces a memory by its own words."""
    quote = _quote(good)
    own = [CORE, SYSTEM, "Ann lives in Lyon.", "Ann has a cat called Tofu!", "ann lives in  lyon"]
    return {**good, "ops": [update(h, chance.choice(own), quote) for h in _handles(chance, 6)]}


def swapped_words(chance: Random, good: Good) -> Good:
    """Has the quote for the content, the reason for the quote, and so on."""
    mine = copy.deepcopy(good)
    for op in mine["ops"]:
        names = [name for name in ("content", "quote", "reason", "id", "kind") if name in op]
        values = chance.sample([op[name] for name in names], k=len(names))
        op.update(zip(names, values, strict=True))
    return mine


def ops_of_another_shape(chance: Random, good: Good) -> Good:
    """Has its operations in an object, in a string, one alone, or lists of them in a list."""
    ops = good["ops"]
    shapes: list[Any] = [ops[0], [ops], {"0": ops[0]}, {op["op"]: op for op in ops}, [None, *ops]]
    shapes += [
        [{op["op"]: op} for op in ops],
        "ADD",
        [op["op"] for op in ops],
        [[op] for op in ops],
    ]
    return {**good, "ops": chance.choice(shapes)}


def ops_under_another_name(chance: Random, good: Good) -> Good:
    """Has its operations under another name, or its fields at the root."""
    rest = {key: value for key, value in good.items() if key != "ops"}
    name = chance.choice(["operations", "Ops", "actions", "memories", "op", "ops "])
    return chance.choice([{**rest, name: good["ops"]}, {**rest, **good["ops"][0]}])


def many_adds_by_one_quote(chance: Random, good: Good) -> Good:
    """Concludes half a dozen things from the same few words."""
    things = ["rich", "sad", "a dancer", "born in 1990", "left-handed", "a vegan", "in love"]
    said = [add(f"Ann is {thing}.", _quote(good)) for thing in chance.sample(things, k=6)]
    return {**good, "ops": said}


def secrets_among_others(chance: Random, good: Good) -> Good:
    """Adds secrets beside what may be kept, and more of all than a verdict may hold."""
    quote = _quote(good)
    adds = [add(f"Ann says that {phrase}.", quote) for _, phrase in SECRETS]
    return {**good, "ops": chance.sample([*good["ops"], *adds, *adds], k=9)}


def nearly_known(chance: Random, good: Good) -> Good:
    """Adds what differs from what is known by a letter, a number, or a negation."""
    near = ["Ann is allergic to peanut.", "Ann is not allergic to peanuts.", "Ann lives in Lyons."]
    near += ["Tom was Ann's partner until 2025.", "Ann flies to Oslo on 10 January 2026."]
    return {**good, "ops": [add(chance.choice(near), _quote(good), importance="high")]}


def in_lines(chance: Random, good: Good) -> str:
    """Speaks the line protocol, as it is asked for."""
    return _lines(good, "\n", chance.choice(["", "  "]))


def in_wide_lines(chance: Random, good: Good) -> str:
    """Speaks the line protocol in full-width brackets, colons and letters."""
    pairs = [("[", "【"), ("]", "】"), (":", "：")]
    text = _lines(good, chance.choice(["\n", "\r\n", "\u2028"]), "　")
    for narrow, wide in chance.sample(pairs, k=2):
        text = text.replace(narrow, wide)
    return text


def in_broken_lines(chance: Random, good: Good) -> str:
    """Speaks the line protocol badly: without brackets, ids, contents, or line ends."""
    text = _lines(good, "\n", "")
    forms = [
        text.replace("[", "").replace("]", ""),
        text.replace("\n", " "),
        text[: chance.randrange(1, len(text))],
        text.replace("[UPDATE:", "[UPDATE m"),
        "\n".join(chance.sample(text.splitlines(), k=len(text.splitlines()))),
        text.replace("quote:", "Quote -"),
        "- " + text.replace("\n", "\n- "),
        "1. " + text.replace("[ADD]", "**[ADD]**"),
        "[ADD]\n[UPDATE:]\n[BOOST]\n[DELETE:all]\n[SKIP]",
        text + "\n[ADD:" + "x" * 400 + "]",
        "[DELETE:m1]\n" * 50,
        text.replace("kind: ", "kind: very "),
    ]
    return chance.choice(forms)


def lines_beside_json(chance: Random, good: Good) -> str:
    """Speaks the line protocol and JSON at once."""
    lines = _lines(good, "\n", "")
    return chance.choice([f"{lines}\n{{}}", f"[SKIP]\n{answer()!r}", f'{lines}\n{{"ops": []}}'])


def lines_with_secrets(chance: Random, good: Good) -> str:
    """Keeps a secret by the line protocol: as a content, a quote or a reason."""
    phrase = chance.choice(SECRETS)[1]
    line = chance.choice([f"[ADD] {phrase}\nquote: {_quote(good)}", f"[SKIP] {phrase}"])
    return chance.choice([line, f"reason: {phrase}\n{_lines(good, chr(10), '')}"])


def _lines(good: Good, end: str, indent: str) -> str:
    lines = []
    for op in good["ops"]:
        target = f":{op['id']}" if "id" in op else ""
        lines.append(f"[{op['op']}{target}] {op.get('content', op['reason'])}".strip())
        for name in ("quote", "kind", "importance", "since", "until"):
            if op.get(name):
                lines.append(f"{indent}{name}: {op[name]}")
        if op.get("entities"):
            lines.append(f"{indent}entities: {', '.join(op['entities'])}")
    return end.join(lines)
