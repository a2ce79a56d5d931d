"""`souffleur serve` as a process of its own, and `souffleur token`."""

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from souffleur.client import Client
from souffleur.server.tokens import Role, TokenFile
from tests.build import NOW
from tests.command import Run, data

SERVER = """
import atexit, gc
from souffleur.cli import main
atexit.register(lambda: print(gc.get_freeze_count(), "objects were spared"))
main()
"""


@contextmanager
def serving(
    folder: Path, *words: str, command: str = "serve"
) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A server with a store in a folder, and what it says first."""
    child = subprocess.Popen(
        [sys.executable, "-P", "-c", SERVER, command, "--port", "0", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "SOUFFLEUR_PATH": str(folder), "SOUFFLEUR_EMBEDDER": "hash:64"},
    )
    try:
        assert child.stdout is not None
        yield child, child.stdout.readline()
    finally:
        child.kill()
        child.communicate(timeout=30)


def test_it_serves_until_it_is_stopped(tmp_path: Path) -> None:
    """It says where, takes turns with a token, and ends with 0; what it was told is there again.

    What it imported is spared by the garbage collector, which would hold the event loop.
    """
    store = tmp_path / "store"
    secret = TokenFile(store / "tokens.json").make(Role.ADMIN, now=NOW)
    for stop in (signal.SIGTERM, signal.SIGINT):
        with serving(store) as (child, said):
            (url,) = re.findall(r"serving at (http://127\.0\.0\.1:\d+) with a token", said)
            with Client(url, token=secret) as client:
                if stop is signal.SIGTERM:
                    assert client.observe(user_id="ann", user="I like tea.").durable
                    client.remember("Ann likes tea.", user_id="ann")
                assert "Ann likes tea." in client.recall(user_id="ann", text="tea?").text
                (ann,) = client.users()
                assert (ann.memories, ann.turns) == (1, 1)
                child.send_signal(stop)
                assert child.wait(timeout=30) == 0
            assert child.stdout is not None
            spared = child.stdout.read().splitlines()[-1].partition(" objects were spared")[0]
            assert int(spared) > 50_000


def test_tokens_are_made_listed_and_revoked(run: Run, tmp_path: Path) -> None:
    """A secret is printed once, alone; the list has its owner, and what is revoked is gone."""
    code, out, err = run("token", "--user", "ann", "--label", "phone")
    assert (code, err) == (0, "it is stored nowhere and not shown again\n")
    found = TokenFile(tmp_path / "store" / "tokens.json").find(out.strip())
    assert found
    assert (found.role, found.who) == (Role.USER, "ann")
    luna = data(run, "token", "--agent", "luna")["token"]
    assert luna != out.strip()
    code, out, err = run("token")
    assert "user ann" in out
    assert "persona luna" in out
    assert "phone" in out
    assert luna not in out
    code, out, err = run("token", "--revoke", found.digest[:8])
    assert code == 0
    assert [one["who"] for one in data(run, "token")] == ["luna"]
    assert run("token", "--revoke", found.digest[:8])[0] == 3
    assert run("token", "--user", "ann", "--admin")[0] == 2
    assert run("token", "--user", " ")[0] == 2
    assert json.loads((tmp_path / "store" / "tokens.json").read_text())[0]["who"] == "luna"


def test_it_does_not_listen_to_others_without_a_token(run: Run) -> None:
    """It refuses before it opens the store, and says what to do."""
    code, out, err = run("serve", "--host", "0.0.0.0", "--port", "0")
    assert (code, out) == (2, "")
    assert "make one with `souffleur token --admin`" in err
