"""The examples run as they are, against an endpoint on the loopback."""

import importlib.util
import io
import json
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from starlette.testclient import TestClient

from souffleur import Souffleur
from souffleur.langchain import SouffleurStore, Talk
from tests.scripted import add, answer
from tests.stub import Body, Response, Stub, completion, say, send

EXAMPLES = Path(__file__).parent.parent / "examples"
KEPT = json.dumps(answer(add("The user likes tea.", "like tea")))
Start = Callable[..., Stub]


def example(name: str) -> ModuleType:
    """The example as a module, loaded from its file."""
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def model(body: Body) -> Response:
    """Judges that tea is liked, once; to anybody else it says what it was asked."""
    words = str(body["messages"])
    if "response_format" in body:
        return say(KEPT if "like tea" in words else '{"reason": "talk", "ops": []}')(body)
    said = body["messages"][-1]["content"]
    if said.startswith("Order"):
        call = {"name": "note_order", "arguments": '{"drink": "tea"}'}
        calls = [{"id": "1", "type": "function", "function": call}]
        asked = {"role": "assistant", "content": None, "tool_calls": calls}
        choice = {"index": 0, "finish_reason": "tool_calls", "message": asked}
        return send(completion(choices=[choice]))(body)
    if body.get("stream"):
        parts = [{"content": f"{said}?"}, {"content": " Sure."}]
        chunks = [completion(choices=[{"index": 0, "delta": part}]) for part in parts]
        lines = [f"data: {json.dumps(one)}\n\n" for one in chunks]
        return send("".join([*lines, "data: [DONE]\n\n"]), "text/event-stream")(body)
    return say(f"{said}? Sure.")(body)


@pytest.fixture
def endpoint(stub: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Stub:
    """The environment that the head of each example asks for."""
    made = stub(model)
    for name, value in {
        "PATH": str(tmp_path / "store"),
        "EMBEDDER": "hash:64",
        "BASE_URL": made.base_url,
        "MODEL": "stub-1",
    }.items():
        monkeypatch.setenv(f"SOUFFLEUR_{name}", value)
    return made


def talk(monkeypatch: pytest.MonkeyPatch, *lines: str) -> None:
    """What is typed in the terminal; then nothing more."""
    monkeypatch.setattr("sys.stdin", io.StringIO("\n".join([*lines, "", ""])))


def prompts(endpoint: Stub) -> list[str]:
    """The system prompts of the companion so far."""
    asked = [body["messages"] for body in endpoint.requests if "response_format" not in body]
    return [messages[0]["content"] for messages in asked]


async def kept(*users: str) -> list[list[str]]:
    """What the store remembers of each user when all is judged."""
    async with Souffleur.open() as memory:
        await memory.flush(10)
        known = [await memory.list(user_id=user) for user in users]
    return [[one.content for one in some] for some in known]


@pytest.mark.parametrize("name", ["async_bot", "langgraph_agent"])
async def test_a_bot_in_the_terminal(
    name: str,
    endpoint: Stub,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """It answers, and the next time it knows what it was told."""
    bot: Any = example(name)
    talk(monkeypatch, "I like tea")
    await bot.main()
    assert "mo: I like tea? Sure." in capsys.readouterr().out
    talk(monkeypatch, "Which drink do I like?")
    await bot.main()
    first, second = prompts(endpoint)
    assert "The user likes tea." not in first
    assert "The user likes tea." in second


async def test_an_agent_with_a_tool_and_a_store(endpoint: Stub) -> None:
    """What its tool notes is a record of the user, and no memory; both rounds have a whisper."""
    bot: Any = example("langgraph_agent")
    async with Souffleur.open() as memory:
        await memory.remember("The user is called Ann.", user_id="me", agent_id="mo")
        config = {"configurable": {"thread_id": "t1"}}
        turn = {"messages": [("user", "Order a tea for Ann")]}
        state = await bot.make_agent(memory).ainvoke(turn, config, context=Talk("me"))
        assert state["messages"][-1].text == "tea is noted.? Sure."
        (record,) = await SouffleurStore(memory).asearch(("me", "orders"))
        assert record.value == {"drink": "tea"}
        assert len(await memory.list(user_id="me")) == 1
    assert all("called Ann" in prompt for prompt in prompts(endpoint))
    assert len(prompts(endpoint)) == 2


async def test_a_web_service(endpoint: Stub) -> None:
    """Replies are streamed; each user has a memory."""
    with TestClient(example("fastapi_bot").app) as client:
        for user, words in (("ann", "I like tea"), ("bob", "Which drink do I like?")):
            asked = {"user_id": user, "session_id": "s1", "text": words}
            answered = client.post("/chat", json=asked)
            assert answered.text == f"{words}? Sure."
    assert await kept("ann", "bob") == [["The user likes tea."], []]
    assert not any("likes tea" in prompt for prompt in prompts(endpoint))


def test_a_page_without_an_event_loop(endpoint: Stub) -> None:
    """The function that Gradio calls answers, with the talk so far and what is remembered."""
    bot: Any = example("gradio_bot")
    with Souffleur.open_blocking() as memory:
        page = bot.Bot(memory)
        assert page.reply("I like tea", []) == "I like tea? Sure."
        memory.flush(10)
        history = [
            {"role": "user", "content": "I like tea", "metadata": None},
            {"role": "assistant", "content": "I like tea? Sure.", "metadata": None},
        ]
        page.reply("Which drink do I like?", history)
    assert "The user likes tea." in prompts(endpoint)[-1]
    assert [one["role"] for one in endpoint.requests[-2]["messages"]][:2] == ["system", "user"]


@pytest.mark.parametrize("file", sorted(EXAMPLES.glob("*.py")), ids=lambda file: file.stem)
def test_each_says_how_to_run_it(file: Path) -> None:
    """In two lines at its head; it is short enough to be read at a glance."""
    lines = file.read_text(encoding="utf-8").splitlines()
    assert [line[:2] for line in lines[:3]] == ["# ", "# ", lines[2][:2]]
    assert lines[2][:1] != "#"
    assert "Run: " in lines[1]
    assert len(lines) <= 100
