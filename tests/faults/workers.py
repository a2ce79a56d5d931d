"""Hosts that only record, and workers that only judge, as processes at one real server."""

import asyncio
import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from souffleur.api import Souffleur
from souffleur.settings import Settings
from tests.faults.child import ROOT, environment
from tests.place import SERVER, prefix
from tests.scripted import SKIP, add, answer
from tests.stub import Behaviour, Body, Response, say, slow

COMMAND = [sys.executable, "-P", "-m", "tests.faults.nursery"]
LEASE, MOST = 2.0, 8
LINE = re.compile(r"I like thing (\w+)\.")


def judge(body: Body) -> Response:
    """Keep each thing that is liked; everything else is small talk."""
    asked = body["messages"][:2][-1]["content"]  # asked again, it says the same again
    names = dict.fromkeys(LINE.findall(asked.rpartition("\n## ")[2]))
    ops = [add(f"Ann likes thing {name}.", f"I like thing {name}") for name in names]
    return say(json.dumps(answer(*ops[:MOST]) if ops else SKIP))(body)


def unhurried(seconds: float, seed: int) -> Behaviour:
    """The same judge, which takes up to that long."""
    chance = random.Random(seed)
    return lambda body: slow(chance.uniform(0.0, seconds), judge)(body)


@asynccontextmanager
async def recording(store: Path, **fields: Any) -> AsyncIterator[Souffleur]:
    """A host that records and does not judge; the store's collections are named by its folder."""
    settings = Settings(
        path=store / "host",
        qdrant_url=SERVER,
        qdrant_prefix=prefix(store),
        embedder="hash:64",
        judge=False,
        lease_seconds=LEASE,
        window=1000,
        **fields,
    )
    async with Souffleur.open(settings) as memory:
        yield memory


class Workers:
    """`souffleur worker` processes, of which one is killed now and then."""

    def __init__(self, store: Path, base_url: str, *, commands: bool = False) -> None:
        """They are forks of a process that has loaded everything or, with `commands`, commands."""
        self._commands: list[subprocess.Popen[str]] | None = [] if commands else None
        self._log = (store / "log").open("ab")
        self._environment = {
            **environment(),
            "SOUFFLEUR_PATH": str(store / "workers"),
            "SOUFFLEUR_QDRANT_URL": str(SERVER),
            "SOUFFLEUR_QDRANT_PREFIX": prefix(store),
            "SOUFFLEUR_EMBEDDER": "hash:64",
            "SOUFFLEUR_BASE_URL": base_url,
            "SOUFFLEUR_MODEL": "stub",
            "SOUFFLEUR_LEASE_SECONDS": str(LEASE),
            "SOUFFLEUR_RETRY_PAUSE": "0.1",
            "SOUFFLEUR_WINDOW": "1000",
            "SOUFFLEUR_TURNS_PER_CALL": str(MOST),
        }
        self._nurseries: dict[tuple[str, ...], subprocess.Popen[str]] = {}
        """What starts workers, by what stands before its command."""
        self.running: list[int] = []
        """The ids of the workers."""

    async def start(self, count: int, *prefix: str, **env: str) -> None:
        """Start more, with what stands before their command, and wait until they judge."""
        for _ in range(count):
            self.running.append(await asyncio.to_thread(self._start, prefix, env))

    def kill(self, place: int) -> None:
        """End one as a crash does."""
        os.kill(self.running.pop(place), signal.SIGKILL)

    async def stop(self) -> None:
        """End all of them as a service manager does, and wait until they are gone."""
        for pid in self.running:
            os.kill(pid, signal.SIGTERM)
        await asyncio.wait_for(asyncio.to_thread(self._wait), 60)
        self.running = []

    def close(self) -> None:
        """End what still runs."""
        while self.running:
            self.kill(0)
        for child in (*self._nurseries.values(), *(self._commands or ())):
            child.communicate()
        self._log.close()

    def _wait(self) -> None:
        for child in self._commands or ():
            child.wait()
        while any(Path(f"/proc/{pid}").exists() for pid in self.running):
            time.sleep(0.1)

    def _start(self, prefix: tuple[str, ...], env: Mapping[str, str]) -> int:
        if self._commands is not None:
            command = self._run([*prefix, sys.executable, "-P", "-m", "souffleur", "worker"], env)
            self._commands.append(command)
            assert command.stdout is not None
            assert command.stdout.readline().startswith("judging")
            return command.pid
        nursery = self._nurseries.get(prefix) or self._open(prefix, env)
        assert nursery.stdin is not None
        assert nursery.stdout is not None
        nursery.stdin.write("\n")
        nursery.stdin.flush()
        said = {nursery.stdout.readline(), nursery.stdout.readline()}
        (number,) = (line for line in said if line.strip().isdigit())
        assert any(line.startswith("judging") for line in said), said
        return int(number)

    def _open(self, prefix: tuple[str, ...], env: Mapping[str, str]) -> subprocess.Popen[str]:
        nursery = self._run([*prefix, *COMMAND], env)
        self._nurseries[prefix] = nursery
        assert nursery.stdout is not None
        assert nursery.stdout.readline() == "ready\n"
        return nursery

    def _run(self, command: Sequence[str], env: Mapping[str, str]) -> subprocess.Popen[str]:
        return subprocess.Popen(
            command,
            cwd=ROOT,
            env={**self._environment, **env},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
        )
