"""Reads a model's text: returns a complete and valid answer, or raises AnswerError.

An answer is one JSON object. Models too small for JSON may use the line protocol:

    [ADD] The user is allergic to peanuts.
      quote: 我对花生过敏
    [BOOST:m2]

Brackets and colons may be full-width; upper and lower case mean the same.
"""

import json
import re
import unicodedata
from collections.abc import Iterator, Mapping
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails, from_json

from souffleur.agents.fields import MAX_ECHO_LENGTH, shorten
from souffleur.errors import AnswerError
from souffleur.knowledge.text.plain import mend
from souffleur.knowledge.text.thinking import without_thinking

T = TypeVar("T", bound=BaseModel)

MAX_ANSWER_LENGTH = 65_536
"""Maximum characters of an answer; a longer text comes from a runaway model and is not read."""

_MAX_FAULTS = 8
"""Maximum number of faults listed in one message."""

_FENCE = re.compile(r"\A```\w*+\s*+(.*)```\Z", re.DOTALL)
_OBJECT = re.compile(r'(?:\[\s*+)?\{\s*+"')
"""The start of an object, or of a list of objects."""
_STRING_OR_COMMA = re.compile(r'("(?:[^"\\]|\\.?)*+"?)|,(?=\s*+[}\]])', re.DOTALL)
_ESCAPES = re.compile(r"((?:\\u[0-9a-fA-F]{4})++)|\\.", re.DOTALL)


def read_answer(text: str, answer: type[T], *, lines: bool) -> T:
    """Return the answer in a model's text, without thoughts, fences and prose around it.

    With `lines`, the line protocol is accepted if there is no JSON. Raises AnswerError if the text
    is far too long or cut off, holds two answers, or does not fit the type. No part is used then.
    """
    if len(text) > MAX_ANSWER_LENGTH:
        raise AnswerError(
            "The answer is far too long: give a shorter one.", answer=shorten(text, MAX_ECHO_LENGTH)
        )
    data = _data(_mended(text), lines)
    try:
        return answer.model_validate(data)
    except ValidationError as error:
        faults = [_fault(detail, data) for detail in error.errors(include_url=False)[:_MAX_FAULTS]]
        if (left := error.error_count() - _MAX_FAULTS) > 0:
            faults.append(f"and {left} more")
        raise AnswerError("; ".join(faults), answer=text) from None


def _mended(text: str) -> str:
    r"""Return the text without lone surrogates, as characters or as escapes.

    >>> print(_mended(r'{"a": "\ud83d \ud83c\udf75"}'))
    {"a": "\ufffd \ud83c\udf75"}
    """
    text = mend(text)
    return _ESCAPES.sub(_whole, text) if r"\ud" in text.casefold() else text


def _whole(escapes: re.Match[str]) -> str:
    if not escapes[1]:
        return escapes[0]
    return json.dumps(mend(json.loads(f'"{escapes[1]}"')))[1:-1]


def _data(text: str, lines: bool) -> Any:
    bare = _bare(text)
    # Whole JSON is tried first, as text inside its strings must stay as it is.
    for candidate in (text.strip(), bare):
        if isinstance(whole := _json(candidate), dict | list):
            return whole
    found: object = None
    for span in _objects(bare):
        value = _json(span)
        if value is None:
            raise AnswerError(_broken(span), answer=text)
        if found is not None and value != found:
            raise AnswerError("The answer holds different JSON objects: give one.", answer=text)
        found = value
    if found is None and lines:
        found = parse_lines(bare)
    if found is None:
        raise AnswerError("The answer holds no JSON object: give one.", answer=text)
    return found


def _bare(text: str) -> str:
    """Return the text without a model's thinking and the fence around the rest.

    >>> _bare("<think>{hm}</think>\\n```json\\n{}\\n```"), _bare("and so on.</think>{}")
    ('{}', '{}')
    >>> _bare('So: {"a": "wrote <think>"}')
    'So: {"a": "wrote <think>"}'
    """
    start = _OBJECT.search(text)
    end = _end(text, start.start()) if start else None
    around = text[: start.start()] + text[end:] if start and end else text
    # Marks inside the strings of an answer are part of its text.
    said = text.strip() if without_thinking(around) is around else without_thinking(text)
    fenced = _FENCE.match(said)
    return fenced[1].rstrip() if fenced else said


def _objects(text: str) -> Iterator[str]:
    """Yield each outermost {…} that begins as a JSON object does, or list of them, without commas
    that nothing follows; the last may lack its end.

    >>> list(_objects('So {"a": [1,], "b": "x,]",} or {"a": 1}.'))
    ['{"a": [1], "b": "x,]"}', '{"a": 1}']
    """
    place = 0
    while start := _OBJECT.search(text, place):
        begin = start.start()
        end = _end(text, begin)
        if end is None:
            text, begin = _STRING_OR_COMMA.sub(r"\1", text[begin:]), 0
            end = _end(text, begin) or len(text)
        yield text[begin:end]
        place = end


def _end(text: str, start: int) -> int | None:
    """Return where the object that begins at `start` ends; `None` if it is incomplete.

    >>> _end('{"a": "}"} and so on', 0)
    10
    """
    try:
        return json.JSONDecoder().raw_decode(text, start)[1]
    except (ValueError, RecursionError):
        return None


def _json(text: str) -> object:
    """Return the JSON value; `None` if the text is incomplete or no JSON."""
    try:
        return from_json(text, allow_inf_nan=False)
    except ValueError:
        return None


def _broken(span: str) -> str:
    try:
        from_json(span, allow_inf_nan=False)
    except ValueError as error:
        if str(error).startswith("EOF"):
            return "The JSON object is cut off before its end: give the whole of it, shorter."
        return f"The JSON object is broken ({error}): give it again, whole."
    return "The JSON object is broken: give it again, whole."


def _fault(detail: ErrorDetails, data: object) -> str:
    """Describe a fault.

    For example `ops.0.importance: must be one of low, medium, high (was 'huge')`.
    """
    path, kind, context = _path(detail, data), detail["type"], detail.get("ctx", {})
    if kind == "model_type" and not detail["loc"]:
        return "The answer must be one JSON object, not an array."
    if kind == "missing":
        return f"{path}: is missing"
    if kind.startswith("union_tag"):
        path = f"{path}.{str(context['discriminator']).strip(chr(39))}"
        if kind == "union_tag_not_found":
            return f"{path}: is missing"
        return (
            f"{path}: must be one of {_options(context['expected_tags'])} (was {context['tag']!r})"
        )
    if kind in ("literal_error", "enum"):
        options = _options(context["expected"])
        demand = f"must be one of {options}" if "," in options else f"must be {options}"
    elif kind == "model_attributes_type":
        demand = "must be an object"
    else:
        demand = detail["msg"].replace("Input should be", "must be").removeprefix("Value error, ")
    given = repr(detail["input"])
    return f"{path}: {demand} (was {given if len(given) <= 40 else given[:39] + '…'})"


def _options(expected: object) -> str:
    """Return the allowed values as a list.

    >>> _options("'low', 'medium' or 'high'")
    'low, medium, high'
    """
    return ", ".join(re.findall(r"'([^']*)'", str(expected))) or str(expected)


def _path(detail: ErrorDetails, data: object) -> str:
    """Return the path as the model wrote it, without pydantic's names for union members."""
    path: list[str] = []
    node = data
    last = len(detail["loc"]) - 1
    for depth, part in enumerate(detail["loc"]):
        inside = _inside(node, part)
        if inside is not _ABSENT:
            node = inside
        elif depth < last or detail["type"] != "missing":
            continue
        path.append(str(part))
    return ".".join(path) or "the answer"


_ABSENT = object()


def _inside(node: object, part: str | int) -> object:
    if isinstance(node, Mapping):
        return node.get(part, _ABSENT)
    if isinstance(node, list) and isinstance(part, int) and part < len(node):
        return node[part]
    return _ABSENT


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
topic: one of the topics so far, or a new one
entities: names, separated by commas
since: 2026-01-31
until: 2026-12-31"""
"""Instruction added to the prompt if an endpoint accepts no `response_format`."""

SPECIAL = "\nspecial: none, health, belief, politics or sex"
"""Line added to the instruction if operations must name their special category."""

_SUBJECT: dict[str, Any] = {"kind": "fact", "importance": "medium"}
_FIELDS: dict[str, dict[str, Any]] = {
    "ADD": {
        **dict.fromkeys(("reason", "quote", "content"), ""),
        **_SUBJECT,
        "topic": None,
        "entities": [],
        "since": None,
        "until": None,
    },
    "UPDATE": {
        **dict.fromkeys(("id", "reason", "quote", "content"), ""),
        "topic": None,
        "entities": [],
        "since": None,
        "until": None,
    },
    "BOOST": dict.fromkeys(("id", "reason"), ""),
    "DELETE": dict.fromkeys(("id", "reason", "quote"), ""),
    "SKIP": {"reason": ""},
}
"""The fields of each operation, and their values if the model leaves them out."""

_HEAD = re.compile(r"^[\s*•-]*+(?:\d{1,2}[.)][\s*]*+)?[\[［【]([^\]］】]{1,300})[\]］】](.*)$")
_NAME = re.compile(
    r"^\s*+(add|update|boost|delete|skip|noop|none)(?![^\s:])\s*+:?(.*)$", re.IGNORECASE
)
_FIELD = re.compile(r"^\s*+(?:[-*•]\s*+)?([A-Za-z]{2,12})\s*+[:：](.*)$")
_QUOTES = ('""', "''", "“”", "‘’", "「」", "『』", "《》")
_NOTHING = {"", "-", "none", "null", "n/a", "无", "無"}


def parse_lines(text: str) -> dict[str, Any] | None:
    """Return the verdict in the text, as its JSON form; `None` if no line is an operation.

    Every field is there. A missing field is "", [] or None, the kind `fact`, the importance
    `medium`. Lines that are neither an operation nor one of its fields are skipped.

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
    # NFKC turns full-width letters, digits and colons into plain characters.
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
        # Some models write [ADD: the memory].
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
