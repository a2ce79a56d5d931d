"""The source of each public class explains its fields, where an editor shows them."""

import ast
import dataclasses
import enum
import inspect
import re
import textwrap

import pytest

import souffleur
from tests.fields import fields_in

CLASSES = {
    name: found for name in souffleur.__all__ if isinstance(found := getattr(souffleur, name), type)
}


def fields_of(cls: type) -> set[str]:
    """The public fields of a class: of a model, a dataclass, an enumeration, or set on creation."""
    if issubclass(cls, enum.Enum):
        return set(cls.__members__)
    if dataclasses.is_dataclass(cls):
        return {one.name for one in dataclasses.fields(cls)}
    if fields := getattr(cls, "model_fields", None):
        return set(fields)
    own = vars(cls).get("__init__")
    if own is None:
        return set()
    body = ast.walk(ast.parse(textwrap.dedent(inspect.getsource(own))))
    stored = (node for node in body if isinstance(node, ast.Attribute))
    set_ = {node.attr for node in stored if isinstance(node.ctx, ast.Store)}
    return {name for name in set_ if not name.startswith("_")}


@pytest.mark.parametrize("name", CLASSES)
def test_each_field_is_explained(name: str) -> None:
    """Below each field stands a text of its own."""
    own = [one for one in CLASSES[name].__mro__ if one.__module__.startswith("souffleur.")]
    trees = [ast.parse(textwrap.dedent(inspect.getsource(one))).body[0] for one in own]
    told = {re.split(r"\W", field)[0] for tree in trees for field, _ in fields_in(tree)}
    assert fields_of(CLASSES[name]) - told == set()
