"""What is asked of every request: tokens, rate, size, where it comes from."""

import os
import stat
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx2
import pytest
import pytest_asyncio
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from souffleur.api import Souffleur
from souffleur.errors import InputError, SettingsError
from souffleur.server.app import make_app
from souffleur.server.listening import bind
from souffleur.server.serving import check_exposure
from souffleur.server.tokens import Role, TokenFile, digest_of
from souffleur.settings import Settings, change_settings
from tests.build import NOW
from tests.served import served

pytestmark = pytest.mark.asyncio(loop_scope="module")
HANDSHAKE = {
    "Connection": "Upgrade",
    "Upgrade": "websocket",
    "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
}
LIST = "/api/memories?user_id=ann"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def memory(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Souffleur]:
    """An empty store."""
    chosen = Settings(path=tmp_path_factory.mktemp("store"), embedder="hash:64")
    async with Souffleur.open(chosen, clock=lambda: NOW) as opened:
        yield opened


def calling(
    memory: Souffleur, tokens: TokenFile | None, *, at: str = "127.0.0.1", **settings: Any
) -> httpx2.AsyncClient:
    """Return a client of an app with these settings, from an address."""
    mounts = {"/mounted": Starlette(routes=[Route("/", lambda _: PlainTextResponse("in"))])}
    chosen = change_settings(memory.settings, **settings)
    app = make_app(memory, chosen, tokens=tokens, mounts=mounts)
    transport = httpx2.ASGITransport(app, client=(at, 1), raise_app_exceptions=False)
    return httpx2.AsyncClient(transport=transport, base_url="http://localhost:8321")


def names(folder: Path, part: str) -> set[str]:
    return {one.name for one in folder.iterdir() if part in one.name}


def bearer(secret: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {secret}"}


async def test_before_there_is_a_token(memory: Souffleur, tmp_path: Path) -> None:
    """This machine may call, no other one, and no web page, also not by a name that leads here."""
    tokens = TokenFile(tmp_path / "tokens.json")
    async with calling(memory, tokens) as http:
        assert (await http.get(LIST)).status_code == 200
        page = {"Origin": "https://evil.example"}
        assert (await http.get(LIST, headers=page)).status_code == 403
        own = {"Origin": "http://localhost:8321"}
        assert (await http.get(LIST, headers=own)).status_code == 200
        other = {"Origin": "http://localhost:9999"}
        assert (await http.get(LIST, headers=other)).status_code == 403
        assert (await http.get(LIST, headers={"Host": "evil.example"})).status_code == 403
        assert (await http.get(LIST, headers={"Host": "[::1"})).status_code == 403
        assert (await http.get(LIST, headers={"Host": ""})).status_code == 403
        container = {"Host": "host.docker.internal:8321"}
        assert (await http.get(LIST, headers=container)).status_code == 200
        assert (await http.get("/mounted/")).text == "in"
    async with calling(memory, tokens, at="10.0.0.7") as http:
        refused = await http.get(LIST)
        assert refused.status_code == 403
        assert "make one with `souffleur token`" in refused.json()["error"]["message"]
    async with calling(memory, tokens, cors_origins="https://ours.example") as http:
        allowed = await http.get(LIST, headers={"Origin": "https://ours.example"})
        assert allowed.status_code == 200
        assert allowed.headers["access-control-allow-origin"] == "https://ours.example"


async def test_a_token_holds_at_once_and_no_longer_when_revoked(
    memory: Souffleur, tmp_path: Path
) -> None:
    """The file is read again when it changes; without any token left, nobody gets in."""
    tokens = TokenFile(tmp_path / "tokens.json")
    async with calling(memory, tokens) as http:
        beside = TokenFile(tokens.file)
        secret = beside.make(Role.ADMIN, now=NOW)
        assert (await http.get(LIST)).status_code == 401
        assert (await http.get("/mounted/")).status_code == 401
        assert (await http.get(LIST, headers=bearer(secret))).status_code == 200
        assert (await http.get("/mounted/", headers=bearer(secret))).text == "in"
        assert (await http.get("/health")).json() == {"status": "ok"}
        assert (await http.head("/health")).status_code == 200
        assert (await http.get("/ready")).json() == {"ready": False}  # it has no model
        assert (await http.head("/ready")).status_code == 503
        (gone,) = beside.revoke(beside.tokens[0].digest[:8])
        assert gone.role is Role.ADMIN
        assert (await http.get(LIST, headers=bearer(secret))).status_code == 401
        assert (await http.get(LIST)).status_code == 401
        tokens.file.write_text("{broken")
        broken = await http.get(LIST, headers=bearer(secret))
        assert (broken.status_code, broken.json()["error"]["type"]) == (503, "SettingsError")


async def test_a_file_that_vanishes_opens_nothing(memory: Souffleur, tmp_path: Path) -> None:
    """Who had tokens at the start, or since, refuses everybody until a new token is made."""
    file = tmp_path / "tokens.json"
    secret = TokenFile(file).make(Role.ADMIN, now=NOW)
    tokens = TokenFile(file)
    for _ in range(2):  # it was there at the start, and then while requests came
        file.unlink()
        async with calling(memory, tokens) as http:
            assert (await http.get(LIST)).status_code == 401
            assert (await http.get(LIST, headers=bearer(secret))).status_code == 401
            check_exposure("0.0.0.0", tokens)
            secret = TokenFile(file).make(Role.ADMIN, now=NOW)
            assert (await http.get(LIST, headers=bearer(secret))).status_code == 200


@pytest.mark.parametrize("path", ["/api/users?user_id=una", "/v1/entities/user/una/"])
async def test_who_is_erased_has_no_token_left(
    memory: Souffleur, tmp_path: Path, path: str
) -> None:
    """All tokens of the user go, also if nothing else is left, and the receipt counts them."""
    tokens = TokenFile(tmp_path / "tokens.json")
    admin, una, _ = (
        tokens.make(role, who, now=NOW)
        for role, who in ((Role.ADMIN, ""), (Role.USER, "una"), (Role.USER, "una"))
    )
    persona = tokens.make(Role.PERSONA, "una", now=NOW)
    await memory.remember("Una likes tea.", user_id="una")
    async with calling(memory, tokens) as http:
        erased = await http.delete(path, headers=bearer(una))
        assert erased.status_code == 200
        if path.startswith("/api/"):
            assert erased.json()["counts"] == {"entry": 1, "memory": 1, "token": 2}
        assert (await http.delete(path, headers=bearer(una))).status_code == 401
        assert (await http.delete(path, headers=bearer(admin))).status_code == 404
        assert tokens.find(persona)
        tokens.make(Role.USER, "una", now=NOW)
        assert (await http.delete(path, headers=bearer(admin))).status_code == 200
        assert [one.role for one in tokens.tokens] == [Role.ADMIN, Role.PERSONA]


async def test_the_file_holds_no_token(tmp_path: Path) -> None:
    """It holds hashes, readable by the owner alone; a token of nobody is refused."""
    tokens = TokenFile(tmp_path / "deep" / "tokens.json")
    former = os.umask(0)
    try:
        secret = tokens.make(Role.USER, "ann", label="phone", now=NOW)
    finally:
        os.umask(former)
    assert stat.S_IMODE(tokens.file.stat().st_mode) == 0o600
    assert stat.S_IMODE(tokens.file.parent.stat().st_mode) == 0o700  # it may be that of the store
    text = tokens.file.read_text()
    assert secret not in text
    assert secret.removeprefix("souffleur_") not in text
    found = tokens.find(secret)
    assert found
    assert (found.role, found.who, found.label) == (Role.USER, "ann", "phone")
    assert tokens.find(secret[:-1]) is None
    assert tokens.find("\ud800") is None
    with pytest.raises(InputError, match="agent_id is blank"):
        tokens.make(Role.PERSONA, " ", now=NOW)


async def test_tokens_that_are_made_at_once(tmp_path: Path) -> None:
    """None is lost, none that is revoked meanwhile comes back, and no link is written through."""
    file, others = tmp_path / "tokens.json", tmp_path / "others"
    others.write_text("theirs")
    (tmp_path / f"tokens.json.{os.getpid()}.new").symlink_to(others)
    former = [TokenFile(file).make(Role.USER, f"former{n}", now=NOW) for n in range(8)]

    def make_and_revoke(n: int) -> str:
        made = TokenFile(file).make(Role.USER, f"u{n}", now=NOW)
        TokenFile(file).revoke(digest_of(former[n]))
        return made

    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(make_and_revoke, range(8)))
    held = TokenFile(file)
    assert {one.digest for one in held.tokens} == set(map(digest_of, made))
    assert others.read_text() == "theirs"
    left = {"tokens.json", "tokens.json.lock", f"tokens.json.{os.getpid()}.new"}
    assert names(tmp_path, "tokens.json") == left
    file.unlink()  # by hand, to revoke all of them
    held.make(Role.ADMIN, now=NOW)
    assert [one.role for one in TokenFile(file).tokens] == [Role.ADMIN]


async def test_too_many_requests(memory: Souffleur, tmp_path: Path) -> None:
    """Those of one token, or of one address without one, are refused; others go on."""
    tokens = TokenFile(tmp_path / "tokens.json")
    first, second = (tokens.make(Role.USER, "ann", now=NOW) for _ in range(2))
    async with calling(memory, tokens, rate_limit=2) as http:
        for wanted in (200, 200, 429):
            answer = await http.get(LIST, headers=bearer(first))
            assert answer.status_code == wanted
        assert 1 <= int(answer.headers["retry-after"]) <= 31
        assert answer.json()["error"]["message"].startswith("too many requests: wait")
        assert (await http.get(LIST, headers=bearer(second))).status_code == 200
        for wanted in (401, 401, 429):
            assert (await http.get(LIST, headers=bearer("guess"))).status_code == wanted


async def test_nobody_is_led_to_another_host(memory: Souffleur, tmp_path: Path) -> None:
    """A slash too many or too few is a 404, never a redirect to the host that a request names."""
    tokens = TokenFile(tmp_path / "tokens.json")
    secret = tokens.make(Role.ADMIN, now=NOW)
    async with calling(memory, tokens) as http:
        for path in ("/api/memories/", "/me/", "/v1/memories", "/mounted", "/health/"):
            for headers in (bearer(secret), bearer("guess")):
                answer = await http.get(path, headers={"Host": "evil.example", **headers})
                assert answer.status_code in (401, 404), path
                assert "location" not in answer.headers


async def test_a_handshake_of_websocket_is_refused(memory: Souffleur, tmp_path: Path) -> None:
    """With 403, by whatever path, and with or without a token: nothing here speaks it."""
    tokens = TokenFile(tmp_path / "tokens.json")
    secret = tokens.make(Role.ADMIN, now=NOW)
    async with served(memory, tokens=tokens.file) as url, httpx2.AsyncClient(base_url=url) as http:
        for path in ("/", "/api/events", "/nothing"):
            for headers in ({}, bearer(secret)):
                answer = await http.get(path, headers={**HANDSHAKE, **headers})
                assert answer.status_code == 403, path


async def test_too_large_a_body(memory: Souffleur) -> None:
    """Refused by its length, and while it streams in, before it is held."""
    async with calling(memory, None, max_body=1024) as http:

        async def stream() -> AsyncIterator[bytes]:
            for _ in range(3):
                yield b" " * 1000

        for body in (b" " * 1025, stream()):
            answer = await http.post("/api/recall?user_id=ann", content=body)
            assert answer.status_code == 413
            assert "SOUFFLEUR_MAX_BODY" in answer.json()["error"]["message"]
        for length in ("²".encode("latin-1"), b"9" * 5000, b"soon"):
            odd = {b"content-length": length, b"content-type": b"application/json"}
            answer = await http.post("/api/recall?user_id=ann", content=b"{}", headers=odd)
            assert answer.status_code == 200


@pytest.mark.parametrize(
    ("verb", "path", "status", "why"),
    [
        ("GET", "/api/nothing", 404, "there is no such route"),
        ("PUT", "/api/recall", 405, "does not take this method"),
        ("GET", "/api/memories/7?user_id=ann", 404, "there is no memory with the id '7'"),
        ("POST", f"/api/pending/{UUID(int=7)}/confirm?user_id=ann", 404, "no proposal that waits"),
        ("POST", f"/api/pending/{UUID(int=7)}/reject?user_id=ann", 404, "no proposal that waits"),
        ("GET", "/api/memories?user_id=%FF", 422, "user_id is no UTF-8"),
        ("GET", "/api/memories?user_id=ann&agent_id=%FF", 422, "agent_id is no UTF-8"),
        ("GET", "/api/memories?user_id=ann&cursor=x", 422, "this is no cursor"),
        ("GET", "/api/memories?user_id=ann&kind=x", 422, "query.kind: Input should be"),
        (
            "GET",
            "/api/memories?user_id=ann&knd=fact",
            422,
            "no parameter 'knd'; there are agent_id",
        ),
        ("DELETE", "/api/users?user_id=ann&dry_run=1", 422, "'dry_run'; there are user_id"),
        ("POST", "/api/compact?user_id=ann", 422, "this route has none"),
        ("GET", "/api/cards?user_id=ann&until=soon", 422, "query.until: 'soon' is no time: write"),
        ("GET", "/api/memories?user_id=a&since=2026-11-01T10:00+01:00", 422, "is written %2B"),
        ("POST", "/api/runs/dance", 422, "no run is called 'dance'"),
        ("POST", "/api/runs/review", 503, "no model is configured"),
        ("POST", "/api/profile?user_id=ann", 503, "no model is configured"),
        ("DELETE", "/api/users?user_id=nobody", 404, "nothing is known of 'nobody'"),
    ],
)
async def test_every_error_has_one_shape(
    memory: Souffleur, verb: str, path: str, status: int, why: str
) -> None:
    """A type and a message that says what is wrong, with the status that fits."""
    async with calling(memory, None) as http:
        answer = await http.request(verb, path)
    assert answer.status_code == status
    told = answer.json()
    assert told.keys() == {"error"}
    assert told["error"].keys() == {"type", "message"}
    assert why in told["error"]["message"]


@pytest.mark.parametrize(
    ("head", "body", "status", "why"),
    [
        ({}, b'{"content": "a"}', 422, "send one, with `Content-Type: application/json`"),
        ({"Content-Type": "application/json"}, b"[]", 422, "must be a JSON object"),
        ({"Content-Type": "application/json"}, b"", 422, "must be a JSON object"),
        ({"Content-Type": "application/json"}, b'{"content": "\xff"}', 400, "JSON, in UTF-8"),
    ],
)
async def test_a_body_that_is_no_object(
    memory: Souffleur, head: dict[str, str], body: bytes, status: int, why: str
) -> None:
    """The answer says what a body must be, and which header it needs."""
    async with calling(memory, None) as http:
        answer = await http.post("/api/memories?user_id=ann", content=body, headers=head)
    assert answer.status_code == status
    assert why in answer.json()["error"]["message"]


async def test_what_cannot_be_read_is_not_repeated(memory: Souffleur) -> None:
    """A body that is no JSON is a 400, an invalid one a 422, and neither quotes it."""
    async with calling(memory, None) as http:
        path, head = "/api/memories?user_id=ann", {"Content-Type": "application/json"}
        for body, status in ((b"{secret", 400), (b'{"content": ["secret"]}', 422)):
            answer = await http.post(path, content=body, headers=head)
            assert answer.status_code == status
            assert "secret" not in answer.text


async def test_pages(memory: Souffleur) -> None:
    """Each memory is on one page, from either end, also if one is forgotten in between."""
    for count in range(7):
        await memory.remember(f"Pia has {count} cups.", user_id="pia")
    every = [one.id for one in await memory.list(user_id="pia")]
    async with calling(memory, None) as http:
        for order in ("oldest", "newest"):
            seen: list[str] = []
            asked: dict[str, Any] = {"user_id": "pia", "limit": 3, "order": order}
            while asked.get("cursor", "first"):
                page = (await http.get("/api/memories", params=asked)).json()
                seen += [one["id"] for one in page["items"]]
                asked["cursor"] = page["next"]
                assert page["total"] == 7
            assert seen == (every if order == "oldest" else every[::-1])
        late = {"user_id": "pia", "since": "2026-01-03T10:00:01Z"}
        assert (await http.get("/api/memories", params=late)).json()["total"] == 0


@pytest.mark.parametrize(
    ("since", "until", "total"),
    [
        ("2026-01-03", "2026-01-04", 1),
        ("2026-01-04", "2026-01-05", 0),
        ("2026-01-03T19:00", "2026-01-03T19:00:01", 1),
        ("2026-01-03T10:00", "2026-01-03T10:00:01", 0),
        ("2026-01-03T10:00:00Z", "1767434401", 1),
        ("0001-01-01", "9999-12-31T23:59:59", 1),
    ],
)
async def test_times_without_a_zone(memory: Souffleur, since: str, until: str, total: int) -> None:
    """A day is its midnight where the user lives; times far away are no error."""
    await memory.introduce(user_id="kyo", timezone="Asia/Tokyo")  # nine hours before UTC
    await memory.remember("Kyo has a cup.", user_id="kyo")
    asked = {"user_id": "kyo", "since": since, "until": until}
    async with calling(memory, None) as http:
        for path in ("/api/memories", "/api/cards"):
            assert (await http.get(path, params=asked)).json()["total"] == total


async def test_mem0_takes_parameters_that_it_does_not_know(memory: Souffleur) -> None:
    """Its clients send more than is understood here, so does what asks whether a server lives."""
    async with calling(memory, None) as http:
        for path in (
            "/v1/memories/?user_id=ann&org_id=o",
            "/memories?user_id=ann&x=1",
            "/health?x",
        ):
            assert (await http.get(path)).status_code == 200


async def test_beyond_this_machine_only_with_a_token(tmp_path: Path) -> None:
    """Listening there is refused, with what to do; an address that is in use is told, too."""
    tokens = TokenFile(tmp_path / "tokens.json")
    check_exposure("127.0.0.1", tokens)
    with pytest.raises(SettingsError, match="make one with `souffleur token --admin`"):
        check_exposure("0.0.0.0", tokens)
    tokens.make(Role.ADMIN, now=NOW)
    check_exposure("0.0.0.0", tokens)
    with bind("127.0.0.1", 0) as taken, pytest.raises(SettingsError, match="cannot listen at"):
        bind("127.0.0.1", taken.getsockname()[1])
