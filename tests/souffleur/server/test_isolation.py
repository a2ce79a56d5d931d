"""Every route, tried with the token of another user or persona: nothing of Ann comes out."""

import re
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
import pytest_asyncio
from fastapi import FastAPI
from fastapi.routing import APIRoute, RouteContext, iter_route_contexts

from souffleur.api import Souffleur
from souffleur.knowledge.memory import Memory
from souffleur.server.app import make_app
from souffleur.server.guard import OPEN_PATHS
from souffleur.server.tokens import Role, TokenFile
from souffleur.settings import ServeSettings, Settings
from tests.build import NOW
from tests.scripted import SKIP, Scripted

pytestmark = pytest.mark.asyncio(loop_scope="module")

BODY: dict[str, Any] = {
    "text": "Ann tea",
    "query": "Ann likes green tea.",
    "content": "Ann likes beer.",
    "user": "Ann likes beer.",
    "messages": [{"role": "user", "content": "Ann likes beer."}],
    "what": ["Ann likes beer."],
    "topic": "tea",
    "ids": ["his-1"],
    "title": "Nobody",
    "workflow": ["run"],
    "name": "Nobody",
    "reason": "mine",
    "session_id": "s1",
    "turn_id": "his-1",
    "memory": False,
}
"""A value for each field that a body may need."""
ONLY_HERS = re.compile("green tea|fears dogs|Annie|hers-1")
"""What is known of Ann."""


class Scene:
    """A store of Ann's, its app, and the tokens of others."""

    def __init__(self, memory: Souffleur, folder: Path) -> None:
        self.memory = memory
        self.tokens = TokenFile(folder / "tokens.json")
        self.app = make_app(memory, memory.settings, tokens=self.tokens)
        self.app.state.stopping.set()  # a stream of events ends with what there is
        self.secrets = {
            name: self.tokens.make(role, who, now=NOW)
            for name, role, who in (
                ("ann", Role.USER, "ann"),
                ("ben", Role.USER, "ben"),
                ("luna", Role.PERSONA, "luna"),
                ("nox", Role.PERSONA, "nox"),
                ("admin", Role.ADMIN, ""),
            )
        }

    async def hers(self) -> list[Any]:
        """Everything there is of Ann."""
        kept = await self.memory.list(user_id="ann", state=None)
        changes = await self.memory.knowledge.journal.entries("ann")
        turns = await self.memory.knowledge.journal.turns(user_id="ann")
        cast = await self.memory.cast()
        chosen = await self.memory.preferences(user_id="ann")
        return [kept, changes, turns, cast.introduced.people["ann"], chosen]

    async def ask(self, name: str, verb: str, path: str, **fields: Any) -> httpx2.Response:
        """Send a request with the token of somebody."""
        headers = {"Authorization": f"Bearer {self.secrets[name]}"} if name else {}
        transport = httpx2.ASGITransport(self.app)
        async with httpx2.AsyncClient(transport=transport, base_url="http://localhost") as http:
            return await http.request(verb, path, headers=headers, **fields)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def scene(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Scene]:
    """A store in which Ann told two things, one of them to a persona that knows only its own."""
    chosen = Settings(
        path=tmp_path_factory.mktemp("store"), embedder="hash:64", serve=ServeSettings(rate_limit=0)
    )
    chat = Scripted(lambda _: SKIP)
    async with Souffleur.open(chosen, chat=chat, clock=lambda: NOW) as memory:
        memory.observe(user_id="ann", session_id="s1", turn_id="hers-1", user="I like green tea.")
        await memory.introduce(user_id="ann", title="Annie")
        await memory.introduce_persona(agent_id="luna", knows="own")
        await memory.remember("Ann likes green tea.", user_id="ann")
        await memory.remember("Ann fears dogs.", user_id="ann", agent_id="luna")
        await memory.flush()
        yield Scene(memory, tmp_path_factory.mktemp("tokens"))


def routes(app: FastAPI) -> Iterator[RouteContext]:
    """Yield each route of ours that an app has."""
    for found in iter_route_contexts(app.routes):
        if isinstance(found.original_route, APIRoute) and found.path not in OPEN_PATHS:
            yield found


def body_of(app: FastAPI, verb: str, path: str) -> dict[str, Any] | None:
    """Return a body that the route takes, of what it needs."""
    api = app.openapi()
    told = api["paths"][path][verb.lower()].get("requestBody")
    if told is None or "application/json" not in told["content"]:
        return None
    schema = told["content"]["application/json"]["schema"]
    schema = next((one for one in schema.get("anyOf", [schema]) if "$ref" in one), schema)
    named = api["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    return {name: BODY[name] for name in named["properties"] if name in BODY}


def taken(app: FastAPI, verb: str, path: str, named: dict[str, str]) -> dict[str, str]:
    """Return those of the parameters that a route takes in its address."""
    told = app.openapi()["paths"][path][verb.lower()].get("parameters", [])
    names = {one["name"] for one in told if one["in"] == "query"}
    return {name: value for name, value in named.items() if name in names}


async def attempts(scene: Scene) -> list[tuple[str, str, str, dict[str, Any] | None]]:
    """Return verb, path and body of each route, with the ids of Ann's records in its path."""
    every: list[Memory] = await scene.memory.list(user_id="ann")
    (entry, *_) = await scene.memory.history(every[0].id, user_id="ann")
    ids = {"memory_id": every[0].id, "entry_id": entry.id, "id": every[0].id, "name": "decay"}
    ids["entity_type"] = "user"
    ids["turn_id"] = (await scene.memory.knowledge.journal.turns(user_id="ann"))[0].id
    found = []
    for route in routes(scene.app):
        path = str(route.path_format)
        for verb in sorted(route.methods or ()):
            found.append((verb, path, path.format(**ids), body_of(scene.app, verb, path)))
    return found


async def test_another_user_s_token_names_ann(scene: Scene) -> None:
    """Each route refuses it, and nothing of hers is read or written."""
    before = await scene.hers()
    for verb, told, path, body in await attempts(scene):
        who = {"user_id": "ann", "agent_id": "luna", "turn_id": "hers-1", "after": "0"}
        asked = taken(scene.app, verb, told, who)
        answer = await scene.ask("ben", verb, path, params=asked, json=body)
        assert answer.status_code == 403, (verb, told, answer.text)
        assert not ONLY_HERS.search(answer.text), (verb, told)
    assert await scene.hers() == before


async def test_another_user_s_token_with_ids_of_ann(scene: Scene) -> None:
    """For himself, with the ids of her records: nothing of hers is read, counted or written."""
    before = await scene.hers()
    for verb, told, path, body in await attempts(scene):
        who = {"agent_id": "luna", "turn_id": "hers-1", "after": "0"}
        asked = taken(scene.app, verb, told, who)
        answer = await scene.ask("ben", verb, path, params=asked, json=body)
        assert answer.status_code < 500, (verb, told, answer.text)
        echoed = answer.text.replace("hers-1", "") if answer.status_code == 404 else answer.text
        assert not ONLY_HERS.search(echoed), (verb, told, answer.text)
        await scene.memory.flush()
    assert await scene.hers() == before


async def test_a_persona_s_token(scene: Scene) -> None:
    """It is refused what belongs to the user, and sees what that persona may know."""
    allowed = set()
    before = await scene.hers()
    for verb, told, path, body in await attempts(scene):
        who = {"user_id": "ann", "agent_id": "luna", "turn_id": "hers-1"}
        asked = taken(scene.app, verb, told, who)
        answer = await scene.ask("nox", verb, path, params=asked, json=body)
        assert answer.status_code == 403, (verb, told)
        if verb == "GET" or told.endswith(("/recall", "/search", "/ask")):
            asked = taken(scene.app, verb, told, {"user_id": "ann"})
            own = await scene.ask("luna", verb, path, params=asked, json=body)
            assert "green tea" not in own.text, (verb, told)
            allowed |= {told} if own.status_code == 200 else set()
    assert await scene.hers() == before
    talk = {"recall", "ask", "episodes", "profile", "memories", "memories/search", "preferences"}
    talk |= {"cast"}
    assert allowed == {f"/api/{name}" for name in talk}
    seen = (await scene.ask("luna", "GET", "/api/memories", params={"user_id": "ann"})).json()
    assert [one["content"] for one in seen["items"]] == ["Ann fears dogs."]


async def test_her_own_token_names_her(scene: Scene) -> None:
    """Without a user_id it is hers; an admin has to say whose, and may not leave it blank."""
    seen = (await scene.ask("ann", "GET", "/api/memories")).json()
    assert seen["total"] == 2
    nobody = await scene.ask("admin", "GET", "/api/memories")
    assert (nobody.status_code, nobody.json()["error"]["message"]) == (
        400,
        "say whose memories are meant: ?user_id=…",
    )
    blank = await scene.ask("admin", "GET", "/api/memories", params={"user_id": " "})
    assert (blank.status_code, blank.json()["error"]["type"]) == (422, "InputError")
    for name in ("luna", "nox"):
        who = {"user_id": "souffleur:personas"}
        assert (await scene.ask(name, "GET", "/api/memories", params=who)).status_code == 403
