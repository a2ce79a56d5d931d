"""`souffleur mcp` beside other processes: the first process has the store, and all reach it."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

from souffleur.api import Souffleur
from souffleur.cli.shared_store import SharedStore
from souffleur.settings import Settings
from tests.command import Run, data, on_disk
from tests.place import in_folder

pytestmark = in_folder


@asynccontextmanager
async def session(folder: Path) -> AsyncIterator[Client]:
    """A session with a process of its own."""
    given = {**os.environ, "SOUFFLEUR_PATH": str(folder), "SOUFFLEUR_EMBEDDER": "hash:64"}
    command = StdioServerParameters(
        command=sys.executable, args=["-m", "souffleur", "mcp"], env=given
    )
    async with Client(stdio_client(command)) as client:
        yield client


async def add(client: Client, text: str) -> None:
    told = await client.call_tool("add_memory", {"text": text})
    assert not told.is_error


async def count(client: Client) -> Any:
    found = await client.call_tool("get_memories", {})
    assert found.structured_content
    return found.structured_content["total"]


@on_disk
async def test_the_store_changes_hands(run: Run, tmp_path: Path) -> None:
    """A process works through the one that has the store, then has it, and commands reach it."""
    folder = tmp_path / "store"
    first = SharedStore(Settings(path=folder, embedder="hash:64"))
    await first.__aenter__()
    async with session(folder) as client:
        await add(client, "Me likes tea.")
        await first.remember("Me sails.", user_id="me")
        assert await count(client) == 2
        await first.__aexit__()
        await add(client, "Me swims.")
        assert await count(client) == 3
        assert len(await asyncio.to_thread(data, run, "list")) == 3
    assert len(await asyncio.to_thread(data, run, "list")) == 3


async def test_a_host_with_the_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who finds the store in use works through the process that has it."""
    settings = Settings(path=tmp_path, embedder="hash:64")
    monkeypatch.setenv("SOUFFLEUR_PATH", str(tmp_path))
    async with Souffleur.open(settings) as memory:
        await memory.remember("Me likes tea.", user_id="me")
        async with SharedStore(settings) as other:
            assert [one.content for one in await other.list(user_id="me")] == ["Me likes tea."]
