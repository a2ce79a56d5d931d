"""The `openai` client of npm through the proxy, as web front ends have it."""

import asyncio
import json
import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.souffleur.proxy.endpoint import (
    Answer,
    Sent,
    calling,
    refusal,
    responded,
    streamed,
    whole,
)
from tests.souffleur.proxy.scene import open_scene
from tests.souffleur.proxy.test_openai_client import until

NODE, NPM = shutil.which("node"), shutil.which("npm")
SCRIPT = Path(__file__).with_name("client.mjs")
ANSWERS: Mapping[str, Answer] = {
    "whole": whole("Whole."),
    "streamed": streamed("Stre", "amed."),
    "image": whole("Seen."),
    "tools": calling("weather"),
    "error": refusal(429),
    "abort": streamed("Once ", "upon ", "never", hold_after=2),
    "response": responded("Responded."),
}


@pytest.mark.soak
@pytest.mark.skipif(not (NODE and NPM), reason="needs node and npm")
async def test_all_of_it(tmp_path: Path) -> None:
    """Replies, streams, images, tools, errors and an abort are for it as they are for ours."""
    if await _run(tmp_path, str(NPM), "install", "--no-audit", "--no-fund", "openai@6") is None:
        pytest.skip("npm cannot install the client: its registry is out of reach")
    shutil.copy(SCRIPT, tmp_path)
    async with open_scene(tmp_path / "store") as scene:
        scene.endpoint.will(_answer)
        told = await _run(tmp_path, str(NODE), SCRIPT.name, scene.url)
        assert told is not None
        assert json.loads(told) == {
            "whole": "Whole.",
            "streamed": "Streamed.",
            "image": "Seen.",
            "tool": "weather",
            "error": [429, "429 slow down"],
            "aborted": "Once upon ",
            "response": "Responded.",
        }
        assert {sent.header("authorization") for sent in scene.endpoint.sent} == {"Bearer sk-node"}
        said = {"whole": "Whole.", "streamed": "Streamed.", "image\n[image]": "Seen."}
        said |= {"abort": "Once upon [aborted]", "response": "Responded."}
        await until(scene, "node", list(said.items()))


def _answer(sent: Sent) -> Answer:
    asked = sent.body.get("input") or sent.body["messages"][-1]["content"]
    return ANSWERS[asked if isinstance(asked, str) else asked[0]["text"]]


async def _run(folder: Path, *words: str) -> str | None:
    """Run a program; return what it prints, `None` if it failed."""
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(*words, cwd=folder, stdout=pipe)
    said, _ = await process.communicate()
    return None if process.returncode else said.decode()
