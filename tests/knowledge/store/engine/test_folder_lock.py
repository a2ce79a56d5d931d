"""The lock on a store's folder: one owner, named to the others, gone with its process."""

import stat
import subprocess
import sys
from pathlib import Path

import pytest

from souffleur.errors import StoreBusyError, StoreError
from souffleur.knowledge.store.engine.files import LOCK_NAME, locked_folder

HOLD = """
import sys
from pathlib import Path
from souffleur.knowledge.store.engine.files import locked_folder
with locked_folder(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_it_is_held_once_and_free_again(tmp_path: Path) -> None:
    """In one process the second is told to use the first; afterwards the folder is free."""
    with locked_folder(tmp_path / "store"):
        for _ in range(2):  # the first one refused has freed nothing
            told = "open in this process already"
            with pytest.raises(StoreBusyError, match=told), locked_folder(tmp_path / "store"):
                pass
    with locked_folder(tmp_path / "store"):
        pass


def test_another_process_is_named_and_its_death_frees(tmp_path: Path) -> None:
    """The error says who has it since when, and what to do; after kill -9 it is free."""
    command = [sys.executable, "-c", HOLD, str(tmp_path)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        told = rf"'{tmp_path}' is in use by process {holder.pid} since 20.*SOUFFLEUR_QDRANT_URL"
        with pytest.raises(StoreBusyError, match=told), locked_folder(tmp_path):
            pass
        holder.kill()
    with locked_folder(tmp_path):
        pass


def test_whatever_lies_in_the_file_is_no_matter(tmp_path: Path) -> None:
    """A file left by a crash or another program is taken over."""
    (tmp_path / LOCK_NAME).write_text("no pid at all")
    with locked_folder(tmp_path):
        pass


def test_a_folder_that_cannot_be_used_is_named(tmp_path: Path) -> None:
    """A path below a file is a StoreError that names it."""
    (tmp_path / "file").write_text("")
    there = tmp_path / "file" / "store"
    with pytest.raises(StoreError, match=f"'{there}' cannot be used"), locked_folder(there):
        pass


def test_a_new_folder_is_its_owners_alone(tmp_path: Path) -> None:
    """Nobody else can look into a store made here; a folder that was there keeps its mode."""
    shown = tmp_path / "shown"
    shown.mkdir(mode=0o755)
    for folder, mode in ((tmp_path / "store", 0o700), (shown, 0o755)):
        with locked_folder(folder):
            assert stat.S_IMODE(folder.stat().st_mode) == mode
