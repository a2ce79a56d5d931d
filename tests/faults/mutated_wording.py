"""Families of answers that are worded oddly: cut off, wrapped, doubled, or no JSON at all.

Each takes any good answer, whatever was asked for.
"""

import html
import json
import pprint
from random import Random
from typing import Any

from tests.stub import Behaviour, say

Good = dict[str, Any]


def _text(good: Good, **options: Any) -> str:
    return json.dumps(good, **{"ensure_ascii": False, **options})


def cut_anywhere(chance: Random, good: Good) -> str:
    """Cuts the answer off at any character, in a string, a name, a number or between them."""
    text = _text(good)
    return text[: chance.randrange(1, len(text))]


def cut_after_a_mark(chance: Random, good: Good) -> str:
    """Cuts it off right behind a comma, a colon, a bracket or a quotation mark."""
    text = _text(good)
    marks = [place for place, char in enumerate(text[:-1]) if char in ',:[]{}"']
    return text[: chance.choice(marks) + 1]


def cut_in_an_escape(chance: Random, good: Good) -> str:
    r"""Cuts it off within an escape such as \u4e2d."""
    text = _text({**good, "reason": "中🍵\n\t" + str(good.get("reason"))}, ensure_ascii=True)
    escapes = [place for place, char in enumerate(text) if char == "\\"]
    return text[: chance.choice(escapes) + chance.randrange(1, 5)]


def cut_before_the_end(chance: Random, good: Good) -> str:
    """Lacks its last brackets only."""
    return _text(good)[: -chance.randrange(1, 4)]


def cut_at_the_limit(chance: Random, good: Good) -> Behaviour:
    """Is cut off, and says so; or says so although it is whole."""
    text = _text(good)
    return say(text[: chance.choice([len(text) // 3, len(text) - 1, len(text)])], finish="length")


def without_its_beginning(chance: Random, good: Good) -> str:
    """Begins in its midst, as from a server that lost the first tokens."""
    text = _text(good)
    return text[chance.randrange(1, len(text)) :]


def fenced(chance: Random, good: Good) -> str:
    """Stands in a fence, well- or ill-formed, with any label."""
    label = chance.choice(["json", "JSON", "jsonc", "", "python", "{.json}", "json title=a.json"])
    ends = ["\n```", "", "```", "\n````", "\n~~~", "\n``` and so on", "\n```\n```"]
    start = chance.choice(["```", "````", "~~~", "` ``", "\n\n```", "Here:\n```"])
    return f"{start}{label}\n{_text(good, indent=chance.choice([None, 2]))}{chance.choice(ends)}"


def fenced_twice(chance: Random, good: Good) -> str:
    """Stands in two fences: the same, a draft before it, or a part of it behind it."""
    other = chance.choice([good, {**good, "reason": "a draft"}, {"ops": []}])
    return f"```json\n{_text(other)}\n```\nor rather\n```json\n{_text(good)}\n```"


def cut_within_a_fence(chance: Random, good: Good) -> str:
    """Begins with a fence and ends before it does."""
    text = f"```json\n{_text(good, indent=2)}\n```"
    return text[: chance.randrange(3, len(text) - 4)]


def thought_aloud(chance: Random, good: Good) -> str:
    """Comes after thoughts, which hold drafts, tags or no end tag of their own."""
    tag = chance.choice(["think", "thinking", "thought", "THINK", "reasoning", "scratchpad"])
    thought = chance.choice(
        ['Perhaps {"ops": []}?', _text(good), f"<{tag}>", "she said <b>no</b>", "{", "```json\n{"]
    )
    begin = chance.choice([f"<{tag}>\n", f" <{tag}>", ""])
    end = chance.choice([f"\n</{tag}>\n\n", f"</{tag}>", "", f"</{tag}></{tag}>"])
    return f"{begin}{thought}{end}{_text(good)}"


def thought_within(chance: Random, good: Good) -> str:
    """Holds the tags of thoughts within its strings."""
    reason = chance.choice(["a </think> b", "<think>", "<think>x</think>", "</think>\n{}"])
    return _text({**good, "reason": reason})


def only_thoughts(chance: Random, good: Good) -> str:
    """Never comes to an end of its thoughts."""
    return "<think>" + chance.choice(["Hm. ", _text(good), "is it? " * 500])


def chatty(chance: Random, good: Good) -> str:
    """Stands in prose, with braces and brackets of its own."""
    before = ["Sure! Here you go: ", "{sigh} ", '{"note" is no JSON} ', "[1] ", "好的：", 'A "b". ']
    after = ["\nAnything else?", " {ok}", " :-}", ' {"done": true}', "\n\n[end]", "}", "]"]
    return chance.choice(before) + _text(good) + chance.choice(after)


def prose(chance: Random, _: Good) -> str:
    """Says it in words, refuses in words, or says nothing."""
    said = ["Nothing worth remembering.", "I'm sorry, but I can't help with that.", "", " \n\t "]
    return chance.choice(
        [*said, "抱歉，我无法处理这个请求。", "ADD: she moved to Berlin", "OK", "…"]
    )


def twice(chance: Random, good: Good) -> str:
    """Says it twice, in the same or in other words, side by side or line by line."""
    other = chance.choice([good, {**good, "reason": "another"}, {**good, "extra": 1}])
    return _text(good) + chance.choice(["", "\n", ", ", " or "]) + _text(other)


def in_an_array(chance: Random, good: Good) -> str:
    """Is an array: of the answer, of several, of its parts, or of nothing."""
    parts = good.get("ops") or list(good.values())
    odd: list[Any] = [[good], [good, good], parts, [], [[good]], [None], [good, None]]
    return json.dumps(chance.choice(odd), ensure_ascii=False)


def of_another_root(chance: Random, good: Good) -> str:
    """Is JSON of another kind: a number, a string, null, or an empty object."""
    odd: list[Any] = [None, True, 42, -0.0, "", "yes", {}, {"": {}}, [[]], {"reason": "so"}]
    return json.dumps(chance.choice([*odd, _text(good)]))


def wrapped(chance: Random, good: Good) -> str:
    """Stands within another object, or in a string of one."""
    key = chance.choice(["answer", "result", "output", "json", "arguments", "properties", "ops"])
    return _text({key: chance.choice([good, _text(good), [good], {key: good}])})


def a_string_of_json(chance: Random, good: Good) -> str:
    """Is encoded twice or thrice."""
    text = _text(good)
    for _ in range(chance.randrange(1, 4)):
        text = json.dumps(text, ensure_ascii=False)
    return text


def of_python(chance: Random, good: Good) -> str:
    """Is a literal of Python, not JSON: single quotes, None, True."""
    return chance.choice([repr(good), pprint.pformat(good), f"answer = {good!r}"])


def loosely_written(chance: Random, good: Good) -> str:
    """Is JSON as a person writes it: commas too many, comments, names without quotes."""
    text = _text(good, indent=2)
    loose = [
        text.replace("\n}", ",\n}"),
        text.replace("}", ",}"),
        text.replace("\n", " // so\n", 1),
        text.replace('"reason":', "reason:"),
        text.replace('"', "'"),
        text.replace(",\n", "\n"),
        text.replace("null", "None").replace("false", "False"),
        text + ";",
        text.replace('"ops"', '"ops" /* all */'),
    ]
    return chance.choice(loose)


def of_full_width(chance: Random, good: Good) -> str:
    """Has full-width brackets, colons, commas or quotation marks."""
    wide = [
        ("{", "｛"),
        ("}", "｝"),
        (":", "："),
        (",", "，"),
        ('"', "＂"),
        ('"', "”"),
        ("[", "【"),
    ]
    text = _text(good)
    for narrow, broad in chance.sample(wide, k=chance.randrange(1, 4)):
        text = text.replace(narrow, broad)
    return text


def with_double_keys(chance: Random, good: Good) -> str:
    """Names a field twice, with the same or with another value."""
    text, value = _text(good), chance.choice(['"x"', "null", "[]", "{}", "7"])
    key = chance.choice(sorted(good))
    return chance.choice([f'{{"{key}": {value}, {text[1:]}', f'{text[:-1]}, "{key}": {value}}}'])


def with_no_numbers(chance: Random, good: Good) -> str:
    """Holds NaN, Infinity, or numbers beyond all bounds."""
    value = chance.choice(["NaN", "Infinity", "-Infinity", "1e999", "-1E+400", "9" * 5000, "0x1F"])
    return f'{{"confidence": {value}, {_text(good)[1:]}'


def with_a_byte_order_mark(chance: Random, good: Good) -> str:
    """Begins with a byte order mark, or has some between its tokens."""
    text, mark = _text(good), "\ufeff"
    return chance.choice([mark + text, text + mark, text.replace(", ", f",{mark}", 1), mark * 3])


def with_other_line_ends(chance: Random, good: Good) -> str:
    """Has CRLF, CR, U+2028, U+0085 or form feeds between its tokens, or raw in its strings."""
    end = chance.choice(["\r\n", "\r", "\u2028", "\u2029", "\x85", "\x0c", "\x0b"])
    text = _text(good, indent=1).replace("\n", end)
    return chance.choice([text, _text(good).replace(" ", end), text.replace("\\n", end)])


def with_raw_controls(chance: Random, good: Good) -> str:
    """Has control characters raw in its strings: line ends, NUL, escape, delete."""
    control = chance.choice(["\n", "\t", "\x00", "\x1b[31m", "\x7f", "\x08"])
    return _text(good).replace(" ", control + " ", chance.randrange(1, 9))


def escaped_for_html(chance: Random, good: Good) -> str:
    """Is escaped for HTML, once or twice, or in part."""
    text = html.escape(_text(good))
    within = {**good, "reason": html.escape("<b>\"tea\" & 'milk'</b>")}
    return chance.choice([text, html.escape(text), _text(within), f"<pre>{text}</pre>"])


def escaped_throughout(chance: Random, good: Good) -> str:
    """Writes its letters as escapes: those of the strings, or the marks as well."""
    escaped = "".join(f"\\u{ord(char):04x}" for char in "because")
    text = _text({**good, "reason": "REASON"}).replace("REASON", escaped)
    return chance.choice([text, _text(good).replace('"', '\\"'), _text(good).replace("{", "\\{")])


def with_half_characters(chance: Random, good: Good) -> str:
    """Holds halves of an emoji, as escapes or as characters, in its strings or beside them."""
    half = chance.choice(["\ud83d", "\udc08", "\udc08\ud83d", "\ud83d\ud83d\udc08"])
    odd = {**good, "reason": f"so {half} it is"}
    return chance.choice([_text(odd), _text(odd, ensure_ascii=True), half + _text(good)])


def nested_deeply(chance: Random, good: Good) -> str:
    """Nests arrays or objects thousands deep, in a field or instead of all."""
    depth = chance.choice([50, 200, 5000, 20_000])
    deep = chance.choice(["[" * depth + "]" * depth, '{"a":' * depth + "1" + "}" * depth])
    return chance.choice([deep, f'{{"deep": {deep}, {_text(good)[1:]}', deep[: depth // 2]])


def endless_blanks(chance: Random, good: Good) -> str:
    """Runs on in blanks, before, within or behind the answer."""
    blank = chance.choice([" ", "\n", "\t\n", "\u3000", "\\n"]) * chance.choice([2000, 20_000])
    text = _text(good)
    return chance.choice(["```json" + blank + text, text + blank, text[:-1] + blank + "}", blank])


def far_too_long(chance: Random, good: Good) -> str:
    """Has more than 64 K characters, in prose around it or in a field."""
    much = "and so on " * chance.choice([7000, 30_000])
    return chance.choice([_text(good) + much, much + _text(good), _text({**good, "extra": much})])


def said_over_and_over(chance: Random, good: Good) -> str:
    """Repeats itself, all of it or a few tokens, until the limit."""
    text = _text(good)
    token = chance.choice([text + "\n", '{"op": ', "the the ", '"reason": "', "\\u0000", "茶"])
    return chance.choice(["", text, text[: len(text) // 2]]) + token * (20_000 // len(token))


def called_as_a_tool(chance: Random, good: Good) -> str:
    """Is written as the call of a tool, in the tags that a family of models has for it."""
    text = _text(good)
    forms = [
        f'<tool_call>\n{{"name": "verdict", "arguments": {text}}}\n</tool_call>',
        f"<answer>{text}</answer>",
        f"[TOOL_CALLS] [{text}]",
        f"<|channel|>analysis<|message|>Hm.<|end|><|channel|>final<|message|>{text}<|return|>",
        f"<function=verdict>{text}</function>",
        f"{text}<|im_end|>",
        f"<s>{text}</s>",
        f"[INST] {text} [/INST]",
    ]
    return chance.choice(forms)


def in_another_language(chance: Random, good: Good) -> str:
    """Is YAML, XML, TOML or Markdown."""
    lines = [f"{key}: {value}" for key, value in good.items()]
    forms = ["\n".join(lines), "---\n" + "\n".join(f"- {line}" for line in lines)]
    forms += ["".join(f"<{key}>{value}</{key}>" for key, value in good.items())]
    forms += ["| field | value |\n|---|---|\n" + "\n".join(f"| {line} |" for line in lines)]
    return chance.choice(forms)


def written_backwards(chance: Random, good: Good) -> str:
    """Turns the order of its fields, or its words, round with right-to-left overrides."""
    turned = dict(reversed(good.items()))
    odd = {**good, "reason": f"\u202e{good.get('reason')}\u202c"}
    return chance.choice([_text(turned), _text(odd), "\u202e" + _text(good), "\u2067" + _text(odd)])
