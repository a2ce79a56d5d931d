"""A pydantic model's JSON schema, reduced to what every strict endpoint accepts."""

import json
from collections.abc import Mapping
from functools import cache
from typing import Any

from pydantic import BaseModel

Schema = dict[str, Any]

_COPIED = ("type", "enum", "description")


def portable_schema(model: type[BaseModel]) -> Schema:
    """Return the model's JSON schema in the dialect that OpenAI, vLLM, llama.cpp and Ollama share.

    Unions are `anyOf`, constants are `enum`s, every property is required, nothing else is allowed,
    references are replaced by what they refer to (`$defs` stay only for a model that holds
    itself). Defaults, titles, formats, bounds and a class's docstring go: a date is a string, and
    what is not in the schema is checked by the model afterwards. A field's own description stays.
    It is worked out once for each model; what is returned is the caller's own, as clients of
    endpoints change the schemas that they are given.

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
    """Return the schema as JSON, which is read ten times as fast as a schema is copied."""
    return json.dumps(_portable_schema(model))


def _portable_schema(model: type[BaseModel]) -> Schema:
    raw = model.model_json_schema()
    definitions = raw.pop("$defs", {})
    held = {name for name in definitions if name in _reached(name, definitions)}
    # A model that holds itself is a reference at the root, where endpoints want an object.
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
    """Return the names of the definitions that the named one refers to, at any depth."""
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
