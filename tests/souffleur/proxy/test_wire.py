"""The proxy on the wire: the bytes on both sides of it, and what it answers itself."""

import asyncio
import gzip
import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from langchain_core.embeddings import Embeddings

from souffleur.errors import StoreError
from souffleur.knowledge.search.embedder import make_embedder
from souffleur.server.tokens import Role, TokenFile
from souffleur.settings import change_settings
from tests.build import NOW
from tests.souffleur.proxy.endpoint import Answer, refusal, streamed, whole
from tests.souffleur.proxy.scene import TEA, Scene, open_scene, serving

pytestmark = pytest.mark.asyncio(loop_scope="module")
ODD = (
    b'{ "model":"m" ,\n "x": 1.50e1,'
    b' "messages" : [ {"role":"user","content":"tea\\u00e9\\ud83c"} ]}'
)
"""A request with white space, a number and half a character that no writer of JSON would repeat."""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def scene(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Scene]:
    folder = tmp_path_factory.mktemp("store")
    async with open_scene(folder, proxy_user=None, recall_timeout=30.0) as opened:
        yield opened


async def talk(url: str, raw: bytes) -> bytes:
    """What comes back for these bytes, until the proxy closes the connection."""
    port = int(url.split(":")[2].split("/")[0])
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(raw)
    answered = await reader.read()
    writer.close()
    await writer.wait_closed()
    return answered


def request(body: bytes, path: str = "/v1/chat/completions", **headers: str) -> bytes:
    """A request; underscores in a header's name are hyphens."""
    usual = {"Host": "localhost", "Connection": "close", "Content-Length": str(len(body))}
    named = usual | {name.replace("_", "-"): value for name, value in headers.items()}
    lines = (f"POST {path} HTTP/1.1", *(f"{name}: {value}" for name, value in named.items()), "")
    return "".join(f"{line}\r\n" for line in lines).encode() + body


def status_of(answered: bytes) -> int:
    return int(answered.split(b" ", 2)[1])


def body_of(answered: bytes) -> bytes:
    """The body, out of its chunks."""
    head, _, rest = answered.partition(b"\r\n\r\n")
    if b"transfer-encoding: chunked" not in head.lower():
        return rest
    body = b""
    while rest:
        size, _, rest = rest.partition(b"\r\n")
        body, rest = body + rest[: int(size, 16)], rest[int(size, 16) + 2 :]
    return body


async def test_request_differs_by_the_whisper_only(scene: Scene) -> None:
    """Every byte of an oddly written request reaches the endpoint, with one insertion."""
    await scene.know("ann")
    scene.endpoint.will(whole("ok"))
    await talk(scene.url, request(ODD, X_Souffleur_User="ann"))
    got = scene.endpoint.last.raw
    place = ODD.index(b"[") + 1
    assert got.startswith(ODD[:place])
    assert got.endswith(ODD[place:])
    assert TEA.encode() in got[place : len(got) - len(ODD[place:])]


async def test_stream_comes_byte_for_byte(scene: Scene) -> None:
    """Comments, odd spacing and what follows the end of a stream come as they were sent."""
    odd: tuple[bytes, ...] = (
        b": ping\n\n",
        b'data:{"choices":[{"delta":{"content":"h\xc3',
        b'\xa9"}}]}\r\n\r\n',
    )
    odd += (b"event: x\ndata: [DONE]\n\n", b": bye\n\n")
    kind = (("content-type", "text/event-stream"), ("x-request-id", "r1"))
    scene.endpoint.will(Answer(odd, headers=kind, chunked=True))
    answered = await talk(scene.url, request(ODD, X_Souffleur_User="bob"))
    assert body_of(answered) == b"".join(odd)
    assert b"x-request-id: r1" in answered
    assert [reply for _, reply in await scene.said("bob")] == ["hé"]


async def test_compressed(scene: Scene) -> None:
    """A reply that is compressed all the same comes as it is, and is read."""
    body = gzip.compress(whole("Hello.").parts[0])
    kind = (("content-type", "application/json"), ("content-encoding", "gzip"))
    scene.endpoint.will(Answer((body,), headers=kind))
    answered = await talk(scene.url, request(ODD, X_Souffleur_User="cid", Accept_Encoding="br"))
    assert body_of(answered) == body
    assert scene.endpoint.last.header("accept-encoding") == "identity"
    assert [reply for _, reply in await scene.said("cid")] == ["Hello."]


async def test_error_comes_byte_for_byte(scene: Scene) -> None:
    """Status, headers and body of an error are the endpoint's."""
    answer = refusal(503, x_odd="1")
    scene.endpoint.will(answer)
    answered = await talk(scene.url, request(ODD, X_Souffleur_User="ann"))
    assert status_of(answered) == 503
    assert body_of(answered) == answer.parts[0]
    assert b"x-odd: 1" in answered


@pytest.mark.parametrize("body", [b"{", b"[1]", b'{"messages": 7}', b'{"messages": [7]}', b"\xff"])
async def test_what_is_no_request_passes(scene: Scene, body: bytes) -> None:
    """What cannot be read goes to the endpoint as it is, which will say what is wrong."""
    scene.endpoint.will(refusal(400))
    answered = await talk(scene.url, request(body, X_Souffleur_User="ann"))
    assert status_of(answered) == 400
    assert scene.endpoint.last.raw == body


async def test_user_must_be_named(scene: Scene) -> None:
    """With many users, a request without one is refused, and told how to name one."""
    scene.endpoint.will(whole("ok"))
    answered = await talk(scene.url, request(ODD))
    assert status_of(answered) == 400
    assert "X-Souffleur-User" in json.loads(body_of(answered))["error"]["message"]
    assert scene.endpoint.sent == []


async def test_user_by_the_query(scene: Scene) -> None:
    """A user in the address is ours, and not passed on; the rest of the query is."""
    scene.endpoint.will(whole("ok"))
    await talk(scene.url, request(ODD, "/v1/chat/completions?user=dan&api-version=1"))
    assert scene.endpoint.last.line == "POST /v1/chat/completions?api-version=1 HTTP/1.1"
    assert len(await scene.said("dan")) == 1


async def test_upload_streams_through(scene: Scene) -> None:
    """A body of another path is passed on as it comes, whatever it is."""
    scene.endpoint.will(Answer((b"ok",)))
    body = bytes(range(256)) * 400
    answered = await talk(scene.url, request(body, "/v1/audio/transcriptions"))
    assert body_of(answered) == b"ok"
    assert scene.endpoint.last.raw == body


@pytest.mark.parametrize(
    "named", [{"Host": "evil.example"}, {"Origin": "https://evil.example"}, {"Origin": "null"}]
)
async def test_pages_from_elsewhere(scene: Scene, named: dict[str, str]) -> None:
    """A page that a browser shows cannot use a proxy without a token, by whatever name."""
    scene.endpoint.will(whole("ok"))
    assert status_of(await talk(scene.url, request(ODD, X_Souffleur_User="ann", **named))) == 403
    assert scene.endpoint.sent == []


@pytest.mark.parametrize("said", ["true", "on", "please"])
async def test_incognito(scene: Scene, said: str) -> None:
    """A request that asks for it, in whatever word, has no whisper, and leaves no trace."""
    scene.endpoint.will(whole("ok"))
    marked = request(ODD, X_Souffleur_User="ann", X_Souffleur_Incognito=said)
    before = len(await scene.said("ann"))
    await talk(scene.url, marked)
    assert scene.endpoint.last.raw == ODD
    assert len(await scene.said("ann")) == before


async def test_a_chat_that_is_not_saved(scene: Scene) -> None:
    """What is said in a temporary chat of Open WebUI leaves no trace, unless the header says so."""
    scene.endpoint.will(whole("ok"))
    named = {"X_OpenWebUI_User_Id": "tim", "X_OpenWebUI_Chat_Id": "temporary:c1"}
    await talk(scene.url, request(ODD, **named))
    assert await scene.said("tim") == []
    scene.endpoint.will(whole("ok"))
    await talk(scene.url, request(ODD, **named, X_Souffleur_Incognito="false"))
    assert len(await scene.said("tim")) == 1


async def test_many_at_once(scene: Scene) -> None:
    """Streams of several users at once are not mixed up."""
    names = [f"many{number}" for number in range(20)]

    def answer(sent: Any) -> Answer:
        return streamed("You said: ", sent.body["messages"][-1]["content"], pause=0.005)

    scene.endpoint.will(answer)
    bodies = (json.dumps({"messages": [{"role": "user", "content": name}]}) for name in names)
    raws = (
        request(body.encode(), X_Souffleur_User=name)
        for name, body in zip(names, bodies, strict=True)
    )
    await asyncio.gather(*(talk(scene.url, raw) for raw in raws))
    assert [await scene.said(name) for name in names] == [
        [(name, f"You said: {name}")] for name in names
    ]


async def test_token(scene: Scene, tmp_path: Path) -> None:
    """With a token, nothing is answered without it; it is kept back, a key beside it is not."""
    settings = change_settings(scene.memory.settings, tokens=tmp_path / "tokens.json")
    secret = TokenFile(tmp_path / "tokens.json").make(Role.ADMIN, now=NOW)
    scene.endpoint.will(whole("ok"))
    both = {"X_Souffleur_Token": secret, "Authorization": "Bearer sk-theirs"}
    async with serving(scene.memory, settings) as url:
        refused = await talk(url, request(ODD, X_Souffleur_User="ann"))
        alone = await talk(
            url, request(ODD, X_Souffleur_User="ann", Authorization=f"Bearer {secret}")
        )
        beside = await talk(url, request(ODD, X_Souffleur_User="ann", **both))
    assert [status_of(one) for one in (refused, alone, beside)] == [401, 200, 200]
    keys = [dict(sent.headers).get("authorization") for sent in scene.endpoint.sent]
    assert keys == [None, "Bearer sk-theirs"]


async def test_upstream_out_of_reach(scene: Scene) -> None:
    """If nobody answers behind the proxy, the client is told who does not."""
    settings = change_settings(scene.memory.settings, upstream_url="http://127.0.0.1:9/v1")
    async with serving(scene.memory, settings) as url:
        answered = await talk(url, request(ODD, X_Souffleur_User="ann"))
    assert status_of(answered) == 502
    assert "127.0.0.1:9" in json.loads(body_of(answered))["error"]["message"]


class Slow(Embeddings):
    """An embedder that takes half a minute for a question, and no time for what is kept."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [[1.0, float(len(text))] for text in texts]

    def embed_query(self, text: str) -> list[float]:
        return self.embed_documents([text])[0]

    async def aembed_query(self, text: str) -> list[float]:
        await asyncio.sleep(30)
        return self.embed_query(text)


async def test_recall_is_slow(tmp_path: Path) -> None:
    """A reply does not wait for a slow embedder; its turn is kept all the same."""
    patience: dict[str, Any] = {"recall_timeout": 0.2}
    patience["shutdown_timeout"] = 0.0
    async with open_scene(tmp_path, {"embedder": make_embedder(Slow())}, **patience) as slow:
        await slow.know("me")
        slow.endpoint.will(whole("ok"))
        assert status_of(await talk(slow.url, request(ODD))) == 200
        assert b"loves green tea" in slow.endpoint.last.raw  # found by words alone
        assert len(await slow.said("me")) == 1


async def test_store_is_gone(tmp_path: Path) -> None:
    """Without its store, the proxy still brings every reply."""
    scenes = AsyncExitStack()
    broken = await scenes.enter_async_context(open_scene(tmp_path))
    await broken.memory.knowledge.close()
    broken.endpoint.will(streamed("Hel", "lo"))
    answered = await talk(broken.url, request(ODD))
    assert status_of(answered) == 200
    assert body_of(answered) == b"".join(streamed("Hel", "lo").parts)
    assert broken.endpoint.last.raw == ODD
    with pytest.raises(StoreError, match="What was held in memory is lost, turns: 1"):
        await scenes.aclose()
