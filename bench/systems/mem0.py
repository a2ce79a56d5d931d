"""mem0's open-source library behind the interface: in memory, no telemetry, the script's dates.

If spaCy and fastembed are installed, its search uses entities and BM25 here, too.
"""

import asyncio
import atexit
import logging
import os
import re
import shutil
import tempfile
import threading
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from functools import cache, partial
from importlib import import_module
from typing import Any, TypeVar
from zoneinfo import ZoneInfo

from bench.systems import StoredMemory, SystemInputs, messages_of
from bench.systems.langchain_adapter import LangChainAdapter
from souffleur.demo.dialogue import Exchange
from souffleur.errors import AnswerError
from souffleur.evals.result import OpRecord
from souffleur.evals.script import Known

# It dates every prompt by the wall clock, and its open library can be told no other time.
_DATES = re.compile(r"(?m)^(## (?:Observation|Current) Date\n)\d{4}-\d\d-\d\d$")
MEMORIES_LIMIT = 10_000

T = TypeVar("T")


class Mem0:
    """`mem0.Memory`, with its calls in a thread of their own.

    Threads of the event loop would all wait for the loop, which needs one to look up a host.
    """

    def __init__(self, inputs: SystemInputs) -> None:
        self._inputs = inputs
        self._adapter = LangChainAdapter(inputs, "mem0", self._dated)
        self._user = inputs.script.user.id
        self._at: datetime | None = None
        """The time of the last `write`."""
        self._thread = ThreadPoolExecutor(1, "mem0")
        self._memory: Any = None
        self._client: Any = None
        self._events: list[dict[str, Any]] = []

    async def open(self, known: Sequence[Known]) -> None:
        """Put the known memories into the store with `infer=False`."""
        dimension = await self._inputs.embedder.find_dimension()
        await self._in_thread(self._open, dimension)
        for one in known:
            await self._in_thread(
                self._memory.add,
                one.content,
                user_id=self._user,
                infer=False,
                metadata={"created_at": one.at.isoformat()},
            )

    async def write(self, turns: Sequence[Exchange]) -> None:
        """Call `add` once with all messages; names and time are given as instructions."""
        at = self._at = turns[0].at
        self._events = []
        try:
            added = await self._in_thread(
                self._add,
                messages_of(turns),
                user_id=self._user,
                prompt=self._inputs.briefing(at),
                metadata={"created_at": at.isoformat()},
            )
        finally:
            self._adapter.check()  # its own errors hide what the endpoint raised
        self._events = added["results"]

    async def recall(self, text: str, at: datetime, limit: int) -> Sequence[StoredMemory]:
        """Call `search` without its threshold, which suits embedders that put all texts near."""
        found = await self._in_thread(
            self._memory.search, text, filters={"user_id": self._user}, top_k=limit, threshold=0.0
        )
        return [_stored(one) for one in found["results"]]

    async def memories(self) -> Sequence[StoredMemory]:
        """Call `get_all`."""
        held = await self._in_thread(
            self._memory.get_all, filters={"user_id": self._user}, top_k=MEMORIES_LIMIT
        )
        return [_stored(one) for one in held["results"]]

    def ops(self) -> tuple[OpRecord, ...]:
        """Return the events that `add` returned."""
        return tuple(_op_record(one) for one in self._events if one.get("event") != "NONE")

    async def close(self) -> None:
        """Close its history and its vector store."""
        if self._memory is not None:
            await self._in_thread(self._memory.close)
            await self._in_thread(self._client.close)
        self._thread.shutdown(wait=False)

    async def _in_thread(self, call: Callable[..., T], *words: Any, **named: Any) -> T:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._thread, partial(call, *words, **named))

    def _add(self, said: list[dict[str, str]], **named: Any) -> dict[str, Any]:
        """Call `add`. Raises AnswerError for what it only logs, such as an answer in no JSON."""
        logged = _LoggedErrors()
        logging.getLogger("mem0").addHandler(logged)
        try:
            added: dict[str, Any] = self._memory.add(said, **named)
        finally:
            logging.getLogger("mem0").removeHandler(logged)
        if logged.texts:
            raise AnswerError("; ".join(logged.texts))
        return added

    def _open(self, dimension: int) -> None:
        from qdrant_client import QdrantClient

        self._client = QdrantClient(":memory:")
        # A path is demanded, and not looked at where there is a client.
        store = {"client": self._client, "path": ":memory:"}
        adapter = self._adapter
        self._memory = make_memory(adapter.model, adapter.embeddings, dimension, store)

    def _dated(self, text: str) -> str:
        assert self._at is not None
        day = self._at.astimezone(ZoneInfo(self._inputs.script.timezone)).date()
        return _DATES.sub(rf"\g<1>{day.isoformat()}", text)


class _LoggedErrors(logging.Handler):
    """Collects the errors that the thread which makes it logs."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.texts: list[str] = []
        self._thread = threading.get_ident()

    def emit(self, record: logging.LogRecord) -> None:
        """Keep the text of a record."""
        if record.thread == self._thread:
            self.texts.append(record.getMessage())


@cache
def library() -> Any:
    """Import the package, with no telemetry and nothing written into the home folder."""
    os.environ["MEM0_TELEMETRY"] = "False"  # read when it is imported
    if "MEM0_DIR" not in os.environ:
        folder = os.environ["MEM0_DIR"] = tempfile.mkdtemp(prefix="souffleur-mem0-")
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
    logging.getLogger("mem0").setLevel(logging.ERROR)  # it warns of each thing not installed
    warnings.filterwarnings("ignore", message="Payload indexes have no effect in the local Qdrant")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return import_module("mem0")


def make_memory(model: Any, embeddings: Any, dimension: int, store: dict[str, Any]) -> Any:
    """Return its memory over LangChain's models, and a Qdrant with these further options."""
    vectors = {**store, "collection_name": "memories", "embedding_model_dims": dimension}
    embedder = {"model": embeddings, "embedding_dims": dimension}
    return library().Memory.from_config(
        {
            "llm": {"provider": "langchain", "config": {"model": model}},
            "embedder": {"provider": "langchain", "config": embedder},
            "vector_store": {"provider": "qdrant", "config": vectors},
            "history_db_path": ":memory:",
        }
    )


def _stored(found: dict[str, Any]) -> StoredMemory:
    written = found.get("created_at")
    at = datetime.fromisoformat(written) if written else None
    return StoredMemory(str(found["id"]), str(found["memory"]), at)


def _op_record(event: dict[str, Any]) -> OpRecord:
    text, old = str(event.get("memory", "")), str(event.get("previous_memory") or "")
    if event.get("event") == "DELETE":
        return OpRecord(op="DELETE", who="mem0", olds=(old or text,))
    return OpRecord(
        op=str(event.get("event")), who="mem0", content=text, olds=(old,) if old else ()
    )
