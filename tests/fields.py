"""The fields of a class as its source explains them: the text under each."""

import ast
from collections.abc import Iterator, Sequence
from itertools import pairwise


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
        return f"{short} = {ast.unparse(field.value)}" if is_own and field.value else short
    if isinstance(field, ast.Assign):
        name = ast.unparse(field.targets[0])
        if name.startswith("self."):
            return name.removeprefix("self.")
        return f"{name} = {ast.unparse(field.value)}"
    return ""
