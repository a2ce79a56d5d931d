"""The line protocol: operations as plain lines, for models too small for JSON.

    [ADD] The user is allergic to peanuts.
      quote: 我对花生过敏
    [BOOST:m2]

Brackets and colons may be full-width, upper and lower case are the same.
"""

import re
import unicodedata
from typing import Any

OPS = ("ADD", "UPDATE", "BOOST", "DELETE", "SKIP")

INSTRUCTION = """\
Answer in lines, not JSON. One line per operation:
[ADD] what to remember, as one sentence
[UPDATE:m3] the sentence that replaces memory m3
[BOOST:m2]
[DELETE:m1]
[SKIP]
Below an operation, one line for each of these that applies:
quote: the exact words it rests on
reason: why
kind: preference
importance: low, medium or high
entities: names, separated by commas
since: 2026-01-31
until: 2026-12-31"""
"""Text added to the prompt if an endpoint takes no `response_format`."""

SPECIAL = "\nspecial: none, health, belief, politics or sex"
"""Line added to it where operations name the special category that they tell."""

_SUBJECT: dict[str, Any] = {"kind": "fact", "importance": "medium"}
_FIELDS: dict[str, dict[str, Any]] = {
    "ADD": {
        **dict.fromkeys(("reason", "quote", "content"), ""),
        **_SUBJECT,
        "entities": [],
        "since": None,
        "until": None,
    },
    "UPDATE": {
        **dict.fromkeys(("id", "reason", "quote", "content"), ""),
        "entities": [],
        "since": None,
        "until": None,
    },
    "BOOST": dict.fromkeys(("id", "reason"), ""),
    "DELETE": dict.fromkeys(("id", "reason", "quote"), ""),
    "SKIP": {"reason": ""},
}
"""The fields of each operation, and their values if the model gives none."""

_HEAD = re.compile(r"^[\s*•-]*+(?:\d{1,2}[.)][\s*]*+)?[\[［【]([^\]］】]{1,300})[\]］】](.*)$")
_NAME = re.compile(
    r"^\s*+(add|update|boost|delete|skip|noop|none)(?![^\s:])\s*+:?(.*)$", re.IGNORECASE
)
_FIELD = re.compile(r"^\s*+(?:[-*•]\s*+)?([A-Za-z]{2,12})\s*+[:：](.*)$")
_QUOTES = ('""', "''", "“”", "‘’", "「」", "『』", "《》")
_NOTHING = {"", "-", "none", "null", "n/a", "无", "無"}


def parse_lines(text: str) -> dict[str, Any] | None:
    """Return the verdict in the text, as its JSON form; `None` if no line is an operation.

    Every field is there: what a model left out is "", [] or None, the kind `fact`, the importance
    `medium`. Lines that are neither an operation nor one of its fields are passed over.

    >>> verdict = parse_lines("[ADD] Likes tea.\\n  quote: 我喜欢茶\\n【boost：m2】")
    >>> [(op["op"], op.get("quote"), op.get("id")) for op in verdict["ops"]]
    [('ADD', '我喜欢茶', None), ('BOOST', None, 'm2')]
    >>> parse_lines("Nothing to do.") is None
    True
    """
    verdict: dict[str, Any] = {"reason": ""}
    ops: list[dict[str, Any]] = []
    for line in re.split(r"\r\n|[\r\n]", text):
        if op := _operation(line):
            ops.append(op)
        else:
            _fill(ops[-1] if ops else verdict, line)
    return {**verdict, "ops": ops} if ops else None


def _operation(line: str) -> dict[str, Any] | None:
    head = _HEAD.match(line)
    # NFKC makes full-width letters, digits and colons plain ones.
    name = head and _NAME.match(unicodedata.normalize("NFKC", head[1]))
    if not head or not name:
        return None
    kind = name[1].upper() if name[1].upper() in OPS else "SKIP"
    op = {"op": kind} | {
        key: list(value) if isinstance(value, list) else value
        for key, value in _FIELDS[kind].items()
    }
    said = head[2].lstrip("*:： \t\u3000").rstrip()
    if "id" in op:
        op["id"] = (name[2] or "").strip(" :")
    elif not said and name[2]:
        # Some models write [ADD: what to remember].
        said = re.split(r"[\s:：]+", head[1].strip(), maxsplit=1)[1].strip()
    # After [SKIP], [BOOST:m2] and [DELETE:m1] there can only be a reason.
    op["content" if "content" in op else "reason"] = said
    return op


def _fill(target: dict[str, Any], line: str) -> None:
    field = _FIELD.match(line)
    key = field[1].lower() if field else ""
    taken = key in target or (key == "special" and "content" in target)
    if field is None or not taken or key == "op":
        return
    value = _unquoted(field[2].strip())
    if key == "entities":
        names = (_unquoted(name.strip()) for name in re.split(r"[,，、;；]", value.strip("[]")))
        target[key] = [name for name in names if name.lower() not in _NOTHING]
    elif key in ("since", "until"):
        target[key] = None if value.lower() in _NOTHING else value
    elif key in ("kind", "importance"):
        target[key] = value.lower() or target[key]
    else:
        target[key] = value


def _unquoted(text: str) -> str:
    if len(text) > 1 and text[0] + text[-1] in _QUOTES:
        return text[1:-1].strip()
    return text
