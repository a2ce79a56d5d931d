"""Connections: proxies and certificates of the environment, and what is wrong with them."""

import asyncio
import ssl
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest

from souffleur.agents.model.chat import Message, Request
from souffleur.agents.model.endpoint import Endpoint
from souffleur.client import Client
from souffleur.errors import SettingsError
from souffleur.knowledge.network.connections import connection, trusted
from souffleur.knowledge.search.embedding_models import openai_embeddings
from souffleur.knowledge.store.engine.server import connect
from souffleur.proxy.wire import Upstream
from tests.stub import Stub, say, send

Start = Callable[..., Stub]

NAMES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy", "ssl_cert_file", "ssl_cert_dir")
ASKED = Request((Message("user", "?"),), "x")
AWAY = "https://a.example/v1"


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Names no proxies and no certificates until a test does."""
    for name in NAMES:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    trusted.cache_clear()
    return monkeypatch


DOORS: dict[str, Callable[[str], object]] = {
    "model": lambda url: Endpoint(base_url=url, model="m"),
    "embedder": lambda url: openai_embeddings("m", url, "k", 5.0),
    "upstream": Upstream,
    "client": Client,
    "qdrant": lambda url: connect(url, None, 5),
}
WRONG = {
    "socks://127.0.0.1:7891/": "write socks5://",
    "socks4://127.0.0.1:7891": "write socks5://",
    "socks5://me:secret@127.0.0.1:7891": "pip install socksio",
    "http://:3128": "no address of a proxy",
    "ftp://a.example": "no address of a proxy",
}


@pytest.mark.parametrize("door", DOORS.values(), ids=DOORS.keys())
@pytest.mark.parametrize(("proxy", "words"), WRONG.items())
@pytest.mark.parametrize("variable", ["ALL_PROXY", "https_proxy"])
def test_a_proxy_that_cannot_be_used_is_named(
    environment: pytest.MonkeyPatch,
    door: Callable[[str], object],
    variable: str,
    proxy: str,
    words: str,
) -> None:
    """The error names the variable and what to do, without a password, and only on its way."""
    environment.setenv(variable, proxy)
    with pytest.raises(SettingsError, match=f"{variable} is .*{words}.*a.example in NO_PROXY") as e:
        door(AWAY)
    assert "secret" not in str(e.value)
    door("http://127.0.0.1:8321/v1")
    environment.setenv("NO_PROXY", "b.example, a.example")
    door(AWAY)


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "127.8.8.8", "[::1]", "me.localhost"])
def test_this_machine_is_reached_directly(environment: pytest.MonkeyPatch, host: str) -> None:
    """No variable sends what is on the loopback through a proxy; what is elsewhere goes there."""
    environment.setenv("http_proxy", "127.0.0.1:9")
    assert connection(f"http://{host}:11434/v1")["proxy"] is None
    assert connection("http://a.example/v1")["proxy"] == "http://127.0.0.1:9"


async def test_a_model_on_this_machine_answers(
    stub: Start, environment: pytest.MonkeyPatch, recwarn: pytest.WarningsRecorder
) -> None:
    """Whatever the environment says of proxies and certificates, it is asked, without a word."""
    environment.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    environment.setenv("ALL_PROXY", "socks://127.0.0.1:9")
    environment.setenv("SSL_CERT_FILE", "/nowhere/cacert.pem")
    vectors = {"data": [{"index": 0, "embedding": [1.0]}], "model": "m", "usage": {}}
    server = stub(say("ok"), send({"object": "list", **vectors}))
    with warnings.catch_warnings(action="error", category=UserWarning):
        model = Endpoint(base_url=server.base_url, model="m")
    assert (await model(ASKED)).text == "ok"
    embeddings = openai_embeddings("m", server.base_url, None, 5.0)
    assert await embeddings.aembed_query("?") == [1.0]
    assert await asyncio.to_thread(Client(server.base_url, timeout=2.0).is_there) is False
    assert not recwarn.list


async def test_a_proxy_is_used_for_what_is_elsewhere(
    stub: Start, environment: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A model behind an HTTP proxy is asked through it, and nobody warns of it."""
    server = stub(say("ok"))
    environment.setenv("HTTP_PROXY", server.base_url.removesuffix("/v1"))
    assert (await Endpoint(base_url="http://a.example/v1", model="m")(ASKED)).text == "ok"
    assert server.paths == ["http://a.example/v1/chat/completions"]
    assert "socket_options" not in caplog.text


@pytest.mark.parametrize("exempt", ["a.example", ".example", "*", "10.0.0.0/8", "x,10.1.2.3"])
def test_what_is_exempt_is_reached_directly(environment: pytest.MonkeyPatch, exempt: str) -> None:
    """NO_PROXY names hosts, domains, networks or all."""
    environment.setenv("ALL_PROXY", "http://127.0.0.1:9")
    environment.setenv("NO_PROXY", exempt)
    hosts = ("a.example", "10.1.2.3")
    ways = [connection(f"http://{host}/v1")["proxy"] for host in hosts]
    assert None in ways


@pytest.mark.parametrize("kind", ["missing", "folder", "empty"])
@pytest.mark.parametrize("door", DOORS.values(), ids=DOORS.keys())
def test_certificates_that_cannot_be_read_are_named(
    environment: pytest.MonkeyPatch, tmp_path: Path, door: Callable[[str], object], kind: str
) -> None:
    """The error names the variable and the path, and only where certificates are needed."""
    path = tmp_path / "cacert.pem"
    if kind == "folder":
        path.mkdir()
    if kind == "empty":
        path.touch()
    environment.setenv("SSL_CERT_FILE", str(path))
    with pytest.raises(SettingsError, match=r"SSL_CERT_FILE is '.*cacert\.pem', where no"):
        door(AWAY)
    door("http://a.example/v1")


def test_a_folder_of_certificates_that_is_gone_is_named(environment: pytest.MonkeyPatch) -> None:
    """SSL_CERT_DIR is told as well; of several folders one will do."""
    environment.setenv("SSL_CERT_DIR", "/nowhere:/nowhere/else")
    with pytest.raises(SettingsError, match="SSL_CERT_DIR is '/nowhere:/nowhere/else'"):
        connection(AWAY)
    environment.setenv("SSL_CERT_DIR", "/nowhere:/tmp")
    assert isinstance(connection(AWAY)["verify"], ssl.SSLContext)


@pytest.mark.parametrize(
    "end",
    ["/chat/completions", "/chat/completions/", "/completions", "/responses", "/embeddings", "/"],
)
async def test_the_address_of_a_method_will_do(stub: Start, end: str) -> None:
    """Who pastes the URL of an example request reaches what stands behind it."""
    vectors = {"data": [{"index": 0, "embedding": [1.0]}], "model": "m", "usage": {}}
    server = stub(say("ok"), send({"object": "list", **vectors}))
    assert (await Endpoint(base_url=server.base_url + end, model="m")(ASKED)).text == "ok"
    assert await openai_embeddings("m", server.base_url + end, None, 5.0).aembed_query("?") == [1.0]
    assert server.paths == ["/v1/chat/completions", "/v1/embeddings"]
    assert Upstream(server.base_url + end).address == server.base_url
