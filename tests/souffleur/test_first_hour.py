"""The first hour of a hobbyist: the commands of docs, with a front end and its local model."""

import asyncio
import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.place import in_folder
from tests.scripted import SKIP, add, answer
from tests.souffleur.cli.test_cli_serve import serving
from tests.souffleur.proxy.endpoint import Answer, Sent, open_endpoint, whole

DOCS = Path(__file__).parent.parent.parent / "docs"
MODELS = Answer((b'{"object": "list", "data": [{"id": "nomic-embed-text"}, {"id": "qwen3:8b"}]}',))
CAT = "I am Ann, and I have a cat called Mo."
JUDGED = answer(add("Ann has a cat called Mo.", "I have a cat called Mo", entities=["Mo"]))


def model(sent: Sent) -> Answer:
    """One model on this machine: it lists itself, chats, and judges when it is asked to."""
    if sent.line.startswith("GET /v1/models"):
        return MODELS
    asked: Any = sent.body["messages"]
    if "background memory" not in asked[0]["content"]:
        return whole("Nice to meet you.")
    return whole(json.dumps(JUDGED if CAT in asked[-1]["content"] else SKIP))


def commands() -> list[str]:
    """The commands from nothing to a talk that is remembered, as two pages have them."""
    start = (DOCS / "start.md").read_text("utf-8")
    front = (DOCS / "front-ends.md").read_text("utf-8")
    (clone,) = re.findall(r"^(git clone .+)$", start, re.MULTILINE)
    install = re.findall(r"^((?:python3 -m venv|pip install) .+)$", start, re.MULTILINE)
    (serve,) = re.findall(r"^(souffleur serve --upstream .+)$", front, re.MULTILINE)
    return [part for line in (clone, *install, serve) for part in line.split(" && ")]


@in_folder
async def test_a_talk_is_remembered_after_six_commands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a front end sends is judged by its own model, whispered later, and on the page."""
    for name in ("SOUFFLEUR_BASE_URL", "SOUFFLEUR_MODEL", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    told = commands()
    assert len(told) <= 6
    async with open_endpoint() as endpoint:
        endpoint.will(model)
        words = told[-1].split()[2:]
        words[words.index("--upstream") + 1] = endpoint.url
        async with _served(tmp_path / "store", *words) as (url, banner):
            assert "2 models" in banner[0]
            assert f"qwen3:8b at {endpoint.url}, after each reply" in banner[1]
            async with httpx2.AsyncClient(base_url=url, timeout=60) as http:
                await _talk(http, "first", CAT)
                kept = await _memories(http)
                assert [one["content"] for one in kept] == ["Ann has a cat called Mo."]
                assert (await http.get("/")).status_code == 200
                await _talk(http, "second", "What is my cat called?")
    chats = [one.body["messages"] for one in endpoint.sent if one.raw and "stream" not in one.body]
    asked = [one for one in chats if one[-1]["content"] == "What is my cat called?"]
    assert "Ann has a cat called Mo." in str(asked[-1])


@asynccontextmanager
async def _served(folder: Path, *words: str) -> AsyncIterator[tuple[str, list[str]]]:
    """The address of a server, and the lines that follow; its start asks the model of this loop."""
    server = serving(folder, *words)
    child, said = await asyncio.to_thread(server.__enter__)
    try:
        assert child.stdout is not None
        (url,) = re.findall(r"serving at (\S+)", said)
        yield url, [await asyncio.to_thread(child.stdout.readline) for _ in range(5)]
    finally:
        await asyncio.to_thread(server.__exit__, None, None, None)


async def _talk(http: httpx2.AsyncClient, session: str, text: str) -> None:
    body = {"model": "qwen3:8b", "messages": [{"role": "user", "content": text}]}
    named = {"X-Souffleur-Session": session, "Authorization": "Bearer none"}
    reply = await http.post("/v1/chat/completions", json=body, headers=named)
    assert reply.json()["choices"][0]["message"]["content"] == "Nice to meet you."


async def _memories(http: httpx2.AsyncClient) -> list[dict[str, Any]]:
    """What is remembered, as soon as something is."""
    for _ in range(300):
        found = (await http.get("/api/memories?user_id=me")).json()
        kept: list[dict[str, Any]] = found["items"]
        if kept:
            return kept
        await asyncio.sleep(0.1)
    return []
