"""MCP's tools and LangChain's middleware where the memory is in another process."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from langchain.agents import create_agent
from langchain_core.messages import ToolMessage
from mcp import Client as McpClient

from souffleur import Settings, Souffleur
from souffleur.client import AsyncClient, Client
from souffleur.errors import RemoteError
from souffleur.integrations.langchain import SouffleurMiddleware, Talk
from souffleur.integrations.langchain.middleware import IN_TROUBLE
from souffleur.integrations.mcp import make_server
from souffleur.knowledge.turn import Turn
from souffleur.server.tokens import Role, TokenFile
from souffleur.settings import ServeSettings
from tests.build import NOW
from tests.scripted import Scripted, by_name
from tests.served import served
from tests.souffleur.integrations.langchain.agents import ScriptedModel, calls, scripted

pytestmark = pytest.mark.asyncio(loop_scope="module")
TEA = "Ann only drinks green tea."
HER_DAY = "2026-01-04"
"""The day of NOW where Ann lives."""
KINDS = ["user", "persona"]
ASKED: dict[str, Any] = {"messages": [("user", "Green tea, or dogs?")]}
LOOK_UP = calls("recall_memory", query="green tea, dogs", scope="memories")


class Scene:
    """A server, its memory and a token of each kind."""

    def __init__(self, memory: Souffleur, url: str, tokens: dict[str, str]) -> None:
        self.memory, self.url, self.tokens = memory, url, tokens


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def scene(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Scene]:
    """Ann has told everybody of tea, and nobody but Luna of dogs."""
    folder = tmp_path_factory.mktemp("store")
    chosen = Settings(path=folder / "store", embedder="hash:64", serve=ServeSettings(rate_limit=0))
    file = TokenFile(folder / "tokens.json")
    made = {"user": (Role.USER, "ann"), "persona": (Role.PERSONA, "mo")}
    tokens = {name: file.make(role, who, now=NOW) for name, (role, who) in made.items()}
    chat = Scripted(by_name())
    async with Souffleur.open(chosen, chat=chat, clock=lambda: NOW) as memory:
        await memory.introduce(user_id="ann", timezone="Pacific/Kiritimati")
        await memory.introduce(user_id="ben", title="Ben")
        await memory.introduce_persona(agent_id="luna", knows="own")
        await memory.remember(TEA, user_id="ann")
        await memory.remember("Ann fears dogs.", user_id="ann", agent_id="luna")
        async with served(memory, tokens=folder / "tokens.json") as url:
            yield Scene(memory, url, tokens)


def agent_of(model: ScriptedModel, memory: Any) -> Any:
    middleware = SouffleurMiddleware(memory, agent_id="mo")
    return create_agent(model, middleware=[middleware], context_schema=Talk)


def looked_up(done: dict[str, Any]) -> str:
    """What the tool has told the model."""
    (told,) = [one for one in done["messages"] if isinstance(one, ToolMessage)]
    return told.text


async def turn_of(scene: Scene, session_id: str) -> Turn:
    """The one turn of a session."""
    turns = await scene.memory.knowledge.journal.turns(user_id="ann")
    (turn,) = [one for one in turns if one.session_id == session_id]
    return turn


@pytest.mark.parametrize("kind", KINDS)
async def test_an_agent(scene: Scene, kind: str) -> None:
    """It knows what its persona may, looks it up with the days of the user, and stores the turn."""
    model = scripted(LOOK_UP, "Green, then!")
    async with AsyncClient(scene.url, token=scene.tokens[kind]) as client:
        done = await agent_of(model, client).ainvoke(ASKED, context=Talk("ann", kind))
    assert TEA in model.systems[0]
    assert "fears dogs" not in model.systems[0]
    assert looked_up(done) == f"- {HER_DAY}: {TEA}"
    turn = await turn_of(scene, kind)
    assert (turn.user, turn.assistant) == ("Green tea, or dogs?", "Green, then!")
    assert (turn.agent_id, len(turn.injected)) == ("mo", 1)


async def test_an_agent_without_an_event_loop(scene: Scene) -> None:
    """`invoke` does the same by a Client, which serves `ainvoke` as well."""
    model = scripted(LOOK_UP, "Green!", "Green.")
    with Client(scene.url, token=scene.tokens["user"]) as client:
        agent = agent_of(model, client)
        done = await asyncio.to_thread(agent.invoke, ASKED, context=Talk("ann", "sync"))
        await agent.ainvoke(ASKED, context=Talk("ann", "async"))
    assert all(TEA in system for system in model.systems)
    assert looked_up(done) == f"- {HER_DAY}: {TEA}"
    assert (await turn_of(scene, "sync")).assistant == "Green!"
    assert (await turn_of(scene, "async")).assistant == "Green."


async def test_a_server_that_is_away_costs_no_reply(scene: Scene) -> None:
    """The agent answers without memories, and its tool says that they cannot be read."""
    model = scripted(LOOK_UP, "Hm.")
    async with AsyncClient("http://127.0.0.1:9", token=scene.tokens["user"]) as client:
        done = await agent_of(model, client).ainvoke(ASKED, context=Talk("ann"))
    assert done["messages"][-1].text == "Hm."
    assert looked_up(done) == IN_TROUBLE


async def test_tools_of_mcp(scene: Scene) -> None:
    """All ten of them do their work on the server, with a token of the user alone."""
    async with (
        AsyncClient(scene.url, token=scene.tokens["user"]) as memory,
        McpClient(make_server(memory, user_id="ann", agent_id="mo")) as client,
    ):

        async def call(name: str, **given: Any) -> Any:
            result = await client.call_tool(name, given)
            return result.content if result.is_error else result.structured_content

        (cat,) = (await call("add_memory", text="Ann has a cat."))["memory_ids"]
        found = await call("search_memories", query="cat", scope=["memories", "turns"])
        assert found["results"][0]["text"] == "Ann has a cat."
        assert (await call("get_memory", memory_id=cat))["memory"] == "Ann has a cat."
        await call("update_memory", memory_id=cat, text="Ann has two cats.")
        known = (await call("get_memories"))["memories"]
        ids = {one["memory"]: one["id"] for one in known}
        assert set(ids) == {TEA, "Ann has two cats."}
        gone = await call("delete_memory", memory_id=ids[TEA])
        changes = (await call("history", memory_id=ids[TEA]))["changes"]
        assert changes[-1]["id"] == gone["id"]
        assert (await call("undo", change_id=gone["id"]))["op"] == "UNDO"
        assert (await call("ask", question="What about cats?"))["results"]
        assert len((await call("delete_all_memories"))["changes"]) == 2
        (dogs,) = await scene.memory.list(user_id="ann")
        (refused,) = await call("get_memory", memory_id=dogs.id)
        assert "there is no memory" in refused.text


async def test_who_is_introduced_to_whom(scene: Scene) -> None:
    """Tokens of users and personas see whom they name, and no one else."""
    async with AsyncClient(scene.url, token=scene.tokens["user"]) as client:
        seen = await client.cast(user_id="ann", agent_id="luna")
        assert (set(seen.introduced.people), set(seen.introduced.personas)) == ({"ann"}, {"luna"})
        assert seen == await scene.memory.cast(user_id="ann", agent_id="luna")
        with pytest.raises(RemoteError, match="another user"):
            await client.cast(user_id="ben")
    async with AsyncClient(scene.url, token=scene.tokens["persona"]) as client:
        assert not (await client.cast(user_id="ann", agent_id="mo")).introduced.personas
        with pytest.raises(RemoteError, match="say whose"):
            await client.cast(agent_id="mo")
    everybody = (await scene.memory.cast()).introduced
    assert (set(everybody.people), set(everybody.personas)) == ({"ann", "ben"}, {"luna"})
