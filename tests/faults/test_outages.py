"""An endpoint in trouble: nothing is lost, little is asked, the host is told, and it goes on."""

import asyncio
import json
import logging
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from souffleur.api import Opening, Souffleur
from souffleur.errors import EndpointError
from souffleur.knowledge.operation import ActorKind, Promote
from souffleur.knowledge.store.engine.collection import Collection
from souffleur.knowledge.turn import Turn, TurnState
from souffleur.settings import Settings
from tests.build import NOW, verdict
from tests.place import lasts_hours, where
from tests.scripted import SKIP, Scripted, add, answer
from tests.simulated_time import SimulatedTime
from tests.stores import open_empty
from tests.stub import Behaviour, Response, Stub, fail, hang_up, say, send, slow

Start = Callable[..., Stub]
HOUR = 3600.0
GOOD = json.dumps(answer(add("Ann likes tea.", "I like tea")))
ME: dict[str, Any] = {"user_id": "ann", "session_id": "s", "user": "I like tea", "assistant": "ok"}

TROUBLES: dict[str, Behaviour] = {
    "401": fail(401, "bad key"),
    "402": fail(402, "no credit"),
    "403": fail(403, "not yours"),
    "404": fail(404, "no such model"),
    "408": fail(408, "too slow"),
    "429": fail(429, "slow down", retry_after="0"),
    "500": fail(500, "oops"),
    "503": fail(503, "busy"),
    "a closed connection": hang_up,
    "a time-out": slow(5.0, say(GOOD)),
}


def settings(folder: Path, **fields: Any) -> Settings:
    base: dict[str, Any] = {**where(folder), "embedder": "hash:64", "user_title": "Ann"}
    return Settings(**{**base, **fields})


class Outage:
    """A model that is out of reach for a while, and counts how often it was asked meanwhile."""

    def __init__(self) -> None:
        self.down = False
        self.asked_in_vain = 0
        self.judged: list[str] = []

    def __call__(self, request: Any) -> Any:
        if self.down:
            self.asked_in_vain += 1
            return EndpointError("http://model gave no answer", retryable=True)
        if request.name != "monitor":
            return "no idea"
        exchange = request.messages[1].content.rpartition("## The exchange to judge")[2]
        self.judged += [line for line in exchange.splitlines() if "turn " in line]
        return SKIP


@asynccontextmanager
async def opened(folder: Path, chat: Any, time: SimulatedTime) -> AsyncIterator[Souffleur]:
    async with Opening(settings(folder), chat, time.source) as memory:
        yield memory


async def all_judged_once(memory: Souffleur, said: list[str]) -> None:
    """Every turn is judged, has one verdict, and those of a user came in their order."""
    turns = await memory.knowledge.journal.turns()
    assert Counter(turn.user for turn in turns) == Counter(said)
    assert {turn.state for turn in turns} == {TurnState.JUDGED}
    entries = await memory.knowledge.journal.entries()
    verdicts = Counter(id for entry in entries for id in entry.turn_ids)
    assert verdicts == Counter(turn.id for turn in turns)


@lasts_hours
async def test_an_hours_outage(tmp_path: Path) -> None:
    """Seven users talk through it: some twenty requests, then all is judged once and in order."""
    time, model = SimulatedTime(NOW), Outage()
    said: list[str] = []
    async with opened(tmp_path, Scripted(model), time) as memory:
        for minute in range(120):
            model.down = 10 <= minute < 70
            for user in range(7):
                if (minute + user) % 7 == 0:
                    said.append(f"turn {minute} of {user}.")
                    receipt = memory.observe(user_id=f"u{user}", user=said[-1], assistant="ok")
                    assert receipt.durable
            await time.pass_(60.0)
            if minute == 30:
                health = await memory.health()
                told = "judging has failed since 2026-01-03 10:10 UTC: http://model"
                assert health.judging_error.startswith(told)
                assert (health.endpoint, health.is_ok) == ("failing", False)
                assert health.waiting == 21
                assert health.waiting_since is not None
                whisper = await memory.recall(user_id="u1", text="hello")
                assert whisper.error.startswith(told)
                assert receipt.error.startswith(told)
        assert 10 <= model.asked_in_vain <= 40
        await all_judged_once(memory, said)
        by_user = [[line for line in model.judged if f" of {user}." in line] for user in range(7)]
        minutes = [[int(line.split("turn ")[1].split()[0]) for line in each] for each in by_user]
        assert all(each == sorted(each) for each in minutes)
        health = await memory.health()
        assert (health.error, health.waiting, health.set_aside) == ("", 0, 0)
        assert memory.error == ""


@lasts_hours
async def test_a_model_that_comes_back_is_noticed_without_a_word(tmp_path: Path) -> None:
    """Nobody says anything more: within the longest pause what waited is judged all the same."""
    time, model = SimulatedTime(NOW), Outage()
    async with opened(tmp_path, Scripted(model), time) as memory:
        model.down = True
        memory.observe(user_id="ann", user="turn 1.", assistant="ok")
        await time.pass_(HOUR)
        model.down = False
        await time.pass_(301.0)
        await all_judged_once(memory, ["turn 1."])


@lasts_hours
async def test_one_who_always_times_out_keeps_nobody_waiting(tmp_path: Path) -> None:
    """A turn too large for the model is tried less and less; the others are judged meanwhile."""
    time, asked = SimulatedTime(NOW), Counter[str]()

    def model(request: Any) -> Any:
        poison = "poison" in request.messages[1].content
        asked["poison" if poison else "other"] += 1
        return EndpointError("no answer in time", slow=True) if poison else SKIP

    async with opened(tmp_path, Scripted(model), time) as memory:
        memory.observe(user_id="ann", user="poison", assistant="ok")
        for minute in range(60):
            memory.observe(user_id="bob", user=f"turn {minute}.", assistant="ok")
            await time.pass_(60.0)
        await time.pass_(300.0)
        states = {turn.user: turn.state for turn in await memory.knowledge.journal.turns()}
        assert states.pop("poison") is TurnState.PENDING
        assert set(states.values()) == {TurnState.JUDGED}
        assert asked["poison"] < 60


@pytest.mark.parametrize("trouble", TROUBLES.values(), ids=TROUBLES.keys())
async def test_no_trouble_of_an_endpoint_uses_up_a_try(
    tmp_path: Path, stub: Start, trouble: Behaviour, caplog: pytest.LogCaptureFixture
) -> None:
    """The turn waits, the host is told, and a second start with a good endpoint judges it once."""
    timeout = 0.3 if trouble is TROUBLES["a time-out"] else 10.0
    chosen = settings(tmp_path, retry_pause=0.0, timeout=timeout, model="stub")
    with caplog.at_level(logging.WARNING, logger="souffleur"):
        bad = chosen.model_copy(update={"base_url": stub(trouble).base_url})
        async with Souffleur.open(bad, clock=lambda: NOW) as memory:
            memory.observe(**ME, turn_id="t")
            assert not await memory.flush()
            (turn,) = await memory.knowledge.journal.turns()
            assert (turn.state, turn.tries, bool(turn.error)) == (TurnState.PENDING, 0, True)
            assert "judging has failed since 2026-01-03 10:00 UTC" in memory.error
            assert memory.error in (await memory.recall(user_id="ann", text="tea")).error
            assert memory.error in memory.observe(**ME, turn_id="t").error
    warnings = [one for one in caplog.records if "judging has failed" in one.message]
    assert len(warnings) == (0 if timeout < 1.0 else 1)  # a single time-out is no outage yet
    good = chosen.model_copy(update={"base_url": stub(say(GOOD)).base_url})
    async with Souffleur.open(good, clock=lambda: NOW) as memory:
        assert await memory.flush()
        assert [one.content for one in await memory.knowledge.list("ann")] == ["Ann likes tea."]
        assert len(await memory.knowledge.journal.entries("ann")) == 1


async def test_a_passing_trouble_is_not_even_noticed(tmp_path: Path, stub: Start) -> None:
    """If the third try succeeds, `flush` has waited for it, and the turn is judged once."""
    endpoint = stub(fail(500, "oops"), hang_up, say(GOOD))
    chosen = settings(tmp_path, base_url=endpoint.base_url, retry_pause=0.0, model="stub")
    async with open_empty(chosen, clock=lambda: NOW) as memory:
        memory.observe(**ME)
        assert await memory.flush()
        assert len(await memory.knowledge.journal.entries("ann")) == 1
        assert memory.error == ""


async def test_a_wrong_setting_is_no_fault_of_the_turns(tmp_path: Path, stub: Start) -> None:
    """A 400 that every request meets sets no turn aside: the settings must be put right."""
    endpoint = stub(fail(400, "'temperature' does not support 0"))
    chosen = settings(tmp_path, base_url=endpoint.base_url, retry_pause=0.0, model="stub")
    async with open_empty(chosen, clock=lambda: NOW) as memory:
        for place in range(3):
            memory.observe(**ME, turn_id=str(place))
        assert not await memory.flush()
        turns = await memory.knowledge.journal.turns()
        assert [(turn.state, turn.tries) for turn in turns] == [(TurnState.PENDING, 0)] * 3
        assert "temperature" in memory.error


async def test_forced_judging_says_what_kept_it(tmp_path: Path, stub: Start) -> None:
    """`remember` of messages raises what the endpoint said; the messages are kept and wait."""
    endpoint = stub(fail(401, "bad key"))
    chosen = settings(tmp_path, base_url=endpoint.base_url, retry_pause=0.0, model="stub")
    async with open_empty(chosen, clock=lambda: NOW) as memory:
        with pytest.raises(EndpointError, match="401"):
            await memory.remember([{"role": "user", "content": "I like tea"}], user_id="ann")
        (turn,) = await memory.knowledge.journal.turns()
        assert turn.state is TurnState.PENDING


async def test_forced_while_it_is_judged_is_not_forgotten(tmp_path: Path) -> None:
    """With a cadence of five, a turn forced while another is judged is judged as well."""
    asked, gate = asyncio.Event(), asyncio.Event()

    async def chat(request: Any) -> Any:
        asked.set()
        await gate.wait()
        return await Scripted([SKIP])(request)

    chosen = settings(tmp_path, judge_every=5)
    async with open_empty(chosen, chat=chat, clock=lambda: NOW) as memory:
        first = asyncio.create_task(
            memory.remember([{"role": "user", "content": "turn 1"}], user_id="ann")
        )
        await asked.wait()
        second = asyncio.create_task(
            memory.remember([{"role": "user", "content": "turn 2"}], user_id="ann")
        )
        await asyncio.sleep(0)
        gate.set()
        await asyncio.gather(first, second)
        assert {turn.state for turn in await memory.knowledge.journal.turns()} == {TurnState.JUDGED}


async def test_a_bug_is_tried_and_set_aside(tmp_path: Path) -> None:
    """What is no endpoint's trouble, such as a bug of ours, does not keep a user waiting."""

    async def chat(request: Any) -> Any:
        raise KeyError("a bug")

    chosen = settings(tmp_path, retry_pause=0.0)
    async with open_empty(chosen, chat=chat, clock=lambda: NOW) as memory:
        memory.observe(**ME)
        await memory.flush()
        (turn,) = await memory.knowledge.journal.turns()
        assert (turn.state, turn.tries) == (TurnState.FAILED, 3)
        assert (await memory.health()).set_aside == 1


async def test_the_embedder_is_asked_now_and_then(tmp_path: Path, stub: Start) -> None:
    """With its embedder down, turns wait; recall finds by words; back again, all is judged."""
    down = {"now": False}

    embedder = stub(lambda body: (fail(503, "busy") if down["now"] else embedded)(body))
    chosen = settings(
        tmp_path,
        embedder="openai:e",
        embedder_base_url=embedder.base_url,
        retry_pause=60.0,
        recall_timeout=60.0,
    )
    chat = Scripted(lambda _: SKIP)
    async with open_empty(chosen, chat=chat, clock=lambda: NOW) as memory:
        await memory.remember("Ann likes green tea.", user_id="ann")
        await memory.remember("Ann is allergic to nuts.", user_id="ann")
        (_, nuts) = await memory.knowledge.list("ann")
        await promote(memory, nuts.id)
        down["now"] = True
        whisper = await memory.recall(user_id="ann", text="which green tea?")
        assert "green tea" in whisper.text
        assert "allergic" in whisper.text
        assert "EmbedderError" in whisper.error
        asked = len(embedder.requests)
        await memory.recall(user_id="ann", text="and another one?")
        assert len(embedder.requests) == asked
        memory.observe(**ME)
        assert not await memory.flush(1.0)
        assert "embedding has failed" in memory.error
        assert [turn.state for turn in await turns(memory)] == [TurnState.PENDING]
        down["now"] = False
        assert await memory.flush()
        assert [turn.state for turn in await turns(memory)] == [TurnState.JUDGED]
        assert memory.error == ""


class Hung:
    """A collection of a server that hangs: no read of it ends."""

    def __init__(self, collection: Collection) -> None:
        self._collection = collection
        self.begun = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._collection, name)

    async def search(self, queries: Any) -> Any:
        self.begun += 1
        await asyncio.Event().wait()


async def test_a_reply_does_not_wait_for_a_store_that_hangs(tmp_path: Path) -> None:
    """Recall gives up and says so; once the store answers again, so does recall."""
    chosen = settings(tmp_path, recall_timeout=0.3)
    async with open_empty(chosen, clock=lambda: NOW) as memory:
        await memory.remember("Ann likes green tea.", user_id="ann")
        base, store = memory.knowledge, memory.knowledge.memories
        base.memories = hung = Hung(store)
        whisper = await memory.recall(user_id="ann", text="which green tea?")
        assert (hung.begun > 0, whisper.text) == (True, "")
        assert whisper.error == "nothing was recalled within 0.3 s (SOUFFLEUR_RECALL_TIMEOUT)"
        base.memories = store
        assert "green tea" in (await memory.recall(user_id="ann", text="which green tea?")).text


@pytest.mark.parametrize("refused", [fail(400, "no"), send("<p>no</p>", "text/html")])
async def test_an_embedder_that_refuses_everything_is_in_trouble(
    tmp_path: Path, stub: Start, refused: Behaviour
) -> None:
    """Turns wait, and health says why, also while nobody recalls."""
    answering: list[Behaviour] = [embedded]
    embedder = stub(lambda body: answering[0](body))
    chosen = settings(
        tmp_path, embedder="openai:e", embedder_base_url=embedder.base_url, retry_pause=0.0
    )
    async with open_empty(chosen, chat=Scripted(lambda _: GOOD), clock=lambda: NOW) as memory:
        answering[0] = refused
        memory.observe(**ME)
        assert not await memory.flush()
        (turn,) = await memory.knowledge.journal.turns()
        assert (turn.state, turn.tries) == (TurnState.PENDING, 0)
        assert "embedding has failed since" in (await memory.health()).embedder_error


async def test_a_start_without_the_embedder(tmp_path: Path, stub: Start) -> None:
    """A store that knows its dimension opens all the same, keeps turns and finds by words."""
    good = stub(embedded)
    chosen = settings(tmp_path, embedder="openai:e", embedder_base_url=good.base_url)
    async with Souffleur.open(chosen, clock=lambda: NOW) as memory:
        await memory.remember("Ann likes green tea.", user_id="ann")
    bad = chosen.model_copy(update={"embedder_base_url": stub(fail(500, "no")).base_url})
    async with Souffleur.open(bad, clock=lambda: NOW) as memory:
        assert memory.observe(**ME).durable
        assert "green tea" in (await memory.recall(user_id="ann", text="green tea?")).text


def embedded(body: dict[str, Any]) -> Response:
    """An answer of an embedding endpoint."""
    rows = [[float(len(text) + 1), 1.0] for text in body["input"]]
    data = [{"index": at, "embedding": row} for at, row in enumerate(rows)]
    return send({"object": "list", "model": "e", "data": data, "usage": {}})(body)


async def turns(memory: Souffleur) -> list[Turn]:
    return await memory.knowledge.journal.turns()


async def promote(memory: Souffleur, memory_id: str) -> None:
    """Make a memory core, as a reviewer would."""
    op = Promote(target=memory_id, reason="it matters")
    (done,) = await memory.knowledge.apply(verdict(op, who=ActorKind.REVIEWER, name=memory_id))
    assert done.refused is None
