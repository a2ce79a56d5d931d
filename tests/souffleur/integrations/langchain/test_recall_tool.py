"""`recall_memory`: what an agent looks up, and about whom."""

from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest
import pytest_asyncio
from langchain.agents import create_agent
from langchain_core.messages import ToolMessage

from souffleur import InputError
from souffleur.errors import BlockingError
from souffleur.integrations.langchain import SouffleurMiddleware, Talk, recall_tool
from souffleur.integrations.langchain.access import Access
from souffleur.integrations.langchain.middleware import IN_TROUBLE, NO_TIME, NOTHING
from tests.scripted import by_name
from tests.souffleur.integrations.langchain.agents import calls, scripted
from tests.stage import Stage, staged

pytestmark = pytest.mark.asyncio(loop_scope="module")

ANN = Talk(user_id="ann", session_id="s1")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def stage(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Stage]:
    """Ann and Bob have talked of their teas; Ann talked of Lisbon a week ago, and of rain today."""
    async with staged(tmp_path_factory.mktemp("store"), by_name()) as stage:
        await stage.memory.remember("Ann likes green tea.", user_id="ann")
        await stage.memory.remember("Bob likes black tea.", user_id="bob")
        await stage.say("I booked the flight to Lisbon.")
        stage.clock.at += timedelta(days=7)
        await stage.say("The rain ruined my shoes.")
        stage.clock.at += timedelta(hours=1)
        yield stage


async def looked_up(stage: Stage, talk: Any = ANN, **args: Any) -> str:
    """What the tool answers an agent that calls it with these arguments."""
    model = scripted(calls("recall_memory", **args), "I see.")
    agent: Any = create_agent(model, [recall_tool(stage.memory)], context_schema=Talk)
    done = await agent.ainvoke({"messages": [("user", "You know.")]}, context=talk)
    (answer,) = (one for one in done["messages"] if isinstance(one, ToolMessage))
    return answer.text


async def test_one_user_is_looked_up(stage: Stage) -> None:
    """The user is that of the run; other arguments of the model change nothing."""
    assert await looked_up(stage, query="tea") == "- 2026-01-03: Ann likes green tea."
    found = await looked_up(stage, query="tea", user_id="bob", runtime={"context": "bob"})
    assert found == "- 2026-01-03: Ann likes green tea."
    assert "Bob likes black tea." in await looked_up(stage, Talk("bob"), query="tea")
    shown: Any = recall_tool(stage.memory).tool_call_schema
    assert set(shown.model_json_schema()["properties"]) == {"query", "scope", "when"}


async def test_scopes(stage: Stage) -> None:
    """Facts, and what was said, each by itself."""
    turns = await looked_up(stage, query="Lisbon", scope="turns")
    assert turns == "- 2026-01-03: I booked the flight to Lisbon. ok"
    assert await looked_up(stage, query="Lisbon", scope="memories") == NOTHING
    assert "Lisbon" in await looked_up(stage, query="flight to Lisbon")


async def test_times(stage: Stage) -> None:
    """Records of the named time are returned; an unknown time gets an answer that says so."""
    told = await looked_up(stage, query="what I told you", when="last week", scope="turns")
    assert "Lisbon" in told
    assert "rain" not in told
    assert await looked_up(stage, query="what", when="last week", scope="episodes") == NOTHING
    assert "rain" in await looked_up(stage, query="what I told you", when="today")
    assert await looked_up(stage, query="shoes", when="when the moon was full") == NO_TIME


async def test_a_run_without_a_user_looks_up_nobody(stage: Stage) -> None:
    """It is refused as by the middleware."""
    with pytest.raises(InputError, match="no user is named"):
        await looked_up(stage, None, query="tea")


async def test_the_middleware_brings_the_tool(stage: Stage) -> None:
    """The middleware has the tool, unless it is made without."""
    assert [one.name for one in SouffleurMiddleware(stage.memory).tools] == ["recall_memory"]
    assert SouffleurMiddleware(stage.memory, recall=False).tools == []


async def test_a_memory_in_trouble(stage: Stage) -> None:
    """The model reads that the memory cannot be read, and replies."""
    async with staged(stage.memory.settings.path / "other", by_name(), kept=True) as other:
        await other.knowledge.memories.close()
        assert await looked_up(other, query="tea") == IN_TROUBLE


async def test_a_synchronous_run_in_the_loop_of_the_memory_is_told(stage: Stage) -> None:
    """A tool of `invoke`, in a thread beside the loop that it blocks, does not wait for ever."""
    access = Access(stage.memory, timeout=0.1)
    with ThreadPoolExecutor(1) as beside, pytest.raises(BlockingError, match="ainvoke"):
        beside.submit(access.wait, lambda held: held.list(user_id="ann")).result(timeout=20)
