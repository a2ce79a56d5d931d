"""Talk that an endpoint echoes in its errors: it is in no error, log line, trace or record."""

import json
import traceback
from collections.abc import Callable, Iterator
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest
from loguru import logger

from souffleur.agents.model.chat import Message, Request
from souffleur.agents.model.endpoint import Endpoint
from souffleur.errors import SouffleurError
from souffleur.knowledge.search.embedder import make_embedder
from souffleur.settings import Settings
from tests.place import where
from tests.scripted import Scripted
from tests.stores import open_empty
from tests.stub import Behaviour, Response, Stub, fail, send

SAID = ("psoriasis back", "我丈夫昨晚打了我", "夫に殴られた", "gout", "муж меня бьёт")


def _spaced(text: str) -> str:
    return " ".join(text)


ECHOES: dict[str, Callable[[str], Behaviour]] = {
    "401": lambda text: fail(401, f"内容违规: {text}"),
    "500": lambda text: fail(500, f"content blocked: {text.upper()}"),
    "400, without spaces": lambda text: fail(400, f"bad input {text.replace(' ', '')}"),
    "422, spaced": lambda text: send({"detail": [{"input": _spaced(text)}]}, status=422),
    "a page": lambda text: send(f"<h1>refused</h1><p>{text}</p>", "text/html", 502),
    "200": lambda text: send({"error": {"message": f"blocked: {text}"}}),
    "escaped": lambda text: fail(400, json.dumps({"prompt": text})),
}


@pytest.fixture
def lines() -> Iterator[list[str]]:
    """All lines that a host may log, with tracebacks."""
    kept: list[str] = []
    sink = logger.add(lambda line: kept.append(str(line)), level="DEBUG", format="{message}{extra}")
    logger.enable("souffleur")
    yield kept
    logger.remove(sink)


def words_of(said: str) -> set[str]:
    """Return the words, or the pairs of characters, that must be nowhere."""
    if said.isascii():
        return {word for word in said.split() if word != "back"}
    return {said[at : at + 2] for at in range(len(said) - 1)}


@pytest.mark.parametrize(("name", "said"), [*zip(ECHOES, cycle(SAID), strict=False)])
async def test_what_an_endpoint_echoes_is_nowhere(
    tmp_path: Path,
    stub: Callable[..., Stub],
    lines: list[str],
    name: str,
    said: str,
) -> None:
    """Of a message of any length in any script: neither chat nor embedder can have it told."""

    def answer(body: dict[str, Any]) -> Response:
        quoted = said if said in json.dumps(body, ensure_ascii=False) else "nothing"
        return ECHOES[name](quoted)(body)

    server = stub(answer)
    endpoint = {"base_url": server.base_url, "model": "m", "api_key": "k"}
    settings = Settings(**where(tmp_path), embedder="hash:16", shutdown_timeout=0.1, **endpoint)
    told: list[Any] = []
    async with open_empty(settings) as memory:
        told.append(memory.observe(user_id="ann", user=said))
        await memory.flush(0.5)
        told.append(memory.observe(user_id="ann", user="hello"))
        told.append(await memory.recall(user_id="ann", text="hello"))
        told += [await memory.health(), memory.error]
        told += [(one.error, one.judged) for one in await memory.knowledge.journal.turns()]
    chat = Endpoint(base_url=server.base_url, model="m")
    embedder = make_embedder("openai:m", base_url=server.base_url, api_key="k")
    asked = Request((Message("system", "Judge."), Message("user", f"Ann: {said}")), "verdict")
    for asking in (chat(asked), embedder.embed([said]), embedder.embed_queries([said])):
        with pytest.raises(SouffleurError) as failed:
            await asking
        told += traceback.format_exception(failed.value)
    assert len(server.requests) > 2
    text = "\n".join((*map(str, told), *lines))
    assert not [word for word in words_of(said) if word in text.casefold()]


async def test_what_a_library_raises_is_nowhere(tmp_path: Path, lines: list[str]) -> None:
    """A chat of the host's may raise anything: its type is told, and not a word of its text."""
    chat = Scripted(lambda _: RuntimeError("psoriasis is not allowed"))
    settings = Settings(**where(tmp_path), embedder="hash:16", shutdown_timeout=0.1)
    async with open_empty(settings, chat=chat) as memory:
        memory.observe(user_id="ann", user="psoriasis back")
        await memory.flush(0.5)
        (turn,) = await memory.knowledge.journal.turns()
        told = [turn.error, memory.error, await memory.recall(user_id="ann", text="hello")]
    assert "RuntimeError" in turn.error
    assert "psoriasis" not in "\n".join((*map(str, told), *lines))
