"""The OpenAPI: examples, and whatever may be sent by it, which never makes the server fail."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings, strategies as st
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import response_schema_conformance

from souffleur.blocking.loop_thread import LoopThread
from souffleur.runtime import Souffleur
from souffleur.settings import Settings
from tests.scripted import SKIP, Scripted, by_name, portrait
from tests.served import served

FEW, MANY = 4, 300
CHECKS = [not_a_server_error, response_schema_conformance]


@asynccontextmanager
async def serving(folder: Path) -> AsyncIterator[str]:
    """Open a store with a scripted model, serve it, and yield the address."""
    chosen = Settings(path=folder, embedder="hash:64", retry_pause=0.0, rate_limit=0)
    chat = Scripted(by_name(monitor=SKIP, portrait=portrait("Ann is one of us.")))
    async with Souffleur.open(chosen, chat=chat) as memory, served(memory) as url:
        await memory.remember("Ann likes tea.", user_id="ann")
        yield url


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """The schema of a server that runs in a thread."""
    thread: LoopThread[str] = LoopThread(serving(tmp_path_factory.mktemp("store")))
    yield schemathesis.openapi.from_url(f"{thread.held}/openapi.json")
    thread.close()


def try_all(api: Any, examples: int, **fields: Any) -> int:
    """Send what the schema allows, and what it does not, to each operation; return their number."""
    count = 0
    for found in api.get_all_operations():
        operation = found.ok()
        if operation.path == "/api/events":  # it does not end
            continue
        cases = st.one_of(
            [operation.as_strategy(generation_mode=mode) for mode in schemathesis.GenerationMode]
        )

        @settings(max_examples=examples, suppress_health_check=list(HealthCheck), **fields)
        @given(case=cases)
        def send(case: Any) -> None:
            case.call_and_validate(checks=CHECKS)

        send()
        count += 1
    return count


def test_whatever_is_sent(api: Any) -> None:
    """No answer is a 5xx, and each is as the schema says."""
    assert try_all(api, FEW) > 30


@pytest.mark.soak
def test_whatever_is_sent_at_length(api: Any) -> None:
    """No answer is a 5xx, and each is as the schema says."""
    assert try_all(api, MANY) > 30
