"""StructuredChat: asks a model for an answer of a given type; all agents use it."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from typing import Any, Generic, TypeVar

from pydantic import BaseModel

from souffleur.agents.answers import INSTRUCTION, MAX_ANSWER_LENGTH, OPS, SPECIAL, read_answer
from souffleur.agents.fields import shorten
from souffleur.agents.model.chat import Chat, Form, Message, Reply, Request, Usage
from souffleur.agents.model.concessions import Asker, Manner
from souffleur.errors import AnswerError

T = TypeVar("T", bound=BaseModel)
Schema = dict[str, Any]

_COPIED = ("type", "enum", "description")


@dataclass(frozen=True)
class Parsed(Generic[T]):
    """A checked answer, and its cost."""

    value: T
    text: str
    """The unchanged text of the answer."""
    usage: Usage
    model: str
    form: Form


class StructuredChat:
    """Asks a question at a time, and remembers which form of request its endpoint accepts."""

    def __init__(self, chat: Chat, *, form: Form = "json_schema") -> None:
        self._chat = chat
        self._asker = Asker(Manner(form=form))

    @property
    def form(self) -> Form:
        """The form of the next request."""
        return self._asker.manner.form

    async def ask(self, messages: Sequence[Message], answer: type[T], *, name: str) -> Parsed[T]:
        """Return an answer of the type `answer`; `name` is its name in the request.

        Asks once, and again only if the endpoint refuses the form. Raises EndpointError;
        AnswerError if the answer does not fit. That error holds the usage of the call, and a
        message that may be sent to the model for its repair. No part of an unusable answer is used.
        """
        schema = portable_schema(answer)
        lines = _speaks_lines(schema)

        async def question(manner: Manner) -> tuple[Reply, Form]:
            request = _request(messages, name, schema, manner.form, lines)
            return await self._chat(request), request.form

        reply, form = await self._asker.ask(question)
        try:
            value = _read(reply, answer, lines)
        except AnswerError as error:
            error.usage = asdict(reply.usage)
            raise
        return Parsed(value, reply.text, reply.usage, reply.model, form)


def _read(reply: Reply, answer: type[T], lines: bool) -> T:
    if reply.finish == "length":
        said = shorten(reply.text, MAX_ANSWER_LENGTH)
        raise AnswerError("The answer was cut off: give a shorter one.", answer=said)
    return read_answer(reply.text, answer, lines=lines)


def _request(
    messages: Sequence[Message], name: str, schema: Schema, form: Form, lines: bool
) -> Request:
    if form == "json_schema":
        return Request(tuple(messages), name, schema, form)
    if form == "text" and lines:
        instruction = INSTRUCTION + (SPECIAL if _names_special(schema) else "")
        return Request(_instructed(messages, instruction), name, None, form)
    compact = json.dumps(schema, ensure_ascii=False, separators=(",", ":"))
    demand = f"Answer with one JSON object and nothing else, by this JSON schema:\n{compact}"
    return Request(_instructed(messages, demand), name, None, form)


def _instructed(messages: Sequence[Message], instruction: str) -> tuple[Message, ...]:
    """Return the messages, with the instruction at the end of the last system message."""
    indices = [index for index, message in enumerate(messages) if message.role == "system"]
    if not indices:
        return (Message("system", instruction), *messages)
    last = messages[indices[-1]]
    instructed = replace(last, content=f"{last.content.rstrip()}\n\n{instruction}")
    return (*messages[: indices[-1]], instructed, *messages[indices[-1] + 1 :])


def _speaks_lines(schema: Schema) -> bool:
    """Return whether the answer is a list of operations that the line protocol has, too."""
    ops = {op for one in _members(schema) for op in one.get("op", {}).get("enum", ())}
    return bool(ops) and ops <= set(OPS)


def _names_special(schema: Schema) -> bool:
    return any("special" in one for one in _members(schema))


def _members(schema: Schema) -> list[Schema]:
    """Return the fields of each operation that an answer may hold."""
    items = schema["properties"].get("ops", {}).get("items", {})
    return [member.get("properties", {}) for member in items.get("anyOf", [items])]


def portable_schema(model: type[BaseModel]) -> Schema:
    """Return the model's JSON schema in the dialect that OpenAI, vLLM, llama.cpp and Ollama share.

    Unions are `anyOf`, constants are `enum`s, every property is required, nothing else is allowed.
    References are replaced by their targets; `$defs` stay only for a model that holds itself.
    Defaults, titles, formats, bounds and a class's docstring are left out: a date is a string, and
    the model checks these rules afterwards. A field's own description stays.
    The schema is computed once for each model. The caller gets a copy, as clients of endpoints
    change the schemas.

    Raises ValueError for types that no strict schema can express: free keys, tuples and
    values of any type.

    >>> class Note(BaseModel):
    ...     '''For developers.'''
    ...     text: str = ""
    ...     rank: int | None = None
    >>> portable_schema(Note)["properties"]
    {'text': {'type': 'string'}, 'rank': {'anyOf': [{'type': 'integer'}, {'type': 'null'}]}}
    """
    schema: Schema = json.loads(_schema_text(model))
    return schema


@cache
def _schema_text(model: type[BaseModel]) -> str:
    """Return the schema as JSON: reading JSON is ten times as fast as copying a schema."""
    return json.dumps(_portable_schema(model))


def _portable_schema(model: type[BaseModel]) -> Schema:
    raw = model.model_json_schema()
    definitions = raw.pop("$defs", {})
    held = {name for name in definitions if name in _reached(name, definitions)}
    # A model that holds itself is a reference at the root, but endpoints need an object there.
    root = definitions[raw["$ref"].rpartition("/")[2]] if "$ref" in raw else raw
    schema = _portable(_undocumented(root), definitions, held)
    if held:
        schema["$defs"] = {
            name: _portable(_undocumented(definitions[name]), definitions, held)
            for name in sorted(held)
        }
    return schema


def _portable(node: Schema, definitions: Mapping[str, Schema], held: set[str]) -> Schema:
    if "$ref" in node:
        name = node["$ref"].rpartition("/")[2]
        if name in held:
            return {"$ref": node["$ref"]}
        node = {
            **_undocumented(definitions[name]),
            **{k: v for k, v in node.items() if k != "$ref"},
        }
    result = {key: node[key] for key in _COPIED if key in node}
    if "const" in node:
        result["enum"] = [node["const"]]
    if members := node.get("anyOf") or node.get("oneOf"):
        result["anyOf"] = [_portable(member, definitions, held) for member in members]
    if "items" in node:
        result["items"] = _portable(node["items"], definitions, held)
    if node.get("type") == "object":
        result |= _closed(node, definitions, held)
    if not result.keys() - {"description"} or (node.get("type") == "array" and "items" not in node):
        raise ValueError(f"No strict schema can say {node}: give the field a narrower type.")
    return result


def _closed(node: Schema, definitions: Mapping[str, Schema], held: set[str]) -> Schema:
    if "properties" not in node and node.get("additionalProperties") is not False:
        raise ValueError(f"No strict schema can say {node}: give the object named fields.")
    properties = node.get("properties", {})
    return {
        "properties": {k: _portable(v, definitions, held) for k, v in properties.items()},
        "required": list(properties),
        "additionalProperties": False,
    }


def _undocumented(node: Schema) -> Schema:
    return {key: value for key, value in node.items() if key != "description"}


def _reached(name: str, definitions: Mapping[str, Schema]) -> set[str]:
    """Return the names of all definitions that a definition refers to, at any depth."""
    reached: set[str] = set()
    waiting: list[Any] = [definitions[name]]
    while waiting:
        node = waiting.pop()
        if isinstance(node, Mapping):
            waiting += node.values()
            target = str(node.get("$ref", "")).rpartition("/")[2]
            if target in definitions and target not in reached:
                reached.add(target)
                waiting.append(definitions[target])
        elif isinstance(node, list):
            waiting += node
    return reached
