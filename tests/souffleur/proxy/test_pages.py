"""Web pages and containers at the proxy: who may call it, and what a browser asks first."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
import pytest_asyncio

from souffleur.server.app import make_whole_app
from souffleur.server.tokens import Role, TokenFile
from souffleur.settings import change_settings
from tests.build import NOW
from tests.souffleur.proxy.endpoint import whole
from tests.souffleur.proxy.scene import Scene, open_scene

pytestmark = pytest.mark.asyncio(loop_scope="module")
OURS, EVIL = "https://ours.example", "https://evil.example"
ASKED = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
PREFLIGHT = {
    "Access-Control-Request-Method": "POST",
    "Access-Control-Request-Headers": "authorization,x-souffleur-user",
}


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def scene(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Scene]:
    async with open_scene(tmp_path_factory.mktemp("store")) as opened:
        opened.endpoint.will(whole("ok"))
        yield opened


async def asked(
    scene: Scene, headers: dict[str, str], verb: str = "POST", **settings: Any
) -> httpx2.Response:
    """Return what a server with these settings answers."""
    chosen = change_settings(scene.memory.settings, **settings)
    app = make_whole_app(scene.memory, chosen, tokens=TokenFile(chosen.tokens_file))
    body, transport = ASKED if verb == "POST" else None, httpx2.ASGITransport(app)
    async with (
        app.router.lifespan_context(app),
        httpx2.AsyncClient(transport=transport, base_url="http://localhost/v1") as http,
    ):
        return await http.request(verb, "/chat/completions", json=body, headers=headers)


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"Host": ""}, 403),
        ({"Host": ":80"}, 403),
        ({"Host": "evil.example"}, 403),
        ({"Host": "host.docker.internal:8788"}, 200),
        ({"Host": "host.containers.internal"}, 200),
        ({"Host": "host.docker.internal.evil.example"}, 403),
        ({"Origin": EVIL}, 403),
        ({"Origin": OURS}, 200),
        ({"Origin": "http://localhost:3000"}, 403),
        ({"Origin": "null"}, 403),
    ],
)
async def test_without_a_token(scene: Scene, headers: dict[str, str], status: int) -> None:
    """This machine may call, by its names in containers too, and the pages that are allowed."""
    answer = await asked(scene, headers, cors_origins=f"{OURS}, http://two.example")
    assert answer.status_code == status


@pytest.mark.parametrize("token", [False, True])
async def test_a_browser_asks_first(scene: Scene, tmp_path: Path, token: bool) -> None:
    """It has no key then: it is told which pages may call, and the upstream is not asked."""
    before, tokens = len(scene.endpoint.sent), TokenFile(tmp_path / "tokens.json")
    if token:
        tokens.make(Role.ADMIN, now=NOW)
    settings: dict[str, Any] = {"cors_origins": OURS, "tokens": tmp_path / "tokens.json"}
    answer = await asked(scene, {"Origin": OURS, **PREFLIGHT}, "OPTIONS", **settings)
    assert answer.status_code == 200
    assert answer.headers["access-control-allow-origin"] == OURS
    assert "x-souffleur-user" in answer.headers["access-control-allow-headers"]
    other = await asked(scene, {"Origin": EVIL, **PREFLIGHT}, "OPTIONS", **settings)
    assert other.status_code == 400
    assert "access-control-allow-origin" not in other.headers
    assert len(scene.endpoint.sent) == before


async def test_pages_can_read_replies_and_refusals(scene: Scene, tmp_path: Path) -> None:
    """Both name the page that may read them; without the setting, none is named."""
    secret = TokenFile(tmp_path / "tokens.json").make(Role.ADMIN, now=NOW)
    settings: dict[str, Any] = {"tokens": tmp_path / "tokens.json"}
    for key, status in (({"X-Souffleur-Token": secret}, 200), ({}, 401)):
        answer = await asked(scene, {"Origin": OURS, **key}, cors_origins=OURS, **settings)
        assert answer.status_code == status
        assert answer.headers.get_list("access-control-allow-origin") == [OURS]
        plain = await asked(scene, {"Origin": OURS, **key}, **settings)
        assert "access-control-allow-origin" not in plain.headers
