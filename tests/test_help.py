"""`help` says what each public class is, field by field."""

import ast
import dataclasses
import enum
import inspect
import pydoc
import re
import textwrap

import pytest

import souffleur
from souffleur.field_docs import explain_fields

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
    """Below the name of each field, `help` has a text of its own."""
    shown = pydoc.plain(pydoc.render_doc(CLASSES[name]))
    told = set(re.findall(r"(?m)^ \|      (\w+)(?:[:= ].*)?\n \|          \S", shown))
    assert fields_of(CLASSES[name]) - told == set()


def test_help_of_settings_says_how_to_set_them() -> None:
    """The class says by which variable a field is read, the field what it means and its default."""
    shown = pydoc.plain(pydoc.render_doc(souffleur.Settings))
    assert "Each field is also read from SOUFFLEUR_<NAME>" in shown
    assert "judge_every: int = Field(default=1, ge=0, le=20)" in shown
    assert "Number of turns of a session judged together." in shown


def test_a_class_without_source_keeps_its_docstring() -> None:
    """Where there is no source to read, as in a bundle, `help` has what it had."""
    names: dict[str, type] = {}
    exec("class Cup:\n    '''A cup.'''\n    size: int = 1\n    '''Cl.'''", names)
    assert explain_fields(names["Cup"]).__doc__ == "A cup."


def test_fields_are_read_when_asked_for() -> None:
    """A class and its instances have one docstring, a subclass its own."""

    @explain_fields
    class Cup:
        """A cup."""

        size: int = 1
        """Centilitres,

        or more.
        """
        _hot = True
        """Not for others."""

    class Mug(Cup):
        pass

    whole = "A cup.\n\nFields:\n    size: int = 1\n        Centilitres,\n\n        or more."
    assert Cup.__doc__ == Cup().__doc__ == whole
    assert Mug.__doc__ is None
