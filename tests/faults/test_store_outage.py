"""A store that is out of reach for a moment: what was written down is done later, and once."""

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from qdrant_edge import EdgeShard

from souffleur.api import Souffleur
from souffleur.errors import StoreError
from souffleur.knowledge.knowledge_base import KnowledgeBase
from souffleur.knowledge.operation import ActorKind, Add, Boost
from souffleur.knowledge.store.engine.checksums import sums_file
from souffleur.knowledge.store.engine.collection import Collection, Payload, Point
from souffleur.knowledge.store.engine.edge import EdgeCollection
from souffleur.knowledge.store.engine.edge_encoding import encode_config
from souffleur.knowledge.store.engine.files import free_bytes, sync_log
from souffleur.knowledge.turn import TurnState
from souffleur.parts import Parts, make_agents
from souffleur.settings import Settings
from souffleur.times import from_clock
from tests.build import NOW, open_base, verdict
from tests.place import in_folder, where
from tests.scripted import SKIP, Scripted, add, answer
from tests.shared import until


class Unsteady:
    """A collection that refuses its next writes, as many as it is told."""

    def __init__(self, collection: Collection) -> None:
        self._collection = collection
        self.refusals = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._collection, name)

    def put_now(self, points: Sequence[Point]) -> None:
        self._refuse()
        self._collection.put_now(points)

    async def put(self, points: Sequence[Point]) -> None:
        self._refuse()
        await self._collection.put(points)

    async def merge_payload(self, ids: Sequence[str], payload: Payload, **more: Any) -> None:
        self._refuse()
        await self._collection.merge_payload(ids, payload, **more)

    async def set_vectors(self, points: Sequence[Point]) -> None:
        self._refuse()
        await self._collection.set_vectors(points)

    async def swap(self, points: Sequence[Point], revisions: Mapping[str, int | None]) -> set[str]:
        self._refuse()
        return await self._collection.swap(points, revisions)

    async def replace(self, point: Point, *, revision: int) -> bool:
        self._refuse()
        return await self._collection.replace(point, revision=revision)

    def _refuse(self) -> None:
        if self.refusals:
            self.refusals -= 1
            raise StoreError("the store is out of reach")


async def unsteady(folder: Path) -> tuple[KnowledgeBase, Unsteady]:
    """A store whose memories can be put out of reach."""
    base = await open_base(folder)
    memories = Unsteady(base.memories)
    return KnowledgeBase(memories, base.journal, base.embedder, base.policy), memories


async def test_a_verdict_written_down_is_done_before_the_next(tmp_path: Path) -> None:
    """A write that failed after the ledger is made good, in order, when the user comes next."""
    base, memories = await unsteady(tmp_path)
    tea = verdict(Add(reason="r", quote="", content="Ann likes tea."), who=ActorKind.HOST)
    memories.refusals = 1
    with pytest.raises(StoreError):
        await base.apply(tea)
    assert await base.list("ann") == []
    (entry,) = await base.journal.entries("ann")
    boost = Boost(target=entry.memory_ids[0], reason="r")
    await base.apply(verdict(boost, who=ActorKind.HOST, name=2))
    (kept,) = await base.list("ann")
    assert (kept.content, kept.uses) == ("Ann likes tea.", 1)
    await base.close()


async def test_a_turn_is_judged_once_although_the_store_failed(tmp_path: Path) -> None:
    """The judge is asked again, but the first verdict stands, and the memory is there once."""
    base, memories = await unsteady(tmp_path)
    answers = [answer(add("Ann likes tea.", "tea")), answer(add("Ann loves tea.", "tea"))]
    settings = Settings(**where(tmp_path), retry_pause=0.0)
    agents = make_agents(settings, base, Scripted(answers), lambda: NOW)
    memory = Souffleur(Parts(base, agents, times=from_clock(lambda: NOW)), settings)
    memories.refusals = 1
    memory.observe(user_id="ann", user="tea", assistant="ok")
    await memory.flush()
    (turn,) = await base.journal.turns()
    assert turn.state is TurnState.JUDGED
    assert [one.content for one in await base.list("ann")] == ["Ann likes tea."]
    assert len(await base.journal.entries("ann")) == 1
    await memory.close()


async def test_the_worker_outlives_a_store_out_of_reach(tmp_path: Path) -> None:
    """Turns that could not even be marked as failed wait, and are judged when the store is back."""
    base, _ = await unsteady(tmp_path)
    journal = Unsteady(base.journal.collection)
    base.journal.collection = journal
    settings = Settings(**where(tmp_path), retry_pause=0.0)
    agents = make_agents(settings, base, Scripted(lambda _: SKIP), lambda: NOW)
    memory = Souffleur(Parts(base, agents, times=from_clock(lambda: NOW)), settings)
    memory.observe(user_id="ann", user="tea", assistant="ok")
    journal.refusals = 99
    with pytest.raises(StoreError):
        await memory.flush()
    assert [turn.state for turn in await base.journal.turns()] == [TurnState.PENDING]
    journal.refusals = 0
    assert await memory.flush()
    assert [turn.state for turn in await base.journal.turns()] == [TurnState.JUDGED]
    await memory.close()


@in_folder
async def test_a_turn_that_could_not_be_written_is_written_later(tmp_path: Path) -> None:
    """With the journal out of reach `observe` says so, keeps the turn, and `flush` writes it."""
    base = await open_base(tmp_path)
    journal = Unsteady(base.journal.collection)
    base.journal.collection = journal
    memory = Souffleur(Parts(base, times=from_clock(lambda: NOW)), Settings(**where(tmp_path)))
    journal.refusals = 1
    assert "out of reach" in memory.observe(user_id="ann", user="tea").error
    assert await base.journal.turns() == []
    assert await memory.flush()
    assert len(await base.journal.turns()) == 1
    await memory.close()


@in_folder
async def test_a_flush_that_fails_is_told_and_made_good(tmp_path: Path) -> None:
    """The host hears of it with the next turn, the loop of nothing; later all is on disk."""
    base = await open_base(tmp_path)
    await base.journal.collection.close()
    schema = base.journal.collection.schema
    shard = EdgeShard.load(str(tmp_path / schema.name), encode_config(schema))
    disk = StubbornDisk()
    base.journal.collection = EdgeCollection(
        shard,
        tmp_path / schema.name,
        schema,
        flush_every=0.01,
        power_safe=False,
        room=free_bytes,
        sync=disk.sync,
    )
    memory = Souffleur(
        Parts(base, times=from_clock(lambda: NOW)), Settings(**where(tmp_path), judge=False)
    )
    loop_errors: list[Any] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, what: loop_errors.append(what))
    disk.refuses = True
    assert memory.observe(user_id="ann", user="tea").error == ""
    await until(lambda: bool(base.journal.collection.trouble))
    receipt = memory.observe(user_id="ann", user="milk")
    assert "could not flush" in receipt.error
    assert "could not flush" in (await memory.recall(user_id="ann", text="tea")).error
    assert "could not flush" in (await memory.health()).store_error
    with pytest.raises(StoreError, match="could not flush"):
        await memory.flush()
    disk.refuses = False
    memory.observe(user_id="ann", user="cocoa")
    await until(lambda: memory.error == "")
    assert loop_errors == []
    await memory.close()
    await asyncio.sleep(0.05)
    assert loop_errors == []


class StubbornDisk:
    """A disk that can be made to fail."""

    def __init__(self) -> None:
        self.refuses = False

    def sync(self, path: Path) -> None:
        """Sync the log of a collection."""
        if self.refuses:
            raise OSError("no such disk")
        sync_log(path)


@in_folder
async def test_a_panic_of_the_engine_is_an_error_of_ours(tmp_path: Path) -> None:
    """A store whose files make the engine panic is a StoreError, and nothing stays open."""
    base = await open_base(tmp_path)
    await base.close()
    for status in (tmp_path / "journal").rglob("status.dat"):
        status.write_bytes(status.read_bytes()[:1])
    sums_file(tmp_path / "journal").unlink()
    for _ in range(2):  # the second would find the folder locked if the first had left it so
        with pytest.raises(StoreError, match="could not open"):
            await open_base(tmp_path)


@in_folder
async def test_flush_says_so_while_a_turn_is_not_on_disk(tmp_path: Path) -> None:
    """It is False while the journal is out of reach, and True once the turn is written."""
    settings = Settings(**where(tmp_path), embedder="hash:128")
    async with Souffleur.open(settings, clock=lambda: NOW) as memory:
        journal = Unsteady(memory.knowledge.journal.collection)
        memory.knowledge.journal.collection = journal
        journal.refusals = 2
        memory.observe(user_id="ann", user="tea")
        assert await memory.flush() is False
        assert await memory.flush() is True
        assert [turn.user for turn in await memory.knowledge.journal.turns()] == ["tea"]
