# An agent of LangChain and LangGraph that remembers, with a tool and a store of its own.
# Run: `pip install '.[langchain]'` in the clone, set SOUFFLEUR_BASE_URL, SOUFFLEUR_MODEL; start it.
import asyncio
import os
from typing import Any

from langchain.agents import create_agent
from langchain.tools import ToolRuntime, tool
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver

from souffleur import Souffleur
from souffleur.integrations.langchain import SouffleurMiddleware, SouffleurStore, Talk, label


@tool
async def note_order(drink: str, runtime: ToolRuntime[Talk, Any]) -> str:
    """Note what the guest orders."""
    assert runtime.store
    await runtime.store.aput((label(runtime.context.user_id), "orders"), drink, {"drink": drink})
    return f"{drink} is noted."


def make_agent(memory: Souffleur) -> Any:
    model = ChatOpenAI(
        base_url=os.environ["SOUFFLEUR_BASE_URL"],
        api_key=os.environ.get("SOUFFLEUR_API_KEY", "none"),
        model=os.environ["SOUFFLEUR_MODEL"],
        use_responses_api=False,
    )
    return create_agent(
        model,
        tools=[note_order],
        system_prompt="You are Mo, a cheerful barista. Answer in a sentence or two.",
        middleware=[SouffleurMiddleware(memory, agent_id="mo")],
        store=SouffleurStore(memory),
        checkpointer=InMemorySaver(),
        context_schema=Talk,
    )


async def main() -> None:
    async with Souffleur.open(schedule=True) as memory:
        agent = make_agent(memory)
        config = {"configurable": {"thread_id": "terminal"}}
        while said := (await asyncio.to_thread(input, "you: ")).strip():
            turn = {"messages": [("user", said)]}
            state = await agent.ainvoke(turn, config, context=Talk(user_id="me"))
            print(f"mo: {state['messages'][-1].text}")


if __name__ == "__main__":
    asyncio.run(main())
