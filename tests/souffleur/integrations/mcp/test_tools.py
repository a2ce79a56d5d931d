"""The tools of the MCP server, called by the official client."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

import pytest
import pytest_asyncio
from mcp import Client

from souffleur import InputError
from souffleur.integrations.mcp import Who, make_server, request_of
from souffleur.integrations.mcp.server import TOOLS
from tests.scripted import add, answer, by_name
from tests.stage import Stage, staged

pytestmark = pytest.mark.asyncio(loop_scope="module")
THOUGHT = {"reason": "", "action": "ANSWER", "query": None, "answer": "Sailing.", "ids": ["n1"]}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def stage(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Stage]:
    """A memory for all tests, each of which has users of its own."""
    keep = answer(add("Ann is learning to sail.", "learning to sail"))
    script = by_name(monitor=keep, think=THOUGHT)
    async with staged(tmp_path_factory.mktemp("store"), script) as stage:
        yield stage


class Caller:
    """Calls tools as a client does."""

    def __init__(self, client: Client) -> None:
        self.client = client

    async def __call__(self, name: str, **given: Any) -> Any:
        """The structured result of a call."""
        result = await self.client.call_tool(name, given)
        assert not result.is_error, result.content
        return result.structured_content

    async def error(self, name: str, **given: Any) -> str:
        """What a call that fails says."""
        result = await self.client.call_tool(name, given)
        assert result.is_error
        return str(result.content[0].text)  # type: ignore[union-attr]  # errors are texts


@asynccontextmanager
async def calling(stage: Stage, **whose: Any) -> AsyncIterator[Caller]:
    async with Client(make_server(stage.memory, **whose)) as client:
        yield Caller(client)


async def test_a_memory_from_its_first_words_to_its_end(stage: Stage) -> None:
    """A memory is added, found, corrected, listed, forgotten and restored."""
    async with calling(stage, user_id="ann") as call:
        added = await call("add_memory", text="Ann likes tea.", kind="preference")
        assert (added["op"], added["done"], added["after"]) == ("ADD", True, ["Ann likes tea."])
        (id,) = added["memory_ids"]
        found = await call("search_memories", query="tea")
        assert [(one["id"], one["type"]) for one in found["results"]] == [(id, "memory")]
        listed = await call("get_memories", kind="preference")
        assert (listed["total"], listed["memories"][0]["memory"]) == (1, "Ann likes tea.")
        await call("update_memory", memory_id=id, text="Ann likes green tea.")
        (now,) = (await call("get_memories"))["memories"]
        gone = await call("delete_memory", memory_id=now["id"])
        assert gone["reason"] == "asked for through MCP"
        assert (await call("get_memories"))["total"] == 0
        assert (await call("get_memory", memory_id=now["id"]))["state"] == "forgotten"
        told = await call("history", memory_id=now["id"])
        assert [one["op"] for one in told["changes"]][-1] == "FORGET"
        back = await call("undo", change_id=gone["id"])
        assert back["op"] == "UNDO"
        assert (await call("get_memories"))["memories"][0]["memory"] == "Ann likes green tea."


async def test_what_is_refused_is_told(stage: Stage) -> None:
    """Secrets and duplicates are not stored, and the model reads why."""
    async with calling(stage, user_id="refused") as call:
        secret = await call("add_memory", text="Ann's password is hunter2-Xy9!")
        assert not secret["done"]
        assert "holds" in secret["why_not"]
        await call("add_memory", text="Ann likes tea.")
        again = await call("add_memory", text="Ann likes tea.")
        assert (again["done"], again["why_not"]) == (False, "an active memory says the same")
        assert (await call("get_memories"))["total"] == 1


async def test_the_past(stage: Stage) -> None:
    """A time in words finds the turns of that time; a search finds the memories of a topic."""
    stage.memory.observe(user_id="past", session_id="s1", user="I am learning to sail.")
    await stage.memory.flush()
    stage.clock.at += timedelta(days=1)
    async with calling(stage, user_id="past") as call:
        then = await call("ask", question="What did I tell you yesterday?")
        assert "I am learning to sail." in [one["text"] for one in then["results"]]
        assert then["since"] is not None
        assert then["answer"] is None
        thought = await call("ask", question="What am I learning?", think=True)
        assert (thought["answer"], len(thought["results"])) == ("Sailing.", 1)
        everything = await call("search_memories", query="sail", scope=["memories", "turns"])
        assert {one["type"] for one in everything["results"]} == {"memory", "turn"}
        (kept,) = (await call("get_memories"))["memories"]
        assert kept["evidence"] == ["learning to sail"]


async def test_everything_goes_and_can_come_back(stage: Stage) -> None:
    """Each memory is forgotten by a change of its own; others' stay."""
    async with calling(stage) as call:
        for user, text in (("all", "Ann likes tea."), ("all", "Ann has a cat."), ("other", "Hm.")):
            await call("add_memory", user_id=user, text=text)
        gone = (await call("delete_all_memories", user_id="all"))["changes"]
        assert [(one["op"], one["done"]) for one in gone] == [("FORGET", True)] * 2
        assert (await call("get_memories", user_id="all"))["total"] == 0
        assert (await call("get_memories", user_id="other"))["total"] == 1
        await call("undo", user_id="all", change_id=gone[0]["id"])
        assert (await call("get_memories", user_id="all"))["total"] == 1


async def test_unknown_arguments_change_nothing(stage: Stage) -> None:
    """They are refused by name, as all tools' schemas say: a misread call forgets nothing."""
    async with calling(stage, user_id="strict") as call:
        await call("add_memory", text="Ann likes tea.")
        refused = await call.error("delete_all_memories", query="rain")
        assert "there is no argument 'query': delete_all_memories takes none" in refused
        misspelt = await call.error("search_memories", query="tea", user_id="bob", top=3)
        assert "no argument 'user_id', 'top'" in misspelt
        assert "search_memories takes query, scope, limit." in misspelt
        assert (await call("get_memories"))["total"] == 1
        tools = (await call.client.list_tools()).tools
        assert all(one.input_schema["additionalProperties"] is False for one in tools)


async def test_pages(stage: Stage) -> None:
    """Each memory is on one page."""
    async with calling(stage, user_id="pages") as call:
        for text in ("Ann likes tea.", "Ann has a cat.", "Ann lives in Oslo."):
            await call("add_memory", text=text)
        pages = [await call("get_memories", limit=2, offset=at) for at in (0, 2, 4)]
        assert [len(page["memories"]) for page in pages] == [2, 1, 0]
        assert len({one["id"] for page in pages for one in page["memories"]}) == 3
        assert "less than or equal to 200" in await call.error("get_memories", limit=201)


async def test_a_server_for_one_user_takes_no_other(stage: Stage) -> None:
    """No tool has an argument for it, and what others have cannot be reached by its id."""
    async with calling(stage, user_id="bob") as bob, calling(stage, user_id="eve") as eve:
        added = await bob("add_memory", text="Bob likes jazz.")
        (id,) = added["memory_ids"]
        for tool in (await eve.client.list_tools()).tools:
            assert "user_id" not in tool.input_schema["properties"]
        for name in ("get_memory", "delete_memory", "history"):
            assert "there is no memory" in await eve.error(name, memory_id=id)
        assert "there is no" in await eve.error("update_memory", memory_id=id, text="Mine.")
        assert "there is no" in await eve.error("undo", change_id=added["id"])
        await eve("delete_all_memories")
        assert (await bob("get_memory", memory_id=id))["state"] == "active"
        assert "no argument 'user_id'" in await eve.error("get_memories", user_id="bob")


async def test_a_server_for_any_user_needs_one_named(stage: Stage) -> None:
    """Each tool requires it; a blank one is refused."""
    async with calling(stage) as call:
        for tool in (await call.client.list_tools()).tools:
            assert "user_id" in tool.input_schema["required"]
        assert "Field required" in await call.error("get_memories")
        assert "user_id is blank" in await call.error("get_memories", user_id=" ")


async def test_a_persona_that_knows_only_its_own(stage: Stage) -> None:
    """The persona's server shows and changes no memory of another persona."""
    await stage.memory.introduce_persona(agent_id="luna", name="Luna", knows="own")
    async with (
        calling(stage, user_id="two") as usual,
        calling(stage, user_id="two", agent_id="luna") as luna,
    ):
        added = await usual("add_memory", text="Ann likes tea.")
        (id,) = added["memory_ids"]
        own = await luna("add_memory", text="Ann fears the sea.")
        assert (await luna("get_memories"))["total"] == 1
        found = (await luna("search_memories", query="tea"))["results"]
        assert "Ann likes tea." not in [one["text"] for one in found]
        assert "there is no memory" in await luna.error("get_memory", memory_id=id)
        assert "there is no memory" in await luna.error("delete_memory", memory_id=id)
        assert "there is no memory" in await luna.error("undo", change_id=added["id"])
        assert (await usual("get_memories"))["total"] == 2
        assert (await luna("undo", change_id=own["id"]))["done"]
        assert (await usual("get_memories"))["total"] == 1


async def test_what_the_tools_say_of_themselves(stage: Stage) -> None:
    """Names, hints and descriptions: what reads is marked so, what deletes as well."""
    async with calling(stage, user_id="ann") as call:
        tools = {one.name: one for one in (await call.client.list_tools()).tools}
        assert list(tools) == list(TOOLS)
        hints = {name: one.annotations for name, one in tools.items() if one.annotations}
        reads = {"search_memories", "get_memories", "get_memory", "history", "ask"}
        assert {name for name, one in hints.items() if one.read_only_hint} == reads
        assert not hints["add_memory"].destructive_hint
        assert hints["delete_all_memories"].destructive_hint
        for tool in tools.values():
            assert tool.description
            assert "    " not in tool.description
            assert tool.output_schema
            for name, given in tool.input_schema["properties"].items():
                assert "description" in str(given), (tool.name, name)
        assert call.client.instructions


async def test_trouble_is_told_without_details(stage: Stage) -> None:
    """A store that is away is an error of the tool, not the end of the session."""
    async with staged(stage.memory.settings.path / "other", by_name(), kept=True) as other:
        await other.knowledge.memories.close()
        async with calling(other, user_id="ann") as call:
            assert "is closed" in await call.error("get_memories")
            assert (await call.client.list_tools()).tools


async def test_a_call_without_a_request_has_no_user_to_find(stage: Stage) -> None:
    """A server that finds the user in HTTP requests says so elsewhere; it takes no ids."""

    def resolve(context: Any, named: str | None) -> Who:
        return Who(request_of(context).headers["x-user"])

    async with calling(stage, resolve=resolve) as call:
        assert "there is no HTTP request" in await call.error("get_memories")
    with pytest.raises(InputError, match="give no ids beside it"):
        make_server(stage.memory, user_id="ann", resolve=resolve)
