"""Field docs: what is written under the fields of a class, for `help`; Python itself drops it."""

import ast
import inspect
import textwrap
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import SupportsIndex, TypeVar

C = TypeVar("C", bound=type)

MAX_SIGNATURE_LENGTH = 90
"""Characters from which a field is shown without its default."""


def explain_fields(cls: C) -> C:
    """Add the fields of a class, each with the text under it, to its docstring.

    The source is read when the docstring is first asked for, so that importing costs nothing.
    """
    cls.__doc__ = _Docstring(cls)
    return cls


class _Docstring(str):
    """The docstring of a class: a descriptor, which Python asks for the whole text."""

    def __new__(cls, owner: type) -> "_Docstring":
        return super().__new__(cls, inspect.cleandoc(owner.__doc__ or ""))

    def __init__(self, owner: type) -> None:
        self._owner = owner
        self._whole = ""

    def __get__(self, instance: object, owner: type) -> str:
        """Return the docstring with the fields; without the source, the docstring alone."""
        self._whole = self._whole or "\n\n".join(filter(None, (str(self), _section(self._owner))))
        return self._whole

    # `help` of a class with a metaclass of its own finds the string by itself, and cleans it first:
    # https://github.com/python/cpython/blob/v3.11.7/Lib/inspect.py#L867
    def expandtabs(self, tabsize: SupportsIndex = 8) -> str:
        """Return the whole text."""
        return self.__get__(None, self._owner).expandtabs(tabsize)


def _section(cls: type) -> str:
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(cls)))
    except (OSError, TypeError, SyntaxError):
        return ""
    (node,) = tree.body
    fields = [
        textwrap.indent(f"{signature}\n{textwrap.indent(inspect.cleandoc(text), '    ')}", "    ")
        for signature, text in fields_in(node)
    ]
    return "\n".join(["Fields:", *fields]) if fields else ""


def fields_in(node: ast.stmt) -> Iterator[tuple[str, str]]:
    r"""Yield the signature and text of each explained public field of a class, in order.

    >>> source = "class Cup:\n    size: int = 1\n    '''Centilitres.'''\n    _hot = True"
    >>> list(fields_in(ast.parse(source).body[0]))
    [('size: int = 1', 'Centilitres.')]
    """
    if not isinstance(node, ast.ClassDef):
        return
    yield from _explained(node.body)
    for method in node.body:
        if isinstance(method, ast.FunctionDef) and method.name == "__init__":
            yield from _explained(method.body)


def _explained(body: Sequence[ast.stmt]) -> Iterator[tuple[str, str]]:
    for field, below in pairwise(body):
        signature = _signature(field)
        is_text = isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant)
        if signature and is_text and not signature.startswith("_"):
            yield signature, str(below.value.value)  # type: ignore[attr-defined]  # see is_text


def _signature(field: ast.stmt) -> str:
    """Return how a field is declared; nothing if it is no field."""
    if isinstance(field, ast.AnnAssign):
        name = ast.unparse(field.target).removeprefix("self.")
        type_ = ast.unparse(field.annotation).strip("'\"")
        short = f"{name}: {type_}"
        is_own = isinstance(field.target, ast.Name) and field.value is not None
        whole = f"{short} = {ast.unparse(field.value)}" if is_own and field.value else short
        return whole if len(whole) <= MAX_SIGNATURE_LENGTH else short
    if isinstance(field, ast.Assign):
        name = ast.unparse(field.targets[0])
        if name.startswith("self."):
            return name.removeprefix("self.")
        return f"{name} = {ast.unparse(field.value)}"
    return ""
