"""Every method by every door, with a token of every kind: who may call it is said in one table."""

import re
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import pytest
import pytest_asyncio
from fastapi import FastAPI
from fastapi.routing import APIRoute, RouteContext, iter_route_contexts
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from souffleur.api import Souffleur
from souffleur.integrations.mcp import make_server
from souffleur.integrations.mcp.server import TOOLS
from souffleur.integrations.mem0.routes import INSTEAD
from souffleur.server import owner_routes
from souffleur.server.app import make_app, make_whole_app
from souffleur.server.guard import OPEN_PATHS
from souffleur.server.table import METHODS
from souffleur.server.tokens import Role, TokenFile
from souffleur.settings import ServeSettings, Settings
from tests.build import NOW
from tests.scripted import SKIP, Scripted
from tests.souffleur.server.test_isolation import body_of, taken

pytestmark = pytest.mark.asyncio(loop_scope="module")
HOLDERS = {
    "ann": (Role.USER, "ann"),
    "ben": (Role.USER, "ben"),
    "luna": (Role.PERSONA, "luna"),
    "mo": (Role.PERSONA, "mo"),
    "nox": (Role.PERSONA, "nox"),
    "admin": (Role.ADMIN, ""),
}
"""Who has a token; Luna is introduced and knows her own, Mo knows all, Nox is not introduced."""
NOBODY = ("", "stranger")
"""Nobody has a token, or one that was never made."""
FILES = {"/", "/me", "/page/{name:path}"}
UNNAMED = FILES | set(INSTEAD) | {"/openapi.json", "/v1", "/mcp"}
"""Routes that are no method: files, what is not there, and the doors with methods of their own."""
ONLY_ASKED = {"import_export"}
"""Methods that are no route: an import asks for it when the file is an export."""
REFUSED = re.compile(r"this needs a token|this token is for|a token of a persona")
SAID = {"model": "m", "messages": [{"role": "user", "content": "hi"}], "user": "ann"}


def may(method: str, name: str) -> bool:
    """Return whether somebody may call a method about Ann: the table, but of users Ann alone."""
    role, who = HOLDERS[name]
    return role in METHODS[method] and (role is not Role.USER or who == "ann")


class Scene:
    """A store of Ann's, all that `souffleur serve` serves of it, and the tokens of everybody."""

    def __init__(self, memory: Souffleur, tokens: TokenFile) -> None:
        self.memory, self.tokens = memory, tokens
        self.secrets = {name: tokens.make(*who, now=NOW) for name, who in HOLDERS.items()}
        self.secrets["stranger"] = "souffleur_" + "x" * 43
        self._made = tokens.file.read_bytes()
        self.app = self.make()

    def make(self) -> FastAPI:
        """Return what `souffleur serve` serves; its streams end with what there is."""
        app = make_whole_app(self.memory, self.memory.settings, tokens=self.tokens)
        app.state.stopping.set()
        return app

    @asynccontextmanager
    async def as_(self, name: str, app: FastAPI | None = None) -> AsyncIterator[httpx2.AsyncClient]:
        """Yield a client with the token of somebody."""
        headers = {"Authorization": f"Bearer {self.secrets[name]}"} if name else {}
        transport = httpx2.ASGITransport(app or self.app)
        async with httpx2.AsyncClient(
            transport=transport, base_url="http://localhost", headers=headers
        ) as http:
            yield http

    def give_tokens_back(self) -> None:
        """Make the tokens valid again that went when their user was erased."""
        self.tokens.file.write_bytes(self._made)

    async def tell(self, what: str) -> tuple[str, str]:
        """Have something be known of Ann; return the ids of the memory and of the change."""
        await self.memory.set_preferences(user_id="ann", memory=True)
        (entry,) = await self.memory.remember(what, user_id="ann")
        return entry.changes[0].after.id, entry.id

    async def hers(self) -> list[str]:
        """The active memories of Ann."""
        return [one.content for one in await self.memory.list(user_id="ann")]


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def scene(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Scene]:
    folder = tmp_path_factory.mktemp("access")
    chosen = Settings(
        path=folder / "store",
        embedder="hash:64",
        serve=ServeSettings(rate_limit=0, upstream_url="http://[::1]:9/v1"),
    )
    tokens = TokenFile(folder / "tokens.json")
    chat = Scripted(lambda _: SKIP)
    async with Souffleur.open(chosen, chat=chat, clock=lambda: NOW) as memory:
        await memory.introduce_persona(agent_id="luna", knows="own")
        await memory.introduce_persona(agent_id="mo", knows="all")
        yield Scene(memory, tokens)


def routes(app: FastAPI) -> Iterator[RouteContext]:
    """Yield each method that an app has as a route."""
    for found in iter_route_contexts(app.routes):
        if isinstance(found.original_route, APIRoute):
            yield found


async def calls(
    scene: Scene, app: FastAPI, name: str
) -> list[tuple[str, str, str, dict[str, Any]]]:
    """Return method, verb, path and arguments of a call about Ann by each route."""
    memory_id, entry_id = await scene.tell(f"Ann has tea with {name or 'nobody'}.")
    ids = {"memory_id": memory_id, "entry_id": entry_id, "id": memory_id, "turn_id": memory_id}
    found = []
    for route in routes(app):
        path = str(route.path_format)
        names = {**ids, "name": "ann" if "entities" in path else "decay", "entity_type": "user"}
        for verb in sorted((route.methods or set()) - {"HEAD"}):
            who = {"user_id": "ann", "turn_id": memory_id, "after": "0"}
            sent = {"params": taken(app, verb, path, who), "json": body_of(app, verb, path)}
            found.append((str(route.name), verb, path.format(**names), sent))
    return found


async def test_every_door_names_methods_of_the_table(scene: Scene) -> None:
    """A new route or tool fails here until the table says who may call it; it has no other row."""
    by_socket = make_app(scene.memory, routers=[owner_routes.router])
    named = {one.name for app in (scene.app, by_socket) for one in routes(app)}
    of_tools = {about.method for about in TOOLS.values()}
    assert named | of_tools | ONLY_ASKED == METHODS.keys()
    every = {str(one.path) for one in iter_route_contexts(scene.app.routes)}
    assert every - {str(one.path) for one in routes(scene.app)} == UNNAMED
    server = make_server(scene.memory, user_id="ann")
    assert {one.name for one in await server.list_tools()} == TOOLS.keys()
    nothing_else = (server.list_resources, server.list_resource_templates, server.list_prompts)
    assert [await others() for others in nothing_else] == [[], [], []]


@pytest.mark.parametrize("name", [*HOLDERS, *NOBODY])
async def test_who_may_by_a_route(scene: Scene, name: str) -> None:
    """By HTTP the table decides; mem0's routes take no persona, as they know of none."""
    is_persona = HOLDERS.get(name, ("",))[0] is Role.PERSONA
    async with scene.as_(name) as http:
        for method, verb, path, sent in await calls(scene, scene.app, name):
            answer = await http.request(verb, path, **sent)
            told = (method, verb, path, answer.text)
            if method == "erase_user":
                scene.give_tokens_back()
            if path in OPEN_PATHS:
                assert answer.status_code == 200, told
            elif name in NOBODY:
                assert answer.status_code == 401, told
                assert answer.headers["www-authenticate"] == "Bearer"
            else:
                takes = path.startswith(("/api/", "/metrics")) or not is_persona
                assert (answer.status_code == 403) is not (takes and may(method, name)), told
                assert answer.status_code != 401, told


async def test_who_may_by_the_socket(scene: Scene) -> None:
    """The owner of the store may call every method there is."""
    app = make_app(scene.memory, routers=[owner_routes.router])
    app.state.stopping.set()
    transport = httpx2.ASGITransport(app)
    async with httpx2.AsyncClient(transport=transport, base_url="http://souffleur") as http:
        for method, verb, path, sent in await calls(scene, app, "the owner"):
            answer = await http.request(verb, path, **sent)
            assert answer.status_code not in (401, 403), (method, verb, path, answer.text)


@pytest.mark.parametrize("name", HOLDERS)
async def test_who_may_by_a_tool(scene: Scene, name: str) -> None:
    """A tool is refused like the route of its method, and what is refused changes nothing."""
    memory_id, change_id = await scene.tell(f"Ann pours tea for {name}.")
    given: dict[str, Any] = {"memory_id": memory_id, "change_id": change_id, "query": "tea"}
    given |= {"text": f"Ann sips milk with {name}.", "question": "What about tea?"}
    before, app = await scene.hers(), scene.make()
    async with app.router.lifespan_context(app), scene.as_(name, app) as http:
        transport = streamable_http_client("http://localhost/mcp", http_client=http)
        async with Client(transport) as client:
            for tool in (await client.list_tools()).tools:
                wanted = {one: given[one] for one in tool.input_schema.get("required", ())}
                done = await client.call_tool(tool.name, {"user_id": "ann", **wanted})
                refused = bool(done.is_error and REFUSED.search(str(done.content)))
                told = (tool.name, done.content)
                assert refused is not may(TOOLS[tool.name].method, name), told
    if name not in ("ann", "admin"):
        assert set(before) <= set(await scene.hers())


@pytest.mark.parametrize("name", HOLDERS)
async def test_who_may_by_the_proxy(scene: Scene, name: str) -> None:
    """To speak through the proxy is to observe."""
    async with scene.as_(name) as http:
        answer = await http.post("/v1/chat/completions", json=SAID)
    assert answer.status_code == (502 if may("observe", name) else 403), answer.text
