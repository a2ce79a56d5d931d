"""A scripted model: it stands behind the same seam as a real one."""

import json
import re
from collections.abc import Callable, Iterable
from typing import Any

from souffleur.agents.model.chat import Reply, Request, Usage

Answer = str | dict[str, Any] | Exception
Script = Callable[[Request], Answer]


class Scripted:
    """A `Chat` that answers by a list, in order, or by a function of the request."""

    def __init__(self, script: Script | Iterable[Answer]) -> None:
        self.requests: list[Request] = []
        self._script = script if callable(script) else _in_order(script)

    async def __call__(self, request: Request) -> Reply:
        """The next answer; an exception is raised."""
        self.requests.append(request)
        answer = self._script(request)
        if isinstance(answer, Exception):
            raise answer
        text = answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False)
        usage = Usage(calls=1, input_tokens=100, output_tokens=10)
        return Reply(text=text, usage=usage, model="scripted")


def _in_order(answers: Iterable[Answer]) -> Script:
    left = iter(answers)

    def following(_: Request) -> Answer:
        try:
            return next(left)
        except StopIteration:
            raise AssertionError("the script has no further answer") from None

    return following


def answer(*ops: dict[str, Any], reason: str = "because") -> dict[str, Any]:
    """A whole answer of the monitor."""
    return {"reason": reason, "ops": list(ops)}


def add(content: str, quote: str, **fields: Any) -> dict[str, Any]:
    """An ADD as a model writes it."""
    base = {"op": "ADD", "reason": "new", "kind": "fact", "importance": "medium"}
    rest: dict[str, Any] = {"entities": [], "since": None, "until": None}
    return {**base, **rest, "content": content, "quote": quote, **fields}


def update(handle: str, content: str, quote: str, **fields: Any) -> dict[str, Any]:
    """An UPDATE as a model writes it."""
    kept: dict[str, Any] = {"kind": None, "importance": None}
    rest: dict[str, Any] = {"reason": "changed", "entities": [], "since": None, "until": None}
    return {
        "op": "UPDATE",
        "id": handle,
        "content": content,
        "quote": quote,
        **kept,
        **rest,
        **fields,
    }


def boost(handle: str) -> dict[str, Any]:
    """A BOOST as a model writes it."""
    return {"op": "BOOST", "id": handle, "reason": "it shaped the reply"}


def delete(handle: str, quote: str) -> dict[str, Any]:
    """A DELETE as a model writes it."""
    return {"op": "DELETE", "id": handle, "reason": "asked", "quote": quote}


SKIP = answer({"op": "SKIP", "reason": "small talk"})


def episode(line: str, **fields: Any) -> dict[str, Any]:
    """An episode as a model writes it."""
    base: dict[str, Any] = {"reason": "they talked", "small_talk": False, "line": line}
    tags: dict[str, Any] = {"topics": ["tea", "work", "home"], "intent": "to share", "tone": "calm"}
    return {**base, **tags, "key_facts": [], "unresolved": None, **fields}


SMALL_TALK = episode("", small_talk=True, topics=[])


def portrait(*paragraphs: str, **fields: Any) -> dict[str, Any]:
    """A portrait as a model writes it."""
    base: dict[str, Any] = {"reason": "it fits", "name": None, "occupation": None}
    rest: dict[str, Any] = {"paragraphs": list(paragraphs), "changes": [], "dropped": []}
    return {**base, **rest, **fields}


def judged_told(request: Request, *telling: str) -> dict[str, Any]:
    """An answer on what tells of something forgotten: lines with one of these words, else none."""
    shown = request.messages[1].content.split("\n")
    lines = [line.partition(" ") for line in shown if re.match(r"l\d+ ", line)]
    told = [
        {"id": id, "tells": any(word.casefold() in line.casefold() for word in telling)}
        for id, _, line in lines
    ]
    return {"reason": "read one by one", "lines": told}


def by_name(**scripts: Script | Answer) -> Script:
    """A script for each name of a request: monitor, episode, portrait; else small talk.

    Usually nothing that is doubtful tells of what was forgotten.
    """
    usual: dict[str, Script | Answer] = {"monitor": SKIP, "episode": SMALL_TALK}
    usual["forgotten"] = judged_told

    def answered(request: Request) -> Answer:
        script = scripts.get(request.name, usual.get(request.name, "no script"))
        return script(request) if callable(script) else script

    return answered


def decided(request: Request, action: str, **fields: Any) -> dict[str, Any]:
    """A review that decides the same on each memory that is shown."""
    shown = re.findall(r"(?m)^(m\d+) \(", request.messages[1].content)
    each = [{"id": handle, "reason": "because", "action": action, **fields} for handle in shown]
    return {"reason": "because", "query": None, "decisions": each}
