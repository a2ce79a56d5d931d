"""The house itself: what is shipped, what imports what, and what loading it costs."""

import ast
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from importlib import import_module
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

import souffleur
from souffleur import errors, types
from tests.place import variables

ROOT = Path(__file__).parent.parent
HEAVY = (
    "langgraph",
    "qdrant_client",
    "qdrant_edge",
    "langchain_openai",
    "langchain_core",
    "openai",
    "jinja2",
    "numpy",
    "fastapi",
    "starlette",
    "uvicorn",
    "httpx2",
)

MODEL_LIBRARIES = ("langgraph", "langchain_core", "langchain_openai", "langsmith", "openai")


def test_every_package_folder_is_listed() -> None:
    """A folder missing from pyproject would work here and be absent from the wheel."""
    setuptools = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
    moved = setuptools["package-dir"]
    listed = {moved.get(name, name.replace(".", "/")) for name in setuptools["packages"]}
    tops = {folder.split("/")[0] for folder in listed}
    found = {
        init.parent.relative_to(ROOT).as_posix()
        for top in tops
        for init in (ROOT / top).rglob("__init__.py")
        if not any(parent.is_symlink() for parent in init.parents)
    }
    assert found == listed


def test_every_file_of_a_package_is_listed() -> None:
    """What is no Python, such as a template, is shipped only if a pattern of pyproject names it.

    Dialogues and recordings of the evals stay in the repository.
    """
    setuptools = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
    folders = {
        ROOT / setuptools["package-dir"].get(name, name.replace(".", "/")): name
        for name in setuptools["packages"]
    }
    listed = {
        file
        for folder, name in folders.items()
        for pattern in setuptools["package-data"].get(name, [])
        for file in folder.glob(pattern)
    }
    found = {
        file
        for folder in folders
        for file in folder.rglob("*")
        if file.is_file() and file.suffix not in {".py", ".pyc"}
    }
    stays = ("baseline.json", "careless", "dialogues", "recordings", "special")
    assert {file for file in found if not file.is_relative_to(ROOT / "evals")} <= listed
    assert listed <= found
    assert {file.relative_to(ROOT / "evals").parts[0] for file in found - listed} == {*stays}


def test_the_source_distribution_is_complete(tmp_path: Path) -> None:
    """It has what `make demo` and `make test` need, the pages, and the tests; nothing built."""
    command = [sys.executable, "-c", "from setuptools import setup; setup()", "-q", "egg_info"]
    subprocess.run([*command, "--egg-base", tmp_path], cwd=ROOT, check=True, capture_output=True)
    shipped = (tmp_path / "souffleur_memory.egg-info" / "SOURCES.txt").read_text().splitlines()
    wanted = {"Makefile", "requirements.lock", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md"}
    wanted |= {"README.md", "LICENSE", "pyproject.toml"}
    wanted |= {
        file.relative_to(ROOT).as_posix()
        for folder in ("bench", "docs", "evals", "examples", "tests")
        for file in (ROOT / folder).rglob("*.*")
        if file.is_file() and file.suffix != ".pyc"
    }
    assert wanted <= set(shipped)
    assert not [name for name in shipped if name.endswith(".pyc") or name.startswith(".")]


def test_what_is_imported_is_declared() -> None:
    """Each package that our code imports is named in pyproject, as a dependency or in an extra."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = [one for some in project["optional-dependencies"].values() for one in some]
    named = {_plain(requirement) for requirement in [*project["dependencies"], *extras]}
    homes = packages_distributions()
    imported = {
        name.partition(".")[0]
        for file in ROOT.rglob("*.py")
        if file.relative_to(ROOT).parts[0] in {"souffleur", "agents", "knowledge", "evals"}
        for name in _imports(file)
    }
    ours = {"souffleur", *sys.stdlib_module_names}
    undeclared = {
        name: homes[name]
        for name in imported - ours
        if name in homes and not named & {_plain(home) for home in homes[name]}
    }
    assert undeclared == {}


def _plain(requirement: str) -> str:
    """The name of a requirement, as package indexes compare it."""
    return re.split(r"[^A-Za-z0-9._-]", requirement)[0].lower().replace("_", "-")


def _imports(file: Path) -> list[str]:
    """Every module that a file imports, at its top or within."""
    found: list[str] = []
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.append(node.module)
    return found


def test_the_public_names_are_all_there() -> None:
    """`__all__` is sorted, and each name in it loads from the module that has it."""
    assert souffleur.__all__ == sorted(souffleur.__all__)
    for name in souffleur.__all__:
        assert getattr(souffleur, name).__name__ in {name, "Callable"}


def test_the_tree_of_errors_is_whole() -> None:
    """The docstring of `errors` has each class, below its base."""
    assert errors.__doc__ is not None
    *_, drawing = errors.__doc__.split("\n\n")
    above: list[str] = []
    drawn: dict[str, str] = {}
    for line in drawing.splitlines():
        branch, name = re.findall(r"^([│├└─ ]*)(\w+)", line)[0]
        depth = len(branch) // 4
        drawn[name] = above[depth - 1] if depth else "Exception"
        above[depth:] = [name]
    classes = (one for one in vars(errors).values() if isinstance(one, type))
    own = [one for one in classes if issubclass(one, Exception)]
    assert drawn == {one.__name__: one.__bases__[0].__name__ for one in own}


def test_the_version_is_the_package_s() -> None:
    """`__version__` is that of the installed package, and listed by `dir`."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert souffleur.__version__ == project["version"]
    assert {"__version__", "Souffleur", "InputError"} <= set(dir(souffleur))


def test_the_top_holds_what_a_host_needs_first() -> None:
    """At most 35 names, ten of them errors; every other error is a kind of one of these."""
    tree = [one for one in vars(errors).values() if isinstance(one, type)]
    raised = [one for one in tree if issubclass(one, errors.SouffleurError)]
    top = [one for one in raised if one.__name__ in souffleur.__all__]
    assert len(souffleur.__all__) <= 35
    assert len(top) == 10
    assert all(issubclass(one, tuple(top)) for one in raised)


def test_what_methods_take_and_return_is_public() -> None:
    """Each class of ours that a public method of Souffleur names is in `souffleur` or its types."""
    tree = ast.parse((ROOT / "souffleur" / "api.py").read_text(encoding="utf-8"))
    homes = {
        alias.name: node.module
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module
        for alias in node.names
    }
    named = set(re.findall(r"\w+", " ".join(_annotations(tree))))
    ours = {name for name in named if homes.get(name, "").startswith("souffleur.")}
    found = {name: getattr(import_module(homes[name]), name) for name in ours}
    classes = {name for name, one in found.items() if getattr(one, "__name__", "") == name}
    assert classes <= {*souffleur.__all__, *vars(types)}
    assert {"Recall", "Receipt", "LedgerEntry", "Past", "Found", "RunResult"} <= classes


def _annotations(tree: ast.Module) -> Iterator[str]:
    """Yield the types that the public methods of Souffleur take and return."""
    (found,) = (
        one for one in tree.body if isinstance(one, ast.ClassDef) and one.name == "Souffleur"
    )
    for method in found.body:
        if isinstance(
            method, ast.FunctionDef | ast.AsyncFunctionDef
        ) and not method.name.startswith(("_", "open")):
            taken = [one.annotation for one in ast.walk(method.args) if isinstance(one, ast.arg)]
            yield from (ast.unparse(one) for one in [*taken, method.returns] if one)


def test_an_unknown_name_is_an_attribute_error() -> None:
    """A typo is told as for any module."""
    with pytest.raises(AttributeError, match="no attribute 'Prompter'"):
        _ = souffleur.Prompter


@pytest.mark.parametrize(
    "code",
    [
        "import souffleur",
        "import souffleur; souffleur.Souffleur, souffleur.Settings, souffleur.Memory",
        "import souffleur; souffleur.SouffleurError, souffleur.Request, souffleur.__version__",
        "import sys; sys.argv = ['souffleur', '--help']\n"
        "from souffleur.cli import app\n"
        "try: app()\nexcept SystemExit: pass",
        "import sys; sys.argv = ['souffleur', 'config']\n"
        "from souffleur.cli import app\n"
        "try: app()\nexcept SystemExit: pass",
    ],
    ids=["import", "names", "more", "help", "config"],
)
def test_loading_is_light(code: str) -> None:
    """Neither import, help nor the settings in force load what only some commands need."""
    check = f"\nimport sys\nprint([name for name in {HEAVY!r} if name in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-P", "-c", code + check], capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == "[]"


def test_without_a_model_its_libraries_are_not_loaded(tmp_path: Path) -> None:
    """A command that reads or changes the store itself is quick: it needs none of them."""
    code = (
        "import sys\n"
        "from souffleur.cli import app\n"
        "for words in (['remember', 'Me likes tea.'], ['list']):\n"
        "    sys.argv = ['souffleur', *words]\n"
        "    try: app()\n"
        "    except SystemExit: pass\n"
        f"print([name for name in {MODEL_LIBRARIES!r} if name in sys.modules])"
    )
    environment = {**os.environ, **variables(tmp_path), "SOUFFLEUR_EMBEDDER": "hash:64"}
    command = [sys.executable, "-P", "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    assert "Me likes tea." in done.stdout
    assert done.stdout.splitlines()[-1] == "[]"


def test_only_agents_speak_to_a_model() -> None:
    """`knowledge` has no chat model in it, nor a clock of its own."""
    for file in (ROOT / "knowledge").rglob("*.py"):
        text = file.read_text(encoding="utf-8")
        assert "ChatOpenAI" not in text
        assert ".now(" not in text
        assert "time.time(" not in text
