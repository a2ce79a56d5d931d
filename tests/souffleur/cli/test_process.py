"""The command line in every terminal: narrow, piped, of another encoding, left, ended."""

import io
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from rich.console import Console
from rich.table import Table

from souffleur.cli.tables import print_table
from tests.command import Run
from tests.place import variables

WORDS = "Ann likes green tea, 猫 and long sentences that no narrow terminal shows on one line."
SOUFFLEUR = (sys.executable, "-P", "-m", "souffleur")


def start(folder: Path, *words: str, **env: str) -> subprocess.Popen[bytes]:
    """A command as a process of its own, with a folder for its temporary files."""
    given = {**os.environ, "TMPDIR": str(folder), **variables(folder / "store"), **env}
    pipe = subprocess.PIPE
    return subprocess.Popen([*SOUFFLEUR, *words], stdout=pipe, stderr=pipe, env=given)


def a_table() -> Table:
    table = Table("id", "kind", "memory")
    table.add_row("1", "fact", WORDS)
    return table


@pytest.mark.parametrize(("width", "stacked"), [(60, True), (79, True), (80, False)])
def test_a_narrow_terminal_stacks_rows(width: int, stacked: bool) -> None:
    """Below 80 columns each cell has its own line beside its heading, and none is cut."""
    out = io.StringIO()
    print_table(a_table(), Console(file=out, width=width, force_terminal=True, color_system=None))
    lines = [line.split() for line in out.getvalue().splitlines() if line.strip()]
    assert (lines[1] == ["kind", "fact"]) is stacked
    assert max(map(len, out.getvalue().splitlines())) <= width
    assert "…" not in out.getvalue()


def test_a_file_has_one_line_a_row(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is wrapped or cut where no person looks, so that `grep` finds whole rows."""
    run("remember", WORDS)
    monkeypatch.setenv("COLUMNS", "40")
    found = [line for line in run("list")[1].splitlines() if "Ann likes" in line]
    assert len(found) == 1
    assert found[0].endswith(WORDS)


def test_what_cannot_be_shown_is_replaced(tmp_path: Path) -> None:
    """A latin-1 terminal shows question marks, and no error."""
    env = {"PYTHONIOENCODING": "latin-1", "SOUFFLEUR_EMBEDDER": "hash:64"}
    with start(tmp_path, "remember", WORDS, **env) as done:
        out, err = done.communicate()
    assert (done.returncode, err) == (0, b"")
    assert b"green tea, ? and" in out


def test_a_reader_may_leave(tmp_path: Path) -> None:
    """`… | head` ends without a word, and with 0; nothing stays in the temporary folder."""
    with start(tmp_path, "demo") as done:
        assert done.stdout
        assert done.stderr
        done.stdout.readline()
        done.stdout.close()
        err = done.stderr.read()
    assert (done.returncode, err) == (0, b"")
    assert list(tmp_path.iterdir()) == []


def test_output_that_cannot_be_written(tmp_path: Path) -> None:
    """A full disk behind `>` is told in a line, with 1; what a shell has closed is done without."""
    env = {**os.environ, **variables(tmp_path / "store"), "SOUFFLEUR_EMBEDDER": "hash:64"}

    def told(way: str) -> tuple[int, str]:
        line = f'"$@" {way}'
        shell = ["sh", "-c", line, "sh", *SOUFFLEUR, "config"]
        done = subprocess.run(shell, env=env, capture_output=True, text=True, check=False)
        return done.returncode, done.stderr

    full = "souffleur: standard output: No space left on device\n"
    assert told("> /dev/full") == (1, full)
    assert told("<&- >&- 2>&-") == (0, "")


def test_a_command_that_is_ended_leaves_nothing(tmp_path: Path) -> None:
    """SIGTERM, as of a closed terminal, ends it with 143 and deletes its temporary store."""
    with start(tmp_path, "demo") as done:
        assert done.stdout
        done.stdout.readline()
        deadline = time.monotonic() + 20
        while not list(tmp_path.iterdir()) and time.monotonic() < deadline:
            time.sleep(0.01)
        done.send_signal(signal.SIGTERM)
        done.stdout.read()
        done.wait()
    assert done.returncode == 128 + signal.SIGTERM
    assert list(tmp_path.iterdir()) == []


def test_help_and_version(run: Run) -> None:
    """`-h` is `--help`; at most 30 commands stand in groups, and no help is cut."""
    code, out, _ = run("-h")
    assert code == 0
    assert out == run("--help")[1]
    listed = out.partition("\nTalk:")[2]
    names = [line.split()[0] for line in listed.splitlines() if re.match(r"  \w", line)]
    assert names[:4] == ["chat", "demo", "list", "search"]
    assert names[-1] == "eval"
    assert len(names) <= 30
    groups = ("Look", "Correct", "Run", "Serve", "Move", "Repair", "Measure")
    assert all(f"\n{name}:\n" in listed for name in groups)
    assert "..." not in listed
    assert run("--version")[1].startswith("souffleur 0.")
