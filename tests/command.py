"""The command line as tests run it."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.place import variables

Run = Callable[..., tuple[int, str, str]]

on_disk = pytest.mark.parametrize("opener", [None], ids=["on disk"])
"""Marks a test whose commands need a store in a folder: its files, or other processes there."""


def data(run: Run, *words: str) -> Any:
    """What a command prints for a program."""
    code, out, err = run(*words, "--json")
    assert code == 0, err
    return json.loads(out)


def runner(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    main: Callable[[], None],
) -> Run:
    """Runs a command on a store: exit code, standard output, standard error."""
    for name, value in variables(tmp_path / "store").items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("SOUFFLEUR_EMBEDDER", "hash:64")
    monkeypatch.setenv("COLUMNS", "160")

    def command(*words: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["souffleur", *words])
        code = 0
        try:
            main()
        except SystemExit as end:
            code = int(end.code or 0)
        said = capfd.readouterr()
        return code, said.out, said.err

    return command
