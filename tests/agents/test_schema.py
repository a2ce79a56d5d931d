"""Portable schemas: only what every strict endpoint accepts, and nothing lost that matters."""

import json
from collections.abc import Iterator
from datetime import date
from enum import Enum
from typing import Annotated, Any, Literal, Union

import pytest
from pydantic import BaseModel, ConfigDict, Field

from souffleur.agents.structured_chat import portable_schema

PORTABLE = {
    "type", "enum", "description", "anyOf", "items", "properties", "required",
    "additionalProperties",
}  # fmt: skip


class Mood(Enum):
    """How it was said."""

    GLAD = "glad"
    SAD = "sad"


class Span(BaseModel):
    """When it holds."""

    since: date | None = None
    until: date | None = None


class Add(BaseModel):
    """Adds a memory."""

    model_config = ConfigDict(extra="ignore", title="An addition")
    op: Literal["ADD"]
    content: str = Field(min_length=1, max_length=500, description="One sentence.")
    importance: Literal["low", "medium", "high"] = "medium"
    entities: list[str] = Field(default=[], max_length=9)
    mood: Mood = Mood.GLAD
    span: Span = Span()


class Skip(BaseModel):
    op: Literal["SKIP"] = "SKIP"
    score: float = Field(0.5, ge=0, le=1)


class Verdict(BaseModel):
    """What to do."""

    reason: str = ""
    ops: list[Annotated[Add | Skip, Field(discriminator="op")]] = []


class Tree(BaseModel):
    """A node."""

    name: str
    children: list["Tree"] = []


class Grove(BaseModel):
    trees: list[Tree]


def nodes(schema: Any) -> Iterator[dict[str, Any]]:
    """Every schema in the schema."""
    yield schema
    for child in [*schema.get("properties", {}).values(), *schema.get("anyOf", [])]:
        yield from nodes(child)
    if "items" in schema:
        yield from nodes(schema["items"])


def test_only_portable_keywords_are_left() -> None:
    """Unions are anyOf, constants enums; titles, defaults, bounds and formats are gone."""
    assert {key for node in nodes(portable_schema(Verdict)) for key in node} <= PORTABLE


def test_every_object_is_closed() -> None:
    """Every object requires all its properties and allows no other."""
    objects = [node for node in nodes(portable_schema(Verdict)) if node.get("type") == "object"]
    assert len(objects) == 4
    for node in objects:
        assert node["required"] == list(node["properties"])
        assert node["additionalProperties"] is False


def test_union_members_keep_their_tags() -> None:
    """The members of the union are told apart by an enum of one."""
    members = portable_schema(Verdict)["properties"]["ops"]["items"]["anyOf"]
    assert [member["properties"]["op"] for member in members] == [
        {"type": "string", "enum": ["ADD"]},
        {"type": "string", "enum": ["SKIP"]},
    ]


def test_descriptions_of_fields_stay() -> None:
    """What was written for the model stays, and what was written for developers goes."""
    text = json.dumps(portable_schema(Verdict))
    assert text.count("description") == 1
    assert "One sentence." in text


def test_dates_are_strings_or_null() -> None:
    """A date is a plain string, and may be null where the model allows it."""
    span = portable_schema(Verdict)["properties"]["ops"]["items"]["anyOf"][0]["properties"]["span"]
    assert span["properties"]["since"] == {"anyOf": [{"type": "string"}, {"type": "null"}]}


def test_model_that_holds_itself_keeps_its_definition() -> None:
    """A recursion stays a reference, at the root and below it, and every reference has its end."""
    tree = {
        "type": "object",
        "properties": {
            "name": {"type": "string"},
            "children": {"type": "array", "items": {"$ref": "#/$defs/Tree"}},
        },
        "required": ["name", "children"],
        "additionalProperties": False,
    }
    assert portable_schema(Tree) == {**tree, "$defs": {"Tree": tree}}
    assert portable_schema(Grove)["$defs"] == {"Tree": tree}
    assert portable_schema(Grove)["properties"]["trees"]["items"] == {"$ref": "#/$defs/Tree"}


class Free(BaseModel):
    data: dict[str, int]


class Pair(BaseModel):
    pair: tuple[int, str]


class Anything(BaseModel):
    value: Any


class Listing(BaseModel):
    values: list  # type: ignore[type-arg]


@pytest.mark.parametrize("model", [Free, Pair, Anything, Listing])
def test_what_no_schema_can_say_is_refused(model: type[BaseModel]) -> None:
    """A field that a strict endpoint could only misread is an error where it is written."""
    with pytest.raises(ValueError, match="No strict schema"):
        portable_schema(model)


def test_plain_union_and_empty_object() -> None:
    """A union without a tag is an anyOf as well, and an object may have no fields."""

    class Empty(BaseModel):
        model_config = ConfigDict(extra="forbid")

    class Loose(BaseModel):
        value: Union[int, Empty]  # noqa: UP007

    value = portable_schema(Loose)["properties"]["value"]
    assert value["anyOf"][0] == {"type": "integer"}
    assert value["anyOf"][1] == {
        "type": "object",
        "properties": {},
        "required": [],
        "additionalProperties": False,
    }


def test_a_schema_is_its_caller_s_own() -> None:
    """What a client changes in the schema that it was given is in no later request."""

    class Line(BaseModel):
        text: str

    given = portable_schema(Line)
    given["properties"].clear()
    assert portable_schema(Line)["properties"] == {"text": {"type": "string"}}
