"""Events: what happens to a user's memories, as it happens, to that user alone."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
import pytest_asyncio

from souffleur.api import Souffleur
from souffleur.client import AsyncClient, Client
from souffleur.errors import RemoteError
from souffleur.knowledge.operation import (
    ActorKind,
    Boost,
    Change,
    Delete,
    LedgerEntry,
    Merge,
    Promote,
    Recorded,
    Update,
)
from souffleur.server.events import MemoryEvent, events_of, follow, latest_place
from souffleur.server.tokens import Role, TokenFile
from souffleur.settings import Settings
from tests.build import NOW, an_add, verdict
from tests.served import served

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def memory(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Souffleur]:
    """An empty store."""
    chosen = Settings(path=tmp_path_factory.mktemp("store"), embedder="hash:64")
    async with Souffleur.open(chosen, clock=lambda: NOW) as opened:
        yield opened


async def take(events: AsyncIterator[MemoryEvent], count: int) -> list[MemoryEvent]:
    """The next events of a stream."""
    async with asyncio.timeout(20):
        return [await anext(events) for _ in range(count)]


def told(events: list[MemoryEvent]) -> list[tuple[str, str]]:
    return [(event.type.value.removeprefix("memory."), event.memory.content) for event in events]


async def decide(memory: Souffleur, *ops: Any, who: ActorKind, **fields: Any) -> list[LedgerEntry]:
    """Have somebody decide on Ann's memories, for whom nothing is refused."""
    name = (ops, who, fields)
    return await memory.knowledge.apply(verdict(*ops, who=who, name=name, **fields))


async def test_each_kind_of_event(memory: Souffleur) -> None:
    """Created, updated, boosted, promoted, deleted, restored and forgotten, in their order."""
    async with served(memory) as url, AsyncClient(url) as client:
        await memory.remember("Known before.", user_id="ann")
        events = client.events(user_id="ann", after=await latest_place(memory, "ann"))
        first = asyncio.create_task(take(events, 1))
        (added,) = await memory.remember("Ann likes tea.", user_id="ann")
        tea = added.changes[0].after.id
        assert told(await first) == [("created", "Ann likes tea.")]
        await memory.edit(tea, "Ann likes oolong.", user_id="ann")
        await decide(memory, Promote(target=tea, reason="r"), who=ActorKind.REVIEWER)
        (gone,) = await memory.forget(tea, user_id="ann")
        await memory.undo(gone.id, user_id="ann")
        await memory.forget(tea, user_id="ann")
        await memory.restore_memory(tea, user_id="ann")
        assert told(await take(events, 6)) == [
            ("updated", "Ann likes oolong."),
            ("promoted", "Ann likes oolong."),
            ("deleted", "Ann likes oolong."),
            ("restored", "Ann likes oolong."),
            ("deleted", "Ann likes oolong."),
            ("restored", "Ann likes oolong."),
        ]


async def entry_of(memory: Souffleur, op: Any, who: ActorKind, **fields: Any) -> list[str]:
    """The types of the events of an op that is decided on."""
    (entry,) = await decide(memory, op, who=who, **fields)
    assert entry.refused is None, entry.detail
    return [event.type.value for event in events_of(Recorded(seq=1, entry=entry))]


async def test_what_models_and_rules_decide(memory: Souffleur) -> None:
    """A judge's deletion is deleted, a reviewer's forgotten; an update is two events."""
    added = await decide(
        memory, *(an_add(f"Bo has {n} cats.") for n in range(5)), who=ActorKind.HOST, user_id="bo"
    )
    ids = [entry.changes[0].after.id for entry in added]
    bo: dict[str, Any] = {"user_id": "bo"}
    used = {**bo, "injected": frozenset({ids[0]})}
    boosted = await entry_of(memory, Boost(target=ids[0], reason="r"), ActorKind.MONITOR, **used)
    assert boosted == ["memory.boosted"]
    said = {**bo, "user": "I have no cats"}
    quoted = {"reason": "r", "quote": "I have no cats"}
    update = Update(target=ids[1], content="Bo has no cats.", **quoted)
    changed = await entry_of(memory, update, ActorKind.MONITOR, **said)
    assert sorted(changed) == ["memory.created", "memory.updated"]
    delete = Delete(target=ids[2], reason="r", quote="I have no cats")
    assert await entry_of(memory, delete, ActorKind.MONITOR, **said) == ["memory.deleted"]
    faded = Delete(target=ids[3], reason="r", quote="")
    assert await entry_of(memory, faded, ActorKind.REVIEWER, **bo) == ["memory.forgotten"]


async def test_what_waits_for_a_yes_is_told(memory: Souffleur) -> None:
    """A proposed change is an event with the memory as it is, and a notice that asks."""
    uma: dict[str, Any] = {"user_id": "uma"}
    (added,) = await decide(memory, an_add("Uma has a cat."), who=ActorKind.HOST, **uma)
    since = await latest_place(memory, "uma")
    await memory.set_preferences(**uma, auto_extract=False)
    said = {**uma, "user": "I have two cats"}
    update = Update(
        target=added.changes[0].after.id,
        content="Uma has two cats.",
        reason="r",
        quote="I have two cats",
    )
    (waiting,) = await decide(memory, update, who=ActorKind.MONITOR, **said)
    async with served(memory) as url, AsyncClient(url) as client:
        (event,) = await take(client.events(**uma, after=since), 1)
    assert told([event]) == [("proposed", "Uma has a cat.")]
    assert event.notice
    assert event.notice.asks
    assert event.notice.text == "Shall I update this? Uma has two cats."
    assert event.notice.entry_ids == (waiting.id,)


async def test_a_stream_is_resumed(memory: Souffleur) -> None:
    """It goes on after the last event seen, also between two of one entry; each comes once."""
    kim = {"user_id": "kim"}
    added = await decide(
        memory, an_add("Kim has a cat."), an_add("Kim has a dog."), who=ActorKind.HOST, **kim
    )
    ids = [entry.changes[0].after.id for entry in added]
    merged = Merge(targets=tuple(ids), content="Kim has pets.", reason="r")
    await decide(memory, merged, who=ActorKind.CONSOLIDATOR, **kim)
    async with served(memory) as url, AsyncClient(url) as client:
        every = await take(client.events(**kim, after="0"), 5)
        assert told(every)[:2] == [("created", "Kim has a cat."), ("created", "Kim has a dog.")]
        for count, event in enumerate(every[:-1], 1):
            rest = await take(client.events(**kim, after=event.id), 5 - count)
            assert rest == every[count:]
        with Client(url) as blocking:
            first = await asyncio.to_thread(lambda: next(blocking.events(**kim, after="0")))
        assert first == every[0]
        with pytest.raises(RemoteError, match="'x' is no id of an event") as caught:
            await take(client.events(**kim, after="x"), 1)
        assert caught.value.status == 422


async def test_a_place_beyond_the_ledger(memory: Souffleur) -> None:
    """Who has seen more than the ledger has, as before a restore, is told of what is new."""
    await memory.remember("Leo likes tea.", user_id="leo")
    asked: dict[str, Any] = {"params": {"user_id": "leo"}, "headers": {"Last-Event-ID": "999999.0"}}
    async with (
        asyncio.timeout(20),
        served(memory) as url,
        httpx2.AsyncClient() as http,
        http.stream("GET", f"{url}/api/events", **asked) as response,
    ):
        lines = response.aiter_lines()
        assert await anext(lines) == "retry: 2000"
        assert await anext(lines) == f"id: {await latest_place(memory, 'leo')}"
        await memory.remember("Leo has a boat.", user_id="leo")
        assert [await anext(lines) for _ in range(2)] == ["", "event: memory.created"]


async def test_nobody_else_s_events(memory: Souffleur, tmp_path: Path) -> None:
    """A user's token sees that user's alone; when it is revoked, the stream ends."""
    tokens = TokenFile(tmp_path / "tokens.json")
    secret = tokens.make(Role.USER, "eve", now=NOW)
    tokens.make(Role.ADMIN, now=NOW)
    await memory.remember("Dan sings.", user_id="dan")
    await memory.remember("Eve sings.", user_id="eve")
    async with served(memory, tokens=tokens.file) as url, AsyncClient(url, token=secret) as client:
        events = client.events(user_id="eve", after="0")
        assert told(await take(events, 1)) == [("created", "Eve sings.")]
        await memory.remember("Dan dances.", user_id="dan")
        await memory.remember("Eve dances.", user_id="eve")
        assert told(await take(events, 1)) == [("created", "Eve dances.")]
        with pytest.raises(RemoteError, match="for another user"):
            await take(client.events(user_id="dan", after="0"), 1)
        tokens.revoke(next(one.digest for one in tokens.tokens if one.who == "eve"))
        await memory.remember("Eve paints.", user_id="eve")
        with pytest.raises(StopAsyncIteration):
            await take(events, 1)


async def test_signs_of_life_and_the_first_lines(memory: Souffleur) -> None:
    """A stream begins with the place from which to resume, and ends when the server stops."""
    await memory.remember("Flo reads.", user_id="flo")
    lines: list[str] = []
    async with (
        served(memory, heartbeat=0.05) as url,
        httpx2.AsyncClient() as http,
        http.stream("GET", f"{url}/api/events?user_id=flo") as response,
    ):
        assert response.headers["content-type"].startswith("text/event-stream")
        async for line in response.aiter_lines():
            lines.append(line)
            if len(lines) > 6:
                break
    assert lines[0] == "retry: 2000"
    assert lines[1] == f"id: {await latest_place(memory, 'flo')}"
    assert lines[2:6] == ["", ":", "", ":"]


async def test_a_stop_ends_every_stream(memory: Souffleur) -> None:
    """A server that is stopped does not wait for streams that would go on for ever."""
    async with asyncio.timeout(10):
        async with served(memory) as url:
            client = AsyncClient(url)
            reading = asyncio.create_task(take(client.events(user_id="ann"), 1))
            await asyncio.sleep(0.2)
        with pytest.raises(StopAsyncIteration):
            await reading
        await client.close()


async def test_a_refused_change_is_no_event(memory: Souffleur) -> None:
    """Nothing has happened to any memory."""
    for _ in range(2):
        (entry,) = await memory.remember("Gus runs.", user_id="gus")
    assert entry.refused == "duplicate"
    assert list(events_of(Recorded(seq=1, entry=entry))) == []
    change = Change(before=None, after=(await memory.list(user_id="gus"))[0])
    lost = entry.model_copy(update={"changes": (change,)})
    assert list(events_of(Recorded(seq=1, entry=lost))) == []


async def test_nobody_watches_afterwards(memory: Souffleur) -> None:
    """A stream that ends leaves nothing behind in the journal."""
    events = follow(
        memory, "ann", (0, 0), heartbeat=9, goes_on=lambda: True, stopping=asyncio.Event()
    )
    await anext(events)
    assert memory.knowledge.journal._watchers
    await events.aclose()  # type: ignore[attr-defined]
    assert not memory.knowledge.journal._watchers
