"""The README does what it says."""

import re
import textwrap
from pathlib import Path
from typing import Any

import pytest

from souffleur import Souffleur
from souffleur.cli import app

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


async def test_the_example_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pasted into a companion, the example recalls, replies and observes."""
    monkeypatch.setenv("SOUFFLEUR_PATH", str(tmp_path))
    asked: list[str] = []

    async def my_model(system: str, user: str) -> str:
        asked.append(system)
        return f"{user}? Noted."

    (code,) = re.findall(r"```python\n(.*?)```", README, re.S)
    body = textwrap.indent(code, "    ")
    names: dict[str, Any] = {
        "message": "I like tea",
        "persona": "You are Mo.",
        "my_model": my_model,
    }
    exec(f"async def example():\n{body}", names)
    await names["example"]()
    assert asked == ["You are Mo."]
    async with Souffleur.open() as memory:
        (turn,) = await memory.knowledge.journal.turns()
        assert (turn.user, turn.assistant) == ("I like tea", "I like tea? Noted.")


def test_every_command_is_named() -> None:
    """No command is missing from the README."""
    commands = {
        command.name or command.callback.__name__
        for command in app.registered_commands
        if command.callback
    }
    told = set(re.findall(r"(?:souffleur |\| )([a-z]+)", README.partition("## Commands")[2]))
    assert commands <= told


def test_the_tree_names_every_folder() -> None:
    """Each folder of the package is a line in the tree of the README."""
    tree = README.partition("## The house")[2].partition("## ")[0]
    named = set(re.findall(r"([a-z]+)/", tree))
    rooms = {
        init.parent.name
        for top in ("agents", "evals", "knowledge", "prompts", "souffleur")
        for init in (ROOT / top).rglob("__init__.py")
    }
    assert rooms <= named
