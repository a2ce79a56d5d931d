"""The rooms of the package and the arrows between them, as the imports draw them."""

import ast
import tomllib
from collections.abc import Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
GROUND = ("errors",)
"""What every floor may know."""
FLOORS = ("cli", "evals", "souffleur", "agents", "knowledge")
"""From the top down: each may know what stands below it."""

Arrows = Mapping[str, set[str]]
"""From each module to those that it imports: at its top, within a function, for a checker."""


def test_no_circle() -> None:
    """No module imports itself by way of others, be it lazily or under TYPE_CHECKING."""
    assert circle(arrows()) == []


def test_arrows_point_down() -> None:
    """Nothing imports what stands above it; prompts know nobody, and knowledge knows no prompt."""
    wrong = [
        f"{start} -> {end}"
        for start, ends in arrows().items()
        for end in ends
        if not may_know(floor(start), floor(end))
    ]
    assert wrong == []


@pytest.mark.parametrize(
    ("start", "end", "fine"),
    [
        ("cli", "evals", True),
        ("knowledge", "agents", False),
        ("souffleur", "evals", False),
        ("agents", "prompts", True),
        ("prompts", "knowledge", False),
        ("knowledge", "errors", True),
    ],
)
def test_what_may_be_known(start: str, end: str, fine: bool) -> None:
    """Each import is allowed or refused as it is spelt out here."""
    assert may_know(start, end) is fine


def test_a_circle_is_found() -> None:
    """Of three modules, the two that know each other are named."""
    assert sorted(set(circle({"a": {"b"}, "b": {"c"}, "c": {"b"}}))) == ["b", "c"]


def circle(graph: Arrows) -> list[str]:
    """Return the modules of one circle, in order; none if there is no circle."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def may_know(start: str, end: str) -> bool:
    """Return whether an arrow from one floor to another points down."""
    if end in GROUND or start == end:
        return True
    if "prompts" in (start, end):
        return end == "prompts" and start != "knowledge"
    return start in FLOORS and FLOORS.index(start) < FLOORS.index(end)


def floor(module: str) -> str:
    """Return the floor that a module is on; `python -m souffleur` is a door of the command line."""
    if module == "souffleur.__main__":
        return "cli"
    room = module.split(".")[1] if "." in module else "souffleur"
    return room if room in (*FLOORS, "prompts", *GROUND) else "souffleur"


def arrows() -> Arrows:
    """Return every import of ours by us."""
    found = modules()
    return {
        name: {end for end in imports(file, found) if end != name} for name, file in found.items()
    }


def modules() -> dict[str, Path]:
    """Return the files of the package, by the names under which they are imported."""
    setuptools = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
    moved = setuptools["package-dir"]
    return {
        package if file.stem == "__init__" else f"{package}.{file.stem}": file
        for package in setuptools["packages"]
        for file in (ROOT / moved.get(package, package.replace(".", "/"))).glob("*.py")
    }


def imports(file: Path, known: Mapping[str, Path]) -> Iterator[str]:
    """Yield the modules of ours that a file imports, wherever in it."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in known)
        elif isinstance(node, ast.ImportFrom) and node.module in known:
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                yield inner if inner in known else str(node.module)
