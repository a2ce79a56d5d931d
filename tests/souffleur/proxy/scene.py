"""A scene for tests of the proxy: a real store, a real server, and an endpoint behind it."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from openai import AsyncOpenAI

from souffleur.api import Souffleur
from souffleur.knowledge.turn import Turn
from souffleur.server.app import make_whole_app
from souffleur.server.listening import address, bind, listening
from souffleur.server.tokens import TokenFile
from souffleur.settings import Settings, check_settings
from tests.scripted import SKIP, Scripted, add, answer
from tests.souffleur.proxy.endpoint import Endpoint, open_endpoint

EMPTY: Mapping[str, Any] = {}
TEA = "Ann loves green tea"


@dataclass(frozen=True)
class Scene:
    """A proxy at an address, what is behind it, and the memory that it uses."""

    url: str
    """The proxy's address, which ends with /v1."""
    endpoint: Endpoint
    memory: Souffleur

    def client(self, user: str | None = None, session: str | None = None) -> AsyncOpenAI:
        """OpenAI's client, as an application has it."""
        named = {"X-Souffleur-User": user, "X-Souffleur-Session": session}
        headers = {name: value for name, value in named.items() if value}
        return AsyncOpenAI(
            base_url=self.url, api_key="sk-client", default_headers=headers, max_retries=0
        )

    async def know(self, user: str, what: str = TEA) -> None:
        """Have something remembered of a user."""
        await self.memory.remember(what, user_id=user)

    async def turns(self, user: str) -> list[Turn]:
        """What was observed of a user, oldest first."""
        return list(await self.memory.knowledge.journal.turns(user_id=user))

    async def said(self, user: str) -> list[tuple[str, str]]:
        """What user and companion said, turn by turn."""
        return [(turn.user, turn.assistant) for turn in await self.turns(user)]


def keep_all(request: Any) -> dict[str, Any]:
    """A judge that keeps what follows "I " word for word."""
    said = request.messages[-1].content.rpartition("Ann: ")[2].partition("\n")[0]
    return answer(add(f"Ann {said.removeprefix('I ')}", said)) if said.startswith("I ") else SKIP


@asynccontextmanager
async def open_scene(
    folder: Path, parts: Mapping[str, Any] = EMPTY, **fields: Any
) -> AsyncIterator[Scene]:
    """A scene with a store of its own; `parts` go to `open`, all else are settings."""
    base: dict[str, Any] = {"path": folder, "embedder": "hash:64", "user_title": "Ann"}
    async with open_endpoint() as endpoint:
        settings = check_settings({**base, "upstream_url": endpoint.url, **fields})
        async with (
            Souffleur.open(settings, chat=Scripted(keep_all), **parts) as memory,
            serving(memory, settings) as url,
        ):
            yield Scene(url, endpoint, memory)


@asynccontextmanager
async def serving(memory: Souffleur, settings: Settings) -> AsyncIterator[str]:
    """The server of a memory; the address for front ends, until the block ends."""
    app = make_whole_app(memory, settings, tokens=TokenFile(settings.tokens_file))
    with bind("127.0.0.1", 0) as at:
        async with listening(app, at, drain=memory.seconds_left, stopping=app.state.stopping):
            yield f"{address('127.0.0.1', at.getsockname()[1])}/v1"
