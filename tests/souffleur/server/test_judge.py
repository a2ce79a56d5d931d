"""Who judges behind a server that no model is configured for."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from souffleur.errors import SettingsError
from souffleur.server.judge import Models, judged_by, list_models, wait_for_judge
from souffleur.settings import ServeSettings, Settings, check_settings
from tests.souffleur.proxy.endpoint import Answer, open_endpoint, refusal

HERE, THERE = "http://localhost:11434/v1", "https://api.example.com/v1"
TWO = Models(("nomic-embed-text", "qwen3:8b", "llama3"))


def settings(folder: Path, **fields: Any) -> Settings:
    return check_settings({"path": folder, **fields})


def test_an_upstream_of_this_machine_judges(tmp_path: Path) -> None:
    """Its first model that is not for embeddings judges, or the one that is named."""
    chosen, said = judged_by(settings(tmp_path, upstream_url=HERE), TWO)
    assert (chosen.has_model, chosen.model, chosen.base_url) == (True, "qwen3:8b", HERE)
    assert said == f"qwen3:8b at {HERE}, after each reply (SOUFFLEUR_MODEL names another)"
    named, _ = judged_by(settings(tmp_path, upstream_url=HERE, model="llama3"), Models())
    assert named.model == "llama3"


def test_a_configured_model_comes_first(tmp_path: Path) -> None:
    """The upstream is not asked to judge where another model is configured."""
    given = settings(tmp_path, upstream_url=HERE, base_url=THERE, model="m")
    assert judged_by(given, TWO) == (given, f"m at {THERE}")


@pytest.mark.parametrize(
    ("fields", "models", "said"),
    [
        ({}, Models(), "set SOUFFLEUR_BASE_URL"),
        ({"upstream_url": THERE}, TWO, "give --judge upstream (your key, your bill)"),
        ({"upstream_url": HERE, "upstream_judges": False}, TWO, "UPSTREAM_JUDGES is false"),
        ({"upstream_url": HERE}, Models(error="it answers 404"), "(it answers 404)"),
    ],
)
def test_where_nobody_judges_it_says_so(
    tmp_path: Path, fields: dict[str, Any], models: Models, said: str
) -> None:
    """The line begins so that nobody overlooks it, and says what to do."""
    given = settings(tmp_path, **fields)
    chosen, line = judged_by(given, models)
    assert chosen == given
    assert line.startswith("NONE: nothing will be remembered")
    assert said in line


def test_an_upstream_that_does_not_answer_judges_later(tmp_path: Path) -> None:
    """Nothing is lost meanwhile, so the line says that nobody judges yet."""
    silent = Models(error="it does not answer: ConnectError", answered=False)
    _, line = judged_by(settings(tmp_path, upstream_url=HERE), silent)
    assert line == (
        "NONE yet: nothing is judged until it answers (it does not answer: ConnectError); "
        "it is asked again every 15 s"
    )


def test_who_asks_for_it_pays(tmp_path: Path) -> None:
    """An upstream elsewhere judges if it is told to, with its own key, by a model that is named."""
    asked = {"upstream_url": THERE, "upstream_judges": True, "upstream_api_key": "sk-up"}
    chosen, _ = judged_by(settings(tmp_path, **asked, model="m"), Models())
    assert chosen.endpoint_key
    assert (chosen.endpoint_key.get_secret_value(), chosen.model) == ("sk-up", "m")
    with pytest.raises(SettingsError, match="SOUFFLEUR_MODEL: its /models answers 401"):
        judged_by(settings(tmp_path, **asked), Models(error="its /models answers 401"))


async def test_a_server_that_starts_before_its_model_waits_for_it(tmp_path: Path) -> None:
    """It goes on once the upstream answers; where nothing would change, it waits for the end."""
    stopping = asyncio.Event()
    async with open_endpoint() as endpoint:
        endpoint.will(refusal(503), refusal(503), Answer((b'{"data": [{"id": "a"}]}',)))
        given = settings(tmp_path, upstream_url=endpoint.url)
        await asyncio.wait_for(wait_for_judge(given, Models(error="no"), stopping, 0.01), 30)
        assert len(endpoint.sent) == 3
    waiting = asyncio.ensure_future(wait_for_judge(settings(tmp_path), Models(), stopping))
    await asyncio.sleep(0.05)
    assert not waiting.done()
    stopping.set()
    await waiting


async def test_the_models_are_asked_for_once() -> None:
    """A list is read; what is no list, or no answer, is said."""
    async with open_endpoint() as endpoint:
        there = ServeSettings(upstream_url=endpoint.url)
        endpoint.will(Answer((b'{"data": [{"id": "a"}, {"id": "b"}]}',)))
        assert (await list_models(there)).names == ("a", "b")
        assert endpoint.last.line == "GET /v1/models HTTP/1.1"
        endpoint.will(refusal(401))
        assert (await list_models(there)).error == "its /models answers 401"
        endpoint.will(refusal(404))
        told = "its /models answers 404: its address usually ends in /v1"
        assert (await list_models(there)).error == told
        endpoint.will(Answer((b"[1]",)))
        assert (await list_models(there)).error == "its /models is no list of models"
    gone = await list_models(ServeSettings(upstream_url="http://127.0.0.1:9/v1"))
    assert gone.error == "it does not answer: ConnectError"
    assert await list_models(ServeSettings()) == Models()
