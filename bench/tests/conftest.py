"""The fixtures of all tests, and the command line of the measurements."""

from pathlib import Path

import pytest

from bench.__main__ import main
from tests.command import Run, runner
from tests.conftest import base, own_folders, stores, stub  # noqa: F401


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Run:
    """Runs a command of `python -m bench`: exit code, standard output, standard error."""
    return runner(tmp_path, monkeypatch, capfd, main)
