"""LangMem behind the interface: its store manager over LangGraph's memory store, with deletes."""

import inspect
import logging
import warnings
from collections import deque
from collections.abc import Sequence
from datetime import datetime
from functools import cache
from importlib import import_module
from typing import Any

import langsmith
from langgraph.store.memory import InMemoryStore

from bench.systems import StoredMemory, SystemInputs, messages_of
from bench.systems.langchain_adapter import LangChainAdapter
from souffleur.demo.dialogue import Exchange
from souffleur.evals.result import OpRecord
from souffleur.evals.script import Known

MEMORIES_LIMIT = 10_000
EARLIER_MESSAGES = 10
"""Earlier messages for reference: as many as mem0 shows its model."""


class LangMem:
    """`create_memory_store_manager` with its defaults; a fresh, dated one for each `write`."""

    def __init__(self, inputs: SystemInputs) -> None:
        self._inputs = inputs
        self._adapter = LangChainAdapter(inputs, "langmem")
        self._namespace = ("memories", inputs.script.user.id)
        self._earlier: deque[str] = deque(maxlen=EARLIER_MESSAGES)
        self._store: Any = None
        self._written: dict[str, tuple[str, datetime]] = {}
        """The text of each memory and its time; the store dates them by the wall clock."""

    async def open(self, known: Sequence[Known]) -> None:
        """Put the known memories into the store in the shape of its own."""
        dimension = await self._inputs.embedder.find_dimension()
        self._store = InMemoryStore(index={"dims": dimension, "embed": self._adapter.embeddings})
        for index, one in enumerate(known):
            value = {"kind": "Memory", "content": {"content": one.content}}
            await self._store.aput(self._namespace, f"known-{index}", value)

    async def write(self, turns: Sequence[Exchange]) -> None:
        """Call the manager once; the earlier messages are in the instructions."""
        at, said = turns[0].at, messages_of(turns)
        manager = self._manager(at)
        self._earlier += [f"{one['role']}: {one['content']}" for one in said]
        try:
            with langsmith.tracing_context(enabled=False):
                await manager.ainvoke({"messages": _messages(said)}, {"configurable": {}})
        finally:
            for one in await self.memories():
                if self._written.get(one.id, ("",))[0] != one.text:
                    self._written[one.id] = (one.text, at)
            self._adapter.check()  # its own errors hide what the endpoint raised

    async def recall(self, text: str, at: datetime, limit: int) -> Sequence[StoredMemory]:
        """Return the results of the store's search."""
        found = await self._store.asearch(self._namespace, query=text, limit=limit)
        return [self._stored(item) for item in found]

    async def memories(self) -> Sequence[StoredMemory]:
        """Return all memories of the namespace."""
        held = await self._store.asearch(self._namespace, limit=MEMORIES_LIMIT)
        return [self._stored(item) for item in held]

    def ops(self) -> tuple[OpRecord, ...] | None:
        """Return `None`: the library returns what it has put, but not what it has deleted."""
        return None

    async def close(self) -> None:
        """Do nothing: nothing is open."""

    def _stored(self, item: Any) -> StoredMemory:
        _, at = self._written.get(item.key, ("", None))
        return StoredMemory(item.key, _text(item), at)

    def _manager(self, at: datetime) -> Any:
        make = library().create_memory_store_manager
        usual = inspect.signature(make).parameters["instructions"].default
        earlier = "\n".join(self._earlier)
        before = f"\n\nEarlier talk, for reference only:\n{earlier}" if earlier else ""
        return make(
            self._adapter.model,
            instructions=f"{usual}\n\n{self._inputs.briefing(at)}{before}",
            enable_deletes=True,
            namespace=self._namespace,
            store=self._store,
        )


@cache
def library() -> Any:
    """Import the package and silence what it logs about a model's mistakes."""
    logging.getLogger("trustcall").setLevel(logging.CRITICAL)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return import_module("langmem")


def _messages(said: Sequence[dict[str, str]]) -> Any:
    from langchain_core.messages import convert_to_messages

    return convert_to_messages(list(said))


def _text(item: Any) -> str:
    content = item.value["content"]
    return str(content["content"] if isinstance(content, dict) else content)
