"""Export and import over HTTP."""

from collections.abc import AsyncIterator
from io import BytesIO
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile

import httpx2
import pytest
import pytest_asyncio

from souffleur.api import Souffleur
from souffleur.integrations.importers.files import temporary_file
from souffleur.server.tokens import Role, TokenFile
from souffleur.settings import Settings
from tests.build import NOW
from tests.served import served
from tests.shared import until

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def url(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[str]:
    """The address of a store of two users, with a token of ann and one of an admin."""
    folder = tmp_path_factory.mktemp("store")
    chosen = Settings(path=folder / "store", embedder="hash:64", max_import=LIMIT)
    async with Souffleur.open(chosen, clock=lambda: NOW) as memory:
        await memory.remember("Ann likes green tea.", user_id="ann")
        await memory.remember("Ben sails.", user_id="ben")
        left = folder / "store" / "passing" / "left" / "import"
        left.parent.mkdir(parents=True)
        left.write_text("of an import that was killed")
        tokens = TokenFile(folder / "tokens.json")
        made = tokens.make(Role.USER, "ann", now=NOW), tokens.make(Role.ADMIN, now=NOW)
        SECRETS.update(zip(("ann", "admin"), made, strict=True))
        async with served(memory, tokens=folder / "tokens.json", max_import=LIMIT) as at:
            STORES.append(folder / "store")
            yield at


STORES: list[Path] = []
LIMIT = 4096
SECRETS: dict[str, str] = {}


def calling(url: str, who: str) -> httpx2.AsyncClient:
    """Return a client with the token of somebody."""
    headers = {"Authorization": f"Bearer {SECRETS[who]}"}
    return httpx2.AsyncClient(base_url=url, headers=headers)


async def test_an_export(url: str) -> None:
    """A user has what is theirs, an admin one user's or everything; nobody known is a 404."""
    async with calling(url, "ann") as http:
        own = await http.get("/api/export")
        assert own.headers["content-type"] == "application/x-ndjson"
        assert "green tea" in own.text
        assert "sails" not in own.text
        assert (await http.get("/api/export?user_id=ben")).status_code == 403
    async with calling(url, "admin") as http:
        whole = await http.get("/api/export")
        assert "green tea" in whole.text
        assert "sails" in whole.text
        assert (await http.get("/api/export?user_id=ann")).text.splitlines()[1:-1] == (
            own.text.splitlines()[1:-1]
        )
        nobody = await http.get("/api/export?user_id=zoe")
        assert (nobody.status_code, nobody.json()["error"]["type"]) == (404, "NotFoundError")


async def test_an_import(url: str, tmp_path: Path) -> None:
    """An admin may import an export, of one user if named; a dry run writes nothing."""
    other = Settings(path=tmp_path, embedder="hash:64")
    async with Souffleur.open(other, clock=lambda: NOW) as memory:
        await memory.remember("Zoe skis.", user_id="zoe")
        await memory.export(tmp_path / "zoe.jsonl")
    body = (tmp_path / "zoe.jsonl").read_bytes()
    async with calling(url, "ann") as http:
        refused = await http.post("/api/import", content=body)
        assert refused.status_code == 403
        assert "a token of an admin" in refused.text
    async with calling(url, "admin") as http:
        wrong = await http.post("/api/import?user_id=ann", content=body)
        assert (wrong.status_code, wrong.json()["error"]["type"]) == (422, "FileError")
        tried = (await http.post("/api/import?dry_run=true", content=body)).json()
        assert (await http.get("/api/export?user_id=zoe")).status_code == 404
        done = (await http.post("/api/import?source=souffleur", content=body)).json()
        assert tried == {**done, "dry_run": True}
        assert done["new"] == {"entry": 1, "memory": 1}
        assert "Zoe skis." in (await http.get("/api/export?user_id=zoe")).text


async def test_mem0_s_memories_for_oneself(url: str) -> None:
    """A user takes their own, nothing of another's, and nothing for another."""
    told = [("ann", "Ann paints."), ("ben", "Ben paints."), (None, "I paint at night.")]
    body = [{"id": text, "memory": text, "user_id": whose} for whose, text in told]
    async with calling(url, "ann") as http:
        assert (await http.post("/api/import?user_id=ben", json=body)).status_code == 403
        done = (await http.post("/api/import", json=body)).json()
        assert (done["source"], done["new"]) == ("mem0", {"memory": 2})
        assert done["skipped"] == {"memory: of another user": 1}
    async with calling(url, "admin") as http:
        assert "paint" not in (await http.get("/api/export?user_id=ben")).text


async def test_chats_of_oneself(url: str) -> None:
    """A user takes their own chats, as held with a persona; once, and at their times."""
    body = [{"role": "user", "content": "I skate.", "at": "2024-01-03T10:00:00Z"}]
    async with calling(url, "ann") as http:
        tried = (await http.post("/api/import?dry_run=true&agent_id=luna", json=body)).json()
        done = (await http.post("/api/import?agent_id=luna", json=body)).json()
        assert tried == {**done, "dry_run": True}
        assert (done["source"], done["new"], done["calls"]) == ("messages", {"turn": 1}, 1)
        again = (await http.post("/api/import?agent_id=luna", json=body)).json()
        assert (again["new"], again["known"]) == ({}, {"turn": 1})
        own = (await http.get("/api/export")).text
        (turn,) = [one for one in own.splitlines() if "I skate." in one]
        assert '"agent_id":"luna"' in turn
        assert "2024-01-03T10:00:00" in turn
    async with calling(url, "admin") as http:
        nobody = await http.post("/api/import", json=body)
        assert (nobody.status_code, "say whose chats" in nobody.text) == (422, True)


async def test_what_cannot_be_read_is_named(url: str) -> None:
    """A bad part costs nothing else, and no file of the server is named."""
    body = [{"role": "user", "content": "I fence."}, {"role": "cat", "content": "Meow."}]
    async with calling(url, "ann") as http:
        done = (await http.post("/api/import", json=body)).json()
    assert done["new"] == {"turn": 1}
    assert [one.partition(" is no role")[0] for one in done["unread"]] == ["message 1: 'cat'"]


async def test_a_bomb_is_refused(url: str) -> None:
    """What is sent may not unpack to more than what may be sent."""
    packed = BytesIO()
    with ZipFile(packed, "w", ZIP_DEFLATED) as archive:
        archive.writestr("conversations.json", "[" + " " * 100_000 + "]")
    async with calling(url, "ann") as http:
        refused = await http.post("/api/import", content=packed.getvalue())
    assert refused.status_code == 422
    assert "the body holds 0.1 MB" in refused.text


async def test_what_is_sent_stays_below_the_store(url: str) -> None:
    """It is there while it is read; what a killed process left goes when the next one starts."""
    passing, seen = STORES[0] / "passing", list[str]()

    async def sent() -> AsyncIterator[bytes]:
        assert not [*passing.glob("left")]
        yield b'[{"role": "user", '
        await until(lambda: any(passing.glob("*/import")))
        with temporary_file(STORES[0], "other"):  # which leaves alone what is in use
            seen.extend(file.name for file in passing.glob("*/import"))
        yield b'"content": "I knit."}]'

    async with calling(url, "ann") as http:
        done = await http.post("/api/import", content=sent())
    assert (done.status_code, seen, [*passing.iterdir()]) == (200, ["import"], [])


async def test_what_is_no_import(url: str) -> None:
    """What is too large, or nothing known, is refused; no file of the server is named."""
    async with calling(url, "admin") as http:
        large = await http.post("/api/import", content=b"x" * 5000)
        assert large.status_code == 413
        assert "SOUFFLEUR_MAX_IMPORT" in large.text
        odd = await http.post("/api/import", content=b"x" * 2000)
        assert (odd.status_code, odd.json()["error"]["type"]) == (422, "FileError")
        assert odd.json()["error"]["message"].startswith("the body is nothing that can be imported")
