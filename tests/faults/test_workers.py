"""Workers as processes at one real server, killed or cut off at random.

Each turn is judged once and in order, and ledger and memories agree.
"""

import asyncio
import os
import random
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, closing, contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from souffleur.api import Souffleur
from tests.faults.workers import Workers, recording, unhurried
from tests.place import SERVER, drop
from tests.shared import assert_judged_once, assert_ledger_agrees, until_judged
from tests.stub import Stub

pytestmark = [
    pytest.mark.soak,
    pytest.mark.skipif(not SERVER, reason="SOUFFLEUR_TEST_QDRANT_URL names no server"),
]
USERS = [f"user{number}" for number in range(8)]
NETWORK = "10.213.{}.{}"
"""Addresses of the two ends of a link, by the number of the link."""


class Talk:
    """Turns that are said at random while something happens to the workers."""

    def __init__(self, memory: Souffleur, chance: random.Random) -> None:
        self.said = 0
        self._memory, self._chance = memory, chance

    @asynccontextmanager
    async def going_on(self) -> AsyncIterator[None]:
        """Say something every fifth of a second or so."""
        talking = asyncio.create_task(self._keep_talking())
        yield
        talking.cancel()
        await asyncio.gather(talking, return_exceptions=True)

    async def _keep_talking(self) -> None:
        while True:
            user_id = self._chance.choice(USERS)
            line, name = f"I like thing {user_id}x{self.said}.", str(self.said)
            assert self._memory.observe(user_id=user_id, user=line, turn_id=name).durable
            self.said += 1
            await asyncio.sleep(self._chance.uniform(0.0, 0.5))

    async def assert_judged(self, model: Stub, what: str) -> None:
        """All that was said is judged once, in order, and what was kept is what was decided."""
        base = self._memory.knowledge
        await until_judged(base, self.said, 600)
        await assert_judged_once(base, USERS)
        await assert_ledger_agrees(base)
        adds = [one for one in await base.journal.entries() if one.op == "ADD"]
        assert len({one.details["content"] for one in adds}) == len(adds) == self.said
        asked = sum("I like" in str(body["messages"][-1]["content"]) for body in model.requests)
        print(f"{what}: {self.said} turns, {asked} calls", file=sys.stderr)


@pytest.mark.parametrize(
    ("count", "kills", "commands"),
    [(2, 50, False), (4, 50, False), (2, 15, True)],
    ids=["two", "four", "commands"],
)
async def test_workers_that_die_lose_nothing_and_judge_nothing_twice(
    tmp_path: Path, stub: Callable[..., Stub], count: int, kills: int, commands: bool
) -> None:
    """Again and again one of them is killed at a random moment, and another takes over."""
    drop(tmp_path)
    chance, model = random.Random(count), stub(unhurried(0.3, count))
    workers = Workers(tmp_path, model.base_url, commands=commands)
    with closing(workers):
        await workers.start(count)
        async with recording(tmp_path) as memory:
            talk = Talk(memory, chance)
            async with talk.going_on():
                for _ in range(kills):
                    await asyncio.sleep(chance.uniform(0.0, 1.5))
                    workers.kill(chance.randrange(count))
                    await workers.start(1)
            await talk.assert_judged(model, f"{count} workers, {kills} kills")
            await workers.stop()


@contextmanager
def linked(number: int) -> Iterator[str]:
    """A network namespace with a link to this one; its name."""
    name, near, far = f"souffleur{number}", f"sfl{number}a", f"sfl{number}b"
    inside = ["ip", "netns", "exec", name]
    try:
        for command in (
            ["ip", "netns", "add", name],
            ["ip", "link", "add", near, "type", "veth", "peer", "name", far, "netns", name],
            ["ip", "address", "add", f"{NETWORK.format(number, 1)}/24", "dev", near],
            ["ip", "link", "set", near, "up"],
            [*inside, "ip", "address", "add", f"{NETWORK.format(number, 2)}/24", "dev", far],
            [*inside, "ip", "link", "set", far, "up"],
        ):
            subprocess.run(command, check=True)
        yield name
    finally:
        subprocess.run(["ip", "netns", "delete", name], check=False)


@asynccontextmanager
async def forwarded(address: str, port: int) -> AsyncIterator[int]:
    """A port at an address of this machine that leads to one of the loopback."""

    async def copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while data := await reader.read(65536):
                writer.write(data)
                await writer.drain()
        except ConnectionError:
            pass  # whose end is cut off, or killed
        finally:
            writer.close()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, back = await asyncio.open_connection("127.0.0.1", port)
        await asyncio.gather(copy(reader, back), copy(there, writer))

    open_ones: set[asyncio.Task[None]] = set()

    def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        open_ones.add(asyncio.create_task(serve(reader, writer)))

    server = await asyncio.start_server(accept, address, 0)
    yield server.sockets[0].getsockname()[1]
    server.close()
    for one in open_ones:
        one.cancel()
    await asyncio.gather(*open_ones, return_exceptions=True)


@pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("ip"), reason="needs root and `ip`")
async def test_workers_that_are_cut_off_judge_nothing_twice(
    tmp_path: Path, stub: Callable[..., Stub]
) -> None:
    """20 times the network between a worker and all else is down, mostly longer than a lease."""
    drop(tmp_path)
    cuts, chance, model = 20, random.Random(5), stub(unhurried(0.3, 5))
    workers = Workers(tmp_path, "")
    port = urlsplit(SERVER).port or 6333
    async with AsyncExitStack() as stack:
        spaces = [stack.enter_context(linked(number)) for number in (1, 2)]
        stack.enter_context(closing(workers))
        for number, space in enumerate(spaces, 1):
            address = NETWORK.format(number, 1)
            there = forwarded(address, urlsplit(model.base_url).port or 0)
            at = await stack.enter_async_context(there)
            urls = {
                "SOUFFLEUR_QDRANT_URL": f"http://{address}:{port}",
                "SOUFFLEUR_BASE_URL": f"http://{address}:{at}/v1",
            }
            await workers.start(1, "ip", "netns", "exec", space, **urls)
        async with recording(tmp_path) as memory:
            talk = Talk(memory, chance)
            async with talk.going_on():
                for _ in range(cuts):
                    await asyncio.sleep(chance.uniform(0.5, 3.0))
                    link = f"sfl{chance.choice((1, 2))}a"
                    await asyncio.to_thread(set_link, link, "down")
                    await asyncio.sleep(chance.uniform(0.5, 6.0))
                    await asyncio.to_thread(set_link, link, "up")
            await talk.assert_judged(model, f"2 workers, {cuts} cuts")


def set_link(name: str, state: str) -> None:
    """Cut a link, or mend it."""
    subprocess.run(["ip", "link", "set", name, state], check=True)
