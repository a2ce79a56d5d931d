"""The files of a mirror: always whole, and named after their users."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from souffleur.integrations.mirror.files import folder_name, replace

WRITE = """
import sys
from pathlib import Path
from souffleur.integrations.mirror.files import replace
print("ready", flush=True)
while True:
    for letter in "ab":
        replace(Path(sys.argv[1]), letter * int(sys.argv[2]))
"""
SIZE = 3_000_000


@pytest.mark.parametrize("wait", [0.01, 0.05, 0.09])
def test_a_kill_leaves_a_whole_file(tmp_path: Path, wait: float) -> None:
    """A process killed while it writes leaves the former text or the new one."""
    file, texts = tmp_path / "MEMORY.md", ("a" * SIZE, "b" * SIZE)
    replace(file, texts[0])
    command = [sys.executable, "-c", WRITE, str(file), str(SIZE)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(wait)
        process.kill()
    assert all(one.read_text("utf-8") in texts for one in tmp_path.glob("MEMORY.*"))


def test_nothing_is_written_through_a_link(tmp_path: Path) -> None:
    """What a killed process left, or a link that somebody put in its place, is replaced."""
    other, beside = tmp_path / "other", tmp_path / f".MEMORY.md.{os.getpid()}"
    other.write_text("mine")
    beside.symlink_to(other)
    replace(tmp_path / "MEMORY.md", "Ann sails.")
    beside.write_text("half")
    replace(tmp_path / "MEMORY.md", "Ann rows.")
    assert (other.read_text(), (tmp_path / "MEMORY.md").read_text()) == ("mine", "Ann rows.")
    assert not beside.exists()


@given(st.text(min_size=1), st.text(min_size=1))
def test_each_user_has_a_name_of_its_own(one: str, other: str) -> None:
    """Whatever the ids, folders differ on a disk that ignores case, and are plain names."""
    first, second = folder_name(one), folder_name(other)
    assert (first.casefold() == second.casefold()) == (one == other)
    assert Path(first).name == first
    assert first.isascii()
