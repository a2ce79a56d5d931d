"""Talks that begin alike, and those that are changed: no memory is lost, every edit is seen."""

import re
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
import pytest
import pytest_asyncio

from souffleur.api import Souffleur
from souffleur.proxy.app import Proxy
from souffleur.proxy.exchange import Prompter
from souffleur.proxy.wire import Upstream
from souffleur.server.access import Access
from souffleur.settings import Settings
from tests.scripted import SKIP, Scripted, add, answer
from tests.souffleur.proxy.endpoint import Endpoint, open_endpoint, refusal, whole
from tests.stores import open_empty

pytestmark = pytest.mark.asyncio(loop_scope="module")

STEP = re.compile(
    r"(?P<talk>[A-Z])(?P<how>:|~|=|\+|!|-|\.\.|\^\d+) ?(?P<text>[^>]*?)(?: ?> (?P<reply>.*))?"
)


@dataclass
class Case:
    """A block of talks.txt."""

    name: str
    steps: list[str] = field(default_factory=list)
    keep: set[str] = field(default_factory=set)
    may: set[str] = field(default_factory=set)


def read_cases() -> Iterator[Case]:
    """The blocks of talks.txt, in order."""
    text = (Path(__file__).parent / "talks.txt").read_text(encoding="utf-8")
    for block in text.split("\n## ")[1:]:
        name, *lines = block.strip().split("\n")
        case = Case(name)
        for line in lines:
            kind, _, rest = line.partition(" ")
            if kind in ("keep", "may"):
                getattr(case, kind).update([rest] if rest else [])
            else:
                case.steps.append(line)
        yield case


CASES = list(read_cases())


@dataclass
class Stage:
    """A memory, the proxy before an endpoint, and what a case needs of both."""

    memory: Souffleur
    endpoint: Endpoint
    upstream: Upstream

    def __post_init__(self) -> None:
        self.restart()

    def restart(self) -> None:
        """Start the proxy again: it knows nothing of what went before."""
        prompter = Prompter(self.memory, timeout=9.0)
        self.proxy = Proxy(self.upstream, prompter, None)

    async def serve(self, scope: Any, receive: Any, send: Any) -> None:
        """Pass a request on, as the server does for a caller of this machine."""
        admitted = {**scope, "root_path": "/v1", "state": {"access": Access()}}
        await self.proxy(admitted, receive, send)

    async def ask(self, user: str, session: str, messages: list[Any]) -> None:
        """Send messages as a front end does."""
        named = {"X-Souffleur-User": user} | ({"X-Souffleur-Session": session} if session else {})
        carried: Any = httpx2.ASGITransport(app=self.serve)
        body = {"model": "m", "messages": messages}
        async with httpx2.AsyncClient(transport=carried, base_url="http://127.0.0.1") as client:
            await client.post("/v1/chat/completions", json=body, headers=named)


@dataclass
class Front:
    """A front end that shows one talk."""

    user: str
    session: str = ""
    talk: list[Any] = field(default_factory=list)

    async def take(self, stage: Stage, how: str, text: str, reply: str) -> None:
        """Do a step of a case."""
        if how == "-":
            self.talk += [_said("user", text), _said("assistant", reply)]
            return
        if how in "~=" or how.startswith("^"):
            await stage.memory.flush()  # what is taken back was judged
        if how in ("~", "="):
            text = text or self.talk[-2]["content"]
            del self.talk[-2:]
        elif how.startswith("^"):
            del self.talk[2 * int(how[1:]) :]
        stage.endpoint.will(whole(reply) if reply else refusal(500))
        if how == "+":
            await stage.ask(self.user, self.session, self.talk)
            self.talk[-1]["content"] += f" {reply}"
            return
        asked = [*([] if how == ".." else self.talk), _said("user", text)]
        await stage.ask(self.user, self.session, asked)
        if reply:
            self.talk += [_said("user", text), _said("assistant", reply)]


def _said(role: str, text: str) -> dict[str, Any]:
    return {"role": role, "content": text}


def remember_sentences(request: Any) -> dict[str, Any]:
    """A judge that keeps what ends with a full stop, word for word."""
    question = next(one.content for one in request.messages if one.role == "user")
    said = re.split(r"Ann(?:: |：)", question)[-1].partition("\n")[0]
    return answer(add(said, said)) if said.endswith((".", "。")) else SKIP


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def stage(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Stage]:
    base: dict[str, Any] = {"embedder": "hash:64", "user_title": "Ann", "turns_per_call": 1}
    async with open_endpoint() as endpoint:
        path = tmp_path_factory.mktemp("store")
        settings = Settings(path=path, **base)
        async with open_empty(settings, chat=Scripted(remember_sentences)) as memory:
            upstream = Upstream(endpoint.url, None)
            yield Stage(memory, endpoint, upstream)
            await upstream.close()


@pytest.mark.parametrize("number", range(len(CASES)), ids=[one.name for one in CASES])
async def test_talks(stage: Stage, number: int) -> None:
    """What was said in talks is remembered, and what was edited or taken back is not."""
    case, fronts = CASES[number], dict[str, Front]()
    stage.restart()
    for step in case.steps:
        rest = step.partition(" ")[2]
        front = fronts.setdefault(step[0], Front(f"u{number}"))
        if step == "restart":
            stage.restart()
        elif rest.startswith("session "):
            front.session = rest.removeprefix("session ")
        elif rest.startswith("greeting "):
            front.talk = [_said("assistant", rest.removeprefix("greeting "))]
        else:
            read = STEP.fullmatch(step)
            assert read, step
            await front.take(stage, read["how"], read["text"], read["reply"] or "")
    await stage.memory.flush()
    found = {one.content for one in await stage.memory.list(user_id=f"u{number}")}
    assert case.keep <= found <= case.keep | case.may
