"""The proxy within the server: a token says for whom a request speaks."""

from dataclasses import replace
from pathlib import Path

import httpx2
from pydantic import SecretStr

from souffleur.server.app import make_whole_app
from souffleur.server.tokens import Role, TokenFile
from souffleur.settings import change_settings
from tests.build import NOW
from tests.souffleur.proxy.endpoint import whole
from tests.souffleur.proxy.scene import TEA, open_scene

ASKED = {"model": "m", "messages": [{"role": "user", "content": "Which tea?"}]}


async def test_a_token_names_its_user(tmp_path: Path) -> None:
    """It is the user's key to the proxy, is not passed on, and opens nobody else's memory."""
    async with open_scene(tmp_path / "store") as scene:
        await scene.know("ann")
        settings = change_settings(scene.memory.settings, upstream_api_key=SecretStr("sk-up"))
        tokens = TokenFile(tmp_path / "tokens.json")
        secret = tokens.make(Role.USER, "ann", label="", now=NOW)
        app = make_whole_app(scene.memory, settings, tokens=tokens)
        dated = whole("Green.")
        scene.endpoint.will(replace(dated, headers=(*dated.headers, ("date", "yesterday"))))
        async with (
            app.router.lifespan_context(app),
            httpx2.AsyncClient(
                transport=httpx2.ASGITransport(app=app),
                base_url="http://127.0.0.1/v1",
                headers={"authorization": f"Bearer {secret}"},
            ) as client,
        ):
            own = await client.post("/chat/completions", json=ASKED)
            other = await client.post("/chat/completions", json={**ASKED, "user": "bob"})
            nobody = await client.post(
                "/chat/completions", json=ASKED, headers={"authorization": ""}
            )
        assert (own.status_code, other.status_code, nobody.status_code) == (200, 403, 401)
        assert "date" not in own.headers  # the server adds its own
        (sent,) = scene.endpoint.sent
        assert TEA in sent.body["messages"][0]["content"]
        assert sent.header("authorization") == "Bearer sk-up"
        assert await scene.said("ann") == [("Which tea?", "Green.")]
