"""The clients: the methods of Souffleur, with the same results, over a real server."""

import asyncio
import inspect
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any, cast

import pytest
import pytest_asyncio
from starlette.applications import Starlette
from starlette.responses import JSONResponse, PlainTextResponse
from starlette.routing import Route

from souffleur.api import Souffleur
from souffleur.client import AsyncClient, Client
from souffleur.client.calls import CALLS
from souffleur.errors import InputError, NotFoundError, RemoteError, SettingsError
from souffleur.server.app import make_app
from souffleur.service.run import RunLimits, RunOptions
from souffleur.settings import Settings
from tests.asgi import served as served_app
from tests.build import NOW, days
from tests.scripted import Scripted, add, answer, by_name, episode
from tests.served import served

pytestmark = pytest.mark.asyncio(loop_scope="module")
TEA = answer(add("Ann likes green tea.", "I like green tea"))
THOUGHT = {"reason": "n1", "action": "ANSWER", "query": None, "answer": "Green.", "ids": ["n1"]}
ANN: dict[str, Any] = {"user_id": "ann"}
VERBS = ["GET", "POST", "PUT"]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def memory(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Souffleur]:
    """A store in which Ann has told one thing in session s1, which has ended."""
    chosen = Settings(path=tmp_path_factory.mktemp("store"), embedder="hash:64", idle_minutes=0)
    told = episode("Ann and Mo talked about tea.")
    chat = Scripted(by_name(monitor=TEA, episode=told, think=THOUGHT))
    async with Souffleur.open(chosen, chat=chat, clock=lambda: NOW) as opened:
        said: dict[str, Any] = {"user": "I like green tea.", "assistant": "Noted."}
        opened.observe(user_id="ann", session_id="s1", turn_id="m1", **said, at=NOW - days(1))
        await opened.flush()
        opened.end_session(user_id="ann", session_id="s1")
        await opened.flush()
        await opened.introduce(user_id="ann", title="Annie", timezone="Asia/Tokyo")
        await opened.introduce_persona(agent_id="luna", knows="own")
        await opened.remember("Ann fears dogs.", user_id="ann", agent_id="luna")
        yield opened


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def url(memory: Souffleur) -> AsyncIterator[str]:
    """The address of a server."""
    async with served(memory) as address:
        yield address


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def client(url: str) -> AsyncIterator[AsyncClient]:
    """A client of the server."""
    async with AsyncClient(url) as opened:
        yield opened


READS: dict[str, dict[str, Any]] = {
    "list": {**ANN, "state": None},
    "search": {**ANN, "text": "green tea", "scope": ["memories", "episodes", "turns"]},
    "recall": {**ANN, "text": "What did I say about tea yesterday?", "session_id": "s2"},
    "ask": {**ANN, "text": "yesterday"},
    "episodes": ANN,
    "portrait": ANN,
    "proposals": ANN,
    "preferences": ANN,
    "stats": ANN,
    "notices": ANN,
    "ledger": {**ANN, "after": 1, "limit": 3, "newest_first": True},
    "users": {},
    "report": {},
    "cast": {},
    "health": {},
}
"""Methods that change nothing, and what they are asked."""


@pytest.mark.parametrize("name", READS)
async def test_what_is_read_is_the_same(
    memory: Souffleur, client: AsyncClient, url: str, name: str
) -> None:
    """Both clients return what Souffleur returns, of the same types, for every read."""
    here = await getattr(memory, name)(**READS[name])
    assert await getattr(client, name)(**READS[name]) == here
    with Client(url) as blocking:
        there = await asyncio.to_thread(getattr(blocking, name), **READS[name])
    assert there == here
    assert type(there) is type(here)


async def test_what_a_model_answers_is_the_same(
    memory: Souffleur, client: AsyncClient, url: str
) -> None:
    """Both clients return the answer, what it rests on and what it took, and wait for the model."""
    asked: dict[str, Any] = {**ANN, "text": "Which tea do I like?", "think": True}
    here = await memory.ask(**asked)
    assert here.thought
    assert (here.thought.answer, len(here.found)) == ("Green.", 1)
    assert await client.ask(**asked) == here
    with Client(url) as blocking:
        assert await asyncio.to_thread(blocking.ask, **asked) == here
    assert CALLS["ask"].timeout is None


async def test_a_talk(client: AsyncClient) -> None:
    """Told, judged, recalled, corrected, undone and forgotten, as in the process itself."""
    who: dict[str, Any] = {"user_id": "kim", "session_id": "s1"}
    assert (await client.observe(**who, user="I like green tea", turn_id="t")).new
    assert not (await client.observe(**who, user="I like green tea", turn_id="t")).new
    assert await client.flush(seconds=30)
    whisper = await client.recall(**who, text=[{"type": "text", "text": "some tea?"}])
    assert "Ann likes green tea." in whisper.text
    receipt = await client.observe(**who, user="some tea?", whisper=whisper, at=NOW)
    assert (receipt.durable, receipt.error) == (True, "")
    (known,) = await client.list(user_id="kim")
    changed = await client.edit(known.id, "Kim likes black tea.", user_id="kim")
    (added, edited) = await client.history(known.id, user_id="kim")
    assert (added.op, edited) == ("ADD", changed)
    assert (await client.undo(edited.id, user_id="kim")).op == "UNDO"
    (gone,) = await client.forget(known.id, user_id="kim")
    assert [one.state for one in await client.list(user_id="kim", state=None)] == ["forgotten"]
    assert (await client.restore_memory(known.id, user_id="kim")).op == "RESTORE"
    assert (await client.get(known.id, user_id="kim")).content == gone.changes[0].after.content
    assert (await client.confirm(known.id, user_id="kim")).changes[0].after.verified
    assert (await client.reject(known.id, user_id="kim")).op == "FORGET"
    assert await client.end_session(user_id="kim", session_id="s1")
    preview = await client.preview_topic("tea", user_id="kim")
    assert "memory" in {trace.kind for trace in preview.traces}
    assert (await client.forget_topic("tea", user_id="kim", ids=preview.ids)).counts["memory"] >= 1
    (rum,) = await client.remember("Kim likes rum.", user_id="kim")
    erased = await client.erase_memory(rum.memory_ids[0], user_id="kim")
    assert erased.counts == {"memory": 1, "entry": 1}
    assert await client.compact() == []
    assert (await client.erase_turn("t", user_id="kim")).counts
    assert (await client.erase_user(user_id="kim")).user_id == "kim"
    assert await client.retry() == 0


async def test_a_skill(client: AsyncClient) -> None:
    """The same steps again strengthen it, other steps replace it, and the old ones are history."""
    who = {"user_id": "sam"}
    (steps, other) = (["test", "tag"], ["test", "sign", "tag"])
    assert (await client.record_skill("Release", steps, "It went well.", **who)).op == "ADD"
    assert (await client.record_skill("Release", steps, **who)).op == "BOOST"
    assert (await client.record_skill("Release", other, "Signed.", **who)).op == "UPDATE"
    (known,) = await client.list(**who, kind="skill")
    assert known.content == "Release: 1. test 2. sign 3. tag. Signed."
    assert known.data == {"skill": "Release", "workflow": other, "outcome": "Signed."}
    with pytest.raises(InputError, match="needs the steps"):
        await client.record_skill("Release", [" "], **who)


async def test_messages_are_judged(client: AsyncClient) -> None:
    """Each turn is judged once, however often it is given, as by `remember`."""
    said = [("user", "I like green tea"), {"role": "assistant", "content": "Noted.", "at": NOW}]
    (entry,) = await client.remember(said, user_id="lea", session_id="s1")
    assert entry.changes[0].after.content == "Ann likes green tea."
    assert await client.remember(said, user_id="lea", session_id="s1") == [entry]
    with pytest.raises(InputError, match="message 0: 'narrator' is no role"):
        await client.remember([("narrator", "hi")], user_id="lea")


async def test_personas_and_runs(memory: Souffleur, client: AsyncClient) -> None:
    """Introduced, defined and shared; a run returns what it did, with the options it was given."""
    assert (await client.introduce(user_id="zoe", language="en")).language == "en"
    chosen = await client.set_preferences(user_id="zoe", incognito=True)
    assert chosen == await memory.preferences(user_id="zoe")
    assert (chosen.incognito, chosen.memory, chosen.since) == (True, True, NOW)
    assert (await client.introduce_persona(agent_id="mo", name="Mo")).name == "Mo"
    (entry,) = await client.define(agent_id="mo", what=["Mo is an owl."])
    assert entry.op == "ADD"
    (own,) = await client.list(user_id="ann", agent_id="luna")
    assert (await client.share(own.id, user_id="ann")).op == "SHARE"
    await client.forget(own.id, user_id="ann")
    limits = RunLimits(memories=1, calls=2, deletions=3, parallel=4)
    options = RunOptions(NOW + days(400), user_id="ann", limits=limits, dry_run=True)
    result = await client.run("purge", options)
    assert result == await memory.run("purge", options)
    assert (result.due, result.items[0].memory.id) == (1, own.id)
    assert (await client.run("report")).data["health"] == "ok"
    with pytest.raises(SettingsError, match="no run is called 'dance'"):
        await client.run("dance")


WRONG: dict[str, tuple[Callable[[AsyncClient], Any], type[Exception], str]] = {
    "user": (lambda one: one.list(user_id=" "), InputError, "user_id is blank"),
    "kind": (lambda one: one.list(**ANN, kind="x"), InputError, "there is no kind 'x'"),
    "text": (lambda one: one.ask(cast("str", 7), **ANN), InputError, "must be a text, not int"),
    "id": (lambda one: one.get("7", **ANN), NotFoundError, "'7'"),
    "memory": (lambda one: one.get(str(Path), **ANN), NotFoundError, "there is nothing"),
    "words": (lambda one: one.remember(" ", **ANN), InputError, "must not be blank"),
    "zone": (lambda one: one.introduce(**ANN, timezone="x"), SettingsError, "no time zone 'x'"),
    "day": (lambda one: one.remember("a", **ANN, at="soon"), InputError, "'soon' is no time"),
}


@pytest.mark.parametrize("what", WRONG)
async def test_what_is_wrong_is_raised(client: AsyncClient, what: str) -> None:
    """The same error as Souffleur's, with its words."""
    call, kind, why = WRONG[what]
    with pytest.raises(kind, match=why):
        await call(client)


async def test_a_server_that_is_not_there() -> None:
    """What never raises says so in its result, everything else raises RemoteError."""
    async with AsyncClient("http://me:secret@127.0.0.1:9") as nobody:
        whisper = await nobody.recall(user_id="ann", text="tea")
        assert whisper.text == ""
        assert "RemoteError: the server at http://127.0.0.1:9 does not answer" in whisper.error
        receipt = await nobody.observe(user_id="ann", user="tea", turn_id="t")
        assert (receipt.turn_id, receipt.new, receipt.durable) == ("t", False, False)
        assert not await nobody.end_session(user_id="ann")
        with pytest.raises(RemoteError, match="does not answer"):
            await nobody.list(user_id="ann")


@pytest.mark.parametrize(
    "told",
    [{}, {"status": "ok"}, {"text": "Obey."}, {"detail": "Not Found"}, {"data": []}, [], None],
)
async def test_a_server_that_is_none_of_ours(told: Any) -> None:
    """What it answers with 200 is no result, however much of it could be read as one."""
    foreign = Starlette(routes=[Route("/{_:path}", lambda _: JSONResponse(told), methods=VERBS)])
    async with served_app(foreign) as url, AsyncClient(url) as client:
        whisper = await client.recall(user_id="ann", text="tea")
        assert (whisper.text, "souffleur" in whisper.error.lower()) == ("", True)
        receipt = await client.observe(user_id="ann", user="tea")
        assert (receipt.durable, bool(receipt.error)) == (False, True)
        for asked in (client.preferences(user_id="ann"), client.introduce(user_id="ann")):
            with pytest.raises(RemoteError, match="version"):
                await asked


@pytest.mark.parametrize(
    ("header", "seconds"), [("5", 5.0), ("2.5", 2.5), ("²", None), ("soon", None), ("nan", None)]
)
async def test_when_to_ask_again(header: str, seconds: float | None) -> None:
    """A refusal tells it if the server has said a time that is one."""
    busy = PlainTextResponse("no", 429, {"Retry-After": header})
    foreign = Starlette(routes=[Route("/{_:path}", lambda _: busy)])
    async with served_app(foreign) as url, AsyncClient(url) as client:
        with pytest.raises(RemoteError) as told:
            await client.preferences(user_id="ann")
    assert (told.value.status, told.value.retry_after) == (429, seconds)


async def test_halves_of_characters_arrive(client: AsyncClient, url: str) -> None:
    """What cuts an emoji in two is taken as in the process itself, everywhere; no call fails."""
    half = "\ud83d"
    who: dict[str, Any] = {"user_id": "kay", "session_id": "s1"}
    assert (await client.recall(**who, text=f"tea {half}")).error == ""
    assert (await client.observe(**who, user=f"Hm {half}.", assistant=half)).durable
    with Client(url) as blocking:
        assert (await asyncio.to_thread(blocking.recall, **who, text=half)).error == ""
    (entry,) = await client.remember(f"Kay has a {half} cat.", user_id="kay")
    (memory_id,) = entry.memory_ids
    edited = await client.edit(memory_id, f"Kay has two {half} cats.", user_id="kay")
    assert edited.changes[0].after.content == "Kay has two \ufffd cats."
    assert await client.preview_topic(f"cats {half}", user_id="kay")
    skill = await client.record_skill(f"Bake {half}", [half], half, user_id="kay")
    assert skill.changes[0].after.data["workflow"] == ["\ufffd"]
    for wrong in (half, "m1", 7, None, ""):
        for method in (client.confirm, client.reject, client.undo):
            with pytest.raises(NotFoundError):
                await method(cast("str", wrong), user_id="kay")
    assert await client.end_session(user_id="kay", session_id="s1", agent_id=half) is False
    with pytest.raises(InputError, match=r"this cannot be sent: .*unknown type"):
        await client.forget_topic("cats", user_id="kay", ids=cast("Any", object()))


@pytest.mark.parametrize(
    "url", ["127.0.0.1:8321", "ftp://a.example", "http://127.0.0.1:99999", "http://[::1", ""]
)
async def test_what_is_no_address_is_told(url: str) -> None:
    """By both clients, when they are made; so is a token that no header can carry."""
    for kind in (Client, AsyncClient):
        with pytest.raises(SettingsError, match="is no address of a server: write it like http"):
            kind(url)
        with pytest.raises(SettingsError, match="copy it again"):
            kind(token="souffleur_\u00e9")


async def test_a_closed_client_costs_no_reply(url: str) -> None:
    """Nor does one whose token has a line end after it, as one that is read from a file has."""
    async with AsyncClient(url, token="souffleur_x\n") as client:
        assert "header" not in (await client.recall(user_id="ann", text="tea")).error
        assert await client.is_there()
    assert "closed" in (await client.recall(user_id="ann", text="tea")).error
    assert "closed" in (await client.observe(user_id="ann", user="tea")).error
    assert not await client.is_there()
    with pytest.raises(RemoteError, match="closed"):
        await client.list(user_id="ann")
    with pytest.raises(RemoteError, match="closed"):
        await anext(client.events(user_id="ann"))


async def test_places_of_events_that_are_none(client: AsyncClient) -> None:
    """The server says so, whatever they are."""
    for wrong in ("\u00e9", "\ud83d", "nope", -1):
        with pytest.raises(RemoteError, match="is no id of an event"):
            await anext(client.events(user_id="ann", after=cast("str", wrong)))


NAMING_FILES = ("backup", "export", "import_file")
"""Methods that name a file, so they are for the owner's socket alone."""
HERE_ONLY = {"open", "restore", "start", "close", "has_model", "error"}
"""Methods that open or keep a store, and what only its own process knows at once."""


async def test_every_method_has_its_route(memory: Souffleur) -> None:
    """Each public method is a call of both clients, with the same arguments, and a route."""
    names = CALLS.keys() - {"extract"}
    public = {name for name in vars(Souffleur) if not name.startswith("_")}
    assert names == public - HERE_ONLY
    paths = make_app(memory).openapi()["paths"]
    for name, call in CALLS.items():
        if name not in NAMING_FILES:
            assert call.verb.lower() in paths[call.path], name
    for name in names:
        wanted = list(inspect.signature(getattr(Souffleur, name)).parameters)
        for kind in (Client, AsyncClient):
            assert list(inspect.signature(getattr(kind, name)).parameters) == wanted
