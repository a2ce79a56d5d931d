"""Writes souffleur/blocking/methods.py: `make methods`, after a public method has changed."""

import ast
import builtins
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent
TARGET = ROOT / "souffleur" / "blocking" / "methods.py"
HEAD = '''"""Methods of BlockingSouffleur and its knowledge, written by `make methods`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from souffleur.blocking.face import Face
'''


@dataclass(frozen=True)
class Source:
    """A class whose public methods are wanted in blocking form."""

    module: str
    file: Path
    name: str
    made: str
    """The name of the class with the blocking methods."""
    left_out: frozenset[str]
    """Methods that a face has in its own way, or that are none of a host's."""


SOURCES = (
    Source(
        "souffleur.api",
        ROOT / "souffleur" / "api.py",
        "Souffleur",
        "SouffleurMethods",
        frozenset({"open", "open_blocking", "restore", "start", "close"}),
    ),
    Source(
        "souffleur.knowledge.knowledge_base",
        ROOT / "knowledge" / "knowledge_base.py",
        "KnowledgeBase",
        "KnowledgeMethods",
        frozenset({"at_hand", "known", "close"}),
    ),
)

Method = ast.FunctionDef | ast.AsyncFunctionDef


class Class:
    """A class as its file says it."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.text = source.file.read_text(encoding="utf-8")
        self.tree = ast.parse(self.text)

    def methods(self) -> Iterator[Method]:
        """Yield the public methods and properties, in order."""
        (found,) = (
            node
            for node in self.tree.body
            if isinstance(node, ast.ClassDef) and node.name == self.source.name
        )
        methods = (node for node in found.body if isinstance(node, Method))
        for node in methods:
            if not node.name.startswith("_") and node.name not in self.source.left_out:
                yield node

    def homes(self) -> dict[str, str]:
        """Return the module of every name that the file knows."""
        homes: dict[str, str] = {}
        for node in ast.walk(self.tree):
            if isinstance(node, ast.ImportFrom) and node.module:
                homes |= {alias.asname or alias.name: node.module for alias in node.names}
        for node in self.tree.body:
            if isinstance(node, ast.Assign):
                names = (one.id for one in node.targets if isinstance(one, ast.Name))
                homes |= dict.fromkeys(names, self.source.module)
        return homes


def generate() -> str:
    """Return the text of the module, before it is formatted."""
    typed: set[tuple[str, str]] = set()
    used: set[tuple[str, str]] = set()
    bodies = []
    for source in SOURCES:
        found = Class(source)
        homes = found.homes()
        methods = list(found.methods())
        for method in methods:
            used |= {(homes[name], name) for name in names_in(defaults(method))}
            used |= {(homes[name], name) for name in names_in(_told(method))}
            typed |= {(homes[name], name) for name in method_types(method)}
        written = "\n\n".join(write(method, found.text) for method in methods)
        what = f'"""The public methods of {source.name}, each of which waits for its result."""'
        bodies.append(f"class {source.made}(Face):\n    {what}\n\n{written}\n")
    checked = "".join(f"    {line}\n" for line in import_lines(typed - used))
    return "\n".join(
        [HEAD + "\n".join(import_lines(used)), f"if TYPE_CHECKING:\n{checked}", *bodies]
    )


def write(method: Method, text: str) -> str:
    """Return a method in blocking form; `text` is that of its file."""
    result = ast.unparse(unquoted(method.returns)) if method.returns else "None"
    lines = ["    @property"] if _is_property(method) else []
    lines.append(f"    def {method.name}({signature(method.args)}) -> {result}:")
    lines.append(f"        {ast.get_source_segment(text, method.body[0])}")
    if result == "None":
        return "\n".join([*lines, f"        {_call(method)}"])
    return "\n".join([*lines, f"        found: {result} = {_call(method)}", "        return found"])


def _call(method: Method) -> str:
    inner = f"self._inner.{method.name}"
    if _is_property(method):
        return inner
    for kind in _told(method):
        passed = [ast.unparse(kind), inner, *given(method.args)]
        return f"self._wait_or_report({', '.join(passed)})"
    if isinstance(method, ast.AsyncFunctionDef):
        return f"self._wait({', '.join([inner, *given(method.args)])})"
    return f"{inner}({', '.join(given(method.args))})"


def signature(args: ast.arguments) -> str:
    for one in ast.walk(args):
        if isinstance(one, ast.arg) and one.annotation:
            one.annotation = unquoted(one.annotation)
    return ast.unparse(args)


def given(args: ast.arguments) -> list[str]:
    """The arguments as they are passed on."""
    by_place = [one.arg for one in [*args.posonlyargs, *args.args][1:]]
    by_name = [f"{one.arg}={one.arg}" for one in args.kwonlyargs]
    more = [f"*{args.vararg.arg}"] if args.vararg else []
    named = [f"**{args.kwarg.arg}"] if args.kwarg else []
    return [*by_place, *more, *by_name, *named]


def _told(method: Method) -> list[ast.expr]:
    """Return what a method that waits and never raises gives for an error; none if it may raise."""
    promise = "Never raises" in (ast.get_docstring(method) or "")
    waits = isinstance(method, ast.AsyncFunctionDef)
    return [unquoted(method.returns)] if promise and waits and method.returns else []


def _annotations(method: Method) -> list[ast.AST]:
    typed = [node.annotation for node in ast.walk(method.args) if isinstance(node, ast.arg)]
    return [unquoted(one) for one in [*typed, method.returns] if one]


def method_types(method: Method) -> set[str]:
    """Return the names in the annotations of a method."""
    return names_in(_annotations(method))


def defaults(method: Method) -> list[ast.AST]:
    return [one for one in [*method.args.defaults, *method.args.kw_defaults] if one]


def names_in(parts: Iterable[ast.AST]) -> set[str]:
    """The names that must be imported."""
    nodes = (node for part in parts for node in ast.walk(part))
    names = {node.id for node in nodes if isinstance(node, ast.Name)}
    return {name for name in names if not hasattr(builtins, name)}


def import_lines(names: Iterable[tuple[str, str]]) -> list[str]:
    by_module: dict[str, list[str]] = {}
    for module, name in sorted(names):
        by_module.setdefault(module, []).append(name)
    return [f"from {module} import {', '.join(found)}" for module, found in by_module.items()]


def unquoted(type_: ast.expr) -> ast.expr:
    """The type, without quotes around it."""
    if isinstance(type_, ast.Constant) and isinstance(type_.value, str):
        return ast.parse(type_.value, mode="eval").body
    return type_


def _is_property(method: Method) -> bool:
    return any(isinstance(one, ast.Name) and one.id == "property" for one in method.decorator_list)


def shape(text: str) -> str:
    """What a module says, however its lines are broken and its imports sorted."""
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            node.names.sort(key=lambda alias: alias.name)
    return ast.dump(tree)


if __name__ == "__main__":
    TARGET.write_text(generate(), encoding="utf-8")
