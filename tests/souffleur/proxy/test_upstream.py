"""The way to the upstream: which connections it takes, and as whom."""

import asyncio
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from souffleur.proxy.wire import Asked, Upstream
from tests.souffleur.proxy.endpoint import Endpoint, open_endpoint, streamed, whole

ASKED = Asked("POST", "/chat/completions", "", [(b"authorization", b"Bearer sk-client")], b"{}")
PROXIES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")


@pytest_asyncio.fixture
async def endpoint() -> AsyncIterator[Endpoint]:
    async with open_endpoint() as opened:
        opened.will(whole("ok"))
        yield opened


async def send(upstream: Upstream) -> int:
    """Send a request and read all that comes back."""
    response = await upstream.send(ASKED)
    assert [part async for part in response.aiter_raw()]
    await response.aclose()
    return response.status_code


async def test_a_connection_serves_one_request_after_another(endpoint: Endpoint) -> None:
    """Streamed or not, a reply that was read leaves its connection to the next request."""
    upstream = Upstream(endpoint.url)
    endpoint.will(whole("ok"), streamed("o", "k"), whole("ok"))
    assert [await send(upstream) for _ in range(3)] == [200] * 3
    assert len(endpoint.connections) == 1
    await upstream.close()


async def test_a_connection_that_the_upstream_has_closed_is_replaced(endpoint: Endpoint) -> None:
    """A request after a while of silence does not fail because its connection is gone."""
    upstream = Upstream(endpoint.url)
    await send(upstream)
    endpoint.connections[0].close()
    await asyncio.sleep(0.05)
    assert await send(upstream) == 200
    assert len(endpoint.connections) == 2
    await upstream.close()


async def test_a_login_in_the_address_takes_the_place_of_any_key(endpoint: Endpoint) -> None:
    """Name and password of the upstream's URL are sent as HTTP has it, and no other key is."""
    url = endpoint.url.replace("//", "//ann:p%40w@")
    for key in (None, "sk-up"):
        upstream = Upstream(url, key)
        await send(upstream)
        assert endpoint.last.header("authorization") == "Basic YW5uOnBAdw=="
        assert [name for name, _ in endpoint.last.headers].count("authorization") == 1
        await upstream.close()


@pytest.mark.parametrize(
    ("url", "line"),
    [
        ("http://model.example/v1", "POST http://model.example/v1/chat/completions HTTP/1.1"),
        (None, "POST /v1/chat/completions HTTP/1.1"),
    ],
)
async def test_an_http_proxy_of_the_environment_is_on_the_way(
    endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch, url: str | None, line: str
) -> None:
    """The upstream is reached through HTTP_PROXY, unless NO_PROXY names its host."""
    for name in PROXIES:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    monkeypatch.setenv("HTTP_PROXY", endpoint.url.removesuffix("/v1"))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    upstream = Upstream(url or endpoint.url)
    assert await send(upstream) == 200
    assert endpoint.last.line == line
    await upstream.close()
