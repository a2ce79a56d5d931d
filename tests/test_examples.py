"""The examples run as they are, against an endpoint on the loopback."""

import asyncio
import importlib.util
import io
import json
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import httpx2
import pytest

from souffleur import BlockingSouffleur, Souffleur
from souffleur.integrations.langchain import SouffleurStore, Talk
from souffleur.server.app import make_app, make_whole_app
from souffleur.settings import load_settings
from tests.asgi import served
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
    async with served(example("fastapi_bot").app) as url, httpx2.AsyncClient() as client:
        for user, words in (("ann", "I like tea"), ("bob", "Which drink do I like?")):
            asked = {"user_id": user, "session_id": "s1", "text": words}
            answered = await client.post(f"{url}/chat", json=asked)
            assert answered.text == f"{words}? Sure."
    assert await kept("ann", "bob") == [["The user likes tea."], []]
    assert not any("likes tea" in prompt for prompt in prompts(endpoint))


def test_a_page_without_an_event_loop(endpoint: Stub) -> None:
    """The function that Gradio calls answers, with the talk so far and what is remembered."""
    bot: Any = example("gradio_bot")
    with BlockingSouffleur.open() as memory:
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


async def test_a_filter_of_open_webui(endpoint: Stub) -> None:
    """It whispers in the system message, stores each turn once, and costs no reply."""
    made: Any = example("open_webui_filter").Filter()
    ann = {"__user__": {"id": "ann"}, "__metadata__": {"chat_id": "c1", "task": None}}
    async with Souffleur.open() as memory, served(make_app(memory)) as url:
        made.valves.url = url
        first = {"messages": [{"role": "user", "content": "I like tea", "id": "m1"}]}
        assert await made.inlet(first, **ann) is first
        assert first["messages"][0]["role"] == "user"
        for words in ("Fine.", '<details type="reasoning">Hm.\n</details>\nNoted.'):
            reply = {"role": "assistant", "content": words, "id": "m2"}
            out = {"chat_id": "c1", "messages": [*first["messages"], reply]}
            assert await made.outlet(out, **ann) is out
        await memory.flush(10)
        (turn,) = await memory.knowledge.journal.turns()
        assert (turn.session_id, turn.turn_id, turn.user) == ("c1", "m1", "I like tea")
        assert (turn.assistant, turn.version) == ("Noted.", 1)
        parts = [{"type": "text", "text": "Which drink do I like?"}]
        said: list[Any] = [
            {"role": "system", "content": "Be kind."},
            {"role": "user", "content": parts},
        ]
        await made.inlet({"messages": said}, **ann)
        assert said[0]["content"].startswith("Be kind.\n\n")
        assert "The user likes tea." in said[0]["content"]
        bob = [{"role": "user", "content": "Which drink do I like?"}]
        await made.inlet({"messages": bob}, __user__={"id": "bob"}, __metadata__={})
        title = {"messages": [{"role": "user", "content": "Which drink do I like?"}]}
        await made.inlet(title, **{**ann, "__metadata__": {"task": "title_generation"}})
        assert len(bob) == len(title["messages"]) == 1
    gone = [{"role": "user", "content": "Which drink do I like?"}]
    await made.inlet({"messages": gone}, **ann)
    assert len(gone) == 1


async def test_a_program_behind_the_proxy(
    endpoint: Stub, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It has a memory, and nothing of ours in it."""
    settings = load_settings(upstream_url=endpoint.base_url)
    async with Souffleur.open(settings) as memory:
        async with served(make_whole_app(memory, settings, tokens=None)) as url:
            monkeypatch.setenv("PROXY_URL", f"{url}/v1")
            bot: Any = example("proxy_openai")
            talk(monkeypatch, "I like tea")
            await asyncio.to_thread(bot.main)
            await memory.flush(10)
            talk(monkeypatch, "Which drink do I like?")
            await asyncio.to_thread(bot.main)
        assert [one.user for one in await memory.knowledge.journal.turns(user_id="me")] == [
            "I like tea",
            "Which drink do I like?",
        ]
    assert "mo: I like tea? Sure.\n" in capsys.readouterr().out
    assert "The user likes tea." in prompts(endpoint)[-1]


@pytest.mark.parametrize("file", sorted(EXAMPLES.glob("*.py")), ids=lambda file: file.stem)
def test_each_says_how_to_run_it(file: Path) -> None:
    """In two lines at its head, or below that of a front end; it can be read at a glance."""
    lines = file.read_text(encoding="utf-8").splitlines()
    first, second, *_ = (at for at, line in enumerate(lines) if line.startswith("# "))
    assert second == first + 1
    assert lines[second].startswith("# Run: ")
    assert len(lines) <= 100
