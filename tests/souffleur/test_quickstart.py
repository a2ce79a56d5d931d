"""The first lines of a host, in the three homes that most have: they run as they are written."""

import ast
import asyncio
import inspect
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from textwrap import dedent
from types import CodeType
from typing import Any

import pytest

from souffleur import BlockingSouffleur, Settings, Souffleur
from souffleur.errors import StoreBusyError
from tests.scripted import SKIP, Scripted, add, answer
from tests.stub import Stub, say

TEA = json.dumps(answer(add("Ann likes green tea.", "I like green tea")))
SAID = ("I like green tea", "some tea?")

SCRIPT = """
import asyncio
from souffleur import BlockingSouffleur, Souffleur

async def main():
    async with Souffleur.open() as memory:
        for message in SAID:
            whisper = await memory.recall(user_id="u1", session_id="s1", text=message)
            reply = f"{message}? Noted."
            memory.observe(user_id="u1", session_id="s1", user=message, assistant=reply)
            await memory.flush()
            whispered.append(whisper.text)

asyncio.run(main())
"""

CELLS = (
    "from souffleur import BlockingSouffleur, Souffleur",
    "memory = await Souffleur.open()",
    """
    whisper = await memory.recall(user_id="u1", session_id="s1", text=SAID[0])
    receipt = memory.observe(user_id="u1", session_id="s1", user=SAID[0], assistant="Noted.")
    """,
    "judged = await memory.flush()",
    "[one.content for one in await memory.list(user_id='u1')]",
    "(await memory.recall(user_id='u1', session_id='s1', text=SAID[1])).text",
)


@pytest.fixture(autouse=True)
def configured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stub: Callable[..., Stub]) -> None:
    """All that a new user sets: where the model is, and here also where the store is."""
    endpoint = stub(say(TEA), say(json.dumps(SKIP)))
    monkeypatch.setenv("SOUFFLEUR_BASE_URL", endpoint.base_url)
    monkeypatch.setenv("SOUFFLEUR_PATH", str(tmp_path / "store"))


def test_an_async_script() -> None:
    """Run as a script with a loop of its own: what is told in one turn is whispered in the next."""
    whispered: list[str] = []
    exec(SCRIPT, {"SAID": SAID, "whispered": whispered})
    assert whispered[0] == ""
    assert "Ann likes green tea." in whispered[1]


async def test_a_sync_endpoint() -> None:
    """Functions that a web framework calls in its thread pool, side by side, as FastAPI's `def`."""
    memory = await asyncio.to_thread(BlockingSouffleur.open)

    def chat(user_id: str, message: str) -> str:
        whisper = memory.recall(user_id=user_id, text=message)
        receipt = memory.observe(user_id=user_id, user=message, assistant="Noted.")
        return whisper.text or receipt.error

    def known(user_id: str) -> list[str]:
        return [one.content for one in memory.list(user_id=user_id)]

    def request(endpoint: Callable[..., Any], *args: str) -> Any:
        return asyncio.to_thread(endpoint, *args)

    assert await request(chat, "ann", SAID[0]) == ""
    assert await asyncio.to_thread(memory.flush)
    users = ["ann", *(f"u{number}" for number in range(8))]
    ann, *others = await asyncio.gather(*(request(chat, user, SAID[1]) for user in users))
    assert "Ann likes green tea." in ann
    assert others == [""] * 8
    assert await request(known, "ann") == ["Ann likes green tea."]
    await asyncio.to_thread(memory.close)


async def test_a_notebook() -> None:
    """Cell by cell on a loop that goes on: judged between two cells; opened twice, told plainly."""
    names: dict[str, Any] = {"SAID": SAID}
    shown = [await run_cell(cell, names) for cell in CELLS]
    assert shown[4] == ["Ann likes green tea."]
    assert "Ann likes green tea." in shown[5]
    with pytest.raises(StoreBusyError, match="open in this process already: use that Souffleur"):
        await run_cell(CELLS[1], names)
    assert await run_cell(CELLS[4], names) == shown[4]  # what was open goes on
    await run_cell("await memory.close()", names)
    assert [await run_cell(cell, names) for cell in (CELLS[1], CELLS[4])][1] == shown[4]
    await run_cell("await memory.close()", names)


async def test_a_notebook_without_await() -> None:
    """The blocking face in cells, where a loop runs already: it holds the loop up, and answers."""
    cells: Sequence[str] = [
        "from souffleur import BlockingSouffleur, Souffleur",
        "memory = BlockingSouffleur.open()",
        "memory.observe(user_id='u1', user=SAID[0], assistant='Noted.').durable",
        "memory.flush()",
        "[one.content for one in memory.list(user_id='u1')]",
        "memory.close()",
    ]
    names: dict[str, Any] = {"SAID": SAID}
    shown = [await run_cell(cell, names) for cell in cells]
    assert shown[2:5] == [True, True, ["Ann likes green tea."]]


async def run_cell(source: str, names: dict[str, Any]) -> Any:
    """Run a cell as a notebook does, in the running loop; the value of an expression is shown."""
    source = dedent(source).strip()
    try:
        code = compiled(source, "eval")
    except SyntaxError:
        code = compiled(source, "exec")
    value = eval(code, names)
    value = await value if inspect.iscoroutine(value) else value
    await asyncio.sleep(0)
    return value


def compiled(source: str, mode: str) -> CodeType:
    found: CodeType = compile(source, "cell", mode, flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    return found


def test_who_opens_it_without_a_model_is_told(caplog: pytest.LogCaptureFixture) -> None:
    """Once, and which settings to set; not who has a model, gives a chat, or wants no judge."""
    Souffleur.open(Settings())
    (told,) = [one.getMessage() for one in caplog.records]
    assert told.startswith("nothing that is said will be remembered, as no model is configured")
    assert "SOUFFLEUR_BASE_URL" in told
    for given in (
        {"chat": Scripted(SKIP)},
        {"judge": False},
        {"base_url": "http://localhost:1/v1"},
    ):
        Souffleur.open(Settings(), **given)
    Souffleur.open()  # the environment has the address of one
    assert len(caplog.records) == 1


async def test_the_error_says_that_nobody_judges(tmp_path: Path) -> None:
    """Without a model; who wants no judge has no error."""
    for judge, told in ((True, "no model is configured"), (False, "")):
        async with Souffleur.open(Settings(path=tmp_path / str(judge), judge=judge)) as memory:
            assert memory.error.startswith(told)
            assert bool(memory.error) == judge
            assert (await memory.recall(user_id="ann", text="hi")).error == ""
