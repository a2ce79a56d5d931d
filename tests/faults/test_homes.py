"""Threads, event loops and forks: what is said is judged, or the host is told plainly."""

import asyncio
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from souffleur.api import Souffleur
from souffleur.knowledge.turn import TurnState
from souffleur.settings import Settings
from tests.build import NOW
from tests.faults.child import ROOT, environment
from tests.scripted import SKIP, Scripted

CHILD = """
import asyncio, os, sys
from pathlib import Path
from souffleur.api import Souffleur
from souffleur.settings import Settings

async def main():
    memory = await Souffleur.open(Settings(path=Path(sys.argv[1]), embedder="hash:64"))
    await memory.remember("Ann likes tea.", user_id="ann")
    if not (child := os.fork()):
        receipt = memory.observe(user_id="ann", user="said in the child")
        whisper = await memory.recall(user_id="ann", text="tea")
        await memory.close()
        told = "forked" in receipt.error and "forked" in whisper.error
        os._exit(0 if told and not receipt.durable else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert memory.observe(user_id="ann", user="said in the parent").durable
    assert [turn.user for turn in await memory.knowledge.journal.turns()] == ["said in the parent"]
    await memory.close()
    print("well")

asyncio.run(main())
"""


def settings(folder: Path, **fields: Any) -> Settings:
    return Settings(path=folder, embedder="hash:64", retry_pause=0.0, **fields)


@contextmanager
def loop_in_a_thread() -> Iterator[asyncio.AbstractEventLoop]:
    """An event loop that runs in a thread, as hosts without one of their own have it."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    yield loop
    loop.call_soon_threadsafe(loop.stop)
    thread.join()
    loop.close()


def test_what_another_thread_observes_is_judged(tmp_path: Path) -> None:
    """Observed from eight threads at once while the loop runs in a ninth: all judged, in order."""
    with loop_in_a_thread() as loop:

        def wait(work: Any) -> Any:
            return asyncio.run_coroutine_threadsafe(work, loop).result(60)

        async def start() -> Souffleur:
            chat = Scripted(lambda _: SKIP)
            return await Souffleur.open(settings(tmp_path), chat=chat, clock=lambda: NOW)

        memory = wait(start())

        def talk(user: int) -> None:
            for place in range(10):
                said = f"{place} of {user}"
                assert memory.observe(user_id=f"u{user}", user=said, assistant="ok").durable
            memory.end_session(user_id=f"u{user}")

        with ThreadPoolExecutor(8) as threads:
            list(threads.map(talk, range(8)))

        async def judged() -> bool:
            done = await memory.flush()
            turns = await memory.knowledge.journal.turns()
            states = {turn.state for turn in turns}
            mine = [[turn.user for turn in turns if turn.user_id == f"u{u}"] for u in range(8)]
            in_order = [[f"{place} of {u}" for place in range(10)] for u in range(8)]
            return done and states == {TurnState.JUDGED} and mine == in_order

        assert wait(judged())
        wait(memory.close())


def test_observed_without_a_loop_it_is_judged_without_another_word(tmp_path: Path) -> None:
    """No `flush`, no further turn: the loop in its thread is woken by the one that observes."""
    with loop_in_a_thread() as loop:
        asked = threading.Event()

        def model(_: Any) -> Any:
            asked.set()
            return SKIP

        async def start() -> Souffleur:
            return await Souffleur.open(settings(tmp_path), chat=Scripted(model), clock=lambda: NOW)

        memory = asyncio.run_coroutine_threadsafe(start(), loop).result(60)
        memory.observe(user_id="ann", user="hi", assistant="ho")
        assert asked.wait(60)
        asyncio.run_coroutine_threadsafe(memory.close(), loop).result(60)


def test_a_loop_a_request(tmp_path: Path) -> None:
    """Opened, used and closed in one `asyncio.run` after another, as scripts do: all is judged."""
    chat = Scripted(lambda _: SKIP)

    async def start() -> Souffleur:
        return await Souffleur.open(settings(tmp_path), chat=chat, clock=lambda: NOW)

    async def say(memory: Souffleur, place: int) -> None:
        await memory.recall(user_id="ann", text="hi")
        assert memory.observe(user_id="ann", user=f"turn {place}", assistant="ok").durable

    async def look(memory: Souffleur) -> list[TurnState]:
        assert await memory.flush()
        return [turn.state for turn in await memory.knowledge.journal.turns()]

    memory = asyncio.run(start())
    for place in range(5):
        asyncio.run(say(memory, place))
    assert asyncio.run(look(memory)) == [TurnState.JUDGED] * 5
    assert memory.observe(user_id="ann", user="outside of any loop", assistant="ok").durable
    assert asyncio.run(look(memory)) == [TurnState.JUDGED] * 6
    asyncio.run(memory.close())
    asyncio.run(memory.close())


def test_a_loop_that_was_dropped_with_work_in_it(tmp_path: Path) -> None:
    """Its tasks are gone; the next loop judges what they left, and closing is no error."""
    gone = asyncio.new_event_loop()

    async def never(_: Any) -> Any:
        await asyncio.Event().wait()

    async def start(chat: Any) -> Souffleur:
        chosen = settings(tmp_path, shutdown_timeout=0.0)
        return await Souffleur.open(chosen, chat=chat, clock=lambda: NOW)

    memory = gone.run_until_complete(start(never))
    memory.observe(user_id="ann", user="hi", assistant="ho")
    gone.run_until_complete(asyncio.sleep(0.01))
    tasks = asyncio.all_tasks(gone)
    for task in tasks:
        task.cancel()
    gone.run_until_complete(asyncio.wait(tasks))
    gone.close()
    asyncio.run(memory.close())

    async def judged() -> list[TurnState]:
        again = await start(Scripted(lambda _: SKIP))
        await again.flush()
        states = [turn.state for turn in await again.knowledge.journal.turns()]
        await again.close()
        return states

    assert asyncio.run(judged()) == [TurnState.JUDGED]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork on this system")
def test_a_forked_child_is_told(tmp_path: Path) -> None:
    """It keeps nothing, says so, does not hang, and its parent goes on undisturbed."""
    command = [sys.executable, "-P", "-W", "ignore", "-c", CHILD, str(tmp_path)]
    kept = {"cwd": ROOT, "env": environment(), "capture_output": True, "text": True}
    ended = subprocess.run(command, **kept, timeout=300, check=False)  # type: ignore[call-overload]
    assert (ended.returncode, ended.stdout) == (0, "well\n"), ended.stderr
