"""SouffleurMiddleware in agents of `create_agent`, with a scripted model."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

from souffleur import BlockingSouffleur, InputError, Settings, Souffleur, StoreError
from souffleur.errors import BlockingError
from souffleur.integrations.langchain import SouffleurMiddleware, Talk
from souffleur.knowledge.turn import Turn
from tests.scripted import Scripted, by_name
from tests.souffleur.integrations.langchain.agents import ScriptedModel, calls, scripted

in_loop = pytest.mark.asyncio(loop_scope="module")

TEA = "Ann only drinks green tea."


def settings(folder: Path) -> Settings:
    return Settings(path=folder, embedder="hash:64", user_title="Ann")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def memory(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Souffleur]:
    """A memory for all tests, each of which has users of its own."""
    folder = tmp_path_factory.mktemp("memory")
    async with Souffleur.open(settings(folder), chat=Scripted(by_name())) as opened:
        yield opened


@pytest_asyncio.fixture(loop_scope="module")
async def ann(memory: Souffleur, request: pytest.FixtureRequest) -> Talk:
    """A talk with a user who drinks green tea."""
    await memory.remember(TEA, user_id=request.node.name)
    return Talk(user_id=request.node.name, session_id="s1")


@pytest.fixture(scope="module")
def blocking(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BlockingSouffleur]:
    """The same, for hosts without an event loop."""
    folder = tmp_path_factory.mktemp("blocking")
    with BlockingSouffleur.open(settings(folder), chat=Scripted(by_name())) as opened:
        opened.remember(TEA, user_id="ann")
        yield opened


def agent_of(model: ScriptedModel, memory: Any, **fields: Any) -> Any:
    chosen = {"tools": [weather], "context_schema": Talk, "system_prompt": "Be kind.", **fields}
    return create_agent(model, middleware=[SouffleurMiddleware(memory)], **chosen)


@tool
def weather(city: str) -> str:
    """Tell the weather."""
    return f"rain in {city}"


def said(words: str) -> dict[str, Any]:
    return {"messages": [HumanMessage(words, id=f"id of {words}")]}


async def turns(memory: Souffleur, user_id: str) -> list[Turn]:
    return await memory.knowledge.journal.turns(user_id=user_id)


@in_loop
async def test_memories_are_in_the_prompt_only(memory: Souffleur, ann: Talk) -> None:
    """The model reads them after the agent's own prompt; no message and no state has them."""
    model = scripted("Green, then!")
    agent = agent_of(model, memory, checkpointer=InMemorySaver())
    config = {"configurable": {"thread_id": "t1"}}
    done = await agent.ainvoke(said("Which tea should I order?"), config, context=ann)
    (system,) = model.systems
    assert system.startswith("Be kind.\n\n")
    assert TEA in system
    state = (await agent.aget_state(config)).values
    assert set(done) == {"messages"} == set(state)
    assert [one.text for one in done["messages"]] == ["Which tea should I order?", "Green, then!"]
    assert TEA not in str(state)


@in_loop
@pytest.mark.parametrize("long", ["x" * 600, "a \ud83d"], ids=["long", "half a character"])
async def test_ids_that_cannot_be_stored(memory: Souffleur, ann: Talk, long: str) -> None:
    """A session or message with an invalid id is stored under the same digest each time."""
    talk = Talk(user_id=ann.user_id, session_id=long)
    agent = agent_of(scripted("Hi!", "Hi!", "Yes."), memory)
    one, other = HumanMessage("hello", id=long), HumanMessage("and tea?", id=f"{long}y")
    for said in ([one], [one], [one, AIMessage("Hi!"), other]):
        await agent.ainvoke({"messages": said}, context=talk)
    first, second = await turns(memory, ann.user_id)
    assert (first.user, second.user) == ("hello", "and tea?")
    assert first.session_id == second.session_id != "default"
    assert len(first.turn_id) <= 64


@in_loop
async def test_a_blank_id_is_none(memory: Souffleur, ann: Talk) -> None:
    """Each message with a blank id is a turn of its own."""
    agent = agent_of(scripted("Hi!", "Yes."), memory)
    for text in ("hello", "and tea?"):
        await agent.ainvoke({"messages": [HumanMessage(text, id=" ")]}, context=ann)
    assert len(await turns(memory, ann.user_id)) == 2


@in_loop
async def test_rounds_of_tools_are_one_turn(memory: Souffleur, ann: Talk) -> None:
    """Each call of the model has the same whisper; the turn is what the two said to each other."""
    model = scripted(
        AIMessage(
            "One moment.", tool_calls=[{"name": "weather", "args": {"city": "Oslo"}, "id": "1"}]
        ),
        calls("weather", city="Rome"),
        "It rains. Have tea!",
    )
    await agent_of(model, memory).ainvoke(said("Coffee or tea?"), context=ann)
    assert len(set(model.systems)) == 1
    assert len(model.systems) == 3
    (turn,) = await turns(memory, ann.user_id)
    assert (turn.user, turn.assistant) == ("Coffee or tea?", "One moment.\nIt rains. Have tea!")
    (known,) = await memory.list(user_id=ann.user_id, kind="fact")
    assert (turn.session_id, turn.turn_id, turn.injected) == (
        "s1",
        "id of Coffee or tea?",
        (known.id,),
    )


@in_loop
async def test_a_reply_made_again_is_the_same_turn(memory: Souffleur, ann: Talk) -> None:
    """The message of the user names the turn; the last reply counts."""
    agent = agent_of(scripted("Tea.", "Cocoa."), memory)
    await agent.ainvoke(said("What now?"), context=ann)
    await agent.ainvoke(said("What now?"), context=ann)
    (turn,) = await turns(memory, ann.user_id)
    assert (turn.assistant, turn.version) == ("Cocoa.", 1)


@in_loop
async def test_only_the_last_turn_of_a_thread_is_stored(memory: Souffleur, ann: Talk) -> None:
    """What a checkpointer brings back was stored when it was said."""
    agent = agent_of(scripted("Ho.", "Ha."), memory, checkpointer=InMemorySaver())
    config = {"configurable": {"thread_id": "t1", "user_id": ann.user_id}}
    await agent.ainvoke(said("one"), config)
    await agent.ainvoke(said("two"), config)
    found = await turns(memory, ann.user_id)
    assert [(one.user, one.assistant) for one in found] == [("one", "Ho."), ("two", "Ha.")]
    assert {one.session_id for one in found} == {"t1"}


@in_loop
async def test_what_a_summary_says_is_not_what_the_user_says(memory: Souffleur, ann: Talk) -> None:
    """A summary in the user's name is left out, and a turn whose beginning it swallowed is kept."""
    model = scripted(calls("weather", city="Oslo"), "Rain.")
    summary = HumanMessage("Here is a summary.", additional_kwargs={"lc_source": "summarization"})

    class Shorten(SouffleurMiddleware):
        def after_model(self, state: Any, runtime: Any) -> dict[str, Any] | None:
            from langchain_core.messages import RemoveMessage
            from langgraph.graph.message import REMOVE_ALL_MESSAGES

            if len(model.asked) > 1:
                return None
            gone = RemoveMessage(id=REMOVE_ALL_MESSAGES)
            return {"messages": [gone, summary, *state["messages"][-1:]]}

    agent: Any = create_agent(model, [weather], middleware=[Shorten(memory)], context_schema=Talk)
    await agent.ainvoke(said("How is Oslo?"), context=ann)
    (turn,) = await turns(memory, ann.user_id)
    assert (turn.user, turn.assistant) == ("How is Oslo?", "Rain.")
    assert len(set(model.systems)) == 1


@in_loop
@pytest.mark.parametrize("context", [None, {}, {"user_id": None}])
async def test_a_run_without_a_user_is_refused(memory: Souffleur, context: Any) -> None:
    """The error says how to name one; no model is asked."""
    model = scripted("Hi.")
    agent = agent_of(model, memory, context_schema=None)
    with pytest.raises(InputError, match="run the agent with context=Talk"):
        await agent.ainvoke(said("Hi"), context=context)
    assert model.asked == []


@in_loop
async def test_a_blank_user_is_refused(memory: Souffleur) -> None:
    """Anonymous visitors do not share a memory."""
    with pytest.raises(InputError, match="user_id is blank"):
        await agent_of(scripted("Hi."), memory).ainvoke(said("Hi"), context=Talk(user_id=" "))


@in_loop
async def test_each_user_and_persona_has_a_memory(memory: Souffleur) -> None:
    """No other user gets Ann's memories; the persona is that of the run, or else of the agent."""
    model = scripted("Hi.", "Hi.", "Hi.")
    middleware = SouffleurMiddleware(memory, agent_id="mo")
    agent: Any = create_agent(model, middleware=[middleware], context_schema=Talk)
    await agent.ainvoke(said("Tea?"), context=Talk(user_id="bob"))
    await agent.ainvoke(said("Tea!"), context=Talk(user_id="bob", agent_id="luna"))
    config = {"configurable": {"user_id": "bob", "agent_id": "zoe"}}
    await agent.ainvoke(said("Tea."), config, context=None)
    assert model.systems == ["", "", ""]
    found = await turns(memory, "bob")
    assert [one.agent_id for one in found] == ["mo", "luna", "zoe"]
    assert {one.session_id for one in found} == {"default"}


@in_loop
async def test_a_store_in_trouble_costs_no_reply(tmp_path: Path) -> None:
    """The agent answers without memories; the turn is held as long as the store is away."""
    memory = await Souffleur.open(settings(tmp_path), chat=Scripted(by_name()))
    await memory.remember(TEA, user_id="ann")
    model = scripted("Still here.", "Still there.")
    agent = agent_of(model, memory)
    await memory.knowledge.memories.close()
    await memory.knowledge.journal.collection.close()
    done = await agent.ainvoke(said("Which tea?"), context=Talk("ann"))
    assert done["messages"][-1].text == "Still here."
    with pytest.raises(StoreError, match="held in memory is lost, turns: 1"):
        await memory.close()
    await asyncio.to_thread(agent.invoke, said("And now?"), context=Talk("ann"))
    assert model.systems == ["Be kind.", "Be kind."]


def test_an_agent_without_an_event_loop(blocking: BlockingSouffleur) -> None:
    """`invoke` does all of it, with a BlockingSouffleur."""
    model = scripted("Green.")
    agent_of(model, blocking).invoke(said("Which tea?"), context=Talk("ann", "sync"))
    assert TEA in model.systems[0]
    stored = blocking.call(lambda inner: inner.knowledge.journal.turns(user_id="ann"))
    assert [one.user for one in stored if one.session_id == "sync"] == ["Which tea?"]


@in_loop
async def test_a_blocking_memory_serves_an_event_loop(blocking: BlockingSouffleur) -> None:
    """`ainvoke` works with it as well, and other tasks go on meanwhile."""
    model = scripted("Green.", "Black.")
    agent = agent_of(model, blocking)
    runs = [agent.ainvoke(said(words), context=Talk("ann", words)) for words in ("tea?", "tea!")]
    await asyncio.gather(*runs)
    assert all(TEA in system for system in model.systems)


@in_loop
async def test_a_synchronous_run_in_the_loop_of_the_memory(memory: Souffleur, ann: Talk) -> None:
    """It cannot wait for what its own loop must do: it raises, and says what to call instead."""
    model = scripted("Green.")
    agent = agent_of(model, memory)
    with pytest.raises(BlockingError, match="ainvoke"):
        agent.invoke(said("Which tea?"), context=ann)
    await asyncio.to_thread(agent.invoke, said("Which tea, now?"), context=ann)
    assert TEA in model.systems[0]


def test_the_prompt_keeps_its_blocks(blocking: BlockingSouffleur) -> None:
    """A system message of content blocks gets one more, after those that a provider caches."""
    cached = {"type": "text", "text": "Be kind.", "cache_control": {"type": "ephemeral"}}
    model = scripted("Green.")
    agent = agent_of(model, blocking, system_prompt=SystemMessage([cached]))
    agent.invoke(said("Which tea?"), context=Talk("ann", "blocks"))
    blocks = model.asked[0][0].content
    assert blocks[0] == cached
    assert TEA in blocks[1]["text"]  # type: ignore[index]  # a block, no string
