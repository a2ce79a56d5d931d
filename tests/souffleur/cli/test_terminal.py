"""The terminal of a talk: a real one, and a pipe."""

import json
import os
import pty
import re
import select
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from souffleur.cli.terminal import Terminal
from tests.scripted import SKIP, SMALL_TALK, add, answer
from tests.stub import Body, Stub, say, slow

Start = Callable[..., Stub]

CHAT = (
    "import fcntl, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0)\n"
    "from souffleur.cli import main; main()"
)
"""The command in a session of its own, whose terminal its standard input becomes."""
CONTROLS = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\r")


class Screen:
    """A terminal with a command in it: what it shows, and the keys that are pressed."""

    def __init__(self, *words: str, **variables: str) -> None:
        self._keys, terminal = pty.openpty()
        ours = {f"SOUFFLEUR_{name}": value for name, value in variables.items()}
        self.shown = ""
        """All that was printed so far, without colours and movements of the cursor."""
        self.attributes = termios.tcgetattr(terminal)
        self.terminal = terminal
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-c", CHAT, *words],
            stdin=terminal,
            stdout=terminal,
            stderr=terminal,
            start_new_session=True,
            env={**os.environ, "TERM": "xterm", "COLUMNS": "160", **ours},
        )

    def press(self, keys: str) -> None:
        os.write(self._keys, keys.encode())

    def wait_for(self, pattern: str, seconds: float = 60.0) -> None:
        """Read on until it is shown, after all that was waited for before."""
        until = time.monotonic() + seconds
        while not (found := re.search(pattern, self.shown)):
            assert select.select([self._keys], [], [], until - time.monotonic())[0], self.shown
            self.shown += CONTROLS.sub("", os.read(self._keys, 65_536).decode())
        self.shown = self.shown[found.end() :]

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self._keys)
        os.close(self.terminal)


@contextmanager
def screen(*words: str, **variables: str) -> Iterator[Screen]:
    shown = Screen(*words, **variables)
    try:
        yield shown
    finally:
        shown.close()


def model(body: Body) -> Any:
    """Keeps the first thing that was said at once, and takes its time for the others."""
    form = body.get("response_format", {}).get("json_schema", {"name": ""})["name"]
    if form == "monitor":
        if "I like tea" in body["messages"][-1]["content"].rpartition("##")[2]:
            return say(json.dumps(answer(add("Ann likes tea.", "I like tea"))))(body)
        return slow(0.2, say(json.dumps(SKIP)))(body)
    return say(json.dumps(SMALL_TALK) if form else "Noted.")(body)


def test_turns_are_judged_while_one_types(tmp_path: Path, stub: Start) -> None:
    """What is kept is shown beside the prompt, and waits where a line is being typed.

    One Ctrl-C ends the talk, and the terminal is as it was.
    """
    server = stub(model)
    variables = {"BASE_URL": server.base_url, "PATH": str(tmp_path), "MODEL": "m-1"}
    with screen("chat", **variables, EMBEDDER="hash:64") as terminal:
        terminal.wait_for(f"m-1 at {server.base_url}\nstore {tmp_path}  user me\n.*/quit.*\n")
        terminal.wait_for("you  ")
        terminal.press("I like tea\n")
        terminal.wait_for("the assistant  Noted.\n(.|\n)*ADD  Ann likes tea.  because new\nyou  ")
        terminal.press("some tea?\n")
        terminal.wait_for("whispered  Ann likes tea.\n(.|\n)*the assistant  Noted.\n.*you  ")
        terminal.press("half a")
        terminal.wait_for("half a")
        until = time.monotonic() + 60
        while len(server.requests) < 4:  # both replies, both judgements
            assert time.monotonic() < until
            time.sleep(0.01)
        time.sleep(0.6)  # judged after 0.2 s, and looked for every 0.2 s
        terminal.press(" line\n")
        terminal.wait_for("^ line\n(.|\n)*SKIP  because small talk\n")
        terminal.wait_for("the assistant  Noted.\n(.|\n)*you  ")
        assert "half a line" in [body["messages"][-1]["content"] for body in server.requests]
        terminal.press("never sent\x03")
        terminal.wait_for("all is judged")
        assert terminal.process.wait(10) == 0
        assert termios.tcgetattr(terminal.terminal) == terminal.attributes


async def test_lines_come_from_a_pipe_as_well(capsys: pytest.CaptureFixture[str]) -> None:
    """One after the other, the last without its end; a half one waits for its rest."""
    reader, writer = os.pipe()
    with os.fdopen(reader) as source, Terminal(source) as terminal:
        os.write(writer, "茶?\r\n\n[b] and so".encode())
        assert [await terminal.read(), await terminal.read()] == ["茶?", ""]
        os.write(writer, b" on")
        os.close(writer)
        terminal.tell("[bold]told[/]")
        assert [await terminal.read(), await terminal.read()] == ["[b] and so on", None]
    assert capsys.readouterr().out == "you  茶?\nyou  \ntold\nyou  [b] and so on\n"
