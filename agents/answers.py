"""From what a model said to a checked answer: whole and valid, or an AnswerError."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails, from_json

from souffleur.agents.lines import parse_lines
from souffleur.errors import AnswerError
from souffleur.knowledge.plain_text import mend

T = TypeVar("T", bound=BaseModel)

_MOST = 8
"""Faults that one message lists."""

# A tag at the start of a line is never inside a JSON string, whose line ends are escaped.
_THOUGHTS = re.compile(
    r"^[ \t]*<(think|thinking|thought)>.*?(?:</\1>|\Z)", re.DOTALL | re.MULTILINE | re.IGNORECASE
)
# Some chat templates open the thoughts in the prompt: then only their end is heard.
_HEADLESS = re.compile(
    r"\A.*</(?:think|thinking|thought)>(?=\s*(?:[{\[`［【]|\n|\Z))", re.DOTALL | re.IGNORECASE
)
_FENCE = re.compile(r"\A```\w*\s*(.*?)\s*```\Z", re.DOTALL)
_OBJECT = re.compile(r'\{\s*"')


def read_answer(text: str, answer: type[T], *, lines: bool) -> T:
    """The answer in a model's words: thoughts, fences and prose around it are taken away.

    `lines`: the line protocol will do where there is no JSON. Raises AnswerError if the answer is
    cut off, there are two, or it is not of the type; nothing of it is salvaged.
    """
    data = _data(mend(text), lines)
    try:
        return answer.model_validate(data)
    except ValidationError as error:
        faults = [_fault(detail, data) for detail in error.errors(include_url=False)]
        more = [f"and {len(faults) - _MOST} more"] if len(faults) > _MOST else []
        raise AnswerError("; ".join(faults[:_MOST] + more), answer=text) from error


def _data(text: str, lines: bool) -> dict[str, Any]:
    bare = _bare(text)
    # Whole JSON is tried first: what stands in its strings is not ours to take away.
    for candidate in (text.strip(), bare):
        if isinstance(whole := _json(candidate), dict):
            return whole
    if re.match(r"\[\s*\{", bare):
        raise AnswerError("The answer must be one JSON object, not an array.", answer=text)
    found: list[dict[str, Any]] = []
    for span in _objects(bare):
        value = _json(span)
        if not isinstance(value, dict):
            raise AnswerError(_broken(span), answer=text)
        if value not in found:
            found.append(value)
    if len(found) > 1:
        raise AnswerError(
            f"The answer holds {len(found)} different JSON objects: give one.", answer=text
        )
    verdict = parse_lines(bare) if lines and not found else None
    if not found and verdict is None:
        raise AnswerError("The answer holds no JSON object: give one.", answer=text)
    return found[0] if found else verdict or {}


def _bare(text: str) -> str:
    """The text without a model's thoughts and the fence around the rest.

    >>> _bare("<think>{hm}</think>\\n```json\\n{}\\n```"), _bare("and so on.</think>{}")
    ('{}', '{}')
    """
    thoughtless = _THOUGHTS.sub("", text)
    if thoughtless == text:
        thoughtless = _HEADLESS.sub("", text)
    thoughtless = thoughtless.strip()
    fenced = _FENCE.match(thoughtless)
    return fenced[1] if fenced else thoughtless


def _objects(text: str) -> Iterator[str]:
    """Each outermost {…} that begins as a JSON object does; the last may lack its end."""
    place = 0
    while start := _OBJECT.search(text, place):
        place = _end(text, start.start())
        yield text[start.start() : place]


_MARK = re.compile(r'"(?:[^"\\]|\\.)*+"|[{}]', re.DOTALL)


def _end(text: str, start: int) -> int:
    """Where the object that begins at `start` ends: past its bracket, or at the text's end.

    >>> _end('{"a": "}"} and so on', 0)
    10
    """
    depth = 0
    for mark in _MARK.finditer(text, start):
        depth += {"{": 1, "}": -1}.get(mark[0], 0)
        if depth == 0 and mark[0] == "}":
            return mark.end()
    return len(text)


def _json(text: str) -> object:
    """The JSON value, or None: never a part of one."""
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
    """One fault, such as `ops.0.importance: must be one of low, medium, high (was 'huge')`."""
    place, kind, context = _place(detail, data), detail["type"], detail.get("ctx", {})
    if kind == "missing":
        return f"{place}: is missing"
    if kind.startswith("union_tag"):
        place = f"{place}.{str(context['discriminator']).strip(chr(39))}"
        if kind == "union_tag_not_found":
            return f"{place}: is missing"
        return (
            f"{place}: must be one of {_options(context['expected_tags'])} (was {context['tag']!r})"
        )
    if kind in ("literal_error", "enum"):
        options = _options(context["expected"])
        demand = f"must be one of {options}" if "," in options else f"must be {options}"
    elif kind == "model_attributes_type":
        demand = "must be an object"
    else:
        demand = detail["msg"].replace("Input should be", "must be").removeprefix("Value error, ")
    given = repr(detail["input"])
    return f"{place}: {demand} (was {given if len(given) <= 40 else given[:39] + '…'})"


def _options(expected: object) -> str:
    """
    >>> _options("'low', 'medium' or 'high'")
    'low, medium, high'
    """
    return ", ".join(re.findall(r"'([^']*)'", str(expected))) or str(expected)


def _place(detail: ErrorDetails, data: object) -> str:
    """The path as the model wrote it: without the names pydantic puts in for a union's members."""
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
