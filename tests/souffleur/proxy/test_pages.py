"""Web pages and containers at the proxy: who may call it, and what a browser asks first."""

from collections.abc import AsyncIterator
from typing import Any

import httpx2
import pytest
import pytest_asyncio
from pydantic import SecretStr

from souffleur.proxy.app import make_proxy
from souffleur.settings import change_settings
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
    """Return what a proxy with these settings answers."""
    chosen = change_settings(scene.memory.settings, **settings)
    proxy, body = make_proxy(scene.memory, chosen), ASKED if verb == "POST" else None
    transport = httpx2.ASGITransport(proxy)
    async with httpx2.AsyncClient(transport=transport, base_url="http://localhost/v1") as http:
        answer = await http.request(verb, "/chat/completions", json=body, headers=headers)
    await proxy.close()
    return answer


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
        ({"Origin": "http://localhost:3000"}, 200),
        ({"Origin": "null"}, 403),
    ],
)
async def test_without_a_token(scene: Scene, headers: dict[str, str], status: int) -> None:
    """This machine may call, by its names in containers too, and the pages that are allowed."""
    answer = await asked(scene, headers, cors_origins=f"{OURS}, http://two.example")
    assert answer.status_code == status


@pytest.mark.parametrize("token", [None, "secret"])
async def test_a_browser_asks_first(scene: Scene, token: str | None) -> None:
    """It has no key then: it is told which pages may call, and the upstream is not asked."""
    before = len(scene.endpoint.sent)
    settings = {"cors_origins": OURS, "proxy_token": token and SecretStr(token)}
    answer = await asked(scene, {"Origin": OURS, **PREFLIGHT}, "OPTIONS", **settings)
    assert answer.status_code == 200
    assert answer.headers["access-control-allow-origin"] == OURS
    assert "x-souffleur-user" in answer.headers["access-control-allow-headers"]
    other = await asked(scene, {"Origin": EVIL, **PREFLIGHT}, "OPTIONS", **settings)
    assert other.status_code == 400
    assert "access-control-allow-origin" not in other.headers
    assert len(scene.endpoint.sent) == before


async def test_pages_can_read_replies_and_refusals(scene: Scene) -> None:
    """Both name the page that may read them; without the setting, none is named."""
    settings: dict[str, Any] = {"proxy_token": SecretStr("secret")}
    for key, status in (({"X-Souffleur-Token": "secret"}, 200), ({}, 401)):
        answer = await asked(scene, {"Origin": OURS, **key}, cors_origins=OURS, **settings)
        assert answer.status_code == status
        assert answer.headers.get_list("access-control-allow-origin") == [OURS]
        plain = await asked(scene, {"Origin": OURS, **key}, **settings)
        assert "access-control-allow-origin" not in plain.headers
